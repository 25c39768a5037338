"""Chapter 1: how does an error leave the library without the library's own frames?

A public function is a *boundary*: an error that leaves it shows the user's lines, and none of ours.
A boundary calls `hide_frames` in an `except` clause, which costs nothing until there is an error.
Operators, `Primitive.bind` and functions that are made in families have that clause themselves; all
others get it by a decorator of `boundary.py`.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType

from .. import settings
from ..errors import UnfilteredStackTrace
from ..source import is_library_file
from ..text.locations import is_helper_file
from .advice import advise

_HIDDEN_FRAMES_NOTE = (
    "--------------------\nFor simplicity, minijax has removed its own frames from the traceback "
    "of this exception. Set JAX_TRACEBACK_FILTERING=off to see them.")


def hide_frames(error: Exception) -> None:
    """Filters the traceback of an exception that leaves the calling function, as the setting
    `jax_traceback_filtering` says.

    The class and the message of the exception stay; a note says how to see everything.
    Only the outermost boundary filters, so that it happens once.
    """
    mode = settings.traceback_filtering.value
    if mode == "off" or _inside_boundary(sys._getframe(1).f_back):
        return
    advise(error)
    if mode == "auto":
        mode = "tracebackhide" if hasattr(builtins, "__IPYTHON__") else "quiet_remove_frames"
    if mode == "tracebackhide":
        _mark_internal_frames(error)
    elif mode == "remove_frames":
        _move_to_cause(error)
    else:
        _remove_internal_frames(error)


def _inside_boundary(frame: FrameType | None) -> bool:
    """Whether a frame, or one that it was called from, belongs to a boundary. The code of those
    names `hide_frames`."""
    while frame is not None and "hide_frames" not in frame.f_code.co_names:
        frame = frame.f_back
    return frame is not None


def _remove_internal_frames(error: BaseException) -> None:
    """Removes internal frames from the traceback, and from those of the exceptions behind it."""
    for link in _chain(error):
        link.__traceback__ = _without_internal_frames(link.__traceback__)
    for link in _chain(error):  # exceptions that only the library has seen tell the user nothing
        while (context := link.__context__) is not None and context.__traceback__ is None:
            link.__context__ = context.__context__
    if _HIDDEN_FRAMES_NOTE not in getattr(error, "__notes__", ()):
        error.add_note(_HIDDEN_FRAMES_NOTE)


def _move_to_cause(error: BaseException) -> None:
    """Filters the traceback, and leaves the complete one and the exceptions behind it to a cause.
    """
    full = UnfilteredStackTrace(f"{type(error).__name__}: {error}")
    full.__cause__, full.__context__ = error.__cause__, error.__context__
    full.__suppress_context__ = error.__suppress_context__
    full.__traceback__, error.__cause__ = error.__traceback__, full
    error.__traceback__ = _without_internal_frames(error.__traceback__)


def _mark_internal_frames(error: BaseException) -> None:
    """Marks internal frames in the way that IPython and pytest understand."""
    for link in _chain(error):
        for entry, internal in _entries(link.__traceback__):
            if internal:
                entry.tb_frame.f_locals["__tracebackhide__"] = True


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception, and those behind it that are printed before it."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        yield link
        seen.add(id(link))
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _without_internal_frames(traceback: TracebackType | None) -> TracebackType | None:
    """A copy of a traceback with the internal frames left out."""
    kept = None
    for entry, internal in reversed(list(_entries(traceback))):
        if not internal:
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _entries(traceback: TracebackType | None) -> Iterator[tuple[TracebackType, bool]]:
    """The entries of a traceback, and whether each is internal: of the library, or of Python's and
    NumPy's files on behalf of the library."""
    internal = False
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        internal = is_library_file(filename) or internal and is_helper_file(filename)
        yield traceback, internal
        traceback = traceback.tb_next
