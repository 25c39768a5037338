"""Chapter 9: functions that rearrange elements without computing with them, and new arrays.

Most bind a starter, after they have checked and completed their arguments. `rev`, `stack` and
`unstack` are primitives of this file.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np

from ..checks import primitives as checks
from ..checks.primitives import canonical_shape, known_sizes
from ..core import dtypes
from ..core.array import def_numpy
from ..core.batching import batch_size, bdim_at_front, primitive_batchers, shifted_dims
from ..core.core import Primitive, ShapedArray, typeof, vary_like
from ..core.forward import deflinear_jvp, instantiate_zeros
from ..core.lowering import ints_text, lowering_rules, register_lowering, typed_text, with_shape
from ..core.lowering_rules import emit_pieces, emit_transpose
from ..core.primitives import (
    all_weak,
    broadcast_in_dim_p,
    canonical_axis,
    concatenate_p,
    convert,
    iota_p,
    make_primitive,
    pad_p,
    padded_size,
    reduce_sum,
    reshape_p,
    select,
    split_p,
    squeeze_p,
    sub,
    transpose_p,
)
from ..core.transposition import (
    deftranspose,
    is_undefined_primal,
    pad_transpose,
    primitive_transposes,
)
from .dtypes import check_and_canonicalize_user_dtype

# ----------------------------------------------------------------------------------------------
# Repeating elements


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all the `shapes` broadcast to, by NumPy's rules.

    Raises:
      ValueError: they do not fit.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    ndim = max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes]
    sizes_of_dims = [{*sizes} - {1} for sizes in zip(*padded)]
    if any(len(sizes) > 1 for sizes in sizes_of_dims):
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}")
    return tuple(operator.index(sizes.pop()) if sizes else 1 for sizes in sizes_of_dims)


def broadcast_in_dim(operand, shape: Sequence[int], broadcast_dimensions: Sequence[int], *,
                     out_sharding=None):
    """`operand` repeated to `shape`.

    Args:
      operand: an array; each of its dimensions 1, or as the result's.
      shape: the result's shape.
      broadcast_dimensions: for each dimension of `operand`, the one of the result it goes to;
        strictly increasing.
      out_sharding: ignored; `reshard` moves the result (chapter 14).

    Raises:
      TypeError: shapes and dimensions that do not fit.

    >>> lax.broadcast_in_dim(jnp.arange(2), (2, 3), (0,)).tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    shape = canonical_shape(shape)
    dims = tuple(map(operator.index, broadcast_dimensions))
    same = typeof(operand).shape == shape and dims == tuple(range(len(shape)))
    if same and not _foreign(operand):
        return operand
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims)


def _foreign(x):
    return not hasattr(x, "aval")


def broadcast(operand, sizes: Sequence[int], *, out_sharding=None):
    """`operand` repeated along new leading dimensions of these sizes."""
    sizes = canonical_shape(sizes)
    ndim = typeof(operand).ndim
    dims = range(len(sizes), len(sizes) + ndim)
    return broadcast_in_dim(operand, (*sizes, *typeof(operand).shape), dims)


def broadcast_to(x, shape: tuple[int, ...]):
    """`x` repeated to `shape`, aligned at the last dimension, as NumPy does.

    Raises:
      ValueError: the shape of `x` does not broadcast to this one.
    """
    own = typeof(x).shape
    ndim = len(own)
    if ndim > len(shape) or any(n not in (1, m) for n, m in zip(own[::-1], shape[::-1])):
        raise ValueError(f"Incompatible shapes for broadcasting: {own} and requested shape "
                         f"{tuple(shape)}")
    return broadcast_in_dim(x, shape, range(len(shape) - ndim, len(shape)))


def broadcast_to_rank(x, rank: int):
    """`x` with leading dimensions of size 1 up to `rank` dimensions."""
    shape = typeof(x).shape
    new = rank - len(shape)
    if new <= 0:
        return x
    return broadcast_in_dim_p.bind(x, shape=(1,) * new + shape,
                                   broadcast_dimensions=tuple(range(new, rank)))


def expand_dims(array, dimensions: Sequence[int]):
    """`array` with new dimensions of size 1 at these positions of the result.

    Args:
      array: an array.
      dimensions: positions in the result, negative ones counted from its end.

    Raises:
      ValueError: a repeated position, or one out of bounds.
    """
    dimensions = tuple(dimensions)
    aval = typeof(array)
    ndim_out = aval.ndim + len(dimensions)
    new = {canonical_axis(d, ndim_out) for d in dimensions}
    if len(new) != len(dimensions):
        raise ValueError(f"repeated axis in lax.expand_dims: {dimensions}")
    kept = [d for d in range(ndim_out) if d not in new]
    shape = [1] * ndim_out
    for d, n in zip(kept, aval.shape):
        shape[d] = n
    return broadcast_in_dim(array, shape, kept)


