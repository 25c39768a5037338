"""Chapter 1: static and dynamic slices."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..array import def_numpy
from ..core import ShapedArray, typeof
from .elementwise import add, convert, lt, select
from .shape_rules import all_weak, canonical_axis, known_sizes, make_primitive
from .shaping import reshape, squeeze

# ----------------------------------------------------------------------------------------------
# slice: bounds known when the program is built


def _slice_shape(x, *, start_indices, limit_indices, strides):
    strides = strides or (1,) * x.ndim
    if not len(start_indices) == len(limit_indices) == len(strides) == x.ndim:
        raise TypeError("slice start_indices, limit_indices and strides must have the same "
                         f"number of entries as the operand has dimensions, got {start_indices}, "
                         f"{limit_indices} and {strides} for operand shape {x.shape}.")
    if any(start < 0 or stop > n for start, stop, n in zip(start_indices, limit_indices, x.shape)):
        raise TypeError("slice start_indices must be nonnegative and limit_indices must be less "
                        f"than or equal to operand shape, got start_indices {start_indices} and "
                        f"limit_indices {limit_indices} for operand shape {x.shape}.")
    if any(start > stop for start, stop in zip(start_indices, limit_indices)):
        raise TypeError("slice limit_indices must be greater than or equal to start_indices, got "
                        f"start_indices {start_indices} and limit_indices {limit_indices}.")
    if any(step <= 0 for step in strides):
        raise TypeError(f"slice strides must be positive, got {strides}")
    bounds = zip(start_indices, limit_indices, strides)
    return ShapedArray([len(range(*bound)) for bound in bounds], x.dtype, x.weak_type)


def _slice(x, *, start_indices, limit_indices, strides):
    bounds = zip(start_indices, limit_indices, strides or (1,) * x.ndim)
    return x[tuple(builtins.slice(*bound) for bound in bounds)]


slice_p = make_primitive("slice", _slice_shape)
def_numpy(slice_p, _slice)


def slice(operand, start_indices: Sequence[int], limit_indices: Sequence[int],
          strides: Sequence[int] | None = None):
    """A box of `operand`: `operand[start:limit:stride]` in each dimension.

    Args:
      operand: an array.
      start_indices, limit_indices: for each dimension, ints within its bounds.
      strides: positive ints; by default ones.

    Raises:
      TypeError, ValueError: bounds outside of the operand, or a wrong number of them.

    >>> lax.slice(jnp.arange(6), (1,), (6,), (2,)).tolist()
    [1, 3, 5]
    """
    starts, limits = (tuple(map(operator.index, t)) for t in (start_indices, limit_indices))
    steps = None if strides is None else tuple(map(operator.index, strides))
    return slice_p.bind(operand, start_indices=starts, limit_indices=limits, strides=steps)


def slice_in_dim(operand, start_index: int | None, limit_index: int | None, stride: int = 1,
                 axis: int = 0):
    """`slice` in one dimension, with NumPy's treatment of `None` and negative bounds."""
    shape = typeof(operand).shape
    axis = canonical_axis(axis, len(shape))
    start, limit, _ = builtins.slice(start_index, limit_index).indices(shape[axis])
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], strides[axis] = start, limit, operator.index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand, index: int, axis: int = 0, keepdims: bool = True):
    """The slice of width one at `index` along `axis`; without that dimension unless `keepdims`.

    Raises:
      IndexError: `index` is out of bounds.
    """
    size = typeof(operand).shape[axis]
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    index %= size
    piece = slice_in_dim(operand, index, index + 1, 1, axis)
    return piece if keepdims else squeeze(piece, (axis,))


# ----------------------------------------------------------------------------------------------
# dynamic_slice and dynamic_update_slice: the start is a value


