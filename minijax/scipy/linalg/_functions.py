"""Functions of matrices: the exponential, the square root, any function; the polar form."""

import functools
from collections.abc import Callable

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.api import jvp, stop_gradient
from ...core.boundary import public
from ...core.core import typeof
from ...core.operators import promote_dtypes_inexact
from ...custom_rules import custom_jvp, custom_linear_solve
from ...lax import linalg as lax_linalg
from ...lax.control_flow.cond import cond, switch
from ...lax.control_flow.scan import scan
from ...lax.precision import Precision, default_matmul_precision
from ...numpy import linalg
from ...runtime.jit import jit
from ._factorizations import schur
from ._solvers import solve_triangular

# ----------------------------------------------------------------------------------------------
# The exponential: Higham, "The scaling and squaring method for the matrix exponential revisited"

# exp is approximated by N(A) / N(-A) with a polynomial N: its coefficients, by degree.
PADE = {
    3: [120.0, 60.0, 12.0, 1.0],
    5: [30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0],
    7: [17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0],
    9: [17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0,
        3960.0, 90.0, 1.0],
    13: [64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
         129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
         40840800.0, 960960.0, 16380.0, 182.0, 1.0],
}
# The norm up to which each degree is exact enough; larger matrices are halved until the last is.
BOUNDS = {
    4: {3: 4.258730016922831e-1, 5: 1.880152677804762, 7: 3.925724783138660},
    8: {3: 1.495585217958292e-2, 5: 2.539398330063230e-1, 7: 9.504178996162932e-1,
        9: 2.097847961257068, 13: 5.371920351148152},
}


