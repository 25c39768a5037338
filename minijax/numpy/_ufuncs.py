"""Chapter 12: elementwise functions, in tables where they are one primitive and a promotion."""

import operator

import numpy as np

from ..checks.tracebacks import hide_frames
from ..core import dtypes
from ..core.array import direct_unary
from ..core.boundary import public
from ..core.core import ArrayMethods, typeof
from ..core.primitives import cos_p, exp_p, log_p, sin_p, tanh_p
from ..lax import bitwise, complex_numbers, elementwise as lax, rounding, trigonometric as trig
from ..lax.bits import bitcast_convert_type
from ..lax.bitwise import and_p, or_p
from ..lax.dtypes import default_float_dtype
from ..lax.operators import absolute, bitwise_not, subtract
from ..lax.shaping import full_like
from ..text.naming import named, renamed
from ._arguments import (
    check_no_out,
    complex_input,
    constant_like,
    convert,
    ensure_arraylike,
    is_inexact,
    is_integer,
    promote_args,
    promote_args_inexact,
    promote_dtypes_inexact,
    strong_constant,
    to_bool,
    zeros_like,
)
from ._arithmetic import right_shift
from ._select import _where
from ._staged import staged

abs = renamed(absolute, "abs")
invert = renamed(bitwise_not, "invert")
bitwise_invert = renamed(bitwise_not, "bitwise_invert")


# ----------------------------------------------------------------------------------------------
# One primitive in floating point or complex arithmetic


def _inexact(name, primitive, doc):
    """A row: the operands are promoted to an inexact type; arrays of one go straight on."""

    apply = direct_unary(primitive)

    @named(name, doc=doc)
    def function(x, /):
        """{doc}

        Args:
          x: an array; integers are converted to floating point.

        Returns:
          an array of the shape of `x`.

        Raises:
          TypeError: no array and no number, or one of a dtype or shape without this operation.
        """
        try:
            kind = x.aval.dtype.kind if isinstance(x, ArrayMethods) else "?"
            if kind in "iub":
                x = convert(x, dtypes.to_inexact_dtype(x.aval.dtype), x.aval.weak_type)
            elif kind not in "fc":
                (x,) = promote_args_inexact(name, x)
            return apply(x)
        except Exception as error:
            hide_frames(error)
            raise

    return function


exp = _inexact("exp", exp_p, "Elementwise e to the x.")
exp2 = _inexact("exp2", lax.exp2_p, "Elementwise 2 to the x.")
expm1 = _inexact("expm1", lax.expm1_p, "Elementwise exp(x) - 1, exact near 0.")
log = _inexact("log", log_p, "Elementwise natural logarithm.")
log1p = _inexact("log1p", lax.log1p_p, "Elementwise log(1 + x), exact near 0.")
sqrt = _inexact("sqrt", lax.sqrt_p, "Elementwise square root.")
cbrt = _inexact("cbrt", lax.cbrt_p, "Elementwise cube root.")
sin = _inexact("sin", sin_p, "Elementwise sine; x in radians.")
cos = _inexact("cos", cos_p, "Elementwise cosine; x in radians.")
tan = _inexact("tan", lax.tan_p, "Elementwise tangent; x in radians.")
tanh = _inexact("tanh", tanh_p, "Elementwise hyperbolic tangent.")
arctanh = _inexact("arctanh", lax.atanh_p, "Elementwise inverse hyperbolic tangent.")
atanh = _inexact("atanh", lax.atanh_p, "Elementwise inverse hyperbolic tangent.")
sinh = _inexact("sinh", trig.sinh_p, "Elementwise hyperbolic sine.")
cosh = _inexact("cosh", trig.cosh_p, "Elementwise hyperbolic cosine.")
arcsin = _inexact("arcsin", trig.asin_p, "Elementwise inverse sine, in radians.")
asin = _inexact("asin", trig.asin_p, "Elementwise inverse sine, in radians.")
arccos = _inexact("arccos", trig.acos_p, "Elementwise inverse cosine, in radians.")
acos = _inexact("acos", trig.acos_p, "Elementwise inverse cosine, in radians.")
arctan = _inexact("arctan", trig.atan_p, "Elementwise inverse tangent, in radians.")
atan = _inexact("atan", trig.atan_p, "Elementwise inverse tangent, in radians.")
arcsinh = _inexact("arcsinh", trig.asinh_p, "Elementwise inverse hyperbolic sine.")
asinh = _inexact("asinh", trig.asinh_p, "Elementwise inverse hyperbolic sine.")
arccosh = staged(_inexact("arccosh", trig.acosh_p, "Elementwise inverse hyperbolic cosine."))


