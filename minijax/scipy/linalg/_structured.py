"""Matrices that are made of few numbers, or of none but their size."""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.boundary import public
from ...core.operators import promote_args_inexact, promote_dtypes
from ...lax import elementwise as lax
from ...lax.cutting import pad, slice_in_dim
from ...lax.dtypes import (
    check_and_canonicalize_user_dtype,
    default_complex_dtype,
    default_float_dtype,
)
from ...lax.operators import check_arraylike
from ...lax.shaping import broadcasted_iota, expand_dims
from ...lax.special import lgamma
from ...lax.staged import staged
from ..special import comb

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


@staged(static_argnames=("n", "mode"), eager=False)
def convolution_matrix(a, n: int, mode: str = "full"):
    """The matrix that multiplies vectors of `n` elements as `jnp.convolve(a, ·, mode)` does.

    Args:
      a: an array `(…, m)`.
      n: how many columns.
      mode: "full", "valid" or "same".

    Raises:
      ValueError: another mode, an `n` that is not positive, or an empty `a`.
    """
    n = operator.index(n)
    check_arraylike("convolution_matrix", a)
    a = jnp.asarray(a)
    if n <= 0 or not a.ndim or not a.shape[-1]:
        raise ValueError("convolution_matrix: n must be a positive integer, and a an array of "
                         f"vectors that are not empty; got {n=}, {a.shape=}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    m = a.shape[-1]
    rows, cut = m + n - 1, min(n, m) - 1
    top, bottom = {"full": (0, 0), "same": (cut // 2, cut - cut // 2), "valid": (cut, cut)}[mode]
    widths = [(0, 0)] * (a.ndim - 1) + [(0, n - 1)]
    padded, flipped = jnp.pad(a, widths), jnp.pad(jnp.flip(a, axis=-1), widths)
    column = slice_in_dim(padded, top, rows - bottom, axis=-1)
    row = slice_in_dim(flipped, rows - n - top, rows - top, axis=-1)
    return toeplitz(column, row)


# ----------------------------------------------------------------------------------------------
# Of polynomials and populations


@public
def leslie(f, s):
    """The matrix by which a population of several age classes grows: fecundity in the first row,
    survival below the diagonal.

    Args:
      f: an array `(…, n)`, n ≥ 2.
      s: an array `(…, n - 1)`.

    Raises:
      ValueError: other shapes.
    """
    check_arraylike("leslie", f, s)
    f, s = jnp.atleast_1d(f), jnp.atleast_1d(s)
    if f.shape[-1] < 2 or s.shape[-1] != f.shape[-1] - 1:
        raise ValueError("leslie: f must have a last axis of at least 2 elements, and s one "
                         f"element less; got {f.shape=}, {s.shape=}")
    return _leslie(f, s)


@functools.partial(jnp.vectorize, signature="(n),(m)->(n,n)")
def _leslie(f, s):
    f, s = promote_dtypes(f, s)
    return jnp.diag(s, k=-1).at[0].set(f)


@public
def companion(a):
    """The matrix whose characteristic polynomial has these coefficients, up to a factor.

    Args:
      a: an array `(…, n)`, n ≥ 2; the coefficient of the highest power first.

    Returns:
      an array `(…, n - 1, n - 1)`.

    Raises:
      ValueError: fewer coefficients.
    """
    a = jnp.atleast_1d(*promote_args_inexact("companion", a))
    if a.shape[-1] < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2; got shape "
                         f"{a.shape}.")
    return _companion(a)


@functools.partial(jnp.vectorize, signature="(n)->(m,m)")
def _companion(a):
    first_row = -a[1:] / a[0]
    return jnp.eye(len(a) - 1, k=-1, dtype=first_row.dtype).at[0].set(first_row)


@public
def fiedler(a):
    """The matrix of the absolute differences of numbers.

    Args:
      a: an array `(…, n)`.

    Returns:
      an array `(…, n, n)`.
    """
    check_arraylike("fiedler", a)
    a = jnp.atleast_1d(a)
    return jnp.abs(a[..., None] - a[..., None, :])


@public
def fiedler_companion(a):
    """A companion matrix with five diagonals: it, too, has a given characteristic polynomial.

    Args:
      a: an array `(…, n)`; the coefficient of the highest power first.

    Returns:
      an array `(…, n - 1, n - 1)`.

    Raises:
      ValueError: no coefficients.
    """
    a = jnp.atleast_1d(*promote_args_inexact("fiedler_companion", a))
    if not a.shape[-1]:
        raise ValueError("fiedler_companion requires the last axis of 'a' to have nonzero length, "
                         f"but got an array of shape {a.shape}.")
    return _fiedler_companion(a)


@functools.partial(jnp.vectorize, signature="(n)->(m,m)")
def _fiedler_companion(a):
    n = len(a) - 1
    if not n:
        return jnp.empty((0, 0), a.dtype)
    a = a / a[0]
    c = jnp.zeros((n, n), a.dtype)
    i = np.arange(0, n - 1, 2)
    c = c.at[i, i + 1].set(-a[i + 2]).at[0, 0].set(-a[1])
    i = np.arange(2, n, 2)
    c = c.at[i, i - 1].set(-a[i + 1])
    i = np.arange(0, n - 2, 2)
    c = c.at[i, i + 2].set(1)
    i = np.arange(3, n, 2)
    c = c.at[i, i - 2].set(1)
    return c.at[1, 0].set(1) if n > 1 else c


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


@staged(static_argnames=("n",), eager=False)
def invhilbert(n: int):
    """The inverse of the Hilbert matrix, from binomial coefficients.

    Args:
      n: how many rows and columns.
    """
    i, j = _rows_and_columns(n, default_float_dtype())
    s = i + j
    return ((-1.0) ** s * (s + 1.0) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1)
            * comb(s, i) ** 2)


def _rows_and_columns(n, dtype):
    numbers = jnp.arange(n, dtype=dtype)
    return numbers[:, None], numbers[None, :]


@staged(static_argnames=("n", "kind"), eager=False)
def pascal(n: int, kind: str | None = None):
    """The Pascal matrix, of binomial coefficients.

    Args:
      n: how many rows and columns.
      kind: "symmetric" (the default), or its factors "lower" and "upper".

    Raises:
      ValueError: another kind.

    >>> import minijax.scipy.linalg
    >>> jax.scipy.linalg.pascal(3, "lower").round().tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 2.0, 1.0]]
    """
    _check_kind(kind)
    lower = _binom(*_rows_and_columns(n, np.float32))
    return lower if kind == "lower" else lower.T if kind == "upper" else jnp.dot(lower, lower.T)


@staged(static_argnames=("n", "kind"), eager=False)
def invpascal(n: int, kind: str | None = None):
    """The inverse of the Pascal matrix.

    Args:
      n, kind: as for `pascal`.

    Raises:
      ValueError: another kind.
    """
    _check_kind(kind)
    i, j = _rows_and_columns(n, default_float_dtype())
    lower = (-1.0) ** (i - j) * _binom(i, j)
    return lower if kind == "lower" else lower.T if kind == "upper" else jnp.dot(lower.T, lower)


def _check_kind(kind):
    kinds = ("symmetric", "lower", "upper")
    if kind not in (None, *kinds):
        raise ValueError(f"Expected kind to be one of: {kinds}; got {kind}")


@staged
def _binom(n, k):
    """Binomial coefficients; zero where k > n, as Γ has a pole there."""
    a, b, c = lgamma(n + 1.0), lgamma(n - k + 1.0), lgamma(k + 1.0)
    return lax.exp(a - b - c)


@staged(static_argnames=("n", "full"), eager=False)
def helmert(n: int, full: bool = False):
    """The Helmert matrix, whose rows are orthonormal, and orthogonal to the vector of ones.

    Args:
      n: how many columns.
      full: whether that vector, normalized, is the first row.

    Raises:
      ValueError: `n` is not positive.
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    i, j = jnp.arange(n - 1)[:, None], jnp.arange(n)[None, :]
    k = (i + 1).astype(default_float_dtype())
    length = jnp.sqrt(k * (k + 1))
    rows = jnp.where(j <= i, 1.0 / length, jnp.where(j == i + 1, -k / length, 0))
    if not full:
        return rows
    return jnp.concatenate([jnp.full((1, n), 1.0 / jnp.sqrt(n), dtype=rows.dtype), rows], axis=0)


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
    i, j = _rows_and_columns(n, dtype)
    omegas = jnp.exp(-2j * np.pi * i * j / n)
    if scale is None:
        return omegas
    return omegas / (n if scale == "n" else jnp.sqrt(n))
