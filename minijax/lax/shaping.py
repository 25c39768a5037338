"""Chapter 9: functions that rearrange elements without computing with them, and new arrays.

Most bind a starter, after they have checked and completed their arguments. `iota`, `copy` and
`rev` are primitives of this file.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks.primitives import dtype_kind
from ..checks.tracebacks import hide_frames
from ..compat.optional import may_be_asked
from ..core import dtypes
from ..core.array import Array, as_array
from ..core.avals import vary_like
from ..core.batching import defvectorized, primitive_batchers, shifted_dims
from ..core.boundary import public
from ..core.core import ArrayMethods, ShapedArray, Tracer, state, typeof
from ..core.extension import hooks, point
from ..core.forward import defjvp_zero, deflinear_jvp
from ..core.lowering import ints_text, register_lowering, tensor_type
from ..core.primitives import (
    NUMBER,
    broadcast_in_dim_p,
    canonical_axis,
    convert,
    ensure_array,
    make_primitive,
    reshape_p,
    squeeze_p,
    transpose_p,
)
from ..core.transposition import deftranspose
from ..runtime.placements import placements
from ..runtime.settings import check_vma
from .dtypes import check_and_canonicalize_user_dtype, of_any_size
from .out_shardings import bind_sharded, resharded
from .sizes import canonical_shape, integers, known_sizes

# ----------------------------------------------------------------------------------------------
# Repeating elements


@public
def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all the `shapes` broadcast to, by NumPy's rules.

    Raises:
      ValueError: they do not fit.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    shapes = tuple(map(known_sizes, shapes))
    for shape in shapes:
        if any(size < 0 for size in shape):
            raise TypeError("Only non-negative sizes can be broadcast, got the shape "
                            f"{shape} among {list(shapes)}.")
    ndim = max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes]
    sizes_of_dims = [{*sizes} - {1} for sizes in zip(*padded)]
    if any(len(sizes) > 1 for sizes in sizes_of_dims):
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}")
    return tuple(sizes.pop() if sizes else 1 for sizes in sizes_of_dims)


def broadcast_in_dim(operand, shape: Sequence[int], broadcast_dimensions: Sequence[int], *,
                     out_sharding=None):
    """`operand` repeated to `shape`.

    Args:
      operand: an array; each of its dimensions 1, or as the result's.
      shape: the result's shape.
      broadcast_dimensions: for each dimension of `operand`, the one of the result it goes to.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    Raises:
      TypeError: shapes and dimensions that do not fit.

    >>> lax.broadcast_in_dim(jnp.arange(2), (2, 3), (0,)).tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    try:
        shape = canonical_shape(shape)
        dims = integers("broadcast_in_dim: broadcast_dimensions", broadcast_dimensions)
        if len({*dims}) == len(dims) == typeof(operand).ndim and [*dims] != (order := sorted(dims)):
            operand, dims = transpose(operand, [dims.index(d) for d in order]), tuple(order)
        same = typeof(operand).shape == shape and dims == tuple(range(len(shape)))
        if same and not _foreign(operand) and out_sharding is None:
            return operand
        if out_sharding is not None:
            return bind_sharded(broadcast_in_dim_p, operand, out_sharding=out_sharding, shape=shape,
                                broadcast_dimensions=dims)
        return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims)
    except Exception as error:
        hide_frames(error)
        raise


def _foreign(x):
    return not isinstance(x, ArrayMethods)


@public
def broadcast(operand, sizes: Sequence[int], *, out_sharding=None):
    """`operand` repeated along new leading dimensions of these sizes."""
    sizes = canonical_shape(sizes)
    if not sizes and out_sharding is None:
        return ensure_array(operand)
    ndim = typeof(operand).ndim
    dims = range(len(sizes), len(sizes) + ndim)
    return broadcast_in_dim(operand, (*sizes, *typeof(operand).shape), dims,
                            out_sharding=out_sharding)


