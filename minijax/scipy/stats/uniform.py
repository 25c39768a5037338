"""The uniform distribution: density 1 / scale between loc and loc + scale.

>>> pdf(0.3, loc=0.0, scale=2.0).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ._quantities import analytic, exponential, quantity


@quantity
def logpdf(x, loc=0, scale=1):
    log_density = -lax.log(scale)
    return jnp.where(jnp.logical_or(x > loc + scale, x < loc), -np.inf, log_density)


pdf = exponential(logpdf)


@quantity
def cdf(x, loc=0, scale=1):
    below, above = x < loc, x > loc + scale
    inside = (x >= loc) & (x <= loc + scale)
    zero, one = jnp.array(0, x.dtype), jnp.array(1, x.dtype)
    return jnp.select([below, above, inside], [zero, one, (x - loc) / scale])


@analytic
def ppf(q, loc=0, scale=1):
    return jnp.where(jnp.isnan(q) | (q < 0) | (q > 1), np.nan, loc + scale * q)
