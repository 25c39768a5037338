"""Chapter 6: how are the starter primitives written in StableHLO?

Most primitives are one operation of the same meaning. A rule has the signature

    (ctx, *operands, **params)  →  a value, or several

`ctx` is the function being written, to which the rule appends its lines. The counterpart in JAX is
the lowering rules of `jax/_src/lax/lax.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from . import primitives as lax
from .lowering import (
    Body,
    Value,
    cast_rule,
    compare,
    convert,
    emit,
    emit_cast,
    emit_region,
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


def _comparison(direction):
    def rule(ctx, x, y):
        shape = ctx.avals_out[0].shape
        return compare(ctx, direction, ctx.broadcast(x, shape), ctx.broadcast(y, shape))

    return rule


def _integer_pow(ctx, x, *, y):
    """Repeated squaring: a product of the x^(2^k) whose bit k is set in the exponent."""
    one, powers = ctx.constant(1, x.aval), [x]
    while len(powers) < abs(y).bit_length():
        powers.append(emit(ctx, "multiply", powers[-1], powers[-1]))
    factors = [power for k, power in enumerate(powers) if abs(y) >> k & 1]
    result = functools.reduce(functools.partial(emit, ctx, "multiply"), factors or [one])
    return emit(ctx, "divide", one, result) if y < 0 else result


def _convert_element_type(ctx, x, *, new_dtype, weak_type):
    (out,) = ctx.avals_out
    if x.aval.dtype.kind == "c" != out.dtype.kind:
        x = emit_parts(ctx, x)[0]
    return Value(x.name, out) if x.aval.dtype == out.dtype else convert(ctx, x, out.dtype)


def _select_n(ctx, which, *cases):
    if which.aval.dtype == np.bool_ and len(cases) == 2:
        return select(ctx, which, cases[1], cases[0])
    *others, chosen = cases
    for i in reversed(range(len(others))):
        below = compare(ctx, "LT", which, ctx.constant(i + 1, which.aval))
        chosen = select(ctx, below, others[i], chosen)
    return chosen


def emit_parts(ctx: Body, z: Value) -> list[Value]:
    """Append the real and the imaginary part of complex numbers."""
    dtype = np.dtype(f"f{z.aval.dtype.itemsize // 2}")
    return [emit_cast(ctx, part, z, dtype) for part in ("real", "imag")]


def _wave(op):
    """The rule of sine or cosine. XLA's own lose digits of complex numbers near zero.

    sin(x + iy) = sin x cosh y + i cos x sinh y, and cos(x + iy) = cos x cosh y - i sin x sinh y.
    """
    plain = nary_rule(op)

    def rule(ctx, z):
        if z.aval.dtype.kind != "c":
            return plain(ctx, z)
        x, y = emit_parts(ctx, z)
        zero, two = ctx.constant(0, x.aval), ctx.constant(2, x.aval)
        sin, cos = emit(ctx, "sine", x), emit(ctx, "cosine", x)
        up, down = (emit(ctx, "exponential_minus_one", v) for v in (y, emit(ctx, "negate", y)))
        cosh = emit(ctx, "divide", emit(ctx, "add", emit(ctx, "add", up, down), two), two)
        sinh = emit(ctx, "divide", emit(ctx, "subtract", up, down), two)
        if op == "cosine":
            sin, cos = emit(ctx, "negate", sin), cos
        odd = select(ctx, compare(ctx, "EQ", x, zero), zero,  # the other factor may be infinite
                     emit(ctx, "multiply", sin, cosh if op == "sine" else sinh))
        even = emit(ctx, "multiply", cos, sinh if op == "sine" else cosh)
        parts = (odd, even) if op == "sine" else (even, odd)
        return emit(ctx, "complex", *parts, out=z.aval)

    return rule


def extremum_rule(op: str, direction: str) -> Callable:
    """`max` or `min`. XLA has no order of complex numbers: we compare real parts, and imaginary
    parts where these are equal."""
    plain = nary_rule(op)

    def rule(ctx, x, y):
        (out,) = ctx.avals_out
        if out.dtype.kind != "c":
            return plain(ctx, x, y)
        x, y = ctx.broadcast(x, out.shape), ctx.broadcast(y, out.shape)
        (xr, xi), (yr, yi) = emit_parts(ctx, x), emit_parts(ctx, y)
        tie = compare(ctx, "EQ", xr, yr)
        first = select(ctx, tie, compare(ctx, direction, xi, yi), compare(ctx, direction, xr, yr))
        return select(ctx, first, x, y)

    return rule


def emit_transpose(ctx: Body, x: Value, permutation) -> Value:
    """Append a transposition."""
    out = with_shape(x.aval, tuple([x.aval.shape[d] for d in permutation]))
    return ctx.op(typed_text("transpose", [x], out, f", dims = {ints_text(permutation)}"), out)


def _reshape(ctx, x, *, new_sizes, dimensions):
    if dimensions is not None:
        x = emit_transpose(ctx, x, dimensions)
    (out,) = ctx.avals_out
    return ctx.op(typed_text("reshape", [x], out), out)


def reduce_rule(op: str, identity: Callable, combine: Callable | None = None) -> Callable:
    """The rule of a reduction by an operation; `identity` gives the dtype's first value.

    For complex numbers XLA may have no such operation. Then it is the region that the rule
    `combine` writes.
    """

    def rule(ctx, x, *, axes):
        (out,) = ctx.avals_out
        if not axes:
            return x
        init = ctx.constant(identity(x.aval.dtype), with_shape(x.aval, ()))
        head = f"stablehlo.reduce({x.name} init: {init.name})"
        types = f"({x.type}, {init.type}) -> {tensor_type(out)}"
        tail = f"across dimensions = {ints_text(axes)} : {types}"
        if combine is None or out.dtype.kind != "c":
            return ctx.op(f"{head} applies stablehlo.{op} {tail}", out)
        names, lines = emit_region(ctx, combine, [init.aval] * 2)
        return ctx.op("\n".join(
            [f"{head} {tail}", f"     reducer({names}) {{", *lines, "    }"]), out)

    return rule


def reduce_extremum_rule(op: str, direction: str, identity: Callable) -> Callable:
    """The rule of `reduce_max` or `reduce_min`."""
    return reduce_rule(op, identity, extremum_rule(op, direction))


def _dot_general(ctx, x, y, *, dimension_numbers, precision, preferred_element_type):
    """XLA's CPU backend multiplies like with like. An algorithm (chapter 11) is, for the CPU, no
    more than the types to compute in."""
    (out,) = ctx.avals_out
    x_dtype, y_dtype, dtype = x.aval.dtype, y.aval.dtype, out.dtype
    if precision is not None and type(precision) is not tuple:
        x_dtype, y_dtype, dtype = precision.compute_types(x_dtype, y_dtype, dtype)
        precision = None
    if x_dtype != y_dtype:
        x_dtype = y_dtype = dtype
    x, y = _of_dtype(ctx, x, x_dtype), _of_dtype(ctx, y, y_dtype)
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    batching = f", batching_dims = {ints_text(x_batch)} x {ints_text(y_batch)}" if x_batch else ""
    contracting = f", contracting_dims = {ints_text(x_contract)} x {ints_text(y_contract)}"
    names = ", ".join("DEFAULT" if p is None else p.name for p in precision or (None, None))
    options = f"{batching}{contracting}, precision = [{names}]"
    made = out if out.dtype == dtype else with_dtype(out, dtype)
    return _of_dtype(ctx, ctx.op(typed_text("dot_general", [x, y], made, options), made), out.dtype)


def _of_dtype(ctx, x, dtype):
    return x if x.aval.dtype == dtype else convert(ctx, x, dtype)


for p, op in (
    (lax.neg_p, "negate"), (lax.tanh_p, "tanh"),
    (lax.exp_p, "exponential"), (lax.log_p, "log"), (lax.not_p, "not"), (lax.add_p, "add"),
    (lax.add_any_p, "add"), (lax.sub_p, "subtract"), (lax.mul_p, "multiply"),
    (lax.div_p, "divide"), (lax.and_p, "and"), (lax.or_p, "or"),
):  # fmt: skip
    register_lowering(p, nary_rule(op))

for p in (lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p):
    register_lowering(p, _comparison(p.name.upper()))

lowering_rules.update({
    lax.stop_gradient_p: lambda ctx, x: x,
    lax.sin_p: _wave("sine"),
    lax.cos_p: _wave("cosine"),
    lax.max_p: extremum_rule("maximum", "GT"),
    lax.integer_pow_p: _integer_pow,
    lax.convert_element_type_p: _convert_element_type,
    lax.select_n_p: _select_n,
    lax.broadcast_in_dim_p: lambda ctx, x, *, shape, broadcast_dimensions: ctx.broadcast(
        x, shape, broadcast_dimensions),
    lax.reshape_p: _reshape,
    lax.squeeze_p: cast_rule("reshape"),
    lax.transpose_p: emit_transpose,
    lax.reduce_sum_p: reduce_rule("add", lambda dtype: dtype.type(0)),
    lax.reduce_max_p: reduce_extremum_rule("maximum", "GT", lax.lowest),
    lax.dot_general_p: _dot_general,
})
