"""Chapter 1: the immutable array, and evaluation on NumPy.

An `Array` holds a NumPy value, an XLA buffer, or both: whichever it was made from, and the other
when somebody asks. A primitive's *NumPy rule* takes and returns NumPy values; `def_numpy` makes
the evaluation rule of it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks.core import escaped
from ..errors import UnexpectedTracerError
from ..runtime import xla
from .core import ArrayMethods, Primitive, ShapedArray, Tracer, typeof
from .dtypes import ExtendedDType, float0


class _ArrayType(type):
    """`isinstance(x, Array)` is true of tracers too: to user code they are arrays."""

    def __instancecheck__(cls, x):
        return type.__instancecheck__(cls, x) or isinstance(x, Tracer)


class Array(ArrayMethods, metaclass=_ArrayType):
    """An immutable array, as `minijax.numpy.array` and every operation make them.

    It has the attributes, methods and operators of a NumPy array, except those that change it:
    instead of `x[i] = y` write `x = x.at[i].set(y)`.

    >>> x = jnp.arange(3.0)
    >>> x + 1
    Array([1., 2., 3.], dtype=float32)
    """

    __slots__ = ("aval", "_value", "_buffer", "__weakref__")
    __hash__ = None  # type: ignore[assignment]

    aval: ShapedArray

    def __init__(self, value, aval: ShapedArray, buffer: Any = None):
        self.aval, self._value, self._buffer = aval, value, buffer

    def _numpy(self):
        """The contents as an `ndarray` or a NumPy scalar, never to be written to."""
        if self._value is None:
            self._check_alive()
            self._value = xla().to_numpy(self._buffer)
        return self._value

    def _check_alive(self):
        if self.is_deleted():
            kind = self.aval.str_short(short_dtypes=False)
            raise RuntimeError(
                f"Array has been deleted with shape={kind}. It was donated to a jitted function "
                "(`donate_argnums`), or `delete()` was called on it."
            )

    # Conversions

    def __array__(self, dtype=None, copy=None):
        """NumPy's view of the contents: read-only, or a fresh copy if `copy`."""
        self._check_numeric("converted to a NumPy array")
        value = np.asarray(self._numpy())
        if copy or (dtype is not None and dtype != value.dtype):
            return np.array(value, dtype=dtype)
        view = value.view()
        view.flags.writeable = False
        return view

    def _check_numeric(self, purpose: str):
        if isinstance(self.aval.dtype, ExtendedDType):
            raise TypeError(
                f"JAX array with dtype {self.aval.dtype} cannot be {purpose}. Use "
                "jax.random.key_data(arr) if you wish to extract the underlying integer array."
            )

    def _scalar(self):
        if self.aval.ndim:
            raise TypeError(
                "Only scalar arrays can be converted to Python scalars; "
                f"got arr.ndim={self.aval.ndim}"
            )
        return self.item()  # as Python's number, which refuses to lose an imaginary part

    def __bool__(self):
        self._check_numeric("converted to a boolean")
        if self.aval.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. "
                "Use a.any() or a.all()" if self.aval.size else
                "The truth value of an empty array is ambiguous. "
                "Use `array.size > 0` to check that an array is not empty."
            )
        return bool(self._numpy())

    def __int__(self):
        return int(self._scalar())

    def __float__(self):
        return float(self._scalar())

    def __complex__(self):
        return complex(self._scalar())

    def __index__(self):
        if self.aval.ndim or self.aval.dtype.kind not in "iu":
            raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
        return int(self._numpy())

    def item(self, *args):
        """The element (at `args`, if there are more than one) as a Python number."""
        self._check_numeric("converted to a number")
        return np.asarray(self._numpy()).item(*args)

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        self._check_numeric("converted to numbers")
        return self._numpy().tolist()

    def tobytes(self, order="C") -> bytes:
        """The elements as they lie in memory, in row-major order unless `order` is "F"."""
        return np.asarray(self._numpy()).tobytes(order)

    def concrete_value(self):
        """The array itself: its contents are known (compare `Tracer.concrete_value`)."""
        return self

    def __iter__(self):
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array")
        row = ShapedArray(self.aval.shape[1:], self.aval.dtype, self.aval.weak_type)
        return (Array(value, row) for value in self._numpy())

    # Life and place

    def block_until_ready(self) -> Array:
        """Wait until the contents are computed; returns the array."""
        if self._value is None:
            self._check_alive()
            xla().wait(self._buffer)
        return self

    def is_ready(self) -> bool:
        """Whether the contents are computed already."""
        if self._value is None:
            self._check_alive()
            return self._buffer.is_ready()
        return True

    def copy_to_host_async(self) -> None:
        """Ask for the contents in NumPy soon: on the host they are there as soon as computed."""
        self._check_alive()

    def on_device_size_in_bytes(self) -> int:
        """How many bytes the contents take."""
        return self.nbytes

    def is_deleted(self) -> bool:
        """Whether the contents were given away (donated to a jitted function, or deleted)."""
        return self._value is None and (self._buffer is None or self._buffer.is_deleted())

    def delete(self) -> None:
        """Free the contents now."""
        self._value = self._buffer = None

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process holds all of the array."""
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device of the array holds all of it."""
        return True

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return Array(np.array(self._numpy()), self.aval)

    def __reduce__(self):
        return Array, (np.asarray(self._numpy()), self.aval)

    def __dlpack__(self, *, max_version=None, **kwargs):
        """The contents, read-only; a copy, for those who do not know what read-only memory is."""
        knows_read_only = max_version is not None and max_version[0] >= 1
        value = np.asarray(self) if knows_read_only else np.array(self._numpy())
        return value.__dlpack__(max_version=max_version, **kwargs)

    def __dlpack_device__(self):
        return np.asarray(self._numpy()).__dlpack_device__()

    def __setitem__(self, index, value):
        raise TypeError(
            "JAX arrays are immutable and do not support in-place item assignment. Instead of "
            "x[idx] = y, use x = x.at[idx].set(y) or another .at[] method."
        )

    # Printing

    def __format__(self, spec):
        if isinstance(self.aval.dtype, ExtendedDType):
            return format(str(self), spec)
        return format(self.item() if not self.aval.ndim else np.asarray(self), spec)

    def __str__(self):
        return repr(self) if isinstance(self.aval.dtype, ExtendedDType) else str(np.asarray(self))

    def __repr__(self):
        if self.is_deleted():
            return f"<deleted Array with shape={self.aval.str_short(short_dtypes=False)}>"
        if isinstance(self.aval.dtype, ExtendedDType):
            inside = self.aval.dtype.readable(np.asarray(self._numpy()))
            return f"Array({self.aval.shape}, dtype={self.aval.dtype}) overlaying:\n{inside}"
        tail = f"dtype={self.aval.dtype.name}{', weak_type=True' * self.aval.weak_type}"
        body = f"[], shape={self.aval.shape}" if not self.aval.size else np.array2string(
            np.asarray(self._numpy()), prefix="Array(", suffix=",", separator=", ")
        # If the dtype does not fit on the line, JAX leaves a gap, and writes it there all the same.
        width = len(body) - body.rfind("\n") + len(tail) + 3
        gap = " " * (len("Array(") if width > np.get_printoptions()["linewidth"] else 1)
        return f"Array({body},{gap}{tail})"


