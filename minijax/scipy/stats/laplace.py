"""The distribution of Laplace: density exp(-|z|) / (2 scale), where z = (x - loc) / scale.

>>> cdf(0.0).item()
0.5
"""

from ...lax import elementwise as lax
from ...lax.selection import select
from ...numpy._arguments import constant_like
from ._quantities import exponential, quantity


@quantity
def logpdf(x, loc=0, scale=1):
    return -lax.add(lax.abs_(x - loc) / scale, lax.log(constant_like(x, 2) * scale))


pdf = exponential(logpdf)


@quantity
def cdf(x, loc=0, scale=1):
    z = (x - loc) / scale
    half = constant_like(x, 0.5)
    return select(z <= 0, half * lax.exp(z), 1 - half * lax.exp(-z))
