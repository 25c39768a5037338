"""Chapter 12: medians, quantiles and percentiles.

An array is brought into lines, the reduced axes last, and the lines are sorted. The quantile q of n
numbers is at the place q (n - 1) of its line, mostly between two of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..core import dtypes
from ..lax import elementwise as lax, rounding
from ..lax.dtypes import default_int_dtype, result_type
from ..lax.gathering import gather
from ..lax.out_shardings import shardable
from ..lax.selection import select
from ..lax.shaping import broadcast_in_dim, expand_dims, full_like
from ..lax.sorting import sort, sort_key_val
from ..lax.windows import GatherDimensionNumbers
from ..runtime.jit import jit
from ..text.naming import named
from ._arguments import (
    canonical_axis,
    complex_input,
    constant_like,
    convert,
    ensure_arraylike,
    ensure_arraylikes,
    promote_dtypes_inexact,
)
from ._indexing import take_along_axis
from ._reductions import any, sum
from ._running import cumsum
from ._select import _where
from ._shaping import moveaxis
from ._special import clip
from ._ufuncs import isnan, logical_not


def _quantiles(name: str, unit: str, of: Callable | None, skip_nans: bool, example: str = ""):
    """`quantile`, or `percentile` by way of it, with NaNs or without."""
    @named(name, unit=unit, example=example,
           nans="NaNs left out" if skip_nans else "NaN if there is one among them")
    def function(a, q, axis: int | tuple[int, ...] | None = None, out=None,
                 overwrite_input: bool = False, method: str = "linear", keepdims: bool = False, *,
                 weights=None):
        """The numbers such that {unit} of the elements are not greater; {nans}.

        Args:
          a: an array of real numbers.
          q: a number or a vector of them.
          axis: an int or several; by default all.
          out, overwrite_input: not supported.
          method: of two neighbours, how much of each: "linear", in proportion; "lower", "higher",
            "nearest" or "midpoint"; or "inverted_cdf", the least number that as large a part as q
            is not greater than.
          keepdims: whether reduced axes are kept, with size 1.
          weights: for "inverted_cdf", of the shape of `a`, or of the reduced axes: how much each
            counts.

        Raises:
          ValueError: complex numbers, q with several axes, an unknown method, weights that do not
            fit.
          TypeError: no numbers at all.
          NotImplementedError: weights for another method.
        {example}"""
        a, q = ensure_arraylikes(name, a, q)
        if of is not None:
            (q,) = promote_dtypes_inexact(q)
            return of(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input,
                      method=method, keepdims=keepdims, weights=weights)
        weights = None if weights is None else ensure_arraylike(name, weights)
        if overwrite_input or out is not None:
            raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != "
                             "None")
        return _quantile(a, q, axis, method, keepdims, skip_nans, weights)

    return jit(function, static_argnames=("axis", "overwrite_input", "keepdims", "method"))


quantile = _quantiles("quantile", "a part q", None, False, """
>>> quantile(jnp.arange(5.0), jnp.array([0.25, 0.5])).tolist()
[1.0, 2.0]""")
nanquantile = _quantiles("nanquantile", "a part q", None, True)
percentile = shardable(_quantiles("percentile", "q percent", quantile, False))
nanpercentile = _quantiles("nanpercentile", "q percent", nanquantile, True)


def _medians(name: str, of: Callable, doc: str):
    @named(name, doc=doc)
    def function(a, axis: int | tuple[int, ...] | None = None, out=None,
                 overwrite_input: bool = False, keepdims: bool = False):
        """{doc}

        Args:
          a: an array of real numbers.
          axis: an int or several; by default all.
          out, overwrite_input: not supported.
          keepdims: whether reduced axes are kept, with size 1.

        Raises:
          ValueError: complex numbers, or no such axis.
        """
        a = ensure_arraylike(name, a)
        return of(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims,
                  method="midpoint")

    return jit(function, static_argnames=("axis", "overwrite_input", "keepdims"))


median = _medians("median", quantile, "The number in the middle, or the mean of the two there; "
                  "NaN if there is one.")
nanmedian = _medians("nanmedian", nanquantile, "The number in the middle, or the mean of the two "
                     "there; NaNs are left out.")

# ----------------------------------------------------------------------------------------------
# The general quantile


def _quantile(a, q, axis, method, keepdims, skip_nans, weights):
    if method not in (*_MIX, "inverted_cdf"):
        raise ValueError(f"method can only be one of {[*_MIX, 'inverted_cdf']}, got {method!r}")
    axes = _axes(axis, a.ndim)
    if weights is None:
        (a,) = promote_dtypes_inexact(a)
    else:
        a, weights = _with_weights(a, weights, axis, axes, method)
    if a.weak_type and (dtype := result_type(a)) != a.dtype:  # not of the default width
        a = convert(a, dtype)
    if complex_input(a):
        raise ValueError("quantile does not support complex input, as the operation is poorly "
                         "defined.")
    if q.ndim > 1:
        raise ValueError(f"q must be a scalar or a vector, got shape {q.shape}.")
    lines, along = (a, axes[0]) if len(axes) == 1 else (_as_lines(a, axes), a.ndim - len(axes))
    if not lines.shape[along]:
        raise (IndexError if skip_nans and a.ndim == 1 else TypeError)(
            f"There are no quantiles of no elements: the array has shape {a.shape}, which is empty "
            f"along the axes {axes}.")
    if not skip_nans:
        lines = _where(any(isnan(lines), axis=along, keepdims=True), np.nan, lines)
    if method == "inverted_cdf" or skip_nans:
        lines = moveaxis(lines, along, -1)
        weights = None if weights is None else _as_lines(weights, axes)
        places = q.reshape((1,) * (lines.ndim - 1) + (-1,))
        out = _of_each_line(lines, weights, places, method)
        out = moveaxis(out, -1, 0) if q.ndim else out[..., 0]
    else:
        out = _of_all_lines(sort(lines, along), along, q, _MIX[method])
    out = convert(out, dtypes.canonicalize_dtype(a.dtype))
    return expand_dims(out, [d + q.ndim for d in axes]) if keepdims else out


def _axes(axis, ndim) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(canonical_axis(d, ndim) for d in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in {axis}")
    return axes


def _as_lines(a, axes):
    """The array with these axes made one, the last."""
    kept = [d for d in range(a.ndim) if d not in axes]
    size = math.prod(a.shape[d] for d in axes)
    return moveaxis(a, sorted(axes), range(len(kept), a.ndim)).reshape(
        *[a.shape[d] for d in kept], size)


def _with_weights(a, weights, axis, axes, method):
    """The array, and a weight for each of its elements."""
    if complex_input(weights):
        raise ValueError("Weights cannot be complex types.")
    if method != "inverted_cdf":
        raise NotImplementedError(f"Only method 'inverted_cdf' supports weights, not {method!r}.")
    a, weights = promote_dtypes_inexact(a, weights)
    if weights.shape != a.shape:
        reduced = tuple(a.shape[d] for d in axes)
        if axis is None:
            raise ValueError("Weights shape must match 'a' shape when axis is None, got "
                             f"{weights.shape} and {a.shape}.")
        if weights.shape != reduced:
            raise ValueError(f"Weights shape {weights.shape} must match reduction axes {reduced}, "
                             f"or 'a', of shape {a.shape}.")
        weights = broadcast_in_dim(weights, a.shape, axes)
    return a, weights


def _of_all_lines(a, axis, q, mix):
    """The mixtures, by `mix`, of two neighbours, which are at the same places in all lines."""
    n = convert(a.shape[axis], q.dtype)
    place = lax.mul(q, n - 1)
    low, high = rounding.floor(place), rounding.ceil(place)
    share = lax.sub(place, low)
    rest = lax.sub(constant_like(share, 1), share)
    ends = [lax.clamp(constant_like(end, 0), end, n - 1) for end in (low, high)]
    ends = [convert(end, default_int_dtype()) for end in ends]
    numbers = GatherDimensionNumbers(range(q.ndim, q.ndim + a.ndim - 1), (axis,), (axis,))
    sizes = [1 if d == axis else size for d, size in enumerate(a.shape)]
    values = [gather(a, expand_dims(end, (q.ndim,)), numbers, sizes) for end in ends]
    if q.ndim:
        rest, share = (broadcast_in_dim(x, values[0].shape, (0,)) for x in (rest, share))
    return mix(*values, rest, share)


def _of_each_line(lines, weights, q, method):
    """The same where each line has its own places: NaNs, sorted to its end, or weights."""
    if method == "inverted_cdf":
        weights = full_like(lines, 1) if weights is None else weights
        return _by_weight(*sort_key_val(lines, weights), q)
    lines = sort(lines)
    count = convert(sum(logical_not(isnan(lines)), axis=-1, keepdims=True), q.dtype)
    place = q * (count - 1)
    low, high = rounding.floor(place), rounding.ceil(place)
    share, index_dtype = place - low, default_int_dtype()
    values = [take_along_axis(lines, convert(clip(end, 0, clip(count - 1, 0)), index_dtype),
                              -1, mode="clip") for end in (low, high)]
    return _MIX[method](*values, constant_like(share, 1) - share, share)


def _linear(low, high, rest, share):
    return lax.add(lax.mul(low.astype(share.dtype), rest), lax.mul(high.astype(share.dtype), share))


_MIX = {
    "linear": _linear,
    "lower": lambda low, high, rest, share: low,
    "higher": lambda low, high, rest, share: high,
    "midpoint": lambda low, high, *_: lax.mul(lax.add(low, high), constant_like(low, 0.5)),
    "nearest": lambda low, high, rest, share: select(
        lax.le(share, constant_like(share, 0.5)), low, high),
}


def _by_weight(lines, weights, q):
    """For each line and q, the first element where the weights so far are a part q of all."""
    is_nan, bad = isnan(lines), (weights < 0) | isnan(weights)
    so_far = cumsum(_where(is_nan | bad, 0, weights), axis=-1)
    too_little = expand_dims(so_far, (-2,)) < expand_dims(q * so_far[..., -1:], (-1,))
    count = sum(logical_not(is_nan), axis=-1, keepdims=True)
    place = clip(sum(too_little, axis=-1), 0, clip(count - 1, 0))
    out = take_along_axis(lines, place, -1, mode="clip")
    undefined = any(bad, axis=-1, keepdims=True) | (count == 0)
    return _where(undefined, np.nan, out)
