"""The beta distribution: density yᵃ⁻¹ (1 - y)ᵇ⁻¹ / (scale B(a, b)) for y = (x - loc) / scale
between 0 and 1.

>>> cdf(0.5, 2.0, 2.0).round(4).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...lax import elementwise as lax
from ...numpy._arguments import constant_like
from .. import special
from ._quantities import analytic, exponential, logarithm, quantity


@quantity
def logpdf(x, a, b, loc=0, scale=1):
    y = (x - loc) / scale
    powers = special.xlogy(a - constant_like(x, 1), y) + special.xlog1py(b - 1, -y)
    log_density = -special.betaln(a, b) + powers - lax.log(scale)
    result = jnp.where(jnp.logical_or(x > loc + scale, x < loc), -np.inf, log_density)
    return jnp.where((a <= 0) | (b <= 0) | (scale <= 0), np.nan, result)


pdf = exponential(logpdf)


def _unit(x, loc, scale):
    return lax.clamp(constant_like(x, 0), (x - loc) / scale, constant_like(x, 1))


@analytic
def cdf(x, a, b, loc=0, scale=1):
    return special.betainc(a, b, _unit(x, loc, scale))


@analytic
def sf(x, a, b, loc=0, scale=1):
    return special.betainc(b, a, 1 - _unit(x, loc, scale))


logcdf, logsf = logarithm(cdf), logarithm(sf)
