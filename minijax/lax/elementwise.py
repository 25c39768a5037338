"""Chapter 9: elementwise arithmetic and the elementary functions of `jax.lax`.

The functions of the starters come first; then follow, a row each, the primitives that only the
whole library has.
"""

import builtins
import math
import operator
from typing import Any

import numpy as np

from ..checks import primitives as checks
from ..checks.tracebacks import hide_frames
from ..core import dtypes
from ..core.array import contents
from ..core.batching import batch_size, bdim_at_front, primitive_batchers
from ..core.core import ShapedArray, Tracer, typeof
from ..core.evaluation import divide
from ..core.forward import asked_jvps, broadcast_tangent, defjvp2, primitive_jvps
from ..core.jaxpr import Literal
from ..core.lowering import cast_rule, convert as emit_convert, emit, nary_rule, register_lowering
from ..core.primitives import (
    INEXACT,
    NUMBER,
    add_p,
    all_weak,
    convert,
    cos_p,
    div_p,
    eq_p,
    exp_p,
    full_like,
    ge_p,
    gt_p,
    integer_pow_p,
    le_p,
    log_p,
    lt_p,
    make_primitive,
    mul_p,
    ne_p,
    neg_p,
    sin_p,
    sub_p,
    tanh_p,
)
from .bitwise import bitwise_and, bitwise_or
from .complex_numbers import (
    conj,
    numpy_log1p,
    numpy_square,
    real,
    real_part_dtype,
    unsigned_zero,
)
from .complex_rules import greater_of, less_of
from .conversions import in_bytes
from .dtypes import check_and_canonicalize_user_dtype, itemsize_bits, of_any_size
from .families import (
    FLOAT,
    REAL,
    SIGNED,
    binary_function,
    binary_row,
    chlo_rule,
    const_like,
    nonzero,
    one_like,
    unary_function,
    unary_row,
)
from .precision import AccuracyMode
from .rounding import floor, sign
from .selection import fill_trailing, select


def _shape(x):
    return typeof(x).shape


def _ndim(x):
    return typeof(x).ndim


# ----------------------------------------------------------------------------------------------
# The functions of the starters

neg = unary_function(neg_p, NUMBER, "Elementwise negation: -x.")
sin = unary_function(sin_p, INEXACT, "Elementwise sine; x in radians.")
cos = unary_function(cos_p, INEXACT, "Elementwise cosine; x in radians.")
tanh = unary_function(tanh_p, INEXACT, "Elementwise hyperbolic tangent.")
exp = unary_function(exp_p, INEXACT, "Elementwise exponential: e to the x.")
log = unary_function(log_p, INEXACT, "Elementwise natural logarithm.")
add = binary_function(add_p, "Elementwise sum: x + y.")
sub = binary_function(sub_p, "Elementwise difference: x - y.")
div = binary_function(div_p, "Elementwise quotient: x / y; of integers, truncated.")
eq = binary_function(eq_p, "Elementwise x == y.")
ne = binary_function(ne_p, "Elementwise x != y.")
lt = binary_function(lt_p, "Elementwise x < y.")
le = binary_function(le_p, "Elementwise x <= y.")
gt = binary_function(gt_p, "Elementwise x > y.")
ge = binary_function(ge_p, "Elementwise x >= y.")


def mul(x, y, *, out_dtype=None):
    """Elementwise product: x * y.

    Args:
      x, y: arrays of one dtype and one rank (or scalars), their dimensions equal or 1.
      out_dtype: convert both to this type first.

    Returns:
      an array of the common shape.

    Raises:
      TypeError: dtypes or shapes that do not fit; `minijax.numpy` promotes them.
    """
    try:
        if out_dtype is not None:
            x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
        return mul_p.bind(x, y)
    except Exception as error:
        hide_frames(error)
        raise


def integer_pow(x, y: int):
    """Elementwise power with a static integer exponent, by repeated squaring.

    Args:
      x: an array of numbers.
      y: an int; negative only if `x` is not an integer array.

    Raises:
      TypeError: an integer array and a negative `y`.
    """
    try:
        return integer_pow_p.bind(x, y=operator.index(y))
    except Exception as error:
        hide_frames(error)
        raise


def reciprocal(x):
    """Elementwise 1 / x.

    Args:
      x: a floating point or complex array.
    """
    try:
        return integer_pow(x, -1)
    except Exception as error:
        hide_frames(error)
        raise


def convert_element_type(operand, new_dtype):
    """The elements converted to `new_dtype`, as XLA does: to integers, towards zero.

    Args:
      operand: an array.
      new_dtype: an element type. The result is not weakly typed.

    >>> lax.convert_element_type(jnp.array([1.7, -1.7]), "int32")
    Array([ 1, -1], dtype=int32)
    """
    try:
        new_dtype = check_and_canonicalize_user_dtype(new_dtype)
        if isinstance(new_dtype, dtypes.ExtendedDType):
            checks.convertible(typeof(operand), new_dtype)
        return convert(of_any_size(operand, new_dtype), new_dtype)
    except Exception as error:
        hide_frames(error)
        raise


