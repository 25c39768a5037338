"""Chapter 9: `scan` in StableHLO, a `while` with a counter that slices `xs` and updates `ys`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...core.core import ShapedArray
from ...core.lowering import Body, Value, compare, emit, register_lowering, typed_text, with_shape
from ...core.util import split_list
from ...runtime.effect_sets import is_ordered
from ...runtime.placements import placements
from ..cutting import emit_slice
from ..families import inline_in_scope
from .common import op_with_regions, region_arguments
from .scan import scan_p

_INDEX = ShapedArray((), np.int32)


def _part(ctx, part, whole):
    return part if whole.placement is None else placements().part_lowered(ctx, part, whole)


def _lower(ctx, *operands, jaxpr, length, reverse, unroll, num_consts, num_carry):
    """A loop that takes `unroll` rows of `xs` at a time, and writes as many rows of `ys`.

    Steps that are left over come after the loop; all of them, if it had one iteration only.
    """
    consts, carry, xs = split_list(operands, [num_consts, num_carry])
    n_looped = 0 if unroll == 0 or length < 2 * unroll else length - length % unroll

    def take_steps(start: Value, n: int, state):
        carry, ys = split_list(state, [num_carry])
        blocks = [_rows(ctx, x, start, n) for x in xs]
        elements: list = [None] * n
        for i in reversed(range(n)) if reverse else range(n):
            outs = inline_in_scope(ctx, "while/body/closed_call", jaxpr, [
                *consts, *carry, *(_element(ctx, b, i) for b in blocks)])
            carry, elements[i] = split_list(outs, [num_carry])
        return carry + [_with_rows(ctx, *y, start) for y in zip(ys, zip(*elements))]

    def iteration(step, *state):
        start = step
        if reverse:
            start = emit(ctx, "subtract", ctx.constant(length - unroll, _INDEX), step)
        state = take_steps(start, unroll, state)
        return [emit(ctx, "add", step, ctx.constant(unroll, _INDEX)), *state]

    state = carry + [ctx.constant(0, aval) for aval in ctx.avals_out[num_carry:]]
    if n_looped:
        _, *state = _counted_loop(ctx, n_looped, iteration, state, is_ordered(jaxpr.effects))
    if n_looped < length:
        state = [_part(ctx, x, x.aval) for x in state]
        start = ctx.constant(0 if reverse else n_looped, _INDEX)
        state = take_steps(start, length - n_looped, state)
    return state


def _counted_loop(ctx: Body, limit: int, body: Callable, state: list[Value],
                  ordered: bool) -> list[Value]:
    """`body` maps a counter, which begins at 0, and the state to new ones, up to the `limit`."""
    init = [ctx.constant(0, _INDEX), *state]
    avals = [x.aval for x in init]
    in_condition, in_body = (region_arguments(ctx, avals) for _ in range(2))
    limit_value = ctx.constant(limit, _INDEX)
    return op_with_regions(
        ctx, "stablehlo.while", init, avals,
        (in_condition, lambda: [compare(ctx, "LT", in_condition[0], limit_value)]),
        (in_body, lambda: body(*in_body)), ordered=ordered)


def _rows(ctx: Body, xs: Value, start: Value, n: int) -> Value:
    """`xs[start : start + n]`"""
    if n == xs.aval.shape[0]:
        return xs
    out = with_shape(xs.aval, (n, *xs.aval.shape[1:]))
    starts, options = _starts(ctx, start, out), f", sizes = {[*out.shape]}"
    return ctx.op(typed_text("dynamic_slice", [xs, *starts], out, options), out)


def _element(ctx: Body, xs: Value, i: int) -> Value:
    """`xs[i]`, for a number that is known now."""
    n, *shape = xs.aval.shape
    if n > 1:
        row = with_shape(xs.aval, (1, *shape))
        piece = emit_slice(ctx, xs, [i] + [0] * len(shape), [i + 1, *shape], None, row)
        xs = _part(ctx, piece, xs.aval)
    out = with_shape(xs.aval, tuple(shape))
    return _part(ctx, ctx.op(typed_text("reshape", [xs], out), out), xs.aval)


def _with_rows(ctx: Body, ys: Value, elements: Sequence[Value], start: Value) -> Value:
    """`ys` with `elements` in the rows from `start` on."""
    row = with_shape(elements[0].aval, (1, *elements[0].aval.shape))
    rows = [_part(ctx, ctx.op(typed_text("reshape", [x], row), row), ys.aval) for x in elements]
    block = rows[0]
    if len(rows) > 1:
        out = with_shape(row, (len(rows), *row.shape[1:]))
        text = typed_text("concatenate", rows, out, ", dim = 0")
        block = _part(ctx, ctx.op(text, out), ys.aval)
    if len(rows) == ys.aval.shape[0]:
        return block
    operands = [ys, block, *_starts(ctx, start, row)]
    return _part(ctx, ctx.op(typed_text("dynamic_update_slice", operands, ys.aval), ys.aval),
                 ys.aval)


def _starts(ctx, start, rows):
    return [start] + [ctx.constant(0, _INDEX)] * (rows.ndim - 1)


register_lowering(scan_p, _lower)
