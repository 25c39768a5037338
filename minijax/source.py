"""Where in the user's code a value, an equation or a function comes from, and what it is called."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_HELPERS = ("numpy", "scipy", "jaxlib", "ml_dtypes", "opt_einsum")

_excluded: tuple[str, ...] = (_PACKAGE,)


@functools.cache
def is_library_file(filename: str) -> bool:
    """Whether a file belongs to minijax, or to a library that asked to be counted with it."""
    return filename.startswith(_excluded)


@functools.cache
def is_helper_file(filename: str) -> bool:
    """Whether a file belongs to Python's standard library, or to a package that minijax calls."""
    return _in_stdlib(filename) or any(
        f"-packages{os.sep}{name}{os.sep}" in filename for name in _HELPERS)


def _in_stdlib(filename: str) -> bool:
    return filename.startswith(("<frozen", _STDLIB)) and "-packages" not in filename


def exclude_from_user_code(path: str) -> None:
    """Count a file, or a folder, as library code. Libraries that are built on minijax call this."""
    _set_excluded((*_excluded, path))


def count_as_user_code(path: str) -> None:
    """Undo `exclude_from_user_code`."""
    _set_excluded(tuple(excluded for excluded in _excluded if excluded != path))


def _set_excluded(paths: tuple[str, ...]) -> None:
    global _excluded
    _excluded = paths
    is_library_file.cache_clear()
    _is_user_file.cache_clear()


@functools.cache
def _is_user_file(filename: str) -> bool:
    """Whether a file belongs neither to minijax nor to Python's standard library."""
    return not (_in_stdlib(filename) or is_library_file(filename))


def is_user_frame(frame: FrameType) -> bool:
    """Whether a frame is of the user's code."""
    return _is_user_file(frame.f_code.co_filename)


def is_user_function(fun: Callable) -> bool:
    """Whether a function is of the user's code, or of no known place."""
    code = getattr(_innermost(fun), "__code__", None)
    return code is None or _is_user_file(code.co_filename)


class Transform(str):
    """The name of a transformation, among the names of scopes in a `NameStack`."""

    __slots__ = ()


class NameStack(tuple):
    """The names of the scopes and the transformations around an operation, the outermost first.

    As text, a transformation is written around the scope inside of it.

    >>> NameStack().extend("outer").transform("vmap").extend("inner")
    outer/vmap(inner)
    """

    __slots__ = ()

    @property
    def stack(self) -> tuple[str, ...]:
        """The names."""
        return tuple(self)

    def extend(self, name: str) -> NameStack:
        """With one more scope inside."""
        return NameStack((*self, name))

    def transform(self, transform_name: str) -> NameStack:
        """With one more transformation inside."""
        return NameStack((*self, Transform(transform_name)))

    def __add__(self, inner) -> NameStack:
        return NameStack((*self, *inner))

    def __getitem__(self, places):
        names = tuple(self)[places]
        return NameStack(names) if isinstance(places, slice) else names

    def __str__(self):
        return _stack_text(tuple(self))

    __repr__ = __str__


@functools.lru_cache(4096)
def _stack_text(names: tuple) -> str:
    scopes: list[str] = []  # the innermost first
    for name in reversed(names):
        if type(name) is Transform:
            inner = scopes.pop() if scopes else ""
            name = f"{name}({inner})"
        scopes.append(name)
    return "/".join(reversed(scopes))


