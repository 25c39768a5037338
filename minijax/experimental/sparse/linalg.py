"""Linear systems with a sparse matrix, and its largest eigenvalues."""

from ...custom_rules.solves import custom_linear_solve
from ...debugging.callbacks import pure_callback
from ...runtime.structs import ShapeDtypeStruct
from .. import _sparse_checks as checks
from .bcsr import BCSR
from .eigenvalues import lobpcg_standard as lobpcg_standard


def spsolve(data, indices, indptr, b, tol: float = 1e-6, reorder: int = 1):
    """Solve A x = b for x, with SciPy's direct solver.

    Args:
      data, indices, indptr: the square matrix A in compressed rows.
      b: a vector of the dtype of `data`.
      tol, reorder: for GPUs in JAX; here without effect.

    Returns:
      the solution, which has derivatives with respect to `data` and `b`.

    >>> from minijax.experimental import sparse
    >>> A = sparse.BCSR.fromdense(2 * jnp.eye(3))
    >>> sparse.linalg.spsolve(A.data, A.indices, A.indptr, jnp.ones(3))
    Array([0.5, 0.5, 0.5], dtype=float32)
    """
    checks.solve_operands(data, indices, indptr, b, reorder)
    A = BCSR((data, indices, indptr), shape=(b.size, b.size)).to_bcoo()

    def solver(A):
        return lambda _, b: pure_callback(
            _solve_in_scipy, ShapeDtypeStruct(b.shape, b.dtype), A.data, A.indices, b)

    return custom_linear_solve(lambda x: A @ x, b, solver(A), solver(A.T))


def _solve_in_scipy(data, indices, b):
    import scipy.sparse.linalg
    A = scipy.sparse.coo_matrix((data, tuple(indices.T)), shape=(b.size, b.size)).tocsc()
    return scipy.sparse.linalg.spsolve(A, b).astype(b.dtype)
