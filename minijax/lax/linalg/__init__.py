"""Chapter 11: linear algebra, one file a factorization.

XLA calls LAPACK for them, see `lapack.py`; their derivatives are matrix calculus.
"""

from ...compat.absent import with_absent_names as _with_absent_names
from ...compat.first_use import public_names as _public_names

from .triangular_solve import triangular_solve, triangular_solve_p
from .cholesky import cholesky, cholesky_p
from .lu import lu, lu_p, lu_pivots_to_permutation, lu_pivots_to_permutation_p
from .solve import lu_solve, solve
from .eigh import EighImplementation, eigh, eigh_p
from .qr import (
    geqp3, geqp3_p, geqrf, geqrf_p, householder_product, householder_product_p, ormqr, ormqr_p, qr,
    qr_p)
from .svd import SvdAlgorithm, svd, svd_p
from .eig import EigImplementation, eig, eig_p
from .schur import hessenberg, hessenberg_p, schur, schur_p
from .tridiagonal_solve import tridiagonal_solve, tridiagonal_solve_p
from . import cusolver as _cusolver  # gives GPUs their calls

__getattr__ = _with_absent_names(__name__)
__all__ = _public_names(__name__)


def __dir__() -> list[str]:
    return __all__
