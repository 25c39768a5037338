"""Chapter 1: the elementwise primitives. One row each: name, accepted types, NumPy rule."""

from __future__ import annotations

import builtins
import enum
import operator
import warnings

import numpy as np

from ...errors import user_stacklevel
from .. import dtypes
from ..array import Array, as_array, def_numpy, without_warnings
from ..core import ArrayMethods, ShapedArray, state, typeof
from .precision import AccuracyMode, Tolerance, check_accuracy
from .shape_rules import (
    ANY,
    BOOL_OR_INT,
    COMPLEX,
    FLOAT,
    INEXACT,
    INTEGER,
    NUMBER,
    ORDERED,
    REAL,
    SIGNED,
    SINGLE_OR_DOUBLE,
    all_weak,
    check_dtype,
    check_same_dtypes,
    elementwise_rule,
    make_primitive,
)


def unary_row(name, accepted, numpy_rule, doc, out_dtype=None):
    """A row of the table of unary operations: the primitive and its `lax` function."""
    primitive = make_primitive(name, elementwise_rule(name, [accepted], out_dtype))
    def_numpy(primitive, numpy_rule, arity=1)

    def plain(x):
        return primitive.bind(x)

    def with_accuracy(x, *, accuracy: AccuracyMode | Tolerance | None = None):
        if accuracy is not None:
            check_accuracy(accuracy)
        return primitive.bind(x)

    function = with_accuracy if name in _WITH_ACCURACY else plain
    kinds = ", ".join(kind.__name__ for kind in accepted)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\nArgs:\n  x: an array of any shape; dtype {kinds}.\n"
        + "  accuracy: how exactly; on the CPU there is one way.\n" * (name in _WITH_ACCURACY)
        + "\nReturns:\n  an array of the shape of `x`.\n\nRaises:\n  TypeError: another dtype.\n"
    )
    return primitive, function


_WITH_ACCURACY = ("cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin",
                  "sqrt", "tan", "tanh")


def binary_row(name, accepted, numpy_rule, doc, out_dtype=None):
    """A row of the table of binary operations: the primitive and its `lax` function."""
    kinds = accepted if isinstance(accepted, list) else [accepted, accepted]
    primitive = make_primitive(name, elementwise_rule(name, kinds, out_dtype))
    def_numpy(primitive, numpy_rule, arity=2)

    def function(x, y):
        return primitive.bind(x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\nArgs:\n  x, y: arrays of one dtype and one rank (or scalars), their dimensions "
        "equal or 1.\n\nReturns:\n  an array of the common shape.\n\n"
        "Raises:\n  TypeError: dtypes or shapes that do not fit; `minijax.numpy` promotes them.\n"
    )
    return primitive, function


def _real_part_dtype(dtype):
    return np.dtype({"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype))


def _complex_dtype(dtype):
    return np.dtype("complex128" if dtype.itemsize == 8 and dtype.kind == "f" else
                    dtype if dtype.kind == "c" else "complex64")


def _bool_dtype(dtype):
    return np.dtype(bool)


# ----------------------------------------------------------------------------------------------
# NumPy rules that are not one NumPy function


def _logistic(x):
    return 1 / (1 + np.exp(-x))


def _sign(x):
    # XLA keeps the sign of zero, which NumPy drops.
    return np.where(x == 0, x, np.sign(x)) if x.dtype.kind not in "iuc" else np.sign(x)


def _integer_pow(x, *, y):
    """Repeated squaring, as XLA's expansion: exact for integers, accurate for complex numbers."""
    result, base, n = None, x, abs(y)
    while n:
        if n & 1:
            result = base if result is None else result * base
        n >>= 1
        base = base * base if n else base
    if result is None:
        return np.ones_like(x)
    return 1 / result if y < 0 else result


def _pow(x, y):
    return np.power(x, y.astype(x.dtype))


def _div(x, y):
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    # XLA: towards zero, and -1 (all bits set) for a zero divisor.
    quotient = np.where(y == 0, ~np.zeros_like(x), _truncated_quotient(x, np.where(y == 0, 1, y)))
    return quotient.astype(x.dtype)


def _truncated_quotient(x, y):
    floor = np.floor_divide(x, y)
    inexact = floor * y != x
    return floor + (inexact & ((x < 0) != (y < 0)))


def _rem(x, y):
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y))).astype(x.dtype)


