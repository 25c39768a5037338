"""Chapter 6: what works in a forked process.

A fork copies the memory of a process and only one of its threads. XLA's client is copied without
the threads that work for it, so a program started in the child would never end. After a fork:

* If XLA had not been started, both processes work.
* If XLA had been started, the parent works. The child computes eagerly, by NumPy, reads the arrays
  that were ready, and raises RuntimeError where XLA would have to compile, run or copy.

`multiprocessing` forks by default on Linux before Python 3.14; `subprocess` does not.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from .. import settings
from ..core import extension
from . import loaders, platforms, xla
from .interruptions import load

inherited = False  # whether this process has its clients from the one that it was forked from

# What the child may still use: names of types, errors, and what only looks something up.
_HARMLESS = {
    "client": """Buffer Device Executable JAXLIB_VERSION BufferSharding XlaRuntimeError backend
        default_device devices our_error placement replicated result_handler""".split(),
    "compiler": ["load_lapack"],
    "lib": ["PyTreeRegistry"],
    "backends": [], "transfers": [],
    "several_devices": "XlaSharding shards sharding_listener tilings xla_sharding".split(),
}
# What it may use if a buffer, the first argument, was computed before the fork.
_READS = {"client": ["to_numpy", "wait", "fetch"], "several_devices": ["shard_to_numpy"]}


class _Remains:
    """A module, if it is loaded, of which only what works in a forked process can be used."""

    def __init__(self, name: str) -> None:
        self._name, self._module = name, sys.modules.get(f"{__package__}.{name}")

    def __getattr__(self, name: str) -> Any:
        if name in _HARMLESS[self._name] and self._module:
            return getattr(self._module, name)
        if name in _READS.get(self._name, ()) and self._module:
            return _if_ready(getattr(self._module, name))
        return platforms.refuse_after_fork


def _remains(module: str) -> Any:
    """What takes the place of a module in a forked process."""
    name = module.rpartition(".")[2]
    return _Remains(name) if name in _HARMLESS else load(module)


def _if_ready(read: Callable) -> Callable:
    def read_or_refuse(*args: Any) -> Any:
        is_ready = getattr(args[0], "is_ready", None) if args else None
        return read(*args) if is_ready and is_ready() else platforms.refuse_after_fork()

    return read_or_refuse


def _warn() -> None:
    if platforms.is_started() and not inherited:
        warnings.warn(
            "This process is forked, and has already used XLA, whose threads do not survive a "
            "fork: in the new process, anything that needs more than NumPy will raise an error. "
            "Start processes by multiprocessing.get_context('spawn') or 'forkserver'.",
            RuntimeWarning, stacklevel=2)


_held: list[Any] = []  # locks that no other thread may hold while the process is copied


def _hold() -> None:
    backends = sys.modules.get(f"{__package__}.backends")
    locks = [settings.changes_lock, extension._lock, getattr(backends, "lock", None)]
    for lock in filter(None, locks):
        lock.acquire()
        _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().release()


def _lose_threads() -> None:
    global inherited
    if not platforms.is_started() or inherited:
        return
    inherited = True
    xla("backends").lose_threads(platforms.refuse_after_fork)
    settings.contexts.clear()  # all keys are new, so no program is found
    settings.count_change()
    loaders.append(_remains)
    xla.cache_clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    # The function registered last is called first before the fork, and last after it.
    os.register_at_fork(before=_warn, after_in_child=_release)
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_lose_threads)