# ----------------------------------------------------------------------------------------------
# Elementary functions


def _logistic(x):
    if x.dtype.kind == "c":  # exp(-x) may be infinite in both parts
        return divide(np.ones_like(x), 1 + np.exp(-x))
    return 1 / (1 + np.exp(-x))


def _square(x):
    return numpy_square(x) if x.dtype.kind == "c" else np.square(x)


def _rsqrt(x):
    root = np.sqrt(x)
    return divide(np.ones_like(root), root)


def _lower_exp2(ctx, x, **accuracy):
    log2 = ctx.constant(x.aval.dtype.type(math.log(2)), x.aval)
    return emit(ctx, "exponential", emit(ctx, "multiply", log2, x))


def _lower_logistic(ctx, x, **accuracy):
    one = ctx.constant(1, x.aval)
    exp_of_minus = emit(ctx, "exponential", emit(ctx, "negate", x))
    return emit(ctx, "divide", one, emit(ctx, "add", one, exp_of_minus))


def _lower_square(ctx, x):
    if x.aval.dtype.kind == "c":  # more exact than a product
        return _complex_square(ctx, x)
    return emit(ctx, "multiply", x, x)


_complex_square = chlo_rule("square")

def _exp2_jvp(t, x):
    """t log(2) 2ˣ, as 2 log(2) 2ˣ⁻¹: it is finite for some x for which 2ˣ is not."""
    less = exp2(sub(x, const_like(x, 1)))
    return mul(t, mul(const_like(x, 2 * math.log(2)), less))


square_p, square = unary_row(
    "square", NUMBER, _square, "Elementwise square: x * x.", lowering=_lower_square,
    jvp=lambda t, x: mul(t, mul(const_like(x, 2), x)))
tan_p, tan = unary_row(
    "tan", INEXACT, np.tan, "Elementwise tangent; x in radians.", lowering="tan",
    jvp_of_result=lambda t, y, x: mul(t, add(const_like(x, 1), square(y))))
atanh_p, atanh = unary_row(
    "atanh", INEXACT, np.arctanh, "Elementwise inverse hyperbolic tangent.",
    lowering=chlo_rule("atanh"),
    jvp=lambda t, x: mul(reciprocal(add(one_like(x), x)), div(t, sub(one_like(x), x))))
exp2_p, exp2 = unary_row(
    "exp2", INEXACT, np.exp2, "Elementwise power of two: 2 to the x.", lowering=_lower_exp2,
    jvp=_exp2_jvp)
log1p_p, log1p = unary_row(
    "log1p", INEXACT, numpy_log1p, "Elementwise log(1 + x), exact near 0.",
    lowering="log_plus_one", jvp=lambda t, x: div(t, add(x, one_like(x))))


def _expm1(x):
    """`np.expm1` mixes the parts: a real number that is infinite or NaN has no imaginary part."""
    if x.dtype.kind != "c":
        return np.expm1(x)
    out = np.expm1(x + 0)  # XLA takes -0 as 0
    return np.where((np.imag(x) == 0) & np.isnan(np.imag(out)), np.real(out), out)


expm1_p, expm1 = unary_row(
    "expm1", INEXACT, _expm1, "Elementwise exp(x) - 1, exact near 0.",
    lowering="exponential_minus_one",
    jvp_of_result=lambda t, y, x: mul(t, add(y, one_like(x))))
sqrt_p, sqrt = unary_row(
    "sqrt", INEXACT, unsigned_zero(np.sqrt), "Elementwise square root.",
    lowering="sqrt",
    jvp_of_result=lambda t, y, x: mul(t, div(const_like(x, 0.5), y)))
rsqrt_p, rsqrt = unary_row(
    "rsqrt", INEXACT, _rsqrt, "Elementwise reciprocal square root.",
    lowering="rsqrt", jvp_of_result=lambda t, y, x: mul(t, mul(const_like(x, -0.5), div(y, x))))
cbrt_p, cbrt = unary_row(
    "cbrt", FLOAT, np.cbrt, "Elementwise cube root.", lowering="cbrt",
    jvp_of_result=lambda t, y, x: mul(t, mul(const_like(x, 1 / 3), integer_pow(y, -2))))
logistic_p, logistic = unary_row(
    "logistic", INEXACT, _logistic, "Elementwise logistic sigmoid: 1 / (1 + exp(-x)).",
    lowering=_lower_logistic,
    jvp_of_result=lambda t, y, x: mul(t, mul(y, sub(one_like(x), y))))

