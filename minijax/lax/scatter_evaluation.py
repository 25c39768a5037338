"""Chapter 11: how NumPy combines windows of updates into an array."""

import functools
from collections.abc import Callable

import numpy as np

from .windows import (
    CLIP,
    locate,
    of_gather,
    result_order,
    sizes_of_updates,
)


def scatter_rule(combine: np.ufunc | None) -> Callable:
    """The evaluation rule of the scatter that combines by this function; `None`: that replaces."""

    def rule(x, indices, updates, *, dimension_numbers, unique_indices, mode, **params):
        if not x.size:
            return x
        numbers = of_gather(dimension_numbers)
        sizes = sizes_of_updates(x, updates, dimension_numbers)
        place = locate(x.shape, indices, numbers, sizes)
        order = result_order(numbers, place.window, indices.ndim - 1)
        updates = updates.transpose(np.argsort(order))
        arrays = place.arrays
        if mode is not CLIP and not place.inside.all():
            arrays = [np.broadcast_to(a, arrays[0].shape)[place.inside] for a in arrays]
            updates = updates[place.inside]
        out = np.array(x)
        view = out.transpose(place.order)
        if arrays:
            unique = unique_indices or place.inside.size == 1
            _at(combine, unique)(view, tuple(arrays), updates)
        else:  # each window is all of the operand
            for number in np.ndindex(place.inside.shape):
                _at(combine, True)(view, (...,), updates[number])
        return out

    return rule


def _at(combine, unique: bool) -> Callable:
    """How to combine `updates` into `view[index]`, in place; if not `unique`, one by one."""
    if combine is None:
        return lambda view, index, updates: view.__setitem__(index, updates)
    if unique:
        return lambda view, index, updates: view.__setitem__(index, combine(view[index], updates))
    return functools.partial(_combine_in_turn, combine)


def _combine_in_turn(combine, view, index, updates):
    """`combine.at`, which is slow for windows: those for one place are combined first."""
    if view.ndim == len(index) or not updates.size:
        combine.at(view, index, updates)
        return
    dims = view.shape[:len(index)]
    flat = np.ravel_multi_index(np.broadcast_arrays(*index), dims).ravel()
    order = np.argsort(flat, kind="stable")
    flat, is_first = flat[order], np.append(True, np.diff(flat[order]) != 0)
    if is_first.all():
        view[index] = combine(view[index], updates)
        return
    updates = updates.reshape(flat.shape + view.shape[len(index):])[order]
    firsts = np.flatnonzero(is_first)
    together = np.add if combine is np.subtract else combine
    updates = together.reduceat(updates, firsts, axis=0, dtype=updates.dtype)
    place = np.unravel_index(flat[firsts], dims)
    view[place] = combine(view[place], updates)
