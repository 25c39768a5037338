"""Chapter 11: the operators in full, `x ** y`, `x @ y`, `x < y` of complex numbers, and the
functions of `minijax.numpy` behind them.

`core/operators.py` has the operators as far as one primitive suffices.
"""

import contextlib
import functools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import operators as checks
from ..checks.array import alive, numeric
from ..checks.core import escaped
from ..checks.tracebacks import hide_frames
from ..core import dtypes, primitives as prim
from ..core.array import Array, is_arraylike
from ..core.boundary import public
from ..core.core import (
    ArrayMethods,
    ShapedArray,
    Tracer,
    eval_trace,
    install_methods,
    state,
    typeof,
)
from ..core.extension import point
from ..core.operators import (
    BINARY,
    COMPARISONS,
    binary_function,
    general,
    install_binary_operators,
    is_bool,
    negative as negative,
    positive,
    promote_args,
    unary_function,
    with_own_arrays,
)
from ..core.primitives import (
    canonical_axis,
    dot_general_p,
    expand_dims,
    reshape,
    reshape_p,
    squeeze,
    transpose,
)
from ..errors import ConcretizationTypeError
from ..runtime import xla
from ..text.locations import user_stacklevel
from . import bitwise
from .bitwise import and_p, or_p, xor_p
from .compile_time import is_concrete
from .complex_numbers import imag, real
from .cutting import index_in_dim
from .dtypes import check_and_canonicalize_user_dtype, result_type
from .elementwise import abs_, max_p, min_p
from .out_shardings import bind_sharded, call_sharded
from .precision import canonical_precision, default_matmul_precision
from .selection import select, select_n_p
from .shaping import converted_on, copy_p
from .sizes import known_sizes

# ----------------------------------------------------------------------------------------------
# Promoting functions

add, subtract, multiply, true_divide = BINARY.values()
less, less_equal, greater, greater_equal, equal, not_equal = COMPARISONS.values()
bitwise_not = unary_function("bitwise_not", bitwise.bitwise_not, "Elementwise ~x.")
bitwise_and = binary_function("bitwise_and", and_p, "Elementwise x & y.")
bitwise_or = binary_function("bitwise_or", or_p, "Elementwise x | y.")
bitwise_xor = binary_function("bitwise_xor", xor_p, "Elementwise x ^ y.")
maximum = binary_function("maximum", max_p, "Elementwise maximum; NaN if either is.")
minimum = binary_function("minimum", min_p, "Elementwise minimum; NaN if either is.")


def _compare_complex(primitive, x, y):
    """Complex numbers are ordered by real, then by imaginary part, as in NumPy."""
    same = prim.eq_p.bind(real(x), real(y))
    by_imag = primitive.bind(imag(x), imag(y))
    return select(same, by_imag, primitive.bind(real(x), real(y)))


def _multiply_by_mask(x, y):
    """An array times a mask, with XLA's results.

    For False, NumPy gives NaN if the number is infinite, and -0.0 if it is negative. A compiled
    program selects instead, so that False gives 0 for every number. XLA does so if the mask has the
    shape of the product, and the product has an inexact dtype that NumPy also has.
    """
    mask = x if is_bool(x) else y
    values, other = operands = promote_args("multiply", x, y)
    out = prim.mul_p.out_aval((typeof(values), typeof(other)), {})
    by_xla = state.trace is not eval_trace
    if by_xla or out.dtype.kind not in "fc" or typeof(mask).shape != out.shape:
        return prim.mul_p.bind(*operands)
    values = other if mask is x else values
    ndim = typeof(values).ndim
    values = prim.broadcast_in_dim(values, out.shape, range(out.ndim - ndim, out.ndim))
    zeros = Array(np.zeros(out.shape, out.dtype), typeof(values))
    return select_n_p.bind(prim.ensure_array(mask), zeros, values)


for _p, _ordering in ((prim.lt_p, less), (prim.le_p, less_equal), (prim.gt_p, greater),
                      (prim.ge_p, greater_equal)):
    general["c", _ordering.__name__] = functools.partial(_compare_complex, _p)
general["mask", "multiply"] = _multiply_by_mask
general["b", "add"], general["b", "multiply"] = or_p.bind, and_p.bind

