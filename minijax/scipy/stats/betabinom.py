"""The beta-binomial distribution: a binomial one, whose probability has a beta distribution.

>>> pmf(1, 1, 1.0, 1.0).round(4).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax, rounding
from ...numpy._arguments import constant_like
from ...runtime.jit import jit
from ..special import betaln
from ._quantities import exponential, quantity


@jit
@quantity
def logpmf(k, n, a, b, loc=0):
    y = rounding.floor(k) - loc
    one = constant_like(y, 1)
    log_ways = -(lax.log1p(n) + betaln(n - y + one, y + one))
    log_probability = log_ways + (betaln(y + a, n - y + b) - betaln(a, b))
    log_probability = jnp.where(jnp.logical_and(y == 0, n == 0), 0.0, log_probability)
    impossible = jnp.logical_or(jnp.logical_or(y < -loc, y > n), y + a <= 0)
    log_probability = jnp.where(impossible, -np.inf, log_probability)
    bad = jnp.logical_or(jnp.logical_or(n < 0, a <= 0), b <= 0)
    return jnp.where(bad, np.nan, log_probability)


pmf = exponential(logpmf)