@functools.partial(jit, static_argnames=("upper_triangular", "max_squarings"))
def expm(A, *, upper_triangular: bool = False, max_squarings: int = 16):
    """The exponential of matrices, by a quotient of polynomials of A / 2ᵏ, squared k times.

    Args:
      A: matrices `(…, n, n)`.
      upper_triangular: whether they are.
      max_squarings: the largest k; matrices that need more become NaN.

    Raises:
      TypeError: a dtype other than 32- or 64-bit floats, or complex numbers of them.
      ValueError: matrices that are not square.

    >>> import minijax.scipy.linalg
    >>> jax.scipy.linalg.expm(jnp.array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    (A,) = promote_dtypes_inexact(A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got {A.shape=}.")
    exponential = functools.partial(_expm, upper_triangular, max_squarings)
    return jnp.vectorize(exponential, signature="(n,n)->(n,n)")(A) if A.ndim > 2 else exponential(A)


def _expm(upper_triangular, max_squarings, A):
    numerator, denominator, squarings = _quotient(A)

    def compute():
        divide = solve_triangular if upper_triangular else linalg.solve
        return _squared(divide(denominator, numerator), squarings, max_squarings)

    return cond(squarings > max_squarings, lambda: jnp.full_like(A, np.nan), compute)


def _quotient(A):
    """The polynomials for A / 2ᵏ, and k."""
    real = dtypes.finfo(A.dtype).dtype
    if real.itemsize not in BOUNDS:
        raise TypeError(f"A.dtype={A.dtype} is not supported.")
    *bounds, largest = BOUNDS[real.itemsize].values()
    norm = linalg.norm(A, 1)
    squarings = jnp.maximum(0, jnp.floor(jnp.log2(norm / largest)))
    A = A / 2 ** squarings.astype(A.dtype)
    degree = (norm >= jnp.array(bounds, dtype=real)).sum()
    polynomials = [functools.partial(_odd_and_even, PADE[n]) for n in BOUNDS[real.itemsize]]
    odd, even = switch(degree, polynomials, A)
    return odd + even, -odd + even, squarings


def _dot(a, b):
    return jnp.dot(a, b, precision=Precision.HIGHEST)


def _odd_and_even(coefficients, A):
    """The terms of a polynomial of A with odd powers, and those with even ones."""
    powers = [jnp.eye(len(A), dtype=A.dtype), _dot(A, A)]
    terms = len(coefficients) // 2
    while len(powers) < (terms if terms <= 5 else 4):
        powers.append(_dot(powers[-1], powers[1]))
    return _dot(A, _combine(coefficients[1::2], powers)), _combine(coefficients[::2], powers)


def _combine(coefficients, powers):
    """Σ cₖ powers[k]. Terms of higher degree are factored by the highest power that is given."""
    known = len(powers)
    total = sum(c * p for c, p in reversed([*zip(coefficients, powers)]))
    if len(coefficients) > known:
        total = total + _dot(powers[-1], _combine(coefficients[known:], powers[1:]))
    return total


def _squared(A, squarings, max_squarings):
    """A to the power of 2^squarings."""
    def step(A, i):
        return cond(i < squarings, lambda: _dot(A, A), lambda: A), None

    return scan(step, A, jnp.arange(max_squarings, dtype=squarings.dtype))[0]


@functools.partial(jit, static_argnames=("method", "compute_expm"))
def expm_frechet(A, E, *, method: str | None = None, compute_expm: bool = True):
    """The derivative of the exponential at `A` in the direction `E`: a JVP.

    Args:
      A, E: matrices `(…, n, n)`.
      method: does nothing.
      compute_expm: whether to return the exponential, too.

    Returns:
      the exponential and its derivative, or only that.

    Raises:
      ValueError: matrices that are not square, or of different shapes.
    """
    A, E = jnp.asarray(A), jnp.asarray(E)
    if A.ndim < 2 or A.shape[-2] != A.shape[-1] or A.shape != E.shape:
        raise ValueError("expected A and E to be (batched) square matrices of the same shape, got "
                         f"{A.shape=} {E.shape=}")
    value, derivative = jvp(expm, (A,), (E,))
    return (value, derivative) if compute_expm else derivative


# ----------------------------------------------------------------------------------------------
# From the Schur form: the entries of a function of a triangular matrix, one after the other


def _above_diagonal(n):
    """The places (row, column) above the diagonal, column by column and each from the diagonal
    upwards: what is left of a place and what is below it comes before it."""
    places = [(i, j) for j in range(n) for i in range(j - 1, -1, -1)]
    return np.array(places, np.int32).reshape(-1, 2)


@public
def sqrtm(A, blocksize: int = 1):
    """The square root of a matrix: the one whose eigenvalues have no negative real part.

    Args:
      A: a matrix `(n, n)`.
      blocksize: 1.

    Returns:
      a complex matrix.

    Raises:
      NotImplementedError: another `blocksize`.

    >>> import minijax.scipy.linalg
    >>> root = jax.scipy.linalg.sqrtm(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> jnp.allclose(root @ root, jnp.array([[2.0, 1.0], [1.0, 2.0]]), atol=1e-5).item()
    True
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    return _sqrtm(A)


@jit
def _sqrtm(A):
    T, Z = schur(A, output="complex")
    product = jnp.matmul(Z, _sqrtm_triu(T), precision=Precision.HIGHEST)
    return jnp.matmul(product, jnp.conj(Z.T), precision=Precision.HIGHEST)


@jit
def _sqrtm_triu(T):
    """U with U U = T, both upper triangular: U[i, i] U[i, j] + … + U[i, j] U[j, j] = T[i, j]."""
    diag = jnp.sqrt(jnp.diag(T))

    def entry(U, place):
        i, j = place
        known = U[i] @ U[:, j]  # what comes later is still zero
        value = jnp.where(T[i, j] == known, 0.0, (T[i, j] - known) / (diag[i] + diag[j]))
        return U.at[i, j].set(value), None

    return scan(entry, jnp.diag(diag), _above_diagonal(len(diag)))[0]


@public
def funm(A, func: Callable, disp: bool = True):
    """Any function of a matrix, by Parlett's recurrence on its Schur form (Golub and Van Loan,
    "Matrix computations", algorithm 9.1.1). It fails if eigenvalues are equal or nearly so.

    Args:
      A: a matrix `(n, n)`.
      func: a function of vectors of complex numbers, elementwise.
      disp: whether to return the result only, without an estimate of its relative error.

    Returns:
      a complex matrix, and if not `disp` the estimate.

    Raises:
      ValueError: a matrix that is not square.
    """
    A = jnp.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError("expected square array_like input")
    T, Z = schur(A, output="complex")
    F = jnp.diag(func(jnp.diag(T))).astype(T.dtype)
    F, gap = _funm_triu(F, T)
    F = Z @ F @ Z.conj().T
    if disp:
        return F
    tol = dtypes.finfo(F.dtype).eps
    gap = jnp.where(gap == 0.0, tol, gap)
    error = jnp.maximum(tol, (tol / gap) * linalg.norm(jnp.triu(T, 1), 1))
    return F, jnp.where(jnp.isinf(F).any(), np.inf, jnp.minimum(1, error))


@jit
def _funm_triu(F, T):
    """F that commutes with T, given its diagonal: F T = T F, solved for F[i, j]. Also the smallest
    difference of eigenvalues, by which it divides."""
    def entry(state, place):
        F, gap = state
        i, j = place
        # F[i, j] is still zero, and so is what is left of the diagonal or below.
        known = T[i] @ F[:, j] - F[i] @ T[:, j]
        difference = T[j, j] - T[i, i]
        value = jnp.where(difference != 0, known / difference, known)
        return (F.at[i, j].set(value), jnp.minimum(gap, jnp.abs(difference))), None

    return scan(entry, (F, jnp.abs(T[0, 0])), _above_diagonal(len(T)))[0]


# ----------------------------------------------------------------------------------------------
# The polar form


@functools.partial(jit, static_argnames=("side", "method"))
def polar(a, side: str = "right", *, method: str = "qdwh", eps: float | None = None,
          max_iterations: int | None = None):
    """The polar form: U P = a or P U = a, with unitary `U` and positive semidefinite `P`.

    Args:
      a: matrices `(…, m, n)`.
      side: "right" or "left", on which side of `U` the other factor is.
      method, eps, max_iterations: for other devices. Here it is found by a singular value
        decomposition.

    Returns:
      `U` and `P`.

    Raises:
      ValueError: another side or method, or no matrix.
    """
    a = jnp.asarray(a)
    if a.ndim < 2:
        raise ValueError("The input `a` must be at least a 2-D array.")
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method!r}. Use 'qdwh' or 'svd'.")
    size = "n" if side == "right" else "m"
    return jnp.vectorize(functools.partial(_polar, side),
                         signature=f"(m,n)->(m,n),({size},{size})")(a)


