"""Sums of many rows, and long running sums, in parts; extrema of short rows.

NumPy sums along a row pairwise. Down the columns it adds row after row to one total, whose rounding
errors grow with the number of rows: the mean of 10,000 rows is wrong in the sixth digit. A running
sum has the same errors. XLA adds the sums of parts, as the functions here do.

For each short row that it reduces, NumPy takes as long as for forty elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

_PART = 32  # rows that are added to one total, as many as in XLA's parts
_FEW = 256  # NumPy adds so many rows well enough, and faster
_SHORT = 1024  # NumPy's running sums of so many are good enough, and faster
_TILE = 16  # elements of which XLA makes one running sum
_NARROW = 48  # elements of a row: for wider rows, NumPy's `reduceat` is slow


def has_many_rows(dtype: np.dtype, shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether a sum over the dimensions `axes` adds many rows of floats, which lie in sequence."""
    rows = prod([shape[d] for d in axes])
    in_single = dtype.kind in "fc" and dtype.itemsize > 2  # NumPy's halves are added in single
    return (rows > _FEW and in_single and len(shape) - 1 not in axes
            and [*axes] == [*range(axes[0], axes[0] + len(axes))])


def sum_rows(x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The sum over dimensions that follow each other, and of which none is the last."""
    before, after = x.shape[:axes[0]], x.shape[axes[-1] + 1:]
    width = prod(after)
    parts = x.reshape(prod(before), prod([x.shape[d] for d in axes]), width)
    while (rows := parts.shape[1]) > 2 * _PART:
        starts = np.arange(0, rows, _PART)
        parts = np.add.reduceat(parts, starts, 1) if width < _NARROW else _sum_wide(parts)
    return np.add.reduce(parts, 1).reshape(before + after)


def _sum_wide(x: np.ndarray) -> np.ndarray:
    """The sums of the parts, and the rows that are left over."""
    n, rows, width = x.shape
    whole = rows - rows % _PART
    sums = np.add.reduce(x[:, :whole].reshape(n, whole // _PART, _PART, width), 2)
    return np.concatenate([sums, x[:, whole:]], 1) if whole < rows else sums


def accumulate(ufunc: np.ufunc, x: np.ndarray, axis: int) -> np.ndarray:
    """All running sums or products along a dimension, as `ufunc.accumulate`, with smaller errors.

    Long ones of floats have XLA's bits: the running results of tiles, combined with those of all
    the tiles before.
    """
    if x.dtype.kind in "iu" or x.shape[axis] <= _SHORT:
        return ufunc.accumulate(x, axis, x.dtype)
    rows = x.reshape(prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1:]))
    return _accumulate_tiles(ufunc, rows).reshape(x.shape)


def _accumulate_tiles(ufunc: np.ufunc, x: np.ndarray) -> np.ndarray:
    """The running results along the middle one of three dimensions."""
    before, n, after = x.shape
    if n <= _TILE:
        return ufunc.accumulate(x, 1, x.dtype)
    tiles = -(-n // _TILE)
    out = np.full((before, tiles, _TILE, after), ufunc.identity, x.dtype)
    flat = out.reshape(before, tiles * _TILE, after)
    flat[:, :n] = x
    for i in range(1, _TILE):
        ufunc(out[:, :, i - 1], out[:, :, i], out=out[:, :, i])
    before_each = _accumulate_tiles(ufunc, out[:, :, -1])[:, :-1, None]
    ufunc(out[:, 1:], before_each, out=out[:, 1:])
    return flat[:, :n]


_SHORTER = 64  # elements of a row
ENOUGH = 2**12  # elements: of fewer, the steps here take longer than NumPy's
_BLOCK = 2**12  # rows, whose elements a processor holds near for one pass after the other
_WIDE = 2**8  # elements of a row that NumPy reduces well


def has_short_rows(dtype: np.dtype, shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether the extremum over `axes` is that along many short rows, or down the columns of them,
    and `extremum` finds it faster."""
    size = prod(shape)
    if size < ENOUGH or dtype.kind == "c" or not 0 < len(axes) < len(shape):
        return False
    if axes[-1] - axes[0] != len(axes) - 1:
        return False
    reduced = prod([shape[d] for d in axes])
    kept = size // reduced
    return (axes[-1] == len(shape) - 1 and reduced < _SHORTER and kept >= 32 * reduced
            or axes[0] == 0 and kept < _SHORTER)


def extremum(ufunc: np.ufunc, x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The maximum or the minimum of short rows, in few calls of NumPy's."""
    kept = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    if axes[0] == 0:
        return _down_columns(ufunc, x.reshape(-1, prod(kept))).reshape(kept)
    rows = x.reshape(prod(kept), -1)
    out = np.array(rows[:, 0])
    for start in range(0, len(rows), _BLOCK):
        part = out[start:start + _BLOCK]
        for column in rows[start:start + _BLOCK, 1:].T:
            ufunc(part, column, out=part)
    return out.reshape(kept)


def _down_columns(ufunc: np.ufunc, rows: np.ndarray) -> np.ndarray:
    """Several rows at once, as a wider one."""
    n, width = rows.shape
    together = _WIDE // width
    whole = n - n % together
    wide = ufunc.reduce(rows[:whole].reshape(-1, together * width), 0)
    return ufunc.reduce(np.concatenate([wide.reshape(-1, width), rows[whole:]]), 0)
