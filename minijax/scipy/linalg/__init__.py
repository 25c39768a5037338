"""Linear algebra, with SciPy's names.

Arguments that tell SciPy to overwrite its input (`overwrite_a` …) or to look for NaNs first
(`check_finite`) are accepted, and do nothing: arrays are immutable, and a compiled program cannot
raise errors.
"""

from ._factorizations import (
    cho_factor, cholesky, eigh, hessenberg, lu, lu_factor, qr, qr_multiply, schur, svd,
)
from ._solvers import cho_solve, det, inv, lu_solve, solve, solve_sylvester, solve_triangular
from ._functions import expm, expm_frechet, funm, polar, rsf2csf, sqrtm
from ._tridiagonal import eigh_tridiagonal
from ._structured import (
    block_diag, circulant, companion, convolution_matrix, dft, fiedler, fiedler_companion,
    hadamard, hankel, helmert, hilbert, invhilbert, invpascal, leslie, pascal, toeplitz,
)
