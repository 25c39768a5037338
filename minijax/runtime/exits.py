"""Chapter 6: the end of the process, while XLA may still be at work.

When Python ends, it frees objects in any order and stops every thread that tries to take its lock.
A thread that returns from XLA at that moment aborts the process. Therefore, at exit:

* Other threads (daemon threads; all others have ended by now) that are inside minijax get a
  `SystemExit`, and Python waits until they are out, for at most `PATIENCE` seconds.
* The client is never freed, since freeing it would wait for all that it computes.
* The threads of the autotuner, and of compilations that Ctrl-C has left behind, are not awaited.
* If a thread is still inside then, or XLA still computes, the process ends right after
  Python has, with the same exit status, without C++'s destructors.

Effects of running programs are awaited before, for however long they take. Ctrl-C ends that wait;
after Ctrl-C has ended the program itself, they too have `PATIENCE` seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import FrameType

from . import clients, platforms
from .interruptions import dispensable

PATIENCE = 3.0  # seconds
_PAUSE = 0.002
_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep


def wait_for(barrier: Callable[[], None]) -> None:
    """Call `barrier` at exit. After Ctrl-C has ended the program, leave it alone after a while."""
    if not _ended_by_interrupt():
        barrier()
        return
    thread = threading.Thread(target=barrier, daemon=True)
    with contextlib.suppress(RuntimeError):  # some Pythons start no thread at this point
        thread.start()
        thread.join(PATIENCE)


def _ended_by_interrupt() -> bool:
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return isinstance(error, KeyboardInterrupt)


def _threads_inside() -> list[int]:
    """The other threads that have called minijax, which may be inside XLA."""
    skipped = {threading.get_ident(), *(thread.ident for thread in dispensable.copy())}
    return [ident for ident, frame in sys._current_frames().items()
            if ident not in skipped and _is_inside(frame)]


def _is_inside(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_FOLDER):
            return True
        frame = frame.f_back
    return False


def _stop_threads() -> bool:
    """Stop the threads that are inside minijax; returns whether they are out."""
    stop = ctypes.pythonapi.PyThreadState_SetAsyncExc
    deadline = time.monotonic() + PATIENCE
    while inside := _threads_inside():
        if time.monotonic() > deadline:
            return False
        for ident in inside:
            stop(ctypes.c_ulong(ident), ctypes.py_object(SystemExit))
        time.sleep(_PAUSE)
    return True


def _xla_is_busy() -> bool:
    """Whether XLA's own threads are at work, on a program whose results nothing awaits."""
    return any(_other_threads_run() for _ in range(3))


def _other_threads_run() -> bool:
    """Whether another thread of this process, of whatever library, is not asleep (on Linux)."""
    own, tasks = str(threading.get_native_id()), "/proc/self/task"
    for task in os.listdir(tasks) if os.path.isdir(tasks) else ():
        with contextlib.suppress(OSError), open(f"{tasks}/{task}/stat") as file:
            if task != own and file.read().rpartition(")")[2].split()[0] in "RD":
                return True
    return False


def _skip_destructors() -> None:
    """Let the process end as soon as Python has, with Python's exit status."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # only glibc tells the functions that it calls the status
        libc.fflush(None)
        libc.on_exit(libc._exit, None)


def _freeze_instead_of_abort() -> None:
    """Have a thread that Python cannot stop within C++ sleep, as Python 3.14 has it, where C++
    would abort the process."""
    try:
        set_terminate = ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE
    except (OSError, AttributeError):
        return
    set_terminate(ctypes.CDLL(None).pause)


def _leave() -> None:
    if not platforms.is_started():
        return
    for client in clients.values():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))
    stopped = _stop_threads()
    if not stopped:
        warnings.warn(
            f"A daemon thread is still inside minijax {PATIENCE:.0f} s after the end of the "
            "program. The process ends without it.", RuntimeWarning, stacklevel=2)
    if not stopped or dispensable:
        _freeze_instead_of_abort()
    if not stopped or dispensable or _xla_is_busy():
        _skip_destructors()


# Functions are called in the reverse order: this one after all that the program registers.
atexit.register(_leave)
