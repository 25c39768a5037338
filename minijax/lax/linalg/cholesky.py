"""Chapter 11: the Cholesky decomposition, A = L Lᴴ with L lower triangular."""

from ...core.boundary import public
from ...core.forward import primitive_jvps
from ...core.lowering import register_lowering
from ...runtime.platforms import program_platform
from .common import (
    ONE_TRIANGLE,
    check_square,
    from_triangle,
    linear_algebra_primitive,
    lower_half,
    product,
    symmetrize,
    tril,
)
from .lapack import info_type, lapack_call, nan_unless, routine, succeeded, triangle
from .triangular_solve import triangular_solve


def _cholesky_shape(shape, **params):
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
    if symmetrize_input:
        return tril(cholesky_p.bind(symmetrize(x)))
    return tril(cholesky_p.bind(x, **ONE_TRIANGLE))


def _cholesky_jvp(primals, tangents, **params):
    """L̇ = L Φ(L⁻¹ Ȧ L⁻ᴴ), where Φ takes the lower triangle and half of the diagonal.

    I. Murray, "Differentiation of the Cholesky decomposition", arXiv:1602.07527.
    """
    (x,), (t,) = primals, tangents
    factor = tril(cholesky_p.bind(x, **params))
    t = from_triangle(t, lower=True) if params else t
    t = triangular_solve(factor, t, left_side=False, transpose_a=True, conjugate_a=True, lower=True)
    t = triangular_solve(factor, t, left_side=True, lower=True)
    return factor, product(factor, lower_half(t))


def _lower_cholesky(ctx, x, **params):
    (out,) = ctx.avals_out
    if program_platform() not in ("cpu", "cuda"):
        return ctx.op(f"stablehlo.cholesky {x.name}, lower = true : {x.type}", out)
    factor, info = lapack_call(ctx, routine("potrf", x.aval.dtype), [x], [out, info_type(x)],
                               {0: 0}, **triangle(True))
    return nan_unless(ctx, succeeded(ctx, info), factor)


primitive_jvps[cholesky_p] = _cholesky_jvp
register_lowering(cholesky_p, _lower_cholesky)
