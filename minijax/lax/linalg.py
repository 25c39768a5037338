"""`jax.lax.linalg`: factorizations of matrices, and the solution of linear equations."""

# chapter 11
from minijax.families.linear_algebra import (
    cholesky, cholesky_p, lu, lu_p, lu_pivots_to_permutation, lu_pivots_to_permutation_p,
    triangular_solve, triangular_solve_p,
)