def _shift(ufunc, outside):
    """A shift that, by the width or more, gives `outside` (`None`: the sign, repeated)."""

    def rule(x, y):
        bits = x.dtype.itemsize * 8
        in_range = (y >= 0) & (y < bits)
        shifted = ufunc(x, np.where(in_range, y, bits - 1).astype(x.dtype))
        return shifted if outside is None else np.where(in_range, shifted, x.dtype.type(outside))

    return rule


def _shift_arithmetic(x, y):
    signed = np.dtype(f"i{x.dtype.itemsize}")  # the highest bit counts as the sign, as in XLA
    return _shift(np.right_shift, None)(x.astype(signed), y.astype(signed)).astype(x.dtype)


def _shift_logical(x, y):
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return _shift(np.right_shift, 0)(x.astype(unsigned), y.astype(unsigned)).astype(x.dtype)


def _complex(x, y):
    x, y = np.broadcast_arrays(x, y)  # 1j * inf would be nan + inf j
    out = np.empty(x.shape, _complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


def _round(x, *, rounding_method):
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x).astype(x.dtype)


def _select_n(which, *cases):
    if which.dtype == bool:
        return cases[0] if len(cases) == 1 else np.where(which, cases[1], cases[0])
    result = cases[-1]
    for i in reversed(range(len(cases) - 1)):
        result = np.where(which <= i, cases[i], result)
    return result


def _clamp(low, x, high):
    return np.minimum(np.maximum(low, x), high)


def _convert_element_type(x, *, new_dtype, weak_type):
    kind = np.dtype(new_dtype).kind
    if x.dtype.kind == "c" and kind != "c":
        x = x.real
    if kind in "iu" and not dtypes.issubdtype(x.dtype, np.integer) and x.dtype != bool:
        return _saturate(x, np.dtype(new_dtype))
    return x.astype(new_dtype)


def _saturate(x, dtype):
    """From floats to integers as XLA does: out of range to the nearest end, NaN to zero."""
    info = np.iinfo(dtype)
    low, high = float(info.min), float(info.max)
    if x.size and low <= x.min() and x.max() < high:  # not so if there is a NaN
        return x.astype(dtype)
    wide = np.asarray(x, np.float64)
    inside = np.where(wide >= high, 0, np.trunc(np.clip(np.nan_to_num(wide, nan=0.0), low, high)))
    return np.where(wide >= high, info.max, inside.astype(dtype)).astype(dtype)


# ----------------------------------------------------------------------------------------------
# The table

neg_p, neg = unary_row("neg", NUMBER, np.negative, "Elementwise negation: -x.")
sin_p, sin = unary_row("sin", INEXACT, np.sin, "Elementwise sine; x in radians.")
cos_p, cos = unary_row("cos", INEXACT, np.cos, "Elementwise cosine; x in radians.")
tan_p, tan = unary_row("tan", INEXACT, np.tan, "Elementwise tangent; x in radians.")
tanh_p, tanh = unary_row("tanh", INEXACT, np.tanh, "Elementwise hyperbolic tangent.")
atanh_p, atanh = unary_row("atanh", INEXACT, np.arctanh, "Elementwise inverse hyperbolic tangent.")
exp_p, exp = unary_row("exp", INEXACT, np.exp, "Elementwise exponential: e to the x.")
exp2_p, exp2 = unary_row("exp2", INEXACT, np.exp2, "Elementwise power of two: 2 to the x.")
log_p, log = unary_row("log", INEXACT, np.log, "Elementwise natural logarithm.")
log1p_p, log1p = unary_row("log1p", INEXACT, np.log1p, "Elementwise log(1 + x), exact near 0.")
expm1_p, expm1 = unary_row("expm1", INEXACT, np.expm1, "Elementwise exp(x) - 1, exact near 0.")
sqrt_p, sqrt = unary_row("sqrt", INEXACT, np.sqrt, "Elementwise square root.")
rsqrt_p, rsqrt = unary_row("rsqrt", INEXACT, lambda x: 1 / np.sqrt(x),
                        "Elementwise reciprocal square root.")