def _check_starts(name, ndim, starts):
    if len(starts) != ndim:
        raise TypeError(f"{name} start_indices must have length equal to the number of dimensions "
                        f"of operand, got {len(starts)} indices for operand ndim {ndim}.")
    if any(not dtypes.issubdtype(i.dtype, np.integer) for i in starts) or \
            len({i.dtype for i in starts}) > 1:
        got = ", ".join(i.dtype.name for i in starts)
        raise TypeError(f"index arguments to {name} must be integers of the same type, got: {got}")
    if any(i.shape for i in starts):
        raise TypeError(f"start_indices arguments to {name} must be scalars, got "
                        f"{', '.join(i.str_short() for i in starts)}")


def _dynamic_slice_shape(x, *starts, slice_sizes):
    _check_starts("dynamic_slice", x.ndim, starts)
    if len(slice_sizes) != x.ndim:
        raise TypeError("slice slice_sizes must have the same length as the operand has "
                        f"dimensions, got {slice_sizes} for operand shape {x.shape}.")
    if any(size > n for size, n in zip(slice_sizes, x.shape)):
        raise TypeError("slice slice_sizes must be less than or equal to operand shape, got "
                        f"slice_sizes {slice_sizes} for operand shape {x.shape}.")
    if any(size < 0 for size in slice_sizes):
        raise TypeError("slice slice_sizes must be greater than or equal to zero, got "
                        f"slice_sizes of {slice_sizes}.")
    return ShapedArray(slice_sizes, x.dtype, x.weak_type)


def _box(shape, starts, sizes):
    """The slices of a box of these sizes, moved inside: indices out of bounds are clamped."""
    clamped = (min(max(int(i), 0), n - size) for i, n, size in zip(starts, shape, sizes))
    return tuple(builtins.slice(i, i + size) for i, size in zip(clamped, sizes))


dynamic_slice_p = make_primitive("dynamic_slice", _dynamic_slice_shape)
def_numpy(dynamic_slice_p,
          lambda x, *starts, slice_sizes: x[_box(x.shape, starts, slice_sizes)])


def _dynamic_update_slice_shape(x, update, *starts):
    if x.ndim != update.ndim:
        raise TypeError("dynamic_update_slice update must have the same rank as operand, got "
                        f"update shape {update.shape} for operand shape {x.shape}.")
    if x.dtype != update.dtype:
        raise TypeError("dynamic_update_slice operand and update must have the same dtype, got "
                        f"{x.dtype.name} and {update.dtype.name}.")
    if any(n > m for n, m in zip(update.shape, x.shape)):
        raise TypeError("dynamic_update_slice update shape must be smaller than operand shape, "
                        f"got update shape {update.shape} for operand shape {x.shape}.")
    _check_starts("dynamic_update_slice", x.ndim, starts)
    return ShapedArray(x.shape, x.dtype, all_weak((x, update)))


def _dynamic_update_slice(x, update, *starts):
    out = np.array(x)
    out[_box(x.shape, starts, update.shape)] = update
    return out


dynamic_update_slice_p = make_primitive("dynamic_update_slice", _dynamic_update_slice_shape)
def_numpy(dynamic_update_slice_p, _dynamic_update_slice)


def _scalar_indices(operand, start_indices, allow_negative):
    """The start indices as scalars of one type, negative ones counted from the end."""
    shape = typeof(operand).shape
    if hasattr(start_indices, "aval") or isinstance(start_indices, np.ndarray):
        if len(typeof(start_indices).shape) != 1:
            raise ValueError(f"start_indices must be 1-dimensional, got "
                             f"{typeof(start_indices).shape}")
        parts = range(typeof(start_indices).shape[0])
        start_indices = [reshape(slice(start_indices, (i,), (i + 1,)), ()) for i in parts]
    if len(start_indices) != len(shape):
        raise ValueError("Length of slice indices must match number of operand dimensions "
                         f"({len(start_indices)} vs {shape})")
    dtype = dtypes.lattice_result_type(*start_indices)[0] if len(start_indices) else None
    if isinstance(allow_negative, bool):
        allow_negative = [allow_negative] * len(shape)
    return [_from_front(i, n, dtype) if negative else convert(i, dtype)
            for i, n, negative in zip(start_indices, shape, allow_negative)]


