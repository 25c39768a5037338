"""The distribution of Gumbel, of maxima: cumulative distribution function exp(-exp(-z)), where
z = (x - loc) / scale.

>>> cdf(0.0).round(4).item()  # 1 / e
0.367900013923645
"""

import numpy as np

from ... import numpy as jnp
from ...lax import bitwise, elementwise as lax
from ...nn import log1mexp
from ...numpy._arguments import constant_like
from ._quantities import exponential, quantity


@quantity
def logpdf(x, loc=0, scale=1):
    proper, z = scale > 0, (x - loc) / scale
    return jnp.where(proper, -(z + lax.exp(-z)) - lax.log(scale), np.nan)


pdf = exponential(logpdf)


@quantity
def logcdf(x, loc=0, scale=1):
    proper, z = scale > 0, (x - loc) / scale
    return jnp.where(proper, -lax.exp(-z), np.nan)


cdf = exponential(logcdf)


@quantity
def ppf(p, loc=0, scale=1):
    inside = bitwise.bitwise_and(p > 0, p < 1)
    return jnp.where(inside, loc - scale * lax.log(-lax.log(p)), np.nan)


@quantity
def sf(x, loc=0, scale=1):
    proper, y = scale > 0, (loc - x) / scale
    return jnp.where(proper, lax.sub(constant_like(x, 1), lax.exp(-lax.exp(y))), np.nan)


@quantity
def logsf(x, loc=0, scale=1):
    proper, y = scale > 0, (loc - x) / scale
    return jnp.where(proper, log1mexp(lax.exp(y)), np.nan)