def broadcast_to(x, shape: tuple[int, ...], *, out_sharding=None):
    """`x` repeated to `shape`, aligned at the last dimension, as NumPy does.

    Raises:
      ValueError: the shape of `x` does not broadcast to this one.
    """
    own = typeof(x).shape
    if own == shape and out_sharding is None and not _foreign(x):
        return x
    ndim = len(own)
    if ndim > len(shape):
        raise ValueError("Cannot broadcast to shape with fewer dimensions: "
                         f"arr_shape={own} shape={tuple(shape)}")
    if any(n not in (1, m) for n, m in zip(own[::-1], shape[::-1])):
        aval = typeof(x)
        wanted = ShapedArray(shape, aval.dtype)
        raise ValueError("Incompatible types for broadcasting: input type="
                         f"{aval.str_short(short_dtypes=False)} and requested type="
                         f"{wanted.str_short(short_dtypes=False)}")
    return broadcast_in_dim(x, shape, range(len(shape) - ndim, len(shape)),
                            out_sharding=out_sharding)


@public
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
    try:
        dimensions = integers("expand_dims: dimensions", dimensions)
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
    except Exception as error:
        hide_frames(error)
        raise


# ----------------------------------------------------------------------------------------------
# The same elements in another shape or order


def reshape(operand, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, *,
            out_sharding=None):
    """The elements of `operand`, in row-major order, in another shape.

    Args:
      operand: an array.
      new_sizes: the new shape, with as many elements.
      dimensions: the order in which the dimensions of `operand` are read, if not the usual.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    Raises:
      TypeError: another number of elements, or a negative size.
    """
    try:
        new_sizes = known_sizes(new_sizes)
        aval = typeof(operand)
        if dimensions is not None:
            dimensions = integers("reshape: dimensions", dimensions)
            if sorted(dimensions) != list(range(aval.ndim)):
                raise TypeError("reshape dimensions must be a permutation of operand dimensions, "
                                f"got dimensions {dimensions} for operand shape {aval.shape}.")
            if dimensions == tuple(range(aval.ndim)):
                dimensions = None
        same = aval.shape == new_sizes != () and dimensions is None and not _foreign(operand)
        if same and out_sharding is None:
            return operand
        if out_sharding is not None:
            return bind_sharded(reshape_p, operand, out_sharding=out_sharding, new_sizes=new_sizes,
                                dimensions=dimensions)
        return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dimensions)
    except Exception as error:
        hide_frames(error)
        raise


@public
def collapse(operand, start_dimension: int, stop_dimension: int | None = None):
    """`operand` with the dimensions from `start_dimension` up to `stop_dimension` made one."""
    shape = typeof(operand).shape
    for name, place in (("start", start_dimension), ("stop", stop_dimension)):
        if place is not None and not hasattr(place, "__index__"):
            raise TypeError(f"collapse: {name}_dimension must be an integer, got {place!r}.")
    low, high, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if low > high:
        raise ValueError(f"collapse: start_dimension {start_dimension} comes after stop_dimension "
                         f"{stop_dimension}, for an array of shape {shape}.")
    return reshape(operand, (*shape[:low], math.prod(shape[low:high]), *shape[high:]))


def squeeze(array, dimensions: Sequence[int]):
    """`array` without these dimensions, which must be of size 1.

    Raises:
      ValueError: a dimension of another size, a repeated one, or one out of bounds.
    """
    try:
        ndim = typeof(array).ndim
        given = integers("squeeze: dimensions", dimensions)
        dimensions = tuple(sorted(canonical_axis(d, ndim) for d in given))
        if len(set(dimensions)) != len(dimensions):
            raise ValueError(f"dimensions are not unique: {dimensions}")
        return squeeze_p.bind(array, dimensions=dimensions) if dimensions else ensure_array(array)
    except Exception as error:
        hide_frames(error)
        raise


def transpose(operand, permutation: Sequence[int]):
    """`operand` with dimension `i` of the result its dimension `permutation[i]`.

    Raises:
      TypeError: `permutation` does not list each of the operand's dimensions once.
    """
    try:
        permutation = integers("transpose: permutation", permutation)
        if permutation == tuple(range(typeof(operand).ndim)) and not _foreign(operand):
            return operand
        return transpose_p.bind(operand, permutation=permutation)
    except Exception as error:
        hide_frames(error)
        raise


