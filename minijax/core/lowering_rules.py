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

from . import lowering as hlo, primitives as lax
from .lowering import Body, Value


def _comparison(direction):
    def rule(ctx, x, y):
        shape = ctx.avals_out[0].shape
        return hlo.compare(ctx, direction, ctx.broadcast(x, shape), ctx.broadcast(y, shape))

    return rule


def _integer_pow(ctx, x, *, y):
    """Repeated squaring: a product of the x^(2^k) whose bit k is set in the exponent."""
    one, powers = ctx.constant(1, x.aval), [x]
    while len(powers) < abs(y).bit_length():
        powers.append(hlo.emit(ctx, "multiply", powers[-1], powers[-1]))
    factors = [power for k, power in enumerate(powers) if abs(y) >> k & 1]
    result = functools.reduce(functools.partial(hlo.emit, ctx, "multiply"), factors or [one])
    return hlo.emit(ctx, "divide", one, result) if y < 0 else result


def _convert_element_type(ctx, x, *, new_dtype, weak_type):
    (out,) = ctx.avals_out
    if x.aval.dtype.kind == "c" and out.dtype.kind != "c":
        x = hlo.emit_cast(ctx, "real", x, np.dtype(f"f{x.aval.dtype.itemsize // 2}"))
    return Value(x.name, out) if x.aval.dtype == out.dtype else hlo.convert(ctx, x, out.dtype)


def emit_transpose(ctx: Body, x: Value, permutation) -> Value:
    """Append a transposition."""
    out = hlo.with_shape(x.aval, tuple([x.aval.shape[d] for d in permutation]))
    dims = f", dims = {hlo.ints_text(permutation)}"
    return ctx.op(hlo.typed_text("transpose", [x], out, dims), out)


def _reshape(ctx, x, *, new_sizes, dimensions):
    if dimensions is not None:
        x = emit_transpose(ctx, x, dimensions)
    (out,) = ctx.avals_out
    return ctx.op(hlo.typed_text("reshape", [x], out), out)


def reduce_rule(op: str, identity: Callable) -> Callable:
    """The rule of a reduction by an operation; `identity` gives the dtype's first value."""

    def rule(ctx, x, *, axes):
        (out,) = ctx.avals_out
        if not axes:
            return x
        init = ctx.constant(identity(x.aval.dtype), hlo.with_shape(x.aval, ()))
        head = f"stablehlo.reduce({x.name} init: {init.name}) applies stablehlo.{op}"
        types = f"({x.type}, {init.type}) -> {hlo.tensor_type(out)}"
        return ctx.op(f"{head} across dimensions = {hlo.ints_text(axes)} : {types}", out)

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
    ints = hlo.ints_text
    batching = f", batching_dims = {ints(x_batch)} x {ints(y_batch)}" if x_batch else ""
    contracting = f", contracting_dims = {ints(x_contract)} x {ints(y_contract)}"
    names = ", ".join("DEFAULT" if p is None else p.name for p in precision or (None, None))
    options = f"{batching}{contracting}, precision = [{names}]"
    made = out if out.dtype == dtype else hlo.with_dtype(out, dtype)
    product = ctx.op(hlo.typed_text("dot_general", [x, y], made, options), made)
    return _of_dtype(ctx, product, out.dtype)


def _of_dtype(ctx, x, dtype):
    return x if x.aval.dtype == dtype else hlo.convert(ctx, x, dtype)


for p, op in (
    (lax.neg_p, "negate"), (lax.sin_p, "sine"), (lax.cos_p, "cosine"), (lax.tanh_p, "tanh"),
    (lax.exp_p, "exponential"), (lax.log_p, "log"), (lax.add_p, "add"), (lax.add_any_p, "add"),
    (lax.sub_p, "subtract"), (lax.mul_p, "multiply"), (lax.div_p, "divide"),
):  # fmt: skip
    hlo.register_lowering(p, hlo.nary_rule(op))

for p in (lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p):
    hlo.register_lowering(p, _comparison(p.name.upper()))

hlo.lowering_rules.update({
    lax.stop_gradient_p: lambda ctx, x: x,
    lax.integer_pow_p: _integer_pow,
    lax.convert_element_type_p: _convert_element_type,
    lax.broadcast_in_dim_p: lambda ctx, x, *, shape, broadcast_dimensions: ctx.broadcast(
        x, shape, broadcast_dimensions),
    lax.reshape_p: _reshape,
    lax.squeeze_p: hlo.cast_rule("reshape"),
    lax.transpose_p: emit_transpose,
    lax.reduce_sum_p: reduce_rule("add", lambda dtype: dtype.type(0)),
    lax.dot_general_p: _dot_general,
})
