"""Special functions, under the names of `jax.scipy.special`."""

from ...compat.absent import with_absent_names as _with_absent_names
from ...numpy._softmax import logsumexp
from .bessel import bessel_jn, i0, i0e, i1, i1e
from .entropies import boxcox, boxcox1p, entr, expit, kl_div, logit, rel_entr, xlog1py, xlogy
from .errors import erf, erfc, erfinv, log_ndtr, ndtr, ndtri
from .exponential_integrals import exp1, expi, expn
from .faddeeva import dawsn, erfcx, fresnel, wofz
from .gammas import (
    bernoulli, beta, betainc, betaln, comb, digamma, factorial, gamma, gammainc, gammaincc, gammaln,
    gammasgn, loggamma, multigammaln, poch, polygamma, zeta)
from .hypergeometric import hyp1f1, hyp2f1
from .legendre import sph_harm_y
from .logarithmic import sici, spence
from .softmaxes import log_softmax, softmax

__getattr__ = _with_absent_names(__name__)
