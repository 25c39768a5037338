"""Chapter 1: what is an array, and how is a primitive evaluated?

An `Array` is immutable. It holds a NumPy value, an XLA buffer, or both: whichever it was made from,
and the other when it is first needed. A primitive's *NumPy rule* takes and returns NumPy values,
and `def_numpy` makes the evaluation rule of it:

    def_numpy : (ndarray, ..., **params) → ndarray   to   (Array, ..., **params) → Array

Counterpart in JAX: `jax/_src/array.py` and `jax/_src/dispatch.py`, where XLA evaluates.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import array as checks
from ..checks.tracebacks import hide_frames
from ..runtime import xla
from .core import ArrayMethods, Primitive, ShapedArray, Tracer, eval_trace, state, typeof
from .extension import hooks


def is_reference(aval) -> bool:
    """Whether a type is that of references (chapter 15), which has an `inner_aval`."""
    return hasattr(aval, "inner_aval")


class _ArrayType(type):
    """`isinstance(x, Array)` is also true of tracers: to user code they are arrays."""

    def __instancecheck__(cls, x):
        return type.__instancecheck__(cls, x) or (
            isinstance(x, Tracer) and not is_reference(getattr(x, "aval", None)))


def _conversion(kind: type) -> Callable:
    """`int`, `float` or `complex` of an array. NumPy's would lose an imaginary part silently."""

    def convert(self):
        try:
            checks.scalar(self)
            return kind(np.asarray(self._numpy()).item())
        except Exception as error:
            hide_frames(error)
            raise

    return convert


class Array(ArrayMethods, metaclass=_ArrayType):
    """An immutable array, as `minijax.numpy.array` and every operation make them.

    It has the attributes, methods and operators of a NumPy array, except those that change it:
    instead of `x[i] = y` write `x = x.at[i].set(y)`.

    >>> x = jnp.arange(3.0)
    >>> x + 1
    Array([1., 2., 3.], dtype=float32)
    """

    __slots__ = ("aval", "_host", "_buffer", "__weakref__")
    __hash__ = None  # type: ignore[assignment]

    aval: ShapedArray

    def __init__(self, value, aval: ShapedArray, buffer: Any = None):
        self.aval, self._host, self._buffer = aval, value, buffer

    def _numpy(self):
        """The contents as an `ndarray` or a NumPy scalar, never to be written to."""
        if self._host is None:
            checks.alive(self)
            self._host = xla().to_numpy(self._buffer)
        return self._host

    def __array__(self, dtype=None, copy=None):
        """NumPy's view of the contents: read-only, or a fresh copy if `copy`."""
        checks.numeric(self, "converted to a NumPy array")
        value = self._numpy()
        if copy or (dtype is not None and dtype != value.dtype):
            return np.array(np.asarray(value), dtype=dtype)
        if isinstance(value, np.ndarray):
            value = self._host = _read_only(value)
        view = np.asarray(value).view()
        view.flags.writeable = False
        return view

    def concrete_value(self):
        """The array itself: its contents are known (compare `Tracer.concrete_value`)."""
        return self

    # Python's values

    def __bool__(self):
        checks.truth_value(self)
        return bool(self._numpy())

    __int__, __float__, __complex__ = map(_conversion, (int, float, complex))

    def __index__(self):
        checks.index(self)
        return int(self._numpy())

    def _plain_text(self):
        return f"Array({np.asarray(self)}, dtype={self.dtype.name})"

    # Life

    def is_deleted(self) -> bool:
        """Whether the contents were given away (donated to a jitted function, or deleted)."""
        return self._host is None and (self._buffer is None or self._buffer.is_deleted())

    def delete(self) -> None:
        """Free the contents now."""
        self._host = self._buffer = None


def _read_only(value: np.ndarray) -> np.ndarray:
    """The contents of an array in a form of which no view can be written to."""
    owner = value.base if isinstance(value.base, np.ndarray) else value
    if owner.base is not None and not isinstance(owner.base, np.ndarray):
        return value  # the memory is XLA's, or has been made read-only
    plain: Any = value.view(f"V{value.itemsize}")  # a memoryview has no letters for some dtypes
    return np.asarray(memoryview(plain).toreadonly()).view(value.dtype)


# ----------------------------------------------------------------------------------------------
# A user's value becomes ours

# Functions that are called with each raw value that becomes an array. They return it, or an array
# or a number with the same contents, or refuse it.
raw_value_handlers: list[Callable[[Any], Any]] = []


def handled(x: Any) -> Any:
    """What the handlers make of a value, unless it is an array already."""
    for handle in raw_value_handlers:
        x = x if hasattr(x, "aval") else handle(x)
    return x


def is_arraylike(x) -> bool:
    """Whether `x` may be an operand: an array, a NumPy value or a Python number."""
    kinds = (ArrayMethods, np.ndarray, np.generic, bool, int, float, complex)
    return isinstance(x, kinds) or hasattr(type(x), "__jax_array__")


