"""Statistics of samples: the most frequent value, ranks, the standard error of the mean."""

import math
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ...core.api import vmap
from ...lax.control_flow.cond import cond
from ...lax.dtypes import default_float_dtype
from ...lax.sizes import size_along
from ...lax.sorting import sort_key_val
from ...numpy._arguments import canonical_axis, check_arraylike, promote_args_inexact
from ...runtime.jit import jit

METHODS = ("average", "min", "max", "dense", "ordinal")


def _check_nan_policy(name: str, nan_policy: str) -> None:
    """Only NaN that makes NaN: a compiled function cannot leave elements out, nor raise errors."""
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(f"{name}: nan_policy {nan_policy!r} is none of 'propagate', 'omit', "
                         "'raise'")
    if nan_policy != "propagate":
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r}; look for NaN beforehand")


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Any
    count: Any


@jit(static_argnames=("axis", "nan_policy", "keepdims"))
def mode(a, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False):
    """The most frequent value, the least of them if there are several.

    Args:
      a: an array.
      axis: an int, or `None` for all axes.
      nan_policy: must be "propagate".
      keepdims: leave the axis in, with size 1.

    Returns:
      a named tuple `(mode, count)`.

    Raises:
      ValueError: an unknown policy.
      NotImplementedError: another policy.

    >>> result = mode(jnp.array([3, 1, 3]))
    >>> result.mode.item(), result.count.item()
    (3, 2)
    """
    check_arraylike("mode", a)
    x = jnp.atleast_1d(a)
    _check_nan_policy("mode", nan_policy)
    axes = range(x.ndim) if axis is None else [canonical_axis(axis, x.ndim)]
    kept = [1 if d in axes else n for d, n in enumerate(x.shape)]
    shape = kept if keepdims else [n for d, n in enumerate(x.shape) if d not in axes]
    rows = x.reshape(-1, 1) if axis is None else jnp.moveaxis(x, axes[0], 0)
    rows = rows.reshape(rows.shape[0], math.prod(rows.shape[1:]))
    values, counts = vmap(_mode_of_vector, in_axes=1)(rows)
    return ModeResult(values.reshape(shape), counts.reshape(shape))


def _mode_of_vector(x):
    if x.size == 0:
        dtype = default_float_dtype()
        return jnp.array(np.nan, dtype), jnp.array(0, dtype)
    values, counts = jnp.unique(x, return_counts=True, size=x.size)
    return values[jnp.argmax(counts)], counts.max()


@jit(static_argnames=("method", "axis", "nan_policy"))
def rankdata(a, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"):
    """The rank of each element, from 1.

    Args:
      a: an array of real numbers; one that has NaN gives NaN.
      method: what equal elements get: "average", "min" or "max" of the ranks that they share,
        "dense": as "min", but the next larger element has the next rank, or "ordinal": ranks of
        their own.
      axis: an int, or `None`: the elements of all axes are ranked together, into a vector.
      nan_policy: must be "propagate".

    Raises:
      ValueError: an unknown method or policy.
      NotImplementedError: another policy.

    >>> rankdata(jnp.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    check_arraylike("rankdata", a)
    _check_nan_policy("rankdata", nan_policy)
    if method not in METHODS:
        raise ValueError(f"unknown method '{method}': expected one of {METHODS}")
    if axis is not None:
        return jnp.apply_along_axis(rankdata, axis, a, method)
    a = jnp.ravel(a)
    dtype = default_float_dtype()
    return cond(jnp.any(jnp.isnan(a)), lambda a: jnp.full_like(a, np.nan, dtype),
                lambda a: _ranks(a, method).astype(dtype), a)


def _ranks(a, method):
    ordered, places = sort_key_val(a, jnp.arange(a.size))
    inverse = jnp.empty_like(places).at[places].set(jnp.arange(a.size, dtype=places.dtype))
    if method == "ordinal":
        return inverse + 1
    is_new = jnp.concatenate([jnp.array([True]), ordered[1:] != ordered[:-1]])
    dense = is_new.cumsum()[inverse]
    if method == "dense":
        return dense
    # `starts[k]`: how many elements are less than the k-th of the different values.
    starts = jnp.nonzero(is_new, size=a.size + 1, fill_value=a.size)[0]
    first, last = starts[dense - 1] + 1, starts[dense]
    average = 0.5 * (first + last).astype(default_float_dtype())
    return {"min": first, "max": last, "average": average}[method]


@jit(static_argnames=("axis", "nan_policy", "keepdims"))
def sem(a, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *,
        keepdims: bool = False):
    """The standard error of the mean: the standard deviation over the root of the sample's size.

    Args:
      a: an array.
      axis: an int, or `None` for all axes.
      ddof: what is subtracted from the size within the standard deviation.
      nan_policy: "propagate", or "omit" to leave NaN out.
      keepdims: leave the axis in, with size 1.

    Raises:
      ValueError: another policy.

    >>> sem(jnp.array([1.0, 3.0])).round(4).item()
    1.0
    """
    (x,) = promote_args_inexact("sem", a)
    if nan_policy == "propagate":
        size = x.size if axis is None else size_along("sem", x.shape, axis)
        return x.std(axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(size).astype(x.dtype)
    if nan_policy == "omit":
        count = (~jnp.isnan(x)).sum(axis, keepdims=keepdims)
        deviation = jnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims)
        return deviation / jnp.sqrt(count).astype(x.dtype)
    raise ValueError(f"sem: nan_policy={nan_policy!r} is not supported")
