"""Chapter 11: linear algebra, one file a factorization.

XLA calls LAPACK for them, see `lapack.py`; their derivatives are matrix calculus.
"""

from .triangular_solve import triangular_solve, triangular_solve_p
from .cholesky import cholesky, cholesky_p
