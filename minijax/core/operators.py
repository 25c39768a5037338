"""Chapter 1: what does `x + y` mean for arrays of any types and shapes?

The primitives take operands of one type and one rank. Here operands are promoted to the least type
that holds them all (a Python scalar yields to an array of its kind), and get leading dimensions of
size 1. The operators of arrays and tracers are functions that do so and bind a primitive.

    add : (x: t[m…], y: u[n…]) → (t ⊔ u)[broadcast(m…, n…)]

Later rooms install complete versions, with more operands and keywords, and all other methods, by
`install_methods`: `lax/operators.py`, `lax/indexing.py`, `numpy/_methods.py`. Counterpart in JAX:
`jax/_src/numpy/util.py` and `jax/_src/numpy/array_methods.py`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks import operators as checks
from ..checks.tracebacks import hide_frames
from . import dtypes, primitives as lax
from .array import direct_binary, is_arraylike, quiet
from .core import ArrayMethods, ShapedArray, install_methods, typeof

# ----------------------------------------------------------------------------------------------
# Promotion


def promote_shapes(name: str, *args) -> Sequence:
    """The arguments with leading dimensions of size 1 up to one rank; scalars stay scalars."""
    shapes = [typeof(x).shape for x in args]
    ranks = {len(shape) for shape in shapes if shape}
    if len(ranks) < 2:
        return args
    checks.broadcast(name, shapes)
    rank = max(ranks)
    return [lax.expand_dims(x, range(rank - typeof(x).ndim)) for x in args]


def promote_dtypes(*args) -> list:
    """The arguments converted to the least type that holds them all."""
    if len(args) > 1 and len({typeof(x) for x in args}) == 1 and hasattr(args[0], "aval"):
        return list(args)
    dtype, weak_type = dtypes.lattice_result_type(*args)
    return [lax.convert(x, dtype, weak_type) for x in args]


def promote_dtypes_inexact(*args) -> list:
    """`promote_dtypes`, and integers to floating point."""
    dtype, weak_type = dtypes.lattice_result_type(*args)
    inexact = dtypes.to_inexact_dtype(dtype)
    return [lax.convert(x, inexact, weak_type) for x in args]


def with_own_arrays(args: Sequence) -> list:
    """The arguments; one that has a method `__jax_array__` is replaced by what that returns."""
    return [x.__jax_array__() if hasattr(type(x), "__jax_array__") else x for x in args]


def operands(name: str, args: Sequence) -> list:
    """The arguments of the function `name` as arrays and numbers of one kind."""
    checks.arraylike(name, args, is_arraylike)
    args = with_own_arrays(args)
    checks.one_kind(name, args)
    return args


def promote_args(name: str, *args) -> Sequence:
    """The arguments of the function `name` brought to one type and one rank."""
    return promote_shapes(name, *promote_dtypes(*operands(name, args)))


def promote_args_inexact(name: str, *args) -> Sequence:
    """`promote_args`, and integers to floating point."""
    return promote_shapes(name, *promote_dtypes_inexact(*operands(name, args)))


# Python's type of a number, the dtype of an array beside it -> the type that the number takes, if
# the array's dtype holds such numbers under all settings.
_number_types: dict[tuple[type, Any], Callable] = {
    (kind, np.dtype(letter)): np.dtype(letter).type
    for kind, letters in ((int, "bBhHiIefF"), (float, "efF"), (complex, "F")) for letter in letters
} | {(kind, np.dtype(dtypes.bfloat16)): dtypes.bfloat16 for kind in (int, float)}


def number_beside(x: Any, aval: ShapedArray) -> Any:
    """The Python number `x` as a scalar of the dtype of `aval`, the type of the other operand.

    Promotion would make the same scalar, more slowly. `None` if promotion has to decide.
    """
    kind = type(x)
    if (kind is float or kind is int) and x:  # not zero, as 0.0 and -0.0 are one key
        return _kept_number(x, aval)
    return _scalar_beside(x, aval)


def _scalar_beside(x, aval):
    kind = type(x)
    number_type = _number_types.get((kind, aval.dtype))
    if number_type is None or aval.weak_type or kind is int and not -2**31 <= x < 2**31:
        return None
    try:
        return quiet.run(number_type, x)
    except OverflowError:  # an integer that is too large for a short type, in which it wraps around
        return None


_kept_number = functools.lru_cache(4096, typed=True)(_scalar_beside)


# ----------------------------------------------------------------------------------------------
# The functions behind the operators

_ORDERINGS = {lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p}  # of real numbers
# What later chapters write. By its name, a function for all operands. (Without these, `power` and
# `matmul` below compute integer powers, and products of vectors and matrices.) By (kind, name), the
# function for operands of a kind of types ("c": complex, "b": boolean), and by ("mask", name) the
# one for operands of which one is boolean.
general: dict[Any, Callable] = {}

_ARGUMENTS_AND_ERRORS = """

Args:
  x, y: arrays or scalars whose shapes broadcast; dtypes are promoted.

Returns:
  an array of the broadcast shape.