acosh = renamed(arccosh, "acosh")


@public
def arctan2(x1, x2, /):
    """Elementwise angle, in radians, of the vector whose components are `x2` and `x1`.

    Args:
      x1, x2: real arrays or scalars whose shapes broadcast; dtypes are promoted to floats.

    >>> float(arctan2(0.0, 1.0)), float(arctan2(0.0, -1.0)) > 3.14
    (0.0, True)
    """
    return trig.atan2(*promote_args_inexact("arctan2", x1, x2))


atan2 = renamed(arctan2, "atan2")


def _scaled(name, factor, doc):
    """A row: multiplication by a constant in floating point arithmetic."""

    @named(name, doc=doc)
    @public
    def function(x, /):
        """{doc}

        Args:
          x: an array; integers are converted to floating point.

        Raises:
          TypeError: no array and no number, or one of a dtype or shape without this operation.
        """
        (x,) = promote_args_inexact(name, x)
        return lax.mul(x, constant_like(x, factor))

    return function


deg2rad = _scaled("deg2rad", np.pi / 180, "Elementwise degrees as radians.")
rad2deg = _scaled("rad2deg", 180 / np.pi, "Elementwise radians as degrees.")
radians, degrees = renamed(deg2rad, "radians"), renamed(rad2deg, "degrees")


@public
def log2(x, /):
    """Elementwise logarithm to base 2; of integers, in floating point.

    >>> log2(jnp.array([1, 8])).tolist()
    [0.0, 3.0]
    """
    (x,) = promote_args_inexact("log2", x)
    if not complex_input(x):
        return lax.div(lax.log(x), lax.log(strong_constant(x, 2)))
    log_x = lax.log(x)
    re, im = complex_numbers.real(log_x), complex_numbers.imag(log_x)
    ln2 = lax.log(strong_constant(re, 2))
    return complex_numbers.complex(lax.div(re, ln2), lax.div(im, ln2))


@public
def log10(x, /):
    """Elementwise logarithm to base 10; of integers, in floating point."""
    (x,) = promote_args_inexact("log10", x)
    factor = dtypes.finfo(typeof(x).dtype).dtype.type(0.4342944819032518)  # 1 / log(10)
    if not complex_input(x):
        return lax.mul(lax.log(x), factor)
    log_x = lax.log(x)
    re, im = complex_numbers.real(log_x), complex_numbers.imag(log_x)
    return complex_numbers.complex(lax.mul(re, factor), lax.mul(im, factor))


# ----------------------------------------------------------------------------------------------
# Signs and parts


@public
def sign(x, /):
    """Elementwise sign: -1, 0 or 1; of complex numbers x / abs(x)."""
    return rounding.sign(*promote_args("sign", x))


@public
def fabs(x, /):
    """Elementwise absolute value, in floating point.

    Raises:
      TypeError: `x` is complex.
    """
    x = ensure_arraylike("fabs", x)
    if complex_input(x):
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs_(*promote_args_inexact("fabs", x))


@public
def conjugate(x, /):
    """Elementwise complex conjugate; a real `x` as it is."""
    x = ensure_arraylike("conjugate", x)
    return complex_numbers.conj(x) if complex_input(x) else x


conj = renamed(conjugate, "conj")


@public
def real(val, /):
    """Elementwise real part."""
    val = ensure_arraylike("real", val)
    return complex_numbers.real(val) if complex_input(val) else val


@public
def imag(val, /):
    """Elementwise imaginary part; zeros for a real `val`."""
    val = ensure_arraylike("imag", val)
    return complex_numbers.imag(val) if complex_input(val) else zeros_like(val)


