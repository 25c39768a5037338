"""The normal distribution of several variables: density exp(-yᵀ C⁻¹ y / 2) / √(det 2πC), where
y = x - mean and C is the covariance.

>>> pdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2)).round(4).item()  # 1 / 2π
0.15919999778270721
"""

import functools

import numpy as np

from ... import numpy as jnp
from ...core.boundary import public
from ...core.core import typeof
from ...lax import elementwise as lax
from ...lax.linalg import cholesky, triangular_solve
from ...numpy._arguments import promote_dtypes_inexact


@public
def logpdf(x, mean, cov, allow_singular: None = None):
    """The logarithm of the probability density at `x`.

    Args:
      x: a real array of shape (..., n), or any shape if `mean` is a scalar.
      mean: a scalar, or an array of shape (..., n).
      cov: a scalar, the variance of all variables; or an array of shape (..., n, n).
      allow_singular: must be `None`.

    Raises:
      NotImplementedError: `allow_singular`.
      ValueError: shapes that do not fit.
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    x, mean, cov = promote_dtypes_inexact(x, mean, cov)
    if not mean.shape:
        return (-1 / 2 * jnp.square(x - mean) / cov - 1 / 2 * (jnp.log(2 * np.pi) + jnp.log(cov)))
    if x.shape[-1:] not in ((), mean.shape[-1:]):
        raise ValueError("multivariate_normal.logpdf: x and mean must have one size along their "
                         f"last dimension, got the shapes {x.shape} and {mean.shape}.")
    n, y = mean.shape[-1], x - mean
    if not typeof(cov).shape:
        return (-1 / 2 * jnp.einsum("...i,...i->...", y, y) / cov
                - n / 2 * (jnp.log(2 * np.pi) + jnp.log(cov)))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes: for a mean of shape "
                         f"{mean.shape}, the covariance is of shape {cov.shape}")
    # Of C = L Lᵀ, what is needed is |L⁻¹ y|² and the product of the diagonal.
    factor = cholesky(cov)
    whitened = _solve(factor, y)
    log_determinant = jnp.log(factor.diagonal(axis1=-1, axis2=-2)).sum(-1)
    return (-1 / 2 * jnp.einsum("...i,...i->...", whitened, whitened)
            - n / 2 * jnp.log(2 * np.pi) - log_determinant)


@functools.partial(jnp.vectorize, signature="(n,n),(n)->(n)")
def _solve(factor, y):
    return triangular_solve(factor, y, lower=True, transpose_a=True)


@public
def pdf(x, mean, cov):
    """The probability density at `x`; see `logpdf`.

    Args:
      x, mean, cov: real arrays.

    Raises:
      ValueError: shapes that do not fit.
    """
    return lax.exp(logpdf(x, mean, cov))