class SourceInfo:
    """Where an equation comes from: a place in the user's code, and the named scopes around it.

    `location` is `user_location()`, two references. It becomes text only when it is printed, and so
    do the scopes: `names` is what a `NameStack` is made of.
    """

    __slots__ = ("location", "names")

    def __init__(self, location: tuple[CodeType, int] | None = None, names: tuple = ()):
        self.location, self.names = location, names

    @property
    def name_stack(self) -> NameStack:
        """The named scopes and the transformations around the equation, inside of its jaxpr."""
        return NameStack(self.names)

    @property
    def traceback(self) -> SourceInfo | None:
        """JAX keeps a traceback here, of which tools ask for the user's frame."""
        return None if self.location is None else self

    def __str__(self):
        """`file.py:12:4 (function)`, as JAX prints it, with the column counted from 0."""
        if self.location is None:
            return "unknown"
        code, lasti = self.location
        positions = next(itertools.islice(code.co_positions(), lasti // 2, None))
        return f"{code.co_filename}:{positions[0]}:{positions[2]} ({code.co_qualname})"


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
    while frame is not None and not _is_user_file(frame.f_code.co_filename):
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


def format_location(location: tuple[CodeType, int] | None) -> str:
    """``"file.py:12 (function)"``; empty when the location is unknown."""
    if location is None:
        return ""
    code, lasti = location
    positions = next(itertools.islice(code.co_positions(), lasti // 2, None), (None,))
    return f"{_short_path(code.co_filename)}:{positions[0]} ({code.co_name})"


def new_source_info(names: tuple = ()) -> SourceInfo:
    """The user's line that is running now."""
    return SourceInfo(user_location(), names)


def _short_path(filename: str) -> str:
    """The path as the user would type it: relative to the working directory if it is inside."""
    return filename.removeprefix(os.getcwd() + os.sep)


def user_frame_summary() -> str:
    """``"file.py:12 (function)"`` of the innermost frame of the user's code; may be empty."""
    return format_location(user_location())


def user_stacklevel() -> int:
    """The ``stacklevel`` with which the caller's warning points at the user's code."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and not _is_user_file(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


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
            wrapper.__doc__ = _documented(summary.replace("{fun}", fun_name(fun)), fun)
        return wrapper

    return decorate


def _documented(sentence: str, fun: Any) -> str:
    """The sentence, followed by the documentation of `fun`, if it has any."""
    doc = getattr(fun, "__doc__", None)
    return sentence + (f"\n\nOriginal documentation:\n\n{doc}" if doc else "")


def _innermost(fun: Callable) -> Callable:
    """The function inside of partial applications and wrappers."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return inspect.unwrap(fun)


def fun_sourceinfo(fun: Callable) -> str:
    """ "name at file:line", as far as known."""
    fun = _innermost(fun)
    code = getattr(fun, "__code__", None)
    if code is None:
        return getattr(fun, "__name__", "<unknown>")
    return f"{fun_name(fun)} at {code.co_filename}:{code.co_firstlineno}"


class DebugInfo:
    """The names of a traced function, its arguments and its results, for messages.

    `arg_names` and `result_paths` may be functions that make the names. They are called when the
    names are needed.
    """

    __slots__ = ("traced_for", "func_src_info", "_arg_names", "_result_paths")
    _fields = ("traced_for", "func_src_info", "arg_names", "result_paths")

    def __init__(self, traced_for="", func_src_info="", arg_names=(), result_paths=()):
        self.traced_for, self.func_src_info = traced_for, func_src_info
        self._arg_names, self._result_paths = arg_names, result_paths

    @property
    def arg_names(self) -> tuple[str, ...]:
        if callable(self._arg_names):
            self._arg_names = self._arg_names()
        return self._arg_names

    @property
    def result_paths(self) -> tuple[str, ...] | None:
        if callable(self._result_paths):
            self._result_paths = self._result_paths()
        return self._result_paths

    @property
    def func_name(self) -> str:
        return self.func_src_info.split(" ")[0]

    @property
    def func_filename(self) -> str | None:
        """The file in which the function is; `None` for one that is not of Python."""
        return self.func_src_info.partition(" at ")[2].rpartition(":")[0] or None

    @property
    def func_lineno(self) -> int | None:
        """The line at which the function begins."""
        line = self.func_src_info.partition(" at ")[2].rpartition(":")[2]
        return int(line) if line else None

    def __iter__(self):
        return (getattr(self, name) for name in self._fields)

    def _replace(self, **changes: Any) -> DebugInfo:
        """A copy with other fields, as of a named tuple."""
        return DebugInfo(**dict(zip(self._fields, self)) | changes)

    def with_unknown_names(self) -> DebugInfo:
        return self._replace(arg_names=None, result_paths=None)

    def safe_arg_names(self, expected_count: int) -> tuple[str, ...]:
        """The names of the arguments; empty ones if they are not known."""
        return self._safe(self.arg_names, expected_count)

    def safe_result_paths(self, expected_count: int) -> tuple[str, ...]:
        return self._safe(self.result_paths, expected_count)

    def _safe(self, names: Sequence[str] | None, expected_count: int) -> tuple[str, ...]:
        if names is None:
            return ("",) * expected_count
        assert len(names) == expected_count, (
            f"{self} names {len(names)} values, but there are {expected_count}.")
        return tuple(names)

    def __repr__(self):
        return (f"DebugInfo(traced_for={self.traced_for!r}, func_src_info={self.func_src_info!r}, "
                f"arg_names={self.arg_names!r}, result_paths={self.result_paths!r})")
