"""Chapter 9: boxes of an array, of known size, at a place that may be traced."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks.primitives import known_sizes
from ..checks.sequences import size_along
from ..core import dtypes
from ..core.batching import batch_size, bdim_at_front, primitive_batchers
from ..core.core import ShapedArray, typeof
from ..core.forward import instantiate_zeros, primitive_jvps, zeros
from ..core.lowering import ints_text, register_lowering, typed_text
from ..core.primitives import (
    add,
    all_weak,
    bitwise_and,
    broadcast_in_dim,
    canonical_axis,
    convert,
    expand_dims,
    ge,
    lt,
    make_primitive,
    select,
    sub,
)
from ..core.transposition import is_undefined_primal, primitive_transposes
from .cutting import pad, slice_in_dim
from .elementwise import clamp
from .out_shardings import cotangent_aval
from .shaping import broadcasted_iota, squeeze

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
                        f"{', '.join(i.str_short(True) for i in starts)}")


def _dynamic_slice_type(x, *starts, slice_sizes):
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
    clamped = (builtins.min(builtins.max(int(i), 0), n - size)
               for i, n, size in zip(starts, shape, sizes))
    return tuple(builtins.slice(i, i + size) for i, size in zip(clamped, sizes))


dynamic_slice_p = make_primitive(
    "dynamic_slice", _dynamic_slice_type,
    lambda x, *starts, slice_sizes: x[_box(x.shape, starts, slice_sizes)])


def _dynamic_update_slice_type(x, update, *starts):
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
    return ShapedArray(x.shape, x.dtype, all_weak((x, update, *starts)))


def _dynamic_update_slice(x, update, *starts):
    out = np.array(x)
    out[_box(x.shape, starts, update.shape)] = update
    return out


dynamic_update_slice_p = make_primitive("dynamic_update_slice", _dynamic_update_slice_type,
                                        _dynamic_update_slice)


def _scalar_indices(name, operand, start_indices, allow_negative):
    """The start indices as scalars of one type, negative ones counted from the end."""
    shape, given = typeof(operand).shape, start_indices
    if hasattr(start_indices, "aval") or isinstance(start_indices, np.ndarray):
        if len(typeof(start_indices).shape) != 1:
            raise ValueError(f"start_indices must be 1-dimensional, got "
                             f"{typeof(start_indices).shape}")
        parts = range(typeof(start_indices).shape[0])
        start_indices = [squeeze(slice_in_dim(start_indices, i, i + 1), (0,)) for i in parts]
    if len(start_indices) != len(shape):
        raise ValueError("Length of slice indices must match number of operand dimensions "
                         f"({len(start_indices)} vs {shape})")
    index_dtypes = {typeof(i).dtype.name for i in start_indices}
    if len(index_dtypes) > 1:
        raise TypeError(
            f"index arguments to {name} must be integers of the same type; got "
            f"{sorted(index_dtypes)}. Convert them to one type.")
    dtype = typeof(start_indices[0]).dtype if len(start_indices) else None
    allow_negative = _for_each_dimension(
        name, allow_negative, given if isinstance(given, np.ndarray) else start_indices, shape)
    if any(negative and not counts_to(n, dtype) for n, negative in zip(shape, allow_negative)):
        dtype = np.dtype("int32")
    return [_from_front(i, n, dtype) if negative else convert(i, dtype)
            for i, n, negative in zip(start_indices, shape, allow_negative)]


def _for_each_dimension(name, allow_negative, starts, shape):
    """For each dimension, whether a negative start counts from its end."""
    if allow_negative is True:
        return [True] * len(shape)
    if allow_negative is False:
        allow_negative = [False] * len(shape)
    elif not hasattr(allow_negative, "__len__") or len(allow_negative) != len(shape):
        raise (ValueError if hasattr(allow_negative, "__iter__") else TypeError)(
            f"{name}: allow_negative_indices must be a bool, or one for each dimension of the "
            f"operand, got {allow_negative} for shape {shape}.")
    for i, n, negative in zip(starts, shape, allow_negative):
        if not negative and isinstance(i, (int, np.integer)) and i < 0:
            raise ValueError(f"{name}: index {i} is out of bounds for a dimension of size {n} if "
                             "allow_negative_indices=False.")
    return list(map(bool, allow_negative))


def size_value(size, dtype) -> Any:
    """A size as a scalar, or the greatest of its dtype."""
    return dtype.type(min(size, np.iinfo(dtype).max))


def sizes_vector(sizes, dtype) -> Any:
    """Sizes as the elements of a vector."""
    return np.array([size_value(size, dtype) for size in sizes], dtype)


def counts_to(size: int, dtype) -> bool:
    """Whether indices of this dtype can count from the end of a dimension of this size. Those of
    eight bits cannot if the dimension has 300 elements: -1 would become 43."""
    signed = dtypes.issubdtype(dtype, np.signedinteger)
    return not signed or size <= np.iinfo(dtype).max


def _from_front(i, n, dtype):
    """A scalar index, `n` added if it is negative (by Python if it is known)."""
    if isinstance(i, (int, np.integer)):
        return dtype.type(i + n if i < 0 else i)
    if dtypes.issubdtype(dtype, np.unsignedinteger) or not dtypes.issubdtype(dtype, np.integer):
        return i
    i = i if typeof(i).dtype == dtype else convert(i, dtype)
    negative = lt(i, convert_scalar(0, i))
    return select(negative, add(convert(i, dtype), _wrapped(n, dtype)), i)


def _wrapped(size, dtype):
    return np.asarray(size).astype(dtype)[()]


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
    starts = _scalar_indices("dynamic_slice", operand, start_indices, allow_negative_indices)
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
    starts = _scalar_indices("dynamic_update_slice", operand, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(operand, update, *starts)


def dynamic_slice_in_dim(operand, start_index, slice_size: int, axis: int = 0, *,
                         allow_negative_indices: bool = True):
    """`dynamic_slice` in one dimension, the others whole."""
    shape = list(typeof(operand).shape)
    size_along("dynamic_slice_in_dim", shape, axis)
    starts, sizes = _starts_along(start_index, axis % len(shape), len(shape)), shape
    sizes[axis] = slice_size
    return dynamic_slice(operand, starts, sizes,
                         allow_negative_indices=bool(allow_negative_indices))


def dynamic_index_in_dim(operand, index, axis: int = 0, keepdims: bool = True, *,
                         allow_negative_indices: bool = True):
    """The slice of width one at `index`, which may be traced, along `axis`."""
    piece = dynamic_slice_in_dim(operand, _staged_start(index, allow_negative_indices), 1, axis,
                                 allow_negative_indices=allow_negative_indices)
    return piece if keepdims else squeeze(piece, (axis,))


def dynamic_update_slice_in_dim(operand, update, start_index, axis: int, *,
                                allow_negative_indices: bool = True):
    """`dynamic_update_slice` in one dimension."""
    shape = typeof(operand).shape
    size_along("dynamic_update_slice_in_dim", shape, axis)
    starts = _starts_along(start_index, axis % len(shape), len(shape))
    return dynamic_update_slice(operand, update, starts,
                                allow_negative_indices=bool(allow_negative_indices))


def dynamic_update_index_in_dim(operand, update, index, axis: int, *,
                                allow_negative_indices: bool = True):
    """`operand` with `update` at `index` along `axis`; `update` may lack that dimension."""
    aval = typeof(operand)
    axis = canonical_axis(axis, aval.ndim)
    if typeof(update).ndim != aval.ndim:
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, _staged_start(index, allow_negative_indices), axis,
        allow_negative_indices=allow_negative_indices)


def _staged_start(index, allow_negative):
    """The index of a function that is staged for users, so that its sign is not known: a negative
    one that may not be negative is clamped there, not refused."""
    return index if allow_negative or not isinstance(index, int) else np.asarray(index)


def _starts_along(start_index, axis, ndim):
    zero = convert_scalar(0, start_index)
    return [start_index if d == axis else zero for d in range(ndim)]


# ----------------------------------------------------------------------------------------------
# Derivatives


def _dynamic_slice_jvp(primals, tangents, *, slice_sizes):
    x, *starts = primals
    bind = functools.partial(dynamic_slice_p.bind, slice_sizes=slice_sizes)
    t_out = bind(tangents[0], *starts)
    return bind(x, *starts), t_out


def _dynamic_update_slice_jvp(primals, tangents):
    out = dynamic_update_slice_p.bind(*primals)
    return out, dynamic_update_slice_p.bind(*map(instantiate_zeros, tangents[:2]), *primals[2:])


def _dynamic_slice_transpose(ct, x, *starts, slice_sizes):
    whole = zeros(cotangent_aval(x.aval))
    return [dynamic_update_slice_p.bind(whole, ct, *starts)] + [None] * len(starts)


def _dynamic_update_slice_transpose(ct, x, update, *starts):
    x_ct = update_ct = None
    update_aval = typeof(update)
    if is_undefined_primal(x):
        x_ct = dynamic_update_slice_p.bind(ct, zeros(update_aval), *starts)
    if is_undefined_primal(update):
        update_ct = dynamic_slice_p.bind(ct, *starts, slice_sizes=update_aval.shape)
    return [x_ct, update_ct] + [None] * len(starts)


primitive_jvps[dynamic_slice_p] = _dynamic_slice_jvp
primitive_jvps[dynamic_update_slice_p] = _dynamic_update_slice_jvp
primitive_transposes[dynamic_slice_p] = _dynamic_slice_transpose
primitive_transposes[dynamic_update_slice_p] = _dynamic_update_slice_transpose


# ----------------------------------------------------------------------------------------------
# Batching


def _shape(x):
    return typeof(x).shape


def _ndim(x):
    return typeof(x).ndim


def _batch_dynamic_slice(args, dims, *, slice_sizes):
    """Where the start is the same for all examples, slice all at once; then for each its own."""
    (x, *starts), (x_dim, *start_dims) = args, dims
    x = bdim_at_front(x, x_dim, batch_size(args, dims))
    own = _own_dimensions(x, slice_sizes, start_dims)
    x = _slice_in_others(x, slice_sizes, starts, start_dims, own)
    for d in own:
        start = _clamped_start(starts[d], _shape(x)[d + 1] - slice_sizes[d])
        x = _slice_at_own(x, start, slice_sizes[d], d + 1)
    return x, 0


def _own_dimensions(x, sizes, start_dims):
    """The dimensions in which each example has its own start, and room to move."""
    return [d for d, bdim in enumerate(start_dims)
            if bdim is not None and sizes[d] < _shape(x)[d + 1]]


def _slice_in_others(x, sizes, starts, start_dims, own):
    """The dynamic slice of `x`, batched in front, in all dimensions but the `own`."""
    sizes = [n if d in own else sizes[d] for d, n in enumerate(_shape(x)[1:])]
    if own and (_shape(x)[0], *sizes) == _shape(x):
        return x
    starts = _common_starts(starts, start_dims)
    return dynamic_slice_p.bind(x, *starts, slice_sizes=(_shape(x)[0], *sizes))


def _common_starts(starts, start_dims):
    """The starts, with zeros for the batch dimension in front, and where examples differ."""
    dtype = typeof(starts[0]).dtype if starts else np.dtype(np.int32)
    zero = dtype.type(0)
    return [zero, *[i if bdim is None else zero for i, bdim in zip(starts, start_dims)]]


def _clamped_start(start, highest):
    """A vector of starts as int32s in [0, highest]."""
    dtype = typeof(start).dtype
    highest = dtype.type(min(highest, np.iinfo(dtype).max))
    clamped = clamp(dtype.type(0), start, highest)
    return convert(clamped, np.dtype(np.int32))


def _slice_at_own(x, start, size, axis):
    """From each example `x[i]` (in front), `size` elements along `axis` from `start[i]` on.

    By halving: each round decides for every example whether its slice starts in the first or in
    the second half of the possible starts, and keeps what may still be needed. That is log(n)
    selections between two static slices, n + size * log(n) elements copied for each example. It is
    exact for all types and values (no 0 * inf), has a derivative, and needs no other primitive.
    Chapter 11 has one that copies only `size` elements, `gather`.
    """
    last = _shape(x)[axis] - size
    while last:
        step = (last + 1) // 2
        far = ge(start, np.int32(step))
        here = slice_in_dim(x, 0, size + last - step, 1, axis)
        there = slice_in_dim(x, step, size + last, 1, axis)
        x = select(broadcast_in_dim(far, _shape(here), (0,)), there, here)
        last -= step
        if last:
            start = select(far, sub(start, np.int32(step)), start)
    return x


def _batch_dynamic_update_slice(args, dims):
    """As `_dynamic_slice`: what all examples share is cut out, updated, and written back."""
    (x, update, *starts), (x_dim, update_dim, *start_dims) = args, dims
    size = batch_size(args, dims)
    x, update = bdim_at_front(x, x_dim, size), bdim_at_front(update, update_dim, size)
    sizes = _shape(update)[1:]
    own = _own_dimensions(x, sizes, start_dims)
    if own:
        part = _slice_in_others(x, sizes, starts, start_dims, own)
        update = _update_at_own(part, update, starts, own)
        if _shape(update) == _shape(x):
            return update, 0
    starts = _common_starts(starts, start_dims)
    return dynamic_update_slice_p.bind(x, update, *starts), 0


def _update_at_own(x, update, starts, own):
    """Each example `x[i]` with `update[i]` written at its own start, in the `own` dimensions.

    The update is moved to its place, and then a mask of this place selects it.
    """
    inside = np.True_
    for d in own:
        n, size = _shape(x)[d + 1], _shape(update)[d + 1]
        start = _clamped_start(starts[d], n - size)
        update = _moved_to(update, start, n, d + 1)
        inside = bitwise_and(inside, _between(start, size, _shape(x), d + 1))
    return select(inside, update, x)


def _moved_to(x, start, n, axis):
    """Each example `x[i]` among zeros, so that along `axis` it starts at `start[i]` of `n`."""
    size = _shape(x)[axis]
    config = [(0, 0, 0)] * _ndim(x)
    config[axis] = (n - size, n - size, 0)
    padded = pad(x, typeof(x).dtype.type(0), config)
    return _slice_at_own(padded, sub(np.int32(n - size), start), n, axis)


def _between(start, size, shape, axis):
    """An array of booleans: whether, along `axis`, it is among the `size` from `start[i]` on."""
    position = broadcasted_iota(np.int32, shape, axis)
    start = broadcast_in_dim(start, shape, (0,))
    end = add(start, np.int32(size))
    return bitwise_and(ge(position, start), lt(position, end))


primitive_batchers[dynamic_slice_p] = _batch_dynamic_slice
primitive_batchers[dynamic_update_slice_p] = _batch_dynamic_update_slice


# ----------------------------------------------------------------------------------------------
# Lowering


def _lower_dynamic_slice(ctx, x, *starts, slice_sizes):
    (out,) = ctx.avals_out
    if not starts:
        return x
    options = f", sizes = {ints_text(slice_sizes)}"
    return ctx.op(typed_text("dynamic_slice", [x, *starts], out, options), out)


def _lower_dynamic_update_slice(ctx, x, update, *starts):
    (out,) = ctx.avals_out
    if not starts:
        return update
    return ctx.op(typed_text("dynamic_update_slice", [x, update, *starts], out), out)


register_lowering(dynamic_slice_p, _lower_dynamic_slice)
register_lowering(dynamic_update_slice_p, _lower_dynamic_update_slice)
