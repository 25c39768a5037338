"""Chapter 12: powers, quotients, remainders and shifts."""

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import integer_pow_p
from ..lax import bitwise, elementwise as lax, operators, rounding
from ..lax.dtypes import result_type
from ..lax.operators import known_integer, subtract
from ..lax.selection import select
from ..lax.shaping import full_like
from ..text.naming import renamed
from ._arguments import (
    check_arraylike,
    complex_input,
    constant_like,
    ensure_arraylike,
    ensure_arraylikes,
    is_integer,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    promote_shapes,
)
from ._select import _where
from ._staged import staged


@public
def square(x, /):
    """Elementwise x * x."""
    x = ensure_arraylike("square", x)
    return lax.square(*promote_dtypes_numeric(x))


@public
def reciprocal(x, /):
    """Elementwise 1 / x; of integers, in floating point."""
    x = ensure_arraylike("reciprocal", x)
    return lax.integer_pow(*promote_dtypes_inexact(x), -1)


@public
def power(x1, x2, /):
    """Elementwise x1 to the x2.

    A known integer `x2` becomes `integer_pow`, repeated squaring; integers to traced integer
    powers are squared and multiplied bit by bit.

    Args:
      x1, x2: arrays or scalars whose shapes broadcast; dtypes are promoted.

    Raises:
      TypeError: integers to a known negative power, or operands that do not fit.

    >>> power(2, jnp.arange(4)).tolist()
    [1, 2, 4, 8]
    """
    if type(x2) is int and hasattr(x1, "aval") and x1.aval.dtype.kind != "b":
        return integer_pow_p.bind(x1, y=x2)
    check_arraylike("power", x1, x2)
    exponent = known_integer(x2)
    if exponent is not None:
        return lax.integer_pow(*promote_dtypes_numeric(ensure_arraylike("power", x1)), exponent)
    return _power(x1, x2)


pow = renamed(power, "pow")


def _power(x1, x2):
    x1, x2 = promote_shapes("power", x1, x2)
    base, exponent = promote_args_numeric("power", x1, x2)
    if is_integer(base):
        return _integer_power(base, exponent)
    if dtypes.issubdtype(typeof(x1).dtype, np.inexact) and \
            dtypes.issubdtype(typeof(x2).dtype, np.integer):
        return lax.pow(x1, x2)
    return lax.pow(base, exponent)


def _integer_power(x1, x2):
    """Six bits of the exponent are enough: a larger power of anything but 0 and ±1 overflows."""
    zero, one = constant_like(x2, 0), constant_like(x2, 1)
    is_zero = bitwise.bitwise_and(lax.eq(x1, zero), lax.ne(x2, zero))
    result = _where(is_zero, zero, one)
    for _ in range(6):
        result = _where(bitwise.bitwise_and(x2, one), lax.mul(result, x1), result)
        x1, x2 = lax.mul(x1, x1), bitwise.shift_right_logical(x2, one)
    return result


@public
def float_power(x, y, /):
    """Elementwise x to the y in floating point."""
    return lax.pow(*promote_args_inexact("float_power", x, y))


@staged(eager=False)
def floor_divide(x1, x2, /):
    """Elementwise x1 // x2, rounded down.

    Args:
      x1, x2: arrays or scalars whose shapes broadcast; dtypes are promoted.

    Raises:
      TypeError: complex arguments.
    """
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    dtype = typeof(x1).dtype
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return lax.div(x1, x2)
    if dtypes.issubdtype(dtype, np.integer):
        quotient = lax.div(x1, x2)
        other_signs = lax.ne(rounding.sign(x1), rounding.sign(x2))
        inexact = lax.ne(lax.rem(x1, x2), constant_like(x1, 0))
        round_down = bitwise.bitwise_and(other_signs, inexact)
        return _where(round_down, subtract(quotient, 1), quotient)
    if complex_input(x1):
        raise TypeError("floor_divide does not support complex-valued inputs")
    return _float_divmod(x1, x2)[0]


def _float_divmod(x1, x2):
    """Quotient rounded down, and the remainder, which has the sign of `x2`."""
    mod = lax.rem(x1, x2)
    dividend = _where(lax.eq(x2, constant_like(x2, 0)), x1, lax.sub(x1, mod))
    div = lax.div(dividend, x2)
    wrong_sign = bitwise.bitwise_and(lax.ne(mod, constant_like(mod, 0)),
                                 lax.ne(rounding.sign(x2), rounding.sign(mod)))
    mod = select(wrong_sign, lax.add(mod, x2), mod)
    div = select(wrong_sign, subtract(div, 1.0), div)
    return rounding.round(div), mod


@staged(eager=False)
def remainder(x1, x2, /):
    """Elementwise x1 % x2: the remainder, with the sign of x2.

    Raises:
      TypeError: complex arguments.
    """
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    zero = constant_like(x1, 0)
    if dtypes.issubdtype(typeof(x2).dtype, np.integer):
        x2 = _where(lax.eq(x2, constant_like(x2, 0)), full_like(x2, 1), x2)
    mod = lax.rem(x1, x2)
    nonzero = lax.ne(mod, zero)
    wrong_sign = bitwise.bitwise_and(lax.ne(lax.lt(mod, zero), lax.lt(x2, zero)), nonzero)
    return select(wrong_sign, lax.add(mod, x2), mod)


mod = renamed(remainder, "mod")


@staged
def fmod(x1, x2, /):
    """Elementwise remainder with the sign of x1, as in C."""
    x1, x2 = ensure_arraylikes("fmod", x1, x2)
    if dtypes.issubdtype(result_type(x1, x2), np.integer):
        x2 = _where(lax.eq(x2, constant_like(x2, 0)), full_like(x2, 1), x2)
    return lax.rem(*promote_args_numeric("fmod", x1, x2))


@staged(eager=False)
def divmod(x1, x2, /):
    """Elementwise (x1 // x2, x1 % x2)."""
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if dtypes.issubdtype(typeof(x1).dtype, np.integer):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


@public
def true_divide(x1, x2, /):
    """Elementwise x1 / x2 in floating point (or complex) arithmetic.

    Args:
      x1, x2: arrays or scalars whose shapes broadcast; dtypes are promoted, integers to floats.

    Raises:
      TypeError: an argument that is neither an array nor a number, or shapes that do not broadcast.

    >>> true_divide(jnp.arange(3), 2)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return operators.true_divide(x1, x2)


divide = renamed(true_divide, "divide")


@public
def left_shift(x, y, /):
    """Elementwise x << y.

    Raises:
      TypeError: arguments that are not integers.
    """
    return bitwise.shift_left(*promote_args_numeric("left_shift", x, y))


@public
def right_shift(x1, x2, /):
    """Elementwise x1 >> x2, keeping the sign of signed integers.

    Raises:
      TypeError: arguments that are not integers.
    """
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    unsigned = dtypes.issubdtype(typeof(x1).dtype, np.unsignedinteger)
    return (bitwise.shift_right_logical if unsigned else bitwise.shift_right_arithmetic)(x1, x2)


bitwise_left_shift = renamed(left_shift, "bitwise_left_shift")
bitwise_right_shift = renamed(right_shift, "bitwise_right_shift")
