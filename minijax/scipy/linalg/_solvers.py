"""Linear equations, by the factorization that suits the matrix."""

import functools
import warnings

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.api import stop_gradient, vmap
from ...core.boundary import public
from ...custom_rules import custom_linear_solve
from ...lax import linalg as lax_linalg
from ...lax.control_flow.cond import cond
from ...lax.control_flow.scan import scan
from ...lax.linalg.common import from_triangle
from ...lax.linalg.solve import check_shapes, times_vectors
from ...lax.staged import staged
from ...numpy import linalg
from ...runtime.jit import jit
from ...text.locations import user_stacklevel
from ._factorizations import cho_factor, inexact, schur


def _pair(name: str, value, maker: str):
    """What a function for factorizations returns, which is two values."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{name} must be the pair that `{maker}` returns, got {value!r}.")
    return value


def _signature(name: str, a, b, between: str = "") -> str:
    """How `vectorize` is to take `a` and `b` apart: is `b` a vector, or does it hold matrices?"""
    if a.ndim == b.ndim + 1 and b.ndim > 1 and a.shape[-1] == b.shape[-1]:
        warnings.warn(
            f"jax.scipy.linalg.{name}: batched 1D solves with b.ndim > 1 are deprecated. Use "
            f"{name}(…, b[..., None]).squeeze(-1) instead.",
            FutureWarning, stacklevel=user_stacklevel())
    elif b.ndim != 1:
        return f"(n,n),{between}(n,k)->(n,k)"
    return f"(n,n),{between}(n)->(n)"


# ----------------------------------------------------------------------------------------------
# From factorizations


@public
def solve_triangular(a, b, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, debug=None, check_finite: bool = True):
    """The solution `x` of a x = b, for triangular matrices.

    Args:
      a: matrices `(…, n, n)`, of which one triangle counts.
      b: a vector `(n,)`, or matrices `(…, n, k)`.
      trans: 0 or "N" for a x = b; 1 or "T" for aᵀ x = b; 2 or "C" for aᴴ x = b.
      lower: which triangle of `a` counts.
      unit_diagonal: whether to take ones for its diagonal.

    Raises:
      ValueError: another `trans`, or shapes that do not fit.

    >>> import minijax.scipy.linalg
    >>> a = jnp.array([[2.0, 0.0], [1.0, 1.0]])
    >>> jax.scipy.linalg.solve_triangular(a, jnp.array([4.0, 5.0]), lower=True).tolist()
    [2.0, 3.0]
    """
    return _solve_triangular(a, b, trans, lower, unit_diagonal)


@staged(static_argnames=("trans", "lower", "unit_diagonal"), eager=False)
def _solve_triangular(a, b, trans, lower, unit_diagonal):
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"Invalid 'trans' value {trans!r}. Use 0 or 'N', 1 or 'T', 2 or 'C'.")
    a, b = inexact(a, b)
    solve_one = functools.partial(
        lax_linalg.triangular_solve, left_side=True, lower=lower, transpose_a=trans not in (0, "N"),
        conjugate_a=trans in (2, "C"), unit_diagonal=unit_diagonal)
    return jnp.vectorize(solve_one, signature=_signature("solve_triangular", a, b))(a, b)


@public
def cho_solve(c_and_lower: tuple, b, overwrite_b: bool = False, check_finite: bool = True):
    """The solution `x` of a x = b, from the Cholesky factor of `a`.

    Args:
      c_and_lower: what `cho_factor` returns.
      b: a vector `(n,)`, or matrices `(…, n, k)`.
    """
    c, lower = _pair("cho_solve: c_and_lower", c_and_lower, "cho_factor")
    return _cho_solve(c, b, lower)


@staged(static_argnames=("lower",), eager=False)
def _cho_solve(c, b, lower):
    c, b = inexact(c, b)
    signature = _signature("cho_solve", c, b)
    for transpose in (not lower, lower):
        solve_one = functools.partial(lax_linalg.triangular_solve, left_side=True, lower=lower,
                                      transpose_a=transpose, conjugate_a=transpose)
        b = jnp.vectorize(solve_one, signature=signature)(c, b)
    return b


@staged(static_argnames=("trans", "overwrite_b", "check_finite"), eager=False)
def lu_solve(lu_and_piv: tuple, b, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True):
    """The solution `x` of a x = b, from the LU factorization of `a`.

    Args:
      lu_and_piv: what `lu_factor` returns.
      b: a vector `(n,)`, or matrices `(…, n, k)`.
      trans: 0; 1 for aᵀ x = b; 2 for aᴴ x = b.

    Raises:
      ValueError: another `trans`.
    """
    lu, pivots = _pair("lu_solve: lu_and_piv", lu_and_piv, "lu_factor")
    lu, b = inexact(lu, b)
    permutation = lax_linalg.lu_pivots_to_permutation(pivots, lu.shape[-2])
    solve_one = functools.partial(lax_linalg.lu_solve, trans=trans)
    signature = _signature("lu_solve", lu, b, "(n),")
    return jnp.vectorize(solve_one, signature=signature)(lu, permutation, b)


# ----------------------------------------------------------------------------------------------
# From matrices


@public
def solve(a, b, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
          debug: bool = False, check_finite: bool = True, assume_a: str = "gen"):
    """The solution `x` of a x = b.

    Args:
      a: matrices `(…, n, n)`.
      b: a vector `(n,)`, or matrices `(…, n, k)`.
      lower: which triangle of `a` counts, if it is positive definite.
      assume_a: "pos" if `a` is positive definite: then half the work does. Else "gen", "sym" or
        "her", which make no difference.

    Raises:
      ValueError: another `assume_a`, or shapes that do not fit.
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError("Expected assume_a to be one of ['gen', 'sym', 'her', 'pos']; got "
                         f"{assume_a!r}")
    return _solve(a, b, assume_a, lower)


