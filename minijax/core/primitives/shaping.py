"""Chapter 1: the primitives that rearrange elements without computing with them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..array import def_numpy
from ..core import ShapedArray, typeof, vary_like
from .elementwise import convert
from .shape_rules import (
    NUMBER,
    all_weak,
    canonical_axis,
    canonical_shape,
    check_dtype,
    check_same_dtypes,
    known_sizes,
    make_primitive,
)

# ----------------------------------------------------------------------------------------------
# broadcast_in_dim: the one primitive that repeats elements.


def _broadcast_in_dim_shape(x, *, shape, broadcast_dimensions):
    dims = broadcast_dimensions
    if len(dims) != x.ndim:
        raise TypeError("broadcast_in_dim broadcast_dimensions must have length equal to operand "
                        f"ndim; got broadcast_dimensions {dims} for operand ndim {x.ndim}.")
    if any(not 0 <= d < len(shape) for d in dims):
        raise TypeError("broadcast_in_dim broadcast_dimensions must be a subset of output "
                        f"dimensions, got {dims} for operand ndim {x.ndim} and shape {shape}.")
    if any(n != 1 and n != shape[d] for n, d in zip(x.shape, dims)):
        raise TypeError("broadcast_in_dim operand dimension sizes must either be 1, or be equal "
                        "to their corresponding dimensions in the target broadcast shape; got "
                        f"operand of shape {x.shape}, target broadcast shape {shape}, "
                        f"broadcast_dimensions {dims}.")
    if any(a >= b for a, b in zip(dims, dims[1:])):
        raise TypeError("broadcast_in_dim broadcast_dimensions must be strictly increasing; "
                        f"got broadcast_dimensions {dims}.")
    return ShapedArray(shape, x.dtype, x.weak_type)


def _broadcast_in_dim(x, *, shape, broadcast_dimensions):
    sizes = [1] * len(shape)
    for d, n in zip(broadcast_dimensions, x.shape):
        sizes[d] = n
    if x.size == math.prod(shape):
        return x.reshape(shape)
    out = np.empty(shape, x.dtype)  # quicker than `np.broadcast_to`
    out[...] = x.reshape(sizes)
    return out


broadcast_in_dim_p = make_primitive("broadcast_in_dim", _broadcast_in_dim_shape)
def_numpy(broadcast_in_dim_p, _broadcast_in_dim)


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
# reshape, squeeze, transpose, rev


def _reshape_shape(x, *, new_sizes, dimensions):
    if math.prod(new_sizes) != x.size:
        raise TypeError(f"reshape total size must be unchanged, got new_sizes {new_sizes} "
                        f"for shape {x.shape}.")
    return ShapedArray(new_sizes, x.dtype, x.weak_type)


def _reshape(x, *, new_sizes, dimensions):
    # Methods: NumPy's functions of these names call them, and take ten times as long.
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


reshape_p = make_primitive("reshape", _reshape_shape)
def_numpy(reshape_p, _reshape)


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


def collapse(operand, start_dimension: int, stop_dimension: int | None = None):
    """`operand` with the dimensions from `start_dimension` up to `stop_dimension` made one."""
    shape = typeof(operand).shape
    low, high, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    return reshape(operand, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


def _squeeze_shape(x, *, dimensions):
    if any(x.shape[d] != 1 for d in dimensions):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one, "
                         f"got shape={x.shape} and dimensions={dimensions}")
    kept = [n for d, n in enumerate(x.shape) if d not in dimensions]
    return ShapedArray(kept, x.dtype, x.weak_type)


squeeze_p = make_primitive("squeeze", _squeeze_shape)
def_numpy(squeeze_p, lambda x, *, dimensions: x.squeeze(axis=dimensions))


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


def _transpose_shape(x, *, permutation):
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError("transpose permutation isn't a permutation of operand dimensions, got "
                        f"permutation {permutation} for operand shape {x.shape}.")
    return ShapedArray([x.shape[d] for d in permutation], x.dtype, x.weak_type)


transpose_p = make_primitive("transpose", _transpose_shape)
def_numpy(transpose_p, lambda x, *, permutation: x.transpose(permutation))


def transpose(operand, permutation: Sequence[int]):
    """`operand` with dimension `i` of the result its dimension `permutation[i]`.

    Raises:
      TypeError: `permutation` is none of the operand's dimensions.
    """
    permutation = tuple(map(operator.index, permutation))
    if permutation == tuple(range(typeof(operand).ndim)) and not _foreign(operand):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


def _rev_shape(x, *, dimensions):
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if any(not 0 <= d < x.ndim for d in dimensions):
        raise TypeError("rev dimensions must all be less than operand ndim, got dimensions "
                        f"{dimensions} for operand ndim {x.ndim}.")
    return x


rev_p = make_primitive("rev", _rev_shape)
def_numpy(rev_p, lambda x, *, dimensions: np.flip(x, dimensions))


def rev(operand, dimensions: Sequence[int]):
    """`operand` with its elements in reverse order along these dimensions.

    Raises:
      TypeError: a repeated dimension, or one out of bounds.
    """
    return rev_p.bind(operand, dimensions=tuple(map(operator.index, dimensions)))


# ----------------------------------------------------------------------------------------------
# concatenate, stack, split, pad


def _concatenate_shape(*avals, dimension):
    first = avals[0]
    if len({aval.ndim for aval in avals}) != 1:
        raise TypeError("Cannot concatenate arrays with different numbers of dimensions: got "
                        f"{', '.join(str(aval.shape) for aval in avals)}.")
    if not 0 <= dimension < first.ndim:
        raise TypeError("concatenate dimension out of bounds: dimension "
                        f"{dimension} for shapes {', '.join(str(a.shape) for a in avals)}.")
    check_same_dtypes("concatenate", avals)
    before, after = first.shape[:dimension], first.shape[dimension + 1:]
    if any(a.shape[:dimension] != before or a.shape[dimension + 1:] != after for a in avals):
        raise TypeError("Cannot concatenate arrays with shapes that differ in dimensions other "
                        f"than the one being concatenated: concatenating along dimension "
                        f"{dimension} for shapes {', '.join(str(a.shape) for a in avals)}.")
    total = sum(aval.shape[dimension] for aval in avals)
    return ShapedArray((*before, total, *after), first.dtype, all_weak(avals))


concatenate_p = make_primitive("concatenate", _concatenate_shape)
def_numpy(concatenate_p, lambda *xs, dimension: np.concatenate(xs, dimension))


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


def _stack_shape(*avals, axis):
    if any(aval.shape != avals[0].shape for aval in avals):
        raise ValueError(f"All input arrays must have the same shape: "
                         f"{', '.join(str(aval.shape) for aval in avals)}")
    check_same_dtypes("stack", avals)
    shape = list(avals[0].shape)
    shape.insert(axis, len(avals))
    return ShapedArray(shape, avals[0].dtype, all_weak(avals))


stack_p = make_primitive("stack", _stack_shape)
def_numpy(stack_p, lambda *xs, axis: np.stack(xs, axis) if axis else np.array(xs))


def stack(operands: Sequence, axis: int = 0):
    """Arrays of one shape and dtype, side by side along a new dimension.

    Raises:
      ValueError: different shapes, or an axis out of bounds.
      TypeError: different dtypes.
    """
    return stack_p.bind(*operands, axis=canonical_axis(axis, typeof(operands[0]).ndim + 1))


def _unstack_shape(x, *, axis):
    if not 0 <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {x.ndim}")
    piece = ShapedArray(x.shape[:axis] + x.shape[axis + 1:], x.dtype, x.weak_type)
    return [piece] * x.shape[axis]


unstack_p = make_primitive("unstack", _unstack_shape)
unstack_p.multiple_results = True
def_numpy(unstack_p, lambda x, *, axis: list(np.moveaxis(x, axis, 0)))


def unstack(x, axis: int = 0) -> tuple:
    """The slices of `x` along `axis`, without that dimension.

    Raises:
      ValueError: an axis out of bounds.
    """
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, typeof(x).ndim)))


def _split_shape(x, *, sizes, axis):
    if not 0 <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {x.ndim}")
    if any(size < 0 for size in sizes) or sum(sizes) != x.shape[axis]:
        raise ValueError(f"Sum of sizes {sizes} must be equal to dimension {axis} of the operand "
                         f"shape {x.shape}")
    shapes = [(*x.shape[:axis], size, *x.shape[axis + 1:]) for size in sizes]
    return [ShapedArray(shape, x.dtype, x.weak_type) for shape in shapes]


split_p = make_primitive("split", _split_shape)
split_p.multiple_results = True
def_numpy(split_p, lambda x, *, sizes, axis: np.split(x, np.cumsum(sizes[:-1], dtype=int), axis))


def split(operand, sizes: Sequence[int], axis: int = 0) -> list:
    """`operand` cut along `axis` into pieces of these sizes.

    Raises:
      ValueError: the sizes do not add up to the dimension's.
    """
    sizes = tuple(map(operator.index, sizes))
    return split_p.bind(operand, sizes=sizes, axis=canonical_axis(axis, typeof(operand).ndim))


def _pad_shape(x, value, *, padding_config):
    if x.dtype != value.dtype:
        raise TypeError("pad operand and padding_value must be same dtype: got "
                        f"{x.dtype.name} and {value.dtype.name}.")
    if value.ndim:
        raise ValueError(f"padding_value must be a scalar; got shape {value.shape}")
    if len(padding_config) != x.ndim:
        raise ValueError("length of padding_config must equal the number of axes of operand, got "
                         f"padding_config {padding_config} for operand shape {x.shape}")
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError("interior padding in padding_config must be nonnegative, got "
                         f"padding_config {padding_config}")
    shape = tuple(_padded_size(n, *config) for n, config in zip(x.shape, padding_config))
    if any(n < 0 for n in shape):
        raise ValueError(f"Dimension size after padding is not at least 0, got result shape "
                         f"{shape}, for padding_config {padding_config} and operand shape "
                         f"{x.shape}")
    return ShapedArray(shape, x.dtype, all_weak((x, value)))


def _padded_size(n, low, high, interior):
    return low + high + n + max(n - 1, 0) * interior


def _pad(x, value, *, padding_config):
    """Spread the elements over an array with the gaps, then add to or cut from its ends."""
    spread = np.full([_padded_size(n, 0, 0, i) for n, (_, _, i) in zip(x.shape, padding_config)],
                     value, x.dtype)
    spread[tuple(slice(None, None, i + 1) for _, _, i in padding_config)] = x
    ends = [(max(low, 0), max(high, 0)) for low, high, _ in padding_config]
    padded = np.pad(spread, ends, constant_values=value) if ends else spread
    return padded[tuple(slice(max(-low, 0), n - max(-high, 0))
                        for n, (low, high, _) in zip(padded.shape, padding_config))]


pad_p = make_primitive("pad", _pad_shape)
def_numpy(pad_p, _pad)


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


def _kind_fits(scalar, dtype):
    return dtypes.python_scalar_dtype(type(scalar)) == dtype


# ----------------------------------------------------------------------------------------------
# iota, and arrays of one value


def _iota_shape(*, dtype, shape, dimension):
    check_dtype("iota", ShapedArray((), dtype), NUMBER)
    if not 0 <= dimension < len(shape):
        raise ValueError("iota dimension must be between 0 and len(shape), got "
                         f"dimension={dimension} for shape {shape}")
    return ShapedArray(shape, dtype)


def _iota(*, dtype, shape, dimension):
    line = np.arange(shape[dimension]).astype(dtype)
    return _broadcast_in_dim(line, shape=shape, broadcast_dimensions=(dimension,))


iota_p = make_primitive("iota", _iota_shape)
def_numpy(iota_p, _iota)


def broadcasted_iota(dtype, shape: Sequence[int], dimension: int, *, out_sharding=None):
    """An array of `shape` whose elements are their own index along `dimension`.

    Raises:
      TypeError: `dtype` is not numeric.
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(dtype)
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
    dtype = aval.dtype if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype)
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(tuple(shape), fill_value)
    return broadcast(convert(fill_value, dtype, weak), shape)


def full_like(x, fill_value, dtype=None, shape: Sequence[int] | None = None, sharding=None):
    """`full` with the shape and the dtype of `x`, unless given."""
    aval = typeof(x) if hasattr(x, "aval") or not hasattr(x, "shape") \
        else ShapedArray(x.shape, dtypes.canonicalize_dtype(x.dtype, True))
    weak = dtype is None and aval.weak_type
    dtype = aval.dtype if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype)
    shape = aval.shape if shape is None else shape
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(tuple(shape), fill_value)
    filled = broadcast(convert(fill_value, dtype, weak), shape)
    return vary_like(filled, aval) if aval.vma else filled

