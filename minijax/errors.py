"""Errors that teach, and tracebacks without minijax's own frames.

Every error says what happened, to which value, where in the user's code, what to do about it,
and which chapter of the book explains it.  The classes have the names and base classes of
``jax.errors``.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from . import settings

F = TypeVar("F", bound=Callable[..., Any])

# ----------------------------------------------------------------------------------------------
# Where in the user's code

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


_excluded: tuple[str, ...] = (_PACKAGE,)


@functools.cache
def _is_minijax(filename: str) -> bool:
    return filename.startswith(_excluded)


def exclude_from_user_code(path: str) -> None:
    """Count a file, or a folder, as library code. Libraries that are built on minijax call this."""
    _set_excluded((*_excluded, path))


def count_as_user_code(path: str) -> None:
    """Undo `exclude_from_user_code`."""
    _set_excluded(tuple(excluded for excluded in _excluded if excluded != path))


def _set_excluded(paths: tuple[str, ...]) -> None:
    global _excluded
    _excluded = paths
    _is_minijax.cache_clear()
    _is_user_file.cache_clear()


@functools.cache
def _is_user_file(filename: str) -> bool:
    """Whether a file belongs neither to minijax nor to Python's standard library."""
    in_stdlib = filename.startswith(("<frozen", _STDLIB)) and "-packages" not in filename
    return not (in_stdlib or _is_minijax(filename))


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


class Note(tuple):
    """Pairs for the compiler among those names, in no text of them: see `runtime/notes.py`."""

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
        if type(name) is Note:
            continue
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
    Traces of functions begin with the names `notes`, on which their caches depend.
    """

    location: tuple[CodeType, int] | None = None
    names: tuple = ()
    notes: tuple = ()


source = _Source()


@contextlib.contextmanager
def own_source() -> Iterator[None]:
    """A context for tracing a function of its own, which belongs to no scope and no equation."""
    outside = source.location, source.names
    source.location, source.names = None, source.notes
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

    def __repr__(self):
        return (f"DebugInfo(traced_for={self.traced_for!r}, func_src_info={self.func_src_info!r}, "
                f"arg_names={self.arg_names!r}, result_paths={self.result_paths!r})")


# ----------------------------------------------------------------------------------------------
# The errors


class _TeachingError(Exception):
    """An error whose message ends with what to do, the chapter to read, and JAX's page."""

    remedy = ""
    chapter = ""

    def _advise(self, tracer: Any) -> None:
        """The remedy for a value that is refused for its derivative's sake is another one."""
        if _is_differentiated(tracer):
            self.remedy, self.chapter = _KEEP_THE_DERIVATIVE, _DIFFERENTIATION

    def __init__(self, message: str) -> None:
        advice = (self.remedy, self.chapter and f"To understand why, read {self.chapter}.",
                  f"See {_PAGE_OF_ERRORS}#jax.errors.{type(self).__name__}")
        super().__init__("\n".join(filter(None, (message.rstrip(), *advice))))


_PAGE_OF_ERRORS = "https://docs.jax.dev/en/latest/errors.html"  # JAX's, by which users search
_STAGING = 'chapter 5 of the book, "Jaxprs", and chapter 6, "jit"'
_DIFFERENTIATION = 'chapter 2 of the book, "Forward mode"'
_KEEP_THE_DERIVATIVE = (
    "This value is being differentiated. As a Python number or a NumPy array it would lose its "
    "derivative, and the result would be wrong. Compute with it by `jax.numpy` and `jax.lax` "
    "functions; to use it as a constant, take the number of `jax.lax.stop_gradient(x)`.")


class JAXTypeError(_TeachingError, TypeError):
    """A TypeError of minijax."""


class JAXIndexError(_TeachingError, IndexError):
    """An IndexError of minijax."""


class JaxRuntimeError(RuntimeError):
    """XLA failed to compile or to run a program."""


class JaxprTypeError(TypeError):
    """A jaxpr is not well typed."""


class InconclusiveDimensionOperation(Exception):
    """A size that is not known stands where an integer is needed, or is compared without an answer.
    """


class TypePromotionError(ValueError):
    """There is no implicit promotion between dtypes."""


class ShardingTypeError(Exception):
    """The shardings in the types of operands do not fit each other (chapter 14)."""


class ConcretizationTypeError(JAXTypeError):
    """A number was needed while tracing, when only its shape and dtype are known.

    Args:
      tracer: the traced value.
      context: what needed the number.
    """

    remedy = ("While a function is traced its arguments have shapes and dtypes, but no values yet. "
              "If the value is known before the call, make its argument static "
              "(`static_argnums` or `static_argnames` of `jit`); otherwise compute with it by "
              "`jax.numpy` and `jax.lax` functions only.")
    chapter = _STAGING

    def __init__(self, tracer: Any, context: str = "") -> None:
        self._advise(tracer)
        super().__init__("Abstract tracer value encountered where concrete value is expected: "
                         f"{describe(tracer)}\n{context}{_origin(tracer)}")