cbrt_p, cbrt = unary_row("cbrt", FLOAT, np.cbrt, "Elementwise cube root.")
logistic_p, logistic = unary_row("logistic", INEXACT, _logistic,
                              "Elementwise logistic sigmoid: 1 / (1 + exp(-x)).")
abs_p, abs_ = unary_row("abs", SIGNED, np.abs, "Elementwise absolute value.", _real_part_dtype)
sign_p, sign = unary_row("sign", NUMBER, _sign,
                      "Elementwise sign: -1, 0 or 1 (for complex x, x / abs(x)).")
floor_p, floor = unary_row("floor", FLOAT, np.floor, "Elementwise rounding down.")
ceil_p, ceil = unary_row("ceil", FLOAT, np.ceil, "Elementwise rounding up.")
square_p, square = unary_row("square", NUMBER, np.square, "Elementwise square: x * x.")
is_finite_p, is_finite = unary_row("is_finite", FLOAT, np.isfinite,
                                "Elementwise: neither infinite nor NaN.", _bool_dtype)
real_p, real = unary_row("real", COMPLEX, np.real, "Elementwise real part.", _real_part_dtype)
imag_p, imag = unary_row("imag", COMPLEX, np.imag, "Elementwise imaginary part.", _real_part_dtype)
not_p, bitwise_not = unary_row("not", BOOL_OR_INT, np.invert, "Elementwise complement: ~x.")

add_p, add = binary_row("add", NUMBER, np.add, "Elementwise sum: x + y.")
sub_p, sub = binary_row("sub", NUMBER, np.subtract, "Elementwise difference: x - y.")
mul_p, _ = binary_row("mul", NUMBER, np.multiply, "Elementwise product: x * y.")
div_p, div = binary_row("div", NUMBER, _div, "Elementwise quotient: x / y; of integers, truncated.")
rem_p, rem = binary_row("rem", REAL, _rem, "Elementwise remainder, with the sign of x.")
pow_p, pow = binary_row("pow", [INEXACT, NUMBER], _pow, "Elementwise power: x to the y.")
max_p, max = binary_row("max", ANY, np.maximum, "Elementwise maximum; NaN if either is.")
min_p, min = binary_row("min", ANY, np.minimum, "Elementwise minimum; NaN if either is.")
eq_p, eq = binary_row("eq", ANY, np.equal, "Elementwise x == y.", _bool_dtype)
ne_p, ne = binary_row("ne", ANY, np.not_equal, "Elementwise x != y.", _bool_dtype)
lt_p, lt = binary_row("lt", ORDERED, np.less, "Elementwise x < y.", _bool_dtype)
le_p, le = binary_row("le", ORDERED, np.less_equal, "Elementwise x <= y.", _bool_dtype)
gt_p, gt = binary_row("gt", ORDERED, np.greater, "Elementwise x > y.", _bool_dtype)
ge_p, ge = binary_row("ge", ORDERED, np.greater_equal, "Elementwise x >= y.", _bool_dtype)
and_p, bitwise_and = binary_row("and", BOOL_OR_INT, np.bitwise_and, "Elementwise x & y.")
or_p, bitwise_or = binary_row("or", BOOL_OR_INT, np.bitwise_or, "Elementwise x | y.")
xor_p, bitwise_xor = binary_row("xor", BOOL_OR_INT, np.bitwise_xor, "Elementwise x ^ y.")
shift_left_p, shift_left = binary_row("shift_left", INTEGER, _shift(np.left_shift, 0),
                                   "Elementwise x << y; 0 if y is out of range.")
