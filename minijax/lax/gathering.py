"""Chapter 11: gather reads windows of an array, at places that are values."""

from collections.abc import Sequence
from numbers import Number

import numpy as np

from ..core import dtypes
from ..core.array import def_numpy
from ..core.batching import moveaxis, primitive_batchers
from ..core.boundary import public
from ..core.core import ArrayMethods, ShapedArray, typeof
from ..core.dtypes import ExtendedDType
from ..core.forward import defjvp
from ..core.lowering import register_lowering, tensor_type
from ..core.primitives import convert, make_primitive
from . import bitwise, elementwise as prim, windows
from .cutting import concatenate
from .families import lower_fun
from .reductions import reduce_and
from .selection import select
from .shaping import broadcast_in_dim, expand_dims, full_like
from .sizes import canonical_shape


def _check_offset_dims(dims, out_ndim: int) -> None:
    windows.check_dims("gather", "offset_dims", dims, max((out_ndim, *[d + 1 for d in dims])))
    for i, d in enumerate(dims):
        if not 0 <= d < out_ndim:
            raise TypeError(f"Offset dimension {i} in gather op is out of bounds; got {d}, expected"
                            f" a number in [0, {out_ndim}), the dimensions of the result.")


def _check_slice_sizes(sizes, operand, indices, numbers, kept) -> None:
    if len(sizes) != operand.ndim:
        raise TypeError("Gather op must have one slice size for every input dimension; got "
                        f"slice_sizes={sizes} for operand shape {operand.shape}.")
    if len(kept) != len(numbers.offset_dims):
        raise TypeError("All components of the offset index in a gather op must either be a offset "
                        f"dimension or explicitly collapsed/batching; got {numbers} for operand "
                        f"shape {operand.shape}.")
    for d, (size, n) in enumerate(zip(sizes, operand.shape)):
        if 0 not in indices.shape and not 0 <= size <= n:
            raise TypeError(f"Slice size at index {d} in gather op is out of range, got {size} for "
                            f"operand shape {operand.shape}.")
    _check_bounds(sizes, numbers.collapsed_slice_dims, (1,), "collapse slice dims with bound 1")
    _check_bounds(sizes, numbers.operand_batching_dims, (0, 1),
                  "have operand batching dims with bound 0/1")


def _check_bounds(sizes, dims, allowed: tuple, what: str) -> None:
    for i, d in enumerate(dims):
        if sizes[d] not in allowed:
            raise TypeError(f"Gather op can only {what}, but bound is {sizes[d]} for index {d} at "
                            f"position {i}.")


def _gather_shape(operand, indices, *, dimension_numbers, slice_sizes, **params):
    numbers = dimension_numbers
    out_ndim = len(numbers.offset_dims) + indices.ndim - 1
    windows.check_indices("gather", indices)
    _check_offset_dims(numbers.offset_dims, out_ndim)
    windows.check_index_map("gather", operand, indices, numbers)
    windows.check_other_dims("gather", operand, indices, numbers)
    kept = windows.window_dims(numbers, operand.ndim)
    _check_slice_sizes(slice_sizes, operand, indices, numbers, kept)
    sizes, index_sizes = iter(slice_sizes[d] for d in kept), iter(indices.shape)
    shape = [next(sizes if d in numbers.offset_dims else index_sizes) for d in range(out_ndim)]
    return ShapedArray(shape, operand.dtype, operand.weak_type)


def _gather(x, indices, *, dimension_numbers, slice_sizes, mode, fill_value, **params):
    numbers, n_batch = dimension_numbers, indices.ndim - 1
    if _takes_slices(x, indices, numbers, slice_sizes, mode):
        return x.take(indices[..., 0], axis=numbers.start_index_map[0], mode="clip")
    place = windows.locate(x.shape, indices, numbers, slice_sizes)
    out = x.transpose(place.order)
    if len(place.arrays) == 1:
        out = out.take(place.arrays[0], axis=0)
    elif place.arrays:
        out = out[tuple(place.arrays)]
    else:
        out = np.broadcast_to(out, place.inside.shape + out.shape)
    if mode is windows.FILL_OR_DROP and not place.inside.all():
        inside = place.inside.reshape(place.inside.shape + (1,) * len(place.window))
        out = np.where(inside, out, _element(fill_value, x.dtype))
    order = windows.result_order(numbers, place.window, n_batch)
    return out if order == list(range(out.ndim)) else out.transpose(order)


class FillOfWords(int):
    """A fill value for keys: each of their words of 32 bits is this number."""


