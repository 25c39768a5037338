"""Chapter 11: the QR decomposition, A = Q R with orthonormal columns of Q and R upper triangular.

LAPACK keeps Q as a product of reflections, whose vectors lie below the diagonal of R: three
primitives make them (`geqrf`, and `geqp3` with pivots) and multiply them (`householder_product`).
`qr` is a program of those, and a primitive for the sake of its derivative.
"""

import numpy as np

from ...core.api import vmap
from ...core.boundary import public
from ...core.core import typeof
from ...core.forward import Zero, primitive_jvps
from ...core.lowering import register_lowering
from ...core.primitives import convert
from ..cutting import concatenate, pad
from ..families import INTEGER, lower_fun
from ..shaping import broadcast_in_dim, expand_dims, full
from .common import FLOAT_OR_COMPLEX, adjoint, eye, linear_algebra_primitive, real, tril, triu
from .lapack import lapack_call, register_solver, routine
from .lu import lu
from .solve import lu_solve
from .triangular_solve import triangular_solve

# ----------------------------------------------------------------------------------------------
# Reflections


geqrf_p = linear_algebra_primitive(
    "geqrf", (2,), lambda shape: (shape, (min(*shape),)), multiple_results=True)
geqp3_p = linear_algebra_primitive(
    "geqp3", (2, 1), lambda a, pivots, **params: (a, pivots, (min(*a),)),
    lambda dtype, **params: (dtype, np.dtype(np.int32), dtype),
    accepted=[FLOAT_OR_COMPLEX, INTEGER], same_dtypes=False, multiple_results=True)


@public
def geqrf(a):
    """R, with reflections below its diagonal whose product is Q, and their factors.

    Args:
      a: matrices, shape `(..., m, n)`; dtype floating or complex.

    Returns:
      an array of the shape of `a`, and one of shape `(..., min(m, n))`.
    """
    return tuple(geqrf_p.bind(a))


@public
def geqp3(a, jpvt, *, use_magma: bool | None = None):
    """`geqrf` of matrices whose columns are sorted so that R's diagonal does not increase.

    Args:
      a: matrices, shape `(..., m, n)`; dtype floating or complex.
      jpvt: shape `(..., n)`, dtype int32: where it is not zero, the column comes to the front.
      use_magma: for other devices.

    Returns:
      R with reflections; the numbers of the columns, from 1; the factors of the reflections.
    """
    return tuple(geqp3_p.bind(a, jpvt, use_magma=use_magma))


def _lower_geqrf(ctx, a):
    return lapack_call(ctx, routine("geqrf", a.aval.dtype), [a], ctx.avals_out, {0: 0})


def _lower_geqp3(ctx, a, pivots, *, use_magma):
    name = routine("geqp3", a.aval.dtype)
    return lapack_call(ctx, name, [a, pivots], ctx.avals_out, {0: 0, 1: 1})


def _product_shape(a, taus):
    m, n = a
    if m < n:
        raise ValueError(f"householder_product takes no more columns than rows, got shape {a}.")
    if taus[0] > n:
        raise ValueError("householder_product takes no more factors than columns, got "
                         f"{taus[0]} for matrices of shape {a}.")
    return a


householder_product_p = linear_algebra_primitive("householder_product", (2, 1), _product_shape)


@public
def householder_product(a, taus):
    """The first columns of products of reflections I - τᵢ vᵢ vᵢᴴ.

    Args:
      a: shape `(..., m, n)`: below the diagonals the vectors vᵢ, whose i-th element is one and
        those before are zero.
      taus: shape `(..., k)`, of the same dtype: the factors τᵢ.

    Returns:
      an array of the shape of `a`.

    Raises:
      ValueError: more columns than rows, or more factors than columns.

    >>> a, taus = jnp.array([[3.0], [0.5]]), jnp.array([1.6])
    >>> lax.linalg.householder_product(a, taus)
    Array([[-0.6],
           [-0.8]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


def _by_symmetry(real_name, complex_name, dtype):
    """LAPACK's name for a routine of real orthogonal or of complex unitary matrices."""
    return routine(complex_name if dtype.kind == "c" else real_name, dtype)


