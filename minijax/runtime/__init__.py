"""What drives XLA: the only folder that imports `jaxlib`."""

import contextlib
import functools
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..core.extension import hooks, point

stand_ins: dict[str, Any] = {}  # by the name of a module: what takes its place (`forks.py`)


@functools.cache
def xla() -> Any:
    """The adapter to jaxlib, `client.py`.

    Loading XLA takes time, so the adapter is imported when it is first needed. Programs that
    compile nothing do without it.
    """
    return stand_ins.get("client") or load("minijax.runtime.client")


def backend_compile_and_load(client: Any, *args: Any) -> Any:
    """Compile a module by XLA. Each compilation calls this function as the module `_src.compiler`
    shows it: libraries put another one in its place there, to forbid compilations."""
    return client.compile_and_load(*args)


def compiler_of(client: Any) -> Callable:
    """What compiles modules for the devices of a client of XLA."""
    shown = sys.modules.get(__name__.replace("runtime", "_src.compiler"))
    compile = getattr(shown, "backend_compile_and_load", backend_compile_and_load)
    return functools.partial(compile, client)


@functools.cache
def xla_on_devices() -> Any:
    """What XLA does on several devices: `several_devices.py`, imported when it is first needed."""
    return stand_ins.get("several_devices") or load("minijax.runtime.several_devices")


def logger(name: str) -> Any:
    """A logger of this name. `logging` takes a while to load, and most programs log nothing."""
    return importlib.import_module("logging").getLogger(name)


def load(module: str) -> Any:
    """Import a module that belongs to jaxlib, or imports it; `undisturbed` says why."""
    return undisturbed(functools.partial(importlib.import_module, module))


def undisturbed(function: Callable[[], Any]) -> Any:
    """What `function()` returns. Ctrl-C interrupts the wait for it, but never `function` itself.

    It runs in a thread of its own, because Ctrl-C interrupts the main thread, and a program can
    cancel its own threads. If an import of jaxlib were interrupted, C++ would keep half of it, and
    later crash the process.
    """
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["result"] = function()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run, name="minijax-load")
    try:
        thread.start()
    except RuntimeError:  # Python is ending, and starts no more threads
        return function()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


@point
def record_event(self, event: str) -> None:
    """Called when something has happened that can be counted."""


@point
def record_duration(self, event: str, seconds: float, what: str = "") -> None:
    """Called after a step of a compilation. `what` describes it for a log."""


@point
def load_or_compile(self, compile: Any, text: str, options: Any, devices: Sequence) -> Any:
    """XLA's program for the module `text`, as `compile()` returns it."""
    return compile()


@point
def autotune_variants(self, variants: dict[str, dict]) -> dict[str, dict]:
    """The options that the autotuner tries, XLA's flags by the name of a variant: `variants`, or
    other ones."""
    return variants


@point
def recall_choice(self, text: str, options: Any, devices: Sequence) -> bytes | None:
    """What `keep_choice` was given for the module `text`, perhaps in another process."""
    return None


@point
def keep_choice(self, text: str, options: Any, devices: Sequence, choice: bytes) -> None:
    """Keep the autotuner's choice for the module `text`, for the next process."""


@contextlib.contextmanager
def timed(what: str, event: str) -> Iterator[None]:
    """Tell extensions how long the block took."""
    start = time.perf_counter()
    yield
    for record_duration in hooks.record_duration:
        record_duration(f"/jax/core/compile/{event}_duration", time.perf_counter() - start, what)
