"""Chapter 11: hyperbolic functions, and the inverses of the trigonometric ones. One row each."""

from __future__ import annotations

import numpy as np

from ..core.batching_rules import defbroadcasting, defvectorized
from ..core.core import typeof
from ..core.forward import defjvp
from ..core.lowering import register_lowering
from ..core.primitives.elementwise import (
    add,
    binary_row,
    constant,
    div,
    mul,
    neg,
    rsqrt,
    square,
    sub,
    unary_row,
)
from ..core.primitives.shape_rules import INEXACT
from .special import lower_as

asin_p, asin = unary_row("asin", INEXACT, np.arcsin, "Elementwise inverse sine, in radians.")
acos_p, acos = unary_row("acos", INEXACT, np.arccos, "Elementwise inverse cosine, in radians.")
atan_p, atan = unary_row("atan", INEXACT, np.arctan, "Elementwise inverse tangent, in radians.")
sinh_p, sinh = unary_row("sinh", INEXACT, np.sinh, "Elementwise hyperbolic sine.")
cosh_p, cosh = unary_row("cosh", INEXACT, np.cosh, "Elementwise hyperbolic cosine.")
asinh_p, asinh = unary_row("asinh", INEXACT, np.arcsinh, "Elementwise inverse hyperbolic sine.")
acosh_p, acosh = unary_row("acosh", INEXACT, np.arccosh, "Elementwise inverse hyperbolic cosine.")


def _arctan2(x, y):
    """NumPy's, and for complex numbers the logarithm that it is."""
    if x.dtype.kind != "c":
        return np.arctan2(x, y)
    i = x.dtype.type(1j)
    return -i * np.log((y + i * x) / np.sqrt(x * x + y * y))


atan2_p, atan2 = binary_row("atan2", INEXACT, _arctan2,
                            "Elementwise angle, in radians, of the point (y, x): atan2(x, y) is "
                            "that of the vector whose components are y and x.")

for p in (asin_p, acos_p, atan_p, sinh_p, cosh_p, asinh_p, acosh_p):
    defvectorized(p)
    register_lowering(p, lower_as(p.name))
defbroadcasting(atan2_p)


def _lower_atan2(ctx, x, y):
    (out,) = ctx.avals_out
    x, y = (ctx.broadcast(z, out.shape) for z in (x, y))
    return ctx.op(f"stablehlo.atan2 {x.name}, {y.name} : {x.type}", out)


register_lowering(atan2_p, _lower_atan2)


def _one(x):
    aval = typeof(x)
    return constant(1, aval.dtype, aval.weak_type)


def _norm(x, y):
    return add(square(x), square(y))


defjvp(asin_p, lambda t, x: mul(t, rsqrt(sub(_one(x), square(x)))))
defjvp(acos_p, lambda t, x: mul(t, neg(rsqrt(sub(_one(x), square(x))))))
defjvp(atan_p, lambda t, x: div(t, add(_one(x), square(x))))
defjvp(sinh_p, lambda t, x: mul(t, cosh(x)))
defjvp(cosh_p, lambda t, x: mul(t, sinh(x)))
defjvp(asinh_p, lambda t, x: mul(t, rsqrt(add(square(x), _one(x)))))
defjvp(acosh_p, lambda t, x: mul(t, rsqrt(sub(square(x), _one(x)))))
defjvp(atan2_p, lambda t, x, y: mul(t, div(y, _norm(x, y))),
       lambda t, x, y: mul(t, div(neg(x), _norm(x, y))))
