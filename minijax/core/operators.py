"""Chapter 1: `x + y` for arrays of any types and shapes, and the other operators.

The primitives want arguments of one type and one rank. Here they are brought to it: promoted to
the least type that holds both (a Python scalar yields to an array of its kind), and given leading
dimensions of size 1. The functions have the names of `minijax.numpy`, which re-exports them.
"""

from __future__ import annotations

import contextlib
import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import settings
from ..checks import operators as checks
from ..errors import user_stacklevel
from . import dtypes, elsewhere
from . import primitives as prim
from .array import Array, as_array
from .core import (
    ArrayMethods,
    eval_trace,
    install_methods,
    is_concrete,
    state,
    typeof,
)
from .elsewhere import (
    broadcast_shapes,
    broadcast_to,
    broadcast_to_rank,
    index_in_dim,
    known_sizes,
)
from .extension import hooks
from .indexing import getitem
from .primitives import (
    canonical_axis,
    dot_general,
    dot_general_p,
    expand_dims,
    full_like,
    reshape,
    squeeze,
    transpose,
)

# ----------------------------------------------------------------------------------------------
# Promotion

_SCALAR_KINDS = {bool: 0, int: 1, float: 2, complex: 3}
_ARRAY_KINDS = {"i": 1, "u": 1, "f": 2, "c": 3}
_INEXACT_KINDS = frozenset("fc")


def is_arraylike(x) -> bool:
    """Whether `x` may be an operand: an array, a NumPy value or a Python number."""
    return (isinstance(x, (ArrayMethods, np.ndarray, np.generic)) or type(x) in _SCALAR_KINDS
            or isinstance(x, (bool, int, float, complex)) or hasattr(type(x), "__jax_array__"))


def check_arraylike(name: str, *args) -> None:
    """Raise `TypeError` unless all arguments are arrays or numbers."""
    for position, x in enumerate(args):
        if not is_arraylike(x):
            raise TypeError(f"{name} requires ndarray or scalar arguments, got {type(x)} "
                            f"at position {position}.")


def promote_shapes(name: str, *args) -> Sequence:
    """The arguments with leading dimensions of size 1 up to one rank; scalars stay scalars."""
    shapes = [typeof(x).shape for x in args]
    ranks = {len(shape) for shape in shapes if shape}
    if len(ranks) < 2:
        return args
    checks.rank_promotion(shapes, name)
    broadcast_shapes(*shapes)  # raises if they do not fit
    return [broadcast_to_rank(x, max(ranks)) for x in args]


def promote_dtypes(*args) -> list:
    """The arguments converted to the least type that holds them all."""
    if len(args) > 1 and len({typeof(x) for x in args}) == 1 and hasattr(args[0], "aval"):
        return list(args)
    dtype, weak_type = dtypes.lattice_result_type(*args)
    return [prim.convert(x, dtype, weak_type) for x in args]


def promote_dtypes_inexact(*args) -> list:
    """`promote_dtypes`, and integers to floating point."""
    dtype, weak_type = dtypes.lattice_result_type(*args)
    inexact = dtypes.to_inexact_dtype(dtype)
    return [prim.convert(x, inexact, weak_type) for x in args]


def promote_args(name: str, *args) -> Sequence:
    """The arguments of the function `name` brought to one type and one rank."""
    check_arraylike(name, *args)
    return promote_shapes(name, *promote_dtypes(*args))


def promote_args_inexact(name: str, *args) -> Sequence:
    """`promote_args`, and integers to floating point."""
    check_arraylike(name, *args)
    return promote_shapes(name, *promote_dtypes_inexact(*args))


def _scalar_operand(x, aval) -> Any:
    """The Python scalar `x` beside an array of strong type `aval`, or `None` if it widens it."""
    kind = _SCALAR_KINDS.get(type(x))
    if kind is None or aval.weak_type or kind > _ARRAY_KINDS.get(aval.dtype.kind, -1):
        return None
    if kind == 1 and not -2**31 <= x < 2**31:  # the long way complains, or knows 64-bit integers
        return None
    if aval.dtype in dtypes.short_of and not settings.enable_x64.value:  # it is to be shortened
        return None
    try:
        return aval.dtype.type(x)
    except OverflowError:  # too large for a short type, in which it wraps around
        return None


# ----------------------------------------------------------------------------------------------
# The functions behind the operators