def _element(fill_value, dtype):
    """The fill value as NumPy stores an element."""
    if isinstance(fill_value, FillOfWords):
        return np.full(dtype.itemsize // 4, fill_value, np.uint32).view(dtype)[0]
    return np.asarray(fill_value).astype(dtype)


def _takes_slices(x, indices, numbers, sizes, mode) -> bool:
    """Whether NumPy's `take` does it: whole slices along one axis, put in that axis's place."""
    if len(numbers.start_index_map) != 1 or numbers.operand_batching_dims or \
            numbers.collapsed_slice_dims != numbers.start_index_map or not x.size:
        return False
    (axis,), n_batch = numbers.start_index_map, indices.ndim - 1
    in_place = all(d == i + (n_batch if i >= axis else 0)
                   for i, d in enumerate(numbers.offset_dims))
    whole = all(size == n or d == axis for d, (size, n) in enumerate(zip(sizes, x.shape)))
    return in_place and whole and (mode is not windows.FILL_OR_DROP or not indices.size or
                                   (indices.min() >= 0 and indices.max() < x.shape[axis]))


gather_p = make_primitive("gather", _gather_shape)
def_numpy(gather_p, _gather)


@public
def gather(operand, start_indices, dimension_numbers: windows.GatherDimensionNumbers,
           slice_sizes: Sequence[int], *, unique_indices: bool = False,
           indices_are_sorted: bool = False, mode: str | windows.GatherScatterMode | None = None,
           fill_value=None):
    """Windows of `operand`, one for each index vector.

    Args:
      operand: an array.
      start_indices: integers; along the last dimension, the place of one window.
      dimension_numbers: which dimensions correspond.
      slice_sizes: the windows' size in each dimension of `operand`.
      unique_indices, indices_are_sorted: promises, which may make it faster.
      mode: for windows outside of the operand; by default "promise_in_bounds".
      fill_value: what mode "fill" fills in; by default NaN, or the integers' lowest (unsigned:
        highest) value. For keys, it is each word of a key.

    Raises:
      TypeError: shapes and dimension numbers that do not fit.

    >>> numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    >>> lax.gather(jnp.eye(3), jnp.array([[2], [0]]), numbers, (1, 3)).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    mode = windows.PROMISE_IN_BOUNDS if mode is None else windows.GatherScatterMode.from_any(mode)
    if mode is windows.GatherScatterMode.ONE_HOT:
        raise AssertionError('gather has no mode "one_hot": jax.numpy.take_along_axis has it.')
    if mode is not windows.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = default_fill_value(typeof(operand).dtype)
    else:
        fill_value = known_fill_value(fill_value, typeof(operand).dtype)
    if fill_value is not None and isinstance(typeof(operand).dtype, ExtendedDType):
        fill_value = FillOfWords(fill_value)
    return gather_p.bind(
        operand, start_indices, dimension_numbers=windows.canonical(dimension_numbers),
        slice_sizes=canonical_shape(slice_sizes), unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted), mode=mode, fill_value=fill_value)


@public
def index_take(src, idxs: Sequence, axes: Sequence[int]):
    """The slices of `src` at given places along some axes; indices wrap around.

    Args:
      src: an array.
      idxs: vectors of integers of one length, one for each of `axes`.
      axes: dimensions of `src`.

    >>> lax.index_take(jnp.arange(6).reshape(2, 3), [jnp.array([0, 1]), jnp.array([2, 0])], (0, 1))
    Array([2, 3], dtype=int32)
    """
    shape = typeof(src).shape
    indices = concatenate([expand_dims(i, (1,)) for i in idxs], 1)
    indices = indices % np.array([[shape[d] for d in axes]])
    sizes = [1 if d in axes else n for d, n in enumerate(shape)]
    numbers = windows.GatherDimensionNumbers(
        tuple(range(1, len(shape) - len(axes) + 1)), tuple(axes), tuple(axes))
    return gather(src, indices, numbers, sizes)


def known_fill_value(fill_value, dtype):
    """The fill value of a user as a parameter: a Python or NumPy number that `dtype` can hold."""
    if fill_value is None:
        return None
    if np.ndim(fill_value):
        raise ValueError(f"fill_value must be a scalar, got an array of shape "
                         f"{np.shape(fill_value)}.")
    if isinstance(fill_value, (ArrayMethods, np.ndarray)):
        fill_value = fill_value.item()
    if not isinstance(fill_value, (Number, np.generic)) or isinstance(fill_value, (str, bytes)):
        raise TypeError(f"fill_value must be a number, got {fill_value!r}.")
    if np.iscomplexobj(fill_value) and not dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(f"an array of dtype {dtype} cannot hold fill_value={fill_value!r}: pass "
                        "a real number, or make the array complex first.")
    return fill_value


def default_fill_value(dtype):
    """The value that mode "fill" reads outside of an array."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.signedinteger):
        return int(dtypes.iinfo(dtype).min)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return int(dtypes.iinfo(dtype).max)
    if isinstance(dtype, ExtendedDType):
        return int(np.iinfo(np.uint32).max)
    return True


# ----------------------------------------------------------------------------------------------
# Differentiation (the transpose adds up what was read: see `scattering.py`) and batching


def _gather_jvp(t, operand, indices, *, fill_value, **params):
    return gather(t, indices, **params, fill_value=0)


defjvp(gather_p, _gather_jvp, None)


def gather_batching(args, dims, *, dimension_numbers, slice_sizes, unique_indices,
                     indices_are_sorted, **params):
    """The examples are one more window dimension, one more index dimension, or a pair of both."""
    (x, indices), (x_dim, indices_dim) = args, dims
    offset, collapsed, index_map, batching, index_batching = dimension_numbers
    if x_dim is not None:
        x = moveaxis(x, x_dim, 0)
        collapsed, index_map = windows.shifted(collapsed), windows.shifted(index_map)
        batching = windows.shifted(batching)
        n = typeof(x).shape[0]
    if indices_dim is not None:
        indices = moveaxis(indices, indices_dim, 0)
        index_batching = windows.shifted(index_batching)
    if indices_dim is None:
        offset, slice_sizes = windows.shifted(offset, (0,)), (n, *slice_sizes)
    elif x_dim is None:
        offset = windows.shifted(offset)
        unique_indices = indices_are_sorted = False
    else:
        offset, slice_sizes = windows.shifted(offset), (min(n, 1), *slice_sizes)
        batching, index_batching = (0, *batching), (0, *index_batching)
    numbers = windows.GatherDimensionNumbers(offset, collapsed, index_map, batching, index_batching)
    return gather(x, indices, numbers, slice_sizes, unique_indices=unique_indices,
                  indices_are_sorted=indices_are_sorted, **params), 0


primitive_batchers[gather_p] = gather_batching


# ----------------------------------------------------------------------------------------------
# Lowering


def _lower_gather(ctx, x, indices, *, mode, **params):
    rule = _filled if mode is windows.FILL_OR_DROP else _lower_gather_inside
    return rule(ctx, x, indices, mode=mode, **params)


def gather_numbers(indices, dimension_numbers) -> str:
    """The attribute of the operation that has these numbers."""
    return windows.attribute("gather", **dimension_numbers._asdict(),
                             index_vector_dim=indices.aval.ndim - 1)


def _lower_gather_inside(ctx, x, indices, *, dimension_numbers, slice_sizes, indices_are_sorted,
                         **params):
    (out,) = ctx.avals_out
    if 0 in out.shape:
        return ctx.constant(out.dtype.type(0), out)
    numbers = gather_numbers(indices, dimension_numbers)
    sizes = ", ".join(map(str, slice_sizes))
    sizes = f"array<i64: {sizes}>" if slice_sizes else "array<i64>"
    return ctx.op(f'"stablehlo.gather"({x.name}, {indices.name}) <{{dimension_numbers = {numbers}, '
                  f"indices_are_sorted = {windows.flag(indices_are_sorted)}, "
                  f"slice_sizes = {sizes}}}> : ({x.type}, {indices.type}) -> {tensor_type(out)}",
                  out)


def _gather_filled(x, indices, *, dimension_numbers, slice_sizes, unique_indices,
                   indices_are_sorted, mode, fill_value):
    """A gather in mode "fill": of each window, moved inside, and the fill value, the right one."""
    numbers, shape = dimension_numbers, typeof(x).shape
    indices = convert(indices, windows.index_dtype(shape))
    dtype, n_batch = typeof(indices).dtype, typeof(indices).ndim - 1
    limits = [shape[d] - slice_sizes[d] for d in numbers.start_index_map]
    limits = windows.sizes_vector(limits, dtype)
    limits = broadcast_in_dim(limits, typeof(indices).shape, (n_batch,))
    inside = bitwise.bitwise_and(prim.ge(indices, dtype.type(0)), prim.le(indices, limits))
    inside = reduce_and(inside, (n_batch,))
    out = gather(x, indices, numbers, slice_sizes, indices_are_sorted=indices_are_sorted)
    rest = [d for d in range(typeof(out).ndim) if d not in numbers.offset_dims]
    inside = broadcast_in_dim(inside, typeof(out).shape, rest)
    dtype = typeof(out).dtype  # a uint32's default is no Python int32
    words = isinstance(dtype, ExtendedDType)
    fill_value = np.asarray(fill_value).astype(np.uint32 if words else dtype)
    return select(inside, out, full_like(out, fill_value))


_filled = lower_fun(_gather_filled)


register_lowering(gather_p, _lower_gather)
