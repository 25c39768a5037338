"""The gamma distribution: density yᵃ⁻¹ exp(-y) / (scale Γ(a)) for positive y = (x - loc) / scale.

>>> sf(0.0, 3.0).item()
1.0
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ...numpy._arguments import constant_like
from .. import special
from ._quantities import exponential, logarithm, quantity


@quantity
def logpdf(x, a, loc=0, scale=1):
    inside = x >= loc
    y = jnp.where(inside, (x - loc) / scale, constant_like(x, 1))
    log_density = special.xlogy(a - 1, y) - y - (special.gammaln(a) + lax.log(scale))
    return jnp.where(inside, log_density, -np.inf)


pdf = exponential(logpdf)


@quantity
def cdf(x, a, loc=0, scale=1):
    y = lax.clamp(constant_like(x, 0), (x - loc) / scale, constant_like(x, np.inf))
    return special.gammainc(a, y)


@quantity
def sf(x, a, loc=0, scale=1):
    y = (x - loc) / scale
    return jnp.where(y < 0, 1, special.gammaincc(a, y))


logcdf, logsf = logarithm(cdf), logarithm(sf)
