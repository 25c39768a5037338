"""Chapter 11: operations on the bits of numbers."""

import functools

import numpy as np

from ..core import dtypes
from ..core.array import def_numpy
from ..core.batching import bdim_at_front, defbroadcasting, defvectorized, primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray
from ..core.forward import defjvp_zero
from ..core.lowering import comparison_kind, convert, emit, register_lowering, tensor_type
from ..core.primitives import ORDERED, elementwise_type, make_primitive
from ..runtime.dispatch import apply_primitive
from .dtypes import bits_as, check_and_canonicalize_user_dtype, int4, itemsize_bits, uint4
from .families import FLOAT, INTEGER, chlo_rule

# ----------------------------------------------------------------------------------------------
# bitcast_convert_type: other elements of the same bits


def _bitcast_type(x, *, new_dtype):
    """Elements are cut into several, along a new last dimension, or a last dimension is fused."""
    if isinstance(x.dtype, dtypes.ExtendedDType):
        raise ValueError(f"lax.bitcast_convert_type: {x.dtype.name} has no bits to be read as "
                         "another type; `jax.random.key_data` gives the data of keys.")
    if x.dtype != new_dtype and any(dtype.kind in "bc" for dtype in (x.dtype, np.dtype(new_dtype))):
        raise TypeError("lax.bitcast_convert_type: booleans and complex numbers have no bits to "
                        f"be read as another type, got {x.dtype.name} and {new_dtype.name}")
    old, new = itemsize_bits(x.dtype), itemsize_bits(new_dtype)
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
    if itemsize_bits(x.dtype) % 8 or itemsize_bits(new_dtype) % 8:
        return _bitcast_by_bits(x, new_dtype)
    if x.dtype.itemsize == new_dtype.itemsize:
        return x.view(new_dtype)
    if x.dtype.itemsize > new_dtype.itemsize:
        return x[..., None].view(new_dtype)
    return x.view(new_dtype)[..., 0]


def _bitcast_by_bits(x, new_dtype):
    """`_bitcast` for the types of fewer than eight bits, of which NumPy stores one in a byte."""
    shape = _bitcast_type(ShapedArray(x.shape, x.dtype), new_dtype=new_dtype).shape
    bits = np.unpackbits(x[..., None].view(np.uint8), axis=-1, count=itemsize_bits(x.dtype),
                         bitorder="little")
    width = itemsize_bits(new_dtype)
    out = np.packbits(bits.reshape(*shape, width), axis=-1, bitorder="little")
    if width < 8 and dtypes.issubdtype(new_dtype, np.integer):
        return out[..., 0].astype(new_dtype)  # NumPy repeats the sign in the byte's other bits
    return out.view(new_dtype)[..., 0]


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


@public
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
    new_dtype = check_and_canonicalize_user_dtype(new_dtype)
    return bitcast_convert_type_p.bind(operand, new_dtype=new_dtype)


# ----------------------------------------------------------------------------------------------
# Counting bits, and the neighbours of floating point numbers


def _clz(x):
    width = dtypes.iinfo(x.dtype).bits
    bits = bits_as("u", x)
    used = _used_bits(bits)
    if width == 64:
        high = bits >> np.uint64(32)
        used = np.where(high != 0, 32 + _used_bits(high), _used_bits(bits & np.uint64(2**32 - 1)))
    return (width - used).astype(x.dtype)


def _used_bits(x):
    """The place of the highest bit that is one, counted from 1, of integers below 2⁵³."""
    return np.frexp(x.astype(np.float64))[1]


def _popcount(x):
    return np.bitwise_count(bits_as("u", x)).astype(x.dtype)


def _lower_popcount(ctx, x):
    """XLA would count the copies of the sign that it adds to a signed integer of four bits."""
    if x.aval.dtype == int4:
        counts = emit(ctx, "popcnt", convert(ctx, x, np.dtype(uint4)))
        return convert(ctx, counts, x.aval.dtype)
    return emit(ctx, "popcnt", x)


def _count(name, numpy_rule, lowering):
    primitive = make_primitive(name, elementwise_type(name, [INTEGER]))
    def_numpy(primitive, numpy_rule)
    defvectorized(primitive)
    defjvp_zero(primitive)
    register_lowering(primitive, lowering)
    return primitive