# ----------------------------------------------------------------------------------------------
# iota, and arrays of one value


def _iota_type(*, dtype, shape, dimension):
    dtype_kind("iota", ShapedArray((), dtype), NUMBER)
    if not 0 <= dimension < len(shape):
        raise ValueError("iota dimension must be between 0 and len(shape), got "
                         f"dimension={dimension} for shape {shape}")
    return ShapedArray(shape, dtype)


def _iota(*, dtype, shape, dimension):
    numbers = _counted(shape[dimension], dtype)
    if len(shape) == 1:
        return numbers
    out = np.empty(shape, dtype)  # faster than `np.broadcast_to`
    out[...] = numbers.reshape([n if d == dimension else 1 for d, n in enumerate(shape)])
    return out


def _lower_iota(ctx, *, dtype, shape, dimension):
    (out,) = ctx.avals_out
    return ctx.op(f"stablehlo.iota dim = {dimension} : {tensor_type(out)}", out)


_BLOCK = 2**16


def _counted(size, dtype):
    """0, 1, … in a dtype that may wrap. Blocks save the memory of another array for conversion."""
    if size <= _BLOCK or (dtype == np.int32 and size < 2**31):
        return np.arange(size, dtype=np.int32).astype(dtype, copy=False)
    numbers = np.empty(size, dtype)
    for start in range(0, size, _BLOCK):
        numbers[start : start + _BLOCK] = np.arange(start, min(start + _BLOCK, size))
    return numbers


# It has no operands, so it needs neither a batching nor a transpose rule.
iota_p = make_primitive("iota", _iota_type, _iota)
may_be_asked(iota_p, "sharding")
defjvp_zero(iota_p)
register_lowering(iota_p, _lower_iota)


@public
def broadcasted_iota(dtype, shape: Sequence[int], dimension: int, *, out_sharding=None):
    """An array of `shape` whose elements are their own index along `dimension`.

    Raises:
      TypeError: `dtype` is not numeric.
    """
    dtype = check_and_canonicalize_user_dtype(dtype)
    shape = canonical_shape(shape)
    params = {"dtype": dtype, "shape": shape, "dimension": operator.index(dimension)}
    if out_sharding is not None:
        return bind_sharded(iota_p, out_sharding=out_sharding, **params)
    return iota_p.bind(**params)


@public
def iota(dtype, size: int):
    """The vector 0, 1, …, `size` - 1 of this element type."""
    return broadcasted_iota(dtype, (size,), 0)


def full(shape: Sequence[int], fill_value, dtype=None, *, sharding=None):
    """An array of `shape` with the scalar `fill_value` everywhere.

    Args:
      shape: the result's shape.
      fill_value: a scalar.
      dtype: the element type; by default that of `fill_value`.
      sharding: a sharding or a device, where the result is put. A sharding over an abstract mesh
        becomes part of its type (chapter 14).

    Raises:
      TypeError: `fill_value` is no scalar.
    """
    try:
        if dtype is not None:
            dtype = check_and_canonicalize_user_dtype(dtype)
            fill_value = of_any_size(fill_value, dtype)
        aval = typeof(fill_value)
        if aval.ndim:
            raise TypeError("lax.full must be called with scalar fill_value; "
                            f"got shape {aval.shape}.")
        weak = dtype is None and aval.weak_type
        dtype = aval.dtype if dtype is None else dtype
        if isinstance(dtype, dtypes.ExtendedDType):
            out = dtype.full(tuple(shape), fill_value)
            return out if sharding is None else on_device(out, sharding)
        value = convert(fill_value, dtype, weak)
        return broadcast(value, shape) if sharding is None else _filled(value, shape, sharding)
    except Exception as error:
        hide_frames(error)
        raise


