"""Chapter 12: arrays joined, split and padded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..array import Array
from ..batching import vmap
from ..core import concrete_or_error
from ..primitives import shaping as lax
from ..primitives.elementwise import convert, mul, sub
from ..primitives.slicing import slice_in_dim
from ..pytree import tree_map
from ._arguments import (
    canonical_axis,
    check_arraylike,
    check_no_out,
    ensure_array,
    ensure_arrays,
    promote_dtypes,
    static_index,
)
from ._constructors import asarray, empty_like, numpy_broadcast_to
from ._ranges import linspace
from ._reductions import amax, amin, mean
from ._shaping import (
    _repeat_all,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    flip,
    ravel,
    squeeze,
    transpose,
)
from ._staged import staged
from ._ufuncs import round
from ._vectorize import apply_along_axis


def _is_array(x) -> bool:
    return isinstance(x, (Array, np.ndarray))


# ----------------------------------------------------------------------------------------------
# Joining


def concatenate(arrays, axis: int | None = 0, dtype=None):
    """Arrays one after another along an existing dimension.

    Args:
      arrays: a non-empty sequence of arrays, alike but for `axis`; dtypes are promoted.
      axis: an int; `None` joins all elements in row-major order.
      dtype: the type of the result.

    Raises:
      ValueError: no arrays, scalars, or an axis out of bounds.
      TypeError: shapes that do not fit.

    >>> concatenate([jnp.arange(2), jnp.ones(1)]).tolist()
    [0.0, 1.0, 1.0]
    """
    if _is_array(arrays):
        return _concatenate_rows(asarray(arrays, dtype), axis)
    arrays = ensure_arrays("concatenate", *arrays)
    if not arrays:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([ravel(a) for a in arrays], 0, dtype)
    if arrays[0].ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonical_axis(axis, arrays[0].ndim)
    arrays = promote_dtypes(*arrays) if dtype is None else [asarray(a, dtype) for a in arrays]
    return lax.concatenate(arrays, axis)


def _concatenate_rows(x, axis):
    """`concatenate` of the rows of one array is a transposed reshape."""
    if x.ndim == 0 or x.shape[0] == 0:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return lax.reshape(x, (x.size,))
    if x.ndim == 1:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonical_axis(axis, x.ndim - 1)
    shape = [*x.shape[1:axis + 1], x.shape[0] * x.shape[axis + 1], *x.shape[axis + 2:]]
    return lax.reshape(x, shape, [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)])


def concat(arrays, /, *, axis: int | None = 0):
    """`concatenate`."""
    check_arraylike("concat", *arrays)
    return concatenate(arrays, axis)


@staged(static_argnames=("axis",))
def append(arr, values, axis: int | None = None):
    """`arr` with `values` after it along `axis`; by default both in row-major order."""
    return concatenate([ravel(arr), ravel(values)], 0) if axis is None \
        else concatenate([arr, values], axis)


def stack(arrays, axis: int = 0, out=None, dtype=None):
    """Arrays of one shape side by side along a new dimension.

    Args:
      arrays: a non-empty sequence of arrays; dtypes are promoted.
      axis: the position of the new dimension in the result.
      dtype: the type of the result.

    Raises:
      ValueError: no arrays, different shapes, or an axis out of bounds.
    """
    if not len(arrays):
        raise ValueError("Need at least one array to stack.")
    check_no_out("stack", out)
    if _is_array(arrays):
        axis = canonical_axis(axis, arrays.ndim)
        return concatenate(expand_dims(arrays, axis + 1), axis, dtype)
    arrays = ensure_arrays("stack", *arrays)
    arrays = promote_dtypes(*arrays) if dtype is None else [asarray(a, dtype) for a in arrays]
    return lax.stack_p.bind(*arrays, axis=canonical_axis(axis, arrays[0].ndim + 1))


def unstack(x, /, *, axis: int = 0) -> tuple:
    """The slices of `x` along `axis`, without that dimension."""
    x = ensure_array("unstack", x)
    return tuple(lax.unstack_p.bind(x, axis=canonical_axis(axis, x.ndim)))


def _stack_along(name, at_least, axis_of, doc):
    """`vstack`, `hstack` and `dstack`."""

    def function(tup, dtype=None):
        if _is_array(tup):
            arrays = vmap(at_least)(asarray(tup))
            return concatenate(arrays, axis_of(arrays.ndim - 1), dtype)
        check_arraylike(name, *tup)
        arrays = [at_least(a) for a in tup]
        return concatenate(arrays, axis_of(arrays[0].ndim) if arrays else 0, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"{doc}\n\nArgs:\n  tup: a sequence of arrays; dtypes are promoted.\n"
                        "  dtype: the type of the result.\n\nRaises:\n  TypeError: shapes that do "
                        "not fit.\n")
    return function


vstack = _stack_along("vstack", atleast_2d, lambda ndim: 0, "Rows on top of each other.")
hstack = _stack_along("hstack", atleast_1d, lambda ndim: 0 if ndim == 1 else 1,
                      "Columns (or the elements of vectors) side by side.")
dstack = _stack_along("dstack", atleast_3d, lambda ndim: 2, "Layers along the third dimension.")


def column_stack(tup):
    """Vectors and matrices side by side, a vector as a column."""
    if _is_array(tup):
        columns = asarray(tup)
        columns = vmap(lambda x: transpose(atleast_2d(x)))(columns) if columns.ndim < 3 else columns
    else:
        check_arraylike("column_stack", *tup)
        columns = [transpose(atleast_2d(a)) if a.ndim < 2 else a for a in map(asarray, tup)]
    return concatenate(columns, 1)


@staged
def block(arrays):
    """A large array assembled from nested lists of blocks: the innermost side by side.

    Raises:
      ValueError: tuples, empty lists, or lists nested to different depths.
    """
    return _block(arrays)[0]


def _block(xs):
    """The assembled array, and the depth of the nesting."""
    if isinstance(xs, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {xs}")
    if not isinstance(xs, list):
        return asarray(xs), 1
    if not xs:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    parts, depths = zip(*map(_block, xs))
    if len(set(depths)) > 1:
        raise ValueError("Mismatched list depths in jax.numpy.block")
    rank = max(depths[0], *(part.ndim for part in parts))
    parts = [lax.broadcast(part, (1,) * (rank - part.ndim)) for part in parts]
    return concatenate(parts, -depths[0]), depths[0] + 1


# ----------------------------------------------------------------------------------------------
# Splitting


def _split(name, ary, indices_or_sections, axis) -> list:
    """All the ways to split: at given places, or into equal parts."""
    ary = ensure_array(name, ary)
    axis = static_index(axis, f"in jax.numpy.{name} argument `axis`")
    size = ary.shape[axis]
    context = f"in jax.numpy.{name} argument 1"
    if isinstance(indices_or_sections, (tuple, list)) or np.ndim(indices_or_sections):
        places = [static_index(i, context) for i in indices_or_sections]
        sizes = [int(n) for n in np.diff([0, *places, size])]
    else:
        sections = concrete_or_error(int, indices_or_sections, context)
        part, rest = divmod(size, sections)
        if rest and name != "array_split":
            raise ValueError(f"array split does not result in an equal division: rest is {rest}")
        sizes = [part + 1] * rest + [part] * (sections - rest)
    return list(lax.split(ary, sizes, axis))


def split(ary, indices_or_sections, axis: int = 0) -> list:
    """`ary` cut along `axis`.

    Args:
      ary: an array.
      indices_or_sections: how many equal parts; or the places of the cuts.
      axis: an int.

    Raises:
      ValueError: a size that cannot be divided equally.

    >>> [x.tolist() for x in split(jnp.arange(5), [2])]
    [[0, 1], [2, 3, 4]]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis: int = 0) -> list:
    """`split`, but the first parts may be larger by one element."""
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary, indices_or_sections) -> list:
    """`split` along the first dimension."""
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary, indices_or_sections) -> list:
    """`split` along the second dimension; of a vector, along its only one."""
    ary = ensure_array("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary, indices_or_sections) -> list:
    """`split` along the third dimension."""
    return _split("dsplit", ary, indices_or_sections, 2)


def delete(arr, obj, axis: int | None = None, *, assume_unique_indices: bool = False):
    """`arr` without some of its elements along `axis`.

    Args:
      arr: an array.
      obj: which: a known int, ints, slice, or boolean mask.
      axis: an int; by default the elements in row-major order.

    Raises:
      ValueError: an index out of bounds, or a mask of another length.
    """
    a = ensure_array("delete", arr)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonical_axis(axis, a.ndim)
    size = a.shape[axis]
    try:
        gone = [canonical_axis(obj, size)]
    except TypeError:
        gone = _positions(obj, size)
    keep = np.ones(size, bool)
    keep[gone] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], keep, [False]])))
    before = (slice(None),) * axis
    runs = [a[(*before, slice(int(start), int(stop)))]
            for start, stop in zip(edges[::2], edges[1::2])]
    return lax.concatenate(runs, axis) if runs else slice_in_dim(a, 0, 0, axis=axis)


