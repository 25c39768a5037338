"""Chapter 11: sorting, and the greatest few.

Numbers are ordered as NumPy does: NaN after all others, zeros of either sign alike, complex
numbers by their real parts and then by their imaginary parts.
"""

import operator
from collections.abc import Sequence

import numpy as np

from ..checks.primitives import numeric
from ..core import dtypes
from ..core.array import def_numpy
from ..core.batching import moveaxis, primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, typeof
from ..core.forward import Zero, primitive_jvps
from ..core.lowering import (
    convert,
    register_lowering,
    tensor_type,
    with_dtype,
    with_shape,
)
from ..core.primitives import canonical_axis
from . import bitwise, complex_numbers, dtypes as dtypes_of_lax, elementwise as prim
from .families import emit_region, lower_fun
from .gathering import gather
from .shaping import broadcast_in_dim, broadcasted_iota, expand_dims
from .windows import GatherDimensionNumbers

# ----------------------------------------------------------------------------------------------
# sort: types and evaluation


def _sorted_types(*avals, dimension, is_stable, num_keys):
    for key in avals[:num_keys]:
        numeric("sort", key)
    if any(aval.shape != avals[0].shape for aval in avals):
        shapes = " ".join(str(aval.shape) for aval in avals)
        raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
    return list(avals)


def _sort(*operands, dimension, is_stable, num_keys):
    if len(operands) == 1 and operands[0].dtype.kind not in "cV":  # of NumPy's own real dtypes
        return [np.sort(operands[0], dimension, kind="stable")]
    order = _order(operands[:num_keys], dimension)
    return [_along(x, order, dimension) for x in operands]


def _along(x, order, axis):
    """`np.take_along_axis`, which takes long to find out that there is one axis only."""
    return x[order] if x.ndim == 1 else np.take_along_axis(x, order, axis)


def _order(keys, axis):
    """The indices along `axis` that sort by the first key, and by the next where that is equal."""
    if keys[0].dtype.name == "bfloat16":
        keys = [x.astype(np.float32) if x.dtype.name == "bfloat16" else x for x in keys]
    keys = [part for x in keys for part in ([x.real, x.imag] if x.dtype.kind == "c" else [x])]
    if len(keys) == 1:
        return keys[0].argsort(axis, kind="stable")
    return np.lexsort(keys[::-1], axis)


sort_p = Primitive("sort", multiple_results=True)
sort_p.def_abstract_eval(_sorted_types)
def_numpy(sort_p, _sort)

# ----------------------------------------------------------------------------------------------
# sort: lowering


def _comes_first(*pairs):
    """Whether the x of the pairs (x, y) of scalars come before the y, in lexicographic order."""
    result = None
    for x, y in reversed(list(zip(pairs[::2], pairs[1::2]))):
        before = comes_before(x, y)
        if result is not None:
            tie = bitwise.bitwise_not(comes_before(y, x))
            before = bitwise.bitwise_or(before, bitwise.bitwise_and(tie, result))
        result = before
    return result


def comes_before(x, y):
    """Elementwise: is x sorted before y?"""
    kind = typeof(x).dtype
    if dtypes.issubdtype(kind, np.complexfloating):
        real, imag = complex_numbers.real, complex_numbers.imag
        return _comes_first(real(x), real(y), imag(x), imag(y))
    if not dtypes.issubdtype(kind, np.floating):
        return prim.lt(x, y)
    only_y_is_nan = bitwise.bitwise_and(prim.ne(y, y), prim.eq(x, x))
    return bitwise.bitwise_or(prim.lt(x, y), only_y_is_nan)


_lower_comes_first = lower_fun(_comes_first)


def _two_bits_as_bytes(rule):
    """A lowering rule that computes with int8 instead of integers of two bits, which XLA's sort
    on the CPU mixes up."""
    two_bits = (dtypes_of_lax.int2, dtypes_of_lax.uint2)

    def whole(aval):
        return with_dtype(aval, np.dtype(np.int8)) if aval.dtype in two_bits else aval

    def lower(ctx, *operands, **params):
        if not any(x.aval.dtype in two_bits for x in operands):
            return rule(ctx, ctx.avals_out, *operands, **params)
        operands = [x if whole(x.aval) is x.aval else convert(ctx, x, np.dtype(np.int8))
                    for x in operands]
        outs = rule(ctx, [whole(aval) for aval in ctx.avals_out], *operands, **params)
        return [x if x.aval.dtype == aval.dtype else convert(ctx, x, aval.dtype)
                for x, aval in zip(outs, ctx.avals_out)]

    return lower


