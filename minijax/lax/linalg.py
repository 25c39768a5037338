"""`jax.lax.linalg`: factorizations of matrices, and the solution of linear equations."""

# chapter 11
from minijax.families.linear_algebra import (
    EighImplementation, SvdAlgorithm, cholesky, cholesky_p, eigh, eigh_p, householder_product,
    householder_product_p, lu, lu_p, lu_pivots_to_permutation, lu_pivots_to_permutation_p, ormqr,
    ormqr_p, qr, qr_p, svd, svd_p, triangular_solve, triangular_solve_p,
)