@default_matmul_precision("float32")
def _polar(side, a):
    is_wide = a.shape[0] < a.shape[1]
    u, p = _polar_of_columns(a.T.conj() if is_wide else a)
    if (side == "left") != is_wide:
        p = u @ p @ u.T.conj()
    return u.T.conj() if is_wide else u, p


@custom_jvp
def _polar_of_columns(a):
    """U and P with U P = a, which has at least as many rows as columns."""
    u, s, vh = lax_linalg.svd(a, full_matrices=False)
    return u @ vh, (vh.T.conj() * s.astype(typeof(u).dtype)) @ vh


@_polar_of_columns.defjvp
@default_matmul_precision("float32")
def _polar_jvp(primals, tangents):
    """With U̇ = U Z + …, where Z = -Zᴴ: P Z + Z P = Uᴴ ȧ - ȧᴴ U. It has no differences of singular
    values, so that they may be equal, as in an orthogonal matrix. JAX's is a loop, which has no
    reverse mode."""
    (a,), (t,) = primals, tangents
    u, p = _polar_of_columns(a)
    along = u.T.conj() @ t
    z = _commuted(p, along - along.T.conj())
    across = linalg.solve(p.T, (t - u @ along).T).T if a.shape[0] > a.shape[1] else 0
    return (u, p), (u @ z + across, along - z @ p)


def _commuted(p, r):
    """Z with P Z + Z P = R, for positive definite P: in the eigenvectors of P, by elements."""
    w, v = linalg.eigh(stop_gradient(p))

    def solve(_, r):
        return v @ (v.T.conj() @ r @ v / (w[:, None] + w)) @ v.T.conj()

    return custom_linear_solve(lambda z: p @ z + z @ p, r, solve,
                               lambda _, r: solve(_, r.conj()).conj())
