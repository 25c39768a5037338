"""The distribution of Cauchy: density 1 / (π scale (1 + z²)), where z = (x - loc) / scale.

>>> cdf(0.0).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ...numpy._arguments import constant_like
from ._quantities import analytic, exponential, logarithm


@analytic
def logpdf(x, loc=0, scale=1):
    z = (x - loc) / scale
    return -(lax.log(constant_like(x, np.pi) * scale) + lax.log1p(z * z))


pdf = exponential(logpdf)


@analytic
def cdf(x, loc=0, scale=1):
    return 0.5 + constant_like(x, 1 / np.pi) * jnp.arctan((x - loc) / scale)


logcdf = logarithm(cdf)


@analytic
def sf(x, loc=0, scale=1):
    return cdf(-x, -loc, scale)


@analytic
def logsf(x, loc=0, scale=1):
    return logcdf(-x, -loc, scale)


@analytic
def ppf(q, loc=0, scale=1):
    return lax.tan(constant_like(q, np.pi) * q - np.pi / 2) * scale + loc


@analytic
def isf(q, loc=0, scale=1):
    return lax.tan(np.pi / 2 - constant_like(q, np.pi) * q) * scale + loc
