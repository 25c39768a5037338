"""Chapter 12: copies of an array with some elements inserted, replaced or removed; flat indices.

NumPy's `put`, `place` and `fill_diagonal` change their argument. Our arrays are immutable, so these
functions return a changed copy. The caller must pass `inplace=False` to show that this is intended.
"""

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..lax.compile_time import concrete_or_error
from ..lax.dtypes import result_type
from ..lax.shaping import broadcast_shapes
from ._arguments import (
    canonical_axis,
    check_no_out,
    convert,
    ensure_arraylike,
    ensure_arraylikes,
    index_tuple,
    user_dtype,
)
from ._arithmetic import divmod
from ._constructors import arange, array, asarray, full, ones
from ._diagonals import diag_indices
from ._grids import indices
from ._reductions import any, canonical_axes
from ._select import broadcast_arrays
from ._shaping import broadcast_to, moveaxis, ravel, tile
from ._sorting import argsort
from ._special import clip, nonzero, where
from ._staged import staged


def _refuse_in_place(name: str, inplace: bool, error: type[Exception] = ValueError) -> None:
    if inplace:
        raise error(f"jax.numpy.{name} cannot modify arrays in-place, as NumPy's does: JAX arrays "
                    "are immutable. Pass inplace=False and take the result.")


def _repeated_to(x, size: int):
    """A vector repeated, and cut, to a size."""
    return tile(x, -(-size // x.size))[:size] if x.size != size else x


@public
def insert(arr, obj, values, axis: int | None = None) -> Any:
    """`arr` with `values` put in before some places.

    Args:
      arr: an array.
      obj: an int, a slice or a vector of ints: the places, in `arr` as it is.
      values: what to put in; broadcasts along the other axes.
      axis: an int; by default `arr` is made flat first.

    Raises:
      ValueError: `obj` of more than one dimension, or not of integers.

    >>> insert(jnp.array([1, 2, 3]), 1, 9).tolist()
    [1, 9, 2, 3]
    """
    arr, _, values = ensure_arraylikes("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = canonical_axis(concrete_or_error(None, axis, "axis argument of jnp.insert()"), arr.ndim)
    size = arr.shape[axis]
    places = _insertion_places(obj, size)
    values = array(values, arr.dtype, copy=False, ndmin=arr.ndim)
    if places.size == 1:
        # All values are inserted at one place. If it is a scalar, `values` is one slice.
        values = moveaxis(values, 0, axis) if places.ndim == 0 else values
        places = full(values.shape[axis], ravel(places)[0])
    count = broadcast_shapes(places.shape, (values.shape[axis],))[0]
    places = clip(where(places < 0, places + size, places), 0, size)
    # In the order of their places, the k-th value moves k further, behind those before it.
    targets = places.at[argsort(places)].add(arange(count, dtype=places.dtype))
    is_old = ones(size + count, dtype=bool).at[targets].set(False)
    old_targets = nonzero(is_old, size=size)[0]
    before = (slice(None),) * axis
    shape = [n + count if d == axis else n for d, n in enumerate(arr.shape)]
    out = convert(full(shape, 0, arr.dtype), arr.dtype, arr.weak_type)
    return out.at[(*before, targets)].set(values).at[(*before, old_targets)].set(arr)


def _insertion_places(obj, size: int):
    places = arange(*obj.indices(size)) if isinstance(obj, slice) else asarray(obj)
    if places.ndim > 1:
        raise ValueError("jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; "
                         f"got {obj}")
    if dtypes.issubdtype(places.dtype, np.integer):
        return places
    if places.size == 0 and not hasattr(obj, "aval"):
        return places.astype(int)
    raise ValueError(f"jnp.insert(): index array must be integer typed; got {obj}")


@public
def trim_zeros(filt, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """`filt` without its outermost slices of nothing but zeros.

    Args:
      filt: an array, which must be known: the shape of the result depends on it.
      trim: where to take off: "f" in front, "b" at the back.
      axis: an int or ints; by default all axes.

    Raises:
      ConcretizationTypeError: `filt` is traced.

    >>> trim_zeros(jnp.array([0, 0, 1, 0, 2, 0])).tolist()
    [1, 0, 2]
    """
    filt = ensure_arraylike("trim_zeros", filt)
    concrete_or_error(None, filt, "Error arose in the `filt` argument of trim_zeros()")
    axes = canonical_axes(axis if axis is None else index_tuple(axis), filt.ndim)
    front, back = ("f" in trim.lower(), "b" in trim.lower())
    cuts = [slice(None)] * filt.ndim
    for d in axes if front or back else ():
        (kept,) = np.asarray(any(filt, [i for i in range(filt.ndim) if i != d])).nonzero()
        if not kept.size:
            cuts[d] = slice(0, 0)
            continue
        cuts[d] = slice(int(kept[0]) if front else None, int(kept[-1]) + 1 if back else None)
    return filt[tuple(cuts)]


@public
def put(a, ind, v, mode: str | None = None, *, inplace: bool = True) -> Any:
    """`a` with the elements at flat indices replaced.

    Args:
      a: an array.
      ind: indices into `a` made flat.
      v: the new elements, repeated if there are too few.
      mode: for indices out of bounds: "clip", "wrap", or `None` to leave them out.
      inplace: must be `False`.

    Raises:
      ValueError: an unknown mode, or `inplace`.

    >>> put(jnp.zeros(3), jnp.array([0, 2]), 5, inplace=False).tolist()
    [5.0, 0.0, 5.0]
    """
    _refuse_in_place("put", inplace)
    a, ind, v = ensure_arraylikes("put", a, ind, v)
    ind, v = ravel(ind), ravel(v)
    if not (a.size and ind.size and v.size):
        return a
    modes = {None: (ind, "drop"), "clip": (clip(ind, 0, a.size - 1), "promise_in_bounds"),
             "wrap": (ind % a.size, "promise_in_bounds")}
    if mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    if mode not in modes:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got {mode=}")
    ind, scatter_mode = modes[mode]
    return a.at[unravel_index(ind, a.shape)].set(_repeated_to(v, ind.size), mode=scatter_mode)


@public
def place(arr, mask, vals, *, inplace: bool = True) -> Any:
    """`arr` with the elements where `mask` holds replaced, in order, by `vals`.

    Args:
      arr, mask: arrays of the same size.
      vals: the new elements, repeated if there are too few.
      inplace: must be `False`.

    Raises:
      ValueError: sizes that do not fit, no values, or `inplace`.
    """
    arr, mask, vals = ensure_arraylikes("place", arr, mask, vals)
    _refuse_in_place("place", inplace)
    if arr.size != mask.size:
        raise ValueError("place: arr and mask must be the same size, got the shapes "
                         f"{arr.shape} and {mask.shape}.")
    if not vals.size:
        raise ValueError("Cannot place values from an empty array")
    if not arr.size:
        return arr
    places = nonzero(ravel(mask), size=mask.size, fill_value=mask.size)[0]
    vals = _repeated_to(ravel(vals), mask.size)
    return ravel(arr).at[places].set(vals, mode="drop").reshape(arr.shape)


@staged(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(arr, indices, values, axis: int | None, inplace: bool = True, *,
                   mode: str | None = None) -> Any:
    """`arr` with the elements that `take_along_axis` would take replaced.

    Args:
      arr: an array.
      indices: integers, of as many dimensions; other dimensions than `axis` broadcast.
      values: the new elements; broadcast to `indices`.
      axis: an int; `None`: `arr` is made flat first.
      inplace: must be `False`.
      mode: for indices out of bounds, as for `x.at[…].set`.

    Raises:
      ValueError: shapes that do not fit, or `inplace`.
    """
    _refuse_in_place("put_along_axis", inplace)
    arr, indices, values = ensure_arraylikes("put_along_axis", arr, indices, values)
    flat = ravel(arr) if axis is None else arr
    if flat.ndim != indices.ndim:
        raise ValueError("put_along_axis arguments 'arr' and 'indices' must have same ndim. Got "
                         f"arr.ndim={flat.ndim} and indices.ndim={indices.ndim}.")
    try:
        values = broadcast_to(values, indices.shape)
    except ValueError:
        raise ValueError("put_along_axis argument 'values' must be broadcastable to 'indices'. Got "
                         f"values.shape={values.shape} and indices.shape={indices.shape}."
                         ) from None
    entries = _grid(flat.shape)
    entries[canonical_axis(axis or 0, flat.ndim)] = indices
    return flat.at[tuple(entries)].set(values, mode=mode).reshape(arr.shape)


def _grid(shape) -> list:
    """For each dimension the places along it, shaped so that all of them broadcast."""
    return list(indices(shape, sparse=True))


@public
def fill_diagonal(a, val, wrap: bool = False, *, inplace: bool = True) -> Any:
    """`a` with the elements whose indices are all equal replaced.

    Args:
      a: an array of two dimensions, or of more that are all of one size.
      val: the new elements, repeated if there are too few.
      wrap: must be `False`.
      inplace: must be `False`.

    Raises:
      ValueError: other shapes.
      NotImplementedError: `inplace` or `wrap`.

    >>> fill_diagonal(jnp.zeros((2, 2)), 1, inplace=False).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    _refuse_in_place("fill_diagonal", inplace, NotImplementedError)
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    a, val = ensure_arraylikes("fill_diagonal", a, val)
    if a.ndim < 2:
        raise ValueError(f"fill_diagonal: a must be at least 2-d, got shape {a.shape}.")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("fill_diagonal: all dimensions of a must be of equal length, got shape "
                         f"{a.shape}.")
    n = min(a.shape)
    values = val if val.ndim == 0 else _repeated_to(ravel(val), n)
    return a.at[diag_indices(n, a.ndim)].set(values)


@public
def choose(a, choices, out: None = None, mode: str = "raise") -> Any:
    """At each place, the element of that one among `choices` which `a` names.

    Args:
      a: integers.
      choices: a sequence of arrays; all broadcast with `a`.
      out: must be `None`.
      mode: for numbers out of range: "raise" (for a known `a` only), "wrap" or "clip".

    Raises:
      ValueError: `a` not of integers, or out of range; an unknown mode.

    >>> choose(jnp.array([1, 0]), [jnp.array([1, 2]), jnp.array([3, 4])]).tolist()
    [3, 2]
    """
    check_no_out("choose", out)
    a, *choices = ensure_arraylikes("choose", a, *choices)
    if not dtypes.issubdtype(a.dtype, np.integer):
        raise ValueError(f"choose: a must be an array of integers, got {a.dtype.name}.")
    n = len(choices)
    if mode == "raise":
        known = concrete_or_error(np.asarray, a, "With mode='raise', jnp.choose must know `a`: "
                                  "use mode='wrap' or mode='clip' instead.")
        if ((known < 0) | (known >= n)).any():
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = a % n
    elif mode == "clip":
        a = clip(a, 0, n - 1)
    else:
        raise ValueError(f"{mode=} not understood. Must be 'raise', 'wrap', or 'clip'")
    a, *choices = broadcast_arrays(a, *choices)
    return array(choices)[(a, *_grid(a.shape))]


@public
def mask_indices(n: int, mask_func: Callable, k: int = 0, *, size: int | None = None) -> tuple:
    """The indices of the elements of an `n`×`n` matrix that `mask_func(matrix, k)` leaves.

    Args:
      n: an int.
      mask_func: a function such as `jnp.triu`.
      k: its second argument.
      size: how many indices there are; needed under `jit`.

    >>> [i.tolist() for i in mask_indices(2, jnp.triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    i, j = nonzero(mask_func(ones((n, n)), k), size=size)
    return i, j


# ----------------------------------------------------------------------------------------------
# Places in an array, and in the same array made flat


@public
def ravel_multi_index(multi_index: Sequence, dims: Sequence[int], mode: str = "raise",
                      order: str = "C", *, dtype=None) -> Any:
    """The flat indices of elements of an array of shape `dims`.

    Args:
      multi_index: an array of integers for each dimension.
      dims: a shape.
      mode: for indices out of bounds: "raise" (for known ones only), "wrap", "clip" or "ignore".
      order: "C", the last index runs fastest, or "F", the first.
      dtype: an integer type.

    Raises:
      ValueError: indices out of bounds, an unknown mode or order, or a dtype that is too small.
      TypeError: indices that are no integers.

    >>> ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 0])), (2, 3)).tolist()
    [2, 3]
    """
    assert len(multi_index) == len(dims), f"len(multi_index)={len(multi_index)} != {len(dims)=}"
    dims = tuple(concrete_or_error(operator.index, d, "in `dims` argument of ravel_multi_index().")
                 for d in dims)
    places = ensure_arraylikes("ravel_multi_index", *multi_index)
    dtype = user_dtype(dtype, "ravel_multi_index") or result_type(int, *places)
    if not dtypes.issubdtype(dtype, np.integer):
        raise ValueError(f"{dtype=} is not an integer type.")
    if math.prod(dims) - 1 > dtypes.iinfo(dtype).max:
        raise ValueError(f"jnp.ravel_multi_index: {dtype=} not large enough to hold flattened "
                         f"index for {dims=}. Use the dtype argument to pass a suitable dtype.")
    within = [_within(i, n, mode) for i, n in zip(places, dims)]
    if order not in ("C", "F"):
        raise ValueError(f"invalid {order=}. Expected 'C' or 'F'")
    strides = np.cumprod((1, *dims[:-1])) if order == "F" else \
        np.cumprod((1, *dims[:0:-1]))[::-1]
    out = array(0, dtype=dtype)
    for i, stride in zip(within, strides):
        out = out + i.astype(dtype) * int(stride)
    return out


def _within(i, n: int, mode: str):
    """Indices along a dimension of size `n`, brought into bounds as `ravel_multi_index` says."""
    if mode == "raise":
        i = concrete_or_error(None, i, "With mode='raise', ravel_multi_index must know the "
                              "indices: use mode='wrap' or mode='clip' instead.")
    if not dtypes.issubdtype(i.dtype, np.integer):
        raise TypeError("only int indices permitted")
    if mode == "raise":
        if ((np.asarray(i) < 0) | (np.asarray(i) >= n)).any():
            raise ValueError("invalid entry in coordinates array")
        return i
    if mode not in ("clip", "wrap", "ignore"):
        raise ValueError(f"invalid {mode=}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")
    return clip(i, 0, n - 1) if mode == "clip" else i % n if mode == "wrap" else i


@public
def unravel_index(indices, shape) -> tuple:
    """The indices, one array a dimension, of elements of an array that was made flat.

    Args:
      indices: flat indices; those out of bounds become the nearest in bounds.
      shape: an int or ints, the shape of the array.

    Raises:
      ValueError: a shape of more than one dimension.

    >>> [i.tolist() for i in unravel_index(jnp.array([2, 3]), (2, 3))]
    [[0, 1], [2, 0]]
    """
    rest = ensure_arraylike("unravel_index", indices)
    sizes = list(shape) if np.iterable(shape) else [shape]
    if builtins.any(np.ndim(n) for n in sizes):
        raise ValueError("unravel_index: shape should be a scalar or 1D sequence.")
    places = []
    for n in reversed(sizes):
        rest, place_here = divmod(rest, n)
        places.append(place_here)
    # The rest is 0, or -1 for indices counted from the end. Otherwise the index was out of bounds.
    signed = not dtypes.issubdtype(rest.dtype, np.unsignedinteger)
    too_small = rest < -1 if signed else asarray(False)
    return tuple(where(rest > 0, n - 1, where(too_small, 0, i))
                 for n, i in zip(sizes, reversed(places)))
