"""Sums of many rows, in parts.

NumPy sums along a row pairwise. Down the columns it adds row after row to one total, whose rounding
errors grow with the number of rows: the mean of 10,000 rows is wrong in the sixth digit. XLA adds
the sums of parts, as the function here does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

_PART = 32  # rows that are added to one total, as many as in XLA's parts
_FEW = 256  # NumPy adds so many rows well enough, and faster
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
