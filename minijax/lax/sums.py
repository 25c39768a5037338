"""Chapter 9: how NumPy reduces large arrays fast, and as accurately as XLA.

NumPy adds along a row pairwise. Down the columns it adds row after row to one total, whose rounding
errors grow with their number. XLA adds the sums of parts.
"""

import functools
import math
from collections.abc import Sequence

import numpy as np

from ..core.evaluation import like_xla

_PART = 32  # rows that are added to one total, as many as in XLA's parts
_MANY = 256  # rows: up to so many NumPy adds accurately enough, and faster
_SHORT = 16  # elements of a row: for shorter rows NumPy takes no less time than for this length
_NARROW = 48  # elements of a row: for wider rows NumPy's `reduceat` is slow
_LARGE = 2**12  # elements of an array: for smaller arrays NumPy's own way is the fastest


def reduce(ufunc: np.ufunc, x, axes: Sequence[int], **options):
    """`ufunc.reduce`. Adjacent axes are reduced as one, in a way that is fast and accurate for the
    number of rows and their length."""
    if x.size >= _MANY and axes and _adjacent(axes):
        first = axes[0]
        rows = math.prod([x.shape[d] for d in axes])
        before, after = x.shape[:first], x.shape[first + len(axes):]
        if not after and rows <= _SHORT and x.size >= _LARGE:
            columns = x.reshape(*before, rows)
            start = options.get("initial", ufunc.identity)
            return functools.reduce(ufunc, [columns[..., i] for i in range(rows)], start)
        width = math.prod(after)
        exact = ufunc is np.add and x.dtype.kind in "fc"
        if after and rows > _MANY and x.flags.c_contiguous and (exact or width <= _SHORT):
            parts = x.reshape(math.prod(before), rows, width)
            return _reduce_in_parts(ufunc, parts).reshape(before + after)
    return ufunc.reduce(x, axis=axes, **options)


def _adjacent(axes):
    """Whether the axes follow one another."""
    return [*axes] == [*range(axes[0], axes[0] + len(axes))]


def _reduce_in_parts(ufunc, x):
    """The reduction over the middle one of three dimensions."""
    n, rows, width = x.shape
    while rows > 2 * _PART:
        if width < _NARROW:
            x = ufunc.reduceat(x, np.arange(0, rows, _PART), 1, x.dtype)
        else:
            whole = rows - rows % _PART
            parts = ufunc.reduce(x[:, :whole].reshape(n, whole // _PART, _PART, width), 2)
            x = np.concatenate([parts, x[:, whole:]], 1)
        rows = x.shape[1]
    return ufunc.reduce(x, 1)


like_xla[np.ufunc.reduce] = reduce
