"""Integrals of exponentials over powers: Ei, and Eₙ for n = 0, 1, 2 …

Small arguments have a power series, large ones a continued fraction or an asymptotic series. Each
is a loop that ends when all elements have converged.
"""

import math

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.boundary import public
from ...core.core import typeof
from ...custom_rules import custom_jvp
from ...lax import elementwise as lax
from ...lax.control_flow.while_loop import while_loop
from ...lax.special import digamma, lgamma
from ...numpy._arguments import constant_like
from ...numpy._vectorize import vectorize
from ...runtime.jit import jit
from .entropies import real_args


def sum_until_small(term, step, most: int = 500, start=1):
    """term + step(term, k) + … for k = `start`, `start` + 1 …, until no element changes."""
    eps = float(dtypes.finfo(typeof(term).dtype).eps)

    def more(state):
        k, term, total = state
        term = step(term, k)
        return k + 1, term, total + term

    def going_on(state):
        k, term, total = state
        return (k < most + start) & jnp.any(abs(term) > eps * abs(total))

    first = jnp.asarray(start, typeof(term).dtype)
    return while_loop(going_on, more, (first, term, term))[2]


# ----------------------------------------------------------------------------------------------
# Ei


@custom_jvp
@jit
def expi(x):
    """Ei(x), the principal value of ∫ exp(t) / t dt from -∞ to x.

    Args:
      x: a real array.

    Raises:
      ValueError: complex numbers.

    >>> expi(1.0).round(4).item()
    1.8950999975204468
    """
    (x,) = real_args("expi", x)
    negative, positive = jnp.where(x < 0, x, -1), jnp.where(x > 0, x, 1)
    return jnp.where(x < 0, -exp1(-negative), jnp.where(x > 0, _expi_positive(positive), np.nan))


@expi.defjvp
@jit
def _expi_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return expi(x), jnp.exp(x) / x * t


def _expi_positive(x):
    """https://dlmf.nist.gov/6.6.E2 and https://dlmf.nist.gov/6.12.E2"""
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    terms = 20 if wide.dtype == np.float32 else 40  # of the asymptotic series: up to its smallest
    small, large = jnp.minimum(wide, terms), jnp.maximum(wide, terms)
    # The terms xᵏ / (k k!), over k / (k + 1)² times x from one to the next.
    series = sum_until_small(small, lambda term, k: term * small * k / (k + 1) ** 2)
    asymptotic, term = jnp.ones_like(large), jnp.ones_like(large)
    for k in range(1, terms):
        term = term * k / large
        asymptotic = asymptotic + term
    return jnp.where(wide <= terms, np.euler_gamma + jnp.log(small) + series,
                     jnp.exp(large) / large * asymptotic).astype(x.dtype)


# ----------------------------------------------------------------------------------------------
# Eₙ


def expn(n, x):
    """∫₁^∞ exp(-xt) / tⁿ dt, the exponential integral of order n.

    Args:
      n: a whole number, or an array of them; it is not differentiated.
      x: a real array.

    Raises:
      ValueError: complex numbers.

    >>> expn(1, 1.0).round(4).item()
    0.21940000355243683
    """
    n, x = real_args("expn", n, x)
    dtype, wide = x.dtype, np.promote_types(x.dtype, np.float32)
    n, x = n.astype(wide), x.astype(wide)
    inside = (n > 0) & (x > 0)
    n_, x_ = jnp.where(inside, n, 1), jnp.where(inside, x, 1)
    is_small, is_high = x_ <= 1, n_ >= 5000
    series = _expn_series(jnp.where(is_high | ~is_small, 1, n_), jnp.where(is_small, x_, 1))
    fraction = continued_fraction_of_expn(jnp.where(is_high, 1, n_), jnp.where(is_small, 2, x_))
    value = jnp.where(is_high, _expn_high(n_, x_), jnp.where(is_small, series, fraction))
    at_zero = jnp.where(n < 2, np.inf, 1 / jnp.where(n < 2, 1, n - 1))
    value = jnp.where(x == 0, at_zero, value)
    value = jnp.where((n == 0) & (x > 0), jnp.exp(-x) / x, value)
    return jnp.where((n < 0) | (x < 0) | jnp.isnan(x), np.nan, value).astype(dtype)


expn = custom_jvp(vectorize(jit(expn)))


@expn.defjvp
def _expn_jvp(primals, tangents):
    # `n` is an operand: a rule that closed over it could not run after the trace of `n` has ended.
    (n, x), (_, t) = primals, tangents
    is_last = lax.eq(n, constant_like(n, 0))
    of_last = jnp.exp(-x) * (1 + x) / (x * x)  # E₀(x) = exp(-x) / x; there is no order below
    lower = expn(jnp.where(is_last, n, lax.sub(n, constant_like(n, 1))), x)
    return expn(n, x), lax.mul(lax.neg(t), jnp.where(is_last, of_last, lower))


def _expn_series(n, x):
    """https://dlmf.nist.gov/8.19.E8: in the power series, one term has a logarithm. For x ≤ 1."""
    total = (-1) ** (n - 1) * jnp.exp((n - 1) * jnp.log(x) - lgamma(n)) * (digamma(n) - jnp.log(x))
    for k in range(20):
        has_log = n == k + 1
        term = (-x) ** k / (float(math.factorial(k)) * jnp.where(has_log, 1, k + 1 - n))
        total = total - jnp.where(has_log, 0, term)
    return total


def continued_fraction_of_expn(n, x):
    """https://dlmf.nist.gov/8.19.E17, every second step, by the method of Lentz; for x > 1."""
    eps = float(dtypes.finfo(typeof(x).dtype).eps)

    def step(state):
        k, numerators, denominators, value, active = state
        a, b = -k * (n - 1 + k), x + n + 2 * k
        denominators = 1 / (b + a * denominators)
        numerators = jnp.where(k == 1, b, b + a / numerators)
        change = numerators * denominators
        value = jnp.where(active, value * change, value)
        return k + 1, numerators, denominators, value, active & (abs(change - 1) > eps)

    def going_on(state):
        return jnp.any(state[4]) & (state[0].real < 1000)

    first = 1 / (x + n)
    start = jnp.ones((), x.dtype), first, first, first, jnp.ones(first.shape, bool)
    return while_loop(going_on, step, start)[3] * jnp.exp(-x)


def _expn_high(n, x):
    """https://dlmf.nist.gov/8.20.E6, an expansion by 1 / n."""
    total, ratio = x + n, x / n
    w = n / (total * total)
    terms = 1 + w * (1 + w * (1 - 2 * ratio + w * (1 - 8 * ratio + 6 * ratio * ratio)))
    return terms * jnp.exp(-x) / total


@public
def exp1(x):
    """E₁(x) = ∫₁^∞ exp(-xt) / t dt.

    Args:
      x: a real array.

    Raises:
      ValueError: complex numbers.

    >>> exp1(1.0).round(4).item()
    0.21940000355243683
    """
    return expn(1, *real_args("exp1", x))
