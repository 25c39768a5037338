"""Sums of many rows, and long running sums, in parts.

NumPy sums along a row pairwise. Down the columns it adds row after row to one total, whose rounding
errors grow with the number of rows: the mean of 10,000 rows is wrong in the sixth digit. A running
sum has the same errors. XLA adds the sums of parts, as the functions here do.
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