# ----------------------------------------------------------------------------------------------
# The same elements in another shape or order


def reshape(operand, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, *,
            out_sharding=None):
    """The elements of `operand`, in row-major order, in another shape.

    Args:
      operand: an array.
      new_sizes: the new shape, with as many elements.
      dimensions: the order in which the dimensions of `operand` are read, if not the usual.
      out_sharding: ignored; `reshard` moves the result (chapter 14).

    Raises:
      TypeError: another number of elements, or a negative size.
    """
    new_sizes = known_sizes(new_sizes)
    aval = typeof(operand)
    if any(size < 0 for size in new_sizes):
        raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
    if dimensions is not None:
        dimensions = tuple(map(operator.index, dimensions))
        if sorted(dimensions) != list(range(aval.ndim)):
            raise TypeError("reshape dimensions must be a permutation of operand dimensions, got "
                            f"dimensions {dimensions} for operand shape {aval.shape}.")
        if dimensions == tuple(range(aval.ndim)):
            dimensions = None
    if aval.shape == new_sizes != () and dimensions is None and not _foreign(operand):
        return operand
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dimensions)


def _reshape_transpose(ct, x, *, new_sizes, dimensions):
    if dimensions is None:
        return reshape(ct, x.aval.shape)
    in_order = reshape(ct, [x.aval.shape[d] for d in dimensions])
    return transpose(in_order, np.argsort(dimensions).tolist())


deftranspose(reshape_p, _reshape_transpose)


def collapse(operand, start_dimension: int, stop_dimension: int | None = None):
    """`operand` with the dimensions from `start_dimension` up to `stop_dimension` made one."""
    shape = typeof(operand).shape
    low, high, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    return reshape(operand, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


def squeeze(array, dimensions: Sequence[int]):
    """`array` without these dimensions, which must be of size 1.

    Raises:
      ValueError: a dimension of another size, a repeated one, or one out of bounds.
    """
    ndim = typeof(array).ndim
    dimensions = tuple(sorted(canonical_axis(d, ndim) for d in dimensions))
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    return squeeze_p.bind(array, dimensions=dimensions) if dimensions else array


def transpose(operand, permutation: Sequence[int]):
    """`operand` with dimension `i` of the result its dimension `permutation[i]`.

    Raises:
      TypeError: `permutation` does not list each of the operand's dimensions once.
    """
    permutation = tuple(map(operator.index, permutation))
    if permutation == tuple(range(typeof(operand).ndim)) and not _foreign(operand):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


# ----------------------------------------------------------------------------------------------
# Joining, cutting, padding


def concatenate(operands: Sequence, dimension: int):
    """The arrays one after another along `dimension`.

    Args:
      operands: a non-empty sequence of arrays of one dtype, alike but for `dimension`.

    Raises:
      ValueError: no operands.
      TypeError: shapes or dtypes that do not fit.
    """
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and hasattr(operands[0], "aval"):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=operator.index(dimension))


def split(operand, sizes: Sequence[int], axis: int = 0) -> list:
    """`operand` cut along `axis` into pieces of these sizes.

    Raises:
      ValueError: the sizes do not add up to the dimension's.
    """
    sizes = tuple(map(operator.index, sizes))
    return split_p.bind(operand, sizes=sizes, axis=canonical_axis(axis, typeof(operand).ndim))


def pad(operand, padding_value, padding_config: Sequence[tuple[int, int, int]]):
    """`operand` with `padding_value` before, after and between its elements.

    Args:
      operand: an array.
      padding_value: a scalar of its dtype.
      padding_config: for each dimension `(low, high, interior)`; negative `low` and `high` cut.

    Raises:
      TypeError, ValueError: a configuration or dtypes that do not fit.

    >>> lax.pad(jnp.array([1, 2]), 0, [(1, 0, 2)]).tolist()
    [0, 1, 0, 0, 2]
    """
    config = tuple(tuple(map(operator.index, triple)) for triple in padding_config)
    aval = typeof(operand)
    if type(padding_value) in (bool, int, float) and _kind_fits(padding_value, aval.dtype):
        padding_value = aval.dtype.type(padding_value)
    return pad_p.bind(operand, padding_value, padding_config=config)


def _pad_transpose(ct, x, value, *, padding_config):
    """The cotangents of the elements that were added belong to `value`."""
    x_ct = pad_transpose(ct, x, value, padding_config=padding_config)
    if not is_undefined_primal(value):
        return [x_ct, None]
    everything = range(typeof(ct).ndim)
    return [x_ct, sub(reduce_sum(ct, everything), reduce_sum(x_ct, everything))]