def _filled(value, shape, sharding):
    """An array with a scalar everywhere, where the user wants it."""
    return placements().filled(value, canonical_shape(shape), sharding)


def _scalar_fill(value):
    if typeof(value).shape:
        raise TypeError("full_like: fill_value must be a scalar, got an array of shape "
                        f"{typeof(value).shape}.")
    return value


@point
def watch_transfer(self, x: Any, where: Any, moved: bool) -> None:
    """Called with a new array, which is on the device or has the sharding that the user named, if
    that is not `None`; or, if `moved`, with an array that is about to be copied there."""


def on_device(x: Array, device: Any, like: Any = None, out_sharding: Any = None,
              constrained: bool = False) -> Array:
    """A function's new array on the `device` that the user named, or with this sharding in its
    type. If both are `None`, it is placed like the array `like`, or on the default device."""
    if out_sharding is not None:
        if device is not None:
            raise ValueError("Give either `device` or `out_sharding`, not both; got "
                             f"device={device} and out_sharding={out_sharding}.")
        return resharded(x, out_sharding)
    x = placements().new(x, device, like, constrained)
    for watch_transfer in hooks.watch_transfer:
        watch_transfer(x, device, False)
    return x


def converted_on(x: Array, device: Any, out_sharding: Any = None, like: Any = None) -> Array:
    """As `on_device`, of an array that was made of another one: while a function is traced, it is
    constrained to a sharding."""
    constrained = isinstance(x, Tracer) or state.trace.staging
    return on_device(x, device, like, out_sharding, constrained)


@public
def full_like(x, fill_value, dtype=None, shape: Sequence[int] | None = None, sharding=None):
    """`full` with the shape and the dtype of `x`, unless given; and with its sharding, unless
    `sharding` or another shape is given."""
    x = 0 if type(x) is int else x  # its value is not wanted, and may be too large
    aval = typeof(x) if isinstance(x, np.ndarray) or hasattr(x, "aval") or not hasattr(
        x, "shape") else ShapedArray(
            x.shape, dtypes.canonicalize_dtype(x.dtype, True), False, _manual(x))
    weak = dtype is None and aval.weak_type
    dtype = aval.dtype if dtype is None else check_and_canonicalize_user_dtype(dtype)
    shape = aval.shape if shape is None else shape
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.full(tuple(shape), fill_value)
    value = _scalar_fill(convert(of_any_size(fill_value, dtype), dtype, weak))
    if sharding is not None:
        return _filled(value, shape, sharding)
    filled = (broadcast(value, shape) if aval.placement is None else
              _filled_like(value, canonical_shape(shape), aval))
    placed = isinstance(filled, Array) and type(x) is not Array and (
        isinstance(x, Array) or getattr(x, "sharding", None) is not None)
    return on_device(filled, None, like=x) if placed else filled


def _manual(x):
    """What types of arrays like the struct `x` say of manual axes, inside `shard_map`."""
    said = check_vma.value and getattr(x, "manual_axis_type", None) is not None
    return x.placement if said else None


def _filled_like(value, shape, aval):
    """An array with a scalar everywhere, with the placement of a type."""
    value = placements().filled(value, shape, None, aval)
    return vary_like(value if shape == typeof(value).shape else broadcast(value, shape), aval)


# ----------------------------------------------------------------------------------------------
# copy: the same elements in an array of its own

def _copied(x):
    """Another array with its own memory: the original may be donated or deleted."""
    x = as_array(x)
    return Array(x._numpy().copy(), x.aval)


copy_p = make_primitive("copy", lambda x: x)
copy_p.def_impl(_copied)
deflinear_jvp(copy_p)
deftranspose(copy_p, lambda ct, x: copy_p.bind(ct))
defvectorized(copy_p)
register_lowering(copy_p, lambda ctx, x: x)


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


@public
def rev(operand, dimensions: Sequence[int]):
    """`operand` with its elements in reverse order along these dimensions.

    Raises:
      TypeError: a repeated dimension, or one out of bounds.
    """
    return rev_p.bind(operand, dimensions=integers("rev: dimensions", dimensions))
