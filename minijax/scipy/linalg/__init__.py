"""Linear algebra, with SciPy's names.

Arguments that tell SciPy to overwrite its input (`overwrite_a` …) or to look for NaNs first
(`check_finite`) are accepted, and do nothing: arrays are immutable, and a compiled program cannot
raise errors.
"""

from ._factorizations import (
    cho_factor, cholesky, eigh, hessenberg, lu, lu_factor, qr, qr_multiply, schur, svd)
from ._solvers import cho_solve, det, inv, lu_solve, solve, solve_sylvester, solve_triangular
from ._functions import expm, expm_frechet, funm, polar, sqrtm
from ._tridiagonal import eigh_tridiagonal
from ._structured import block_diag, circulant, dft, hadamard, hankel, hilbert, toeplitz
from ...compat.absent import with_absent_names as _with_absent_names

__getattr__ = _with_absent_names(__name__)
