"""Chapter 6: how each starter primitive is said in StableHLO.

The rules follow the order of chapter 1's files. Most primitives have an operation of the same
meaning, and the rule is an entry in a table; the others are small functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .. import dtypes
from ..core import ShapedArray
from ..primitives import dot, elementwise, reductions, shaping, slicing
from .lowering import (
    Body,
    Constant,
    Value,
    register_lowering,
    tensor_type,
    with_dtype,
    with_shape,
)


def _cast(op: str, x: Value, out: ShapedArray) -> str:
    """The text of an operation whose result type is not that of its operand."""
    return f"stablehlo.{op} {x.name} : ({x.type}) -> {tensor_type(out)}"


def _typed(op: str, operands: Sequence[Value], out: ShapedArray, options: str = "") -> str:
    """The text of an operation that spells the types of all operands."""
    names = ", ".join(x.name for x in operands)
    types = ", ".join(x.type for x in operands)
    return f"stablehlo.{op} {names}{options} : ({types}) -> {tensor_type(out)}"


def _ints(values) -> str:
    """`[1, 2]`, also of NumPy integers."""
    return str([int(v) for v in values])


# ----------------------------------------------------------------------------------------------
# Elementwise


def _nary(op: str) -> Callable:
    """The rule of an operation whose operands and result have one type; scalars are spread."""

    def rule(ctx: Body, *operands: Value, **params) -> Value:
        (out,) = ctx.avals_out
        shape = out.shape
        names = [
            x.name if x.aval.shape == shape else ctx.broadcast(x, shape).name for x in operands
        ]
        return ctx.op(f"stablehlo.{op} {', '.join(names)} : {tensor_type(out)}", out)

    return rule


_NARY = {
    "neg": "negate", "sin": "sine", "cos": "cosine", "tan": "tan", "tanh": "tanh",
    "exp": "exponential", "log": "log", "log1p": "log_plus_one", "expm1": "exponential_minus_one",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "cbrt": "cbrt", "floor": "floor", "ceil": "ceil",
    "not": "not", "add": "add", "add_any": "add", "sub": "subtract", "mul": "multiply",
    "div": "divide", "rem": "remainder", "and": "and", "or": "or", "xor": "xor",
    "complex": "complex", "clamp": "clamp",
}  # fmt: skip

for _name, _op in _NARY.items():
    register_lowering(getattr(elementwise, f"{_name}_p"), _nary(_op))


def _casting(op: str) -> Callable:
    """The rule of a unary operation with a result of another element type."""

    def rule(ctx, x):
        (out,) = ctx.avals_out
        return ctx.op(_cast(op, x, out), out)

    return rule


for _name in ("abs", "real", "imag", "is_finite"):
    register_lowering(getattr(elementwise, f"{_name}_p"), _casting(_name))

for _primitive in (elementwise.stop_gradient_p, elementwise.copy_p):
    register_lowering(_primitive, lambda ctx, x: x)


def emit(ctx: Body, op: str, *operands: Value, out: ShapedArray | None = None) -> Value:
    """Append an elementwise operation on operands of one shape, whose type the result has too."""
    out = out or operands[0].aval
    names = ", ".join(x.name for x in operands)
    return ctx.op(f"stablehlo.{op} {names} : {tensor_type(out)}", out)


def compare(ctx: Body, direction: str, x: Value, y: Value) -> Value:
    """Append a comparison of operands of one type; `direction` is EQ, NE, LT, LE, GT or GE."""
    out = with_dtype(x.aval, np.dtype(bool))
    kind = {"i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}.get(x.aval.dtype.kind, "FLOAT")
    types = f"({x.type}, {x.type}) -> {tensor_type(out)}"
    return ctx.op(f"stablehlo.compare {direction}, {x.name}, {y.name}, {kind} : {types}", out)


def select(ctx: Body, which: Value, on_true: Value, on_false: Value) -> Value:
    """Append a choice between two operands of one type; `which` has their shape, or rank 0."""
    names = f"{which.name}, {on_true.name}, {on_false.name}"
    return ctx.op(f"stablehlo.select {names} : {which.type}, {on_true.type}", on_true.aval)


def _comparison(direction):
    def rule(ctx, x, y):
        shape = ctx.avals_out[0].shape
        return compare(ctx, direction, ctx.broadcast(x, shape), ctx.broadcast(y, shape))

    return rule


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    register_lowering(getattr(elementwise, f"{_name}_p"), _comparison(_name.upper()))


def _extremum(op: str, direction: str) -> Callable:
    """`max` or `min`; complex numbers are ordered by real part, then imaginary part."""
    plain = _nary(op)

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
    (xr, yr), (xi, yi) = ([ctx.op(_cast(op, z, part), part) for z in (x, y)] for op in PARTS)
    tie = compare(ctx, "EQ", xr, yr)
    return select(ctx, tie, compare(ctx, direction, xi, yi), compare(ctx, direction, xr, yr))


PARTS = ("real", "imag")
register_lowering(elementwise.max_p, _extremum("maximum", "GT"))
register_lowering(elementwise.min_p, _extremum("minimum", "LT"))


def _sign(ctx, x):
    if x.aval.dtype.kind != "u":
        return emit(ctx, "sign", x)
    zero, one = ctx.constant(0, x.aval), ctx.constant(1, x.aval)
    return select(ctx, compare(ctx, "EQ", x, zero), zero, one)


def _logistic(ctx, x):
    one = ctx.constant(1, x.aval)
    return emit(ctx, "divide", one, emit(ctx, "add", one, _exp_of_minus(ctx, x)))


def _exp_of_minus(ctx, x):
    return emit(ctx, "exponential", emit(ctx, "negate", x))


def _exp2(ctx, x):
    log2 = ctx.constant(x.aval.dtype.type(math.log(2)), x.aval)
    return emit(ctx, "exponential", emit(ctx, "multiply", log2, x))


def _square(ctx, x):
    if x.aval.dtype.kind == "c":  # more exact than a product
        return ctx.op(f"chlo.square {x.name} : {x.type} -> {x.type}", x.aval)
    return emit(ctx, "multiply", x, x)


def _round(ctx, x, *, rounding_method):
    ops = ("round_nearest_afz", "round_nearest_even")
    return emit(ctx, ops[int(rounding_method)], x)


def _integer_pow(ctx, x, *, y):
    """Repeated squaring: a product of the x^(2^k) whose bit k is set in the exponent."""
    one = ctx.constant(1, x.aval)
    power, exponent, result = x, abs(y), None
    while exponent:
        if exponent & 1:
            result = power if result is None else emit(ctx, "multiply", result, power)
        exponent >>= 1
        if exponent:
            power = emit(ctx, "multiply", power, power)
    result = result or one
    return emit(ctx, "divide", one, result) if y < 0 else result


_power = _nary("power")


def _pow(ctx, x, y):
    (out,) = ctx.avals_out
    return _power(ctx, x, y if y.aval.dtype == out.dtype else convert(ctx, y, out.dtype))


def convert(ctx: Body, x: Value, dtype: np.dtype) -> Value:
    """Append a conversion; to booleans it asks whether the element is not zero."""
    if dtype == np.bool_ and x.aval.dtype != np.bool_:
        return compare(ctx, "NE", x, ctx.constant(0, x.aval))
    out = with_dtype(x.aval, dtype)
    return ctx.op(_cast("convert", x, out), out)


def _convert_element_type(ctx, x, *, new_dtype, weak_type):
    (out,) = ctx.avals_out
    dtype = x.aval.dtype
    if dtype == out.dtype:
        return Value(x.name, out)
    if dtype.kind == "c" and out.dtype.kind != "c":
        x = emit_cast(ctx, "real", x, np.dtype(f"f{dtype.itemsize // 2}"))
        if x.aval.dtype == out.dtype:
            return x
    return convert(ctx, x, out.dtype)


def emit_cast(ctx: Body, op: str, x: Value, dtype: np.dtype) -> Value:
    """Append a unary operation with a result of element type `dtype`."""
    out = with_dtype(x.aval, dtype)
    return ctx.op(_cast(op, x, out), out)


def _conj(ctx, x, *, input_dtype):
    (out,) = ctx.avals_out
    if x.aval.dtype.kind != "c":
        return emit(ctx, "complex", x, ctx.constant(0, x.aval), out=out)
    part = np.dtype(f"f{out.dtype.itemsize // 2}")
    real, imag = emit_cast(ctx, "real", x, part), emit_cast(ctx, "imag", x, part)
    return emit(ctx, "complex", real, emit(ctx, "negate", imag), out=out)


def _select_n(ctx, which, *cases):
    if len(cases) == 1:
        return cases[0]
    if which.aval.dtype == np.bool_:
        return select(ctx, which, cases[1], cases[0])
    return _select_among(ctx, which, 0, cases)


def _select_among(ctx, which, first, cases):
    """Choose by bisection among the cases numbered from `first`."""
    if len(cases) == 1:
        return cases[0]
    middle = len(cases) // 2
    below = compare(ctx, "LT", which, ctx.constant(first + middle, which.aval))
    low = _select_among(ctx, which, first, cases[:middle])
    return select(ctx, below, low, _select_among(ctx, which, first + middle, cases[middle:]))


for _primitive, _rule in {
    elementwise.sign_p: _sign,
    elementwise.logistic_p: _logistic,
    elementwise.exp2_p: _exp2,
    elementwise.square_p: _square,
    elementwise.round_p: _round,
    elementwise.integer_pow_p: _integer_pow,
    elementwise.pow_p: _pow,
    elementwise.convert_element_type_p: _convert_element_type,
    elementwise.conj_p: _conj,
    elementwise.select_n_p: _select_n,
}.items():
    register_lowering(_primitive, _rule)

# ----------------------------------------------------------------------------------------------
# Shaping


def _broadcast_in_dim(ctx, x, *, shape, broadcast_dimensions):
    (out,) = ctx.avals_out
    if type(x) is Constant and not x.aval.shape:
        return ctx.constant(x.value, out)
    return ctx.op(_typed("broadcast_in_dim", [x], out, f", dims = {_ints(broadcast_dimensions)}"),
                  out)


def _reshape(ctx, x, **params):
    (out,) = ctx.avals_out
    return ctx.op(_cast("reshape", x, out), out)


def _transpose(ctx, x, *, permutation):
    (out,) = ctx.avals_out
    return ctx.op(_typed("transpose", [x], out, f", dims = {_ints(permutation)}"), out)


def _concatenate(ctx, *operands, dimension):
    (out,) = ctx.avals_out
    return ctx.op(_typed("concatenate", operands, out, f", dim = {dimension}"), out)


def _pad(ctx, x, fill, *, padding_config):
    (out,) = ctx.avals_out
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    options = f", low = {_ints(low)}, high = {_ints(high)}, interior = {_ints(interior)}"
    return ctx.op(_typed("pad", [x, fill], out, options), out)


def _rev(ctx, x, *, dimensions):
    return ctx.op(f"stablehlo.reverse {x.name}, dims = {_ints(dimensions)} : {x.type}", x.aval)


def _iota(ctx, *, dtype, shape, dimension):
    (out,) = ctx.avals_out
    return ctx.op(f"stablehlo.iota dim = {dimension} : {tensor_type(out)}", out)


def _split(ctx, x, *, sizes, axis):
    pieces, start = [], 0
    for out in ctx.avals_out:
        starts = [start if d == axis else 0 for d in range(out.ndim)]
        start += out.shape[axis]
        limits = [start if d == axis else n for d, n in enumerate(out.shape)]
        pieces.append(emit_slice(ctx, x, starts, limits, None, out))
    return pieces


for _primitive, _rule in {
    shaping.broadcast_in_dim_p: _broadcast_in_dim,
    shaping.reshape_p: _reshape,
    shaping.squeeze_p: _reshape,
    shaping.transpose_p: _transpose,
    shaping.concatenate_p: _concatenate,
    shaping.pad_p: _pad,
    shaping.rev_p: _rev,
    shaping.iota_p: _iota,
    shaping.split_p: _split,
}.items():
    register_lowering(_primitive, _rule)

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
    return ctx.op(_typed("dynamic_slice", [x, *starts], out, options), out)


def _dynamic_update_slice(ctx, x, update, *starts):
    (out,) = ctx.avals_out
    if not starts:
        return update
    return ctx.op(_typed("dynamic_update_slice", [x, update, *starts], out), out)


register_lowering(slicing.slice_p, _slice)
register_lowering(slicing.dynamic_slice_p, _dynamic_slice)
register_lowering(slicing.dynamic_update_slice_p, _dynamic_update_slice)

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
    kind = {"i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}.get(value.aval.dtype.kind, "FLOAT")
    signed = "UNSIGNED" if index.aval.dtype.kind == "u" else "SIGNED"
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
    difference = emit(ctx, "subtract", x, y)
    distance = emit(ctx, "negate", emit(ctx, "abs", difference))
    rest = emit(ctx, "log_plus_one", emit(ctx, "exponential", distance))
    smooth = emit(ctx, "add", emit(ctx, "maximum", x, y), rest)
    undefined = compare(ctx, "NE", difference, difference)
    return select(ctx, undefined, emit(ctx, "add", x, y), smooth)


def _zero(dtype):
    return dtype.type(0)


def _one(dtype):
    return dtype.type(1)


_maximum, _minimum = _extremum("maximum", "GT"), _extremum("minimum", "LT")

for _primitive, _rule in {
    reductions.reduce_sum_p: _reduce("add", _zero),
    reductions.reduce_prod_p: _reduce("multiply", _one),
    reductions.reduce_max_p: _reduce("maximum", lowest, _maximum),
    reductions.reduce_min_p: _reduce("minimum", highest, _minimum),
    reductions.reduce_and_p: _reduce("and", all_ones),
    reductions.reduce_or_p: _reduce("or", _zero),
    reductions.reduce_xor_p: _reduce("xor", _zero),
    reductions.argmax_p: _argextremum("GT", lowest),
    reductions.argmin_p: _argextremum("LT", highest),
    reductions.cumsum_p: _cumulative(_nary("add"), _zero),
    reductions.cumprod_p: _cumulative(_nary("multiply"), _one),
    reductions.cummax_p: _cumulative(_maximum, lowest),
    reductions.cummin_p: _cumulative(_minimum, highest),
    reductions.cumlogsumexp_p: _cumulative(_logaddexp, lowest),
}.items():
    register_lowering(_primitive, _rule)

# ----------------------------------------------------------------------------------------------
# Products


def _dot_general(ctx, x, y, *, dimension_numbers, precision, preferred_element_type):
    (out,) = ctx.avals_out
    if x.aval.dtype != y.aval.dtype:  # XLA's CPU backend multiplies like with like
        x, y = convert(ctx, x, out.dtype), convert(ctx, y, out.dtype)
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    batching = f", batching_dims = {_ints(x_batch)} x {_ints(y_batch)}" if x_batch else ""
    contracting = f", contracting_dims = {_ints(x_contract)} x {_ints(y_contract)}"
    options = f"{batching}{contracting}, precision = [{', '.join(_precisions(precision))}]"
    return ctx.op(_typed("dot_general", [x, y], out, options), out)


def _precisions(precision) -> list[str]:
    """`DEFAULT`, `HIGH` or `HIGHEST` for each operand."""
    both = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    return ["DEFAULT" if p is None else getattr(p, "name", str(p)).upper() for p in both]


register_lowering(dot.dot_general_p, _dot_general)
