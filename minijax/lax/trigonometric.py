"""Chapter 11: hyperbolic functions, and the inverses of the trigonometric ones. One row each."""

import numpy as np

from ..core.forward import defjvp
from ..core.primitives import INEXACT, add, div, mul, neg, sub
from .complex_numbers import unsigned_zero
from .elementwise import rsqrt, square
from .families import binary_row, chlo_rule, const_like, one_like, unary_row


def _arctan2(x, y):
    """NumPy's; complex numbers need the logarithm that it is."""
    if x.dtype.kind != "c":
        return np.arctan2(x, y)
    i = x.dtype.type(1j)
    return -i * np.log((y + i * x) / np.sqrt(x * x + y * y) + 0)  # on the branch cut, -0 is 0


def _lower_atan2(ctx, x, y):
    (out,) = ctx.avals_out
    x, y = (ctx.broadcast(z, out.shape) for z in (x, y))
    return ctx.op(f"stablehlo.atan2 {x.name}, {y.name} : {x.type}", out)


def _norm(x, y):
    return add(square(x), square(y))


asin_p, asin = unary_row(
    "asin", INEXACT, unsigned_zero(np.arcsin, "real"), "Elementwise inverse sine, in radians.",
    lowering=chlo_rule("asin"),
    jvp=lambda t, x: mul(t, rsqrt(sub(const_like(x, 1), square(x)))))
acos_p, acos = unary_row(
    "acos", INEXACT, unsigned_zero(np.arccos), "Elementwise inverse cosine, in radians.",
    lowering=chlo_rule("acos"),
    jvp=lambda t, x: mul(t, neg(rsqrt(sub(const_like(x, 1), square(x))))))
atan_p, atan = unary_row(
    "atan", INEXACT, np.arctan, "Elementwise inverse tangent, in radians.",
    lowering=chlo_rule("atan"), jvp=lambda t, x: div(t, add(const_like(x, 1), square(x))))
sinh_p, sinh = unary_row(
    "sinh", INEXACT, np.sinh, "Elementwise hyperbolic sine.", lowering=chlo_rule("sinh"))
cosh_p, cosh = unary_row(
    "cosh", INEXACT, np.cosh, "Elementwise hyperbolic cosine.",
    lowering=chlo_rule("cosh"), jvp=lambda t, x: mul(t, sinh(x)))
defjvp(sinh_p, lambda t, x: mul(t, cosh(x)))
asinh_p, asinh = unary_row(
    "asinh", INEXACT, unsigned_zero(np.arcsinh, "imag"), "Elementwise inverse hyperbolic sine.",
    lowering=chlo_rule("asinh"),
    jvp=lambda t, x: mul(t, rsqrt(add(square(x), one_like(x)))))


def _acosh_slope(x):
    """(x² - 1)^-½, of two roots: for complex numbers left of the axis, the root of the product is
    not the product of the roots. And where x² overflows, or is nearly 1, this is more exact."""
    return mul(rsqrt(sub(x, one_like(x))), rsqrt(add(x, one_like(x))))


acosh_p, acosh = unary_row(
    "acosh", INEXACT, unsigned_zero(np.arccosh), "Elementwise inverse hyperbolic cosine.",
    lowering=chlo_rule("acosh"),
    jvp=lambda t, x: mul(t, _acosh_slope(x)))
atan2_p, atan2 = binary_row(
    "atan2", INEXACT, _arctan2,
    "Elementwise angle, in radians, of the point (y, x): atan2(x, y) is that of the vector whose "
    "components are y and x.", lowering=_lower_atan2,
    jvp=(lambda t, x, y: mul(t, div(y, _norm(x, y))),
         lambda t, x, y: mul(t, div(neg(x), _norm(x, y)))))
