"""Chapter 11: operations on the bits of numbers."""

from __future__ import annotations

import functools

import numpy as np

from .. import dtypes
from ..array import def_numpy
from ..batching import primitive_batchers
from ..batching.rules import defbroadcasting, defvectorized
from ..batching.trace import bdim_at_front
from ..core import ShapedArray
from ..forward import defjvp_zero
from ..primitives.shape_rules import FLOAT, INTEGER, elementwise_rule, make_primitive
from ..xla.jit import apply_primitive
from ..xla.lowering import register_lowering, tensor_type

# ----------------------------------------------------------------------------------------------
# bitcast_convert_type: other elements of the same bits


def _bitcast_type(x, *, new_dtype):
    """Elements are cut into several, along a new last dimension, or a last dimension is fused."""
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(new_dtype)
    if old == new:
        shape = x.shape
    elif old > new:
        shape = (*x.shape, old // new)
    elif x.ndim and x.shape[-1] == new // old:
        shape = x.shape[:-1]
    else:
        raise ValueError(
            f"Attempting to convert array of shape {x.shape} from {x.dtype.name} of size {old} to "
            f"{new_dtype.name} of size {new}, bits: the last dimension must be {new // old}."
        )
    return ShapedArray(shape, new_dtype)


def _bitcast(x, *, new_dtype):
    new_dtype, x = np.dtype(new_dtype), np.asarray(x, order="C")
    if x.dtype.itemsize == new_dtype.itemsize:
        return x.view(new_dtype)
    if x.dtype.itemsize > new_dtype.itemsize:
        return x[..., None].view(new_dtype)
    return x.view(new_dtype)[..., 0]


def _batch_bitcast(args, dims, **params):
    (x,), (dim,) = args, dims  # not the last dimension, which may come or go
    return bitcast_convert_type_p.bind(bdim_at_front(x, dim, 1), **params), 0


def _lower_bitcast(ctx, x, *, new_dtype):
    (out,) = ctx.avals_out
    return ctx.op(f"stablehlo.bitcast_convert {x.name} : ({x.type}) -> {tensor_type(out)}", out)


bitcast_convert_type_p = make_primitive("bitcast_convert_type", _bitcast_type)
def_numpy(bitcast_convert_type_p, _bitcast)
primitive_batchers[bitcast_convert_type_p] = _batch_bitcast
defjvp_zero(bitcast_convert_type_p)
register_lowering(bitcast_convert_type_p, _lower_bitcast)


def bitcast_convert_type(operand, new_dtype):
    """The bits of `operand` read as elements of another type.

    Args:
      operand: an array.
      new_dtype: the element type. If it is narrower, each element becomes several, along a new
        last dimension; if it is wider, the last dimension is what becomes one element.

    Raises:
      ValueError: the last dimension is not of the right size.

    >>> lax.bitcast_convert_type(jnp.float32(1), "int32").item()
    1065353216
    """
    new_dtype = dtypes.check_and_canonicalize_user_dtype(new_dtype)
    return bitcast_convert_type_p.bind(operand, new_dtype=new_dtype)


# ----------------------------------------------------------------------------------------------
# Counting bits, and the neighbours of floating point numbers


def _clz(x):
    width = 8 * x.dtype.itemsize
    bits = x.astype(np.dtype(f"u{x.dtype.itemsize}"))
    used = sum((bits >> np.array(i, bits.dtype)) != 0 for i in range(width))
    return (width - used).astype(x.dtype)


def _popcount(x):
    unsigned = x.astype(np.dtype(f"u{x.dtype.itemsize}"))
    return np.bitwise_count(unsigned).astype(x.dtype)


def _count(name, numpy_rule, op):
    primitive = make_primitive(name, elementwise_rule(name, [INTEGER]))
    def_numpy(primitive, numpy_rule)
    defvectorized(primitive)
    defjvp_zero(primitive)
    register_lowering(
        primitive, lambda ctx, x: ctx.op(f"stablehlo.{op} {x.name} : {x.type}", x.aval))
    return primitive


clz_p = _count("clz", _clz, "count_leading_zeros")
population_count_p = _count("population_count", _popcount, "popcnt")


def clz(x):
    """How many bits are zero before the first that is one, elementwise, of integers."""
    return clz_p.bind(x)


def population_count(x):
    """How many bits are one, elementwise, of integers."""
    return population_count_p.bind(x)


def _lower_nextafter(ctx, x, y):
    (out,) = ctx.avals_out
    x, y = ctx.broadcast(x, out.shape), ctx.broadcast(y, out.shape)
    return ctx.op(f"chlo.next_after {x.name}, {y.name} : {x.type}, {y.type} -> {x.type}", out)


nextafter_p = make_primitive("nextafter", elementwise_rule("nextafter", [FLOAT, FLOAT]))
nextafter_p.def_impl(functools.partial(apply_primitive, nextafter_p))
defbroadcasting(nextafter_p)
register_lowering(nextafter_p, _lower_nextafter)


def nextafter(x1, x2):
    """The number next to `x1` in the direction of `x2`, elementwise.

    Args:
      x1, x2: float arrays of one dtype, and of one shape or scalars.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.
    """
    return nextafter_p.bind(x1, x2)