Raises:
  TypeError: an argument that is neither an array nor a number, or shapes that do not broadcast.
"""


def binary_function(name: str, primitive, doc: str,
                    promote: Callable = promote_args) -> Callable:
    """A promoting binary function.

    Args:
      name, doc: its name, and the first line of its documentation.
      primitive: what it binds.
      promote: brings the operands to one type and one rank.
    """

    apply = direct_binary(primitive)
    # The kinds of dtypes for which operands of one type need neither promotion nor `general`.
    kinds = ("fc" if promote is promote_args_inexact else "iufV" if primitive in _ORDERINGS
             else "iufcV")

    def function(x, y, /):
        try:
            if isinstance(x, ArrayMethods):
                aval = x.aval
                if isinstance(y, ArrayMethods):
                    if y.aval is aval and aval.dtype.kind in kinds:
                        return apply(x, y)
                elif aval.dtype.kind in kinds and (number := number_beside(y, aval)) is not None:
                    return apply(x, number)
            elif (isinstance(y, ArrayMethods) and y.aval.dtype.kind in kinds
                    and (number := number_beside(x, y.aval)) is not None):
                return apply(number, y)
            if (of_mask := general.get(("mask", name))) and is_bool(x) != is_bool(y):
                return of_mask(x, y)
            x, y = promote(name, x, y)
            return general.get((typeof(x).dtype.kind, name), primitive.bind)(x, y)
        except Exception as error:
            hide_frames(error)
            raise

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc + _ARGUMENTS_AND_ERRORS
    return function


def is_bool(x: Any) -> bool:
    """Whether an operand is a boolean, or an array of booleans."""
    return getattr(x, "dtype", type(x)) == bool


BINARY: dict[str, Callable] = {
    "add": binary_function("add", lax.add_p, "Elementwise x + y; of booleans, or."),
    "sub": binary_function("subtract", lax.sub_p, "Elementwise x - y."),
    "mul": binary_function("multiply", lax.mul_p, "Elementwise x * y; of booleans, and."),
    "truediv": binary_function("true_divide", lax.div_p,
                               "Elementwise x / y in floating point arithmetic.",
                               promote_args_inexact),
}
COMPARISONS: dict[str, Callable] = {
    "lt": binary_function("less", lax.lt_p, "Elementwise x < y."),
    "le": binary_function("less_equal", lax.le_p, "Elementwise x <= y."),
    "gt": binary_function("greater", lax.gt_p, "Elementwise x > y."),
    "ge": binary_function("greater_equal", lax.ge_p, "Elementwise x >= y."),
    "eq": binary_function("equal", lax.eq_p, "Elementwise x == y."),
    "ne": binary_function("not_equal", lax.ne_p, "Elementwise x != y."),
}


def power(x, y):
    """Elementwise x to the y."""
    is_integer_pow = type(y) is int and typeof(x).dtype.kind != "b"
    if "pow" in general and not is_integer_pow:
        return general["pow"](x, y)
    return lax.integer_pow(x, operator.index(y))


def matmul(a, b):
    """The matrix product."""
    if "matmul" in general:
        return general["matmul"](a, b)
    a, b = promote_dtypes(a, b)
    aval, ndim = typeof(a), typeof(b).ndim
    numbers = ((aval.ndim - 1,), (max(ndim - 2, 0),)), ((), ())
    return lax.dot_general_p.bind(a, b, dimension_numbers=numbers, precision=None,
                                   preferred_element_type=aval.dtype)


def unary_function(name: str, function: Callable, doc: str) -> Callable:
    def unary(x, /):
        try:
            checks.arraylike(name, [x], is_arraylike)
            return function(lax.ensure_array(x))
        except Exception as error:
            hide_frames(error)
            raise

    unary.__name__ = unary.__qualname__ = name
    unary.__doc__ = doc
    return unary


positive = unary_function("positive", lambda x: x, "Elementwise +x: `x` as an array.")
negative = unary_function("negative", lax.neg, "Elementwise -x.")


# ----------------------------------------------------------------------------------------------
# The methods of arrays and tracers


def _operator(function, reflected=False):
    """A method `self ∘ other` that leaves foreign types to their own operators. If it is reflected,
    `other ∘ self`, which Python calls if `other` has no such operator for `self`."""

    def method(self, other):
        try:
            if isinstance(other, ArrayMethods) or is_arraylike(other):
                return function(other, self) if reflected else function(self, other)
            checks.foreign_operand(function, *(other, self) if reflected else (self, other))
            return NotImplemented
        except Exception as error:
            hide_frames(error)
            raise

    return method


def install_binary_operators(functions: dict[str, Any]) -> None:
    """Give arrays and tracers the operators `__name__` and `__rname__` of these functions."""
    install_methods({f"__{name}__": _operator(f) for name, f in functions.items()})
    install_methods({f"__r{name}__": _operator(f, True) for name, f in functions.items()})


install_binary_operators(BINARY | {"pow": power, "matmul": matmul})
install_methods({f"__{name}__": _operator(f) for name, f in COMPARISONS.items()})
install_methods({"__neg__": negative, "__pos__": positive})
