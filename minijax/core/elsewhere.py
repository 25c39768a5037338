"""Chapter 1: primitives that the operators use still; they go to `lax/`."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence

import numpy as np

from ..checks.primitives import known_sizes as known_sizes
from . import dtypes
from .array import def_numpy
from .core import ShapedArray, typeof
from .primitives import (
    ANY,
    BOOL_OR_INT,
    INEXACT,
    NUMBER,
    binary,
    broadcast_in_dim,
    broadcast_in_dim_p,
    canonical_axis,
    make_primitive,
    slice,
    squeeze,
    unary,
)

INTEGER = (np.integer,)
COMPLEX = (np.complexfloating,)
SIGNED = (np.floating, np.complexfloating, np.signedinteger)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all the `shapes` broadcast to, by NumPy's rules.

    Raises:
      ValueError: they do not fit.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    ndim = builtins.max(map(len, shapes), default=0)
    padded = [(1,) * (ndim - len(shape)) + tuple(shape) for shape in shapes]
    sizes_of_dims = [{*sizes} - {1} for sizes in zip(*padded)]
    if any(len(sizes) > 1 for sizes in sizes_of_dims):
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}")
    return tuple(operator.index(sizes.pop()) if sizes else 1 for sizes in sizes_of_dims)


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


def real_part_dtype(dtype):
    return np.dtype({"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype))


def _pow(x, y):
    return np.power(x, y.astype(x.dtype))


def shift(ufunc, outside):
    """A shift that, by the width or more, gives `outside` (`None`: the sign, repeated)."""

    def rule(x, y):
        bits = x.dtype.itemsize * 8
        in_range = (y >= 0) & (y < bits)
        shifted = ufunc(x, np.where(in_range, y, bits - 1).astype(x.dtype))
        return shifted if outside is None else np.where(in_range, shifted, x.dtype.type(outside))

    return rule


def _shift_logical(x, y):
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return shift(np.right_shift, 0)(x.astype(unsigned), y.astype(unsigned)).astype(x.dtype)


abs_p, abs_ = unary("abs", SIGNED, np.abs, real_part_dtype)
real_p, real = unary("real", COMPLEX, np.real, real_part_dtype)
imag_p, imag = unary("imag", COMPLEX, np.imag, real_part_dtype)
pow_p, pow = binary("pow", [INEXACT, NUMBER], _pow)
min_p, min = binary("min", ANY, np.minimum)
xor_p, bitwise_xor = binary("xor", BOOL_OR_INT, np.bitwise_xor)
shift_right_logical_p, shift_right_logical = binary(
    "shift_right_logical", INTEGER, _shift_logical)


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
    return piece if keepdims else squeeze(piece, (canonical_axis(axis, typeof(operand).ndim),))


def check_starts(name, ndim, starts):
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
    check_starts("dynamic_slice", x.ndim, starts)
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


def box(shape, starts, sizes):
    """The slices of a box of these sizes, moved inside: indices out of bounds are clamped."""
    clamped = (builtins.min(builtins.max(int(i), 0), n - size)
               for i, n, size in zip(starts, shape, sizes))
    return tuple(builtins.slice(i, i + size) for i, size in zip(clamped, sizes))


dynamic_slice_p = make_primitive("dynamic_slice", _dynamic_slice_shape)
def_numpy(dynamic_slice_p,
          lambda x, *starts, slice_sizes: x[box(x.shape, starts, slice_sizes)])