def _pad_by_slices(x, value, *, padding_config):
    """Spread the elements over an array with the gaps, then add to or cut from its ends.

    On large arrays this is faster than the core's way.
    """
    spread = np.full([padded_size(n, 0, 0, i) for n, (_, _, i) in zip(x.shape, padding_config)],
                     value, x.dtype)
    spread[tuple(slice(None, None, i + 1) for _, _, i in padding_config)] = x
    ends = [(max(low, 0), max(high, 0)) for low, high, _ in padding_config]
    padded = np.pad(spread, ends, constant_values=value) if ends else spread
    return padded[tuple(slice(max(-low, 0), n - max(-high, 0))
                        for n, (low, high, _) in zip(padded.shape, padding_config))]


_pad_examples = primitive_batchers[pad_p]


def _pad_batching(args, dims, *, padding_config):
    """`pad` takes one value only. If the examples have values of their own, pad with zeros, and
    put each example's value where they are."""
    (x, value), (bdim, value_dim) = args, dims
    if value_dim is None:
        return _pad_examples(args, dims, padding_config=padding_config)
    if bdim is None:
        x, bdim = bdim_at_front(x, None, typeof(value).shape[value_dim]), 0
    config = (*padding_config[:bdim], (0, 0, 0), *padding_config[bdim:])
    padded = pad_p.bind(x, typeof(x).dtype.type(0), padding_config=config)
    inside = pad_p.bind(full_like(x, True, np.dtype(bool)), np.False_, padding_config=config)
    return select(inside, padded, broadcast_in_dim(value, typeof(padded).shape, (bdim,))), bdim


def_numpy(pad_p, _pad_by_slices)
primitive_batchers[pad_p] = _pad_batching
primitive_transposes[pad_p] = _pad_transpose


def _kind_fits(scalar, dtype):
    return dtypes.python_scalar_dtype(type(scalar)) == dtype


# ----------------------------------------------------------------------------------------------
# iota, and arrays of one value


def broadcasted_iota(dtype, shape: Sequence[int], dimension: int, *, out_sharding=None):
    """An array of `shape` whose elements are their own index along `dimension`.

    Raises:
      TypeError: `dtype` is not numeric.
    """
    dtype = check_and_canonicalize_user_dtype(dtype)
    shape = canonical_shape(shape)
    return iota_p.bind(dtype=dtype, shape=shape, dimension=canonical_axis(dimension, len(shape)))


def iota(dtype, size: int):
    """The vector 0, 1, …, `size` - 1 of this element type."""
    return broadcasted_iota(dtype, (size,), 0)


def full(shape: Sequence[int], fill_value, dtype=None, *, sharding=None):
    """An array of `shape` with the scalar `fill_value` everywhere.

    Args:
      shape: the result's shape.
      fill_value: a scalar.
      dtype: the element type; by default that of `fill_value`.
      sharding: ignored here; `device_put` moves the result (chapter 14).

    Raises:
      TypeError: `fill_value` is no scalar.
    """
    aval = typeof(fill_value)
    if aval.ndim:
        raise TypeError(f"lax.full must be called with scalar fill_value; got shape {aval.shape}.")
    weak = dtype is None and aval.weak_type
    dtype = aval.dtype if dtype is None else check_and_canonicalize_user_dtype(dtype)
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(tuple(shape), fill_value)
    return broadcast(convert(fill_value, dtype, weak), shape)


def full_like(x, fill_value, dtype=None, shape: Sequence[int] | None = None, sharding=None):
    """`full` with the shape and the dtype of `x`, unless given."""
    aval = typeof(x) if hasattr(x, "aval") or not hasattr(x, "shape") \
        else ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype, True))
    weak = dtype is None and aval.weak_type
    dtype = aval.dtype if dtype is None else check_and_canonicalize_user_dtype(dtype)
    shape = aval.shape if shape is None else shape
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(tuple(shape), fill_value)
    filled = broadcast(convert(fill_value, dtype, weak), shape)
    return vary_like(filled, aval) if aval.vma else filled


# ----------------------------------------------------------------------------------------------
# rev: elements in reverse order


def _rev_type(x, *, dimensions):
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if any(not 0 <= d < x.ndim for d in dimensions):
        raise TypeError("rev dimensions must all be less than operand ndim, got dimensions "
                        f"{dimensions} for operand ndim {x.ndim}.")
    return x


def _lower_rev(ctx, x, *, dimensions):
    return ctx.op(f"stablehlo.reverse {x.name}, dims = {ints_text(dimensions)} : {x.type}", x.aval)


def _batch_rev(args, dims, *, dimensions):
    return rev(args[0], shifted_dims(dimensions, dims[0])), dims[0]


