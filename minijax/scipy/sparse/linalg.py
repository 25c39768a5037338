"""Iterative solvers of linear equations: they only multiply vectors by the matrix.

Vectors may be pytrees of arrays; the methods below see them raveled into one. Derivatives are
implicit: those of a solution are solutions of equations with the same matrix, or its transpose
(`lax.custom_linear_solve`), by the same method.
"""

import functools
import operator
from collections.abc import Callable

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.array import Array
from ...core.boundary import public
from ...core.core import typeof
from ...core.tree import tree_leaves, tree_map, tree_structure
from ...custom_rules import custom_linear_solve
from ...lax.control_flow.fori_loop import fori_loop
from ...lax.control_flow.while_loop import while_loop
from ...lax.elementwise import rsqrt
from ...lax.precision import Precision
from ...numpy import linalg
from ...numpy._ravel import ravel_pytree
from ..linalg import solve_triangular

_dot = functools.partial(jnp.dot, precision=Precision.HIGHEST)
_vdot = functools.partial(jnp.vdot, precision=Precision.HIGHEST)

# ----------------------------------------------------------------------------------------------
# What the solvers have in common


def _as_function(A) -> Callable:
    """A matrix, or anything that can be multiplied like one, as a function.

    Raises:
      TypeError: it is neither that nor a function.
      ValueError: it is not square.
    """
    if callable(A):
        return A
    if not hasattr(A, "__matmul__"):
        raise TypeError(f"linear operator must be either a function or ndarray: {A}")
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"linear operator must be a square matrix, but has shape: {A.shape}")
    is_array = isinstance(A, (np.ndarray, Array))
    return functools.partial(_dot if is_array else operator.matmul, A)