@_two_bits_as_bytes
def _lower_sort(ctx, avals_out, *operands, dimension, is_stable, num_keys):
    elements = [with_shape(x.aval, ()) for x in operands for _ in "xy"]
    names, lines = emit_region(
        ctx, lambda ctx, *xs: _lower_comes_first(ctx, *xs[:2 * num_keys]), elements)
    types = ", ".join(x.type for x in operands)
    return ctx.ops("\n".join([
        f'"stablehlo.sort"({", ".join(x.name for x in operands)}) <{{dimension = {dimension} : '
        f"i64, is_stable = {str(is_stable).lower()}}}> ({{",
        f"    ^bb0({names}):",
        *lines,
        f"    }}) : ({types}) -> ({types})",
    ]), avals_out)


register_lowering(sort_p, _lower_sort)

# ----------------------------------------------------------------------------------------------
# sort: differentiation and batching


def take_along(x, indices, axis: int):
    """The elements of `x` at `indices` along `axis`."""
    ndim = typeof(x).ndim
    others = tuple(d for d in range(ndim) if d != axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return gather(x, expand_dims(indices, (ndim,)), numbers, (1,) * ndim)


def _sort_jvp(primals, tangents, *, dimension, **params):
    """Tangents go where their primals go: places are sorted along, to tell where that is."""
    places = broadcasted_iota(np.uint32, typeof(primals[0]).shape, dimension)
    *outs, order = sort_p.bind(*primals, places, dimension=dimension, **params)
    return outs, [t if type(t) is Zero else take_along(t, order, dimension) for t in tangents]


def _sort_batch(args, dims, *, dimension, **params):
    example, dim = next((x, d) for x, d in zip(args, dims) if d is not None)
    shape = typeof(example).shape
    others = [d for d in range(len(shape)) if d != dim]
    args = [broadcast_in_dim(x, shape, others) if d is None else moveaxis(x, d, dim)
            for x, d in zip(args, dims)]
    outs = sort_p.bind(*args, dimension=dimension + (dim <= dimension), **params)
    return outs, [dim] * len(outs)


primitive_jvps[sort_p] = _sort_jvp
primitive_batchers[sort_p] = _sort_batch


@public
def sort(operand, dimension: int = -1, is_stable: bool = True, num_keys: int = 1):
    """One array sorted along a dimension, or several by the first of them.

    Args:
      operand: an array; or a sequence of arrays of one shape, of which the first `num_keys` are
        compared, and all are put into the same order.
      dimension: which one.
      is_stable: whether equal elements keep their order.
      num_keys: where the first array has equal elements, the second one decides, and so on.

    Returns:
      an array, or a tuple of arrays.

    Raises:
      TypeError: no operand, or unequal shapes.
      ValueError: more keys than operands; no such dimension.

    >>> lax.sort((jnp.array([2, 1]), jnp.array([3, 4])))
    (Array([1, 2], dtype=int32), Array([4, 3], dtype=int32))
    """
    operands = operand if isinstance(operand, Sequence) else [operand]
    if not operands:
        raise TypeError("Sort requires at least one operand")
    if not 1 <= num_keys <= len(operands):
        raise ValueError(f"{num_keys=} must be between 1 and {len(operands)}, the operands' number")
    dimension = canonical_axis(dimension, typeof(operands[0]).ndim)
    outs = sort_p.bind(*operands, dimension=dimension, is_stable=bool(is_stable), num_keys=num_keys)
    return tuple(outs) if isinstance(operand, Sequence) else outs[0]


@public
def sort_key_val(keys, values, dimension: int = -1, is_stable: bool = True):
    """`keys` sorted along a dimension, and `values`, of the same shape, put into that order."""
    return sort((keys, values), dimension, is_stable)


# ----------------------------------------------------------------------------------------------
# top_k


def _top_k_types(x, *, k, axis):
    numeric("top_k", x)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError("top_k is not compatible with complex inputs.")
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if x.shape[axis] < k:
        raise ValueError("k argument to top_k must be no larger than size along axis; got "
                         f"k={k} with shape={x.shape} and axis={axis}")
    if x.shape[axis] > 2**31 - 1:
        raise ValueError("top_k returns int32 indices, which will overflow along a dimension of "
                         f"size {x.shape[axis]}: got shape {x.shape} and axis={axis}")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [ShapedArray(shape, x.dtype, x.weak_type), ShapedArray(shape, np.int32, x.weak_type)]


def _top_k(x, *, k, axis):
    """The greatest elements first; of equal elements, the first is first."""
    if not k:
        places = np.empty((*x.shape[:axis], 0, *x.shape[axis + 1:]), np.int32)
        return [places.astype(x.dtype), places]
    order = _places_of_least(_reversed_ranks(x), k, axis)
    return [_along(x, order, axis), order.astype(np.int32)]


def _places_of_least(ranks, k, axis):
    """The places of the `k` least integers, in order; of equal ones the first."""
    n, first = ranks.shape[axis], (slice(None),) * axis + (slice(k),)
    if ranks.ndim == 1 and n >= _LONG and n >= 4 * _ROWS * k:
        among = _candidates(ranks, k)
        if 2 * among.size < n:
            return among[_places_of_least(ranks[among], k, 0)]
    if n < 8 * k or ranks.dtype.itemsize > 4:
        return ranks.argsort(axis, kind="stable")[first]
    places = np.arange(n).reshape([n if d == axis else 1 for d in range(ranks.ndim)])
    keys = ranks.astype(np.int64) * n + places  # in the same order, and no two are equal
    least = np.partition(keys, k - 1, axis)[first]
    return np.sort(least, axis) % n


_LONG, _ROWS = 2**12, 32


def _candidates(ranks, k):
    """Places among which are those of the `k` least. The vector is a matrix of rows, and at least
    `k` elements are not above the `k`th least of the columns' minima."""
    columns = ranks.size // _ROWS
    least = ranks[:_ROWS * columns].reshape(_ROWS, columns).min(0)
    return np.flatnonzero(ranks <= np.partition(least, k - 1)[k - 1])


def _reversed_ranks(x):
    """Integers in the opposite order of that which XLA sees in floats here, which is that of their
    bits: a negative zero is less than a positive one."""
    if dtypes.issubdtype(x.dtype, np.floating):
        bits = x.view(f"i{x.dtype.itemsize}")
        signs = bits >> (8 * x.dtype.itemsize - 1)  # all bits of an element, or none
        return bits ^ ~(signs & np.iinfo(bits.dtype).max)
    if x.dtype.isbuiltin != 1:  # integers of less than a byte
        x = x.astype(np.int8 if x.dtype.name.startswith("int") else np.uint8)
    return ~x


def _top_k_jvp(primals, tangents, *, k, axis):
    (x,), (t,) = primals, tangents
    values, order = top_k_p.bind(x, k=k, axis=axis)
    return [values, order], [take_along(t, order, axis), Zero.from_primal_value(order)]


def _top_k_batch(args, dims, *, k, axis):
    (x,), (dim,) = args, dims
    return top_k_p.bind(x, k=k, axis=axis + (dim <= axis)), [dim, dim]


@_two_bits_as_bytes
def _lower_top_k(ctx, avals_out, x, *, k, axis):
    """CHLO has it for the last dimension."""
    ndim = x.aval.ndim
    order = [*(d for d in range(ndim) if d != axis), axis]
    back = [order.index(d) for d in range(ndim)]
    x = _transpose(ctx, x, order)
    results = [with_shape(aval, tuple(aval.shape[d] for d in order)) for aval in avals_out]
    types = ", ".join(map(tensor_type, results))
    outs = ctx.ops(f"chlo.top_k({x.name}, k = {k}) : {x.type} -> ({types})", results)
    return [_transpose(ctx, out, back) for out in outs]


def _transpose(ctx, x, order):
    if order == sorted(order):
        return x
    out = with_shape(x.aval, tuple(x.aval.shape[d] for d in order))
    return ctx.op(f"stablehlo.transpose {x.name}, dims = {order} : ({x.type}) -> "
                  f"{tensor_type(out)}", out)


top_k_p = Primitive("top_k", multiple_results=True)
top_k_p.def_abstract_eval(_top_k_types)
def_numpy(top_k_p, _top_k)
primitive_jvps[top_k_p] = _top_k_jvp
primitive_batchers[top_k_p] = _top_k_batch
register_lowering(top_k_p, _lower_top_k)


@public
def top_k(operand, k: int, *, axis: int = -1):
    """The `k` greatest elements along a dimension, in descending order, and their indices.

    Args:
      operand: an array of real numbers.
      k: how many; no more than there are.
      axis: which dimension.

    Raises:
      ValueError: `k` out of range; no such dimension; complex numbers.

    >>> values, indices = lax.top_k(jnp.array([3.0, 9.0, 6.0]), 2)
    >>> values.tolist(), indices.tolist()
    ([9.0, 6.0], [1, 2])
    """
    axis = canonical_axis(axis, typeof(operand).ndim)
    return top_k_p.bind(operand, k=operator.index(k), axis=axis)