def contents(x) -> tuple[ShapedArray, Any]:
    """The type and the NumPy value of a concrete argument.

    Raises:
      UnexpectedTracerError: `x` is a tracer, whose trace may be over.
      TypeError: `x` is neither an array nor a number.
    """
    checks.concrete(x)
    x = handled(x)
    if isinstance(x, Array):
        return x.aval, x._numpy()
    aval = typeof(x)
    if isinstance(x, np.ndarray):
        return aval, x.astype(aval.dtype, copy=False)
    if hasattr(type(x), "__jax_array__"):
        return contents(x.__jax_array__())
    return aval, aval.dtype.type(x)


def as_array(x) -> Array:
    """A concrete value as an `Array`. A NumPy array is copied, since its owner can change it."""
    if isinstance(x, Array) and not isinstance(x, Tracer):
        return x
    aval, value = contents(x)
    return Array(np.array(value) if isinstance(x, np.ndarray) else value, aval)


# ----------------------------------------------------------------------------------------------
# Evaluation on NumPy


class _Quiet(threading.local):
    """Each thread's way to run a NumPy function without floating point warnings.

    NumPy keeps its error state in a context variable. A copy of the context made once, in which
    the warnings are off, costs a fraction of entering `np.errstate` around each operation.
    """

    def __init__(self):
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


quiet = _Quiet()

# primitive -> its rule on NumPy values
numpy_rules: dict[Primitive, Callable] = {}

# The types of NumPy scalars that mean the same under all settings.
scalar_avals = {dtype.type: ShapedArray((), dtype) for dtype in map(np.dtype, "?bBhHiIefF")}

# NumPy computes with these dtypes as with int8: the lowest bits of its results are right.
narrow_integers: set[np.dtype] = set()


def def_numpy(primitive: Primitive, rule: Callable) -> Callable:
    """Make `rule`, which takes and returns NumPy values, the evaluation rule of `primitive`.

    The shape rule runs first, because NumPy broadcasts and promotes where we must refuse.
    """

    def evaluate(*args, **params):
        if params:
            params.pop("accuracy", None)  # NumPy has one way to compute
        avals, values, foreign = [], [], []
        for x in args:
            if type(x) is Array:  # as `contents`, in a fraction of the time
                aval, value = x.aval, x._host
                if value is None:
                    value = x._numpy()
            elif (aval := scalar_avals.get(type(x))) is not None:
                value = x
            else:
                aval, value = contents(x)
                if isinstance(x, np.ndarray):
                    foreign.append(x)
            avals.append(aval)
            values.append(value)
        out_aval = primitive.out_aval(tuple(avals), params)
        out = quiet.run(rule, *values, **params)
        if primitive.multiple_results:
            return [Array(_apart(part, foreign), aval) for part, aval in zip(out, out_aval)]
        if out.dtype is not out_aval.dtype and out_aval.dtype in narrow_integers:
            out = out.astype(out_aval.dtype)
        return Array(_apart(out, foreign) if foreign else out, out_aval)

    numpy_rules[primitive] = rule
    primitive.def_impl(evaluate)
    return rule


def _apart(out, arrays):
    """A result, or a copy of it if it is a view of an array that its owner may change."""
    shared = isinstance(out, np.ndarray) and any(np.may_share_memory(out, x) for x in arrays)
    return np.array(out) if shared else out


def direct_unary(primitive: Primitive) -> Callable:
    """`primitive.bind`, with a short cut for an array whose contents are in NumPy.

    If nothing is traced, the evaluation rule would be called next, and it would call the NumPy
    rule. The short cut calls the NumPy rule at once, for operands of types that the shape rule has
    accepted before. It saves two thirds of the time for small arrays. Everything else goes to the
    current trace. So does every operand if the user has set another evaluation rule, or if an
    extension evaluates primitives on arrays or sees their results.
    """
    if primitive not in numpy_rules:
        return primitive.bind
    rule, evaluate, out_avals = numpy_rules[primitive], primitive.impl, primitive.out_avals

    def apply(x):
        if type(x) is Array and state.trace is eval_trace and primitive.impl is evaluate:
            value, out_aval = x._host, out_avals.get((x.aval,))
            if not (value is None or out_aval is None or hooks.evaluate or hooks.after_evaluation):
                out = quiet.run(rule, value)
                if out.dtype is out_aval.dtype:
                    return Array(out, out_aval)
        return primitive.bind(x)

    return apply


def direct_binary(primitive: Primitive) -> Callable:
    """`direct_unary` for two operands, each an array or a NumPy scalar."""
    if primitive not in numpy_rules:
        return primitive.bind
    rule, evaluate, out_avals = numpy_rules[primitive], primitive.impl, primitive.out_avals

    def apply(x, y):
        if state.trace is eval_trace and primitive.impl is evaluate:
            (a, x_aval) = (x._host, x.aval) if type(x) is Array else (x, scalar_avals.get(type(x)))
            (b, y_aval) = (y._host, y.aval) if type(y) is Array else (y, scalar_avals.get(type(y)))
            out_aval = out_avals.get((x_aval, y_aval))
            if not (out_aval is None or a is None or b is None
                    or hooks.evaluate or hooks.after_evaluation):
                out = quiet.run(rule, a, b)
                if out.dtype is out_aval.dtype:
                    return Array(out, out_aval)
        return primitive.bind(x, y)

    return apply