@staged(static_argnames=("deg",))
def angle(z, deg: bool = False):
    """Elementwise angle of a complex number in the plane, in radians (or degrees).

    >>> angle(jnp.array([1, 1j, -1]), deg=True).tolist()
    [0.0, 90.0, 180.0]
    """
    z = ensure_arraylike("angle", z)
    re, im = real(z), imag(z)
    is_real_scalar = not z.ndim and not complex_input(z)
    if is_integer(re) or is_real_scalar:
        re, im = (convert(part, default_float_dtype()) for part in (re, im))
    out = trig.atan2(im, re)
    return degrees(out) if deg else out


@staged(eager=False)
def signbit(x, /):
    """Elementwise: is x negative, zero with a minus sign included?

    Raises:
      ValueError: `x` is complex.
    """
    (x,) = promote_args("signbit", x)
    if dtypes.issubdtype(x.dtype, np.integer):
        return lax.lt(x, strong_constant(x, 0))
    if x.dtype == bool:
        return full_like(x, False, dtype=bool)
    if complex_input(x):
        raise ValueError(f"jax.numpy.signbit is not well defined for {x.dtype}")
    info = dtypes.finfo(x.dtype)
    if info.bits not in (16, 32, 64):
        raise NotImplementedError("jax.numpy.signbit only supports 16, 32, and 64-bit types.")
    bits = bitcast_convert_type(x, np.dtype(f"int{info.bits}"))
    return convert(right_shift(bits, info.nexp + info.nmant), np.dtype(bool))


@staged(eager=False)
def copysign(x1, x2, /):
    """Elementwise abs(x1) with the sign of x2; in floating point.

    Raises:
      TypeError: complex arguments.
    """
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if complex_input(x1):
        raise TypeError("copysign does not support complex-valued inputs")
    return _where(signbit(x2), lax.neg(lax.abs_(x1)), lax.abs_(x1))


@staged
def iscomplex(x):
    """Elementwise: is the imaginary part other than zero?"""
    i = imag(x)
    return lax.ne(i, constant_like(i, 0))


@staged
def isreal(x):
    """Elementwise: is the imaginary part zero?"""
    i = imag(x)
    return lax.eq(i, constant_like(i, 0))


# ----------------------------------------------------------------------------------------------
# Rounding


def _whole(name, lax_function, doc):
    """`floor` and `ceil`: integers are whole already."""

    @named(name, doc=doc)
    @public
    def function(x, /):
        """{doc}

        Args:
          x: an array of real numbers.

        Raises:
          TypeError: no array and no number, or one of a dtype or shape without this operation.
        """
        x = ensure_arraylike(name, x)
        return x if is_integer(x) else lax_function(x)

    return function


floor = _whole("floor", rounding.floor, "Elementwise rounding down.")
ceil = _whole("ceil", rounding.ceil, "Elementwise rounding up.")


@staged
def trunc(x):
    """Elementwise rounding towards zero; integers as they are."""
    x = ensure_arraylike("trunc", x)
    if is_integer(x):
        return x
    return _where(lax.lt(x, constant_like(x, 0)), ceil(x), floor(x))


fix = trunc


@staged
def rint(x, /):
    """Elementwise rounding to whole numbers, halves to even ones; the result is inexact."""
    x = ensure_arraylike("rint", x)
    if is_integer(x):
        return convert(x, default_float_dtype())
    if complex_input(x):
        return complex_numbers.complex(rint(complex_numbers.real(x)), rint(complex_numbers.imag(x)))
    return rounding.round(x, rounding.RoundingMethod.TO_NEAREST_EVEN)


@staged(static_argnames=("decimals",))
def round(a, decimals: int = 0, out=None):
    """Elementwise rounding to a number of decimal places, halves to even ones.

    Args:
      a: an array; integers are returned as they are.
      decimals: how many places; negative ones round to tens, hundreds ….

    Raises:
      NotImplementedError: an integer array and negative `decimals`.

    >>> round(jnp.array([1.25, 2.5]), 1).tolist()
    [1.2000000476837158, 2.5]
    """
    a, decimals = ensure_arraylike("round", a), operator.index(decimals)
    check_no_out("round", out)
    if dtypes.issubdtype(a.dtype, np.integer):
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return a
    if decimals > np.log10(dtypes.finfo(a.dtype).max):
        return a
    if complex_input(a):
        real = _round_real(complex_numbers.real(a), decimals)
        return complex_numbers.complex(real, _round_real(complex_numbers.imag(a), decimals))
    return _round_real(a, decimals)