shift_right_logical_p, shift_right_logical = binary_row(
    "shift_right_logical", INTEGER, lambda x, y: _shift_logical(x, y),
    "Elementwise shift to the right, filled with zeros.")
shift_right_arithmetic_p, shift_right_arithmetic = binary_row(
    "shift_right_arithmetic", INTEGER, _shift_arithmetic,
    "Elementwise x >> y, filled with copies of the sign bit.")
complex_p, complex = binary_row("complex", [SINGLE_OR_DOUBLE] * 2, _complex, "Elementwise x + iy.",
                             _complex_dtype)


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
    if out_dtype is not None:
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return mul_p.bind(x, y)


# ----------------------------------------------------------------------------------------------
# Operations with parameters, or with other than one or two arguments


class RoundingMethod(enum.IntEnum):
    """How `round` treats halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


round_p = make_primitive("round", elementwise_rule("round", [FLOAT]))
def_numpy(round_p, _round)


def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):
    """Elementwise rounding to whole numbers.

    Args:
      x: a floating point array.
      rounding_method: where halves go, a `RoundingMethod`.

    Raises:
      ValueError: no such rounding method.
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def _integer_pow_shape(x, *, y):
    if y < 0 and dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError("Integers cannot be raised to negative powers, got integer_pow"
                        f"({x.str_short(short_dtypes=False)}, {y})")
    return elementwise_rule("integer_pow", [NUMBER])(x)


integer_pow_p = make_primitive("integer_pow", _integer_pow_shape)
def_numpy(integer_pow_p, _integer_pow)


def integer_pow(x, y: int):
    """Elementwise power with a static integer exponent, by repeated squaring.

    Args:
      x: an array of numbers.
      y: an int; negative only if `x` is not an integer array.

    Raises:
      TypeError: an integer array and a negative `y`.
    """
    return integer_pow_p.bind(x, y=operator.index(y))


def _conj_shape(x, *, input_dtype):
    check_dtype("conj", x, SINGLE_OR_DOUBLE + COMPLEX)
    return ShapedArray(x.shape, _complex_dtype(x.dtype), x.weak_type)


conj_p = make_primitive("conj", _conj_shape)
def_numpy(conj_p, lambda x, *, input_dtype: np.conj(x).astype(_complex_dtype(x.dtype)))


def conj(x):
    """Elementwise complex conjugate; a real `x` becomes complex."""
    return conj_p.bind(x, input_dtype=typeof(x).dtype)


def _select_n_shape(which, *cases):
    if not cases:
        raise TypeError("select must have at least one case")
    if any(case.shape != cases[0].shape for case in cases):
        raise TypeError("select cases must have the same shapes, got "
                        f"[{', '.join(str(case.shape) for case in cases)}].")
    if any(case.dtype != cases[0].dtype for case in cases):
        raise TypeError("select cases must have the same dtypes, got "
                        f"[{', '.join(case.dtype.name for case in cases)}].")
    if which.dtype != bool and not dtypes.issubdtype(which.dtype, np.integer):
        raise TypeError("select `which` must be boolean or integer type, got "
                        f"{which.dtype.name}.")
    if which.dtype == bool and len(cases) > 2:
        raise TypeError(f"select with boolean `which` cannot have > 2 cases, got {len(cases)}.")
    if which.shape not in ((), cases[0].shape):
        raise TypeError("select `which` must be scalar or have the same shape as cases, got "
                        f"`which` shape {which.shape} but case shape {cases[0].shape}.")
    return ShapedArray(cases[0].shape, cases[0].dtype, all_weak(cases))


select_n_p = make_primitive("select_n", _select_n_shape)
def_numpy(select_n_p, _select_n)


