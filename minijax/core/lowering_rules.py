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
    complex_ops,
    convert,
    emit,
    emit_cast,
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
    if x.aval.dtype.kind == "c" and out.dtype.kind != "c":
        x = emit_cast(ctx, "real", x, np.dtype(f"f{x.aval.dtype.itemsize // 2}"))
    return Value(x.name, out) if x.aval.dtype == out.dtype else convert(ctx, x, out.dtype)


def _select_n(ctx, which, *cases):
    if which.aval.dtype == np.bool_ and len(cases) == 2:
        return select(ctx, which, cases[1], cases[0])
    *others, chosen = cases
    for i in reversed(range(len(others))):
        below = compare(ctx, "LT", which, ctx.constant(i + 1, which.aval))
        chosen = select(ctx, below, others[i], chosen)
    return chosen


def emit_transpose(ctx: Body, x: Value, permutation) -> Value:
    """Append a transposition."""
    out = with_shape(x.aval, tuple([x.aval.shape[d] for d in permutation]))
    return ctx.op(typed_text("transpose", [x], out, f", dims = {ints_text(permutation)}"), out)


def _reshape(ctx, x, *, new_sizes, dimensions):
    if dimensions is not None:
        x = emit_transpose(ctx, x, dimensions)
    (out,) = ctx.avals_out
    return ctx.op(typed_text("reshape", [x], out), out)


def reduce_rule(op: str, identity: Callable) -> Callable:
    """The rule of a reduction by an operation; `identity` gives the dtype's first value."""

    def rule(ctx, x, *, axes):
        (out,) = ctx.avals_out
        if not axes:
            return x
        init = ctx.constant(identity(x.aval.dtype), with_shape(x.aval, ()))
        if out.dtype.kind == "c" and ("reduce", op) in complex_ops:
            return complex_ops["reduce", op](ctx, x, init, axes)
        head = f"stablehlo.reduce({x.name} init: {init.name}) applies stablehlo.{op}"
        types = f"({x.type}, {init.type}) -> {tensor_type(out)}"
        return ctx.op(f"{head} across dimensions = {ints_text(axes)} : {types}", out)

    return rule


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
    (lax.neg_p, "negate"), (lax.sin_p, "sine"), (lax.cos_p, "cosine"), (lax.tanh_p, "tanh"),
    (lax.exp_p, "exponential"), (lax.log_p, "log"), (lax.not_p, "not"), (lax.add_p, "add"),
    (lax.add_any_p, "add"), (lax.sub_p, "subtract"), (lax.mul_p, "multiply"),
    (lax.div_p, "divide"), (lax.max_p, "maximum"), (lax.and_p, "and"), (lax.or_p, "or"),
):  # fmt: skip
    register_lowering(p, nary_rule(op))

for p in (lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p):
    register_lowering(p, _comparison(p.name.upper()))

lowering_rules.update({
    lax.stop_gradient_p: lambda ctx, x: x,
    lax.integer_pow_p: _integer_pow,
    lax.convert_element_type_p: _convert_element_type,
    lax.select_n_p: _select_n,
    lax.broadcast_in_dim_p: lambda ctx, x, *, shape, broadcast_dimensions: ctx.broadcast(
        x, shape, broadcast_dimensions),
    lax.reshape_p: _reshape,
    lax.squeeze_p: cast_rule("reshape"),
    lax.transpose_p: emit_transpose,
    lax.reduce_sum_p: reduce_rule("add", lambda dtype: dtype.type(0)),
    lax.reduce_max_p: reduce_rule("maximum", lax.lowest),
    lax.dot_general_p: _dot_general,
})
