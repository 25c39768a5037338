"""Chapter 11: the incomplete beta function, by its continued fraction.

I(a, b, x) = xᵃ (1 - x)ᵇ / (a B(a, b)) · 1 / (1 + d₁ / (1 + d₂ / (1 + …))), as in
https://dlmf.nist.gov/8.17.E22. It converges fast for x < (a + 1) / (a + b + 2); elsewhere
I(a, b, x) = 1 - I(b, a, 1 - x) helps.
"""

import math

from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.forward import defjvp
from . import elementwise as lax
from .control_flow.while_loop import while_loop
from .families import lower_program
from .reductions import reduce_or
from .selection import select
from .shaping import full_like
from .special import lgamma, not_differentiable, special_primitive

MOST_STEPS = 600


def _continued_fraction(a, b, x):
    """1 / (1 + d₁ / (1 + d₂ / …)) by the method of Lentz: the quotient of the numerators, and
    that of the denominators, of neighbouring beginnings each obey a recurrence. An element that has
    converged keeps its value, which the steps for others would spoil by rounding."""
    eps = float(dtypes.finfo(typeof(x).dtype).eps) / 2

    def nonzero(y):
        return select(abs(y) < eps, full_like(y, eps), y)

    def two_steps(state):
        m, numerators, denominators, value, active = state
        even = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        m = m + 1
        odd = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        for d in (even, odd):
            numerators = nonzero(1 + d / numerators)
            denominators = 1 / nonzero(1 + d * denominators)
            change = numerators * denominators
            value = select(active, value * change, value)
        return m, numerators, denominators, value, active & (abs(change - 1) >= eps)

    def going_on(state):
        return reduce_or(state[4], range(typeof(x).ndim)) & (state[0] < MOST_STEPS)

    zero, one = full_like(x, 0), full_like(x, 1)
    start = full_like(x, 0, shape=()), one, zero, one, full_like(x, True, bool)
    return 1 / while_loop(going_on, two_steps, start)[3]


def _beta_program(a, b, x):
    zero, one = full_like(x, 0), full_like(x, 1)
    at_zero, at_one = (a == 0) | (b == math.inf), (b == 0) | (a == math.inf)
    is_zero = (at_one & (x != 1)) | (at_zero & (x == 0))
    is_one = (at_zero & (x != 0)) | (at_one & (x == 1))
    bad = ((a < 0) | (b < 0) | (x < 0) | (x > 1) | (at_zero & at_one)
           | (a != a) | (b != b) | (x != x))
    special = is_zero | is_one | bad
    a, b, x = (select(special, one, y) for y in (a, b, x))
    result = _fast_or_reflected(a, b, x)
    result = select(is_one, one, select(is_zero, zero, result))
    return select(bad, full_like(x, math.nan), result)


def _fast_or_reflected(a, b, x):
    fast = x < (a + 1) / (a + b + 2)
    a, b, x = select(fast, a, b), select(fast, b, a), select(fast, x, 1 - x)
    # As a · B(a, b) = Γ(a + 1) Γ(b) / Γ(a + b), a tiny `a` does no harm.
    log_beta = lgamma(a + 1) + lgamma(b) - lgamma(a + b)
    weight = lax.exp(a * lax.log(x) + b * lax.log1p(-x) - log_beta)
    result = weight * _continued_fraction(a, b, x)
    return select(fast, result, 1 - result)


regularized_incomplete_beta_p = special_primitive(
    "regularized_incomplete_beta", 3, lower_program(_beta_program))


@public
def betainc(a, b, x):
    """The regularized incomplete beta function 1/B(a, b) ∫₀ˣ tᵃ⁻¹ (1 - t)ᵇ⁻¹ dt, elementwise: the
    probability that a sample of the beta distribution is below x.

    Args:
      a, b, x: float arrays of one dtype, and of one shape or scalars; x between 0 and 1.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.
      ValueError: differentiation by `a` or `b`.

    >>> lax.betainc(1.0, 2.0, 0.5).round(4).item()  # 1 - (1 - x)²
    0.75
    """
    return regularized_incomplete_beta_p.bind(a, b, x)


def _density(t, a, b, x):
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    log_density = (b - 1) * lax.log1p(-x) + (a - 1) * lax.log(x) - log_beta
    return lax.exp(log_density) * t


defjvp(regularized_incomplete_beta_p, not_differentiable("betainc", "a"),
       not_differentiable("betainc", "b"), _density)