def _solve(method: Callable, A, b, x0, M, symmetric: bool):
    """A solution by `method(A, M, b, x0)`, all of vectors."""
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else x0
    if tree_structure(x0) != tree_structure(b):
        raise ValueError("x0 and b must have matching tree structure: "
                         f"{tree_structure(x0)} vs {tree_structure(b)}")
    shapes = [[np.shape(x) for x in tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError("arrays in x0 and b must have matching shapes: "
                         f"{shapes[0]} vs {shapes[1]}")
    flat_b, unravel = ravel_pytree(b)
    flat_x0 = ravel_pytree(x0)[0]
    A = _of_vectors(_as_function(A), unravel)
    M = (lambda v: v) if M is None else _of_vectors(_as_function(M), unravel)

    def solver(A, b):
        return method(A, M, b, flat_x0)

    return unravel(custom_linear_solve(A, flat_b, solve=solver, transpose_solve=solver,
                                       symmetric=symmetric))


def _of_vectors(function, unravel):
    return lambda v: ravel_pytree(function(unravel(v)))[0]


def _size(b) -> int:
    return sum(typeof(x).size for x in tree_leaves(b))


def _square(x):
    """The square of the norm."""
    return _vdot(x, x).real


# ----------------------------------------------------------------------------------------------
# Conjugate gradients


@public
def cg(A, b, x0=None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None, M=None):
    """The solution `x` of A x = b for a matrix that is positive definite, by conjugate gradients
    (Hestenes and Stiefel, 1952).

    Args:
      A: a linear function of pytrees like `b`, or a matrix.
      b: a pytree of arrays.
      x0: where to start; by default at zero.
      tol, atol: it ends when the residual's norm is below `tol` · norm(b), or below `atol`.
      maxiter: after how many steps to end at the latest; by default ten times the size of `b`.
      M: an approximation of the inverse of `A`, as `A`.

    Returns:
      `x`, and `None`.

    Raises:
      TypeError: `A` or `M` is neither function nor matrix.
      ValueError: a matrix that is not square, or an `x0` that is not like `b`.

    >>> import minijax.scipy.sparse.linalg
    >>> A = jnp.array([[4.0, 1.0], [1.0, 3.0]])
    >>> jax.scipy.sparse.linalg.cg(A, jnp.array([6.0, 7.0]))[0].round(4).tolist()
    [1.0, 2.0]
    """
    maxiter = 10 * _size(b) if maxiter is None else maxiter
    is_real = all(not dtypes.issubdtype(typeof(x).dtype, np.complexfloating)
                  for x in tree_leaves(b))
    method = functools.partial(_cg, tol, atol, maxiter)
    return _solve(method, A, b, x0, M, symmetric=is_real), None


def _cg(tol, atol, maxiter, A, M, b, x0):
    limit = jnp.maximum(jnp.square(tol) * _square(b), jnp.square(atol))

    def running(state):
        _, r, *_, k = state
        return (_square(r) > limit) & (k < maxiter)

    def step(state):
        x, r, gamma, p, k = state
        Ap = A(p)
        alpha = gamma / _vdot(p, Ap).real.astype(dtype)
        x, r = x + alpha * p, r - alpha * Ap
        z = M(r)
        previous, gamma = gamma, _vdot(r, z).real.astype(dtype)
        return x, r, gamma, z + (gamma / previous) * p, k + 1

    r = b - A(x0)
    p = M(r)
    dtype = p.dtype
    return while_loop(running, step, (x0, r, _vdot(r, p).real.astype(dtype), p, 0))[0]


# ----------------------------------------------------------------------------------------------
# Biconjugate gradients


@public
def bicgstab(A, b, x0=None, *, tol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,
             M=None):
    """The solution `x` of A x = b by stabilized biconjugate gradients (van der Vorst, 1992).

    Args:
      A, b, x0, tol, atol, maxiter, M: as for `cg`; but `A` can be any invertible matrix.

    Returns:
      `x`, and `None`.

    Raises:
      TypeError, ValueError: as for `cg`.
    """
    maxiter = 10 * _size(b) if maxiter is None else maxiter
    method = functools.partial(_bicgstab, tol, atol, maxiter)
    return _solve(method, A, b, x0, M, symmetric=False), None


def _bicgstab(tol, atol, maxiter, A, M, b, x0):
    """A `k` below zero says that the method has broken down."""
    limit = jnp.maximum(jnp.square(tol) * _square(b), jnp.square(atol))

    def running(state):
        _, r, *_, k = state
        return (_square(r) > limit) & (k < maxiter) & (k >= 0)

    def step(state):
        x, r, alpha, omega, rho, p, q, k = state
        previous, rho = rho, _vdot(r_hat, r)
        beta = rho / previous * alpha / omega
        p = r + beta * (p - omega * q)
        p_hat = M(p)
        q = A(p_hat)
        alpha = rho / _vdot(r_hat, q)
        s = r - alpha * q
        is_small = _square(s) < limit
        s_hat = M(s)
        t = A(s_hat)
        omega = _vdot(t, s) / _vdot(t, t)
        half = x + alpha * p_hat
        x = jnp.where(is_small, half, half + omega * s_hat)
        r = jnp.where(is_small, s, s - omega * t)
        k = jnp.where((omega == 0) | (alpha == 0) | (rho == 0), -1, k + 1)
        return x, r, alpha, omega, rho, p, q, k

    r_hat = b - A(x0)
    one = jnp.ones((), b.dtype)
    return while_loop(running, step, (x0, r_hat, one, one, one, r_hat, r_hat, 0))[0]


# ----------------------------------------------------------------------------------------------
# GMRES


@public
def gmres(A, b, x0=None, *, tol: float = 1e-5, atol: float = 0.0, restart: int = 20,
          maxiter: int | None = None, M=None, solve_method: str = "batched"):
    """The solution `x` of A x = b by generalized minimal residuals (Saad and Schultz, 1986).

    Args:
      A, b, x0, tol, atol, M: as for `bicgstab`.
      restart: how many vectors to collect; among their sums is the one with the least residual.
      maxiter: how often to start anew from there; by default ten times the size of `b`.
      solve_method: "batched" looks at the residual after `restart` vectors; "incremental" after
        each, and may need fewer.

    Returns:
      `x`, and an integer: 0, or -1 if `x` has NaNs.

    Raises:
      TypeError, ValueError: as for `cg`; or another `solve_method`.
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(f"invalid solve_method {solve_method!r}, must be either 'incremental' or "
                         "'batched'")
    maxiter = 10 * _size(b) if maxiter is None else maxiter
    method = functools.partial(_gmres, tol, atol, min(restart, _size(b)), maxiter,
                               solve_method == "incremental")
    x = _solve(method, A, b, x0, M, symmetric=False)
    return x, jnp.where(jnp.isnan(ravel_pytree(x)[0]).any(), -1, 0)


def _gmres(tol, atol, restart, maxiter, incremental, A, M, b, x0):
    b_norm = linalg.norm(b)
    limit = jnp.maximum(tol * b_norm, atol)
    enough = linalg.norm(M(b)) * jnp.minimum(1.0, limit / b_norm)

    def residual(x):
        return _normalized(M(b - A(x)))

    def running(state):
        _, k, _, norm = state
        return (k < maxiter) & (norm > limit)

    def step(state):
        x, k, unit, norm = state
        x = x + _best_correction(lambda v: M(A(v)), unit, norm, restart,
                                 enough if incremental else None)
        return x, k + 1, *residual(x)

    return while_loop(running, step, (x0, 0, *residual(x0)))[0]


def _normalized(x, threshold=None):
    """`x` divided by its norm, and the norm; both zero if it is not above the threshold."""
    norm = linalg.norm(x)
    threshold = dtypes.finfo(norm.dtype).eps if threshold is None else threshold
    nonzero = norm > threshold
    return jnp.where(nonzero, x / norm.astype(x.dtype), 0), jnp.where(nonzero, norm, 0)


def _best_correction(A, unit, norm, restart, enough):
    """The sum of unit, A unit, A² unit … that reduces the residual `norm` · `unit` most.

    V holds an orthonormal basis of these vectors (columns to come are zero), A V = V H. Rotations
    turn H into a triangle R, and the residual into the right hand side for R.
    """
    dtype = unit.dtype
    V = jnp.zeros((len(unit), restart + 1), dtype).at[:, 0].set(unit)
    R = jnp.eye(restart + 1, restart, dtype=dtype)
    rotations = jnp.zeros((restart, 2), dtype)
    rhs = jnp.zeros(restart + 1, dtype).at[0].set(norm.astype(dtype))

    def running(state):
        k, error, is_complete, *_ = state
        go_on = (k < restart) & ~is_complete
        return go_on if enough is None else go_on & (error > enough)

    def step(state):
        k, _, _, V, R, rotations, rhs = state
        V, h, is_complete = _next_vector(A, V, k)
        h = fori_loop(0, k, lambda i, h: _rotate(h, i, rotations[i]), h)
        rotation = _rotation_to_zero(h[k], h[k + 1])
        R = R.at[:, k].set(_rotate(h, k, rotation))
        rhs = _rotate(rhs, k, rotation)
        return (k + 1, jnp.abs(rhs[k + 1]), is_complete, V, R, rotations.at[k].set(rotation), rhs)

    start = 0, norm, False, V, R, rotations, rhs
    *_, V, R, _, rhs = while_loop(running, step, start)
    return _dot(V[:, :-1], solve_triangular(R[:-1], rhs[:-1]))


def _next_vector(A, V, k):
    """The part of A V[:, k] that is orthogonal to V as the next column (Arnoldi's method), with the
    coordinates of A V[:, k]. If there is no such part, V is complete."""
    v = A(V[:, k])
    eps, size = dtypes.finfo(v.dtype).eps, linalg.norm(v)
    h = jnp.zeros(V.shape[1], V.dtype)
    for _ in range(2):  # once is not enough if little remains
        parts = _dot(V.conj().T, v)
        v, h = v - _dot(V, parts), h + parts
    unit, norm = _normalized(v, eps * size)
    return V.at[:, k + 1].set(unit), h.at[k + 1].set(norm.astype(h.dtype)), norm == 0


def _rotation_to_zero(a, b):
    """Cosine and sine of the rotation of (a, b) that makes its second element zero (Givens)."""
    a_is_less = jnp.abs(a) < jnp.abs(b)
    t = -jnp.where(a_is_less, a, b) / jnp.where(a_is_less, b, a)
    r = rsqrt(1 + jnp.abs(t) ** 2).astype(t.dtype)
    cosine = jnp.where(a_is_less, r * t, r)
    sine = jnp.where(a_is_less, r, r * t)
    return jnp.where(b == 0, jnp.array([1, 0], t.dtype), jnp.array([cosine, sine]))


def _rotate(x, i, rotation):
    """Elements i and i + 1 of `x`, rotated."""
    cosine, sine = rotation
    first = cosine.conj() * x[i] - sine.conj() * x[i + 1]
    return x.at[i].set(first).at[i + 1].set(sine * x[i] + cosine * x[i + 1])