def _from_front(i, n, dtype):
    """A scalar index, `n` added if it is negative (by Python if it is known)."""
    if isinstance(i, (int, np.integer)):
        return dtype.type(i + n if i < 0 else i)
    if dtypes.issubdtype(dtype, np.unsignedinteger) or not dtypes.issubdtype(dtype, np.integer):
        return i
    negative = lt(i, convert_scalar(0, i))
    i = convert(i, dtype)
    return select(negative, add(i, np.asarray(n).astype(dtype)[()]), i)


def convert_scalar(value, like):
    """A Python number as a NumPy scalar of the dtype of `like`."""
    return typeof(like).dtype.type(value)


def dynamic_slice(operand, start_indices, slice_sizes: Sequence[int], *,
                  allow_negative_indices: bool | Sequence[bool] = True):
    """A box of static sizes at a place that may be traced.

    Args:
      operand: an array.
      start_indices: for each dimension an integer scalar, or all of them as a vector. A box that
        would reach outside is moved inside.
      slice_sizes: the result's shape.
      allow_negative_indices: whether negative starts count from the end.

    Raises:
      TypeError: sizes larger than the operand, or starts that are not integers.
      ValueError: a wrong number of starts.

    >>> lax.dynamic_slice(jnp.arange(5), (2,), (2,)).tolist()
    [2, 3]
    """
    starts = _scalar_indices(operand, start_indices, allow_negative_indices)
    sizes = known_sizes(slice_sizes)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def dynamic_update_slice(operand, update, start_indices, *,
                         allow_negative_indices: bool | Sequence[bool] = True):
    """`operand` with `update` written at a place that may be traced.

    Args:
      operand: an array.
      update: an array of the same rank and dtype, nowhere larger.
      start_indices: as for `dynamic_slice`.

    Raises:
      TypeError, ValueError: as `dynamic_slice`.
    """
    starts = _scalar_indices(operand, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_slice_in_dim(operand, start_index, slice_size: int, axis: int = 0, *,
                         allow_negative_indices: bool = True):
    """`dynamic_slice` in one dimension, the others whole."""
    shape = list(typeof(operand).shape)
    axis = canonical_axis(axis, len(shape))
    starts, sizes = _starts_along(start_index, axis, len(shape)), shape
    sizes[axis] = slice_size
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(operand, index, axis: int = 0, keepdims: bool = True, *,
                         allow_negative_indices: bool = True):
    """The slice of width one at `index`, which may be traced, along `axis`."""
    piece = dynamic_slice_in_dim(operand, index, 1, axis,
                                 allow_negative_indices=allow_negative_indices)
    return piece if keepdims else squeeze(piece, (axis,))


def dynamic_update_slice_in_dim(operand, update, start_index, axis: int, *,
                                allow_negative_indices: bool = True):
    """`dynamic_update_slice` in one dimension."""
    ndim = typeof(operand).ndim
    starts = _starts_along(start_index, canonical_axis(axis, ndim), ndim)
    return dynamic_update_slice(operand, update, starts,
                                allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(operand, update, index, axis: int, *,
                                allow_negative_indices: bool = True):
    """`operand` with `update` at `index` along `axis`; `update` may lack that dimension."""
    aval = typeof(operand)
    axis = canonical_axis(axis, aval.ndim)
    if typeof(update).ndim != aval.ndim:
        shape = (*aval.shape[:axis], 1, *aval.shape[axis + 1:])
        update = reshape(update, shape)
    return dynamic_update_slice_in_dim(operand, update, index, axis,
                                       allow_negative_indices=allow_negative_indices)


def _starts_along(start_index, axis, ndim):
    zero = convert_scalar(0, start_index)
    return [start_index if d == axis else zero for d in range(ndim)]