clz_p = _count("clz", _clz, lambda ctx, x: emit(ctx, "count_leading_zeros", x))
population_count_p = _count("population_count", _popcount, _lower_popcount)


@public
def clz(x):
    """How many bits are zero before the first that is one, elementwise, of integers."""
    return clz_p.bind(x)


@public
def population_count(x):
    """How many bits are one, elementwise, of integers."""
    return population_count_p.bind(x)


nextafter_p = make_primitive("nextafter", elementwise_type("nextafter", [FLOAT, FLOAT]))
nextafter_p.def_impl(functools.partial(apply_primitive, nextafter_p))
defbroadcasting(nextafter_p)
register_lowering(nextafter_p, chlo_rule("next_after"))


@public
def nextafter(x1, x2):
    """The number next to `x1` in the direction of `x2`, elementwise.

    Args:
      x1, x2: float arrays of one dtype, and of one shape or scalars.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.
    """
    return nextafter_p.bind(x1, x2)


# ----------------------------------------------------------------------------------------------
# The high bits of products


def _high_product(x, y):
    """By the halves of each, as in multiplication on paper; no type need be twice as wide."""
    dtype = x.dtype
    half = 4 * dtype.itemsize
    low_bits, shift = dtype.type((1 << half) - 1), dtype.type(half)
    (x_low, x_high), (y_low, y_high) = ((z & low_bits, z >> shift) for z in (x, y))
    # Each sum is less than 2**(2 * half): nothing is lost. Signed types shift in their sign.
    unsigned = np.dtype(f"u{dtype.itemsize}")
    carry = ((x_low.astype(unsigned) * y_low.astype(unsigned)) >> unsigned.type(half)).astype(dtype)
    middle = x_high * y_low + carry
    rest = x_low * y_high + (middle & low_bits)
    return x_high * y_high + (middle >> shift) + (rest >> shift)


mulhi_p = make_primitive("mulhi", elementwise_type("mulhi", [INTEGER, INTEGER]))
def_numpy(mulhi_p, _high_product)
defbroadcasting(mulhi_p)
defjvp_zero(mulhi_p)
register_lowering(mulhi_p, chlo_rule("mulhi"))


@public
def mulhi(x, y, /):
    """The upper half of the bits of the product, elementwise, of integers.

    Args:
      x, y: integer arrays of one dtype, and of one shape or scalars.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.

    >>> lax.mulhi(jnp.uint8(200), jnp.uint8(200)).item()  # 40000 = 156 * 256 + 64
    156
    """
    return mulhi_p.bind(x, y)


# ----------------------------------------------------------------------------------------------
# Comparisons in the order of IEEE 754's totalOrder: -nan < -inf < … < -0 < 0 < … < inf < nan


def _total_order(name: str, compare: np.ufunc) -> Primitive:
    def evaluate(x, y):
        return compare(_ranks(x), _ranks(y))

    def lower(ctx, x, y):
        (out,) = ctx.avals_out
        x, y = ctx.broadcast(x, out.shape), ctx.broadcast(y, out.shape)
        kind = comparison_kind(x.aval.dtype).replace("FLOAT", "TOTALORDER")
        return ctx.op(f"stablehlo.compare {name.upper()}, {x.name}, {y.name}, {kind} : "
                      f"({x.type}, {x.type}) -> {tensor_type(out)}", out)

    primitive = make_primitive(f"{name}_to", elementwise_type(
        f"{name}_to", [ORDERED, ORDERED], lambda dtype: np.dtype(bool)))
    def_numpy(primitive, evaluate)
    defbroadcasting(primitive)
    defjvp_zero(primitive)
    register_lowering(primitive, lower)
    return primitive


def _ranks(x):
    """Integers that are ordered as the floats are, NaNs included."""
    if not dtypes.issubdtype(x.dtype, np.floating):
        return x
    bits = np.asarray(x).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


eq_to_p = _total_order("eq", np.equal)
le_to_p = _total_order("le", np.less_equal)
lt_to_p = _total_order("lt", np.less)
