"""Chapter 6: what Ctrl-C must not interrupt: imports of jaxlib, and some of its functions."""

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

from . import loaders

dispensable: set[threading.Thread] = set()  # running threads that the end does not wait for


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


loaders.append(load)
