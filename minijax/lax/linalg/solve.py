"""Chapter 11: the solution of linear equations, by an LU decomposition that derivatives reuse."""

import functools
import math

import numpy as np

from ...core.api import stop_gradient, vmap
from ...core.avals import vary_like
from ...core.boundary import public
from ...core.core import typeof
from ...custom_rules import custom_linear_solve
from ..precision import Precision
from ..products import dot_general
from ..shaping import broadcast_in_dim, broadcast_shapes, broadcast_to, iota, reshape
from ..sorting import sort_key_val
from ..staged import staged
from .lu import lu
from .triangular_solve import triangular_solve


@public
def solve(a, b):
    """The solution X of A X = B.

    If X changes with A and B, then A Ẋ = Ḃ - Ȧ X: derivatives are solutions of equations with the
    same matrix, and reverse mode needs those with its transpose. `custom_linear_solve` solves both.

    Args:
      a: matrices, shape `(..., m, m)`; dtype floating or complex.
      b: of the same dtype; shape `(..., m, k)` or `(..., m)`, of as many dimensions as `a` or one
        less; batch dimensions of size 1 are repeated.

    Raises:
      ValueError: other shapes.
    """
    check_shapes(a, b)
    a_shape, b_shape = typeof(a).shape, typeof(b).shape
    repeated = [m if n == 1 else n for m, n in zip((*a_shape[:-1], 1), b_shape)]
    b = vary_like(broadcast_in_dim(b, repeated, range(len(b_shape))), typeof(a))
    factors, _, permutation = lu(stop_gradient(a))
    solve_vectors = functools.partial(
        custom_linear_solve, functools.partial(times_vectors, a),
        solve=lambda _, x: lu_solve(factors, permutation, x, trans=0),
        transpose_solve=lambda _, x: lu_solve(factors, permutation, x, trans=1))
    if len(b_shape) < len(a_shape):
        return solve_vectors(b)
    return vmap(solve_vectors, len(b_shape) - 1, len(b_shape) - 1)(b)


def check_shapes(a, b) -> None:
    """Raise `ValueError` unless A X = B makes sense for arrays of these shapes."""
    a, b = typeof(a).shape, typeof(b).shape
    if not (len(a) >= 2 and len(b) in (len(a), len(a) - 1) and a[-1] == a[-2] == b[len(a) - 2]):
        raise ValueError("solve takes a of shape (..., m, m) and b of shape (..., m, k) or "
                         f"(..., m), got shapes {a} and {b}.")


def times_vectors(a, x):
    """A x, for a batch of matrices A and of vectors x."""
    *a_batch, n, m = typeof(a).shape
    batch = broadcast_shapes(a_batch, typeof(x).shape[:-1])
    a, x = broadcast_to(a, (*batch, n, m)), broadcast_to(x, (*batch, m))
    ndim, dims = len(batch), range(len(batch))
    return dot_general(a, x, (((ndim + 1,), (ndim,)), (dims, dims)), Precision.HIGHEST)


@public
def lu_solve(lu, permutation, b, trans: int = 0):
    """The solution X of A X = B, Aᵀ X = B or Aᴴ X = B, from the LU decomposition of A.

    Args:
      lu, permutation: as `lax.linalg.lu` returns them, for square matrices.
      b: shape `(..., m, k)`, or `(..., m)` with one dimension less than `lu`; the dimensions before
        broadcast.
      trans: 0, 1 or 2: which of the equations.

    Raises:
      ValueError: shapes that do not fit, or another `trans`.
    """
    return _lu_solve(lu, permutation, b, trans)


@functools.partial(staged, static_argnames=("trans",))
def _lu_solve(lu, permutation, b, trans):
    lu_shape, b_shape = typeof(lu).shape, typeof(b).shape
    if len(lu_shape) < 2 or lu_shape[-1] != lu_shape[-2]:
        raise ValueError("lu_solve takes decompositions of square matrices, got one of shape "
                         f"{lu_shape}.")
    if not b_shape:
        raise ValueError("lu_solve takes a vector or a matrix as b, got a scalar.")
    is_vector = len(lu_shape) == len(b_shape) + 1
    if b_shape[-1 if is_vector else -2] != lu_shape[-1]:
        raise ValueError(f"lu_solve: a decomposition of shape {lu_shape} and b of shape {b_shape} "
                         f"differ in b's {'last' if is_vector else 'second to last'} dimension.")
    if is_vector:
        b = b[..., np.newaxis]
    shapes = lu_shape[:-2], typeof(permutation).shape[:-1], typeof(b).shape[:-2]
    batch = broadcast_shapes(*shapes)
    arrays = [broadcast_to(x, (*batch, *typeof(x).shape[len(shape):]))
              for x, shape in zip((lu, permutation, b), shapes)]
    solve_one = functools.partial(_solve_by_factors, trans=trans)
    for _ in batch:
        solve_one = vmap(solve_one)
    x = solve_one(*arrays)
    return x[..., 0] if is_vector else x


def _solve_by_factors(lu, permutation, b, trans):
    """Two triangular equations; the rows of B are permuted before, or those of X after."""
    m, *rest = typeof(b).shape
    x = reshape(b, (m, math.prod(rest)))
    if trans == 0:
        x = triangular_solve(lu, x[permutation, :], left_side=True, lower=True, unit_diagonal=True)
        x = triangular_solve(lu, x, left_side=True, lower=False)
    elif trans in (1, 2):
        turned = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
        x = triangular_solve(lu, x, lower=False, **turned)
        x = triangular_solve(lu, x, lower=True, unit_diagonal=True, **turned)
        _, back = sort_key_val(permutation, iota(np.int32, typeof(permutation).shape[0]))
        x = x[back, :]
    else:
        raise ValueError(f"lu_solve takes 0, 1 or 2 for trans, got {trans}")
    return reshape(x, typeof(b).shape)
