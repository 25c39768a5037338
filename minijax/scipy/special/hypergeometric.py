"""Hypergeometric functions, by their series."""

import numpy as np

from ... import numpy as jnp
from ...core.api import jvp
from ...custom_rules import custom_jvp
from ...numpy._arguments import promote_numbers_inexact
from ...runtime.jit import jit
from .entropies import real_args
from .exponential_integrals import sum_until_small
from .gammas import gamma

MOST_TERMS = 20_000


def _by_parameter(function, args, i):
    """The derivative of a loop by its parameter number `i`. The loop's carry needs one type."""
    args = jnp.broadcast_arrays(*promote_numbers_inexact("hypergeometric function", *args))

    def along(value):
        return function(*args[:i], value, *args[i + 1:])

    return jvp(along, (args[i],), (jnp.ones_like(args[i]),))[1]


# ----------------------------------------------------------------------------------------------
# ₁F₁


def _kummer(a, b, x):
    """The sum of (a)ₖ xᵏ / ((b)ₖ k!), https://dlmf.nist.gov/13.2.E2; and for large x that of
    (1 - a)ₖ (b - a)ₖ x⁻ᵏ / k! times Γ(b)/Γ(a) eˣ xᵃ⁻ᵇ, https://dlmf.nist.gov/13.7.E1."""
    is_large = abs(x) >= 100
    small, large = jnp.where(is_large, 1, x), jnp.where(is_large, x, 100)
    one = jnp.ones_like(x)
    series = sum_until_small(
        one, lambda term, k: term * ((a + k - 1) / (b + k - 1) * small / k), most=500)
    asymptotic = sum_until_small(
        one, lambda term, k: term * ((b - a + k - 1) * (k - a) / k / large), most=50)
    scale = gamma(b) / gamma(a) * jnp.exp(large) * large ** (a - b)
    return jnp.where(is_large, scale * asymptotic, series)


@custom_jvp
@jit
def hyp1f1(a, b, x):
    """Kummer's function ₁F₁(a; b; x), the confluent hypergeometric function.

    Args:
      a, b, x: real arrays that broadcast together.

    Raises:
      ValueError: complex numbers.

    >>> hyp1f1(1.0, 1.0, 0.0).item()
    1.0
    """
    a, b, x = jnp.broadcast_arrays(*real_args("hyp1f1", a, b, x))
    special = (a == 0) | (b == 0) | (a == b)
    value = _kummer(jnp.where(special, 1, a), jnp.where(special, 2, b), x)
    value = jnp.where(a == b, jnp.exp(x), value)
    return jnp.where(a == 0, 1, jnp.where(b == 0, np.inf, value)).astype(x.dtype)


hyp1f1.defjvps(
    lambda t, ans, a, b, x: (_by_parameter(_kummer, (a, b, x), 0) * t).astype(ans.dtype),
    lambda t, ans, a, b, x: (_by_parameter(_kummer, (a, b, x), 1) * t).astype(ans.dtype),
    lambda t, ans, a, b, x: (a / b * hyp1f1(a + 1, b + 1, x) * t).astype(ans.dtype))

# ----------------------------------------------------------------------------------------------
# ₂F₁


def _gauss(a, b, c, x):
    """The sum of (a)ₖ (b)ₖ xᵏ / ((c)ₖ k!). Negative x are brought into [0, 1) by Pfaff's
    transformation, https://dlmf.nist.gov/15.8.E1."""
    negative = x < 0
    b = jnp.where(negative, c - b, b)
    scale = jnp.where(negative, (1 - jnp.where(negative, x, 0)) ** -a, 1)
    x = jnp.where(negative, x / (x - 1), x)
    return scale * sum_until_small(
        jnp.ones_like(x),
        lambda term, k: term * ((a + k - 1) * (b + k - 1) / (c + k - 1) / k * x), most=MOST_TERMS)


@custom_jvp
@jit
def hyp2f1(a, b, c, x):
    """Gauss' hypergeometric function ₂F₁(a, b; c; x), for x up to 1.

    Args:
      a, b, c, x: real arrays that broadcast together.

    Raises:
      TypeError: complex numbers.

    >>> hyp2f1(1.0, 1.0, 1.0, 0.5).round(4).item()  # 1 / (1 - x)
    2.0
    """
    a, b, c, x = jnp.broadcast_arrays(*promote_numbers_inexact("hyp2f1", a, b, c, x))
    excess = c - a - b
    is_one = (x == 0) | (((a == 0) | (b == 0)) & (c != 0))
    is_infinite = (c == 0) | ((c < 0) & (c % 1 == 0)) | ((excess <= 0) & (x == 1)) | (x > 1)
    at_one = x == 1
    z = jnp.where(is_one | is_infinite | at_one, 0, x)
    c_ = jnp.where(is_infinite, 1, c)
    # Euler's transformation makes the terms small.
    euler = excess <= -1
    value = _gauss(jnp.where(euler, c_ - a, a), jnp.where(euler, c_ - b, b), c_, z)
    value = jnp.where(euler, (1 - z) ** jnp.where(euler, excess, 0) * value, value)
    sum_at_one = gamma(c) * gamma(excess) / (gamma(c - a) * gamma(c - b))
    value = jnp.where(at_one, sum_at_one, value)
    return jnp.where(is_one, 1, jnp.where(is_infinite, np.inf, value)).astype(x.dtype)


hyp2f1.defjvps(
    lambda t, ans, a, b, c, x: (_by_parameter(_gauss, (a, b, c, x), 0) * t).astype(ans.dtype),
    lambda t, ans, a, b, c, x: (_by_parameter(_gauss, (a, b, c, x), 1) * t).astype(ans.dtype),
    lambda t, ans, a, b, c, x: (_by_parameter(_gauss, (a, b, c, x), 2) * t).astype(ans.dtype),
    lambda t, ans, a, b, c, x: (a * b / c * hyp2f1(a + 1, b + 1, c + 1, x) * t).astype(ans.dtype))
