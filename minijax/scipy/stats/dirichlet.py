"""The distribution of Dirichlet: density proportional to the product of xᵢ^(αᵢ - 1) over the
positive x whose sum is 1.

>>> pdf(jnp.array([0.5, 0.5]), jnp.ones(2)).round(4).item()
1.0
"""

import numpy as np

from ... import numpy as jnp
from ...core.boundary import public
from ...lax import elementwise as lax
from ...lax.shaping import broadcast_in_dim
from ...numpy._arguments import promote_dtypes_inexact
from ..special import gammaln, xlogy


@public
def logpdf(x, alpha):
    """The logarithm of the probability density at `x`.

    Args:
      x: a real array, whose first axis has the length n of `alpha`, or n - 1: then the last
        component is what lacks to 1.
      alpha: a real array of shape (n,).

    Returns:
      an array of shape x.shape[1:].

    Raises:
      ValueError: an `alpha` of other than one dimension; lengths that do not fit.
    """
    x, alpha = promote_dtypes_inexact(x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError("`x` must have as many entries as `alpha`, or one fewer; got "
                         f"x.shape={x.shape}, alpha.shape={alpha.shape}")
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - x.sum(0, keepdims=True)], axis=0)
    normalizer = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    if x.ndim > 1:
        alpha = broadcast_in_dim(alpha, alpha.shape + (1,) * (x.ndim - 1), (0,))
    log_density = jnp.sum(xlogy(alpha - 1, x), axis=0) - normalizer
    return jnp.where(_is_in_simplex(x), log_density, -np.inf)


def _is_in_simplex(x):
    total = jnp.sum(x, axis=0)
    return jnp.all(x > 0, axis=0) & (abs(total - 1) < 1e-6)


@public
def pdf(x, alpha):
    """The probability density at `x`; see `logpdf`.

    Args:
      x, alpha: real arrays.

    Raises:
      ValueError: as `logpdf`.
    """
    return lax.exp(logpdf(x, alpha))
