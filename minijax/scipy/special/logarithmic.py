"""The sine and cosine integrals, and the dilogarithm."""

import math

import numpy as np

from ... import numpy as jnp
from ...core.boundary import public
from ...core.core import typeof
from ...core.primitives import convert
from ...custom_rules import custom_jvp
from ...lax import complex_numbers
from ...runtime.jit import jit
from .entropies import real_args
from .exponential_integrals import continued_fraction_of_expn
from .gammas import bernoulli_over_factorial


@custom_jvp
@jit
def sici(x):
    """The sine integral ∫₀ˣ sin(t)/t dt, and the cosine integral γ + log x + ∫₀ˣ (cos(t) - 1)/t dt.

    Args:
      x: a real array.

    Returns:
      both integrals; the cosine integral is that of |x|.

    Raises:
      ValueError: complex numbers.

    >>> [y.round(4).item() for y in sici(1.0)]
    [0.9460999965667725, 0.33739998936653137]
    """
    (x,) = real_args("sici", x)
    size = abs(x)
    is_small, is_inf = size <= 4, jnp.isinf(size)
    small = _sici_series(jnp.where(is_small & (x != 0), size, 1))
    large = _sici_fraction(jnp.where(is_small | is_inf, 8, size))
    si = jnp.where(is_small, small[0], jnp.where(is_inf, np.pi / 2, large[0]))
    ci = jnp.where(is_small, small[1], jnp.where(is_inf, 0.0, large[1]))
    si = jnp.where(x == 0, 0.0, si)
    ci = jnp.where(x == 0, -np.inf, jnp.where(jnp.isneginf(x), np.nan, ci))
    return (jnp.sign(x) * si).astype(x.dtype), ci.astype(x.dtype)


@sici.defjvp
@jit
def _sici_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return sici(x), (jnp.sinc(x / np.pi) * t, jnp.cos(x) / x * t)


def _sici_series(x):
    """https://dlmf.nist.gov/6.6.E5 and https://dlmf.nist.gov/6.6.E6, for x up to 4: the terms of
    exp(ix), each integrated."""
    term = x
    si, ci = x, np.euler_gamma + jnp.log(x)
    for k in range(2, 30):
        term = term * x / k
        sign = -1 if k % 4 >= 2 else 1
        if k % 2:
            si = si + sign * term / k
        else:
            ci = ci + sign * term / k
    return si, ci


def _sici_fraction(x):
    """As E₁(ix) = -Ci(x) + i (Si(x) - π/2), https://dlmf.nist.gov/6.5.E6."""
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    e1 = continued_fraction_of_expn(1, complex_numbers.complex(jnp.zeros_like(wide), wide))
    return np.pi / 2 + e1.imag, -e1.real


@public
def spence(x):
    """Spence's function, ∫ log(t) / (1 - t) dt from 1 to x: the dilogarithm of 1 - x.

    Args:
      x: an array, float32 or float64.

    Raises:
      TypeError: another dtype.

    >>> spence(1.0).item()
    0.0
    """
    x = jnp.asarray(x)
    dtype = typeof(x).dtype
    if dtype not in (np.float32, np.float64):
        raise TypeError(f"spence takes float32 or float64 arrays; got {dtype.name}")
    return convert(_spence(x), dtype)


@jit
def _spence(x):
    # From all x > 0 to 1/x or x, in (0, 1]; and from there to y or 1 - y, in [1/2, 1].
    inside, is_above = jnp.where(x > 0, x, 1), x > 1
    above = jnp.where(is_above, inside, 1)
    y = jnp.where(is_above, 1 / above, inside)
    is_small = y < 0.5
    value = _spence_near_one(jnp.where(is_small, 1 - y, y))
    product = jnp.log(y) * jnp.log(jnp.where(is_small, 1 - y, 1))
    value = jnp.where(is_small, math.pi**2 / 6 - product - value, value)
    value = jnp.where(is_above, -0.5 * jnp.log(above) ** 2 - value, value)
    value = jnp.where(x > 0, value, jnp.where(x == 0, math.pi**2 / 6, np.nan))
    is_nan = jnp.isnan(x)
    return jnp.where(is_nan, jnp.exp(jnp.where(is_nan, x, 0)), value)  # so are its derivatives


def _spence_near_one(x):
    """The integral of u / (eᵘ - 1), where u = -log x: a series of Bernoulli's numbers."""
    u = -jnp.log(x)
    total, power = jnp.zeros_like(u), u
    for k, coefficient in enumerate(bernoulli_over_factorial(18)):
        total = total + power * (float(coefficient) / (k + 1))
        power = power * u
    return total