def _lower_householder_product(ctx, a, taus):
    name = _by_symmetry("orgqr", "ungqr", a.aval.dtype)
    (out,) = lapack_call(ctx, name, [a, taus], ctx.avals_out, {0: 0})
    return out


register_lowering(geqrf_p, _lower_geqrf)
register_solver(geqp3_p, _lower_geqp3)
register_lowering(householder_product_p, _lower_householder_product)

# ----------------------------------------------------------------------------------------------
# Multiplying by Q


def _ormqr_shape(a, taus, c, *, left, transpose):
    if c[0 if left else 1] != a[0]:
        which = "rows" if left else "columns"
        raise ValueError(f"ormqr with {left=}: c needs as many {which} as a has rows, got shapes "
                         f"{c} and {a}.")
    return c


ormqr_p = linear_algebra_primitive("ormqr", (2, 1, 2), _ormqr_shape)


@public
def ormqr(a, taus, c, *, left: bool = True, transpose: bool = False):
    """Products with the Q of a QR decomposition, which is not formed.

    Args:
      a, taus: as `geqrf` returns them, shapes `(..., m, n)` and `(..., k)`.
      c: shape `(..., m, l)` if `left`, else `(..., l, m)`.
      left: Q C; else C Q.
      transpose: take Qᴴ for Q.

    Returns:
      an array of the shape of `c`.

    Raises:
      ValueError: shapes that do not fit.

    >>> a, taus = jnp.array([[3.0], [0.5]]), jnp.array([1.6])
    >>> lax.linalg.ormqr(a, taus, jnp.array([[5.0], [0.0]]))
    Array([[-3.],
           [-4.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=left, transpose=transpose)


def _lower_ormqr(ctx, a, taus, c, *, left, transpose):
    name = _by_symmetry("ormqr", "unmqr", a.aval.dtype)
    (out,) = lapack_call(ctx, name, [a, taus, c], ctx.avals_out, {2: 0}, left=bool(left),
                         transpose=bool(transpose))
    return out


register_lowering(ormqr_p, _lower_ormqr)

# ----------------------------------------------------------------------------------------------
# The decomposition


def _qr_shapes(shape, *, pivoting, full_matrices, **params):
    m, n = shape
    k = m if full_matrices else min(m, n)
    return ((m, k), (k, n), (n,)) if pivoting else ((m, k), (k, n))


def _qr_dtypes(dtype, *, pivoting, **params):
    return (dtype, dtype, np.dtype(np.int32)) if pivoting else (dtype, dtype)


qr_p = linear_algebra_primitive("qr", (2,), _qr_shapes, _qr_dtypes, multiple_results=True)


@public
def qr(x, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None):
    """Matrices Q with orthonormal columns and R, upper triangular, such that `x` = Q R.

    Args:
      x: matrices, shape `(..., m, n)`; dtype floating or complex.
      pivoting: permute the columns of `x` first, so that R's diagonal does not increase.
      full_matrices: make Q square; else it has min(m, n) columns, and R as many rows.
      use_magma: for other devices.

    Returns:
      Q and R; and the permutation, shape `(..., n)`, dtype int32, if `pivoting`.

    Raises:
      TypeError: another dtype.

    >>> q, r = lax.linalg.qr(jnp.array([[3.0], [4.0]]), full_matrices=False)
    >>> r
    Array([[-5.]], dtype=float32)
    """
    return tuple(qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma))


def _qr_program(x, *, pivoting, full_matrices, use_magma):
    *batch, m, n = typeof(x).shape
    if m == 0 or n == 0:
        return _empty_qr(x, pivoting, full_matrices)
    pivots = []
    if pivoting:
        r, order, taus = geqp3(x, full((*batch, n), np.int32(0)), use_magma=use_magma)
        pivots = [order - np.int32(1)]  # LAPACK counts from 1
    else:
        r, taus = geqrf(x)
    q = r
    if m < n:
        q = r[..., :m]
    elif full_matrices:
        q = pad(r, typeof(x).dtype.type(0), [(0, 0, 0)] * (len(batch) + 1) + [(0, m - n, 0)])
    else:
        r = r[..., :n, :]
    return [householder_product(q, taus), triu(r), *pivots]


def _empty_qr(x, pivoting, full_matrices):
    *batch, m, n = typeof(x).shape
    k, dtype = m if full_matrices else min(m, n), typeof(x).dtype
    ndim = len(batch)
    q = broadcast_in_dim(eye(dtype, m)[:, :k], (*batch, m, k), (ndim, ndim + 1))
    pivots = [full((*batch, n), np.int32(0))] if pivoting else []
    return [q, full((*batch, k, n), dtype.type(0)), *pivots]


register_lowering(qr_p, lower_fun(_qr_program, multiple_results=True))

# ----------------------------------------------------------------------------------------------
# Its derivative


def _qr_jvp(primals, tangents, *, pivoting, full_matrices, use_magma):
    (x,), (t,) = primals, tangents
    q, r, *order = qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)
    m, n = typeof(x).shape[-2:]
    if pivoting:
        t = _permute_columns(t, order[0])
        x = _permute_columns(x, order[0]) if m < n else x
    if m < n:
        q_dot, r_dot = _wide_tangents(q, r, x, t)
    elif full_matrices:
        q_dot, r_dot = _full_tangents(q, r, t)
    else:
        q_dot, r_dot = _thin_tangents(q, r, t)
    return [q, r, *order], [q_dot, r_dot, *map(Zero.from_primal_value, order)]


def _permute_columns(x, order):
    permute = lambda x, order: x[..., order]
    for _ in range(typeof(x).ndim - 2):
        permute = vmap(permute)
    return permute(x, order)


def _thin_tangents(q, r, t):
    """For m ≥ n and a Q of n columns: J. Townsend, "Differentiating the QR decomposition", 2018.

    With C = Qᴴ Ȧ R⁻¹, the part Ω of Q̇ that turns Q in its own space is skew, and such that
    Ṙ = (C - Ω) R is upper triangular.
    """
    t_rinv = triangular_solve(r, t)
    c = adjoint(q) @ t_rinv
    below = tril(c, -1)
    turn = below - adjoint(below)
    identity = expand_dims(eye(typeof(turn).dtype, typeof(r).shape[-1]), range(typeof(c).ndim - 2))
    turn = turn + identity * (c - convert(real(c), typeof(c).dtype))  # iτ: R's diagonal stays real
    return q @ (turn - c) + t_rinv, (c - turn) @ r


def _wide_tangents(q, r, x, t):
    """For m < n: the first m columns determine Q; the rest of R is Qᴴ times the rest of A."""
    m = typeof(x).shape[-2]
    rest, t_first, t_rest = x[..., m:], t[..., :m], t[..., m:]
    q_dot, r_dot = _thin_tangents(q, r[..., :m], t_first)
    rest = adjoint(q_dot) @ rest + adjoint(q) @ t_rest
    return q_dot, concatenate((r_dot, rest), typeof(r).ndim - 1)


def _full_tangents(q, r, t):
    """For m ≥ n and a square Q. Its last columns are not determined by A; but LAPACK's, a product
    of reflections, move in a determined way: arXiv:2409.13374, equations 32 and 33."""
    n, ndim = typeof(r).shape[-1], typeof(r).ndim
    first = q[..., :n]
    first_dot, r_dot = _thin_tangents(first, r[..., :n, :], t)
    if typeof(q).shape[-1] == n:
        return first_dot, r_dot
    top, bottom = first[..., :n, :], first[..., n:, :]
    top_dot, bottom_dot = first_dot[..., :n, :], first_dot[..., n:, :]
    identity = expand_dims(eye(typeof(q).dtype, n), range(ndim - 2))
    factors, _, permutation = lu(top - identity)
    z_adjoint = lu_solve(factors, permutation, adjoint(bottom), trans=2)
    z = adjoint(z_adjoint)
    last_dot = (first_dot @ z_adjoint
                - (first + q[..., n:] @ z) @ adjoint(bottom_dot - z @ top_dot))
    zeros = full((*typeof(r).shape[:-2], typeof(r).shape[-2] - n, n), typeof(r).dtype.type(0))
    return concatenate((first_dot, last_dot), ndim - 1), concatenate((r_dot, zeros), ndim - 2)


primitive_jvps[qr_p] = _qr_jvp
