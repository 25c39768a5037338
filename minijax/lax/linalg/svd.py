"""Chapter 11: the singular value decomposition, A = U diag(s) Vᴴ."""

import enum

import numpy as np

from ...core.boundary import public
from ...core.core import typeof
from ...core.forward import primitive_jvps
from ...core.lowering import register_lowering, with_shape
from ...core.primitives import convert
from .. import elementwise as prim
from ..families import lower_fun
from ..precision import default_matmul_precision
from ..shaping import broadcast_in_dim, broadcasted_iota, expand_dims, full
from .common import (
    adjoint,
    diagonal,
    eye,
    linear_algebra_primitive,
    matrix_transpose,
    real,
    real_dtype,
)
from .lapack import by_platform, info_type, lapack_call, nan_if_failed, routine


class SvdAlgorithm(enum.Enum):
    """How the decomposition is computed: on a CPU by `DIVIDE_AND_CONQUER` or `QR`, on a GPU
    by any but the former."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


_ROUTINES = {None: "gesdd", SvdAlgorithm.DEFAULT: "gesdd", SvdAlgorithm.QR: "gesvd",
             SvdAlgorithm.DIVIDE_AND_CONQUER: "gesdd"}


def _svd_shapes(shape, *, full_matrices, compute_uv, subset_by_index, **params):
    m, n = shape
    rank = min(m, n)
    if subset_by_index is not None:
        if full_matrices and tuple(subset_by_index) != (0, rank):
            raise ValueError("svd: full_matrices leave no room for a subset_by_index: "
                             "pass full_matrices=False.")
        rank = min(rank, subset_by_index[1] - subset_by_index[0])
    u, vt = ((m, m), (n, n)) if full_matrices else ((m, rank), (rank, n))
    return ((rank,), u, vt) if compute_uv else ((rank,),)


def _svd_dtypes(dtype, *, compute_uv, **params):
    return (real_dtype(dtype), dtype, dtype)[: 3 if compute_uv else 1]


svd_p = linear_algebra_primitive("svd", (2,), _svd_shapes, _svd_dtypes, multiple_results=True)


@public
def svd(x, *, full_matrices: bool = True, compute_uv: bool = True,
        subset_by_index: tuple[int, int] | None = None, algorithm: SvdAlgorithm | None = None):
    """Singular values of matrices, and their singular vectors.

    Args:
      x: matrices, shape `(..., m, n)`; dtype floating or complex.
      full_matrices: make U and V square; else they have min(m, n) columns.
      compute_uv: whether to return the vectors.
      subset_by_index: the whole range `(0, min(m, n))`; others are for other devices.
      algorithm: `None` or an `SvdAlgorithm`.

    Returns:
      U, the singular values s in descending order (real, shape `(..., min(m, n))`) and Vᴴ; or s.
      If some values are equal, the derivatives of the vectors, and the second ones of s, are NaN.

    Raises:
      TypeError: another dtype.
      NotImplementedError: an algorithm for other devices, or the derivative of full matrices.

    >>> u, s, vh = lax.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
    >>> s
    Array([4., 3.], dtype=float32)
    """
    s, *vectors = svd_p.bind(
        x, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index,
        algorithm=algorithm)
    return (vectors[0], s, vectors[1]) if compute_uv else s


def _svd_jvp(primals, tangents, *, full_matrices, compute_uv, subset_by_index, algorithm=None):
    """With T = Uᴴ Ȧ V: ṡ = diag(T), and U and V turn by F ∘ (T S + S Tᴴ) and F ∘ (S T + Tᴴ S),
    where Fᵢⱼ = 1 / (sⱼ² - sᵢ²) off the diagonal.

    M. Giles, "An extended collection of matrix derivative results", 2008, section 3.2.
    """
    (x,), (t,) = primals, tangents
    m, n = typeof(x).shape[-2:]
    s, u, vt = svd_p.bind(x, full_matrices=False, compute_uv=True, subset_by_index=subset_by_index,
                          algorithm=algorithm)
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(
            "svd with full_matrices has no derivative: the vectors that belong to no singular "
            "value are not determined. Pass full_matrices=False.")
    with default_matmul_precision("float32"):
        u_adjoint, v = adjoint(u), adjoint(vt)
        columns = s[..., None, :]
        turned = u_adjoint @ t @ v
        s_dot = diagonal(real(turned))
        if not compute_uv:
            return [s], [s_dot]
        u_dot, v_dot = _turning(u, v, s, columns, turned)
        if m > n:
            t_v = t @ v
            u_dot = u_dot + (t_v - u @ (u_adjoint @ t_v)) / _as(turned, columns)
        if n > m:
            t_u = adjoint(t) @ u
            v_dot = v_dot + (t_u - v @ (vt @ t_u)) / _as(turned, columns)
        return [s, u, vt], [s_dot, u_dot, adjoint(v_dot)]


def _turning(u, v, s, columns, turned):
    """How U and V move within the spaces that their columns span."""
    gaps = (columns + matrix_transpose(columns)) * (columns - matrix_transpose(columns))
    one = expand_dims(eye(typeof(s).dtype, typeof(s).shape[-1]), range(typeof(s).ndim - 1))
    f = 1 / (gaps + one) - one
    on_right = _as(turned, columns) * turned
    on_left = matrix_transpose(_as(turned, columns)) * turned
    is_zero = _as(s, prim.eq(s, typeof(s).dtype.type(0)))
    inverse = 1 / (s + is_zero) - is_zero
    # A complex U also turns each column by a phase; V is the one that stays.
    inverse = _diagonal_matrix(inverse)
    phases = 0.5 * (turned - adjoint(turned)) * _as(turned, inverse)
    u_dot = u @ (_as(turned, f) * (on_right + adjoint(on_right)) + phases)
    return u_dot, v @ (_as(turned, f) * (on_left + adjoint(on_left)))


def _as(like, x):
    """`x` in the dtype of `like`."""
    return convert(x, typeof(like).dtype)


def _diagonal_matrix(x):
    n = typeof(x).shape[-1]
    i = broadcasted_iota(np.int32, (n,), 0)
    return full((*typeof(x).shape, n), typeof(x).dtype.type(0)).at[..., i, i].set(x)


def _empty_svd(x, *, full_matrices, compute_uv):
    """Of matrices without rows or columns: no singular values, and any basis."""
    *batch, m, n = typeof(x).shape
    dtype, ndim = typeof(x).dtype, len(batch)
    s = full((*batch, 0), real_dtype(dtype).type(0))

    def vectors(size):
        if full_matrices:
            return broadcast_in_dim(eye(dtype, size), (*batch, size, size), (ndim, ndim + 1))
        return full((*batch, size, 0), dtype.type(0))

    return [s, vectors(m), matrix_transpose(vectors(n))] if compute_uv else [s]


_lower_empty_svd = lower_fun(_empty_svd, multiple_results=True)


def _lower_svd(ctx, x, *, full_matrices, compute_uv, subset_by_index, algorithm=None):
    k = min(*x.aval.shape[-2:])
    if subset_by_index is not None and tuple(subset_by_index) != (0, k):
        raise NotImplementedError("svd computes all singular values on this device: leave "
                                  "subset_by_index out.")
    if k == 0:
        return _lower_empty_svd(ctx, x, full_matrices=full_matrices, compute_uv=compute_uv)
    *results, info = _write_call(ctx, x, ctx.avals_out[0], full_matrices, compute_uv, algorithm)
    return nan_if_failed(ctx, info, results[:len(ctx.avals_out)])


def _call_lapack(ctx, x, s, full_matrices, compute_uv, algorithm):
    if algorithm not in _ROUTINES:
        raise NotImplementedError(f"svd has no {algorithm} on this device: leave it out.")
    *batch, m, n = x.aval.shape
    k = min(m, n)
    u = with_shape(x.aval, (*batch, m, m if full_matrices else k))
    vt = with_shape(x.aval, (*batch, n if full_matrices else k, n))
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    return lapack_call(ctx, routine(_ROUTINES[algorithm], x.aval.dtype), [x],
                       [x.aval, s, u, vt, info_type(x)], {0: 0}, mode=mode)[1:]


_write_call = by_platform(svd_p, _call_lapack)
primitive_jvps[svd_p] = _svd_jvp
register_lowering(svd_p, _lower_svd)
