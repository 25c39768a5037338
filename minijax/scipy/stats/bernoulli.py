"""The distribution of Bernoulli: 1 with probability p, 0 with probability 1 - p.

>>> pmf(1, 0.25).item()
0.25
"""

import numpy as np

from ... import numpy as jnp
from ...numpy._arguments import constant_like
from .. import special
from ._quantities import exponential, quantity


@quantity
def logpmf(k, p, loc=0):
    x = k - loc
    log_probability = special.xlogy(x, p) + special.xlog1py(constant_like(k, 1) - x, -p)
    return jnp.where(jnp.logical_or(x < 0, x > 1), -np.inf, log_probability)


pmf = exponential(logpmf)


@quantity
def cdf(k, p):
    bad = jnp.isnan(k) | jnp.isnan(p) | (p < 0) | (p > 1)
    zero, one = constant_like(k, 0), constant_like(k, 1)
    conditions = [bad, k < 0, jnp.logical_and(k >= 0, k < 1), k >= 1]
    return jnp.select(conditions, [jnp.nan, zero, one - p, one])


@quantity
def ppf(q, p):
    bad = jnp.isnan(q) | jnp.isnan(p) | (p < 0) | (p > 1) | (q < 0) | (q > 1)
    zero, one = constant_like(q, 0), constant_like(q, 1)
    return jnp.where(bad, jnp.nan, jnp.where(q <= one - p, zero, one))
