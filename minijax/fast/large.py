"""Large arrays: XLA computes what it does much faster than NumPy.

NumPy makes a pass over the memory, and new memory, for each operation; a program of XLA's makes one
for all of them. For arrays of many elements this is worth compiling a program, as JAX does at any
size. The size alone decides, so that a function gives the same bits in each call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..core.array import Array
from ..core.extension import Extension
from ..core.jaxpr import ClosedJaxpr, JaxprEqn
from ..core.jit import jit
from ..fast_paths import MANY, on_numpy_if
from ..runtime import forks
from ..runtime.dispatch import apply_primitive
from ..summation import has_short_rows
from .evaluation import for_known_types, register_evaluation
from .repeated import DIFFERENT

SOME = 2**15  # elements: many operations in a row on so many can be as much work
_WORK = 2**17  # elements, summed over the operations of a function
# elements: on so many floats of 16 bits, and complex numbers, NumPy takes longer than XLA
FEW, FEWER = 2**13, 2**12
_NO_NAMES: dict[str, Any] = {}
_PROGRAM = 3.0  # microseconds that XLA takes for a program
# microseconds that NumPy takes for these operations on a few complex numbers
_LONG_FOR_COMPLEX = {"square": 4.5, "logistic": 4.0, "sign": 1.7}
_INEXACT = {"log1p", "expm1"}  # of complex numbers: XLA's have fewer digits
_LONG = 9  # equations: NumPy takes longer than XLA takes for a program
_SHORT = 64  # elements: NumPy reduces shorter rows one by one
_WIDE = 512  # elements of a row whose extremum NumPy finds as fast as XLA

# Primitives for which NumPy takes more than one and a half times as long, or several passes.
_SCATTERS = {"scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub"}
SLOW = {"acosh", "argmax", "argmin", "atanh", "clz", "convert_element_type", "div", "dot_general",
        "integer_pow", "log1p", "logistic", "mulhi", "pad", "population_count", "pow",
        "reduce_max", "reduce_min", "reduce_prod", "reduce_sum", "round", "select_n", "shift_left",
        "shift_right_arithmetic", "shift_right_logical", "sign", *_SCATTERS}
# The same for floats of 16 bits, which NumPy widens and narrows one by one,
SHORT = {"add", "ceil", "div", "eq", "floor", "ge", "gt", "integer_pow", "is_finite", "le", "lt",
         "max", "min", "mul", "ne", "reduce_max", "reduce_min", "reduce_sum", "rsqrt", "sqrt",
         "square", "sub"}
# for bfloat16 only,
SHORTER = {"acosh", "asinh", "atanh", "cosh", "exp", "exp2", "expm1", "log", "log1p", "sinh",
           "tanh"}
# and those of these for which NumPy takes more than 10 ns an element.
SLOWEST = {"acosh", "asinh", "atanh", "cosh", "expm1", "log1p", "rsqrt", "sinh", "sqrt", "tanh"}
# For complex numbers, NumPy takes several times as long for these from few elements on,
COMPLEX = {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "exp2", "expm1",
           "log", "log1p", "logistic", "pow", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh"}
# and for these from many on.
COMPLEX_PRODUCTS = {"div", "integer_pow", "square"}
_BFLOAT16 = {np.dtype(ml_dtypes.bfloat16)}
_SHORTS = {np.dtype("float16"), *_BFLOAT16}
_COMPLEX = {np.dtype("complex64"), np.dtype("complex128")}
# Primitives for which XLA takes several times as long.
FAST = {"acos", "argmax", "argmin", "asin", "atan", "atan2", "cbrt", "cos", "cumlogsumexp",
        "cummax", "cummin", "cumprod", "cumsum", "fft", "sin", "sort", "tan", "top_k"}
# Primitives that move nothing: NumPy gives views.
VIEWS = {"broadcast_in_dim", "reshape", "rev", "slice", "split", "squeeze", "transpose"}


class Compiled:
    """A function of arrays and numbers as a program of XLA's."""

    __slots__ = ("_jitted", "_repeated")

    def __init__(self, fun: Callable):
        self._jitted = jit(lambda *operands: fun(operands))
        self._repeated = getattr(self._jitted, "_repeated", {})

    def run(self, operands: tuple) -> Any:
        """Its result. Our caller has made sure that nothing is traced."""
        if self._repeated:
            try:
                result = self._repeated["run"](operands, _NO_NAMES)
                if result is not DIFFERENT:
                    return result
            except RuntimeError:  # the other way says what it means
                pass
        return self._jitted(*operands)


def is_large(x: Any, least: int = MANY) -> bool:
    """Whether an operand has so many elements, of a dtype of NumPy's, and XLA can be used."""
    if type(x) is not Array or x.aval.size < least:
        return False
    dtype = x.aval.dtype
    plain = isinstance(dtype, np.dtype) and (dtype.isbuiltin == 1 or dtype in _SHORTS)
    return plain and not forks.inherited


