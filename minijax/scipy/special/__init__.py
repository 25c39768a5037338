"""Special functions, under the names of `jax.scipy.special`."""

from ...numpy._softmax import logsumexp
from .bessel import bessel_jn, i0, i0e, i1, i1e
from .entropies import boxcox, boxcox1p, entr, expit, kl_div, logit, rel_entr, xlog1py, xlogy
from .errors import erf, erfc, erfinv, log_ndtr, ndtr, ndtri, owens_t
from .exponential_integrals import exp1, expi, expn
from .gammas import (
    bernoulli,
    beta,
    betainc,
    betaln,
    comb,
    digamma,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    loggamma,
    multigammaln,
    poch,
    polygamma,
    zeta,
)
from .softmaxes import log_softmax, softmax
