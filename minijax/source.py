"""Where in the user's code a value, an equation or a function comes from, and what it is called."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

from .core.extension import Printed, text

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep

# The folders and files that are not of the user's code. Libraries may add theirs.
library_paths = [_PACKAGE]


@functools.cache
def is_library_file(filename: str) -> bool:
    """Whether a file belongs to minijax, or to a library that asked to be counted with it."""
    return filename.startswith(tuple(library_paths))


def in_stdlib(filename: str) -> bool:
    """Whether a file belongs to Python's standard library."""
    return filename.startswith(("<frozen", _STDLIB)) and "-packages" not in filename


@functools.cache
def is_user_file(filename: str) -> bool:
    """Whether a file belongs neither to minijax nor to Python's standard library."""
    return not (in_stdlib(filename) or is_library_file(filename))


class Transform(str):
    """The name of a transformation, among the names of scopes in a `NameStack`."""

    __slots__ = ()


class SourceInfo(Printed):
    """Where an equation comes from: a place in the user's code, and the named scopes around it.

    `location` is `user_location()`, two references. It becomes text only when it is printed, and so
    do the scopes: `names` is what a `NameStack` is made of (`text/scopes.py`).
    """

    __slots__ = ("location", "names")

    def __init__(self, location: tuple[CodeType, int] | None = None, names: tuple = ()):
        self.location, self.names = location, names

    @property
    def name_stack(self) -> Any:
        """The named scopes and the transformations around the equation, inside of its jaxpr."""
        return text(self, "name_stack")

    @property
    def traceback(self) -> SourceInfo | None:
        """JAX keeps a traceback here, of which tools ask for the user's frame."""
        return None if self.location is None else self


class _Source(threading.local):
    """The equation that this thread interprets now.

    `location` is the place in the user's code that the equation comes from, or `None` outside of
    equations. `names` are those of the scopes and transformations around, as in a `NameStack`.
    """

    location: tuple[CodeType, int] | None = None
    names: tuple = ()


source = _Source()


@contextlib.contextmanager
def own_source() -> Iterator[None]:
    """A context for tracing a function of its own, which belongs to no scope and no equation."""
    outside = source.location, source.names
    source.location, source.names = None, ()
    try:
        yield
    finally:
        source.location, source.names = outside


nowhere = SourceInfo()


def at_sources(eqns: Iterable) -> Iterator:
    """Equations, for a loop that interprets them. While the loop is at one, operations come from
    its place in the user's code, and belong to its scopes, which are inside of those around."""
    location, names = source.location, source.names
    try:
        for eqn in eqns:
            info = eqn.source_info or nowhere
            source.location = info.location
            source.names = names + info.names
            yield eqn
    finally:  # as soon as the loop ends, also by an exception: nothing else refers to this
        source.location, source.names = location, names


def named(name: str, fun: Callable) -> Callable:
    """`fun`, whose operations belong to a scope of this name."""

    def named_fun(*args, **kwargs):
        outside = source.names
        source.names = (*outside, name)
        try:
            return fun(*args, **kwargs)
        finally:
            source.names = outside

    return named_fun


def transformed(transformation: str, fun: Callable) -> Callable:
    """`fun`, whose operations belong to a transformation, as name stacks show it."""
    return named(_transforms[transformation], fun)


_transforms = {name: Transform(name) for name in ("jvp", "vmap", "transpose")}


def user_frame() -> FrameType | None:
    """The innermost frame of the user's code, if any."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_location() -> tuple[CodeType, int] | None:
    """Where the user's code is now, in the form that is cheapest to take; see `format_location`.

    While a jaxpr is interpreted, that is where its equation came from.
    """
    if source.location is not None:
        return source.location
    frame = user_frame()
    return None if frame is None else (frame.f_code, frame.f_lasti)


def fun_name(fun: Callable) -> str:
    """What to call `fun` in programs and messages."""
    name = getattr(fun, "__name__", None)
    if name is None and isinstance(fun, functools.partial):
        return fun_name(fun.func)
    return name if name and isinstance(name, str) else "<unnamed function>"


_TYPES_OF_ATTRIBUTES = {"__name__": str, "__qualname__": str, "__annotations__": dict}


def wraps(fun: Callable, summary: str = "") -> Callable:
    """`functools.wraps(fun)`, which leaves out attributes of types that a function's cannot have.
    Libraries have modules with a field `__name__`, and wrap the annotations of their classes.

    `summary` is a sentence with "{fun}" in it, which the documentation then begins with."""
    assigned = [name for name in functools.WRAPPER_ASSIGNMENTS
                if isinstance(getattr(fun, name, None), _TYPES_OF_ATTRIBUTES.get(name, object))]

    def decorate(wrapper):
        functools.update_wrapper(wrapper, fun, assigned)
        if summary:
            wrapper.__name__ = fun_name(fun)
            wrapper.__doc__ = _documented(summary.replace("{fun}", fun_name(fun)), fun)
        return wrapper

    return decorate


def _documented(sentence: str, fun: Any) -> str:
    """The sentence, followed by the documentation of `fun`, if it has any."""
    doc = getattr(fun, "__doc__", None)
    return sentence + (f"\n\nOriginal documentation:\n\n{doc}" if doc else "")


def innermost_function(fun: Callable) -> Callable:
    """The function inside of partial applications and wrappers."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    with contextlib.suppress(ValueError):  # too many wrappers, or a loop
        return inspect.unwrap(fun)
    return fun


def fun_sourceinfo(fun: Callable) -> str:
    """ "name at file:line", as far as known."""
    fun = innermost_function(fun)
    code = getattr(fun, "__code__", None)
    if code is None:
        return getattr(fun, "__name__", "<unknown>")
    return f"{fun_name(fun)} at {code.co_filename}:{code.co_firstlineno}"
