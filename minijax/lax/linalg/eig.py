"""Chapter 11: eigenvalues and eigenvectors of any square matrices."""

import enum

import numpy as np

from ...core.boundary import public
from ...core.core import ShapedArray, typeof
from ...core.forward import primitive_jvps
from ...core.lowering import emit, register_lowering
from ...core.primitives import convert
from .. import complex_numbers, elementwise as prim
from ..dtypes import to_complex_dtype
from ..reductions import argmax_p, reduce_sum
from ..shaping import broadcasted_iota, expand_dims
from .common import (
    adjoint,
    check_square,
    conj,
    diagonal,
    eye,
    linear_algebra_primitive,
    match_rank,
    matrix_transpose,
    product,
)
from .lapack import by_platform, info_type, lapack_call, nan_if_failed, routine
from .solve import solve


class EigImplementation(enum.Enum):
    """How the decomposition is computed: by `LAPACK` on a CPU, also for arrays on a GPU."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def _eig_shapes(shape, *, compute_left_eigenvectors, compute_right_eigenvectors, **params):
    check_square("eig", shape)
    return shape[:1], *[shape] * (compute_left_eigenvectors + compute_right_eigenvectors)


def _eig_dtypes(dtype, **params):
    return [to_complex_dtype(dtype)] * 3


eig_p = linear_algebra_primitive("eig", (2,), _eig_shapes, _eig_dtypes, multiple_results=True)


@public
def eig(x, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True,
        enable_eigvec_derivs: bool = False, implementation: EigImplementation | None = None,
        use_magma: bool | None = None):
    """Eigenvalues and eigenvectors of square matrices.

    Args:
      x: shape `(..., n, n)`; dtype floating or complex.
      compute_left_eigenvectors, compute_right_eigenvectors: what to return.
      enable_eigvec_derivs: let eigenvectors have derivatives, which are right only if all
        eigenvalues differ and each vector has one component of the largest magnitude.
      implementation: `None` or `EigImplementation.LAPACK`; others are for other devices.
      use_magma: for other devices.

    Returns:
      a list of the eigenvalues, shape `(..., n)`, the left and the right eigenvectors, as columns
      of matrices of the shape of `x`. All are complex; a matrix that defeats LAPACK gives NaN.

    Raises:
      TypeError, ValueError: another dtype; matrices that are not square.

    >>> values, vectors = lax.linalg.eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]]),
    ...                                  compute_left_eigenvectors=False)
    >>> values
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    if use_magma is not None:
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    return eig_p.bind(x, compute_left_eigenvectors=compute_left_eigenvectors,
                      compute_right_eigenvectors=compute_right_eigenvectors,
                      enable_eigvec_derivs=enable_eigvec_derivs, implementation=implementation)


def _lower_eig(ctx, x, *, compute_left_eigenvectors, compute_right_eigenvectors,
               enable_eigvec_derivs, implementation):
    values_type = ctx.avals_out[0]
    dtype, vectors_type = x.aval.dtype, ShapedArray(x.aval.shape, values_type.dtype)
    parts = [ShapedArray(values_type.shape, dtype)] * (1 if dtype.kind == "c" else 2)
    *values, left, right, info = _write_call(
        ctx, x, [*parts, vectors_type, vectors_type, info_type(x)], compute_left_eigenvectors,
        compute_right_eigenvectors, implementation)
    if len(values) == 2:
        values = [emit(ctx, "complex", *values, out=values_type)]
    results = values + [left] * compute_left_eigenvectors + [right] * compute_right_eigenvectors
    return nan_if_failed(ctx, info, results)


def _call_lapack(ctx, x, results, left, right, implementation):
    if implementation not in (None, EigImplementation.LAPACK):
        raise ValueError(f"eig has no {implementation} on this device: leave it out.")
    return lapack_call(ctx, routine("geev", x.aval.dtype), [x], results, {},
                       compute_left="V" if left else "N", compute_right="V" if right else "N")


_write_call = by_platform(eig_p, _call_lapack)


def _eig_jvp(primals, tangents, *, compute_left_eigenvectors, compute_right_eigenvectors,
             enable_eigvec_derivs, implementation):
    (x,), (t,) = primals, tangents
    if (compute_left_eigenvectors or compute_right_eigenvectors) and not enable_eigvec_derivs:
        raise NotImplementedError(
            "The derivatives of eigenvectors of matrices that are not symmetric hold only under "
            "conditions that cannot be checked: pass enable_eigvec_derivs=True to "
            "jax.lax.linalg.eig if they are met.")
    w, *left, right = eig(x, compute_left_eigenvectors=compute_left_eigenvectors,
                          compute_right_eigenvectors=True,
                          enable_eigvec_derivs=enable_eigvec_derivs, implementation=implementation)
    t = convert(t, typeof(right).dtype)
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        w_dot = reduce_sum(solve(right, t) * matrix_transpose(right), [typeof(t).ndim - 1])
        return [w], [w_dot]
    w_dot, right_dot = _eigenvector_tangents(w, right, t)
    primals_out, tangents_out = [w], [w_dot]
    for vectors in left:
        primals_out.append(vectors)
        tangents_out.append(_eigenvector_tangents(conj(w), vectors, adjoint(t))[1])
    if compute_right_eigenvectors:
        primals_out.append(right)
        tangents_out.append(right_dot)
    return primals_out, tangents_out


def _eigenvector_tangents(w, v, t):
    """With P = V⁻¹ Ȧ V: ẇ = diag(P), and V̇ = V (F ∘ P) + V diag(c), Fᵢⱼ = 1 / (wⱼ - wᵢ).

    M. Giles, "An extended collection of matrix derivative results", 2008, section 3.1. Any c
    satisfies A V = V diag(w); LAPACK's scaling of the columns, to length 1 and a real component of
    largest magnitude, determines it.
    """
    n, rows = typeof(w).shape[-1], typeof(v).ndim - 2
    one = eye(typeof(w).dtype, n)
    p = product(solve(v, t), v)
    gaps = match_rank(one, v) + w[..., None, :] - w[..., None]
    u = product(v, (prim.reciprocal(gaps) - match_rank(one, v)) * p)
    largest = argmax_p.bind(prim.abs_(v), axes=(rows,), index_dtype=np.dtype(np.int32))
    places = broadcasted_iota(np.int32, typeof(v).shape, rows)
    mask = convert(prim.eq(places, expand_dims(largest, (rows,))), typeof(v).dtype)

    def total(x):
        return reduce_sum(x, [rows])

    phase = complex_numbers.imag(total(mask * u)) / complex_numbers.real(total(mask * v))
    c = complex_numbers.complex(-complex_numbers.real(total(conj(v) * u)), -phase)
    return diagonal(p), u + v * expand_dims(c, (rows,))


primitive_jvps[eig_p] = _eig_jvp
register_lowering(eig_p, _lower_eig)