def _positions(obj, size):
    """The positions that a slice, a mask or an array of ints means."""
    if isinstance(obj, slice):
        return np.arange(size)[obj]
    positions = concrete_or_error(np.asarray, obj, "'obj' array argument of jnp.delete()")
    if positions.dtype == bool and positions.shape != (size,):
        raise ValueError("np.delete(arr, obj): for boolean indices, obj must be one-dimensional "
                         "with length matching specified axis.")
    if positions.dtype.kind not in "iub":
        raise ValueError(f"np.delete(arr, obj): got obj.dtype={positions.dtype}; must be integer "
                         "or bool.")
    return positions


# ----------------------------------------------------------------------------------------------
# Padding

_PAD_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",), "edge": (), "empty": (), "wrap": (),
    "linear_ramp": ("end_values",), "reflect": ("reflect_type",), "symmetric": ("reflect_type",),
    "maximum": ("stat_length",), "mean": ("stat_length",), "minimum": ("stat_length",),
}
_STATISTICS = {"maximum": amax, "minimum": amin, "mean": mean}


def pad(array, pad_width, mode: str | Callable = "constant", **kwargs):
    """`array` with elements added at the ends of its dimensions.

    Args:
      array: an array.
      pad_width: how many: an int, a pair (before, after), or a pair for each dimension.
      mode: `"constant"` (`constant_values`), `"edge"`, `"empty"`, `"wrap"`, `"linear_ramp"`
        (`end_values`), `"reflect"` or `"symmetric"` (`reflect_type`: "even" or "odd"),
        `"maximum"`, `"mean"` or `"minimum"` (`stat_length`); or a function as for `numpy.pad`.
      **kwargs: the option of the mode, in brackets above.

    Raises:
      NotImplementedError: an unknown mode.
      TypeError: widths that are no integers.
      ValueError: negative widths, widths of a wrong shape, or an unknown option.

    >>> pad(jnp.arange(3), 1, constant_values=7).tolist()
    [7, 0, 1, 2, 7]
    """
    array = ensure_array("pad", array)
    widths = _pairs(pad_width, array.ndim, "pad_width")
    if any(not isinstance(n, (int, np.integer)) for pair in widths for n in pair):
        raise TypeError("`pad_width` must be of integral type.")
    if callable(mode):
        return _pad_with_function(array, widths, mode, kwargs)
    if mode not in _PAD_OPTIONS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unsupported = set(kwargs) - set(_PAD_OPTIONS[mode])
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    return _pad(array, widths, mode, kwargs.get("constant_values", 0),
                _hashable(kwargs.get("stat_length")), _hashable(kwargs.get("end_values", 0)),
                kwargs.get("reflect_type", "even"))