def is_compiled(closed: ClosedJaxpr, operands: Sequence) -> bool:
    """Whether a function of these operands is a program of XLA's: it adds many floats, or
    there is much work in several operations. NumPy must not do any of them much faster."""
    if not any(is_large(x, SOME) for x in operands):
        return False
    eqns = [*_equations(closed)]
    work = [(eqn.primitive.name, _work(eqn)) for eqn in eqns]
    most = max([n for _, n in work], default=0)
    names = [name for name, n in work if n and 4 * n >= most]
    much = sum(n for _, n in work) >= _WORK and len(names) > 1
    return (much or any(map(_adds_floats, eqns))) and FAST.isdisjoint(names)


def is_slow(x: Any) -> bool:
    """Whether it is an array of a dtype for which NumPy is slow even for few elements. The first
    call decides whether a program of XLA's is better, because its results have other bits."""
    return type(x) is Array and (x.aval.dtype in _BFLOAT16 or x.aval.dtype in _COMPLEX) and (
        not forks.inherited)


def takes_long(closed: ClosedJaxpr) -> bool:
    """Whether NumPy takes longer for such arrays than XLA takes for a program, which is as good.
    Comparisons stay in NumPy, because XLA takes the smallest numbers for zero."""
    eqns = [*_equations(closed)]
    inexact = any(eqn.primitive.name in _INEXACT and eqn.outvars[0].aval.dtype in _COMPLEX
                  for eqn in eqns)
    compares = all(aval.dtype == bool for aval in closed.out_avals)
    return not (inexact or compares) and sum(map(_microseconds, eqns)) > _PROGRAM


def _microseconds(eqn: JaxprEqn) -> float:
    """How long NumPy takes for an equation, if the arrays are small."""
    name, dtypes = eqn.primitive.name, {v.aval.dtype for v in (*eqn.invars, *eqn.outvars)}
    if name in VIEWS:
        return 0.2
    if not _COMPLEX.isdisjoint(dtypes):
        return _LONG_FOR_COMPLEX.get(name, 0.6)
    if _BFLOAT16.isdisjoint(dtypes):
        return 0.4
    return 6.0 if name == "dot_general" else 1.1


def is_long_and_exact(closed: ClosedJaxpr) -> bool:
    """Whether it is many operations on integers and truth values. For arrays of any size one
    program of XLA's is faster, and it gives the same bits. Of floats it would not: XLA takes the
    smallest ones for zero, and adds to a product before it is rounded."""
    steps = [eqn for eqn in closed.eqns if eqn.primitive.name not in VIEWS]
    values = [v.aval for eqn in closed.eqns for v in (*eqn.invars, *eqn.outvars)]
    return len(steps) >= _LONG and not forks.inherited and all(
        isinstance(x.dtype, np.dtype) and x.dtype.isbuiltin == 1 and x.dtype.kind in "iub"
        for x in values)


def _equations(closed: ClosedJaxpr) -> Iterator[JaxprEqn]:
    """The equations, with those of functions that have a derivative of their own."""
    for eqn in closed.eqns:
        called = eqn.own_params.get("call_jaxpr")
        yield from _equations(called) if type(called) is ClosedJaxpr else [eqn]


def _work(eqn: JaxprEqn) -> int:
    """How many elements an operation reads or makes at most."""
    ins, outs = eqn.invars, eqn.outvars
    if eqn.primitive.name in VIEWS and (len(ins) != 1 or ins[0].aval.size >= outs[0].aval.size):
        return 0
    return max([v.aval.size for v in (*ins, *outs)])


def _adds_floats(eqn: JaxprEqn) -> bool:
    if eqn.primitive.name != "reduce_sum":
        return False
    aval = eqn.invars[0].aval
    return aval.size >= MANY and aval.dtype.kind == "f"


def _reduces_short_rows(x: Array, *, axes: tuple, **_: Any) -> bool:
    """Whether short rows are combined, or elements of them, in an order for which we have no faster
    way. XLA's extrema of many floats are no NaN where an element is, so those are left to NumPy."""
    aval = x.aval
    return 0 < len(axes) < aval.ndim and aval.shape[-1] < _WIDE and (
        aval.dtype.kind in "iu" or aval.dtype.kind == "f" and not (
            has_short_rows(aval.dtype, aval.shape, axes) or _has_nan(x)))


def _has_nan(x: Array) -> bool:
    value, dtype = x._numpy(), x.aval.dtype
    if dtype not in _SHORTS:
        return bool(np.isnan(np.min(value)))
    # In bits, a NaN is more than an infinity of its sign.
    infinity = np.array(np.inf, dtype)
    return any(np.max(value.view(bits)) > limit.view(bits)
               for bits, limit in ((np.int16, infinity), (np.uint16, -infinity)))


