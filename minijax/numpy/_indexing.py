"""Chapter 12: functions that take elements at given places, or say where elements are."""

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.primitives import convert, div_p
from ..lax.advanced_indexing import from_front
from ..lax.dtypes import default_int_dtype
from ..lax.elementwise import ne, rem_p
from ..lax.gathering import gather
from ..lax.operators import less
from ..lax.precision import Precision
from ..lax.shaping import broadcast_shapes, expand_dims, full, full_like, iota, reshape, squeeze
from ..lax.windows import (
    CLIP,
    FILL_OR_DROP,
    PROMISE_IN_BOUNDS,
    GatherDimensionNumbers,
    GatherScatterMode,
    index_dtype,
    size_value,
)
from ._arguments import (
    canonical_axis,
    check_arraylike,
    check_no_out,
    constant_like,
    ensure_arraylike,
    ensure_arraylikes,
)
from ._arithmetic import mod
from ._einsum import einsum
from ._reductions import sum
from ._running import cumsum
from ._select import _where
from ._shaping import moveaxis, ravel
from ._staged import staged


@public
def take(a, indices, axis: int | None = None, out=None, mode: str | None = None,
         unique_indices: bool = False, indices_are_sorted: bool = False, fill_value=None):
    """The elements of `a` at `indices` along an axis.

    Args:
      a: an array.
      indices: integers; negative ones count from the end, but not in mode "clip".
      axis: an int; by default `a` is made flat first.
      mode: for indices out of bounds: "fill" (the default), "clip" or "wrap".
      unique_indices, indices_are_sorted: promises, which may make it faster.
      fill_value: for mode "fill"; by default NaN, or the integers' lowest value.

    Raises:
      IndexError: the axis is empty.
      ValueError: an unknown mode, or no such axis.

    >>> take(jnp.array([5, 6, 7]), jnp.array([2, 0])).tolist()
    [7, 5]
    """
    return _take(a, indices, axis, out, mode, unique_indices, indices_are_sorted, fill_value)


@staged(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"),
        eager=False)
def _take(a, indices, axis=None, out=None, mode=None, unique_indices=False,
          indices_are_sorted=False, fill_value=None):
    check_no_out("take", out)
    a, indices = ensure_arraylikes("take", a, indices)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    size, rest = a.shape[axis], (a.shape[:axis], a.shape[axis + 1:])
    narrow = indices.dtype.kind in "iu" and indices.dtype.itemsize < 4
    if narrow and size > np.iinfo(indices.dtype).max:
        indices = convert(indices, np.dtype("int32"))
    indices, gather_mode = _take_mode(indices, size, mode)
    if not size:
        if indices.size:
            raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
        return a
    if not indices.size:
        return full_like(a, 0, shape=(*rest[0], *indices.shape, *rest[1]))
    behind = range(axis + indices.ndim, a.ndim + indices.ndim - 1)
    numbers = GatherDimensionNumbers((*range(axis), *behind), (axis,), (axis,))
    return gather(a, expand_dims(indices, (indices.ndim,)), numbers, (*rest[0], 1, *rest[1]),
                  mode=gather_mode, unique_indices=unique_indices,
                  indices_are_sorted=indices_are_sorted, fill_value=fill_value)


def _take_mode(indices, size, mode):
    """The indices for `gather`, and its mode."""
    if mode is None or mode == "fill":
        return _where(less(indices, 0), indices + size, indices), FILL_OR_DROP
    if mode == "wrap":
        return mod(indices, constant_like(indices, size)), PROMISE_IN_BOUNDS
    if mode == "clip":
        return indices, CLIP
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    raise ValueError(f"Invalid mode {mode!r} for jnp.take. Use 'fill', 'wrap' or 'clip'.")


