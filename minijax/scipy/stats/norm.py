"""The normal distribution: density exp(-z²/2) / (scale √2π), where z = (x - loc) / scale.

>>> cdf(0.0).item()
0.5
"""

import numpy as np

from ... import numpy as jnp
from ...core.boundary import public
from ...lax import elementwise as lax
from ...numpy._arguments import constant_like
from .. import special
from ._quantities import analytic, exponential, quantity


@analytic
def logpdf(x, loc=0, scale=1):
    variance = lax.square(scale)
    log_normalizer = lax.log(constant_like(x, 2 * np.pi) * variance)
    return (log_normalizer + lax.square(x - loc) / variance) / -2


pdf = exponential(logpdf)


@quantity
def cdf(x, loc=0, scale=1):
    return special.ndtr((x - loc) / scale)


@quantity
def logcdf(x, loc=0, scale=1):
    return special.log_ndtr((x - loc) / scale)


@quantity
def sf(x, loc=0, scale=1):
    return cdf(-x, -loc, scale)


@quantity
def logsf(x, loc=0, scale=1):
    return logcdf(-x, -loc, scale)


@public
def ppf(q, loc=0, scale=1):
    """The value that is exceeded with probability 1 - `q`.

    Args:
      q: an array of probabilities, float32 or float64.
      loc, scale: real arrays.

    Returns:
      an array of the default floating dtype.

    >>> ppf(0.5, loc=3).item()
    3.0
    """
    return jnp.asarray(special.ndtri(q) * scale + loc, float)


@public
def isf(q, loc=0, scale=1):
    """The value that is exceeded with probability `q`.

    Args:
      q: an array of probabilities, float32 or float64.
      loc, scale: real arrays.

    Returns:
      an array of the default floating dtype.

    >>> isf(0.5, loc=3).item()
    3.0
    """
    return ppf(lax.sub(constant_like(q, 1), q), loc, scale)