def select_n(which, *cases):
    """Elementwise choice: `cases[which]`.

    Args:
      which: booleans (two cases) or integers in `[0, len(cases))`; a scalar, or the cases' shape.
      *cases: arrays of one shape and dtype.

    Raises:
      TypeError: shapes or dtypes that do not fit.
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    return select_n_p.bind(which, *cases)


def select(pred, on_true, on_false):
    """Elementwise choice: `on_true` where `pred`, else `on_false` (see `select_n`)."""
    return select_n_p.bind(pred, on_false, on_true)


def _clamp_shape(low, x, high):
    check_same_dtypes("clamp", (low, x, high))
    for name, bound in (("min", low), ("max", high)):
        if bound.shape not in ((), x.shape):
            raise TypeError(f"clamp requires {name}.shape == operand.shape or {name}.shape == (), "
                            f"got {name}.shape={bound.shape}, operand.shape={x.shape}.")
    return ShapedArray(x.shape, x.dtype, all_weak((low, x, high)))


clamp_p = make_primitive("clamp", _clamp_shape)
def_numpy(clamp_p, _clamp)


def clamp(min, x, max):
    """Elementwise: `x` brought into the interval from `min` to `max`.

    Args:
      min, max: scalars, or arrays of the shape of `x`; of its dtype.
      x: an array.

    Raises:
      TypeError: shapes or dtypes that do not fit.
    """
    return clamp_p.bind(min, x, max)


def _converted_type(x, *, new_dtype, weak_type):
    extended = any(isinstance(dtype, dtypes.ExtendedDType) for dtype in (x.dtype, new_dtype))
    if extended and x.dtype != new_dtype:
        raise ValueError(f"Cannot convert_element_type from {x.dtype.name} to {new_dtype.name}")
    return ShapedArray(x.shape, new_dtype, weak_type)


convert_element_type_p = make_primitive("convert_element_type", _converted_type)
def_numpy(convert_element_type_p, _convert_element_type)


def convert_element_type(operand, new_dtype):
    """The elements converted to `new_dtype`, as XLA does: to integers, towards zero.

    Args:
      operand: an array.
      new_dtype: an element type. The result is not weakly typed.

    >>> lax.convert_element_type(jnp.array([1.7, -1.7]), "int32")
    Array([ 1, -1], dtype=int32)
    """
    return convert(operand, dtypes.check_and_canonicalize_user_dtype(new_dtype))


def convert(x, dtype: np.dtype, weak_type: bool = False):
    """`x` with this canonical element type; `x` itself if it has it already.

    What is no array yet, a Python number or a NumPy value, is converted now and not traced.
    """
    if not isinstance(x, ArrayMethods):
        return constant(x, dtype, weak_type)
    aval = x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if aval.dtype.kind == "c" and dtype.kind != "c":
        warnings.warn("Casting complex values to real discards the imaginary part",
                      np.exceptions.ComplexWarning, stacklevel=user_stacklevel())
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=bool(weak_type))


_PYTHON_COMPLEX = builtins.complex  # `complex` is the primitive here


def constant(x, dtype: np.dtype, weak_type: bool = False) -> Array:
    """A known value as an array of this type; under staging, a scalar becomes a literal.

    Raises:
      OverflowError: a Python integer too large for the default integer type.
      TypeError: a Python complex number, and a real type.
    """
    if type(x) is int:
        x = np.asarray(x, dtypes.python_scalar_dtype(int))
    if type(x) is _PYTHON_COMPLEX and dtype.kind not in "cb":
        raise TypeError(f"a complex number cannot become a {dtype.name}: got {x}")
    value = without_warnings(_convert_element_type, np.asarray(x), new_dtype=dtype,
                             weak_type=weak_type)
    aval = ShapedArray(value.shape, dtype, weak_type)
    trace = state.trace
    return trace.literal(value, aval) if trace.staging and not aval.ndim else Array(value, aval)


add_any_p = make_primitive("add_any", lambda x, y: x if x.weak_type <= y.weak_type else y)
def_numpy(add_any_p, np.add)


def _identity_primitive(name):
    primitive = make_primitive(name, lambda x: x)
    primitive.def_impl(as_array)
    return primitive


stop_gradient_p = _identity_primitive("stop_gradient")
copy_p = _identity_primitive("copy")


def reciprocal(x):
    """Elementwise 1 / x.

    Args:
      x: a floating point or complex array.
    """
    return integer_pow(x, -1)