# ----------------------------------------------------------------------------------------------
# Signs and powers


def check_arraylike(name: str, *args) -> None:
    """Raise TypeError unless the arguments of the function `name` are arrays or numbers."""
    checks.arraylike(name, args, is_arraylike)


def absolute(x, /):
    """Elementwise absolute value; of unsigned integers and booleans, themselves."""
    try:
        check_arraylike("absolute", x)
        x = prim.ensure_array(x)
        dtype = typeof(x).dtype
        unsigned = dtype == bool or dtypes.issubdtype(dtype, np.unsignedinteger)
        return positive(x) if unsigned else abs_(x)
    except Exception as error:
        hide_frames(error)
        raise


def known_integer(x) -> int | None:
    """`x` as a Python int, if it is a known integer scalar."""
    if not getattr(x, "ndim", 0) and is_concrete(x):
        with contextlib.suppress(TypeError):
            return operator.index(x)
    return None


_BFLOAT16 = np.dtype(dtypes.bfloat16)
# The dimension numbers of products of vectors and matrices, by the numbers of dimensions.
_PLAIN_NUMBERS = {(n, m): (((n - 1,), (max(m - 2, 0),)), ((), ())) for n in (1, 2) for m in (1, 2)}


def is_plain_product(a, b) -> bool:
    """Whether a product is one of vectors and matrices of one strong type, for which NumPy has a
    function: the usual case."""
    if not (isinstance(a, ArrayMethods) and isinstance(b, ArrayMethods)):
        return False
    x, y = a.aval, b.aval
    return (x.dtype is y.dtype and x.dtype is not _BFLOAT16 and 0 < x.ndim < 3
            and 0 < y.ndim < 3 and not x.weak_type and not y.weak_type
            and default_matmul_precision.value is None)


def plain_product(a, b):
    """The matrix product in that case."""
    return dot_general_p.bind(a, b, dimension_numbers=_PLAIN_NUMBERS[a.aval.ndim, b.aval.ndim],
                              precision=None, preferred_element_type=a.aval.dtype)


