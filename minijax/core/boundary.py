"""Chapter 1: decorators that make a function a boundary between the library and its users."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..checks.tracebacks import hide_frames
from ..source import source
from .core import state

F = TypeVar("F", bound=Callable[..., Any])


def public(fun: F) -> F:
    """Makes a function a boundary: exceptions that leave it show no frames of the library."""
    @functools.wraps(fun)
    def at_boundary(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise
    return at_boundary  # type: ignore[return-value]


def api_boundary(fun: F) -> F:
    """`public`, for a function that changes the thread's state, or calls functions that do.

    Ctrl-C can arrive while a `with` block ends, before the block has put back what it changed. A
    generator behind it would do so when the traceback is freed, which is too late: so the frames
    are freed here, and then the thread gets the state back that it had.
    """
    @functools.wraps(fun)
    def at_boundary(*args: Any, **kwargs: Any) -> Any:
        trace, axis_sizes = state.trace, state.axis_sizes
        location, names = source.location, source.names
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise
        except BaseException as interruption:
            from traceback import clear_frames  # not loaded for an import of minijax

            clear_frames(interruption.__traceback__)
            state.trace, state.axis_sizes = trace, axis_sizes
            source.location, source.names = location, names
            raise
    return at_boundary  # type: ignore[return-value]