def _round_real(x, decimals):
    half_even = rounding.RoundingMethod.TO_NEAREST_EVEN
    if decimals == 0:
        return rounding.round(x, half_even)
    working = np.dtype("float32") if x.dtype == np.float16 else x.dtype
    wide = convert(x, working, x.weak_type and working == x.dtype)
    factor = constant_like(wide, 10 ** decimals)
    rounded = lax.div(rounding.round(lax.mul(wide, factor), half_even), factor)
    return convert(rounded, x.dtype, typeof(rounded).weak_type)


@staged(static_argnames=("decimals",))
def around(a, decimals: int = 0, out=None):
    """`round`."""
    return round(a, decimals, out)


@staged
def modf(x, /, out=None):
    """Elementwise fractional and whole part, both with the sign of x."""
    x = ensure_arraylike("modf", x)
    (x,) = promote_dtypes_inexact(x)
    check_no_out("modf", out)
    whole = _where(lax.ge(x, constant_like(x, 0)), floor(x), ceil(x))
    return subtract(x, whole), whole


# ----------------------------------------------------------------------------------------------
# Tests of single elements


@public
def isfinite(x, /):
    """Elementwise: neither infinite nor NaN."""
    x = ensure_arraylike("isfinite", x)
    if not is_inexact(x):
        return full_like(x, True, dtype=bool)
    if complex_input(x):
        real = rounding.is_finite(complex_numbers.real(x))
        return bitwise.bitwise_and(real, rounding.is_finite(complex_numbers.imag(x)))
    return rounding.is_finite(x)


@public
def isnan(x, /):
    """Elementwise: not a number."""
    x = ensure_arraylike("isnan", x)
    return lax.ne(x, x)


@staged
def isinf(x, /):
    """Elementwise: plus or minus infinity, in either part of a complex number."""
    x = ensure_arraylike("isinf", x)
    if not is_inexact(x):
        return full_like(x, False, dtype=bool)
    if complex_input(x):
        re, im = complex_numbers.real(x), complex_numbers.imag(x)
        return bitwise.bitwise_or(_is_infinite(re), _is_infinite(im))
    return _is_infinite(x)


def _is_infinite(x):
    return lax.eq(lax.abs_(x), strong_constant(x, np.inf))


def _is_one_infinity(name, infinity, doc):
    @named(name, doc=doc)
    @public
    def function(x, /, out=None):
        """{doc}

        Args:
          x: an array of real numbers.

        Raises:
          TypeError: no array and no number, or one of a dtype or shape without this operation.
        """
        x = ensure_arraylike(name, x)
        if out is not None:
            raise NotImplementedError("The 'out' argument to isneginf/isposinf is not supported.")
        if not is_inexact(x):
            return full_like(x, False, dtype=bool)
        if complex_input(x):
            raise ValueError("isposinf/isneginf are not well defined for complex types")
        return lax.eq(x, strong_constant(x, infinity))

    return function


isposinf = _is_one_infinity("isposinf", np.inf, "Elementwise: plus infinity.")
isneginf = _is_one_infinity("isneginf", -np.inf, "Elementwise: minus infinity.")


# ----------------------------------------------------------------------------------------------
# Logic and bits


def _logical(name, primitive, doc):
    @named(name, doc=doc)
    def function(x, y, /):
        """{doc}

        Args:
          x, y: arrays; elements other than zero count as true.

        Raises:
          TypeError: no array and no number, or one of a dtype or shape without this operation.
        """
        return primitive.bind(*map(to_bool, promote_args(name, x, y)))

    return function


logical_and = _logical("logical_and", and_p, "Elementwise: both true.")
logical_or = _logical("logical_or", or_p, "Elementwise: at least one true.")
logical_xor = _logical("logical_xor", bitwise.xor_p, "Elementwise: exactly one true.")


@public
def logical_not(x, /):
    """Elementwise: zero, or false."""
    return bitwise.bitwise_not(*map(to_bool, promote_args("logical_not", x)))