def _hashable(nested):
    return tuple(map(_hashable, nested)) if isinstance(nested, (list, tuple)) else nested


def _pairs(values, ndim, name) -> tuple:
    """One value, a pair, or a pair a dimension, as a pair a dimension."""
    known = tree_map(lambda x: concrete_or_error(None, x, f"{name} argument of jnp.pad"), values)
    try:
        values = np.asarray(known)
    except ValueError as error:
        raise TypeError(f"`{name}` entries must be the same shape: {known}") from error
    if values.shape not in ((ndim, 2), (1, 2), (2,), (1,), ()):
        raise ValueError(f"jnp.pad: {name} with nd={ndim} has unsupported shape {values.shape}. "
                         f"Valid shapes are ({ndim}, 2), (1, 2), (2,), (1,), or ().")
    return tuple(map(tuple, np.broadcast_to(values, (ndim, 2)).tolist()))


@staged(static_argnames=("pad_width", "mode", "stat_length", "end_values", "reflect_type"))
def _pad(array, pad_width, mode, constant_values, stat_length, end_values, reflect_type):
    if array.ndim == 0:
        return array
    if any(n < 0 for pair in pad_width for n in pair):
        raise ValueError("index can't contain negative values")
    if mode == "constant":
        return _pad_constant(array, pad_width, asarray(constant_values))
    pairs = {"end_values": end_values, "stat_length": stat_length}
    pairs = {name: None if value is None else _pairs(value, array.ndim, name)
             for name, value in pairs.items()}
    for axis, (before, after) in enumerate(pad_width):
        if array.shape[axis] == 0 and mode in ("edge", "wrap", "reflect", "symmetric"):
            if before or after:
                raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
            continue
        array = _pad_axis(array, axis, before, after, mode, reflect_type, **pairs)
    return array


