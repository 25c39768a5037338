"""Chapter 13: random numbers, bit for bit those of JAX.

There is no hidden state. Every function is told a key, and gives the same numbers for the same
key: `key` makes the first, `split` and `fold_in` make others of it.
"""

from ..compat.first_use import public_names as _public_names

from .key_functions import (
    PRNGKey, bits, clone, fold_in, key, key_data, key_dtype, key_impl, split, wrap_key_data)
from .uniform import bernoulli, rademacher, randint, uniform
from .continuous import (
    cauchy, double_sided_maxwell, exponential, laplace, logistic, lognormal, maxwell, normal,
    pareto, rayleigh, triangular, truncated_normal, wald, weibull_min)
from .choices import categorical, choice, geometric, gumbel, permutation
from .gamma import (
    ball, beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, random_gamma_p, t)
from .counts import binomial, multinomial, poisson
from .vectors import multivariate_normal, orthogonal
from . import generators

__all__ = _public_names(__name__, ["generators"])


def __dir__() -> list[str]:
    return __all__
