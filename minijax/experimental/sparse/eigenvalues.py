"""The largest eigenvalues of a matrix that is known by its products only: LOBPCG.

One step looks for better vectors in the space spanned by three blocks: the vectors X, their
residuals A X - X θ, and the directions P of the last step. QR makes a basis of it that is
orthonormal even if some of the blocks' columns depend on others. The eigenvectors of the small
matrix of A in this basis then give the next X, and P is the part of it that is new.
"""

from collections.abc import Callable
from typing import Any

from ... import lax, numpy as jnp
from ...core.core import typeof
from ...core.jit import jit


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: float | None = None):
    """The largest eigenvalues of a Hermitian matrix, with their eigenvectors.

    Args:
      A: the matrix, of shape (n, n), or a function of an array of shape (n, k): its products.
      X: where to begin, of shape (n, k) and with independent columns: an eigenvalue is found for
        each. 5 k must be less than n.
      m: how many steps to take at most.
      tol: when to stop: each residual is shorter than tol · 10 n (λ + |A v|). By default, the
        distance from 1 to the next number of the dtype.

    Returns:
      the eigenvalues, the largest first; the eigenvectors, as columns; the number of steps. They
      have no reverse derivative.

    Raises:
      ValueError: X has no columns, or too many; A and X differ in n or in their dtype.

    >>> from minijax.experimental.sparse.linalg import lobpcg_standard
    >>> values, vectors, steps = lobpcg_standard(jnp.diag(jnp.arange(12.)), jnp.ones((12, 1)))
    >>> values.round(3)
    Array([11.], dtype=float32)
    """
    if not callable(A):
        matrix = jnp.asarray(A)
        return _jitted(lambda x: lax.dot(matrix, x, precision=lax.Precision.HIGHEST), X, m, tol)
    return _jitted(A, X, m, tol)


def _jitted(A, X, m, tol):
    return jit(lambda X: _lobpcg(A, X, m, tol))(jnp.asarray(X))


def _lobpcg(A: Callable, X, m, tol):
    n, k = X.shape
    _check(A, X)
    tol = jnp.finfo(X.dtype).eps if tol is None else tol

    def unfinished(state):
        step, _, _, _, converged = state
        return (step < m) & ~converged

    def advance(state):
        step, X, P, (AX, values), _ = state
        basis, _ = jnp.linalg.qr(jnp.concatenate([X, AX - X * values, P], axis=1))
        X, P = _best_in(A, basis, k)
        return step + 1, X, P, *_progress(A, X, n, tol)

    X, _ = jnp.linalg.qr(X)
    products, _ = _progress(A, X, n, tol)
    start = 0, X, jnp.zeros_like(X), products, False
    step, X, _, (_, values), _ = lax.while_loop(unfinished, advance, start)
    return values, X, step


def _best_in(A, basis, k):
    """The k vectors of the space of `basis` with the largest values, and their parts outside of
    the first k vectors of the basis."""
    small = jnp.matmul(basis.T, A(basis), precision="highest")
    best = jnp.linalg.eigh((small + small.T) / 2)[1][:, ::-1][:, :k]
    return (jnp.matmul(basis, best, precision="highest"),
            jnp.matmul(basis[:, k:], best[k:], precision="highest"))


def _progress(A, X, n, tol):
    """The products and the eigenvalues of X, and whether all its residuals are short."""
    AX = A(X)
    values = (X * AX).sum(0)
    residuals = jnp.linalg.norm(AX - X * values, axis=0)
    reached = residuals < tol * 10 * n * (values + jnp.linalg.norm(AX, axis=0))
    return (AX, values), reached.all()


def _check(A, X):
    n, k = X.shape
    if k == 0:
        raise ValueError(f"lobpcg_standard: must have search dim > 0, got X of shape {X.shape}.")
    if 5 * k >= n:
        raise ValueError(f"lobpcg_standard: expected search dim * 5 < matrix dim (got {5 * k}, "
                         f"{n}). Use jnp.linalg.eigh for so many eigenvalues.")
    product = typeof(A(jnp.zeros((n, 1), X.dtype)))
    if product.dtype != X.dtype:
        raise ValueError(f"lobpcg_standard: A, X must have same dtypes (were {product.dtype}, "
                         f"{X.dtype}).")
    if product.shape != (n, 1):
        raise ValueError(f"lobpcg_standard: A must be ({n}, {n}) matrix A, got output "
                         f"{product.shape} for an X of shape ({n}, 1).")
