"""The negative binomial distribution: how many trials fail before the n-th success, of
probability p each.

>>> pmf(0, 1, 0.5).round(4).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...numpy._arguments import constant_like
from ..special import gammaln, xlogy
from ._quantities import exponential, quantity


@quantity
def logpmf(k, n, p, loc=0):
    y = k - loc
    log_ways = gammaln(y + n) - gammaln(n) - gammaln(y + constant_like(k, 1))
    log_powers = xlogy(n, p) + xlogy(y, 1 - p)
    log_probability = log_ways + log_powers
    return jnp.where(k < loc, -np.inf, log_probability)


pmf = exponential(logpmf)