# What a compiled program for an array depends on: its aval. Subclasses may say more.
Array.placed_type = Array.aval  # type: ignore[attr-defined, misc]
array_classes: set[type] = {Array}  # the classes of concrete arrays


def as_array(x) -> Array:
    """A concrete value as an `Array`, its contents copied if somebody else could change them.

    Raises:
      UnexpectedTracerError: `x` is a tracer whose trace is over.
      TypeError: `x` is no array and no number.
    """
    if type(x) is Array or isinstance(x, Array) and not isinstance(x, Tracer):
        return x
    aval, value = _foreign(x)
    return Array(np.array(value) if isinstance(x, np.ndarray) else value, aval)


def owned(x):
    """`x`; if it is a NumPy array, which its owner may change, a copy of it as an `Array` (or,
    of a 0-d one, as a NumPy scalar, which jaxprs write as a literal)."""
    if not isinstance(x, np.ndarray) or x.dtype == float0:
        return x
    return as_array(x) if x.ndim else x[()]


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


_quiet = _Quiet()


def without_warnings(function: Callable, *args, **kwargs):
    """Call a function of NumPy values with floating point warnings off."""
    return _quiet.run(function, *args, **kwargs)


# NumPy scalars that are what they say whether 64-bit types are enabled or not.
_SCALAR_AVALS = {dtype.type: ShapedArray((), dtype) for dtype in [np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32",
    "complex64")]}


