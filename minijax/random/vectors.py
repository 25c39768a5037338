"""Chapter 13: random vectors and matrices, by the factorizations of linear algebra."""

import functools
from collections.abc import Sequence

from .. import numpy as jnp
from ..core.operators import promote_dtypes_inexact
from ..lax.compile_time import dimension_or_error
from ..lax.dtypes import check_and_canonicalize_user_dtype
from ..lax.out_shardings import shardable
from ..lax.shaping import broadcast_shapes
from ..lax.sizes import canonical_shape
from ..runtime.jit import jit
from ..settings import numpy_rank_promotion
from .arguments import check_shape, float_dtype
from .continuous import normal
from .key_functions import typed_key


@shardable
def multivariate_normal(key, mean, cov, shape: Sequence[int] | None = None, dtype=None,
                        method: str = "cholesky"):
    """Vectors of the normal distribution with a mean and a covariance: `mean` + a root of `cov`
    times a vector of independent normal samples.

    Args:
      key: one key.
      mean: an array `(…, n)`.
      cov: an array `(…, n, n)` of matrices that are symmetric and positive semidefinite.
      shape: the result's shape without the last dimension; by default the common one of the
        parameters.
      dtype: a float dtype.
      method: "cholesky", "eigh" or "svd", by which factorization to find the root. The first is the
        quickest, and fails if a matrix is not positive definite.

    Raises:
      ValueError: another method or dtype, or shapes that do not fit.

    >>> mean, cov = jnp.array([1.0, -1.0]), jnp.array([[2.0, 1.0], [1.0, 1.0]])
    >>> jax.random.multivariate_normal(jax.random.key(0), mean, cov, (3,)).shape
    (3, 2)
    """
    key = typed_key("multivariate_normal", key)
    mean, cov = promote_dtypes_inexact(mean, cov)
    if method not in ("svd", "eigh", "cholesky"):
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}, got " + repr(method))
    dtype = float_dtype("multivariate_normal", mean.dtype if dtype is None else dtype)
    shape = None if shape is None else canonical_shape(shape)
    return _multivariate_normal(key, mean, cov, shape, dtype, method)


def _check_dimensions(mean, cov):
    """The covariance is a square matrix, of the size of the mean."""
    for name, x, least in (("mean", mean, 1), ("cov", cov, 2)):
        if x.ndim < least:
            raise ValueError(f"multivariate_normal requires {name}.ndim >= {least}, got "
                             f"{name}.ndim == {x.ndim}")
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but "
                         f"got cov.shape == {cov.shape}.")


@functools.partial(jit, static_argnums=(3, 4, 5))
def _multivariate_normal(key, mean, cov, shape, dtype, method):
    _check_dimensions(mean, cov)
    batch_shapes = mean.shape[:-1], cov.shape[:-2]
    if shape is None:
        shape = broadcast_shapes(*batch_shapes)
    check_shape("normal", shape, *batch_shapes)
    root = _root(cov, method)
    samples = normal(key, (*shape, mean.shape[-1]), dtype)
    with numpy_rank_promotion("allow"):
        return mean + jnp.einsum("...ij,...j->...i", root, samples)


def _root(cov, method):
    """A matrix A with A Aᵀ = `cov`."""
    if method == "cholesky":
        return jnp.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = jnp.linalg.eigh(cov)
    else:
        vectors, values, _ = jnp.linalg.svd(cov)
    return vectors * jnp.sqrt(values[..., None, :])


@shardable
def orthogonal(key, n: int, shape: Sequence[int] = (), dtype=None, m: int | None = None):
    """Orthogonal (or unitary) matrices, each as likely as any other.

    Args:
      key: one key.
      n: how many rows.
      shape: the result's shape without the last two dimensions.
      dtype: a float or complex dtype.
      m: how many columns, by default `n`; if there are fewer, they are orthonormal, if more, the
        rows are.

    Returns:
      an array `(*shape, n, m)`. (See Mezzadri, "How to generate random matrices from the classical
      compact groups", 2007: the Q of a matrix of normal samples, with the signs that make the
      diagonal of R positive.)

    Raises:
      TypeError: `n` or `m` is not a known integer.

    >>> q = jax.random.orthogonal(jax.random.key(0), 3)
    >>> jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-6).item()
    True
    """
    key = typed_key("orthogonal", key)
    dtype = check_and_canonicalize_user_dtype(float if dtype is None else dtype)
    where = "The error occurred in jax.random.orthogonal()"
    n = dimension_or_error(n, where)
    m = n if m is None else dimension_or_error(m, where)
    if min(n, m) < 0:
        raise ValueError(f"orthogonal: negative dimensions are not allowed, got {n} and {m}.")
    return _orthogonal(key, n, m, canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(1, 2, 3, 4))
def _orthogonal(key, n, m, shape, dtype):
    q, r = jnp.linalg.qr(normal(key, (*shape, max(n, m), min(n, m)), dtype))
    x = q * jnp.expand_dims(jnp.sign(jnp.linalg.diagonal(r)), -2)
    return x.mT if n < m else x
