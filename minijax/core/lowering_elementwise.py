"""Chapter 6: how the elementwise primitives are said in StableHLO, and the helpers of all rules.

Most primitives have an operation of the same meaning, and the rule is an entry in a table; the
others are small functions. The rules of primitives that move elements or combine them are in
`lowering_rules.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .core import ShapedArray
from .dtypes import storage_dtype
from .lowering import (
    Body,
    Value,
    lower_fun,
    lowering_rules,
    register_lowering,
    tensor_type,
    with_dtype,
)
from .primitives import elementwise, shaping


def cast_text(op: str, x: Value, out: ShapedArray) -> str:
    """The text of an operation whose result type is not that of its operand."""
    return f"stablehlo.{op} {x.name} : ({x.type}) -> {tensor_type(out)}"


def typed_text(op: str, operands: Sequence[Value], out: ShapedArray, options: str = "") -> str:
    """The text of an operation that spells the types of all operands."""
    names = ", ".join(x.name for x in operands)
    types = ", ".join(x.type for x in operands)
    return f"stablehlo.{op} {names}{options} : ({types}) -> {tensor_type(out)}"


# ----------------------------------------------------------------------------------------------
# Elementwise


def nary_rule(op: str) -> Callable:
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
    "neg": "negate", "tan": "tan", "tanh": "tanh",
    "exp": "exponential", "log": "log", "log1p": "log_plus_one", "expm1": "exponential_minus_one",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "cbrt": "cbrt", "floor": "floor", "ceil": "ceil",
    "not": "not", "add": "add", "add_any": "add", "sub": "subtract", "mul": "multiply",
    "div": "divide", "rem": "remainder", "and": "and", "or": "or", "xor": "xor",
    "complex": "complex", "clamp": "clamp", "shift_left": "shift_left",
    "shift_right_logical": "shift_right_logical",
    "shift_right_arithmetic": "shift_right_arithmetic",
}  # fmt: skip

for _name, _op in _NARY.items():
    register_lowering(getattr(elementwise, f"{_name}_p"), nary_rule(_op))


def _casting(op: str) -> Callable:
    """The rule of a unary operation with a result of another element type."""

    def rule(ctx, x):
        (out,) = ctx.avals_out
        return ctx.op(cast_text(op, x, out), out)

    return rule


for _name in ("abs", "real", "imag", "is_finite"):
    register_lowering(getattr(elementwise, f"{_name}_p"), _casting(_name))

for _primitive in (elementwise.stop_gradient_p, elementwise.copy_p):
    register_lowering(_primitive, lambda ctx, x: x)


def emit(ctx: Body, op: str, *operands: Value, out: ShapedArray | None = None) -> Value:
    """Append an elementwise operation on operands of one shape, whose type the result has too."""
    out = operands[0].aval if out is None else out
    names = ", ".join(x.name for x in operands)
    return ctx.op(f"stablehlo.{op} {names} : {tensor_type(out)}", out)


def comparison_kind(dtype: np.dtype) -> str:
    """How elements of this type are compared."""
    dtype = storage_dtype(dtype)
    return {"i": "SIGNED", "u": "UNSIGNED", "b": "UNSIGNED"}.get(dtype.kind, "FLOAT")


def compare(ctx: Body, direction: str, x: Value, y: Value) -> Value:
    """Append a comparison of operands of one type; `direction` is EQ, NE, LT, LE, GT or GE."""
    out = with_dtype(x.aval, np.dtype(bool))
    kind = comparison_kind(x.aval.dtype)
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
    (xr, yr), (xi, yi) = ([ctx.op(cast_text(op, z, part), part) for z in (x, y)] for op in PARTS)
    tie = compare(ctx, "EQ", xr, yr)
    return select(ctx, tie, compare(ctx, direction, xi, yi), compare(ctx, direction, xr, yr))


PARTS = ("real", "imag")


def _real_or_complex(op: str, complex_fun: Callable) -> Callable:
    """The rule of an operation whose complex case we take apart, better than XLA does."""
    plain, by_parts = nary_rule(op), lower_fun(complex_fun)
    return lambda ctx, x, **_: (by_parts if x.aval.dtype.kind == "c" else plain)(ctx, x)


def _complex_sin(z):
    """sin(x + iy) = sin x cosh y + i cos x sinh y, exact also near zero and for a large y."""
    x, y = elementwise.real(z), elementwise.imag(z)
    cosh, sinh = _cosh_sinh(y)
    real = elementwise.mul(elementwise.sin(x), cosh)
    return elementwise.complex(_where_zero(x, 0, real), elementwise.mul(elementwise.cos(x), sinh))


def _complex_cos(z):
    """cos(x + iy) = cos x cosh y - i sin x sinh y."""
    x, y = elementwise.real(z), elementwise.imag(z)
    cosh, sinh = _cosh_sinh(y)
    imag = elementwise.mul(elementwise.neg(elementwise.sin(x)), sinh)
    return elementwise.complex(elementwise.mul(elementwise.cos(x), cosh), _where_zero(x, 0, imag))


def _cosh_sinh(y):
    """Made of exp(y) - 1 and exp(-y) - 1, which keep their digits near zero."""
    up, down = elementwise.expm1(y), elementwise.expm1(elementwise.neg(y))
    two = y.dtype.type(2)
    cosh = elementwise.div(elementwise.add(elementwise.add(up, down), two), two)
    return cosh, elementwise.div(elementwise.sub(up, down), two)


def _where_zero(x, value, otherwise):
    """`value` where `x` is zero: there the other factor may be infinite."""
    zero = x.dtype.type(0)
    return elementwise.select(elementwise.eq(x, zero), shaping.full_like(x, value), otherwise)


register_lowering(elementwise.sin_p, _real_or_complex("sine", _complex_sin))
register_lowering(elementwise.cos_p, _real_or_complex("cosine", _complex_cos))
register_lowering(elementwise.max_p, extremum_rule("maximum", "GT"))
register_lowering(elementwise.min_p, extremum_rule("minimum", "LT"))


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


def _chlo(op: str) -> Callable:
    """The rule of an operation of CHLO, a dialect that XLA expands before it compiles."""
    return lambda ctx, x: ctx.op(f"chlo.{op} {x.name} : {x.type} -> {x.type}", x.aval)


_complex_square = _chlo("square")


def _square(ctx, x):
    if x.aval.dtype.kind == "c":  # more exact than a product
        return _complex_square(ctx, x)
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


_power = nary_rule("power")


def _pow(ctx, x, y):
    (out,) = ctx.avals_out
    return _power(ctx, x, y if y.aval.dtype == out.dtype else convert(ctx, y, out.dtype))


def convert(ctx: Body, x: Value, dtype: np.dtype) -> Value:
    """Append a conversion; to booleans it asks whether the element is not zero."""
    if dtype == np.bool_ and x.aval.dtype != np.bool_:
        return compare(ctx, "NE", x, ctx.constant(0, x.aval))
    out = with_dtype(x.aval, dtype)
    return ctx.op(cast_text("convert", x, out), out)


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
    return ctx.op(cast_text(op, x, out), out)


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


lowering_rules.update(
    {
        elementwise.sign_p: _sign,
        elementwise.logistic_p: _logistic,
        elementwise.atanh_p: _chlo("atanh"),
        elementwise.exp2_p: _exp2,
        elementwise.square_p: _square,
        elementwise.round_p: _round,
        elementwise.integer_pow_p: _integer_pow,
        elementwise.pow_p: _pow,
        elementwise.convert_element_type_p: _convert_element_type,
        elementwise.conj_p: _conj,
        elementwise.select_n_p: _select_n,
    }
)