def _pad_axis(array, axis, before, after, mode, reflect_type, end_values, stat_length):
    """Pad one dimension."""
    if mode == "wrap":
        return _pad_wrap(array, axis, before, after)
    if mode in ("reflect", "symmetric"):
        return _pad_mirrored(array, axis, before, after, mode, reflect_type)
    if mode == "linear_ramp":
        first, last = (_edge(array, axis, is_last) for is_last in (False, True))
        start, stop = end_values[axis]
        pads = [_ramp(first, axis, start, before), flip(_ramp(last, axis, stop, after), axis)]
    elif mode == "empty":
        pads = [empty_like(array, shape=(*array.shape[:axis], n, *array.shape[axis + 1:]))
                for n in (before, after)]
    else:
        ends = (_edge(array, axis, last) for last in (False, True)) if mode == "edge" else \
            _end_statistics(array, axis, mode, stat_length and stat_length[axis])
        pads = [_repeat_all(end, n, axis) for end, n in zip(ends, (before, after))]
    return lax.concatenate([pads[0], array, pads[1]], axis)


def _pad_constant(array, pad_width, values):
    values = convert(values, array.dtype, array.weak_type)
    if values.ndim == 1 and values.shape[0] == 1:
        values = squeeze(values)
    if values.ndim == 0:
        return lax.pad(array, values, [(low, high, 0) for low, high in pad_width])
    values = numpy_broadcast_to(values, (array.ndim, 2))
    for axis, (low, high) in enumerate(pad_width):
        for side, config in ((0, (low, 0, 0)), (1, (0, high, 0))):
            if any(config):
                widths = [config if d == axis else (0, 0, 0) for d in range(array.ndim)]
                array = lax.pad(array, values[axis, side], widths)
    return array


def _pad_wrap(array, axis, before, after):
    size = array.shape[axis]
    left_copies, left = divmod(before, size)
    right_copies, right = divmod(after, size)
    parts = [array] * (left_copies + right_copies + 1)
    if left:
        parts.insert(0, slice_in_dim(array, size - left, size, axis=axis))
    if right:
        parts.append(slice_in_dim(array, 0, right, axis=axis))
    return lax.concatenate(parts, axis)


def _edge(array, axis, last):
    """The first or the last slice along an axis."""
    start = array.shape[axis] - 1 if last else 0
    return slice_in_dim(array, start, start + 1, axis=axis)


def _pad_mirrored(array, axis, before, after, mode, reflect_type):
    """Mirror the array at its ends, as often as the padding needs it."""
    size = array.shape[axis]
    skip = 1 if mode == "reflect" and size > 1 else 0  # the edge itself is not repeated
    if before == after == 0:
        return array
    for at_start, missing in ((True, before), (False, after)):
        edge = _edge(array, axis, not at_start)
        while missing > 0:
            width = min(missing, size - skip)
            missing -= width
            stop = array.shape[axis] - skip
            piece = slice_in_dim(array, skip, skip + width, axis=axis) if at_start else \
                slice_in_dim(array, stop - width, stop, axis=axis)
            mirrored = flip(piece, axis)
            if reflect_type == "odd":
                mirrored = sub(mul(edge.dtype.type(2), edge), mirrored)
                edge = _edge(mirrored, axis, not at_start) if size > 1 else edge
            pair = [mirrored, array] if at_start else [array, mirrored]
            array = lax.concatenate(pair, axis)
    return array


def _ramp(edge, axis, end_value, width):
    """A straight line from `end_value` to the edge of the array."""
    ramp = linspace(end_value, squeeze(edge, axis), width, endpoint=False, dtype=edge.dtype,
                    axis=axis)
    return convert(ramp, edge.dtype, edge.weak_type)


def _end_statistics(array, axis, mode, lengths):
    """The statistic of the elements next to either end."""
    size, function = array.shape[axis], _STATISTICS[mode]
    if lengths is None:
        values = [function(array, axis=axis, keepdims=True)] * 2
    else:
        first, last = (min(n, size) for n in lengths)
        if 0 in (first, last):
            raise ValueError("stat_length of 0 yields no value for padding")
        parts = [slice_in_dim(array, 0, first, axis=axis),
                 slice_in_dim(array, size - last, size, axis=axis)]
        values = [function(part, axis=axis, keepdims=True) for part in parts]
    if array.dtype.kind in "iu":
        values = [round(value) for value in values]
    return [convert(value, array.dtype, array.weak_type) for value in values]


def _pad_with_function(array, widths, function, kwargs):
    padded = _pad_constant(array, widths, asarray(0))
    for axis in range(padded.ndim):
        padded = apply_along_axis(function, axis, padded, widths[axis], axis, kwargs)
    return padded
