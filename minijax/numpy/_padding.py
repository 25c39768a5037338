"""Chapter 12: `pad` and its modes."""

from collections.abc import Callable

import numpy as np

from ..core.boundary import public
from ..core.primitives import convert
from ..core.tree import tree_map
from ..lax import cutting, shaping as lax
from ..lax.compile_time import concrete_or_error
from ..lax.cutting import slice_in_dim
from ..lax.elementwise import sub
from ._arguments import ensure_arraylike
from ._constructors import asarray, empty_like
from ._quantiles import median
from ._ranges import linspace
from ._reductions import amax, amin, mean
from ._shaping import flip, repeat_all, squeeze
from ._staged import staged
from ._ufuncs import round
from ._vectorize import apply_along_axis

_PAD_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",), "edge": (), "empty": (), "wrap": (),
    "linear_ramp": ("end_values",), "reflect": ("reflect_type",), "symmetric": ("reflect_type",),
    "maximum": ("stat_length",), "mean": ("stat_length",), "median": ("stat_length",),
    "minimum": ("stat_length",),
}
_STATISTICS = {"maximum": amax, "minimum": amin, "mean": mean, "median": median}


@public
def pad(array, pad_width, mode: str | Callable = "constant", **kwargs):
    """`array` with elements added at the ends of its dimensions.

    Args:
      array: an array.
      pad_width: how many: an int, a pair (before, after), or a pair for each dimension.
      mode: `"constant"` (`constant_values`), `"edge"`, `"empty"`, `"wrap"`, `"linear_ramp"`
        (`end_values`), `"reflect"` or `"symmetric"` (`reflect_type`: "even" or "odd"),
        `"maximum"`, `"mean"`, `"median"` or `"minimum"` (`stat_length`); or a function as for
        `numpy.pad`.
      **kwargs: the option of the mode, in brackets above.

    Raises:
      NotImplementedError: an unknown mode.
      TypeError: widths that are no integers.
      ValueError: negative widths, widths of a wrong shape, or an unknown option.

    >>> pad(jnp.arange(3), 1, constant_values=7).tolist()
    [7, 0, 1, 2, 7]
    """
    array = ensure_arraylike("pad", array)
    widths = _pairs(pad_width, array.ndim, "pad_width")
    if not all(isinstance(n, (int, np.integer)) for pair in widths for n in pair):
        raise TypeError(f"jnp.pad: `pad_width` must be of integral type, got {pad_width!r}.")
    if callable(mode):
        return _pad_with_function(array, widths, mode, kwargs)
    if mode not in _PAD_OPTIONS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad. Use one of "
                                  f"{', '.join(map(repr, _PAD_OPTIONS))}, or a function.")
    unsupported = set(kwargs) - set(_PAD_OPTIONS[mode])
    if unsupported:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    if kwargs.get("reflect_type", "even") not in ("even", "odd"):
        raise ValueError("jnp.pad: reflect_type must be 'even' or 'odd', got "
                         f"{kwargs['reflect_type']!r}.")
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
    except ValueError:
        raise TypeError(f"`{name}` entries must be the same shape: {known}") from None
    if values.shape not in ((ndim, 2), (1, 2), (2,), (1,), ()):
        raise ValueError(f"jnp.pad: {name} with nd={ndim} has unsupported shape {values.shape}. "
                         f"Valid shapes are ({ndim}, 2), (1, 2), (2,), (1,), or ().")
    return tuple(map(tuple, np.broadcast_to(values, (ndim, 2)).tolist()))


@staged(static_argnames=("pad_width", "mode", "stat_length", "end_values", "reflect_type"))
def _pad(array, pad_width, mode, constant_values, stat_length, end_values, reflect_type):
    if array.ndim == 0:
        return array
    if any(n < 0 for pair in pad_width for n in pair):
        raise ValueError(f"jnp.pad: pad_width can't contain negative values, got {pad_width}. Use "
                         "a slice to cut something off.")
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
        pads = [repeat_all(end, n, axis) for end, n in zip(ends, (before, after))]
    return cutting.concatenate([pads[0], array, pads[1]], axis)


def _pad_constant(array, pad_width, values):
    values = convert(values, array.dtype, array.weak_type)
    if values.ndim == 1 and values.shape[0] == 1:
        values = squeeze(values)
    if values.ndim == 0:
        return cutting.pad(array, values, [(low, high, 0) for low, high in pad_width])
    values = lax.broadcast_to(values, (array.ndim, 2))
    for axis, (low, high) in enumerate(pad_width):
        for side, config in ((0, (low, 0, 0)), (1, (0, high, 0))):
            if any(config):
                widths = [config if d == axis else (0, 0, 0) for d in range(array.ndim)]
                array = cutting.pad(array, values[axis, side], widths)
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
    return cutting.concatenate(parts, axis)


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
                mirrored = sub(2 * edge, mirrored)
                edge = _edge(mirrored, axis, not at_start) if size > 1 else edge
            pair = [mirrored, array] if at_start else [array, mirrored]
            array = cutting.concatenate(pair, axis)
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
            raise ValueError("jnp.pad: stat_length of 0 yields no value for padding.")
        if min(first, last) < 0:
            raise ValueError(f"jnp.pad: stat_length must be positive, got {lengths}.")
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
