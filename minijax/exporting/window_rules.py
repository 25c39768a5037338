"""Chapter 16: lowering rules for windows and for the greatest few, by sizes that are not known.

StableHLO's operations state the sizes of windows, the padding, and how many are the greatest few,
as numbers. If these are unknown, calls stand in their place, with the sizes as operands. XLA puts
the operations back when it refines the module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import lax
from ..checks.primitives import any_symbolic
from ..core.core import Primitive
from ..core.jaxpr import ClosedJaxpr
from ..core.lowering import Value, lowering_rules, tensor_type, with_shape
from ..core.primitives import lowest
from ..core.staging import trace_to_jaxpr
from ..lax.families import lower_fun
from ..lax.reductions import highest
from ..lax.windowed_reductions import Windows


def reduce_window(ctx: Any, *args: Value, jaxpr: Any, consts: Any, **params: Any) -> list[Value]:
    """The usual rule if the sizes are known."""
    windows = Windows(**params)
    if _is_known(windows):
        return lowering_rules[lax.reduce_window_p](ctx, *args, jaxpr=jaxpr, consts=consts, **params)
    return _windows_call(ctx, args, ClosedJaxpr(jaxpr, consts), windows)


def reduce_window_by(primitive: Primitive, combine: Callable, start: Callable) -> Callable:
    """The rule for a primitive that reduces windows by `combine`, with `start(dtype)` first."""

    def rule(ctx, x, **params):
        windows = Windows(**params)
        if _is_known(windows):
            return lowering_rules[primitive](ctx, x, **params)
        scalar = with_shape(x.aval, ()).update(weak_type=False)
        jaxpr = trace_to_jaxpr(lambda x, y: [combine(x, y)], (scalar, scalar))
        init = ctx.constant(start(scalar.dtype), scalar)
        return _windows_call(ctx, [x, init], jaxpr, windows)[0]

    return rule


def _is_known(windows) -> bool:
    return not any_symbolic(*windows.window_dimensions,
                            *(width for pair in windows.padding for width in pair))


def _windows_call(ctx, args: Sequence[Value], jaxpr: ClosedJaxpr, windows) -> list[Value]:
    reducer, _ = ctx.module.function(jaxpr, "reduce_window_reducer")
    ndim = len(windows.padding)
    sizes = [ctx.sizes(entries) for entries in (windows.window_dimensions, windows.window_strides,
                                                windows.base_dilation, windows.window_dilation)]
    flat = ctx.sizes([width for pair in windows.padding for width in pair])
    vector, pairs = f"tensor<{ndim}xi32>", f"tensor<{ndim}x2xi32>"
    padding = ctx.head_line(f"stablehlo.reshape {flat} : (tensor<{2 * ndim}xi32>) -> {pairs}")
    names = ", ".join([*(x.name for x in args), *sizes, padding])
    kinds = ", ".join([*(x.type for x in args), *[vector] * 4, pairs])
    return ctx.ops(f"stablehlo.custom_call @stablehlo.dynamic_reduce_window({names}) "
                   f"{{called_computations = [@{reducer.name}]}} : ({kinds}) -> "
                   f"({', '.join(map(tensor_type, ctx.avals_out))})", ctx.avals_out)


def top_k(ctx: Any, x: Value, *, k: Any, axis: int) -> list[Value]:
    """XLA knows how many only after it has refined the module: `k` is an operand."""
    usual, ndim = lowering_rules[lax.top_k_p], x.aval.ndim
    if not any_symbolic(k):
        return usual(ctx, x, k=k, axis=axis)
    if axis != ndim - 1:
        order = [*(d for d in range(ndim) if d != axis), axis]
        back = [order.index(d) for d in range(ndim)]
        return lower_fun(lambda x: [lax.transpose(out, back) for out in lax.top_k_p.bind(
            lax.transpose(x, order), k=k, axis=ndim - 1)], multiple_results=True)(ctx, x)
    types = ", ".join(map(tensor_type, ctx.avals_out))
    return ctx.ops(f"stablehlo.custom_call @stablehlo.dynamic_top_k({x.name}, {ctx.size(k)}) : "
                   f"({x.type}, tensor<i32>) -> ({types})", ctx.avals_out)


def approx_top_k(ctx: Any, x: Value, *, k: Any, reduction_dimension: int, is_max_k: bool,
                 **params: Any) -> list[Value]:
    """The greatest few, exactly, by `top_k`."""
    axis = reduction_dimension % x.aval.ndim
    count = ctx.avals_out[0].shape[axis]

    def program(x):
        values, places = lax.top_k_p.bind(x if is_max_k else lax.neg(x), k=count, axis=axis)
        return [values if is_max_k else lax.neg(values), places]

    return lower_fun(program, multiple_results=True)(ctx, x)


WINDOW_RULES: dict[str, Callable] = {
    "top_k": top_k, "approx_top_k": approx_top_k, "reduce_window": reduce_window,
    "reduce_window_sum": reduce_window_by(lax.reduce_window_sum_p, lax.add, lambda dtype: 0),
    "reduce_window_max": reduce_window_by(lax.reduce_window_max_p, lax.max, lowest),
    "reduce_window_min": reduce_window_by(lax.reduce_window_min_p, lax.min, highest)}
