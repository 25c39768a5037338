"""The binomial distribution: how many of n independent events, each of probability p, happen.

>>> pmf(1, 2, 0.5).round(4).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ..special import gammaln, xlog1py, xlogy
from ._quantities import exponential, quantity


@quantity
def logpmf(k, n, p, loc=0):
    y = k - loc
    log_ways = gammaln(n + 1) - (gammaln(y + 1) + gammaln(n - y + 1))
    log_powers = xlogy(y, p) + xlog1py(n - y, -p)
    log_probability = log_ways + log_powers
    is_certain = jnp.logical_or(jnp.logical_and(y == 0, n == 0), log_powers == 0)
    log_probability = jnp.where(is_certain, 0.0, log_probability)
    return jnp.where((k >= loc) & (k < loc + n + 1), log_probability, -np.inf)


pmf = exponential(logpmf)
