"""The exponential distribution: density exp(-z) / scale for positive z = (x - loc) / scale.

>>> pdf(0.0).item()
1.0
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ._quantities import analytic, exponential, quantity


@quantity
def logpdf(x, loc=0, scale=1):
    log_scale = lax.log(scale)
    log_density = -((x - loc) / scale + log_scale)
    return jnp.where(x < loc, -np.inf, log_density)


pdf = exponential(logpdf)


@quantity
def cdf(x, loc=0, scale=1):
    y = (loc - x) / scale
    return jnp.where(x < loc, jnp.zeros_like(y), -lax.expm1(y))


@quantity
def logsf(x, loc=0, scale=1):
    y = (loc - x) / scale
    return jnp.where(x < loc, jnp.zeros_like(y), y)


sf = exponential(logsf)


@quantity
def logcdf(x, loc=0, scale=1):
    return lax.log1p(-sf(x, loc, scale))


@analytic
def ppf(q, loc=0, scale=1):
    return jnp.where(jnp.isnan(q) | (q < 0) | (q > 1), np.nan, loc - scale * lax.log1p(-q))
