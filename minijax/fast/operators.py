"""Fast paths for `x + y` and its like, where both operands are of one type, or one is a number, and
for `sin(x)` and its like.

The operators of `core/operators.py` promote their operands and bind a primitive. Here operands that
need no promotion are handed to the current trace at once. If nothing is traced, NumPy's function is
called at once, and the type of the result is looked up under that of the array.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array, numpy_rules, quiet
from ..core.core import ArrayMethods, Primitive, ShapedArray, eval_trace, install_methods, state
from ..core.dtypes import lattice_result_type, short_of, to_inexact_dtype
from ..core.extension import Extension, hooks, register
from ..core.jit import cache_of, remember, traces
from ..core.operators import BINARY, COMPARISONS, binary_function, install_binary_operators
from ..core.primitives import short_integers
from ..fast_paths import MANY
from ..masks import is_bool, selected, selects
from ..settings import enable_x64, numpy_dtype_promotion, numpy_rank_promotion, trace_context
from .evaluation import NARROW, is_on_numpy, run
from .staged import with_traced_calls

# primitive: the NumPy function, and the kinds of dtypes for which it is the evaluation rule
UFUNCS: dict[str, tuple[np.ufunc, str]] = {
    "add": (np.add, "iufc"), "sub": (np.subtract, "iufc"), "mul": (np.multiply, "iufc"),
    "div": (np.divide, "f"), "eq": (np.equal, "iufc"), "ne": (np.not_equal, "iufc"),
    "lt": (np.less, "iuf"), "le": (np.less_equal, "iuf"), "gt": (np.greater, "iuf"),
    "ge": (np.greater_equal, "iuf")}
_MOST_SCALARS = 1024
new, ndarray, missing = object.__new__, np.ndarray, object()

_WIDE = {complex, np.float32, np.float64}  # scalars that widen most arrays
_SCALAR_KINDS = {bool: 0, int: 1, float: 2, complex: 3}
_ARRAY_KINDS = {"i": 1, "u": 1, "f": 2, "c": 3}


# number, its type, the array's type, settings -> the number as a scalar of the array's dtype
_scalars: dict[tuple, Any] = {}


def scalar_operand(x: Any, aval) -> Any:
    """The Python scalar `x` beside an array of strong type `aval`, or `None` if it widens it."""
    kind = type(x)
    if kind is float and x or kind is int:  # 0.0 and -0.0 are equal
        key = x, kind, aval, trace_context()
        scalar = _scalars.get(key, key)
        return remember(_scalars, key, _scalar_operand(x, aval)) if scalar is key else scalar
    return _scalar_operand(x, aval)


def _scalar_operand(x: Any, aval) -> Any:
    kind = _SCALAR_KINDS.get(type(x))
    if kind is None or aval.weak_type or kind > _ARRAY_KINDS.get(aval.dtype.kind, -1):
        return None
    if kind == 0 and (numpy_dtype_promotion.value == "strict"  # a truth value is not weak
                      or not aval.ndim):  # it is a mask of the array
        return None
    if kind == 1 and not -2**31 <= x < 2**31:  # refused, or an integer of 64 bits
        return None
    if aval.dtype in short_of and not enable_x64.value:  # the core shortens the dtype
        return None
    try:
        return quiet.run(aval.dtype.type, x)
    except OverflowError:  # too large for a short type, in which it wraps around
        return None


def fast_function(primitive: Primitive, kinds: str, function: Callable) -> Callable:
    """`function`, with a fast path for operands of these kinds that need no promotion."""
    traced = with_traced_calls(function, ())
    may_select = primitive.name == "mul"  # by a mask, which no traced function does

    def fast(x, y, /):
        if isinstance(x, ArrayMethods):
            aval = x.aval
            if aval.dtype.kind in kinds:
                if isinstance(y, ArrayMethods) and aval is y.aval:
                    return state.trace.process_primitive(primitive, (x, y), {})
                scalar = scalar_operand(y, aval)
                if scalar is not None:
                    return state.trace.process_primitive(primitive, (x, scalar), {})
        elif isinstance(y, ArrayMethods) and y.aval.dtype.kind in kinds:
            scalar = scalar_operand(x, y.aval)
            if scalar is not None:
                return state.trace.process_primitive(primitive, (scalar, y), {})
        return (function if may_select and is_bool(x) != is_bool(y) else traced)(x, y)

    return fast_operator(primitive, fast) if primitive.name in UFUNCS else fast


class _Known:
    """The types of a primitive's results, and second operands as arrays, by the operands' types."""

    def __init__(self, primitive: Primitive, kinds: str):
        self.primitive, self.kinds = primitive, kinds
        # The type of two operands -> that of the result, and floats and integers that were the
        # second operand, as arrays of that type; `None` if the fast path is not for it.
        self.types: dict[ShapedArray, tuple[ShapedArray, dict, dict] | None] = cache_of(
            traces, self, "types")
        # types of two operands, settings -> what computes the result, in which dtype, and the type
        # of the result; `None` if the fast path is not for them
        self.widened: dict[tuple, Any] = cache_of(traces, self, "types to convert to")

    def learn(self, aval: ShapedArray, y: Any) -> None:
        """Prepare for the next operation on an array of this type and an operand like `y`."""
        if aval not in self.types:
            plain = (aval.dtype.kind in self.kinds and aval.dtype.isbuiltin == 1
                     and aval.placement is None and is_on_numpy(self.primitive, (aval, aval)))
            self.types[aval] = (
                (self.primitive.out_aval((aval, aval), {}), {}, {}) if plain else None)
        elif (known := self.types[aval]) is not None:
            if type(y) is float and y and not math.isnan(y):  # 0.0 and -0.0 are equal
                self._learn_scalar(known[1], y, aval)
            elif type(y) is int:
                self._learn_scalar(known[2], y, aval)

    def _learn_scalar(self, table: dict, y: Any, aval: ShapedArray) -> None:
        if aval.dtype.itemsize < 8:  # what a setting may shorten is asked each time
            scalar = scalar_operand(y, aval)
            if len(table) >= _MOST_SCALARS:
                table.clear()
            if scalar is not None:
                table[y] = np.asarray(scalar)

    def widen(self, x: Array, y: Any, otherwise: Callable, reflected: bool) -> Any:
        """The result for operands of two types, which promotion converts to one dtype."""
        kind = type(y)
        other = y.aval if kind is Array else (y.dtype, y.shape) if kind is ndarray else kind
        key = x.aval, other, trace_context()
        if key not in self.widened:
            return self._learn_widened(key, x, y, otherwise, reflected)
        if (found := self.widened[key]) is None:
            return otherwise(x, y)
        compute, dtype, out_aval = found
        return Array(compute(dtype, x, y, reflected), out_aval)

    def _of_dtype(self, dtype: np.dtype, x: Array, y: Any, reflected: bool) -> np.ndarray:
        a = x._numpy().astype(dtype, copy=False)
        b = short_integers(y._numpy() if type(y) is Array else y, dtype)
        b = quiet.run(np.asarray, b, dtype)
        return quiet.run(UFUNCS[self.primitive.name][0], *((b, a) if reflected else (a, b)))

    def _learn_widened(self, key: tuple, x: Array, y: Any, otherwise: Callable,
                       reflected: bool) -> Any:
        out = otherwise(x, y)
        dtype, _ = lattice_result_type(x, y)
        if self.primitive.name == "div":
            dtype = to_inexact_dtype(dtype)
        compute: Callable = self._of_dtype
        if self.primitive.name == "mul" and selects(x, y, out):
            compute = times_mask
        plain = (dtype.kind in self.kinds and dtype.isbuiltin == 1 and type(out) is Array
                 and (out.aval.size < MANY or compute is times_mask)
                 and (np.ndim(y) in (0, x.aval.ndim) or numpy_rank_promotion.value == "allow")
                 and x.aval.placement is out.aval.placement is None)
        if plain:  # does NumPy do the same?
            ours = compute(dtype, x, y, reflected)
            plain = ours.dtype == out.aval.dtype and np.array_equal(
                ours, out._numpy(), equal_nan=ours.dtype.kind in "fc")
        if len(self.widened) >= _MOST_SCALARS:
            self.widened.clear()
        self.widened[key] = (compute, dtype, out.aval) if plain else None
        return out


def times_mask(dtype: np.dtype, x: Any, y: Any, reflected: bool = False) -> np.ndarray:
    """The product of values and a mask, as a compiled program computes it."""
    values, mask = (y, x) if is_bool(x) else (x, y)
    return quiet.run(selected, _contents(values), _contents(mask), dtype)


def _contents(x: Any) -> np.ndarray:
    return x._numpy() if type(x) is Array else np.asarray(x)


def fast_operator(primitive: Primitive, otherwise: Callable, reflected: bool = False) -> Callable:
    """`otherwise`, a function of two operands, with a fast path for evaluation.

    If it is `reflected`, the second operand is the left one.
    """
    ufunc, kinds = UFUNCS[primitive.name]
    divides = primitive.name == "div"  # integers become floats
    known = _Known(primitive, kinds)
    types = known.types

    def operate(x, y, /):
        if (type(x) is Array and state.trace is eval_trace
                and not (hooks.evaluate or hooks.after_evaluation)):
            aval, kind, other = x.aval, type(y), None
            found = types.get(aval)
            if found is not None:
                out_aval, floats, ints = found
                if kind is Array:
                    if y.aval is aval:
                        other = y._host
                        if other is None:
                            other = y._numpy()
                elif kind is float:
                    other = floats.get(y)
                elif kind is int:
                    other = ints.get(y)
                elif kind is ndarray and y.dtype is aval.dtype and y.shape == aval.shape:
                    shortened = aval.dtype in short_of and not enable_x64.value
                    other = y if not (aval.weak_type or shortened) else None
                if other is not None:
                    value = x._host
                    if value is None:
                        value = x._numpy()
                    if reflected:
                        value, other = other, value
                    out = new(Array)  # as `Array(value, out_aval)`, in two thirds of the time
                    out.aval, out._buffer = out_aval, None
                    try:
                        out._host = run(ufunc, value, other)
                    except RuntimeError:  # another thread is there
                        out._host = quiet.run(ufunc, value, other)
                    return out
            integers = aval.dtype.kind in "iub"
            if kind is Array:
                widens = y.aval is not aval or integers and divides
            elif kind is int:
                widens = integers and (divides or aval.dtype.kind == "b") and -2**31 <= y < 2**31
            elif kind is ndarray:
                widens = y.dtype.kind in "fi"
            else:
                widens = kind in _WIDE or kind is float and integers
            if widens:
                return known.widen(x, y, otherwise, reflected)
            known.learn(aval, y)
        return otherwise(x, y)

    return operate


def fast_unary_function(primitive: Primitive, function: Callable) -> Callable:
    """`function`, with a fast path for evaluation. It binds `primitive` to arrays of its dtypes."""
    rule = numpy_rules.get(primitive)
    if rule is None:
        return function
    out_avals: dict[ShapedArray, Any] = cache_of(traces, function, "result types")

    def operate(x=missing, /, **params):
        if (type(x) is Array and state.trace is eval_trace and not params
                and not (hooks.evaluate or hooks.after_evaluation)):
            out_aval = out_avals.get(x.aval)
            if out_aval is not None:
                value = x._host
                if value is None:
                    value = x._numpy()
                out = new(Array)  # as `Array(value, out_aval)`, in two thirds of the time
                out.aval, out._buffer = out_aval, None
                try:
                    out._host = run(rule, value)
                except RuntimeError:  # another thread is there
                    out._host = quiet.run(rule, value)
                return out
            out = function(x)
            if x.aval not in out_avals:
                remember(out_avals, x.aval, known_result(primitive, x.aval))
            return out
        return function(**params) if x is missing else function(x, **params)

    return functools.update_wrapper(operate, function)


def known_result(primitive: Primitive, aval: ShapedArray) -> ShapedArray | None:
    """The type of what the NumPy rule of a primitive makes of an array, if it is the evaluation."""
    if aval.placement is None and is_on_numpy(primitive, (aval,)):
        with contextlib.suppress(TypeError):
            out_aval = primitive.out_aval((aval,), {})
            return None if out_aval.dtype in NARROW else out_aval
    return None


def usual_method(name: str) -> Callable:
    """The method of arrays and tracers, as it is when it is called."""
    return lambda x, y: getattr(ArrayMethods, name)(x, y)


class FastOperators(Extension):
    """Gives functions of one array, and those behind binary operators, their fast paths."""

    def operator_function(self, primitive, kinds, function):
        return fast_function(primitive, kinds, function)

    def unary_function(self, primitive, function):
        return fast_unary_function(primitive, function)


register(FastOperators())
for operator, row in [*BINARY.items(), *COMPARISONS.items()]:
    if operator in BINARY:
        install_binary_operators({operator: binary_function(*row)})
    for name in (f"__{operator}__", f"__r{operator}__"):
        if row[1].name in UFUNCS and hasattr(ArrayMethods, name):
            fast = fast_operator(row[1], usual_method(name), name[2] == "r")
            install_methods({name: fast}, Array)
