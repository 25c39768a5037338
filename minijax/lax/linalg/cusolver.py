"""Chapter 11: factorizations whose routines for NVIDIA's GPUs are not like LAPACK's.

jaxlib's plugin for GPUs brings them, under the names that are called here. Those that begin with
`cuhybrid` compute on the CPU, and bring the matrices there and back.
"""

from collections.abc import Callable

import numpy as np

from ...core.core import Primitive, typeof
from ...core.lowering import with_shape
from ..cutting import pad
from ..families import lower_fun
from .common import adjoint
from .eig import EigImplementation, eig_p
from .lapack import calls_of_platform, info_type, lapack_call
from .lu import lu_pivots_to_permutation_p
from .qr import geqp3_p
from .svd import SvdAlgorithm, svd_p
from .tridiagonal_solve import tridiagonal_solve_p

# ----------------------------------------------------------------------------------------------
# Singular values

_METHODS = {SvdAlgorithm.JACOBI: "gesvdj", SvdAlgorithm.POLAR: "gesvdp", SvdAlgorithm.QR: "gesvd"}
_SMALL = 1024  # rows and columns up to which Jacobi's method is the fastest
_TINY = 32  # rows or columns up to which it computes batches at once, but only square vectors


def _svd(ctx, x, s, full_matrices, compute_uv, algorithm):
    if algorithm is SvdAlgorithm.DIVIDE_AND_CONQUER:
        raise NotImplementedError(f"svd has no {algorithm} on this device: leave it out.")
    method = _METHODS.get(algorithm, "gesvdj" if max(x.aval.shape[-2:]) <= _SMALL else "gesvd")
    call = _svd_by_rows if method == "gesvd" else _svd_by_turns
    return call(ctx, x, method, s, full_matrices, compute_uv)


def _svd_by_turns(ctx, x, method, s, full_matrices, compute_uv):
    """By Jacobi's method or the polar decomposition, whose vectors are columns of U and of V."""
    *batch, m, n = x.aval.shape
    k = min(m, n)
    is_thin = not full_matrices and (method == "gesvdp" or k > _TINY)
    u, v = (with_shape(x.aval, (*batch, size, k if is_thin else size)) for size in (m, n))
    _, s, u, v, info = lapack_call(
        ctx, f"cusolver_{method}_ffi", [x], [x.aval, s, u, v, info_type(x)], {0: 0},
        full_matrices=not is_thin, compute_uv=bool(compute_uv))
    if not compute_uv:
        return s, info
    return s, *_vectors(ctx, u, v, k=None if full_matrices else k), info


_vectors = lower_fun(lambda u, v, k: (u[..., :k], adjoint(v[..., :k])), multiple_results=True)


def _svd_by_rows(ctx, x, method, s, full_matrices, compute_uv):
    """By QR iterations, for matrices with no more columns than rows; of others, what is stored by
    rows is the transpose stored by columns."""
    *batch, m, n = x.aval.shape
    k, is_wide = min(m, n), m < n
    u = with_shape(x.aval, (*batch, m, m if full_matrices else k) if compute_uv else ())
    vt = with_shape(x.aval, (*batch, n if full_matrices else k, n) if compute_uv else ())
    _, s, *vectors, info = lapack_call(
        ctx, f"cusolver_{method}_ffi", [x],
        [x.aval, s, *((vt, u) if is_wide else (u, vt)), info_type(x)], {0: 0},
        by_columns=not is_wide, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv),
        transposed=is_wide)
    return s, *(vectors[::-1] if is_wide else vectors)[: 2 * compute_uv], info


# ----------------------------------------------------------------------------------------------
# On the CPU


_MAGMA = {None: "auto", EigImplementation.MAGMA: "on", EigImplementation.LAPACK: "off"}


def _eig(ctx, x, results, left, right, implementation):
    if implementation not in _MAGMA:
        raise NotImplementedError(f"eig has no {implementation} here: leave it out.")
    return lapack_call(
        ctx, f"cuhybrid_eig_{'comp' if x.aval.dtype.kind == 'c' else 'real'}", [x], results, {},
        magma=_MAGMA[implementation], left=bool(left), right=bool(right))


def _geqp3(ctx, a, pivots, *, use_magma):
    magma = {None: "auto", True: "on", False: "off"}[use_magma]
    return lapack_call(ctx, "cuhybrid_geqp3", [a, pivots], ctx.avals_out, {0: 0, 1: 1}, magma=magma)


# ----------------------------------------------------------------------------------------------
# Others


def _permutation(ctx, pivots, *, permutation_size):
    aval = with_shape(pivots.aval, (*pivots.aval.shape[:-1], permutation_size))
    (out,) = lapack_call(ctx, "cu_lu_pivots_to_permutation", [pivots], [aval], {}, by_columns=False)
    return out


def _tridiagonal_solve(ctx, dl, d, du, b, *, perturb_singular):
    operands = [dl, d, du, b]
    if perturb_singular:
        (out,) = lapack_call(ctx, "cu_tridiagonal_solve_perturbed", operands, ctx.avals_out, {})
    elif d.aval.shape[-1] < 3:
        out = _with_more_rows(ctx, *operands)
    else:
        (out,) = lapack_call(ctx, "cusparse_gtsv2_ffi", operands, ctx.avals_out, {3: 0})
    return out


def _solve_larger(dl, d, du, b):
    """The equations together with x₂ = 0 and x₃ = 0: the routine takes three rows or more."""
    m, dtype = typeof(d).shape[-1], typeof(d).dtype

    def padded(x, value, axis):
        edges = [(0, 0, 0)] * typeof(x).ndim
        edges[axis] = (0, 2, 0)
        return pad(x, dtype.type(value), edges)

    last = np.arange(m) == m - 1
    du = du * (1 - last).astype(dtype)  # its last element is ignored, but no longer the last
    out = tridiagonal_solve_p.bind(padded(dl, 0, -1), padded(d, 1, -1), padded(du, 0, -1),
                                   padded(b, 0, -2), perturb_singular=False)
    return out[..., :m, :]


_with_more_rows = lower_fun(_solve_larger)

_calls: dict[Primitive, Callable] = {
    svd_p: _svd,
    eig_p: _eig,
    geqp3_p: _geqp3,
    lu_pivots_to_permutation_p: _permutation,
    tridiagonal_solve_p: _tridiagonal_solve,
}
calls_of_platform.update({("cuda", primitive): call for primitive, call in _calls.items()})
