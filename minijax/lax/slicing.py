"""Chapter 9: boxes of an array, of known size, at a place that may be traced."""

import builtins
import functools
from collections.abc import Sequence

import numpy as np

from ..core import dtypes
from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import ShapedArray, typeof
from ..core.forward import instantiate_zeros, primitive_jvps, zeros
from ..core.lowering import Constant, Module, emit, ints_text, register_lowering, typed_text
from ..core.primitives import (
    add,
    all_weak,
    broadcast_in_dim,
    canonical_axis,
    convert,
    expand_dims,
    lt,
    make_primitive,
)
from ..core.transposition import is_undefined_primal, primitive_transposes
from . import scattering
from .cutting import concatenate, slice_in_dim
from .dynamic_slices import ds
from .gathering import gather_batching
from .out_shardings import cotangent_aval
from .selection import select
from .shaping import squeeze
from .sizes import known_sizes, size_along
from .windows import CLIP, GatherDimensionNumbers, ScatterDimensionNumbers

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


@public
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


@public
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


@public
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


@public
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
    if x.accum_at(tuple(map(ds, starts, slice_sizes)), ct):
        return [None] * (1 + len(starts))
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


def _batched_starts(starts, dims):
    """The starts of a dynamic slice, one by one, as gather's indices; and their batch dimension."""
    size = next((typeof(i).shape[0] for i, d in zip(starts, dims) if d is not None), None)
    if not starts:
        return np.zeros((0,), np.int32), None
    if size is None:
        return concatenate([broadcast_in_dim(i, (1,), ()) for i in starts], 0), None
    columns = [broadcast_in_dim(i, (size, 1), () if d is None else (0,))
               for i, d in zip(starts, dims)]
    return concatenate(columns, 1), 0


def _batch_dynamic_slice(args, dims, *, slice_sizes):
    """A dynamic slice is a gather of one window, and many are a gather of many."""
    (x, *starts), (x_dim, *start_dims) = args, dims
    indices, indices_dim = _batched_starts(starts, start_dims)
    every = tuple(range(len(slice_sizes)))
    return gather_batching(
        (x, indices), (x_dim, indices_dim), slice_sizes=slice_sizes, unique_indices=True,
        dimension_numbers=GatherDimensionNumbers(every, (), every), indices_are_sorted=True,
        mode=CLIP, fill_value=None)


def _batch_dynamic_update_slice(args, dims):
    """Updating many examples is a scatter of one window into each."""
    (x, update, *starts), (x_dim, update_dim, *start_dims) = args, dims
    indices, indices_dim = _batched_starts(starts, start_dims)
    every = tuple(range(len(starts)))
    return scattering.scatter_batching(
        scattering.scatter_p, (x, indices, update), (x_dim, indices_dim, update_dim),
        dimension_numbers=ScatterDimensionNumbers(every, (), every), indices_are_sorted=True,
        unique_indices=True, mode=CLIP, update_jaxpr=None, update_consts=())


primitive_batchers[dynamic_slice_p] = _batch_dynamic_slice
primitive_batchers[dynamic_update_slice_p] = _batch_dynamic_update_slice


# ----------------------------------------------------------------------------------------------
# Lowering


def _within(ctx, starts, shape, sizes):
    """The starts, moved into bounds. StableHLO moves them anyway, but XLA does not where it joins
    two slices (openxla/xla#49121), or updates an array that is sharded (openxla/xla#49118)."""
    for start, size, length in zip(starts, sizes, shape):
        last = builtins.min(length - size, np.iinfo(start.aval.dtype).max)
        if type(start) is Constant:
            yield ctx.constant(np.clip(start.value, 0, last), start.aval)
        else:
            low, high = [ctx.constant(bound, start.aval) for bound in (0, last)]
            yield emit(ctx, "clamp", low, start, high)


def _lower_dynamic_slice(ctx, x, *starts, slice_sizes):
    (out,) = ctx.avals_out
    if not starts:
        return x
    starts = _within(ctx, starts, x.aval.shape, slice_sizes)
    options = f", sizes = {ints_text(slice_sizes)}"
    return ctx.op(typed_text("dynamic_slice", [x, *starts], out, options), out)


def _lower_dynamic_update_slice(ctx, x, update, *starts):
    (out,) = ctx.avals_out
    if not starts:
        return update
    if ctx.module.attributes != Module.attributes:  # on several devices
        starts = _within(ctx, starts, x.aval.shape, update.aval.shape)
    return ctx.op(typed_text("dynamic_update_slice", [x, update, *starts], out), out)


register_lowering(dynamic_slice_p, _lower_dynamic_slice)
register_lowering(dynamic_update_slice_p, _lower_dynamic_update_slice)