def _binary_function(name, primitive, on_bools=None, doc=""):
    """A promoting binary function; the usual cases, equal types or a scalar, go straight on."""

    def function(x, y, /):
        aval = getattr(x, "aval", None)
        if aval is not None:
            if aval is getattr(y, "aval", None) and aval.dtype.kind != "b":
                return state.trace.process_primitive(primitive, (x, y), {})
            scalar = _scalar_operand(y, aval)
            if scalar is not None:
                return state.trace.process_primitive(primitive, (x, scalar), {})
        elif hasattr(y, "aval"):
            scalar = _scalar_operand(x, y.aval)
            if scalar is not None:
                return state.trace.process_primitive(primitive, (scalar, y), {})
        x, y = promote_args(name, x, y)
        if on_bools is not None and typeof(x).dtype == bool:
            return on_bools.bind(x, y)
        return primitive.bind(x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\nArgs:\n  x, y: arrays or scalars whose shapes broadcast; dtypes are promoted.\n"
        "\nReturns:\n  an array of the broadcast shape.\n\nRaises:\n  TypeError: an argument that "
        "is no array and no number, or shapes that do not broadcast.\n"
    )
    return function


add = _binary_function("add", prim.add_p, prim.or_p, "Elementwise x + y; of booleans, or.")
subtract = _binary_function("subtract", prim.sub_p, None, "Elementwise x - y.")
multiply = _binary_function("multiply", prim.mul_p, prim.and_p,
                            "Elementwise x * y; of booleans, and.")
maximum = _binary_function("maximum", prim.max_p, None, "Elementwise maximum; NaN if either is.")
minimum = _binary_function("minimum", elsewhere.min_p, None,
                           "Elementwise minimum; NaN if either is.")
equal = _binary_function("equal", prim.eq_p, prim.eq_p, "Elementwise x == y.")
not_equal = _binary_function("not_equal", prim.ne_p, prim.ne_p, "Elementwise x != y.")
bitwise_and = _binary_function("bitwise_and", prim.and_p, None, "Elementwise x & y.")
bitwise_or = _binary_function("bitwise_or", prim.or_p, None, "Elementwise x | y.")
bitwise_xor = _binary_function("bitwise_xor", elsewhere.xor_p, None, "Elementwise x ^ y.")


