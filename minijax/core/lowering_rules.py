"""Chapter 6: how primitives that move elements or combine them are said in StableHLO.

The rules follow the order of chapter 1's files; those of elementwise primitives are in
`lowering_elementwise.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from . import dtypes
from .core import ShapedArray
from .lowering import (
    Body,
    Constant,
    Value,
    lowering_rules,
    register_lowering,
    tensor_type,
    with_dtype,
    with_shape,
)
from .lowering_elementwise import (
    PARTS,
    cast_text,
    compare,
    comparison_kind,
    convert,
    emit,
    emit_cast,
    extremum_rule,
    nary_rule,
    select,
    typed_text,
)
from .primitives import dot, reductions, shaping, slicing
from .primitives.precision import is_algorithm

# ----------------------------------------------------------------------------------------------
# Shaping


def _ints(values) -> str:
    """`[1, 2]`, also of NumPy integers."""
    return str([int(v) for v in values])


def _broadcast_in_dim(ctx, x, *, shape, broadcast_dimensions):
    (out,) = ctx.avals_out
    if type(x) is Constant and not x.aval.shape:
        return ctx.constant(x.value, out)
    return ctx.op(
        typed_text("broadcast_in_dim", [x], out, f", dims = {_ints(broadcast_dimensions)}"), out
    )


def _reshape(ctx, x, *, dimensions, **params):
    (out,) = ctx.avals_out
    if dimensions is not None:
        x = emit_transpose(ctx, x, dimensions)
    return ctx.op(cast_text("reshape", x, out), out)


def _squeeze(ctx, x, *, dimensions):
    (out,) = ctx.avals_out
    return ctx.op(cast_text("reshape", x, out), out)


def emit_transpose(ctx: Body, x: Value, permutation) -> Value:
    """Append a transposition."""
    out = with_shape(x.aval, tuple([x.aval.shape[d] for d in permutation]))
    return ctx.op(typed_text("transpose", [x], out, f", dims = {_ints(permutation)}"), out)


def _concatenate(ctx, *operands, dimension):
    (out,) = ctx.avals_out
    return ctx.op(typed_text("concatenate", operands, out, f", dim = {dimension}"), out)


def _pad(ctx, x, fill, *, padding_config):
    (out,) = ctx.avals_out
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    options = f", low = {_ints(low)}, high = {_ints(high)}, interior = {_ints(interior)}"
    return ctx.op(typed_text("pad", [x, fill], out, options), out)


def _rev(ctx, x, *, dimensions):
    return ctx.op(f"stablehlo.reverse {x.name}, dims = {_ints(dimensions)} : {x.type}", x.aval)


def _iota(ctx, *, dtype, shape, dimension):
    (out,) = ctx.avals_out
    return ctx.op(f"stablehlo.iota dim = {dimension} : {tensor_type(out)}", out)


def _pieces(ctx, x, piece_avals, axis):
    """Slices of `x` of these types, one after the other along `axis`."""
    pieces, start = [], 0
    for out in piece_avals:
        starts = [start if d == axis else 0 for d in range(out.ndim)]
        start += out.shape[axis]
        limits = [start if d == axis else n for d, n in enumerate(out.shape)]
        pieces.append(emit_slice(ctx, x, starts, limits, None, out))
    return pieces


def _split(ctx, x, *, sizes, axis):
    return _pieces(ctx, x, ctx.avals_out, axis)


def _stack(ctx, *operands, axis):
    (out,) = ctx.avals_out
    slab = with_shape(out, (*out.shape[:axis], 1, *out.shape[axis + 1 :]))
    slabs = [ctx.op(cast_text("reshape", x, slab), slab) for x in operands]
    return ctx.op(typed_text("concatenate", slabs, out, f", dim = {axis}"), out)


def _unstack(ctx, x, *, axis):
    shape = x.aval.shape
    slab = with_shape(x.aval, (*shape[:axis], 1, *shape[axis + 1 :]))
    slabs = _pieces(ctx, x, [slab] * shape[axis], axis)
    return [ctx.op(cast_text("reshape", s, out), out) for s, out in zip(slabs, ctx.avals_out)]


lowering_rules.update(
    {
        shaping.broadcast_in_dim_p: _broadcast_in_dim,
        shaping.reshape_p: _reshape,
        shaping.squeeze_p: _squeeze,
        shaping.transpose_p: emit_transpose,
        shaping.concatenate_p: _concatenate,
        shaping.pad_p: _pad,
        shaping.rev_p: _rev,
        shaping.iota_p: _iota,
        shaping.stack_p: _stack,
        shaping.unstack_p: _unstack,
        shaping.split_p: _split,
    }
)

# ----------------------------------------------------------------------------------------------
# Slicing


def emit_slice(ctx: Body, x: Value, starts, limits, strides, out: ShapedArray) -> Value:
    """Append a slice with static bounds; no `strides` means steps of one."""
    steps = strides or [1] * out.ndim
    ranges = [
        f"{int(a)}:{int(b)}" + f":{int(step)}" * (step != 1)
        for a, b, step in zip(starts, limits, steps)
    ]
    text = f"stablehlo.slice {x.name} [{', '.join(ranges)}]"
    return ctx.op(f"{text} : ({x.type}) -> {tensor_type(out)}", out)


def _slice(ctx, x, *, start_indices, limit_indices, strides):
    return emit_slice(ctx, x, start_indices, limit_indices, strides, ctx.avals_out[0])


def _dynamic_slice(ctx, x, *starts, slice_sizes):
    (out,) = ctx.avals_out
    if not starts:
        return x
    options = f", sizes = {_ints(slice_sizes)}"
    return ctx.op(typed_text("dynamic_slice", [x, *starts], out, options), out)


def _dynamic_update_slice(ctx, x, update, *starts):
    (out,) = ctx.avals_out
    if not starts:
        return update
    return ctx.op(typed_text("dynamic_update_slice", [x, update, *starts], out), out)


lowering_rules.update(
    {
        slicing.slice_p: _slice,
        slicing.dynamic_slice_p: _dynamic_slice,
        slicing.dynamic_update_slice_p: _dynamic_update_slice,
    }
)

# ----------------------------------------------------------------------------------------------
# Reductions


def lowest(dtype: np.dtype):
    """What `max` leaves alone: -inf, the least integer, `False`."""
    if dtype == np.bool_:
        return False
    if dtypes.issubdtype(dtype, np.integer):
        return dtypes.iinfo(dtype).min
    return dtype.type(-np.inf)


def highest(dtype: np.dtype):
    """What `min` leaves alone."""
    if dtype == np.bool_:
        return True
    if dtypes.issubdtype(dtype, np.integer):
        return dtypes.iinfo(dtype).max
    return dtype.type(np.inf)


def all_ones(dtype: np.dtype):
    """What `and` leaves alone: `True`, or an integer with every bit set."""
    return True if dtype == np.bool_ else ~dtype.type(0)


def _scalar(x: Value) -> ShapedArray:
    return with_shape(x.aval, ())


def _in_region(ctx: Body, rule: Callable, *operands: Value) -> tuple[list[str], Value]:
    """The lines that `rule` writes on scalars, apart, and its result."""
    outside, ctx.lines = ctx.lines, []
    saved, ctx.avals_out = ctx.avals_out, [operands[0].aval]
    result = rule(ctx, *operands)
    lines, ctx.lines, ctx.avals_out = ctx.lines, outside, saved
    return lines, result


def _reduce(op: str, identity: Callable, scalar_rule: Callable | None = None) -> Callable:
    """A reduction by a named operation; by `scalar_rule` where complex numbers have none."""

    def rule(ctx, x, *, axes, **params):
        (out,) = ctx.avals_out
        if not axes:
            return x
        init = ctx.constant(identity(x.aval.dtype), _scalar(x))
        head = f"stablehlo.reduce({x.name} init: {init.name})"
        tail = f"across dimensions = {_ints(axes)} : ({x.type}, {init.type}) -> {tensor_type(out)}"
        if scalar_rule is None or x.aval.dtype.kind != "c":
            return ctx.op(f"{head} applies stablehlo.{op} {tail}", out)
        arguments = [Value(ctx.fresh(), init.aval) for _ in range(2)]
        lines, result = _in_region(ctx, scalar_rule, *arguments)
        names = ", ".join(f"{a.name}: {a.type}" for a in arguments)
        lines += [f"    stablehlo.return {result.name} : {result.type}", "    }"]
        return ctx.op("\n".join([f"{head} {tail}", f"     reducer({names}) {{", *lines]), out)

    return rule


def _argextremum(direction: str, identity: Callable) -> Callable:
    """The place of the extremum: the first one; a NaN counts as more extreme than all else."""

    def rule(ctx, x, *, axes, index_dtype):
        (out,) = ctx.avals_out
        places = with_dtype(x.aval, out.dtype)
        place = ctx.op(f"stablehlo.iota dim = {axes[0]} : {tensor_type(places)}", places)
        init = ctx.constant(identity(x.aval.dtype), _scalar(x))
        start = ctx.constant(0, _scalar(place))
        results = [with_dtype(out, x.aval.dtype), out]
        operands = f"({x.name} init: {init.name}), ({place.name} init: {start.name})"
        types = ", ".join(v.type for v in (x, place, init, start))
        result_types = ", ".join(map(tensor_type, results))
        head = f"stablehlo.reduce{operands} across dimensions = {_ints(axes)}"
        text = f"{head} : ({types}) -> ({result_types})\n" + _arg_reducer(direction, init, start)
        return ctx.ops(text, results)[1]

    return rule


def _arg_reducer(direction, value, index):
    """The region that keeps of two (value, index) pairs the one that comes first."""
    v, i, p = value.type, index.type, "tensor<i1>"
    kind, signed = comparison_kind(value.aval.dtype), comparison_kind(index.aval.dtype)
    return f"""\
     reducer(%v: {v}, %w: {v}) (%i: {i}, %j: {i}) {{
      %more = stablehlo.compare {direction}, %v, %w, {kind} : ({v}, {v}) -> {p}
      %nan = stablehlo.compare NE, %v, %v, {kind} : ({v}, {v}) -> {p}
      %wins = stablehlo.or %more, %nan : {p}
      %tie = stablehlo.compare EQ, %v, %w, {kind} : ({v}, {v}) -> {p}
      %before = stablehlo.compare LT, %i, %j, {signed} : ({i}, {i}) -> {p}
      %first = stablehlo.and %tie, %before : {p}
      %keep = stablehlo.or %wins, %first : {p}
      %value = stablehlo.select %wins, %v, %w : {p}, {v}
      %index = stablehlo.select %keep, %i, %j : {p}, {i}
      stablehlo.return %value, %index : {v}, {i}
    }}"""


def _cumulative(scalar_rule: Callable, identity: Callable) -> Callable:
    """Prefix reductions: windows that reach from the beginning (or the end) to each element."""

    def rule(ctx, x, *, axis, reverse):
        if not x.aval.size:
            return x
        n, ndim = x.aval.shape[axis], x.aval.ndim
        window = [n if d == axis else 1 for d in range(ndim)]
        edge = [0, n - 1] if reverse else [n - 1, 0]
        padding = [edge if d == axis else [0, 0] for d in range(ndim)]
        return emit_reduce_window(ctx, scalar_rule, identity(x.aval.dtype), x, window, padding)

    return rule


def emit_reduce_window(ctx: Body, scalar_rule, identity, x: Value, window, padding) -> Value:
    """Append the reduction of every window of `x` by `scalar_rule`, as many as `x` has elements."""
    init = ctx.constant(identity, _scalar(x))
    ndim = x.aval.ndim
    options = (
        f"padding = dense<{padding}> : tensor<{ndim}x2xi64>, "
        f"window_dimensions = array<i64: {', '.join(map(str, window))}>"
    )
    arguments = [Value(ctx.fresh(), init.aval) for _ in range(2)]
    lines, result = _in_region(ctx, scalar_rule, *arguments)
    names = ", ".join(f"{a.name}: {a.type}" for a in arguments)
    return ctx.op("\n".join([
        f'"stablehlo.reduce_window"({x.name}, {init.name}) <{{{options}}}> ({{',
        f"    ^bb0({names}):",
        *lines,
        f"    stablehlo.return {result.name} : {result.type}",
        f"    }}) : ({x.type}, {init.type}) -> {x.type}",
    ]), x.aval)  # fmt: skip


def _logaddexp(ctx, x, y):
    """log(exp(x) + exp(y)) without overflow; where the difference is NaN (infinities), x + y."""
    if x.aval.dtype.kind == "c":
        return _complex_logaddexp(ctx, x, y)
    difference = emit(ctx, "subtract", x, y)
    distance = emit(ctx, "negate", emit(ctx, "abs", difference))
    rest = emit(ctx, "log_plus_one", emit(ctx, "exponential", distance))
    smooth = emit(ctx, "add", emit(ctx, "maximum", x, y), rest)
    undefined = compare(ctx, "NE", difference, difference)
    return select(ctx, undefined, emit(ctx, "add", x, y), smooth)


def _complex_logaddexp(ctx, x, y):
    """The same on complex numbers; the imaginary part is brought into [-pi, pi]."""
    largest = _maximum(ctx, x, y)
    twice = emit(ctx, "multiply", largest, ctx.constant(2, largest.aval))
    distance = emit(ctx, "subtract", emit(ctx, "add", x, y), twice)
    rest = emit(ctx, "log_plus_one", emit(ctx, "exponential", distance))
    result = emit(ctx, "add", largest, rest)
    part = np.dtype(f"f{x.aval.dtype.itemsize // 2}")
    real, angle = (emit_cast(ctx, op, result, part) for op in PARTS)
    return emit(ctx, "complex", real, _wrapped(ctx, angle), out=result.aval)


def _wrapped(ctx, angle):
    """The angle modulo 2 pi, in [-pi, pi]."""
    pi, turn = ctx.constant(math.pi, angle.aval), ctx.constant(2 * math.pi, angle.aval)
    rest = emit(ctx, "remainder", emit(ctx, "add", angle, pi), turn)
    negative = compare(ctx, "LT", rest, ctx.constant(0, angle.aval))
    rest = select(ctx, negative, emit(ctx, "add", rest, turn), rest)
    return emit(ctx, "subtract", rest, pi)


def _zero(dtype):
    return dtype.type(0)


def _one(dtype):
    return dtype.type(1)


_maximum, _minimum = extremum_rule("maximum", "GT"), extremum_rule("minimum", "LT")

lowering_rules.update(
    {
        reductions.reduce_sum_p: _reduce("add", _zero),
        reductions.reduce_prod_p: _reduce("multiply", _one),
        reductions.reduce_max_p: _reduce("maximum", lowest, _maximum),
        reductions.reduce_min_p: _reduce("minimum", highest, _minimum),
        reductions.reduce_and_p: _reduce("and", all_ones),
        reductions.reduce_or_p: _reduce("or", _zero),
        reductions.reduce_xor_p: _reduce("xor", _zero),
        reductions.argmax_p: _argextremum("GT", lowest),
        reductions.argmin_p: _argextremum("LT", highest),
        reductions.cumsum_p: _cumulative(nary_rule("add"), _zero),
        reductions.cumprod_p: _cumulative(nary_rule("multiply"), _one),
        reductions.cummax_p: _cumulative(_maximum, lowest),
        reductions.cummin_p: _cumulative(_minimum, highest),
        reductions.cumlogsumexp_p: _cumulative(_logaddexp, lowest),
    }
)

# ----------------------------------------------------------------------------------------------
# Products


def _dot_general(ctx, x, y, *, dimension_numbers, precision, preferred_element_type):
    (out,) = ctx.avals_out
    if is_algorithm(precision):
        return _dot_by_algorithm(ctx, x, y, dimension_numbers, precision)
    if x.aval.dtype != y.aval.dtype:  # XLA's CPU backend multiplies like with like
        x, y = convert(ctx, x, out.dtype), convert(ctx, y, out.dtype)
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    batching = f", batching_dims = {_ints(x_batch)} x {_ints(y_batch)}" if x_batch else ""
    contracting = f", contracting_dims = {_ints(x_contract)} x {_ints(y_contract)}"
    options = f"{batching}{contracting}, precision = [{', '.join(precision_names(precision))}]"
    return ctx.op(typed_text("dot_general", [x, y], out, options), out)


def _dot_by_algorithm(ctx, x, y, dimension_numbers, algorithm):
    """XLA's CPU backend ignores the algorithm: it is in the types alone."""
    (out,) = ctx.avals_out
    x_dtype, y_dtype, out_dtype = algorithm.compute_types(x.aval.dtype, y.aval.dtype, out.dtype)
    ctx.avals_out = [with_dtype(out, out_dtype)]
    result = _dot_general(ctx, _of_dtype(ctx, x, x_dtype), _of_dtype(ctx, y, y_dtype),
                          dimension_numbers=dimension_numbers, precision=None,
                          preferred_element_type=out_dtype)
    return _of_dtype(ctx, result, out.dtype)


def _of_dtype(ctx, x, dtype):
    return x if x.aval.dtype == dtype else convert(ctx, x, dtype)


def precision_names(precision) -> list[str]:
    """`DEFAULT`, `HIGH` or `HIGHEST` for each operand."""
    precision = None if is_algorithm(precision) else precision
    both = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    return ["DEFAULT" if p is None else getattr(p, "name", str(p)).upper() for p in both]


register_lowering(dot.dot_general_p, _dot_general)
