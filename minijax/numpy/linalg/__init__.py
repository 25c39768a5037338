"""Chapter 12: linear algebra, with NumPy's names."""

from ...compat.first_use import public_names as _public_names

from ._factorizations import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from ._solvers import inv, solve, tensorinv, tensorsolve
from ._determinants import det, slogdet
from ._norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from ._least_squares import lstsq, pinv
from ._products import (
    cross, diagonal, matmul, matrix_power, matrix_transpose, multi_dot, outer, tensordot, trace,
    vecdot)

__all__ = _public_names(__name__)


def __dir__() -> list[str]:
    return __all__
