"""Chapter 11: modified Bessel functions, scaled by exp(-|x|) so that they do not overflow.

CHLO knows the one of order 1. That of order 0 is the mean of exp(|x| (cos θ - 1)) over the circle,
https://dlmf.nist.gov/10.32.E1. Averaging over equidistant angles converges so fast that it is how
we find, once for each precision, two polynomials that replace it.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.core import typeof
from ..core.forward import defjvp2
from ..core.primitives import select
from . import elementwise as lax
from . import rounding
from .families import chlo_rule, lower_program
from .shaping import full_like
from .special import special_primitive

CROSSOVER = 8.0


def _mean_over_circle(x: Any) -> Any:
    """exp(-x) I₀(x) in double precision, for 0 ≤ x < 20000."""
    angles = np.linspace(0, math.pi, 2001)
    values = np.exp(np.multiply.outer(x, np.cos(angles) - 1))
    return (values[..., 1:] + values[..., :-1]).mean(-1) / 2


@functools.cache
def _polynomials(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Chebyshev coefficients: of the function below the crossover, by the variable x; and of √x
    times the function above it, by the variable 1/x. Both variables are stretched to [-1, 1]."""
    chebyshev = np.polynomial.chebyshev  # imported when it is used first
    below = chebyshev.chebinterpolate(lambda u: _mean_over_circle(CROSSOVER / 2 * (u + 1)), 32)
    above = chebyshev.chebinterpolate(_scaled_mean, 32)
    small = float(dtypes.finfo(dtype).eps) / 8
    return chebyshev.chebtrim(below, small), chebyshev.chebtrim(above, small)


def _scaled_mean(u):
    x = 2 * CROSSOVER / (u + 1)
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
    """t (I₀ - I₁ / x) exp(-|x|), less the derivative of the scale; near 0 it is t / 2."""
    eps = dtypes.finfo(typeof(x).dtype).eps
    is_tiny = ~(abs(x) > eps)
    safe = select(is_tiny, full_like(x, eps), x)
    slope = bessel_i0e(safe) - y * (rounding.sign(safe) + lax.reciprocal(safe))
    return t * select(is_tiny, full_like(x, 0.5), slope)


defjvp2(bessel_i0e_p, lambda t, y, x: t * (bessel_i1e(x) - rounding.sign(x) * y))
defjvp2(bessel_i1e_p, _slope_of_order_one)
