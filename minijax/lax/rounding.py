"""Chapter 9: functions that are constant between their steps: rounding, signs, tests."""

from __future__ import annotations

import enum
import operator

import numpy as np

from ..core import dtypes
from ..core.array import def_numpy
from ..core.batching import defvectorized
from ..core.forward import defjvp_zero, deflinear_jvp
from ..core.lowering import cast_rule, compare, emit, register_lowering
from ..core.lowering import select as emit_select
from ..core.primitives import NUMBER, bool_dtype, elementwise_type, make_primitive
from ..core.transposition import deftranspose
from ..runtime.dispatch import apply_primitive
from .compile_time import concrete_or_error
from .families import FLOAT, unary_row


def _sign(x):
    if x.dtype.kind == "c":
        size = np.where(x == 0, 1, np.abs(x))
        return np.stack([x.real / size, x.imag / size], -1).view(x.dtype)[..., 0]
    # XLA keeps the sign of zero, which NumPy drops.
    return np.sign(x) if x.dtype.kind in "iu" else np.copysign(np.sign(x), x)


def _lower_sign(ctx, x):
    if x.aval.dtype.kind != "u":
        return emit(ctx, "sign", x)
    zero, one = ctx.constant(0, x.aval), ctx.constant(1, x.aval)
    return emit_select(ctx, compare(ctx, "EQ", x, zero), zero, one)


floor_p, floor = unary_row("floor", FLOAT, np.floor, "Elementwise rounding down.",
                           lowering="floor")
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


def _round(x, *, rounding_method):
    if rounding_method == RoundingMethod.TO_NEAREST_EVEN:
        return np.rint(x)
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)


def _lower_round(ctx, x, *, rounding_method):
    ops = ("round_nearest_afz", "round_nearest_even")
    return emit(ctx, ops[int(rounding_method)], x)


round_p = make_primitive("round", elementwise_type("round", [FLOAT]))
def_numpy(round_p, _round)
defvectorized(round_p)
register_lowering(round_p, _lower_round)

for p in (floor_p, ceil_p, sign_p, is_finite_p, round_p):
    defjvp_zero(p)


def round(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):
    """Elementwise rounding to whole numbers.

    Args:
      x: a floating point array.
      rounding_method: where halves go, a `RoundingMethod`.

    Raises:
      ValueError: no such rounding method.
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


# ----------------------------------------------------------------------------------------------
# reduce_precision: floats with fewer bits, in the type that they are


def _reduced_type(x, *, exponent_bits, mantissa_bits):
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError("reduce_precision: mantissa_bits must be non-negative; got "
                         f"{mantissa_bits}")
    return elementwise_type("reduce_precision", [FLOAT])(x)


def _lower_reduced(ctx, x, *, exponent_bits, mantissa_bits):
    return ctx.op(f"stablehlo.reduce_precision {x.name}, format = "
                  f"e{exponent_bits}m{mantissa_bits} : {x.type}", x.aval)


reduce_precision_p = make_primitive("reduce_precision", _reduced_type)


@reduce_precision_p.def_impl
def _reduce(x, *, exponent_bits, mantissa_bits):
    format = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
    return x if format == bits_of(x.dtype) else apply_primitive(reduce_precision_p, x, **format)


def bits_of(dtype) -> dict[str, int]:
    """The parameters of a reduction to the precision that the dtype has."""
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"reduce_precision does not accept dtype {dtype.name}. Accepted dtypes are "
                        "subtypes of floating.")
    info = dtypes.finfo(dtype)
    return {"exponent_bits": info.nexp, "mantissa_bits": info.nmant}


deflinear_jvp(reduce_precision_p)
deftranspose(reduce_precision_p,
             lambda ct, x, **format: reduce_precision_p.bind(ct, **format))
defvectorized(reduce_precision_p)
register_lowering(reduce_precision_p, _lower_reduced)


def reduce_precision(operand, exponent_bits: int, mantissa_bits: int):
    """The elements rounded to a floating point type of so many bits; the dtype stays.

    Args:
      operand: an array of floats.
      exponent_bits: at least 1; numbers too large for them become infinite.
      mantissa_bits: without the sign and the leading one; ties are rounded to even.

    Raises:
      ValueError: too few bits.
      TypeError: no floats.

    >>> lax.reduce_precision(jnp.float32(3.14159), 8, 7)  # as a bfloat16
    Array(3.140625, dtype=float32)
    """
    exponent_bits, mantissa_bits = (concrete_or_error(operator.index, n, "bits of reduce_precision")
                                    for n in (exponent_bits, mantissa_bits))
    return reduce_precision_p.bind(operand, exponent_bits=exponent_bits,
                                   mantissa_bits=mantissa_bits)
