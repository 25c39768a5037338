"""The distribution of Pareto: density b / (scale z^(b + 1)) for z = (x - loc) / scale above 1.

>>> sf(2.0, 1.0).round(4).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ...numpy._arguments import constant_like
from ._quantities import analytic, exponential, quantity


@quantity
def logpdf(x, b, loc=0, scale=1):
    z = (x - loc) / scale
    log_density = -(lax.log(scale / b) + (b + constant_like(x, 1)) * lax.log(z))
    return jnp.where(x < loc + scale, -np.inf, log_density)


pdf = exponential(logpdf)


@quantity
def cdf(x, b, loc=0, scale=1):
    z = (x - loc) / scale
    probability = 1 - lax.pow(z, -b)
    return jnp.where(x < loc + scale, constant_like(x, 0), probability)


@quantity
def logcdf(x, b, loc=0, scale=1):
    z = (x - loc) / scale
    log_probability = lax.log1p(-lax.pow(z, -b))
    return jnp.where(x < loc + scale, -np.inf, log_probability)


@quantity
def logsf(x, b, loc=0, scale=1):
    z = (x - loc) / scale
    log_probability = -(b * lax.log(z))
    return jnp.where(x < loc + scale, constant_like(x, 0), log_probability)


sf = exponential(logsf)


@analytic
def ppf(q, b, loc=0, scale=1):
    value = loc + scale * lax.pow(lax.sub(constant_like(q, 1), q), -(1 / b))
    return jnp.where(jnp.isnan(q) | (q < 0) | (q > 1), np.nan, value)