def matmul(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The matrix product over the last dimension of `a` and the last but one of `b`.

    Args:
      a: an array of shape `(…, n, k)`, or a vector `(k,)`.
      b: an array of shape `(…, k, m)`, or a vector `(k,)`; the leading dimensions broadcast.
      precision, preferred_element_type, out_sharding: as for `lax.dot_general`.

    Returns:
      an array of shape `(…, n, m)`; the dimension of a vector is left out.

    Raises:
      ValueError: a scalar, or leading dimensions that do not broadcast.
      TypeError: inner dimensions that do not fit.
    """
    try:
        if precision is preferred_element_type is out_sharding is None:
            return plain_product(a, b) if is_plain_product(a, b) else _matmul(a, b)
        return _matmul(a, b, precision, preferred_element_type, out_sharding)
    except Exception as error:
        hide_frames(error)
        raise


def _matmul(a, b, precision=None, preferred_element_type=None, out_sharding=None):
    check_arraylike("matmul", a, b)
    a, b = with_own_arrays([a, b])
    for position, x in enumerate((a, b)):
        if typeof(x).ndim == 0:
            raise ValueError(f"matmul input operand {position} must have ndim at least 1, "
                             "but it has ndim 0")
    dtype, weak_type = type_of_product("matmul", a, b, preferred_element_type)
    a_sizes, b_sizes = _loop_sizes(a, b)
    ones = [d for d in a_sizes if a_sizes[d] == b_sizes.get(d) == 1]  # left out, and put back
    a, a_loops = _without_ones(a, a_sizes, b_sizes)
    b, b_loops = _without_ones(b, b_sizes, a_sizes)
    a_is_matrix = typeof(a).ndim - len(a_loops) == 2
    b_is_matrix = typeof(b).ndim - len(b_loops) == 2
    batch = [d for d in a_loops if d in b_loops]
    numbers = (((typeof(a).ndim - 1,), (typeof(b).ndim - 1 - b_is_matrix,)),
               (tuple(map(a_loops.index, batch)), tuple(map(b_loops.index, batch))))
    params = {"dimension_numbers": numbers, "precision": canonical_precision(precision),
              "preferred_element_type": dtype}
    # Dimensions of the result: the batch, what is left of `a`, then of `b`. Rows, columns are last.
    row, column = max([*a_sizes, *b_sizes, -1]) + 1, max([*a_sizes, *b_sizes, -1]) + 2
    order = [*batch, *(d for d in a_loops if d not in batch), *[row] * a_is_matrix,
             *(d for d in b_loops if d not in batch), *[column] * b_is_matrix]
    if out_sharding is None:
        out = dot_general_p.bind(a, b, **params)
    elif ones or order != sorted(order):  # the product has its dimensions in another order
        return call_sharded(matmul, a, b, precision=precision, out_sharding=out_sharding,
                            preferred_element_type=preferred_element_type)
    else:
        out = bind_sharded(dot_general_p, a, b, out_sharding=out_sharding, **params)
    out = transpose(out, [order.index(d) for d in sorted(order)])
    return prim.convert(expand_dims(out, ones) if ones else out, dtype, weak_type)


def type_of_product(name: str, a, b, preferred_element_type) -> tuple[Any, bool]:
    """The dtype of a product, and whether it is weak."""
    if preferred_element_type is None:
        return result_type(a, b, return_weak_type_flag=True)
    return check_and_canonicalize_user_dtype(preferred_element_type, name), False


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
# Methods


def _is_complex(x):
    return typeof(x).dtype.kind == "c"


def astype(x, dtype, copy: bool = False):
    """`x` converted to another element type; see `lax.convert_element_type`.

    Args:
      x: an array.
      dtype: an element type; `None` is the default floating point type.
      copy: whether the result must be another array.
    """
    target = check_and_canonicalize_user_dtype(float if dtype is None else dtype, "astype")
    if _is_complex(x) and target == bool:
        return not_equal(prim.convert(x, typeof(x).dtype), 0)
    if _is_complex(x) and not dtypes.issubdtype(target, np.complexfloating):
        warnings.warn("Casting from complex to real dtypes by astype will become an error: take "
                      "x.real or x.imag.", DeprecationWarning, stacklevel=user_stacklevel())
        return prim.convert_element_type_p.bind(x, new_dtype=target, weak_type=False)
    result = prim.convert(x, target)
    return copy_p.bind(result) if copy else result


@public
def astype_method(x, dtype, copy: bool = False, device=None):
    """`jnp.astype` of the array."""
    out = astype(x, dtype, copy)
    return out if device is None else converted_on(out, device)


def reshape_method(x, *shape, order: str = "C", out_sharding=None):
    """`x.reshape(2, -1)` or `x.reshape((2, -1))`: one size may be -1, meaning what is left.
    `out_sharding` is the sharding of the result (chapter 14)."""
    try:
        sizes = list(known_sizes(shape[0] if len(shape) == 1 and _is_sequence(shape[0]) else shape))
        sizes = _fill_in_size(typeof(x), sizes)
        if order == "F":
            if out_sharding is not None and len(sizes) > 1:
                return call_sharded(reshape_method, x, sizes, order="F", out_sharding=out_sharding)
            axes = tuple(range(typeof(x).ndim))[::-1] if typeof(x).ndim > 1 else None
            backwards = _reshaped(x, sizes[::-1], axes, out_sharding)
            return transpose(backwards, tuple(range(len(sizes)))[::-1])
        if order != "C":
            kind = NotImplementedError if order == "A" else ValueError
            raise kind(f"reshape and ravel: order must be 'C' or 'F', got {order!r}.")
        return _reshaped(x, sizes, None, out_sharding)
    except Exception as error:
        hide_frames(error)
        raise


def _is_sequence(shape) -> bool:
    """Whether this is a sequence of sizes or axes, or a range, a generator or an array of them."""
    if isinstance(shape, (tuple, list)):
        return True
    return shape.ndim == 1 if hasattr(shape, "ndim") else hasattr(shape, "__iter__")


def _reshaped(x, sizes, dimensions, out_sharding):
    if out_sharding is None:
        return reshape(x, sizes, dimensions)
    return bind_sharded(reshape_p, x, out_sharding=out_sharding, new_sizes=tuple(sizes),
                        dimensions=dimensions)


def _fill_in_size(aval, sizes):
    """Replace the one -1 among the sizes."""
    if sizes.count(-1) > 1:
        raise TypeError("can only specify one unknown axis size with a `-1` value, got "
                        f"{tuple(sizes)}")
    known = math.prod(size for size in sizes if size != -1)
    if known == 0 and -1 in sizes:
        raise ZeroDivisionError(f"cannot reshape array of shape {aval.shape} into {tuple(sizes)}: "
                                "with a dimension of size 0, a size of -1 may be any. Give it.")
    if sizes.count(-1) == 1 and aval.size % known == 0:
        sizes = [aval.size // known if size == -1 else size for size in sizes]
    if math.prod(sizes) != aval.size or -1 in sizes:
        raise TypeError(f"cannot reshape array of shape {aval.shape} (size {aval.size}) into shape "
                        f"{tuple(sizes)} (size {abs(math.prod(sizes))})")
    return sizes


def transpose_method(x, *axes):
    """`x.transpose()`, `x.transpose(1, 0)`, or `x.transpose((1, 0))` with any sequence."""
    try:
        if len(axes) == 1 and (axes[0] is None or _is_sequence(axes[0])):
            axes = () if axes[0] is None else tuple(axes[0])
        ndim = typeof(x).ndim
        return transpose(x, [canonical_axis(a, ndim) for a in axes] if axes else range(ndim)[::-1])
    except Exception as error:
        hide_frames(error)
        raise


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


@public
def iterate_array(x):
    """`iterate` of an array."""
    if not x.aval.ndim:
        raise TypeError("iteration over a 0-d array")
    row = ShapedArray(x.aval.shape[1:], x.aval.dtype, x.aval.weak_type)
    return (Array(value, row) for value in x._numpy())


def nbytes(x) -> int:
    """The size of the contents in bytes."""
    return x.aval.size * x.aval.dtype.itemsize


@public
def array_item(x, *args):
    """The element (at `args`, if there are more than one) as a Python number."""
    numeric(x, "converted to a number")
    return np.asarray(x).item(*args)


@public
def array_tolist(x):
    """The elements as nested lists of Python numbers."""
    numeric(x, "converted to numbers")
    return np.asarray(x).tolist()


def contents_refused(name: str) -> Callable:
    """A method of arrays that takes contents out, for tracers: they have none yet, or contents
    that would lose their derivative."""

    def refuse(tracer, *args, **kwargs):
        escaped(tracer)
        raise ConcretizationTypeError(tracer, f"The method `{name}` asked for its contents.")

    return refuse


@point
def index_by_arrays(self, x: Any, index: Any) -> Any:
    """`x[index]`, where an entry of `index` is an array, or a traced start has a stride."""
    return NotImplemented


def _wait(x: Array) -> Array:
    """Wait until the contents are computed; returns the array."""
    if x._host is None:
        alive(x)
        xla().wait(x._buffer)
    return x


def _nothing_to_wait_for(tracer: Tracer) -> None:
    """`hasattr` is how `jax.block_until_ready` finds out that a tracer has no contents yet."""
    raise AttributeError("The 'block_until_ready' method is not available on traced array with "
                         f"shape {tracer.aval.str_short()}: it has no contents yet. Call "
                         "`jax.block_until_ready`, which passes over traced values.")


general["matmul"] = matmul
install_binary_operators({"and": bitwise_and, "or": bitwise_or, "xor": bitwise_xor})
install_methods({
    "__abs__": absolute, "__invert__": bitwise_not,
    "astype": astype_method, "reshape": reshape_method, "transpose": transpose_method,
    "T": property(transpose_method), "mT": property(matrix_transpose),
    "itemsize": property(lambda x: x.aval.dtype.itemsize), "nbytes": property(nbytes),
})
install_methods({
    "__iter__": iterate_array, "item": array_item, "tolist": array_tolist,
    "block_until_ready": _wait,
}, Array)
# A tracer is immutable and has no pending contents: its copies are the tracer itself.
install_methods({
    "__iter__": iterate,
    "item": contents_refused("item"), "tolist": contents_refused("tolist"),
    "block_until_ready": property(_nothing_to_wait_for),
    "__copy__": lambda tracer: tracer, "__deepcopy__": lambda tracer, memo: tracer,
}, Tracer)
