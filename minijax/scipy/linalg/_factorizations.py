"""Factorizations, by the primitives of `lax.linalg` and with SciPy's signatures."""

import numpy as np

from ... import numpy as jnp
from ...core.boundary import public
from ...core.core import typeof
from ...core.operators import promote_dtypes_inexact
from ...lax import linalg as lax_linalg
from ...lax.dtypes import to_complex_dtype
from ...lax.precision import Precision
from ...lax.staged import staged


def inexact(*args):
    """Arrays of floats or complex numbers."""
    return promote_dtypes_inexact(*map(jnp.asarray, args))


# ----------------------------------------------------------------------------------------------
# Of positive definite matrices


@public
def cholesky(a, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True):
    """The Cholesky factor: the upper triangular `R` with Rᴴ R = a, or the lower `L` with L Lᴴ = a.

    Args:
      a: positive definite matrices `(…, n, n)`, of which one triangle counts.
      lower: whether it is the lower, and `L` is wanted.

    Raises:
      ValueError: matrices that are not square.

    >>> import minijax.scipy.linalg
    >>> jax.scipy.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    return _cholesky(a, lower)


@staged(static_argnames=("lower",), eager=False)
def _cholesky(a, lower):
    (a,) = inexact(a)
    L = lax_linalg.cholesky(a if lower else jnp.conj(a.mT), symmetrize_input=False)
    return L if lower else jnp.conj(L.mT)


@public
def cho_factor(a, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True):
    """The Cholesky factor and `lower`, for `cho_solve`.

    Args:
      a, lower: as for `cholesky`.
    """
    return cholesky(a, lower=lower), lower


# ----------------------------------------------------------------------------------------------
# Into triangles


@staged(static_argnames=("permute_l", "overwrite_a", "check_finite"), eager=False)
def lu(a, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True):
    """The LU factorization: P L U = a, for a permutation `P`, `L` lower and `U` upper triangular.

    Args:
      a: a matrix `(m, n)`.
      permute_l: whether to return `P L` and `U`, rather than all three.

    >>> import minijax.scipy.linalg
    >>> p, l, u = jax.scipy.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> (p @ l @ u).tolist()
    [[1.0, 2.0], [4.0, 4.0]]
    """
    return _lu(a, permute_l)


@staged(static_argnames=("permute_l",), eager=False)
def _lu(a, permute_l):
    (a,) = inexact(a)
    factors, _, permutation = lax_linalg.lu(a)
    m, n = a.shape
    from_row, to_row = permutation[None, :], jnp.arange(m, dtype=permutation.dtype)[:, None]
    p = jnp.real(jnp.array(from_row == to_row, dtype=a.dtype))
    k = min(m, n)
    l = jnp.tril(factors, -1)[:, :k] + jnp.eye(m, k, dtype=a.dtype)
    u = jnp.triu(factors)[:k, :]
    return (jnp.matmul(p, l, precision=Precision.HIGHEST), u) if permute_l else (p, l, u)


@staged(static_argnames=("overwrite_a", "check_finite"), eager=False)
def lu_factor(a, overwrite_a: bool = False, check_finite: bool = True):
    """The LU factorization in the form that `lu_solve` takes.

    Args:
      a: matrices `(…, m, n)`.

    Returns:
      one array with `U`, and below its diagonal `L`; and with which row each row was exchanged.
    """
    lu, pivots, _ = lax_linalg.lu(*inexact(a))
    return lu, pivots


@public
def qr(a, overwrite_a: bool = False, lwork=None, mode: str = "full", pivoting: bool = False,
       check_finite: bool = True):
    """The QR factorization: `Q` with orthonormal columns, `R` upper triangular, Q R = a.

    Args:
      a: matrices `(…, m, n)`.
      mode: "full", for a square `Q`; "economic", for one of at most n columns; "r", for `R` only.
      pivoting: whether to sort the columns of `a` so that the diagonal of `R` does not grow.

    Returns:
      a tuple of `Q` (unless the mode is "r"), `R`, and if `pivoting` the order of the columns.

    Raises:
      ValueError: another mode.
    """
    return _qr(a, mode, pivoting)


@staged(static_argnames=("mode", "pivoting"), eager=False)
def _qr(a, mode, pivoting):
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode {mode!r}. Use 'full', 'economic' "
                         "or 'r'.")
    q, *rest = lax_linalg.qr(*inexact(a), pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


@public
def qr_multiply(a, c, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
                overwrite_a: bool = False, overwrite_c: bool = False):
    """The product of the `Q` of a QR factorization and another matrix, without computing `Q`.

    Args:
      a: matrices `(…, m, n)` to be factorized; k is the smaller of m and n.
      c: for "right" an array `(…, l, m)`, for "left" `(…, k, l)`; or a vector.
      mode: "right" for c Q, "left" for Q c.
      pivoting: as for `qr`.
      conjugate: whether to conjugate `Q`.

    Returns:
      the product, `R`, and if `pivoting` the order of the columns.

    Raises:
      ValueError: another mode, or shapes that do not fit.
    """
    a, c = inexact(a, c)
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    is_vector, left = c.ndim == 1, mode == "left"
    if is_vector:
        c = c[:, None] if left else c[None, :]
    m, n = a.shape[-2:]
    k = min(m, n)
    if (c.shape[-2] != k) if left else (c.shape[-1] != m):
        raise ValueError(f"qr_multiply: Q has {m} rows and {k} columns, and cannot be multiplied "
                         f"on the {mode} side with c of shape {c.shape}")
    batch = jnp.broadcast_shapes(a.shape[:-2], c.shape[:-2])
    a, c = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (a, c))
    r, taus, order = _reflections(a, pivoting)
    if left and m > n:
        c = jnp.concatenate([c, jnp.zeros((*batch, m - k, c.shape[-1]), c.dtype)], axis=-2)
    product = _times_q(r, taus, c, left, conjugate)
    product = product if left else product[..., :k]
    product = product.ravel() if is_vector else product
    return product, jnp.triu(r[..., :k, :]), *order


def _reflections(a, pivoting):
    """A QR factorization as the reflections that `Q` consists of."""
    if not pivoting:
        return *lax_linalg.geqrf(a), ()
    r, order, taus = lax_linalg.geqp3(a, jnp.zeros(a.shape[:-2] + a.shape[-1:], jnp.int32))
    return r, taus, (order - 1,)


def _times_q(r, taus, c, left, conjugate):
    """Q c or c Q; with the conjugate of Q by way of transposes: conj(Q) c = (cᵀ Qᴴ)ᵀ."""
    if not conjugate:
        return lax_linalg.ormqr(r, taus, c, left=left, transpose=False)
    return lax_linalg.ormqr(r, taus, c.mT, left=not left, transpose=True).mT


# ----------------------------------------------------------------------------------------------
# Eigenvalues and singular values


@public
def svd(a, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
        check_finite: bool = True, lapack_driver: str = "gesdd"):
    """The singular value decomposition: U diag(s) Vh = a, with unitary `U` and `Vh`.

    Args:
      a: matrices `(…, m, n)`.
      full_matrices: whether `U` and `Vh` are square.
      compute_uv: whether they are wanted at all.

    Returns:
      `U`, `s` (descending) and `Vh`, or just `s`.
    """
    return _svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


@staged(static_argnames=("full_matrices", "compute_uv"), eager=False)
def _svd(a, *, full_matrices, compute_uv):
    return lax_linalg.svd(*inexact(a), full_matrices=full_matrices, compute_uv=compute_uv)


@public
def eigh(a, b=None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
         overwrite_b: bool = False, turbo: bool = True, eigvals: None = None, type: int = 1,
         check_finite: bool = True):
    """The eigenvalues and eigenvectors of matrices that are their own adjoint.

    Args:
      a: matrices `(…, n, n)`.
      b, eigvals, type: of generalized problems, which are not implemented.
      lower: which triangle of `a` counts, before it is made its own adjoint.
      eigvals_only: whether the eigenvectors are not wanted.

    Returns:
      the eigenvalues, ascending, and the eigenvectors in columns.

    Raises:
      NotImplementedError: a generalized problem.
    """
    return _eigh(a, b, lower, eigvals_only, eigvals, type)


@staged(static_argnames=("lower", "eigvals_only", "eigvals", "type"), eager=False)
def _eigh(a, b, lower, eigvals_only, eigvals, type):
    if b is not None or type != 1 or eigvals is not None:
        raise NotImplementedError("Only the case b=None, type=1, eigvals=None of eigh is "
                                  "implemented.")
    v, w = lax_linalg.eigh(*inexact(a), lower=lower)
    return w if eigvals_only else (w, v)


@public
def schur(a, output: str = "real"):
    """The Schur factorization: Z T Zᴴ = a, with unitary `Z`.

    Args:
      a: a matrix `(n, n)`.
      output: "complex" for an upper triangular `T` with the eigenvalues on the diagonal; "real" for
        one with 2 × 2 blocks there, for pairs of complex eigenvalues of a real matrix.

    Returns:
      `T` and `Z`.

    Raises:
      ValueError: another `output`.
    """
    if output not in ("real", "complex"):
        raise ValueError("Expected 'output' to be either 'real' or 'complex', got "
                         f"output={output!r}.")
    return _schur(a, output)


@staged(static_argnames=("output",), eager=False)
def _schur(a, output):
    if output == "complex":
        a = a.astype(to_complex_dtype(a.dtype))
    return lax_linalg.schur(a)


@staged(static_argnames=("calc_q", "check_finite", "overwrite_a"), eager=False)
def hessenberg(a, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True):
    """The Hessenberg form: Q H Qᴴ = a, with unitary `Q`, and `H` zero below the first subdiagonal.

    Args:
      a: matrices `(…, n, n)`.
      calc_q: whether `Q` is wanted, too.

    Returns:
      `H`, or `H` and `Q`.

    Raises:
      TypeError: fewer than two dimensions.
    """
    shape = np.shape(a)
    if len(shape) < 2:
        raise TypeError(f"hessenberg expects matrices (…, n, n), got shape {shape}.")
    *batch, _, n = shape
    if not n:
        return (jnp.zeros_like(a), jnp.zeros_like(a)) if calc_q else jnp.zeros_like(a)
    reflections, taus = lax_linalg.hessenberg(a)
    h = jnp.triu(reflections, -1)
    if not calc_q:
        return h
    dtype = typeof(reflections).dtype
    q = lax_linalg.householder_product(reflections[..., 1:, :-1], taus)
    return h, jnp.block([
        [jnp.ones((*batch, 1, 1), dtype), jnp.zeros((*batch, 1, n - 1), dtype)],
        [jnp.zeros((*batch, n - 1, 1), dtype), q]])
