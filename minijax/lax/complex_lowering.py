"""Chapter 9: what XLA does not do well with complex numbers, in other operations.

XLA has no order of complex numbers, and its complex sine and cosine lose digits near zero. These
lowering rules replace the starters' own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..core import primitives as lax
from ..core.lowering import (
    compare,
    ints_text,
    lowering_rules,
    nary_rule,
    register_lowering,
    select,
    tensor_type,
    typed_text,
    with_dtype,
    with_shape,
)
from ..core.lowering_rules import reduce_rule
from .complex_numbers import complex, imag, real
from .elementwise import expm1, min_p
from .families import emit_cast, emit_region, lower_fun

# ----------------------------------------------------------------------------------------------
# Complex sine and cosine


def _real_or_complex(op, complex_fun):
    """The rule of an operation whose complex case we take apart, better than XLA does."""
    plain, by_parts = nary_rule(op), lower_fun(complex_fun)
    return lambda ctx, x: (by_parts if x.aval.dtype.kind == "c" else plain)(ctx, x)


def _complex_sin(z):
    """sin(x + iy) = sin x cosh y + i cos x sinh y, exact also near zero and for a large y."""
    x, y = real(z), imag(z)
    cosh, sinh = _cosh_sinh(y)
    real_part = lax.mul(lax.sin(x), cosh)
    return complex(_where_zero(x, 0, real_part), lax.mul(lax.cos(x), sinh))


def _complex_cos(z):
    """cos(x + iy) = cos x cosh y - i sin x sinh y."""
    x, y = real(z), imag(z)
    cosh, sinh = _cosh_sinh(y)
    imag_part = lax.mul(lax.neg(lax.sin(x)), sinh)
    return complex(lax.mul(lax.cos(x), cosh), _where_zero(x, 0, imag_part))


def _cosh_sinh(y):
    """Made of exp(y) - 1 and exp(-y) - 1, which keep their digits near zero."""
    up, down = expm1(y), expm1(lax.neg(y))
    two = y.dtype.type(2)
    cosh = lax.div(lax.add(lax.add(up, down), two), two)
    return cosh, lax.div(lax.sub(up, down), two)


def _where_zero(x, value, otherwise):
    """`value` where `x` is zero: there the other factor may be infinite."""
    zero = x.dtype.type(0)
    return lax.select(lax.eq(x, zero), lax.full_like(x, value), otherwise)


def _complex_to_real(ctx, x, **params):
    """The real part, converted. Other conversions are the engine's."""
    (out,) = ctx.avals_out
    if x.aval.dtype.kind == "c" and out.dtype.kind != "c":
        x = emit_cast(ctx, "real", x, np.dtype(f"f{x.aval.dtype.itemsize // 2}"))
    return _convert(ctx, x, **params)


_convert = lowering_rules[lax.convert_element_type_p]
register_lowering(lax.convert_element_type_p, _complex_to_real)
register_lowering(lax.sin_p, _real_or_complex("sine", _complex_sin))
register_lowering(lax.cos_p, _real_or_complex("cosine", _complex_cos))


# ----------------------------------------------------------------------------------------------
# Maxima and minima in lexicographic order

PARTS = ("real", "imag")


def extremum_rule(op: str, direction: str) -> Callable:
    """`max` or `min`; complex numbers are ordered by real part, then imaginary part."""
    plain = nary_rule(op)

    def rule(ctx, x, y):
        (out,) = ctx.avals_out
        if out.dtype.kind != "c":
            return plain(ctx, x, y)
        x, y = ctx.broadcast(x, out.shape), ctx.broadcast(y, out.shape)
        return select(ctx, _complex_order(ctx, direction, x, y), x, y)

    return rule


def _complex_order(ctx, direction, x, y):
    """Whether `x` comes before `y` in lexicographic order."""
    part = with_dtype(x.aval, np.dtype(f"f{x.aval.dtype.itemsize // 2}"))
    (xr, yr), (xi, yi) = ([ctx.op(typed_text(op, [z], part), part) for z in (x, y)] for op in PARTS)
    tie = compare(ctx, "EQ", xr, yr)
    return select(ctx, tie, compare(ctx, direction, xi, yi), compare(ctx, direction, xr, yr))


register_lowering(lax.max_p, extremum_rule("maximum", "GT"))
register_lowering(min_p, extremum_rule("minimum", "LT"))


def reduce_extremum_rule(op: str, direction: str, identity: Callable) -> Callable:
    """`reduce_max` or `reduce_min`; of complex numbers by a region, as they have no operation."""
    plain, combine = reduce_rule(op, identity), extremum_rule(op, direction)

    def rule(ctx, x, *, axes):
        (out,) = ctx.avals_out
        if not axes or out.dtype.kind != "c":
            return plain(ctx, x, axes=axes)
        init = ctx.constant(identity(x.aval.dtype), with_shape(x.aval, ()))
        types = f"({x.type}, {init.type}) -> {tensor_type(out)}"
        names, lines = emit_region(ctx, combine, [init.aval] * 2)
        return ctx.op("\n".join([
            f"stablehlo.reduce({x.name} init: {init.name}) "
            f"across dimensions = {ints_text(axes)} : {types}",
            f"     reducer({names}) {{", *lines, "    }"]), out)

    return rule


register_lowering(lax.reduce_max_p, reduce_extremum_rule("maximum", "GT", lax.lowest))
