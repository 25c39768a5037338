"""The truncated normal distribution: the normal one, given that z = (x - loc) / scale is between
a and b.

>>> cdf(0.0, -1.0, 1.0).round(4).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...runtime.jit import jit
from ..special import log_ndtr, logsumexp, ndtr
from . import norm
from ._quantities import exponential, quantity


def _log_difference(x, y):
    """log(exp(x) - exp(y))"""
    signs = jnp.array([jnp.ones_like(x), -jnp.ones_like(y)])
    return logsumexp(jnp.array([x, y]), b=signs, axis=0)


def _log_mass(a, b):
    """The logarithm of the probability that a normal sample is between `a` and `b`: a difference
    of two small tails, or, around the middle, 1 less both of them."""
    a, b = jnp.broadcast_arrays(jnp.array(a), jnp.array(b))
    is_right = a > 0
    is_central = ~((b <= 0) | is_right)
    low, high = jnp.where(is_right, -b, a), jnp.where(is_right, -a, b)
    of_tail = _log_difference(log_ndtr(high), log_ndtr(low))
    return jnp.where(is_central, jnp.log1p(-ndtr(a) - ndtr(-b)), of_tail)


@jit
@quantity
def logpdf(x, a, b, loc=0, scale=1):
    log_density = norm.logpdf(x, loc, scale) - _log_mass(a, b)
    z = (x - loc) / scale
    log_density = jnp.where((z < a) | (z > b), -np.inf, log_density)
    return jnp.where(a >= b, np.nan, log_density)


pdf = exponential(logpdf)


@jit
@quantity
def logcdf(x, a, b, loc=0, scale=1):
    x, a, b = jnp.broadcast_arrays(x, a, b)
    z = (x - loc) / scale
    log_mass = _log_mass(a, b)
    below = _log_mass(a, z) - log_mass
    above = _log_mass(z, b) - log_mass
    result = jnp.select([z >= b, z <= a, below > -0.1, z > a],
                        [0, -np.inf, jnp.log1p(-jnp.exp(above)), below])
    return jnp.where(a >= b, np.nan, result)


@jit
@quantity
def logsf(x, a, b, loc=0, scale=1):
    return logcdf(-x, -b, -a, -loc, scale)


cdf, sf = jit(exponential(logcdf)), jit(exponential(logsf))
