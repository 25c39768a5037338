"""Errors that teach.

Every error says what happened, to which value, where in the user's code, what to do about it,
and which chapter of the book explains it.  The classes have the names and base classes of
``jax.errors``.
"""

import functools
from collections.abc import Callable
from typing import Any


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
      remedy: what to do, if the value was not stored.
    """

    remedy = ("A traced value must not be stored outside the function that is being transformed "
              "in global state (a variable, a list, an attribute), nor be passed by "
              "`nondiff_argnums`: return it, or pass it as an ordinary argument. To find where it "
              "is stored, run under `jax.checking_leaks()`.")
    chapter = 'chapter 1 of the book, "Values and traces"'

    def __init__(self, message: str, remedy: str | None = None) -> None:
        self.remedy = remedy or self.remedy
        super().__init__(message)


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


class UnfilteredStackTrace(Exception):
    """Carries the complete traceback, as the cause of an exception whose own is filtered."""


def __dir__() -> list[str]:
    """The errors that users catch. What other modules import is not listed."""
    public = [name for name, value in globals().items() if isinstance(value, type)
              and issubclass(value, Exception) and not name.startswith("_")]
    hidden = {"TypePromotionError", "ShardingTypeError", "UnfilteredStackTrace"}
    return sorted({*public} - hidden | {name for name in globals() if name.startswith("__")
                                        and name not in ("__annotations__", "__dir__")})
