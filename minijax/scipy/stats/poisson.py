"""The distribution of Poisson: probabilities μᵏ exp(-μ) / k!

>>> pmf(0, 0.0).round(4).item()
1.0
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ...numpy._arguments import constant_like, ensure_arraylikes, promote_dtypes_inexact
from ...runtime.jit import jit
from .. import special
from ._quantities import exponential, quantity


@quantity
def logpmf(k, mu, loc=0):
    x = k - loc
    log_probability = special.xlogy(x, mu) - special.gammaln(x + 1) - mu
    return jnp.where(jnp.logical_or(x < 0, lax.ne(jnp.round(k), k)), -np.inf, log_probability)


pmf = exponential(logpmf)


@quantity
def cdf(k, mu, loc=0):
    x = k - loc
    probability = special.gammaincc(jnp.floor(1 + x), mu)
    return jnp.where(x < 0, constant_like(k, 0), probability)


@jit
def entropy(mu, loc=0):
    """The entropy: the sum over its terms where they count, and for mu above 100 an expansion.

    Args:
      mu, loc: real arrays that broadcast together.

    >>> entropy(0.0).item()
    0.0
    """
    mu, loc = promote_dtypes_inexact(*ensure_arraylikes("poisson.entropy", mu, loc))
    flat = jnp.ravel(mu)
    large = 0.5 * jnp.log(2 * np.pi * np.e * flat) - 1.0 / (12 * flat)
    few = _sum_of_terms(flat, 35, flat + 20)
    many = _sum_of_terms(flat, 250, flat + 10 * jnp.sqrt(flat) + 20)
    result = jnp.where(flat < 10, few, jnp.where(flat < 100, many, large))
    result = jnp.where(flat == 0, 0, result).reshape(mu.shape)
    return jnp.broadcast_to(result, jnp.broadcast_shapes(mu.shape, loc.shape))


def _sum_of_terms(mu, most: int, end):
    k = jnp.arange(most, dtype=mu.dtype)[:, None]
    terms = special.entr(jnp.where(k < jnp.ceil(end), pmf(k, mu), 0.0))
    return jnp.sum(terms, axis=0)