rev_p = make_primitive("rev", _rev_type, lambda x, *, dimensions: np.flip(x, dimensions))
deflinear_jvp(rev_p)
deftranspose(rev_p, lambda ct, x, *, dimensions: rev(ct, dimensions))
primitive_batchers[rev_p] = _batch_rev
register_lowering(rev_p, _lower_rev)


def _lower_reshape(ctx, x, *, dimensions, **params):
    """The engine's rule, after a transposition if the elements are read in another order."""
    return _plain_reshape(ctx, x if dimensions is None else emit_transpose(ctx, x, dimensions))


_plain_reshape = lowering_rules[reshape_p]
register_lowering(reshape_p, _lower_reshape)


def rev(operand, dimensions: Sequence[int]):
    """`operand` with its elements in reverse order along these dimensions.

    Raises:
      TypeError: a repeated dimension, or one out of bounds.
    """
    return rev_p.bind(operand, dimensions=tuple(map(operator.index, dimensions)))


# ----------------------------------------------------------------------------------------------
# stack and unstack: arrays side by side along a new dimension


def _stack_type(*avals, axis):
    if any(aval.shape != avals[0].shape for aval in avals):
        raise ValueError(f"All input arrays must have the same shape: "
                         f"{', '.join(str(aval.shape) for aval in avals)}")
    checks.same_dtypes("stack", avals)
    shape = list(avals[0].shape)
    shape.insert(axis, len(avals))
    return ShapedArray(shape, avals[0].dtype, all_weak(avals))


def _stack_transpose(ct, *operands, axis):
    return unstack_p.bind(ct, axis=axis)


def _batch_stack(args, dims, *, axis):
    bdim = dims[0]
    if bdim is not None and all(d == bdim for d in dims):
        new_axis, bdim = (axis, bdim + 1) if axis <= bdim else (axis + 1, bdim)
        return stack_p.bind(*args, axis=new_axis), bdim
    size = batch_size(args, dims)
    args = [bdim_at_front(x, d, size) for x, d in zip(args, dims)]
    return stack_p.bind(*args, axis=axis + 1), 0


def _lower_stack(ctx, *operands, axis):
    (out,) = ctx.avals_out
    slab = with_shape(out, (*out.shape[:axis], 1, *out.shape[axis + 1 :]))
    slabs = [ctx.op(typed_text("reshape", [x], slab), slab) for x in operands]
    return ctx.op(typed_text("concatenate", slabs, out, f", dim = {axis}"), out)


stack_p = make_primitive("stack", _stack_type,
                         lambda *xs, axis: np.stack(xs, axis) if axis else np.array(xs))
deflinear_jvp(stack_p)
primitive_transposes[stack_p] = _stack_transpose
primitive_batchers[stack_p] = _batch_stack
register_lowering(stack_p, _lower_stack)


def stack(operands: Sequence, axis: int = 0):
    """Arrays of one shape and dtype, side by side along a new dimension.

    Raises:
      ValueError: different shapes, or an axis out of bounds.
      TypeError: different dtypes.
    """
    return stack_p.bind(*operands, axis=canonical_axis(axis, typeof(operands[0]).ndim + 1))


def _unstack_type(x, *, axis):
    if not 0 <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {x.ndim}")
    piece = ShapedArray(x.shape[:axis] + x.shape[axis + 1:], x.dtype, x.weak_type)
    return [piece] * x.shape[axis]


def _batch_unstack(args, dims, *, axis):
    (bdim,) = dims
    outs = unstack_p.bind(args[0], axis=axis + (axis >= bdim))
    return outs, [bdim - (axis < bdim)] * len(outs)


def _lower_unstack(ctx, x, *, axis):
    shape = x.aval.shape
    slab = with_shape(x.aval, (*shape[:axis], 1, *shape[axis + 1 :]))
    slabs = emit_pieces(ctx, x, [slab] * shape[axis], axis)
    return [ctx.op(typed_text("reshape", [s], out), out) for s, out in zip(slabs, ctx.avals_out)]


unstack_p = Primitive("unstack", multiple_results=True)
unstack_p.def_abstract_eval(_unstack_type)
def_numpy(unstack_p, lambda x, *, axis: list(np.moveaxis(x, axis, 0)))
deflinear_jvp(unstack_p)
primitive_transposes[unstack_p] = lambda cts, x, *, axis: [
    stack_p.bind(*map(instantiate_zeros, cts), axis=axis)]
primitive_batchers[unstack_p] = _batch_unstack
register_lowering(unstack_p, _lower_unstack)


def unstack(x, axis: int = 0) -> tuple:
    """The slices of `x` along `axis`, without that dimension.

    Raises:
      ValueError: an axis out of bounds.
    """
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, typeof(x).ndim)))


