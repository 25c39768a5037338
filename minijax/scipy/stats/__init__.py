"""Statistics, under the names of `jax.scipy.stats`: a module is a distribution."""

from . import (
    bernoulli, beta, betabinom, binom, cauchy, chi2, dirichlet, expon, gamma, gennorm, geom,
    gumbel_l, gumbel_r, laplace, logistic, multinomial, multivariate_normal, nbinom, norm, pareto,
    poisson, t, truncnorm, uniform, vonmises, wrapcauchy)
from .kde import gaussian_kde
from .ranks import mode, rankdata, sem
