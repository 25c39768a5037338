"""Chapter 9: what XLA and NumPy do not do alike with complex numbers.

The engine's rules for division, sine and cosine ask two tables for complex numbers; those for
extremes are here. XLA and NumPy order complex numbers by real parts, and by imaginary parts where
the real ones are equal, until a part is NaN.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ..core.evaluation import divide, like_xla
from ..core.lowering import (
    Body,
    Value,
    compare,
    complex_ops,
    emit,
    emit_cast,
    ints_text,
    tensor_type,
)
from .conversions import in_bytes
from .families import emit_region
from .selection import emit_select

# ----------------------------------------------------------------------------------------------
# Evaluation


def _quotient(x, y):
    """x / y; for a divisor ±0, and where NumPy's formula meets an infinity and finds NaN, that of
    Annex G of the C standard."""
    out = np.array(np.divide(x, y))
    a, b, c, d = x.real, x.imag, y.real, y.imag
    lost = np.isnan(out.real) & np.isnan(out.imag)

    def put(where, real, imag):
        np.copyto(out.real, real, where=where)
        np.copyto(out.imag, imag, where=where)

    def units(z):  # infinite parts as ±1, finite ones as ±0
        return (np.copysign(np.isinf(part), part).astype(part.dtype) for part in (z.real, z.imag))

    by_zero = (y == 0) & ~(np.isnan(a) & np.isnan(b))
    if lost.any() or by_zero.any():
        infinite = np.copysign(np.inf, c)
        put(by_zero, infinite * a, infinite * b)
        u, v = units(y)
        put(lost & np.isinf(y) & np.isfinite(x), 0 * (a * u + b * v), 0 * (b * u - a * v))
        u, v = units(x)
        put(lost & np.isinf(x) & np.isfinite(y) & (y != 0),
            np.inf * (u * c + v * d), np.inf * (v * c - u * d))
    return out


def _extreme(is_before: np.ufunc) -> Callable:
    """`maximum` or `minimum`. No comparison with NaN is true, and then the second operand is
    chosen. NumPy would choose the NaN."""

    def rule(x, y):
        tie = x.real == y.real
        first = np.where(tie, is_before(x.imag, y.imag), is_before(x.real, y.real))
        return np.where(first, x, y)

    return rule




def _divide(x, y):
    """The quotient of complex numbers, or of numbers of `ml_dtypes`."""
    if x.dtype.kind == "c":
        return _quotient(x, y)
    x, y = in_bytes(x), in_bytes(y)
    return divide(x, y) if x.dtype.kind == "i" else np.divide(x, y)


like_xla[np.divide] = _divide
greater_of, less_of = _extreme(np.greater), _extreme(np.less)

# ----------------------------------------------------------------------------------------------
# Lowering


def emit_parts(ctx: Body, z: Value) -> list[Value]:
    """Append the real and the imaginary part of complex numbers."""
    dtype = np.dtype(f"f{z.aval.dtype.itemsize // 2}")
    return [emit_cast(ctx, part, z, dtype) for part in ("real", "imag")]


def _wave(op):
    """The rule of sine or cosine. XLA's own lose digits near zero.

    sin(x + iy) = sin x cosh y + i cos x sinh y, and cos(x + iy) = cos x cosh y - i sin x sinh y.
    """
    def rule(ctx, z):
        x, y = emit_parts(ctx, z)
        zero, two = ctx.constant(0, x.aval), ctx.constant(2, x.aval)
        sin, cos = emit(ctx, "sine", x), emit(ctx, "cosine", x)
        up, down = (emit(ctx, "exponential_minus_one", v) for v in (y, emit(ctx, "negate", y)))
        cosh = emit(ctx, "divide", emit(ctx, "add", emit(ctx, "add", up, down), two), two)
        sinh = emit(ctx, "divide", emit(ctx, "subtract", up, down), two)
        if op == "cosine":
            sin, cos = emit(ctx, "negate", sin), cos
        odd = emit_select(ctx, compare(ctx, "EQ", x, zero), zero,  # the other may be infinite
                          emit(ctx, "multiply", sin, cosh if op == "sine" else sinh))
        even = emit(ctx, "multiply", cos, sinh if op == "sine" else cosh)
        parts = (odd, even) if op == "sine" else (even, odd)
        return emit(ctx, "complex", *parts, out=z.aval)

    return rule


def _extremum_rule(direction: str) -> Callable:
    """The rule of `max` or `min`: XLA has no order of complex numbers."""
    def rule(ctx, x, y):
        (out,) = ctx.avals_out
        x, y = ctx.broadcast(x, out.shape), ctx.broadcast(y, out.shape)
        (xr, xi), (yr, yi) = emit_parts(ctx, x), emit_parts(ctx, y)
        tie = compare(ctx, "EQ", xr, yr)
        by_imag, by_real = compare(ctx, direction, xi, yi), compare(ctx, direction, xr, yr)
        return emit_select(ctx, emit_select(ctx, tie, by_imag, by_real), x, y)

    return rule


def emit_reduction(ctx: Body, op: str, x: Value, init: Value, axes: Sequence[int]) -> Value:
    """Append the reduction of complex numbers by an operation."""
    (out,) = ctx.avals_out
    names, lines = emit_region(ctx, complex_ops[op], [init.aval] * 2)
    return ctx.op("\n".join([
        f"stablehlo.reduce({x.name} init: {init.name}) across dimensions = {ints_text(axes)} : "
        f"({x.type}, {init.type}) -> {tensor_type(out)}",
        f"     reducer({names}) {{", *lines, "    }"]), out)


complex_ops.update({"sine": _wave("sine"), "cosine": _wave("cosine"),
                    "maximum": _extremum_rule("GT"), "minimum": _extremum_rule("LT")})
