"""Chapter 1: the boundary between the library and its users. Errors that cross it leave the
library's own frames behind."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from .. import settings
from ..errors import UnfilteredStackTrace
from ..source import is_library_file, source
from .core import state

F = TypeVar("F", bound=Callable[..., Any])

_HIDDEN_FRAMES_NOTE = (
    "--------------------\nFor simplicity, minijax has removed its own frames from the traceback "
    "of this exception. Set JAX_TRACEBACK_FILTERING=off to see them.")


def api_boundary(fun: F) -> F:
    """Wraps a public function: exceptions that leave it show none of minijax's own frames.

    The class and the message of the exception stay; a note says how to see everything.
    Only the outermost boundary acts, so that the traceback is filtered once.

    Ctrl-C can arrive while a `with` block ends, before the block has put back what it changed. A
    generator behind it would do so when the traceback is freed, which is too late: so the frames
    are freed here, and then the thread gets the state back that it had.
    """
    @functools.wraps(fun)
    def at_boundary(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        trace, axis_sizes = state.trace, state.axis_sizes
        location, names = source.location, source.names
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            if not _inside_boundary(sys._getframe(1)):
                _hide_frames(error)
            raise
        except BaseException as interruption:
            from traceback import clear_frames  # not loaded for an import of minijax

            clear_frames(interruption.__traceback__)
            state.trace, state.axis_sizes = trace, axis_sizes
            source.location, source.names = location, names
            raise
    return at_boundary  # type: ignore[return-value]


# All boundaries share one code object, by which their frames are recognised.
_BOUNDARY_CODE = next(const for const in api_boundary.__code__.co_consts
                      if isinstance(const, CodeType))


def _inside_boundary(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not _BOUNDARY_CODE:
        frame = frame.f_back
    return frame is not None


def _hide_frames(error: Exception) -> None:
    """Filters the traceback of an exception, as `jax_traceback_filtering` says."""
    mode = settings.traceback_filtering.value
    if mode == "auto":
        mode = "tracebackhide" if hasattr(builtins, "__IPYTHON__") else "quiet_remove_frames"
    traceback = error.__traceback__
    if mode == "off" or traceback is None:
        return
    if mode == "tracebackhide":
        _mark_hidden_frames(traceback)
        return
    error.__traceback__ = _without_internal_frames(traceback)
    if mode == "remove_frames":
        full = UnfilteredStackTrace(f"{type(error).__name__}: {error}")
        error.__cause__ = full.with_traceback(traceback)
    else:
        error.add_note(_HIDDEN_FRAMES_NOTE)


def leave_out_caller(error: Exception) -> None:
    """Filters the caller's frame as well: it calls a boundary, and users call it."""
    if settings.traceback_filtering.value != "off" and error.__traceback__ is not None:
        error.__traceback__ = error.__traceback__.tb_next


def _frames(traceback: TracebackType | None) -> list[TracebackType]:
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    return entries


def _without_internal_frames(traceback: TracebackType) -> TracebackType | None:
    """A copy of a traceback with the frames of minijax left out."""
    kept = None
    for entry in reversed(_frames(traceback)):
        if not is_library_file(entry.tb_frame.f_code.co_filename):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _mark_hidden_frames(traceback: TracebackType) -> None:
    """Marks minijax's frames in the way that IPython and pytest understand."""
    for entry in _frames(traceback):
        if is_library_file(entry.tb_frame.f_code.co_filename):
            entry.tb_frame.f_locals["__tracebackhide__"] = True