def in_conversion(*names: str) -> Callable:
    """The error for a tracer that one of these classes of numbers was called with."""
    advice = " or ".join(f"try using `x.astype({name})`" for name in names)
    return functools.partial(ConcretizationTypeError,
                             context=f"To convert the dtype of a traced value, {advice}.")


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a condition: ``if x``, ``x and y``, ``max(x, y)``."""

    remedy = ("Python must take one branch while tracing, before the value is known. "
              "To choose between values use `jnp.where(condition, x, y)`; to choose which code "
              "runs use `lax.cond`; for loops, `lax.while_loop`. If the condition depends on an "
              "argument that rarely changes, make it static (`static_argnums` or "
              "`static_argnames` of `jit`).")

    def __init__(self, tracer: Any) -> None:
        JAXTypeError.__init__(
            self, f"Attempted boolean conversion of {describe(tracer)}.{_origin(tracer)}")


class TracerArrayConversionError(JAXTypeError):
    """A traced value was given to NumPy."""

    remedy = ("NumPy needs numbers, and a traced value has none yet. Use the function of the same "
              "name in `jax.numpy`; if a NumPy array is indexed by the traced value, wrap the "
              "array first: `jnp.asarray(array)[index]`.")
    chapter = _STAGING

    def __init__(self, tracer: Any) -> None:
        self._advise(tracer)
        super().__init__("The numpy.ndarray conversion method __array__() was called on "
                         f"{describe(tracer)}.{_origin(tracer)}")


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used where Python needs an integer: a list index, an axis, a size."""

    remedy = ("Shapes, axes and indices of Python lists must be known while tracing. Make the "
              "argument static (`static_argnums` or `static_argnames` of `jit`), or, to index a "
              "list by a traced value, make it an array first: `jnp.array(values)[index]`.")
    chapter = _STAGING

    def __init__(self, tracer: Any) -> None:
        super().__init__(
            f"The __index__() method was called on {describe(tracer)}.{_origin(tracer)}")


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced mask was used as an index, so that the size of the result is not known."""

    remedy = ("How many elements a mask selects is not known while tracing, and every array needs "
              "a shape. Keep the shape with `jnp.where(mask, x, fill)`, or give the size: "
              "`jnp.nonzero(mask, size=n)`.")
    chapter = _STAGING

    def __init__(self, tracer: Any) -> None:
        super().__init__(
            "Array boolean indices must be concrete; got "
            f"{describe(tracer).removeprefix('traced array with shape ')}.{_origin(tracer)}")


class UnexpectedTracerError(JAXTypeError):
    """A traced value outlived the function whose tracing made it.

    Args:
      message: which value, and where it was born.
    """

    remedy = ("A traced value must not be stored outside the function that is being transformed "
              "in global state (a variable, a list, an attribute): return it instead. To find "
              "where it is stored, run under `jax.checking_leaks()`.")
    chapter = 'chapter 1 of the book, "Values and traces"'


class KeyReuseError(JAXTypeError):
    """A random key was used twice.

    Args:
      message: which key.
    """

    remedy = "Split it first, and use each part once: `key, subkey = jax.random.split(key)`."


def describe(tracer: Any) -> str:
    """``"traced array with shape float32[3]"``."""
    aval = tracer.aval
    if not hasattr(aval, "shape"):
        return f"traced array with aval {aval}"
    return f"traced array with shape {aval.dtype.name}[{','.join(map(str, aval.shape))}]"


def _is_differentiated(tracer: Any) -> bool:
    """Whether a traced value is known, but also has a tangent."""
    return getattr(tracer, "concrete_value", lambda: None)() is not None


def _origin(tracer: Any) -> str:
    """Where a traced value comes from, on a line of its own; empty if that is unknown."""
    message = getattr(tracer, "_origin_msg", str)().strip()
    return f"\n{message}" if message else ""


# ----------------------------------------------------------------------------------------------
# Tracebacks

_HIDDEN_FRAMES_NOTE = (
    "--------------------\nFor simplicity, minijax has removed its own frames from the traceback "
    "of this exception. Set JAX_TRACEBACK_FILTERING=off to see them.")


class UnfilteredStackTrace(Exception):
    """Carries the complete traceback, as the cause of an exception whose own is filtered."""


class _NoState:
    trace = axis_sizes = None


_thread_state: Any = _NoState()


def guard_state(state: Any) -> None:
    """Have boundaries put back `state.trace` and `state.axis_sizes` after Ctrl-C."""
    global _thread_state
    _thread_state = state


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
        trace, axis_sizes = _thread_state.trace, _thread_state.axis_sizes
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
            _thread_state.trace, _thread_state.axis_sizes = trace, axis_sizes
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
        if not _is_minijax(entry.tb_frame.f_code.co_filename):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _mark_hidden_frames(traceback: TracebackType) -> None:
    """Marks minijax's frames in the way that IPython and pytest understand."""
    for entry in _frames(traceback):
        if _is_minijax(entry.tb_frame.f_code.co_filename):
            entry.tb_frame.f_locals["__tracebackhide__"] = True


def __dir__() -> list[str]:
    """The errors that users catch. What other modules import is not listed."""
    public = [name for name, value in globals().items() if isinstance(value, type)
              and issubclass(value, Exception) and not name.startswith("_")]
    hidden = {"TypePromotionError", "ShardingTypeError", "UnfilteredStackTrace"}
    return sorted({*public} - hidden | {name for name in globals() if name.startswith("__")
                                        and name not in ("__annotations__", "__dir__")})