def _order_function(name, primitive, doc):
    """A comparison; complex numbers are ordered by real, then by imaginary part, as in NumPy."""
    on_reals = _binary_function(name, primitive, None, doc)

    def function(x, y, /):
        if _is_complex(x) or _is_complex(y):
            return _compare_complex(name, primitive, x, y)
        return on_reals(x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = on_reals.__doc__
    return function


def _is_complex(x):
    dtype = getattr(x, "dtype", None)
    return type(x) is complex if dtype is None else dtype.kind == "c"


def _compare_complex(name, primitive, x, y):
    x, y = promote_args(name, x, y)
    same = prim.eq_p.bind(elsewhere.real(x), elsewhere.real(y))
    by_imag = primitive.bind(elsewhere.imag(x), elsewhere.imag(y))
    return prim.select(same, by_imag, primitive.bind(elsewhere.real(x), elsewhere.real(y)))


less = _order_function("less", prim.lt_p, "Elementwise x < y.")
less_equal = _order_function("less_equal", prim.le_p, "Elementwise x <= y.")
greater = _order_function("greater", prim.gt_p, "Elementwise x > y.")
greater_equal = _order_function("greater_equal", prim.ge_p, "Elementwise x >= y.")

_divide = _binary_function("true_divide", prim.div_p)


def true_divide(x1, x2, /):
    """Elementwise x1 / x2 in floating point (or complex) arithmetic.

    Args:
      x1, x2: arrays or scalars whose shapes broadcast; dtypes are promoted, integers to floats.

    Raises:
      TypeError: an argument that is no array and no number, or shapes that do not broadcast.

    >>> true_divide(jnp.arange(3), 2)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    if getattr(getattr(x1, "dtype", None), "kind", "") in _INEXACT_KINDS and \
            getattr(getattr(x2, "dtype", None), "kind", "f") in _INEXACT_KINDS:
        return _divide(x1, x2)
    return prim.div(*promote_args_inexact("true_divide", x1, x2))


def negative(x, /):
    """Elementwise -x."""
    check_arraylike("negative", x)
    return prim.neg(x)


def positive(x, /):
    """Elementwise +x: `x` as an array."""
    check_arraylike("positive", x)
    return x if hasattr(x, "aval") else as_array(x)


def absolute(x, /):
    """Elementwise absolute value; of unsigned integers and booleans, themselves."""
    check_arraylike("absolute", x)
    dtype = typeof(x).dtype
    unsigned = dtype == bool or dtypes.issubdtype(dtype, np.unsignedinteger)
    return positive(x) if unsigned else elsewhere.abs_(x)


def bitwise_not(x, /):
    """Elementwise ~x."""
    check_arraylike("bitwise_not", x)
    return prim.bitwise_not(x)


def power(x, y):
    """Elementwise x to the y.

    A known integer `y` becomes `integer_pow`, repeated squaring; integers to traced integer
    powers are squared and multiplied bit by bit.

    Args:
      x, y: arrays or scalars whose shapes broadcast; dtypes are promoted.

    Raises:
      TypeError: integers to a known negative power, or operands that do not fit.
    """
    check_arraylike("power", x, y)
    exponent = _known_integer(y)
    if exponent is not None:
        if typeof(x).dtype == bool:
            x = prim.convert(x, dtypes.default_int_dtype())
        return prim.integer_pow(x, exponent)
    x_dtype, y_dtype = typeof(x).dtype, typeof(y).dtype
    if dtypes.issubdtype(y_dtype, np.integer) and dtypes.issubdtype(x_dtype, np.inexact):
        return elsewhere.pow(*promote_shapes("power", x, y))
    x, y = promote_args("power", x, y)
    if typeof(x).dtype == bool:
        x, y = (prim.convert(z, dtypes.default_int_dtype()) for z in (x, y))
    if dtypes.issubdtype(typeof(x).dtype, np.integer):
        return _integer_power(x, y)
    return elsewhere.pow(x, y)


def _known_integer(x) -> int | None:
    """`x` as a Python int, if it is a known integer scalar."""
    if is_concrete(x):
        with contextlib.suppress(TypeError):
            return operator.index(x)
    return None


def _integer_power(x, y):
    """x ** y for integers: any more than six bits of y would overflow."""
    shape = broadcast_shapes(typeof(x).shape, typeof(y).shape)
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    zero, one = (full_like(x, k, typeof(x).dtype) for k in (0, 1))
    is_zero = bitwise_and(prim.eq(x, zero), prim.ne(y, zero))
    result = prim.select(is_zero, zero, one)
    for _ in range(6):
        odd = prim.ne(bitwise_and(y, one), zero)
        result = prim.select(odd, prim.mul(result, x), result)
        x, y = prim.mul(x, x), elsewhere.shift_right_logical(y, one)
    return result


# The dimension numbers of products of vectors and matrices, by the numbers of dimensions.
_PLAIN_NUMBERS = {(n, m): (((n - 1,), (max(m - 2, 0),)), ((), ())) for n in (1, 2) for m in (1, 2)}


def is_plain_product(a, b) -> bool:
    """Whether a product is one of vectors and matrices of one strong type: the usual case."""
    x, y = getattr(a, "aval", None), getattr(b, "aval", None)
    return (x is not None and y is not None and x.dtype is y.dtype and 0 < x.ndim < 3
            and 0 < y.ndim < 3 and not x.weak_type and not y.weak_type
            and settings.default_matmul_precision.value is None)


def plain_product(a, b):
    """The matrix product in that case."""
    return dot_general_p.bind(a, b, dimension_numbers=_PLAIN_NUMBERS[a.aval.ndim, b.aval.ndim],
                              precision=None, preferred_element_type=a.aval.dtype)


def matmul(a, b, *, precision=None, preferred_element_type=None):
    """The matrix product over the last dimension of `a` and the last but one of `b`.

    Args:
      a: an array of shape `(…, n, k)`, or a vector `(k,)`.
      b: an array of shape `(…, k, m)`, or a vector `(k,)`; the leading dimensions broadcast.
      precision, preferred_element_type: as for `lax.dot_general`.

    Returns:
      an array of shape `(…, n, m)`; the dimension of a vector is left out.

    Raises:
      ValueError: a scalar, or leading dimensions that do not broadcast.
      TypeError: inner dimensions that do not fit.
    """
    if precision is preferred_element_type is None and is_plain_product(a, b):
        return plain_product(a, b)
    check_arraylike("matmul", a, b)
    for position, x in enumerate((a, b)):
        if typeof(x).ndim == 0:
            raise ValueError(f"matmul input operand {position} must have ndim at least 1, "
                             "but it has ndim 0")
    if preferred_element_type is None:
        dtype, weak_type = dtypes.lattice_result_type(a, b)
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(preferred_element_type, "matmul")
        weak_type = False
    a_sizes, b_sizes = _loop_sizes(a, b)
    ones = [d for d in a_sizes if a_sizes[d] == b_sizes.get(d) == 1]  # left out, and put back
    a, a_loops = _without_ones(a, a_sizes, b_sizes)
    b, b_loops = _without_ones(b, b_sizes, a_sizes)
    a_is_matrix = typeof(a).ndim - len(a_loops) == 2
    b_is_matrix = typeof(b).ndim - len(b_loops) == 2
    batch = [d for d in a_loops if d in b_loops]
    numbers = (((typeof(a).ndim - 1,), (typeof(b).ndim - 1 - b_is_matrix,)),
               ([a_loops.index(d) for d in batch], [b_loops.index(d) for d in batch]))
    out = dot_general(a, b, numbers, precision, dtype)
    # Its dimensions: the batch, then what is left of `a`, then of `b`. Rows and columns are last.
    row, column = max([*a_sizes, *b_sizes, -1]) + 1, max([*a_sizes, *b_sizes, -1]) + 2
    order = [*batch, *(d for d in a_loops if d not in batch), *[row] * a_is_matrix,
             *(d for d in b_loops if d not in batch), *[column] * b_is_matrix]
    out = transpose(out, [order.index(d) for d in sorted(order)])
    return prim.convert(expand_dims(out, ones) if ones else out, dtype, weak_type)


def _loop_sizes(a, b) -> tuple[dict, dict]:
    """The sizes of the dimensions that `matmul` loops over, by their place in the result."""
    shapes = [typeof(x).shape[:-2] for x in (a, b)]
    n = max(map(len, shapes))
    a_sizes, b_sizes = (dict(zip(range(n - len(shape), n), shape)) for shape in shapes)
    if any(a_sizes[d] != b_sizes[d] and 1 not in (a_sizes[d], b_sizes[d])
           for d in a_sizes.keys() & b_sizes.keys()):
        raise ValueError(f"Incompatible types for matmul arguments: "
                         f"{typeof(a).str_short(False)} and {typeof(b).str_short(False)}")
    return a_sizes, b_sizes


def _without_ones(x, sizes, other_sizes):
    """`x` without the loops of size 1 for which the other operand has one; and those left."""
    ones = [d for d in sizes if sizes[d] == 1 and d in other_sizes]
    x = squeeze(x, [i for i, d in enumerate(sizes) if d in ones])
    return x, [d for d in sizes if d not in ones]


# ----------------------------------------------------------------------------------------------
# The methods of arrays and tracers


def astype(x, dtype, copy: bool = False):
    """`x` converted to another element type; see `lax.convert_element_type`.

    Args:
      x: an array.
      dtype: an element type; `None` is the default floating point type.
      copy: whether the result must be another array.
    """
    target = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype, "astype")
    if _is_complex(x) and target == bool:
        return not_equal(x, 0)
    if _is_complex(x) and not dtypes.issubdtype(target, np.complexfloating):
        warnings.warn("Casting from complex to real numbers by astype will become an error: take "
                      "x.real or x.imag.", DeprecationWarning, stacklevel=user_stacklevel())
        return prim.convert_element_type_p.bind(x, new_dtype=target, weak_type=False)
    result = prim.convert(x, target)
    return prim.copy_p.bind(result) if copy and result is x else result


def reshape_method(x, *shape, order: str = "C"):
    """`x.reshape(2, -1)` or `x.reshape((2, -1))`: one size may be -1, meaning what is left."""
    one_sequence = len(shape) == 1 and isinstance(shape[0], (tuple, list))
    sizes = list(known_sizes(shape[0] if one_sequence else shape))
    sizes = _fill_in_size(typeof(x), sizes)
    if order == "F":
        axes = tuple(range(typeof(x).ndim))[::-1] if typeof(x).ndim > 1 else None
        backwards = reshape(x, sizes[::-1], axes)
        return transpose(backwards, tuple(range(len(sizes)))[::-1])
    if order != "C":
        raise NotImplementedError(f"reshape with order={order!r}: only 'C' and 'F' are known")
    return reshape(x, sizes)


def _fill_in_size(aval, sizes):
    """Replace the one -1 among the sizes."""
    if sizes.count(-1) > 1:
        raise TypeError("can only specify one unknown axis size with a `-1` value, got "
                        f"{tuple(sizes)}")
    known = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and (known and aval.size % known == 0):
        sizes = [aval.size // known if size == -1 else size for size in sizes]
    if math.prod(sizes) != aval.size or -1 in sizes:
        raise TypeError(f"cannot reshape array of shape {aval.shape} (size {aval.size}) into shape "
                        f"{tuple(sizes)} (size {abs(math.prod(sizes))})")
    return sizes


def transpose_method(x, *axes):
    """`x.transpose()`, `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = axes[0] or ()
    ndim = typeof(x).ndim
    return transpose(x, [canonical_axis(a, ndim) for a in axes] if axes else range(ndim)[::-1])


def matrix_transpose(x):
    """`x` with its last two dimensions swapped.

    Raises:
      ValueError: fewer than two dimensions.
    """
    ndim = typeof(x).ndim
    if ndim < 2:
        raise ValueError("x must be at least two-dimensional for matrix_transpose; "
                         f"got ndim={ndim}")
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def iterate(x):
    """An iterator over the slices of `x` along its first dimension."""
    if not typeof(x).ndim:
        raise TypeError("iteration over a 0-d array")
    return (index_in_dim(x, i, 0, keepdims=False) for i in range(len(x)))


def _operator(function):
    """A method `self ∘ other` that leaves foreign types to their own operators."""

    def method(self, other):
        return function(self, other) if is_arraylike(other) else NotImplemented

    return method


def _quick_operator(function, primitive, kinds):
    """`_operator`, short-cut in evaluation: an array of one of these kinds of dtype, and another
    of the same type or a Python float. A third of the time goes into NumPy's own function then."""
    evaluate = primitive.impl

    def method(self, other):
        if (type(self) is Array and state.trace is eval_trace
                and not (hooks.evaluate or hooks.after_evaluation)):
            aval = self.aval
            if type(other) is Array:
                if other.aval is aval and aval.dtype.kind in kinds:
                    return evaluate(self, other)
            elif (type(other) is float and aval.dtype.kind == "f" and not aval.weak_type
                  and (aval.dtype.itemsize < 8 or settings.enable_x64.value)):
                return evaluate(self, aval.dtype.type(other))
        return function(self, other) if is_arraylike(other) else NotImplemented

    return method


def _reflected(function):
    def method(self, other):
        if isinstance(other, (list, tuple)):  # else Python would try to repeat or extend them
            raise TypeError(f"unsupported operand type(s) for {function.__name__}: "
                            f"'{type(other).__name__}' and '{type(self).__name__}'")
        return function(other, self) if is_arraylike(other) else NotImplemented

    return method


def _equality(function, value_if_foreign):
    """`==` and `!=`: an array differs from `None` and strings, and refuses containers."""

    def method(self, other):
        if is_arraylike(other):
            return function(self, other)
        if isinstance(other, (list, tuple, dict, set)):
            symbol = "!=" if value_if_foreign else "=="
            raise TypeError(f"unsupported operand type(s) for {symbol}: "
                            f"'{type(self).__name__}' and '{type(other).__name__}'")
        return value_if_foreign

    return method


_BINARY_OPERATORS = {
    "add": add, "sub": subtract, "mul": multiply, "truediv": true_divide, "pow": power,
    "matmul": matmul, "and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor,
}
_COMPARISONS = {"lt": less, "le": less_equal, "gt": greater, "ge": greater_equal}
_METHODS = {
    "__neg__": negative, "__pos__": positive, "__abs__": absolute, "__invert__": bitwise_not,
    "__eq__": _equality(equal, False), "__ne__": _equality(not_equal, True),
    "__getitem__": getitem, "__iter__": iterate, "astype": astype, "reshape": reshape_method,
    "transpose": transpose_method, "T": property(transpose_method),
    "mT": property(matrix_transpose),
}


def install_binary_operators(functions: dict[str, Any]) -> None:
    """Give arrays and tracers the operators `__name__` and `__rname__` of these functions."""
    install_methods({f"__{name}__": _operator(f) for name, f in functions.items()})
    install_methods({f"__r{name}__": _reflected(f) for name, f in functions.items()})


install_binary_operators(_BINARY_OPERATORS)
install_methods({f"__{name}__": _operator(f) for name, f in _COMPARISONS.items()})
install_methods({
    "__add__": _quick_operator(add, prim.add_p, "iufc"),
    "__sub__": _quick_operator(subtract, prim.sub_p, "iufc"),
    "__mul__": _quick_operator(multiply, prim.mul_p, "iufc"),
    "__truediv__": _quick_operator(true_divide, prim.div_p, "fc"),
})
install_methods(_METHODS)
