"""Chapter 11: the LU decomposition with row pivoting, P A = L U."""

import numpy as np

from ...core.api import vmap
from ...core.boundary import public
from ...core.core import typeof
from ...core.forward import Zero, defjvp_zero, primitive_jvps
from ...core.lowering import emit, register_lowering
from ...core.primitives import convert
from .. import elementwise as prim
from ..control_flow.fori_loop import fori_loop
from ..cutting import pad
from ..families import lower_fun
from ..precision import default_matmul_precision
from ..reductions import reduce_sum
from ..selection import select
from ..shaping import broadcasted_iota, expand_dims, full_like
from ..slicing import dynamic_index_in_dim
from .common import eye, linear_algebra_primitive, tril, triu
from .lapack import info_type, lapack_call, nan_unless, register_solver, routine, succeeded
from .triangular_solve import triangular_solve

# ----------------------------------------------------------------------------------------------
# Row swaps as permutations


def _permutation_shape(shape, *, permutation_size):
    if permutation_size < shape[0]:
        raise ValueError(f"lu_pivots_to_permutation: {shape[0]} pivots do not fit in a permutation "
                         f"of {permutation_size}.")
    return (permutation_size,)


def _swap_in_turn(pivots, *, permutation_size):
    """The evaluation rule: what becomes of 0, 1, 2 … when row i is swapped with row pivots[i]."""
    out = np.empty((*pivots.shape[:-1], permutation_size), np.int32)
    out[...] = np.arange(permutation_size)
    for i in range(pivots.shape[-1]):
        j = pivots[..., i : i + 1]
        mine, other = out[..., i : i + 1].copy(), np.take_along_axis(out, j, -1)
        np.put_along_axis(out, j, mine, -1)
        out[..., i : i + 1] = other
    return out


def _swaps(pivots, *, permutation_size):
    """The same as a program: the pivot is found by comparing its number with those of all rows."""
    *batch, k = typeof(pivots).shape
    axis = len(batch)
    places = broadcasted_iota(np.int32, (*batch, permutation_size), axis)

    def swap(i, order):
        here = prim.eq(places, convert(i, np.dtype(np.int32)))
        there = prim.eq(places, dynamic_index_in_dim(pivots, i, axis))
        other = reduce_sum(select(there, order, full_like(order, 0)), [axis])
        swapped = select(there, dynamic_index_in_dim(order, i, axis) + full_like(order, 0), order)
        return select(here, expand_dims(other, [axis]) + full_like(order, 0), swapped)

    return fori_loop(np.int32(0), np.int32(k), swap, places) if k else places


lu_pivots_to_permutation_p = linear_algebra_primitive(
    "lu_pivots_to_permutation", (1,), _permutation_shape, accepted=[(np.int32,)],
    numpy_rule=_swap_in_turn)
defjvp_zero(lu_pivots_to_permutation_p)
_lower_swaps = register_solver(lu_pivots_to_permutation_p, lower_fun(_swaps))


@public
def lu_pivots_to_permutation(pivots, permutation_size: int):
    """The permutation that a sequence of row swaps makes.

    Args:
      pivots: shape `(..., k)`, dtype int32: row i is swapped with row `pivots[i]`, for i = 0, 1 …
      permutation_size: the number m of rows.

    Returns:
      an array of shape `(..., m)`, dtype int32: the old numbers of the rows.

    Raises:
      TypeError: another dtype.
      ValueError: fewer rows than swaps.

    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 1, 2]), 3)
    Array([2, 1, 0], dtype=int32)
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=permutation_size)


# ----------------------------------------------------------------------------------------------
# The decomposition


def _lu_shapes(shape):
    return shape, (min(*shape),), shape[:1]


def _lu_dtypes(dtype):
    return dtype, np.dtype(np.int32), np.dtype(np.int32)


lu_p = linear_algebra_primitive("lu", (2,), _lu_shapes, _lu_dtypes, multiple_results=True)


@public
def lu(x):
    """The matrices L, lower triangular with ones on the diagonal, and U, upper triangular, such
    that L U is `x` with its rows permuted.

    Args:
      x: matrices, shape `(..., m, n)`; dtype floating or complex.

    Returns:
      both in one array of the shape of `x` (without the ones); the row swaps, shape
      `(..., min(m, n))`, dtype int32; the permutation that they make, shape `(..., m)`.

    Raises:
      TypeError: another dtype.

    >>> factors, pivots, permutation = lax.linalg.lu(jnp.array([[1.0, 2.0], [2.0, 2.0]]))
    >>> factors.tolist(), pivots.tolist(), permutation.tolist()
    ([[2.0, 2.0], [0.5, 1.0]], [1, 1], [1, 0])
    """
    return lu_p.bind(x)


def _lu_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    factors, pivots, permutation = lu_p.bind(x)
    tangent = _lu_tangent
    for _ in range(typeof(x).ndim - 2):
        tangent = vmap(tangent)
    t = tangent(factors, t, permutation)
    return [factors, pivots, permutation], [t, *map(Zero.from_primal_value, (pivots, permutation))]


def _lu_tangent(factors, t, permutation):
    """L̇ = L tril(L⁻¹ P Ȧ U⁻¹) and U̇ = triu(L⁻¹ P Ȧ U⁻¹) U, both in one matrix.

    F. R. de Hoog, R. S. Anderssen, M. A. Lukas, "Differentiation of matrix functionals using
    triangular factorization", 2011. L and U are filled up to be square.
    """
    (m, n), dtype = typeof(t).shape, typeof(t).dtype
    k, zero = min(m, n), dtype.type(0)
    lower = pad(tril(factors[:, :k], -1), zero, ((0, 0, 0), (0, m - k, 0)))
    lower = lower + eye(dtype, m)
    rest = pad(eye(dtype, n - k), zero, ((k, 0, 0), (k, 0, 0)))
    upper = pad(triu(factors[:k, :]), zero, ((0, n - k, 0), (0, 0, 0))) + rest
    t = triangular_solve(lower, t[permutation], left_side=True, lower=True, unit_diagonal=True)
    t = triangular_solve(upper, t, left_side=False, lower=False)
    with default_matmul_precision("highest"):
        return lower @ tril(t, -1) + triu(t) @ upper


def _lower_lu(ctx, x):
    out, pivots_type, _ = ctx.avals_out
    factors, pivots, info = lapack_call(
        ctx, routine("getrf", x.aval.dtype), [x], [out, pivots_type, info_type(x)], {0: 0})
    pivots = emit(ctx, "subtract", pivots, ctx.constant(1, pivots.aval))  # LAPACK counts from 1
    factors = nan_unless(ctx, succeeded(ctx, info, "GE"), factors)
    return [factors, pivots, _lower_swaps(ctx, pivots, permutation_size=x.aval.shape[-2])]


primitive_jvps[lu_p] = _lu_jvp
register_lowering(lu_p, _lower_lu)
