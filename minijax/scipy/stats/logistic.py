"""The logistic distribution: its cumulative distribution function is the sigmoid of z, where
z = (x - loc) / scale.

>>> cdf(0.0).item()
0.5
"""

from ... import numpy as jnp
from ...lax import elementwise as lax
from ...numpy._arguments import constant_like
from ..special import expit, logit
from ._quantities import analytic, exponential


@analytic
def logpdf(x, loc=0, scale=1):
    y = (x - loc) / scale
    half = y / constant_like(y, 2)
    return -2 * jnp.logaddexp(half, -half) - lax.log(scale)


pdf = exponential(logpdf)


@analytic
def cdf(x, loc=0, scale=1):
    return expit((x - loc) / scale)


@analytic
def sf(x, loc=0, scale=1):
    return expit(-((x - loc) / scale))


@analytic
def ppf(x, loc=0, scale=1):
    return logit(x) * scale + loc


@analytic
def isf(x, loc=0, scale=1):
    return -logit(x) * scale + loc
