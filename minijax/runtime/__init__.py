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

dispensable: set[threading.Thread] = set()  # running threads that the end does not wait for
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


def undisturbed(function: Callable[[], Any], needed: bool = True) -> Any:
    """What `function()` returns. Ctrl-C interrupts the wait for it, but never `function` itself.

    It runs in a thread of its own, because Ctrl-C interrupts the main thread, and a program can
    cancel its own threads. If an import of jaxlib were interrupted, C++ would keep half of it, and
    later crash the process. The end of the process does not wait for what is no longer `needed`.
    """
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["result"] = function()
        except BaseException as error:
            outcome["error"] = error
        finally:
            dispensable.discard(thread)

    thread = threading.Thread(target=run, name="minijax-load", daemon=not needed)
    if not needed:
        dispensable.add(thread)
    try:
        thread.start()
    except RuntimeError:  # Python is ending, and starts no more threads
        run()
    else:
        thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["result"]


@point
def record(self, event: str, seconds: float | None, about: dict[str, Any]) -> None:
    """Called when something has happened that can be counted; with `seconds`, when something has
    taken that long. Of a step of a compilation, `about` says the `fun_name` and the `in_avals`."""


@point
def program_cache(self) -> Any:
    """An object that keeps programs, and what the autotuner chose for them, for other processes:
    `load_or_compile(compile, text, options, devices)` returns what `compile()` returns, and
    `keep_choice(text, options, devices, choice)` keeps what `recall_choice(text, options, devices)`
    returns (`None` if it knows none)."""


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
