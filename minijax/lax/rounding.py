"""Chapter 9: functions that are constant between their steps: rounding, signs, tests."""

import enum
import functools

import numpy as np

from ..core import dtypes
from ..core.array import def_numpy
from ..core.batching import defvectorized
from ..core.boundary import public
from ..core.core import typeof
from ..core.forward import Zero, defjvp2, defjvp_zero
from ..core.lowering import cast_rule, compare, emit, register_lowering
from ..core.primitives import (
    NUMBER,
    bool_dtype,
    div,
    elementwise_type,
    full_like,
    make_primitive,
    mul,
)
from .complex_numbers import complex, conj, imag, real
from .conversions import in_bytes
from .families import FLOAT, nonzero, unary_row
from .selection import emit_select


def _sign(x):
    if x.dtype.kind == "c":
        size = np.where(x == 0, 1, np.abs(x))
        return np.stack([x.real / size, x.imag / size], -1).view(x.dtype)[..., 0]
    x = in_bytes(x)
    # XLA keeps the sign of zero, which NumPy drops.
    return np.sign(x) if x.dtype.kind in "iu" else np.copysign(np.sign(x), x)


def _lower_sign(ctx, x):
    if not dtypes.issubdtype(x.aval.dtype, np.unsignedinteger):
        return emit(ctx, "sign", x)
    zero, one = ctx.constant(0, x.aval), ctx.constant(1, x.aval)
    return emit_select(ctx, compare(ctx, "EQ", x, zero), zero, one)


floor_p, floor = unary_row("floor", FLOAT, np.floor, "Elementwise rounding down.", lowering="floor")
ceil_p, ceil = unary_row("ceil", FLOAT, np.ceil, "Elementwise rounding up.", lowering="ceil")
sign_p, sign = unary_row("sign", NUMBER, _sign,
                         "Elementwise sign: -1, 0 or 1 (for complex x, x / abs(x)).",
                         lowering=_lower_sign)
is_finite_p, is_finite = unary_row("is_finite", FLOAT, np.isfinite,
                                   "Elementwise: neither infinite nor NaN.", bool_dtype,
                                   lowering=cast_rule("is_finite"))


class RoundingMethod(enum.IntEnum):
    """How `round` treats halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


@functools.cache
def _below_half(dtype):
    """The greatest number below 1/2."""
    return np.asarray(np.nextafter(dtype.type(0.5), dtype.type(0)))


def _round(x, *, rounding_method):
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    if x.dtype.kind == "f":  # this number moves halves to the next whole one, and nothing below
        return np.trunc(x + np.copysign(_below_half(x.dtype), x))
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)


def _lower_round(ctx, x, *, rounding_method):
    ops = ("round_nearest_afz", "round_nearest_even")
    return emit(ctx, ops[int(rounding_method)], x)


round_p = make_primitive("round", elementwise_type("round", [FLOAT]))
def_numpy(round_p, _round)
defvectorized(round_p)
register_lowering(round_p, _lower_round)

for p in (floor_p, ceil_p, is_finite_p, round_p):
    defjvp_zero(p)


def _sign_jvp(t, y, x):
    """Zero, but for complex numbers: y = x / |x| turns by the part of t that is across x."""
    if typeof(x).dtype.kind != "c":
        return Zero.from_primal_value(y)
    size = real(mul(x, conj(y)))
    across = div(imag(mul(t, conj(y))), nonzero(size))
    return mul(complex(full_like(across, 0), across), y)


defjvp2(sign_p, _sign_jvp)


@public
def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):
    """Elementwise rounding to whole numbers.

    Args:
      x: a floating point array.
      rounding_method: where halves go, a `RoundingMethod`.

    Raises:
      ValueError: no such rounding method.
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))
