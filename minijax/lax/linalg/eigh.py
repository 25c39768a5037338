"""Chapter 11: eigenvalues and eigenvectors of Hermitian matrices, A V = V diag(w)."""

import enum

from ...core.boundary import public
from ...core.core import typeof
from ...core.forward import primitive_jvps
from ...core.lowering import register_lowering
from ...core.primitives import convert
from .. import elementwise as prim
from .common import (
    ONE_TRIANGLE,
    adjoint,
    check_square,
    diagonal,
    eye,
    from_triangle,
    linear_algebra_primitive,
    match_rank,
    product,
    real,
    real_dtype,
    symmetrize,
)
from .lapack import has_lapack, info_type, lapack_call, nan_if_failed, routine, triangle


class EighImplementation(enum.Enum):
    """How the decomposition is computed: on a CPU by `QR`, on a GPU also by `JACOBI`."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


# What routines are told.
_METHODS_ON_CPUS = dict.fromkeys((None, EighImplementation.QR), {"mode": "V"})
_METHODS_ON_GPUS = {method: {"algorithm": chr(number)} for number, method
                    in enumerate((None, EighImplementation.QR, EighImplementation.JACOBI))}


def _eigh_shapes(shape, *, subset_by_index, **params):
    check_square("eigh", shape)
    n = shape[0]
    count = n if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
    return (n, count), (count,)


eigh_p = linear_algebra_primitive(
    "eigh", (2,), _eigh_shapes, lambda dtype, **params: (dtype, real_dtype(dtype)),
    multiple_results=True)


@public
def eigh(x, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True,
         subset_by_index: tuple[int, int] | None = None,
         implementation: EighImplementation | None = None):
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      x: Hermitian matrices, shape `(..., n, n)`; dtype floating or complex.
      lower: which triangle is read, if `x` is not symmetrized.
      symmetrize_input: take the Hermitian part of `x` first.
      sort_eigenvalues: accepted for JAX's sake; they are always in ascending order here.
      subset_by_index: the whole range `(0, n)`; others are for other devices.
      implementation: `None`, `EighImplementation.QR`, or on a GPU `EighImplementation.JACOBI`.

    Returns:
      the eigenvectors, as columns, of the shape of `x`; the eigenvalues, shape `(..., n)`, real.
      If some of these are equal, the derivatives of the vectors, and the second derivatives of the
      values, are NaN: the matrix does not determine the vectors.

    Raises:
      ValueError, TypeError: matrices that are not square; integers, if not symmetrized.
      NotImplementedError: what is for other devices.

    >>> vectors, values = lax.linalg.eigh(jnp.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> values.round(3).tolist()
    [-1.0, 3.0]
    """
    vectors, values = eigh_p.bind(
        symmetrize(x) if symmetrize_input else x, lower=lower, sort_eigenvalues=sort_eigenvalues,
        subset_by_index=subset_by_index, algorithm=implementation,
        **({} if symmetrize_input else ONE_TRIANGLE))
    return vectors, values


def _is_part(subset, n):
    return subset is not None and tuple(subset) != (0, n)


def _eigh_jvp(primals, tangents, *, lower, subset_by_index, **params):
    """V̇ = V (F ∘ Vᴴ Ȧ V) with Fᵢⱼ = 1 / (wⱼ - wᵢ) off the diagonal; ẇ = diag(Vᴴ Ȧ V).

    M. Giles, "An extended collection of matrix derivative results", 2008, section 3.1. It holds
    for distinct eigenvalues.
    """
    (x,), (t,) = primals, tangents
    n, dtype = typeof(x).shape[-1], typeof(x).dtype
    if _is_part(subset_by_index, n):
        raise NotImplementedError("eigh has a derivative only if all eigenvalues are asked for.")
    if "one_triangle" in params:
        t = from_triangle(t, lower)
    else:
        x = symmetrize(x)  # which changes nothing; JAX's program has it
    v, w = eigh_p.bind(x, lower=lower, subset_by_index=subset_by_index, **params)
    values, one = convert(w, dtype), eye(dtype, n)
    rows = values[..., None, :]
    differences = prim.sub(prim.add(match_rank(one, x), rows), values[..., None])
    factors = prim.sub(prim.integer_pow(differences, -1), match_rank(one, x))
    t = product(product(adjoint(v), t), v)
    v_dot = product(v, prim.mul(factors, t))
    return [v, w], [v_dot, diagonal(real(t))]


def _lower_eigh(ctx, x, *, lower, sort_eigenvalues, subset_by_index, algorithm, **params):
    if _is_part(subset_by_index, x.aval.shape[-1]):
        raise NotImplementedError("eigh computes all eigenvalues on this device: leave "
                                  "subset_by_index out.")
    methods = _METHODS_ON_CPUS if has_lapack() else _METHODS_ON_GPUS
    if algorithm not in methods:
        raise NotImplementedError(f"eigh has no {algorithm} on this device: leave it out.")
    dtype = x.aval.dtype
    name = routine("heevd" if dtype.kind == "c" else "syevd", dtype)
    *results, info = lapack_call(ctx, name, [x], [*ctx.avals_out, info_type(x)], {0: 0},
                                 **methods[algorithm], **triangle(lower))
    return nan_if_failed(ctx, info, results)


primitive_jvps[eigh_p] = _eigh_jvp
register_lowering(eigh_p, _lower_eigh)
