"""Chapter 9: `reduce_precision`, which rounds floats to fewer bits, in the type that they are."""

import operator

import numpy as np

from ..core import dtypes
from ..core.batching import defvectorized
from ..core.boundary import public
from ..core.core import typeof
from ..core.forward import deflinear_jvp
from ..core.lowering import register_lowering
from ..core.primitives import elementwise_type, ensure_array, make_primitive
from ..core.transposition import deftranspose
from ..runtime.dispatch import apply_primitive
from .compile_time import concrete_or_error
from .families import FLOAT


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
    if format == bits_of(typeof(x).dtype):
        return ensure_array(x)
    return apply_primitive(reduce_precision_p, x, **format)


def bits_of(dtype) -> dict[str, int]:
    """The parameters of a reduction to the precision that the dtype has."""
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"reduce_precision does not accept dtype {dtype.name}. Accepted dtypes are "
                        "subtypes of floating.")
    info = dtypes.finfo(dtype)
    return {"exponent_bits": info.nexp, "mantissa_bits": info.nmant}


deflinear_jvp(reduce_precision_p)
deftranspose(reduce_precision_p, lambda ct, x, **format: reduce_precision_p.bind(ct, **format))
defvectorized(reduce_precision_p)
register_lowering(reduce_precision_p, _lower_reduced)


@public
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