# The derivatives where the user asks for an accuracy. The usual formulas of `tanh`, `logistic` and
# `expm1` subtract numbers that are nearly equal, far from 0; these formulas do not.


def _slope_of_tanh(x, accuracy):
    """4 s(2x) s(-2x), where s is the logistic function."""
    above, below = (logistic(mul(const_like(x, n), x), accuracy=accuracy) for n in (2, -2))
    return mul(const_like(x, 4), mul(above, below))


_EXACT_SLOPES = {
    tanh_p: lambda y, x, accuracy: _slope_of_tanh(x, accuracy),
    logistic_p: lambda y, x, accuracy: mul(y, logistic(neg(x))),
    expm1_p: lambda y, x, accuracy: exp(x, accuracy=accuracy)}


def _jvp_with_accuracy(plain, exact):
    """The rule of a primitive that has `plain` as its rule, and a slope that is more exact."""
    def rule(t, y, x, accuracy):
        if exact and accuracy is AccuracyMode.HIGHEST:
            return mul(t, exact(y, x, accuracy))
        return plain(t, y, x)

    return rule


for primitive in (cbrt_p, exp_p, exp2_p, expm1_p, log_p, log1p_p, logistic_p, rsqrt_p, sqrt_p,
                  tan_p, tanh_p):
    of_parts: Any = primitive_jvps[primitive]
    (plain,) = of_parts.args[1]
    asked_jvps[primitive] = (_jvp_with_accuracy(plain, _EXACT_SLOPES.get(primitive)),)
asked_jvps[sin_p] = (lambda t, y, x, accuracy: mul(t, cos(x, accuracy=accuracy)),)
asked_jvps[cos_p] = (lambda t, y, x, accuracy: neg(mul(t, sin(x, accuracy=accuracy))),)


# ----------------------------------------------------------------------------------------------
# Absolute value, powers and remainders


def _abs_jvp(t, y, x):
    dtype = typeof(x).dtype
    if dtype.kind == "c":
        unit = div(conj(x), nonzero(convert(y, dtype)))
        return real(mul(t, unit))
    return select(ge(x, const_like(x, 0)), t, neg(t))


def _pow_jvp_base(t, z, x, y):
    dtype, value = typeof(z).dtype, _value_if_constant(y)
    is_constant = value is not None
    is_integer = dtypes.issubdtype(typeof(y).dtype, np.integer)
    x, y = convert(x, dtype), convert(y, dtype)
    if is_constant and np.all(value != 0):
        return mul(t, mul(y, pow(x, sub(y, full_like(y, 1)))))
    # 0^-1 would be infinite, so for y = 0 the slope is 0 * x^0. But its derivative by y is 1/x, so
    # if y may have a tangent, that is only where x is 0.
    less = ne(y, full_like(y, 0))
    if not (is_integer or is_constant):
        less = bitwise_or(less, ne(x, full_like(x, 0)))
    return mul(t, mul(y, pow(x, sub(y, convert(less, dtype)))))


def _value_if_constant(x):
    """The value of a number in the program, or of an array; else `None`."""
    atom = getattr(x, "atom", None)
    value = atom.val if type(atom) is Literal else x
    return None if isinstance(value, Tracer) else contents(value)[1]


def _pow_jvp_exponent(t, z, x, y):
    return convert(mul(t, mul(log(nonzero(x)), z)), typeof(y).dtype)


def _rem_jvp_divisor(t, z, x, y):
    whole = mul(sign(div(x, y)), floor(abs_(div(x, y))))
    return mul(neg(t), whole)


def _rem(x, y):
    x, y = in_bytes(x), in_bytes(y)
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    by_zero = np.equal(y, 0)
    return np.where(by_zero, x, np.fmod(x, y)) if by_zero.any() else np.fmod(x, y)


def _pow(x, y):
    y = y.astype(x.dtype)
    if not y.ndim and x.dtype.kind == "f" and y == 0.5:
        # NumPy takes the square root, which differs from the power at -0 and at minus infinity.
        return np.power(x, np.full(x.shape or 1, y)).reshape(x.shape)
    power = np.power(x, y)
    if x.dtype.kind != "c":
        return power
    undefined = (x == 0) & (y.imag != 0)  # NumPy takes the limit from the real exponent's side
    return np.where(undefined, x.dtype.type(complex("nan+nanj")), power)


_power = nary_rule("power")


def _lower_pow(ctx, x, y):
    (out,) = ctx.avals_out
    return _power(ctx, x, y if y.aval.dtype == out.dtype else emit_convert(ctx, y, out.dtype))


rem_p, rem = binary_row(
    "rem", REAL, _rem, "Elementwise remainder, with the sign of x.", lowering="remainder",
    jvp_of_result=(lambda t, z, x, y: broadcast_tangent(t, z), _rem_jvp_divisor))

