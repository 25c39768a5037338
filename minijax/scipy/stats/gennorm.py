"""The generalized normal distribution: density β exp(-|x|^β) / (2 Γ(1/β)).

>>> cdf(0.0, 2.0).item()
0.5
"""

from ...lax import elementwise as lax, rounding
from ...lax.incomplete_gamma import igamma
from ...lax.special import lgamma
from ._quantities import exponential, quantity


@quantity
def logpdf(x, beta):
    return lax.log(0.5 * beta) - lgamma(1 / beta) - lax.abs_(x) ** beta


pdf = exponential(logpdf)


@quantity
def cdf(x, beta):
    return 0.5 * (1 + rounding.sign(x) * igamma(1 / beta, lax.abs_(x) ** beta))