@staged(static_argnames=("assume_a", "lower"), eager=False)
def _solve(a, b, assume_a, lower):
    if assume_a != "pos":
        return linalg.solve(a, b)
    a, b = inexact(a, b)
    check_shapes(a, b)
    a = from_triangle(a, lower)
    factor = cho_factor(stop_gradient(a), lower=lower)
    solve_vectors = functools.partial(
        custom_linear_solve, functools.partial(times_vectors, a),
        solve=lambda _, x: cho_solve(factor, x),
        transpose_solve=lambda _, x: jnp.conj(cho_solve(factor, jnp.conj(x))))
    if a.ndim == b.ndim + 1:
        return solve_vectors(b)
    return vmap(solve_vectors, b.ndim - 1, max(a.ndim, b.ndim) - 1)(b)


@public
def inv(a, overwrite_a: bool = False, check_finite: bool = True):
    """The inverses of matrices: `jnp.linalg.inv`.

    Args:
      a: matrices `(…, n, n)`.

    Raises:
      ValueError: matrices that are not square.
    """
    return linalg.inv(a)


@public
def det(a, overwrite_a: bool = False, check_finite: bool = True):
    """The determinants of matrices: `jnp.linalg.det`.

    Args:
      a: matrices `(…, n, n)`.

    Raises:
      ValueError: matrices that are not square.
    """
    return linalg.det(a)


# ----------------------------------------------------------------------------------------------
# Sylvester's equation


@functools.partial(jit, static_argnames=("method",))
def solve_sylvester(A, B, C, *, method: str = "schur", tol: float = 1e-8):
    """The solution `X` of A X + X B = C.

    Args:
      A, B: matrices `(…, m, m)` and `(…, n, n)`.
      C: matrices `(…, m, n)`.
      method: "schur" (Bartels and Stewart, "Solution of the matrix equation AX + XB = C", 1972) or
        "eigen", which diagonalizes `A` and `B`.
      tol: where the sum of an eigenvalue of `A` and one of `B` is smaller, the result is NaN.

    Raises:
      ValueError: another method, or shapes that do not fit.
    """
    A, B, C = inexact(A, B, C)
    m, n = C.shape[-2:]
    if A.shape[-2:] != (m, m) or B.shape[-2:] != (n, n):
        raise ValueError(f"Incompatible shapes for Sylvester equation:\nA: {A.shape}\n"
                         f"B: {B.shape}\nC: {C.shape}")
    if method not in _SYLVESTER:
        raise ValueError(f"Unrecognized method {method}. The two valid methods are either "
                         '"schur" or "eigen".')

    def solve_one(A, B, C):
        X = _SYLVESTER[method](A, B, C)
        X = X if dtypes.issubdtype(C.dtype, np.complexfloating) else X.real
        sums = linalg.eigvals(A)[:, None] + linalg.eigvals(B)[None, :]
        return cond((jnp.abs(sums) < tol).any(), lambda: jnp.full_like(X, np.nan), lambda: X)

    return jnp.vectorize(solve_one, signature="(m,m),(n,n),(m,n)->(m,n)")(A, B, C)


def _by_triangles(A, B, C):
    """With A = U R Uᴴ and Bᴴ = V S Vᴴ, the equation is R Y + Y Sᴴ = Uᴴ C V."""
    R, U = schur(A, output="complex")
    S, V = schur(B.conj().T, output="complex")
    Y = _solve_triangles(R, S.conj().T, U.conj().T @ C.astype(R.dtype) @ V)
    return U @ Y @ V.conj().T


def _solve_triangles(R, L, F):
    """Y with R Y + Y L = F, `R` upper and `L` lower triangular: from the last entry to the first,
    each has an equation without those before it."""
    m, n = F.shape

    def solve_entry(Y, place):
        i, j = place // n, place % n
        rest = F[i, j] - R[i] @ Y[:, j] - Y[i] @ L[:, j]  # of which unknown entries are still zero
        return Y.at[i, j].set(rest / (R[i, i] + L[j, j])), None

    return scan(solve_entry, jnp.zeros_like(F), jnp.arange(m * n - 1, -1, -1))[0]


def _by_eigenvectors(A, B, C):
    """In the eigenvectors' coordinates each entry has an equation of its own."""
    a, U = linalg.eig(A)
    b, V = linalg.eig(B)
    Y = linalg.solve(U, C.astype(a.dtype) @ V) / (a[:, None] + b[None, :])
    return U @ Y @ linalg.inv(V)


_SYLVESTER = {"schur": _by_triangles, "eigen": _by_eigenvectors}