def _foreign(x) -> tuple[ShapedArray, Any]:
    """The type and the NumPy value of an argument that is not an `Array`."""
    if isinstance(x, Tracer):
        escaped(x)
        raise UnexpectedTracerError(f"a traced value reached evaluation: {x}")
    aval = _SCALAR_AVALS.get(type(x))
    if aval is not None:
        return aval, x
    aval = typeof(x)
    if isinstance(x, np.ndarray):
        return aval, x.astype(aval.dtype, copy=False)
    if isinstance(x, Array):  # of chapter 14, which knows its place
        return aval, x._numpy()
    if hasattr(type(x), "__jax_array__"):
        return aval, x.__jax_array__()._numpy()
    return aval, aval.dtype.type(x)


def _apart(out, not_ours):
    """A result; if it is a view of an array that its owner may change, a copy of it."""
    shared = isinstance(out, np.ndarray) and any(np.may_share_memory(out, x) for x in not_ours)
    return np.array(out) if shared else out


def def_numpy(primitive: Primitive, rule: Callable, arity: int | None = None) -> Callable:
    """Make `rule`, which takes and returns NumPy values, the evaluation rule of `primitive`.

    The shape rule runs first: NumPy would broadcast and promote where we must complain. `arity`
    is 1 or 2 for operations without parameters that are used so often that every step counts.
    """

    def evaluate(*args, **params):
        avals, values, not_ours = [], [], []
        for x in args:
            if type(x) is Array:
                value = x._value
                avals.append(x.aval)
                values.append(x._numpy() if value is None else value)
            else:
                aval, value = _foreign(x)
                avals.append(aval)
                values.append(value)
                if isinstance(x, np.ndarray):
                    not_ours.append(x)
        out_aval = primitive.out_aval(tuple(avals), params)
        out = _quiet.run(rule, *values, **params)
        if primitive.multiple_results:
            out = [_apart(part, not_ours) for part in out] if not_ours else out
            return [*map(Array, out, out_aval)]
        return Array(_apart(out, not_ours) if not_ours else out, out_aval)

    quick = {1: _quick_unary, 2: _quick_binary}.get(arity)  # type: ignore[arg-type]
    primitive.impl = quick(primitive, rule, evaluate) if quick else evaluate  # type: ignore
    return rule


def _quick_unary(primitive, rule, evaluate):
    """`evaluate`, short-cut for an array at hand, of a type that was met before."""
    out_avals, quiet = primitive._out_avals, _quiet

    def quick(x):
        if type(x) is Array and x._value is not None:
            out_aval = out_avals.get((x.aval,))
            if out_aval is not None:
                return Array(quiet.run(rule, x._value), out_aval)
        return evaluate(x)

    return quick


def _quick_binary(primitive, rule, evaluate):
    """`evaluate`, short-cut for an array and an array or a NumPy scalar, of types met before."""
    out_avals, quiet = primitive._out_avals, _quiet

    def quick(x, y):
        if type(x) is Array:
            if type(y) is Array:
                y_value, y_aval = y._value, y.aval
            else:
                y_value, y_aval = y, _SCALAR_AVALS.get(type(y))
            out_aval = out_avals.get((x.aval, y_aval))
            x_value = x._value
            if out_aval is not None and x_value is not None and y_value is not None:
                return Array(quiet.run(rule, x_value, y_value), out_aval)
        return evaluate(x, y)

    return quick
