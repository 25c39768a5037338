"""The chi-squared distribution with df degrees of freedom: density proportional to
y^(df/2 - 1) exp(-y/2) / scale for positive y = (x - loc) / scale.

>>> sf(0.0, 3.0).item()
1.0
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ...lax.special import lgamma
from ...numpy._arguments import constant_like
from .. import special
from ._quantities import exponential, logarithm, quantity


@quantity
def logpdf(x, df, loc=0, scale=1):
    y = (x - loc) / scale
    half = df / 2
    kernel = (half - 1) * lax.log(y) - y / 2
    normalizer = -(lgamma(half) + lax.log(constant_like(x, 2)) * df / 2)
    log_density = normalizer - lax.log(scale) + kernel
    return jnp.where(x < loc, -np.inf, log_density)


pdf = exponential(logpdf)


def _half(x, loc, scale):
    y = (x - loc) / (scale * constant_like(scale, 2))
    return lax.clamp(constant_like(x, 0), y, constant_like(x, np.inf))


@quantity
def cdf(x, df, loc=0, scale=1):
    return special.gammainc(df / 2, _half(x, loc, scale))


@quantity
def sf(x, df, loc=0, scale=1):
    return special.gammaincc(df / 2, _half(x, loc, scale))


logcdf, logsf = logarithm(cdf), logarithm(sf)
