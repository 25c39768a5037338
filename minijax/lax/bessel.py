"""Chapter 11: modified Bessel functions, scaled by exp(-|x|) so that they do not overflow.

CHLO has the one of order 1. That of order 0 is the mean of exp(|x| (cos θ - 1)) over the circle,
https://dlmf.nist.gov/10.32.E1. Averaging over equidistant angles converges so fast that it is how
we find, once for each precision, two polynomials that replace it.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.forward import defjvp2
from . import elementwise as lax, rounding
from .families import chlo_rule, lower_program
from .selection import select
from .shaping import full_like
from .special import special_primitive

CROSSOVER = 8.0
# The coefficients are computed with more digits than they keep: at the ends of the interval, all
# their errors add up. (Where `longdouble` is double precision, 14 digits of the sum are right.)
PI = 4 * np.arctan(np.longdouble(1))


def _mean_over_circle(x: Any) -> Any:
    """exp(-x) I₀(x) in the precision of x, for 0 ≤ x < 20000."""
    halves = np.arange(2001) * PI / 4000  # cos θ - 1 = -2 sin²(θ/2)
    values = np.exp(np.multiply.outer(-2 * x, np.sin(halves) ** 2))
    return (values[..., 1:] + values[..., :-1]).mean(-1) / 2


def _interpolate(f: Callable, degree: int) -> np.ndarray:
    """Chebyshev coefficients of a function, which takes 1 + u for u in [-1, 1]."""
    numbers = np.arange(degree + 1)
    angles = (numbers + 0.5) * PI / (degree + 1)
    values = f(2 * np.cos(angles / 2) ** 2) * np.cos(np.multiply.outer(numbers, angles))
    return values.mean(-1) * np.where(numbers, 2, 1)


@functools.cache
def _polynomials(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Chebyshev coefficients: of the function below the crossover, by the variable x; and of √x
    times the function above it, by the variable 1/x. Both variables are stretched to [-1, 1]."""
    trim = np.polynomial.chebyshev.chebtrim  # imported when it is used first
    below = _interpolate(lambda w: _mean_over_circle(CROSSOVER / 2 * w), 32)
    above = _interpolate(lambda w: _scaled_mean(2 * CROSSOVER / w), 32)
    small = float(dtypes.finfo(dtype).eps) / 8
    return trim(below.astype(np.float64), small), trim(above.astype(np.float64), small)


def _scaled_mean(x):
    return np.sqrt(x) * _mean_over_circle(x)


def _polynomial(coefficients, u):
    """Clenshaw's recurrence: the sum of cₙ Tₙ(u)."""
    b1 = b2 = full_like(u, 0)
    for c in coefficients[:0:-1]:
        b1, b2 = 2 * u * b1 - b2 + float(c), b1
    return u * b1 - b2 + float(coefficients[0])


def _order_zero(x):
    x = abs(x)
    below, above = _polynomials(typeof(x).dtype)
    return select(x <= CROSSOVER, _polynomial(below, x * (2 / CROSSOVER) - 1),
                      _polynomial(above, 2 * CROSSOVER / x - 1) / lax.sqrt(x))


bessel_i0e_p = special_primitive("bessel_i0e", 1, lower_program(_order_zero))
bessel_i1e_p = special_primitive("bessel_i1e", 1, chlo_rule("bessel_i1e"))


@public
def bessel_i0e(x):
    """exp(-|x|) I₀(x), where I₀ is the modified Bessel function of order 0, elementwise.

    Args:
      x: a float array.

    Raises:
      TypeError: another dtype.

    >>> lax.bessel_i0e(0.0).round(4).item()
    1.0
    """
    return bessel_i0e_p.bind(x)


@public
def bessel_i1e(x):
    """exp(-|x|) I₁(x), where I₁ is the modified Bessel function of order 1, elementwise.

    Args:
      x: a float array.

    Raises:
      TypeError: another dtype.

    >>> lax.bessel_i1e(0.0).item()
    0.0
    """
    return bessel_i1e_p.bind(x)


def _slope_of_order_one(t, y, x):
    """t (I₀ - I₁ / x) exp(-|x|), less the derivative of the scale; near 0 it is t (1/2 - |x|)."""
    eps = dtypes.finfo(typeof(x).dtype).eps
    is_tiny = ~(abs(x) > eps)
    near = full_like(x, 0.5) - x * rounding.sign(x)
    safe = select(is_tiny, full_like(x, eps), x)
    slope = bessel_i0e(safe) - y * (rounding.sign(safe) + lax.reciprocal(safe))
    return t * select(is_tiny, near, slope)


def unscaled(x, scaled):
    """exp(|x|) times a scaled function. |x| is written as x sign(x), whose slope at 0 is 0: the
    functions are smooth there, as their scaled forms are not."""
    return lax.mul(lax.exp(lax.mul(x, rounding.sign(x))), scaled)


defjvp2(bessel_i0e_p, lambda t, y, x: t * (bessel_i1e(x) - rounding.sign(x) * y))
defjvp2(bessel_i1e_p, _slope_of_order_one)
