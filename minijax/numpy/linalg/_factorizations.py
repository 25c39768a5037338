"""Chapter 12: factorizations, by the primitives of `lax.linalg` and with NumPy's signatures."""

from typing import Any, NamedTuple

from ...core.boundary import public
from ...lax import elementwise as lax, rounding
from ...lax.linalg.cholesky import cholesky as lax_cholesky
from ...lax.linalg.eig import eig as lax_eig
from ...lax.linalg.eigh import eigh as lax_eigh
from ...lax.linalg.qr import geqrf as lax_geqrf, qr as lax_qr
from ...lax.linalg.svd import svd as lax_svd
from ...lax.shaping import broadcasted_iota, rev
from ...lax.sorting import sort
from ...runtime.jit import jit
from .._arguments import ensure_arraylike, promote_dtypes_inexact
from .._indexing import take_along_axis
from .._shaping import matrix_transpose
from .._ufuncs import conj, conjugate


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Any
    S: Any
    Vh: Any


def adjoint(x):
    """The matrices in the last two dimensions, transposed and conjugated."""
    return conjugate(matrix_transpose(x))


def inexact(name: str, a):
    """The argument of `jnp.linalg.<name>` as an array of floats or complex numbers."""
    return promote_dtypes_inexact(ensure_arraylike(f"jnp.linalg.{name}", a))[0]


# ----------------------------------------------------------------------------------------------
# Triangles


@jit(static_argnames=("upper", "symmetrize_input"))
def cholesky(a, *, upper: bool = False, symmetrize_input: bool = True):
    """The Cholesky factor: the lower triangular matrix `L` with positive diagonal and L Lᴴ = a.

    Args:
      a: positive definite matrices `(…, n, n)`.
      upper: whether to return Lᴴ instead.
      symmetrize_input: whether to take (a + aᴴ) / 2 for `a`; otherwise its lower triangle counts.

    Returns:
      an array like `a`, of NaNs where it is not positive definite.

    Raises:
      ValueError: matrices that are not square.

    >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    L = lax_cholesky(inexact("cholesky", a), symmetrize_input=symmetrize_input)
    return conj(L.mT) if upper else L


@jit(static_argnames=("mode",))
def qr(a, mode: str = "reduced"):
    """The QR factorization: `Q` with orthonormal columns, `R` upper triangular, Q R = a.

    Args:
      a: matrices `(…, m, n)`; k is the smaller of m and n.
      mode: "reduced", for `Q` `(…, m, k)` and `R` `(…, k, n)`; "complete", for `Q` `(…, m, m)` and
        `R` `(…, m, n)`; "r", for `R` only; "raw", for the Householder vectors and their factors.

    Returns:
      the pair, as a `QRResult`.

    Raises:
      ValueError: another mode.

    >>> Q, R = qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(R).round(3)
    Array([[5. , 2.2],
           [0. , 0.4]], dtype=float32)
    """
    a = inexact("qr", a)
    if mode == "raw":
        a, taus = lax_geqrf(a)
        return QRResult(a.mT, taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode {mode!r}. Use 'reduced', "
                         "'complete', 'full', 'r' or 'raw'.")
    q, r = lax_qr(a, pivoting=False, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


# ----------------------------------------------------------------------------------------------
# Eigenvalues


@jit(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a, UPLO: str | None = None, symmetrize_input: bool = True):
    """The eigenvalues and eigenvectors of matrices that are their own adjoint.

    Args:
      a: matrices `(…, n, n)`.
      UPLO: "L" or "U", which triangle counts; by default the lower.
      symmetrize_input: whether to take (a + aᴴ) / 2 for `a`, so that both triangles count.

    Returns:
      an `EighResult` of the real eigenvalues `(…, n)`, ascending, and the eigenvectors `(…, n, n)`,
      its columns.

    Raises:
      ValueError: another `UPLO`; matrices that are not square.

    >>> eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues.round(3).tolist()
    [1.0, 3.0]
    """
    a = ensure_arraylike("jnp.linalg.eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    (a,) = promote_dtypes_inexact(a)
    v, w = lax_eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@jit(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a, UPLO: str | None = "L", *, symmetrize_input: bool = True):
    """The eigenvalues of matrices that are their own adjoint, ascending.

    Args:
      a, UPLO, symmetrize_input: as for `eigh`.
    """
    return eigh(inexact("eigvalsh", a), UPLO, symmetrize_input=symmetrize_input).eigenvalues


@public
def eig(a):
    """The eigenvalues and eigenvectors of square matrices.

    Args:
      a: matrices `(…, n, n)`.

    Returns:
      an `EigResult` of the complex eigenvalues `(…, n)`, in no particular order, and the
      eigenvectors `(…, n, n)`, its columns.

    Raises:
      ValueError: matrices that are not square.

    >>> eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag.round(3).tolist()
    [1.0, -1.0]
    """
    w, v = lax_eig(inexact("eig", a), compute_left_eigenvectors=False)
    return EigResult(w, v)


@jit
def eigvals(a):
    """The eigenvalues of square matrices, complex and in no particular order.

    Args:
      a: matrices `(…, n, n)`. Where the eigenvectors are not independent, as in a Jordan block, the
        derivatives are no numbers of use: the eigenvalues move infinitely fast.

    Raises:
      ValueError: matrices that are not square.
    """
    return lax_eig(inexact("eigvals", a), compute_left_eigenvectors=False,
                   compute_right_eigenvectors=False)[0]


# ----------------------------------------------------------------------------------------------
# Singular values


@jit(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(a, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None):
    """The singular value decomposition: U diag(S) Vh = a, with unitary `U` and `Vh`.

    Args:
      a: matrices `(…, m, n)`; k is the smaller of m and n.
      full_matrices: whether `U` is `(…, m, m)` and `Vh` `(…, n, n)`, rather than `(…, m, k)` and
        `(…, k, n)`.
      compute_uv: whether `U` and `Vh` are wanted at all.
      hermitian: whether `a` is its own adjoint; `eigh` is quicker then.
      subset_by_index: the first and the last but one of the singular values that are wanted.

    Returns:
      an `SVDResult`; or just `S`, `(…, k)` and descending.

    >>> svd(jnp.array([[0.0, 2.0], [3.0, 0.0]]), compute_uv=False).tolist()
    [3.0, 2.0]
    """
    a = inexact("svd", a)
    if hermitian:
        return _hermitian_svd(a, compute_uv, subset_by_index)
    result = lax_svd(a, full_matrices=full_matrices, compute_uv=compute_uv,
                     subset_by_index=subset_by_index)
    return SVDResult(*result) if compute_uv else result


def _hermitian_svd(a, compute_uv, subset_by_index):
    """Singular values are absolute eigenvalues; the signs go into one of the factors."""
    vectors, values = lax_eigh(a, subset_by_index=subset_by_index)
    s = lax.abs_(values)
    last = s.ndim - 1
    if not compute_uv:
        return rev(sort(s, dimension=-1), [last])
    signs = rounding.sign(values)
    places = broadcasted_iota("uint32", s.shape, last)
    in_order = sort((s, places, signs), dimension=-1, num_keys=1)
    s, places, signs = (rev(x, [last]) for x in in_order)
    u = take_along_axis(vectors, places[..., None, :], axis=-1)
    return SVDResult(u, s, adjoint(u * signs[..., None, :].astype(u.dtype)))


@public
def svdvals(x, /):
    """The singular values of matrices, descending.

    Args:
      x: matrices `(…, m, n)`.
    """
    return svd(ensure_arraylike("jnp.linalg.svdvals", x), compute_uv=False, hermitian=False)
