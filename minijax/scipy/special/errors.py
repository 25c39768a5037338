"""The error function and what is made of it: the normal distribution, Dawson, Faddeeva, Fresnel."""

import math

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.boundary import public
from ...core.core import typeof
from ...custom_rules import custom_jvp
from ...lax import elementwise as lax, special as families
from ...lax.selection import select
from ...numpy._arguments import constant_like, promote_numbers_inexact
from ...runtime.jit import jit

SQRT_2 = math.sqrt(2)
SINGLE_OR_DOUBLE = (np.float32, np.float64)


@public
def erf(x):
    """The error function, 2/√π ∫₀ˣ exp(-t²) dt.

    Args:
      x: a real array.

    >>> erf(0.0).item()
    0.0
    """
    return families.erf(*promote_numbers_inexact("erf", x))


@public
def erfc(x):
    """1 - erf(x), exact where that is small.

    Args:
      x: a real array.

    >>> erfc(0.0).item()
    1.0
    """
    return families.erfc(*promote_numbers_inexact("erfc", x))


@public
def erfinv(x):
    """The inverse of `erf`.

    Args:
      x: a real array.

    >>> erfinv(0.0).item()
    0.0
    """
    return families.erf_inv(*promote_numbers_inexact("erfinv", x))


# ----------------------------------------------------------------------------------------------
# The normal distribution


def _check_dtype(name: str, dtype) -> None:
    if dtype not in SINGLE_OR_DOUBLE:
        raise TypeError(f"{name} takes float32 or float64 arrays; got {np.dtype(dtype).name}")


@public
def ndtr(x):
    """The cumulative distribution function of the normal distribution.

    Args:
      x: an array, float32 or float64.

    Raises:
      TypeError: another dtype.

    >>> ndtr(0.0).item()
    0.5
    """
    x = jnp.asarray(x)
    _check_dtype("ndtr", typeof(x).dtype)
    return _ndtr(x)


def _ndtr(x):
    """By `erf` in the middle, and by `erfc` where the result or 1 minus it is small."""
    number = typeof(x).dtype.type
    root = number(0.5) * np.sqrt(2.0, dtype=number)
    w = x * root
    z = lax.abs_(w)
    is_middle, middle = lax.lt(z, root), number(1.0) + families.erf(w)
    tail = select(lax.gt(w, number(0.0)), number(2.0) - families.erfc(z), families.erfc(z))
    return number(0.5) * select(is_middle, middle, tail)


@public
def ndtri(p):
    """The inverse of `ndtr`: the quantiles of the normal distribution.

    Args:
      p: an array of probabilities, float32 or float64.

    Raises:
      TypeError: another dtype.

    >>> ndtri(0.5).item()
    0.0
    """
    _check_dtype("ndtri", typeof(p).dtype)
    return _ndtri(jnp.asarray(p))


@custom_jvp
@jit
def _ndtri(p):
    """By symmetry, for probabilities up to 1/2. Newton's method finds where the logarithm of
    `ndtr`, a concave function, has the wanted value; Mills' ratio suggests the start."""
    number = typeof(p).dtype.type
    small = jnp.where(p > 0.5, 1 - p, p)
    inside = (small > 0) & (small <= 0.5)
    log_p = lax.log(jnp.where(inside, small, number(0.25)))
    z = lax.sqrt(-2 * log_p)
    middle = SQRT_2 * families.erf_inv(2 * jnp.where(small > 0.1, small, 0.25) - 1)
    x = jnp.where(small > 0.1, middle, -z + (lax.log(z) + 0.5 * math.log(2 * math.pi)) / z)
    least = dtypes.finfo(p.dtype).smallest_normal
    for _ in range(3):  # 2 ndtr(x) is normal even where ndtr(x) is not
        log_ndtr_x = lax.log(jnp.maximum(families.erfc(-x / SQRT_2), least)) - math.log(2)
        x = x - (log_ndtr_x - log_p) * lax.exp(log_ndtr_x - _log_density(x))
    x = jnp.where(p > 0.5, -x, x)
    ends = jnp.where(p == 0, -np.inf, jnp.where(p == 1, np.inf, np.nan)).astype(p.dtype)
    return jnp.where(inside, x, ends)


def _ndtri_slope(t, ans, p):
    """1 / density, and by convention 0 at both ends, where that is infinite."""
    is_end = jnp.isinf(ans)
    return t * jnp.where(is_end, 0, lax.exp(-_log_density(jnp.where(is_end, 0, ans))))


_ndtri.defjvps(_ndtri_slope)


def _log_density(x):
    return lax.sub(lax.mul(constant_like(x, -0.5), lax.square(x)),
                   constant_like(x, np.log(np.sqrt(2 * np.pi))))


# Below and above these points, log_ndtr is computed by series.
_LOW, _HIGH = {"float32": -10, "float64": -20}, {"float32": 5, "float64": 8}


def log_ndtr(x, series_order: int = 3):
    """log(ndtr(x)), by an asymptotic series for large negative x.

    Args:
      x: an array, float32 or float64.
      series_order: how many terms of the series, from 0 to 30.

    Raises:
      TypeError: another dtype; a `series_order` that is no int.
      ValueError: a `series_order` out of range.

    >>> log_ndtr(-100.0).round(1).item()
    -5005.5
    """
    if not isinstance(series_order, int):
        raise TypeError(f"series_order must be a Python integer; got {series_order!r}")
    if not 0 <= series_order <= 30:
        raise ValueError(f"series_order must be from 0 to 30; got {series_order}.")
    x = jnp.asarray(x)
    dtype = typeof(x).dtype
    _check_dtype("log_ndtr", dtype)
    low, high = (np.array(end[dtype.name], dtype) for end in (_LOW, _HIGH))
    is_high = lax.gt(x, high)
    middle = _ndtr(jnp.where(is_high, -x, lax.max(x, low)))
    return jnp.where(is_high, -middle,  # as log(1 - y) is nearly -y
                     jnp.where(lax.gt(x, low), lax.log(middle),
                               _log_ndtr_lower(lax.min(x, low), series_order)))


log_ndtr = custom_jvp(log_ndtr, nondiff_argnums=(1,))


@log_ndtr.defjvp
def _log_ndtr_jvp(series_order, primals, tangents):
    (x,), (t,) = primals, tangents
    ans = log_ndtr(x, series_order=series_order)
    # Far below, both logarithms are large, and their difference has no digits left.
    low = constant_like(x, _LOW[typeof(x).dtype.name])
    is_low = x <= low
    inside = lax.exp(_log_density(jnp.where(is_low, 0, x)) - jnp.where(is_low, 0, ans))
    below = jnp.where(is_low, x, low)
    return ans, lax.mul(t, jnp.where(is_low, -below / _mills_series(below, series_order), inside))


def _log_ndtr_lower(x, series_order):
    """log of exp(-x²/2) / (-x √2π) · (1 - 1/x² + 3/x⁴ - 15/x⁶ + …)"""
    number = typeof(x).dtype.type
    scale = -number(0.5) * lax.square(x) - lax.log(-x) - number(0.5 * np.log(2.0 * np.pi))
    return scale + lax.log(_mills_series(x, series_order))


def _mills_series(x, order):
    """1 - 1/x² · (1 - 3/x² · (1 - 5/x² · …))"""
    total = jnp.ones_like(x)
    for n in range(order, 0, -1):
        total = 1 - (2 * n - 1) / lax.square(x) * total
    return total