def _sums_slowly(x: Array, *, axes: tuple, **_: Any) -> bool:
    """Whether floats are added, or not too long rows of integers, or short ones of complex numbers,
    but for few rows whose sums `summation.py` makes more exact."""
    aval, kind = x.aval, x.aval.dtype.kind
    if kind == "f" or not 0 < len(axes) < aval.ndim:
        return kind == "f"
    few = kind == "c" and aval.ndim - 1 not in axes and aval.size < 4 * MANY
    return aval.shape[-1] < (_SHORT if kind == "c" else _WIDE) and not few


def _multiplies_vector(x: Any, y: Any, *, dimension_numbers: Any, **_: Any) -> bool:
    """Whether it is the product of a matrix and a vector, for which NumPy's library starts threads
    that wait for each other."""
    (x_contract, _), (x_batch, _) = dimension_numbers
    if not type(x) is type(y) is Array:
        return False
    summed = math.prod(x.aval.shape[d] for d in x_contract)
    sizes = x.aval.size // summed, y.aval.size // summed
    return not x_batch and min(sizes) == 1 < max(sizes) and x.aval.dtype.kind == "f"


def _finds_in_few(x: Array, *, axes: tuple, **_: Any) -> bool:
    """Whether the greatest of few elements is searched, for many others."""
    return all(x.aval.shape[d] < _SHORT for d in axes)


def _converts_slowly(x: Array, *, new_dtype: Any, **_: Any) -> bool:
    """Whether an operand becomes a float of 16 bits, or was one, or becomes a natural number."""
    dtype = x.aval.dtype
    if dtype in _SHORTS:
        return np.float16 in (dtype, new_dtype) or new_dtype.kind in "iu"
    return new_dtype in _SHORTS or dtype.kind == "f" and new_dtype.kind == "u"


def _never_slow(name: str, avals: Sequence[Any]) -> bool:
    """Whether it is a primitive that is slow for other dtypes only."""
    return name == "div" and avals[0].dtype.kind not in "iu"


# For some of these primitives, when that is so.
_SLOW_IF: dict[str, Callable[..., bool]] = {
    "argmax": _finds_in_few, "argmin": _finds_in_few, "convert_element_type": _converts_slowly,
    "pad": lambda x, value, **_: x.aval.shape[-1] < _SHORT,
    "div": lambda x, y: x.dtype.kind in "iu", "dot_general": _multiplies_vector,
    "integer_pow": lambda x, *, y: y not in (1, 2),
    **dict.fromkeys(_SCATTERS, lambda x, indices, updates, **_: is_large(updates)),
    "reduce_max": _reduces_short_rows, "reduce_min": _reduces_short_rows,
    "reduce_sum": _sums_slowly}


def _least_sizes(name: str) -> dict[np.dtype, int]:
    """For the dtypes with which a primitive is always slow, from how many elements on it is."""
    shorts = _SHORTS if name in SHORT else _BFLOAT16 if name in SHORTER else set()
    sizes = dict.fromkeys(shorts, FEW if name in SLOWEST else MANY)
    if name in COMPLEX | COMPLEX_PRODUCTS:
        sizes |= dict.fromkeys(_COMPLEX, FEWER if name in COMPLEX else MANY)
    return sizes


def _elements(avals: Sequence[Any], broadcast: bool) -> int:
    """How many elements the largest of the operands has, or the shape to which they broadcast."""
    most = max([aval.size for aval in avals])
    if broadcast and len(avals) == 2 and avals[0].ndim == avals[1].ndim:
        return max(most, math.prod(map(max, avals[0].shape, avals[1].shape)))
    return most


class FastLarge(Extension):
    """Gives the slow primitives a rule that compiles them for large arrays."""

    def evaluation_rule(self, primitive, rule, evaluate):
        name = primitive.name
        sizes = _least_sizes(name)
        if name not in SLOW and not sizes:
            return evaluate
        slow = _SLOW_IF.get(name) if name in SLOW else lambda *args, **params: False
        keeps_nan = name in ("reduce_max", "reduce_min")
        broadcast, few = name not in _SLOW_IF, min(sizes.values(), default=MANY)
        least = math.isqrt(few) if broadcast else few  # smaller operands broadcast to fewer

        def of_any_size(*args, **params):
            for x in args:
                if type(x) is Array and x.aval.size >= least:
                    size = _elements([y.aval for y in args if type(y) is Array], broadcast)
                    own = sizes.get(x.aval.dtype)
                    if size >= (own or MANY) and is_large(x, 0) and (
                            not (keeps_nan and _has_nan(x)) if own else
                            slow is None or slow(*args, **params)):
                        return apply_primitive(primitive, *args, **params)
                    break
            return evaluate(*args, **params)

        def is_on_numpy(*avals):
            size = _elements(avals, broadcast) if avals else 0
            if any(size >= sizes.get(x.dtype, size + 1) for x in avals):
                return False
            return size < MANY or name not in SLOW or _never_slow(name, avals)

        evaluation = for_known_types(primitive, rule, of_any_size)
        on_numpy_if[primitive] = evaluation, is_on_numpy
        return evaluation


register_evaluation(FastLarge())
