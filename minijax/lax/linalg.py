"""`jax.lax.linalg`: factorizations of matrices, and the solution of linear equations."""

# chapter 11
from minijax.families.linear_algebra import (
    EigImplementation, EighImplementation, SvdAlgorithm, cholesky, cholesky_p, cholesky_update,
    cholesky_update_p, eig, eig_p, eigh, eigh_p, hessenberg, hessenberg_p, householder_product,
    householder_product_p, lu, lu_p, lu_pivots_to_permutation, lu_pivots_to_permutation_p, ormqr,
    ormqr_p, qr, qr_p, schur, schur_p, svd, svd_p, symmetric_product, symmetric_product_p,
    triangular_solve, triangular_solve_p, tridiagonal, tridiagonal_p, tridiagonal_solve,
    tridiagonal_solve_p,
)

# chapter 12
from minijax.numpy.linalg._polar import qdwh
