"""Matrices that are made of few numbers, or of none but their size."""

import functools
import math

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.boundary import public
from ...core.operators import promote_dtypes
from ...lax.cutting import pad
from ...lax.dtypes import (
    check_and_canonicalize_user_dtype,
    default_complex_dtype,
)
from ...lax.operators import check_arraylike
from ...lax.shaping import broadcasted_iota, expand_dims
from ...lax.staged import staged

# ----------------------------------------------------------------------------------------------
# Of blocks and of diagonals


@staged(eager=False)
def block_diag(*arrs):
    """The matrix with these blocks along its diagonal, and zeros elsewhere.

    Args:
      *arrs: matrices, vectors (that become rows) or scalars.

    Raises:
      ValueError: an array of more dimensions.

    >>> import minijax.scipy.linalg
    >>> jax.scipy.linalg.block_diag(jnp.ones((1, 2)), 3.0).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]
    """
    arrs = promote_dtypes(*arrs) if arrs else (jnp.zeros((1, 0)),)
    for i, x in enumerate(arrs):
        if np.ndim(x) > 2:
            raise ValueError("Arguments to jax.scipy.linalg.block_diag must have at most 2 "
                             f"dimensions, got shape {np.shape(x)} at argument {i}.")
    blocks = [jnp.atleast_2d(x) for x in arrs]
    width, column, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        end = column + x.shape[1]
        rows.append(pad(x, x.dtype.type(0), ((0, 0, 0), (column, width - end, 0))))
        column = end
    return jnp.concatenate(rows, axis=0)


@public
def toeplitz(c, r=None):
    """Matrices that are constant along each diagonal.

    Args:
      c: the first columns, `(…, m)`.
      r: the first rows, `(…, n)`, whose first elements do not count; by default the conjugate of
        `c`.

    Returns:
      an array `(…, m, n)`.

    >>> import minijax.scipy.linalg
    >>> jax.scipy.linalg.toeplitz(jnp.array([1, 2]), jnp.array([1, 5, 6])).tolist()
    [[1, 5, 6], [2, 1, 5]]
    """
    if r is None:
        check_arraylike("toeplitz", c)
        r = jnp.conjugate(jnp.asarray(c))
    check_arraylike("toeplitz", c, r)
    return _toeplitz(*map(jnp.atleast_1d, (c, r)))


@functools.partial(jnp.vectorize, signature="(m),(n)->(m,n)")
def _toeplitz(c, r):
    m, n = len(c), len(r)
    along_diagonals = _joined(c[::-1], r[1:])
    return along_diagonals[m - 1 - np.arange(m)[:, None] + np.arange(n)]


def _joined(*vectors):
    """One vector, not weakly typed."""
    joined = jnp.concatenate(vectors)
    return joined.astype(joined.dtype)


@public
def hankel(c, r=None):
    """Matrices that are constant along each diagonal from the lower left to the upper right.

    Args:
      c: the first columns, `(…, m)`.
      r: the last rows, `(…, n)`, whose first elements do not count; by default zeros.

    Returns:
      an array `(…, m, n)`.

    Raises:
      ValueError: a scalar.
    """
    check_arraylike("hankel", c, *([] if r is None else [r]))
    c = jnp.asarray(c)
    r = jnp.zeros_like(c) if r is None else jnp.asarray(r)
    if not c.ndim or not r.ndim:
        raise ValueError("hankel: c and r must be at least 1-dimensional, got a scalar.")
    ndim = max(c.ndim, r.ndim)
    return _hankel(*(expand_dims(x, range(ndim - x.ndim)) for x in (c, r)))


@functools.partial(jnp.vectorize, signature="(m),(n)->(m,n)")
def _hankel(c, r):
    along_diagonals = _joined(c, r[1:])
    return along_diagonals[np.arange(len(c))[:, None] + np.arange(len(r))]


@public
def circulant(c):
    """Matrices whose columns are the first column, moved on cyclically by one row each.

    Args:
      c: the first columns, `(…, n)`.
    """
    check_arraylike("circulant", c)
    return _circulant(jnp.atleast_1d(c))


@functools.partial(jnp.vectorize, signature="(n)->(n,n)")
def _circulant(c):
    places = np.arange(len(c))
    return c[(places[:, None] - places) % len(c)]


# ----------------------------------------------------------------------------------------------
# Of a size only


@staged(static_argnames=("n",), eager=False)
def hilbert(n: int):
    """The Hilbert matrix, 1 / (i + j + 1).

    Args:
      n: how many rows and columns.
    """
    i = broadcasted_iota(float, (n, 1), 0)
    return 1 / (i + i.T + 1)


@staged(static_argnames=("n", "dtype"), eager=False)
def hadamard(n: int, dtype=int):
    """The Hadamard matrix of Sylvester, of ones and minus ones in orthogonal rows.

    Args:
      n: how many rows and columns, a power of 2.
      dtype: the result's.

    Raises:
      ValueError: another `n`.

    >>> import minijax.scipy.linalg
    >>> jax.scipy.linalg.hadamard(2).tolist()
    [[1, 1], [1, -1]]
    """
    if n < 1 or not math.log2(n).is_integer():
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    h = jnp.ones((1, 1), dtype=dtype)
    while len(h) < n:
        h = jnp.block([[h, h], [h, -h]])
    return h


@staged(static_argnames=("n", "scale", "dtype"), eager=False)
def dft(n: int, scale: str | None = None, *, dtype=None):
    """The matrix of the discrete Fourier transform.

    Args:
      n: how many rows and columns.
      scale: `None`, "n" or "sqrtn", what to divide by.
      dtype: a complex dtype.

    Raises:
      ValueError: another scale or dtype.
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    if dtype is None:
        dtype = default_complex_dtype()
    dtype = check_and_canonicalize_user_dtype(dtype, "dft")
    if not dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError(f"dtype must be a complex floating-point type; got {dtype}.")
    i = jnp.arange(n, dtype=dtype)
    omegas = jnp.exp(-2j * np.pi * i[:, None] * i[None, :] / n)
    if scale is None:
        return omegas
    return omegas / (n if scale == "n" else jnp.sqrt(n))
