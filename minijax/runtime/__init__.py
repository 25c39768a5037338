"""What drives XLA: the only folder that imports `jaxlib`."""

import contextlib
import functools
import importlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..core.extension import hooks, point

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read when jaxlib loads: hush its log
clients: dict[str, Any] = {}  # XLA's, by platform, each made when it is first needed
# How the contents of a buffer are read, by dtype, where they are not whole bytes in a row.
buffer_readers: dict[Any, Callable[[Any, Any], Any]] = {}
# Functions from the name of a module to the module, or to what takes its place. The last one is
# asked (`interruptions.py`, `forks.py`).
loaders: list[Callable[[str], Any]] = [importlib.import_module]


@functools.cache
def xla(part: str = "client") -> Any:
    """The adapter to jaxlib, `client.py`, or another file that imports jaxlib.

    Loading XLA takes time, so the adapter is imported when it is first needed. Programs that
    compile nothing do without it.
    """
    return loaders[-1](f"{__name__}.{part}")


def logger(name: str) -> Any:
    """A logger of this name. `logging` takes a while to load, and most programs log nothing."""
    return importlib.import_module("logging").getLogger(name)


@point
def record(self, event: str, seconds: float | None, about: dict[str, Any]) -> None:
    """Called when something has happened that can be counted; with `seconds`, when something has
    taken that long. Of a step of a compilation, `about` says the `fun_name` and the `in_avals`."""


@point
def client_maker(self, platform: str | None) -> Any:
    """The name of a platform, or that of the default one for `None`; and a function that makes
    XLA's client for it."""
    return "cpu", xla().xla_client.make_cpu_client


@point
def load_program(self, text: str, device: Any, options: dict[str, Any] | None, handlers: list,
                 **more: Any) -> Any:
    """The loaded program of a StableHLO module for a device. `handlers` are those of an
    `Executable`, and `more` is what the module says `for_compiler`."""


def tell(event: str, seconds: float | None = None, **about: Any) -> None:
    """Tell extensions that something has happened."""
    for record in hooks.record:
        record(event, seconds, about)


@contextlib.contextmanager
def timed(step: str, fun_name: str, in_avals: Sequence = ()) -> Iterator[None]:
    """Tell extensions how long a step of a compilation took."""
    start = time.perf_counter()
    yield
    tell(f"/jax/core/compile/{step}_duration", time.perf_counter() - start, fun_name=fun_name,
         in_avals=in_avals)
