"""The multinomial distribution: how often each of several outcomes, of probabilities p, happens in
n trials.

>>> pmf(jnp.array([1, 1]), 2, jnp.array([0.5, 0.5])).round(4).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.boundary import public
from ...lax import elementwise as lax
from ...numpy._arguments import promote_args_inexact, promote_args_numeric
from ..special import gammaln, xlogy


@public
def logpmf(x, n, p):
    """The logarithm of the probability of the counts `x`.

    Args:
      x: an integer array: along the last axis, how often each outcome happened.
      n: an int or an integer array: the number of trials.
      p: a real array: along the last axis, the probabilities.

    Raises:
      ValueError: counts that are no integers.
    """
    (p,) = promote_args_inexact("multinomial.logpmf", p)
    x, n = promote_args_numeric("multinomial.logpmf", x, n)
    if not dtypes.issubdtype(x.dtype, np.integer):
        raise ValueError(f"x and n must be of integer type; got x.dtype={x.dtype}, "
                         f"n.dtype={n.dtype}")
    x, n = x.astype(p.dtype), n.astype(p.dtype)
    log_probability = gammaln(n + 1) + jnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    return jnp.where(jnp.equal(jnp.sum(x), n), log_probability, -np.inf)


@public
def pmf(x, n, p):
    """The probability of the counts `x`; see `logpmf`.

    Args:
      x, n, p: arrays.

    Raises:
      ValueError: as `logpmf`.
    """
    return lax.exp(logpmf(x, n, p))
