"""Chapter 12: the polar form of a matrix by an iteration of products and factorizations."""

from __future__ import annotations

import functools

import numpy as np

from ...core import dtypes
from ...lax import elementwise as lax
from ...lax.control_flow.scan import scan
from ...lax.control_flow.while_loop import while_loop
from ...lax.linalg.cholesky import cholesky as lax_cholesky
from ...lax.linalg.qr import qr as lax_qr
from ...lax.linalg.triangular_solve import triangular_solve as lax_triangular_solve
from ...lax.precision import default_matmul_precision
from ...runtime.jit import jit
from .._constructors import array, eye
from .._joining import concatenate
from .._special import where
from ._norms import norm

BY_CHOLESKY = 100  # the coefficient c up to which a Cholesky factorization is exact enough


@functools.partial(jit, static_argnames=("is_hermitian", "max_iterations", "eps"))
@default_matmul_precision("float32")
def qdwh(x, *, is_hermitian: bool = False, max_iterations: int | None = None,
         eps: float | None = None, dynamic_shape: tuple[int, int] | None = None):
    """The polar form U H = x by the QR-based dynamically weighted Halley iteration (Nakatsukasa,
    Bai and Gygi, "Optimizing Halley's iteration for computing the matrix polar decomposition",
    2010).

    Args:
      x: a matrix `(m, n)`, m ≥ n.
      is_hermitian: does nothing.
      max_iterations: how many steps at most; by default 10.
      eps: the precision to reach; by default that of the dtype.

    Returns:
      `U` with orthonormal columns; `H`, positive semidefinite; the number of steps; whether they
      were enough.

    Raises:
      NotImplementedError: a `dynamic_shape`.
      ValueError: more columns than rows.
    """
    if x.shape[0] < x.shape[1]:
        raise ValueError("The input matrix of shape M x N must have M >= N.")
    if dynamic_shape is not None:
        raise NotImplementedError("qdwh: dynamic_shape is not supported")
    max_iterations = 10 if max_iterations is None else max_iterations
    eps = float(dtypes.finfo(x.dtype).eps) if eps is None else eps
    slow, fast = _weights(eps, max_iterations)
    u, _ = _steps(_by_qr, slow, _scaled(x), x.dtype)
    u, change = _steps(_by_cholesky, fast, u, x.dtype)
    tolerance = float(np.cbrt(5 * eps))

    def step(state):
        k, u, _ = state
        new = _by_cholesky(u, 3.0, 1.0, 3.0)  # what the weights tend to
        return k + 1, new, norm(new - u)

    def running(state):
        return (state[2] > tolerance) & (state[0] < max_iterations)

    k, u, change = while_loop(running, step, (len(slow) + len(fast), u, change))
    u = 1.5 * u - 0.5 * u @ (u.T.conj() @ u)  # a step of Newton's and Schulz's iteration
    h = u.T.conj() @ x
    return u, (h + h.T.conj()) / 2, k, change <= tolerance


def _scaled(x):
    """`x` divided by an upper bound of its largest singular value."""
    one, infinity = norm(x, ord=1), norm(x, ord=np.inf)
    scale = where(one == 0, 1, lax.rsqrt(one) * lax.rsqrt(infinity))
    return x * scale.astype(x.dtype)


def _weights(eps, max_iterations):
    """The weights (a, b, c) of the steps u (a + b uᴴu) (1 + c uᴴu)⁻¹, which bring all singular
    values from above `eps` to 1 as quickly as possible: those with a large c, and the others."""
    slow, fast = [], []
    least = eps
    while least + 5 * eps < 1 and len(slow) + len(fast) < max_iterations:
        square = least * least
        d = (4 * (1 / square - 1) / square) ** (1 / 3)
        root = (1 + d) ** 0.5
        a = root + (2 - d + 2 * (2 - square) / (square * root)) ** 0.5
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        least = least * (a + b * square) / (1 + c * square)
        (slow if c > BY_CHOLESKY else fast).append((a, b, c))
    return slow, fast


def _steps(step, weights, u, dtype):
    """`u` after all steps, and the norm of its last change."""
    if not weights:
        return u, norm(u)

    def body(u, abc):
        new = step(u, *abc)
        return new, norm(new - u)

    u, changes = scan(body, u, tuple(array(w, dtype) for w in zip(*weights)))
    return u, changes[-1]


def _by_qr(u, a, b, c):
    """The step, by Q₁ Q₂ᴴ = √c u (1 + c uᴴu)⁻¹ where [Q₁; Q₂] R = [√c u; 1]."""
    m, n = u.shape
    root, e = lax.sqrt(c), b / c
    q, _ = lax_qr(concatenate([root * u, eye(n, dtype=u.dtype)]), full_matrices=False)
    return e * u + (a - e) / root * (q[:m] @ q[m:].T.conj())


def _by_cholesky(u, a, b, c):
    """The step, by a Cholesky factorization of 1 + c uᴴu."""
    e = b / c
    factor = lax_cholesky(c * (u.T.conj() @ u) + eye(u.shape[1], dtype=u.dtype),
                          symmetrize_input=False)
    z = lax_triangular_solve(factor, u.T.conj(), left_side=True, lower=True)
    z = lax_triangular_solve(factor, z, left_side=True, lower=True, transpose_a=True,
                             conjugate_a=True)
    return e * u + (a - e) * z.T.conj()