@staged(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"), eager=False)
def take_along_axis(arr, indices, axis: int | None = -1,
                    mode: str | GatherScatterMode | None = None, fill_value=None, *,
                    wrap_negative_indices: bool | None = None):
    """For each line along an axis, its elements at the places that `indices` has for this line.

    Args:
      arr: an array.
      indices: integers, of as many dimensions; other dimensions than `axis` broadcast.
      axis: an int; `None`: `arr` is made flat first.
      mode: for indices out of bounds: "fill" (the default), "clip" or "promise_in_bounds".
        "one_hot" multiplies with a matrix instead, and gives 0 for them.
      fill_value: for mode "fill"; by default NaN, or the integers' lowest value.
      wrap_negative_indices: whether negative indices count from the end; by default they do,
        unless the mode is "promise_in_bounds".

    Raises:
      TypeError: indices that are no integers.
      ValueError: other numbers of dimensions, or no such axis.

    >>> take_along_axis(jnp.array([[1, 2], [3, 4]]), jnp.array([[1], [0]]), 1).tolist()
    [[2], [3]]
    """
    arr, indices = ensure_arraylikes("take_along_axis", arr, indices)
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise TypeError("take_along_axis indices must be of integer type, got "
                        f"{indices.dtype.name}")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("take_along_axis indices must be 1D if axis=None, got shape "
                             f"{indices.shape}")
        arr, axis = ravel(arr), 0
    if arr.ndim != indices.ndim:
        raise ValueError("indices and arr must have the same number of dimensions; "
                         f"{indices.ndim} vs. {arr.ndim}")
    axis = canonical_axis(axis, arr.ndim)
    line_shape = tuple(1 if d == axis else n for d, n in enumerate(arr.shape))
    out_shape = broadcast_shapes(indices.shape, line_shape)
    if not arr.shape[axis]:
        return full(out_shape, 0, arr.dtype)
    if wrap_negative_indices is None:
        wrap_negative_indices = mode != "promise_in_bounds"
    if wrap_negative_indices:
        indices = from_front(convert(indices, index_dtype(arr.shape)), arr.shape[axis])
    if mode == "one_hot":
        return _times_one_hot(arr, indices, axis)
    return _gather_along(arr, indices, axis, line_shape, out_shape,
                         "fill" if mode is None else mode, fill_value)


def _times_one_hot(arr, indices, axis):
    """For each index a row with a single 1, at its place: products with such rows are quick where
    matrices are."""
    places = iota(indices.dtype, arr.shape[axis])
    hot = expand_dims(indices, [-1]) == reshape(places, (1,) * indices.ndim + places.shape)
    before = list(range(axis))
    here, place = axis, arr.ndim
    behind = list(range(axis + 1, arr.ndim))
    return einsum(hot, [*before, here, *behind, place], arr, [*before, place, *behind],
                  [*before, here, *behind], precision=Precision.HIGHEST,
                  preferred_element_type=arr.dtype)


def _gather_along(arr, indices, axis, line_shape, out_shape, mode, fill_value):
    """Dimensions that only `arr` has are windows, those of both walk together (batching)."""
    walked = [d for d, n in enumerate(indices.shape) if d == axis or n != 1]
    repeated = [d for d in walked if d != axis and line_shape[d] == 1]
    kept = [d for d in range(arr.ndim) if d not in repeated]
    both = [d for d in walked if d != axis and d not in repeated]
    windows = [d for d in kept if d not in walked]
    sizes = [line_shape[d] if d in windows else min(line_shape[d], 1) for d in kept]
    numbers = GatherDimensionNumbers(
        tuple(windows), (kept.index(axis),), (kept.index(axis),),
        tuple(kept.index(d) for d in both), tuple(walked.index(d) for d in both))
    indices = reshape(indices, [*[out_shape[d] for d in walked], 1])
    arr = squeeze(arr, repeated) if repeated else arr
    return gather(arr, indices, numbers, sizes, mode=mode, fill_value=fill_value)


@public
def compress(condition, a, axis: int | None = None, *, size: int | None = None, fill_value=0,
             out=None):
    """The slices of `a` along an axis for which `condition` holds.

    Args:
      condition: a vector of booleans, known unless `size` is given; slices behind its end are
        left out.
      a: an array.
      axis: an int; by default `a` is made flat first.
      size, fill_value: the size of the result along the axis, and what fills it up.

    Raises:
      ValueError: the condition is not a vector, or is true beyond the end of the axis, or the size
        is greater than the number of slices.
    """
    check_no_out("compress", out)
    condition, a = ensure_arraylikes("compress", condition, a)
    check_arraylike("compress", fill_value)
    condition = condition != 0 if condition.dtype != bool else condition
    if condition.ndim != 1:
        raise ValueError(f"compress: condition must be a 1D array, got shape {condition.shape}.")
    if axis is None:
        a, axis = ravel(a), 0
    a = moveaxis(a, axis, 0)
    condition, extra = condition[:a.shape[0]], condition[a.shape[0]:]
    a = a[:condition.shape[0]]
    if size is None:
        if extra.any():
            raise ValueError("condition contains entries that are out of bounds")
        return moveaxis(a[condition], 0, axis)
    if not 0 <= size <= a.shape[0]:
        raise ValueError(f"size must be between 0 and {a.shape[0]}, the number of slices; got "
                         f"{size=}")
    (places,) = nonzero_of_size(condition, size, (a.shape[0],))
    out = a.at[places].get(mode="fill", fill_value=fill_value)
    return moveaxis(out, 0, axis)


@public
def extract(condition, arr, *, size: int | None = None, fill_value=0):
    """The elements of `arr`, made flat, for which `condition` (made flat too) holds.

    Args, raises: as `compress`.

    >>> extract(jnp.array([True, False, True]), jnp.arange(3)).tolist()
    [0, 2]
    """
    return compress(ravel(ensure_arraylike("extract", condition)), arr, size=size,
                    fill_value=fill_value)


def nonzero_of_size(a, size: int, fills) -> tuple:
    """The indices of the first `size` elements other than zero; traced values are welcome.

    The running number of nonzero elements says at each place which of them comes next. So the
    place of the k-th is the number of places where the running number is at most k.
    """
    mask = ne(a, constant_like(a, 0)) if a.dtype != bool else a
    mask = ravel(mask)
    dtype = default_int_dtype()
    if 0 in (*a.shape, size):
        return tuple(full((size,), 0 if fill is None else fill, dtype) for fill in fills)
    seen = cumsum(mask)
    flat = cumsum(full((size,), 0, dtype).at[seen].add(1, mode="drop"))
    stride, found = a.size, []
    missing = iota(dtype, size) >= sum(mask)
    for n, fill in zip(a.shape, fills):
        stride //= n
        quotient = div_p.bind(flat, size_value(stride, dtype))
        place = rem_p.bind(quotient, size_value(n, dtype))
        found.append(_where(missing, 0 if fill is None else fill, place))
    return tuple(found)
