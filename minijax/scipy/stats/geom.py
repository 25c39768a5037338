"""The geometric distribution: which of independent trials, each of probability p, succeeds first.

>>> pmf(2, 0.5).item()
0.25
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ...numpy._arguments import constant_like
from ..special import xlog1py
from ._quantities import exponential, quantity


@quantity
def logpmf(k, p, loc=0):
    x = k - loc
    log_probability = xlog1py(x - constant_like(k, 1), -p) + lax.log(p)
    return jnp.where(x <= 0, -np.inf, log_probability)


pmf = exponential(logpmf)
