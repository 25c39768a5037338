"""Chapter 11: the Cholesky decomposition, A = L Lᴴ with L lower triangular."""

from __future__ import annotations

from ...core.boundary import public
from ...core.core import typeof
from ...core.forward import primitive_jvps
from ...core.lowering import register_lowering
from ...runtime.platforms import program_platform
from .. import elementwise as prim
from ..shaping import expand_dims
from .common import check_square, eye, linear_algebra_primitive, product, symmetrize, tril
from .lapack import info_type, lapack_call, nan_unless, routine, succeeded, triangle
from .triangular_solve import triangular_solve


def _cholesky_shape(shape):
    check_square("cholesky", shape)
    return shape


cholesky_p = linear_algebra_primitive("cholesky", (2,), _cholesky_shape)


@public
def cholesky(x, *, symmetrize_input: bool = True):
    """The lower triangular matrices L with x = L Lᴴ.

    Args:
      x: Hermitian positive definite matrices, shape `(..., n, n)`; dtype floating or complex.
      symmetrize_input: take the Hermitian part of `x` first; else only its lower triangle is read.

    Returns:
      an array of the shape of `x`; matrices that are not positive definite give NaN.

    Raises:
      TypeError, ValueError: integers, if not symmetrized; matrices that are not square.

    >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 10.0]]))
    Array([[2., 0.],
           [1., 3.]], dtype=float32)
    """
    return tril(cholesky_p.bind(symmetrize(x) if symmetrize_input else x))


def _cholesky_jvp(primals, tangents):
    """L̇ = L Φ(L⁻¹ Ȧ L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal.

    I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527.
    """
    (x,), (t,) = primals, tangents
    factor = tril(cholesky_p.bind(x))
    t = triangular_solve(factor, t, left_side=False, transpose_a=True, conjugate_a=True, lower=True)
    t = triangular_solve(factor, t, left_side=True, lower=True)
    return factor, product(factor, _lower_half(t))


def _lower_half(x):
    below = tril(x)
    aval = typeof(x)
    one_plus = prim.add(aval.dtype.type(1), eye(aval.dtype, aval.shape[-1]))
    return prim.div(below, expand_dims(one_plus, range(aval.ndim - 2)))


def _lower_cholesky(ctx, x):
    (out,) = ctx.avals_out
    if program_platform() not in ("cpu", "cuda"):
        return ctx.op(f"stablehlo.cholesky {x.name}, lower = true : {x.type}", out)
    factor, info = lapack_call(ctx, routine("potrf", x.aval.dtype), [x], [out, info_type(x)],
                               {0: 0}, **triangle(True))
    return nan_unless(ctx, succeeded(ctx, info), factor)


primitive_jvps[cholesky_p] = _cholesky_jvp
register_lowering(cholesky_p, _lower_cholesky)