def _abs_dtype(dtype):
    if dtypes.issubdtype(dtype, np.integer) and itemsize_bits(dtype) < 8:
        raise TypeError(f"abs does not accept dtype {dtype.name}. XLA has no absolute value of "
                        "integers of fewer than eight bits: convert them to int8 first.")
    return real_part_dtype(dtype)


abs_p, abs_ = unary_row(
    "abs", SIGNED, np.abs, "Elementwise absolute value.", _abs_dtype,
    lowering=cast_rule("abs"), jvp_of_result=_abs_jvp)
pow_p, pow = binary_row(
    "pow", [INEXACT, NUMBER], _pow, "Elementwise power: x to the y.",
    lowering=_lower_pow, jvp_of_result=(_pow_jvp_base, _pow_jvp_exponent))


def _extreme(ufunc, of_complex):
    """`maximum` or `minimum`."""
    return lambda x, y: (of_complex if x.dtype.kind == "c" else ufunc)(x, y)


def _share_of_extreme(x, y, z):
    """1 where `x` is the chosen of `x` and `y`, 1/2 where they tie, else 0."""
    wins = select(eq(x, z), full_like(z, 1), full_like(z, 0))
    return div(wins, select(eq(y, z), full_like(z, 2), full_like(z, 1)))


_extreme_jvp = (lambda t, z, x, y: mul(t, _share_of_extreme(x, y, z)),
                lambda t, z, x, y: mul(t, _share_of_extreme(y, x, z)))
max_p, max = binary_row(
    "max", (*NUMBER, np.bool_), _extreme(np.maximum, greater_of),
    "Elementwise maximum; NaN if either is.", lowering="maximum", jvp_of_result=_extreme_jvp)
min_p, min = binary_row(
    "min", (*NUMBER, np.bool_), _extreme(np.minimum, less_of),
    "Elementwise minimum; NaN if either is.", lowering="minimum", jvp_of_result=_extreme_jvp)


# ----------------------------------------------------------------------------------------------
# clamp


def _clamp_type(low, x, high):
    checks.same_dtypes("clamp", (low, x, high))
    checks.numeric("clamp", x)
    for name, bound in (("min", low), ("max", high)):
        if bound.shape not in ((), x.shape):
            raise TypeError(f"clamp requires {name}.shape == operand.shape or {name}.shape == (), "
                            f"got {name}.shape={bound.shape}, operand.shape={x.shape}.")
    return ShapedArray(x.shape, x.dtype, all_weak((low, x, high)))


def _tangent_where(which, t, out):
    """`t` where `which`, else 0, both repeated to the shape of `out`."""
    return select(broadcast_tangent(which, out), broadcast_tangent(t, out), full_like(out, 0))


def _clamp_batching(args, dims):
    low, x, high = args
    low_dim, x_dim, high_dim = dims
    same_shapes = _shape(low) == _shape(x) == _shape(high)
    if (low_dim == x_dim == high_dim and same_shapes) or not (_ndim(low) or _ndim(high)):
        return clamp(low, x, high), x_dim
    size = batch_size(args, dims)
    pairs = (low, low_dim), (high, high_dim), (x, x_dim)
    low, high, x = [bdim_at_front(a, d, size) if _ndim(a) else a for a, d in pairs]
    rank = builtins.max(_ndim(low), _ndim(high), _ndim(x))
    shape = next(_shape(a) for a in (x, low, high) if _ndim(a) == rank)
    low, high, x = [fill_trailing(a, shape, rank) for a in (low, high, x)]
    return clamp(low, x, high), 0


def _clamp(low, x, high):
    """`x` in the interval from `low` to `high`; XLA compares only the real parts of each."""
    if x.dtype.kind != "c":
        return np.minimum(np.maximum(low, x), high)
    raised = np.where(low.real >= x.real, low, x)
    return np.where(high.real >= raised.real, raised, high)


clamp_p = make_primitive("clamp", _clamp_type, _clamp)
register_lowering(clamp_p, nary_rule("clamp"))
primitive_batchers[clamp_p] = _clamp_batching
defjvp2(clamp_p,
        lambda t, z, low, x, high: _tangent_where(
            bitwise_and(gt(low, x), lt(low, high)), t, z),
        lambda t, z, low, x, high: _tangent_where(
            bitwise_and(gt(x, low), lt(x, high)), t, z),
        lambda t, z, low, x, high: _tangent_where(lt(high, x), t, z))


def clamp(min, x, max):
    """Elementwise: `x` brought into the interval from `min` to `max`.

    Args:
      min, max: scalars, or arrays of the shape of `x`; of its dtype.
      x: an array.

    Raises:
      TypeError: shapes or dtypes that do not fit.
    """
    try:
        return clamp_p.bind(min, x, max)
    except Exception as error:
        hide_frames(error)
        raise


