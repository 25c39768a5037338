"""Chapter 12: how often numbers occur."""

import math
import operator
from collections.abc import Sequence

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import convert
from ..lax.compile_time import concrete_or_error, dimension_or_error
from ..lax.dtypes import default_int_dtype
from ..lax.out_shardings import shardable
from ._arguments import ensure_arraylike, ensure_arraylikes, promote_dtypes_inexact
from ._constructors import asarray, ones_like, zeros
from ._editing import ravel_multi_index
from ._grids import ix_
from ._ranges import linspace
from ._reductions import ptp
from ._searching import searchsorted
from ._select import _where
from ._sequences import diff
from ._special import clip


@shardable
def bincount(x, weights=None, minlength: int = 0, *, length: int | None = None):
    """How often each of the integers 0, 1, 2, … occurs.

    Args:
      x: a vector of integers; negative ones count as 0.
      weights: a vector of the same size, how much each counts.
      minlength: the least size of the result, if `length` is not given.
      length: the size of the result; greater integers are not counted. It must be given if `x` is
        traced.

    Raises:
      TypeError: elements that are no integers.
      ValueError: no vector, or weights of another size.
      ConcretizationTypeError: `x` is traced, and there is no `length`.

    >>> bincount(jnp.array([1, 1, 3])).tolist()
    [0, 2, 0, 1]
    """
    x = ensure_arraylike("bincount", x)
    if not (x.dtype == bool or dtypes.issubdtype(x.dtype, np.integer)):
        raise TypeError(f"x argument to bincount must have an integer type; got {x.dtype.name}")
    if x.ndim != 1:
        raise ValueError(f"bincount counts the elements of a vector, got shape {x.shape}.")
    x = convert(x, np.dtype(np.int32)) if x.dtype == bool else x
    minlength = dimension_or_error(minlength, "Argument `minlength` of jnp.bincount says a shape.")
    if length is None:
        value = concrete_or_error(np.asarray, x, "The size of what jnp.bincount returns depends on "
                                  "the contents of `x`: give it as `length`.")
        length = max(minlength, max(0, int(value.max())) + 1 if value.size else 0)
    else:
        length = dimension_or_error(length, "Argument `length` of jnp.bincount.")
    if weights is None:
        weights = default_int_dtype().type(1)
    elif typeof(weights).shape != x.shape:
        raise ValueError(f"bincount needs a weight for each element: got shape {x.shape}, and "
                         f"weights of shape {typeof(weights).shape}.")
    return zeros(length, typeof(weights).dtype).at[clip(x, 0)].add(weights, mode="drop")


_NAMED_BINS = ("bins={!r} is the name of a method, which jax.numpy does not have. Give the number "
               "of bins, or their edges.")


@public
def histogram_bin_edges(a, bins=10, range: Sequence | None = None, weights=None):
    """The edges of the bins of a histogram.

    Args:
      a: an array of numbers.
      bins: how many bins, equally wide; or a vector of edges, returned as it is.
      range: the first and the last edge; by default those of the numbers.
      weights: not used.

    Returns:
      a vector of one more element than there are bins.

    Raises:
      NotImplementedError: bins that are the name of a method.
      ValueError: a range that is no pair.

    >>> histogram_bin_edges(jnp.array([0.0, 4.0]), 2).tolist()
    [0.0, 2.0, 4.0]
    """
    if isinstance(bins, str):
        raise NotImplementedError(_NAMED_BINS.format(bins))
    a, _ = ensure_arraylikes("histogram_bin_edges", a, bins)
    dtype = dtypes.to_inexact_dtype(a.dtype)
    if np.ndim(bins) == 1:
        return asarray(bins, dtype=dtype)
    bins = concrete_or_error(operator.index, bins, "The number of bins of a histogram.")
    edges = asarray([a.min(), a.max()] if range is None else range, dtype=dtype)
    if edges.shape != (2,):
        raise ValueError(f"`range` must be either None or a pair of numbers, got {range}")
    low = _where(ptp(edges) == 0, edges[0] - 0.5, edges[0])  # a range of no width gets one
    high = _where(ptp(edges) == 0, edges[1] + 0.5, edges[1])
    return linspace(low, high, bins + 1, dtype=dtype)


@public
def histogram(a, bins=10, range: Sequence | None = None, weights=None, density: bool | None = None):
    """How many numbers are in each bin.

    Args:
      a: an array of numbers.
      bins, range: as for `histogram_bin_edges`. The last bin has both its edges, others the left.
      weights: an array of the shape of `a`: how much each number counts.
      density: whether to divide such that the integral is one.

    Returns:
      the counts, floats, and the edges.

    Raises:
      ValueError: weights of another shape; or as `histogram_bin_edges`.
      TypeError: bins that are the name of a method.

    >>> counts, edges = histogram(jnp.array([0.0, 1.0, 1.5, 4.0]), 2)
    >>> counts.tolist(), edges.tolist()
    ([3.0, 1.0], [0.0, 2.0, 4.0])
    """
    if isinstance(bins, str):
        raise TypeError(_NAMED_BINS.format(bins))
    a, weights = _sample("histogram", a, weights)
    if weights is None:
        weights = ones_like(a)
    elif weights.shape != a.shape:
        raise ValueError(f"weights of shape {weights.shape} should have the same shape as a, "
                         f"{a.shape}.")
    edges = histogram_bin_edges(a, bins, range)
    places = searchsorted(edges, a, side="right")
    places = _where(a == edges[-1], edges.size - 1, places)
    counts = zeros(edges.size, weights.dtype).at[places].add(weights)[1:]
    if density:
        counts = counts / diff(edges) / counts.sum()
    return counts, edges


def _sample(name, a, weights):
    if weights is None:
        return promote_dtypes_inexact(ensure_arraylike(name, a))[0], None
    return promote_dtypes_inexact(*ensure_arraylikes(name, a, weights))


@public
def histogram2d(x, y, bins=10, range: Sequence | None = None, weights=None,
                density: bool | None = None):
    """How many points of a plane are in each rectangle.

    Args:
      x, y: vectors of one size, the points' coordinates.
      bins: the number of bins in either direction, or a vector of edges for both; or a pair, one of
        these for each direction.
      range, weights, density: as for `histogramdd`.

    Returns:
      the counts, and the edges in both directions.

    Raises:
      ValueError, TypeError: vectors of different shapes; or as `histogramdd`.
    """
    x, y = ensure_arraylikes("histogram2d", x, y)
    if _is_sequence(bins) and len(bins) > 2:
        bins = [asarray(bins)] * 2
    counts, edges = histogramdd(asarray([x, y]).T, bins, range, weights, density)
    return counts, *edges


def _is_sequence(bins) -> bool:
    return isinstance(bins, (list, tuple)) or np.ndim(bins) > 0


@public
def histogramdd(sample, bins=10, range: Sequence | None = None, weights=None,
                density: bool | None = None):
    """How many points of a space are in each box.

    Args:
      sample: a matrix, a row for each point.
      bins: the number of bins in all directions; or a sequence, for each direction a number or a
        vector of edges.
      range: for each direction the first and last edge, or `None`.
      weights: a vector: how much each point counts.
      density: whether to divide such that the integral is one.

    Returns:
      the counts, and a list of the edges in each direction.

    Raises:
      ValueError: numbers of bins, ranges or weights that do not fit.
    """
    sample, weights = _sample("histogramdd", sample, weights)
    if sample.ndim != 2:
        raise ValueError("histogramdd: sample must be a matrix with a row for each point, got an "
                         f"array of shape {sample.shape}.")
    n, ndim = sample.shape
    if weights is not None and weights.shape != (n,):
        raise ValueError(f"histogramdd: weights must have one number for each of {n} samples, "
                         f"got the shape {weights.shape}.")
    if range is not None and (len(range) != ndim or any(
            pair is not None and np.shape(pair)[0] != 2 for pair in range)):
        raise ValueError(f"For sample.shape={sample.shape}, range must be a sequence of {ndim} "
                         f"pairs or Nones; got {range=}")
    bins = list(bins) if _is_sequence(bins) else [bins] * ndim
    if len(bins) != ndim:
        raise ValueError(f"histogramdd: bins must be a number, or have an entry for each of the "
                         f"{ndim} dimensions; got {len(bins)} entries.")
    pairs = [None] * ndim if range is None else range
    edges = [histogram_bin_edges(x, *how) for x, *how in zip(sample.T, bins, pairs)]
    counts = _count_in_boxes(sample, edges, weights)
    if density:
        counts = counts.astype(sample.dtype)
        counts = counts / counts.sum()
        for widths in ix_(*map(diff, edges)):
            counts = counts / widths
    return counts, edges


def _count_in_boxes(sample, edges, weights):
    """There is one more bin on either side, for what is outside; they are cut off."""
    sizes = tuple(e.size + 1 for e in edges)
    places = []
    for x, e in zip(sample.T, edges):
        place = searchsorted(e, x, side="right")
        places.append(_where(x == e[-1], place - 1, place))
    flat = ravel_multi_index(tuple(places), sizes, mode="clip")
    counts = bincount(flat, weights, length=math.prod(sizes)).reshape(sizes)
    return counts[(slice(1, -1),) * len(sizes)]
