"""Chapter 12: the bits of numbers, and what integers have in common."""

import numpy as np

from ..core import dtypes
from ..core.primitives import convert
from ..custom_rules import custom_jvp
from ..lax import bits, elementwise as lax
from ..lax.control_flow.while_loop import while_loop
from ..lax.cutting import pad
from ..lax.shaping import expand_dims, full_like
from ..runtime.jit import jit
from ._arguments import (
    complex_input,
    constant_like,
    ensure_arraylike,
    ensure_arraylikes,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes,
    promote_dtypes_inexact,
    to_bool,
)
from ._arithmetic import floor_divide
from ._constructors import arange
from ._select import _where, broadcast_arrays
from ._shaping import ravel, swapaxes
from ._staged import compiled, staged
from ._ufuncs import abs, copysign, exp2, isfinite, isinf

# ----------------------------------------------------------------------------------------------
# Bits of integers


@staged
def bitwise_count(x, /):
    """The number of ones among the bits of |x|, elementwise, as uint8.

    Args:
      x: an array of integers or booleans.

    Raises:
      TypeError: another dtype.

    >>> bitwise_count(jnp.array([0, 7, -8])).tolist()
    [0, 3, 1]
    """
    (x,) = promote_args_numeric("bitwise_count", x)
    return bits.population_count(abs(x)).astype("uint8")


@staged(static_argnames=("axis", "bitorder"), eager=False)
def packbits(a, axis: int | None = None, bitorder: str = "big"):
    """Eight elements as the bits of one byte.

    Args:
      a: an array of integers or booleans; all but zero are ones.
      axis: along which; by default the array is made flat first. Zeros are added at the end, up to
        a multiple of eight.
      bitorder: whether the first is the highest bit ("big") or the lowest ("little").

    Raises:
      TypeError: another dtype.
      ValueError: an unknown order.

    >>> packbits(jnp.array([1, 0, 0, 0, 0, 0, 1, 1, 1])).tolist()
    [131, 128]
    """
    a = ensure_arraylike("packbits", a)
    if not (a.dtype == bool or dtypes.issubdtype(a.dtype, np.integer)):
        raise TypeError("Expected an input array of integer or boolean data type, got "
                        f"{a.dtype.name}")
    ones = to_bool(a).astype("uint8")
    places = _in_order(arange(8, dtype="uint8"), bitorder)
    ones = ravel(ones) if axis is None else swapaxes(ones, axis, -1)
    rest = -ones.shape[-1] % 8
    if rest:
        ones = pad(ones, np.uint8(0), [*[(0, 0, 0)] * (ones.ndim - 1), (0, rest, 0)])
    ones = ones.reshape(*ones.shape[:-1], ones.shape[-1] // 8, 8)
    packed = (ones << expand_dims(places, tuple(range(ones.ndim - 1)))).sum(-1).astype("uint8")
    return packed if axis is None else swapaxes(packed, axis, -1)


@staged(static_argnames=("axis", "count", "bitorder"))
def unpackbits(a, axis: int | None = None, count: int | None = None, bitorder: str = "big"):
    """Each byte as eight elements, its bits: `packbits` backwards.

    Args:
      a: an array of dtype uint8.
      axis: along which; by default the array is made flat first.
      count: how many bits to return, zeros at the end if there are fewer; if negative, how many to
        leave out.
      bitorder: as for `packbits`.

    Raises:
      TypeError: another dtype.
      ValueError: an unknown order.

    >>> unpackbits(jnp.array([131], dtype="uint8")).tolist()
    [1, 0, 0, 0, 0, 0, 1, 1]
    """
    a = ensure_arraylike("unpackbits", a)
    if a.dtype != np.uint8:
        raise TypeError(f"Expected an input array of unsigned byte data type, got {a.dtype.name}")
    masks = _in_order(np.uint8(1) << arange(8, dtype="uint8"), bitorder)
    a = ravel(a) if axis is None else swapaxes(a, axis, -1)
    column, masks = expand_dims(a, (a.ndim,)), expand_dims(masks, tuple(range(a.ndim)))
    ones = (column & masks > 0).astype("uint8")
    ones = ones.reshape(*a.shape[:-1], a.shape[-1] * 8)
    if count is not None and count > ones.shape[-1]:
        rest = count - ones.shape[-1]
        ones = pad(ones, np.uint8(0), [*[(0, 0, 0)] * (ones.ndim - 1), (0, rest, 0)])
    ones = ones[..., :count]
    return ones if axis is None else swapaxes(ones, axis, -1)


def _in_order(eight, bitorder):
    """What belongs to the lowest bit is first or, if that is the order, last."""
    if bitorder not in ("little", "big"):
        raise ValueError(f"'bitorder' must be either 'little' or 'big', got {bitorder!r}")
    return eight if bitorder == "little" else eight[::-1]


# ----------------------------------------------------------------------------------------------
# Bits of floats


@staged(eager=False)
def frexp(x, /):
    """Mantissa and exponent, elementwise: x = m 2ᵉ with 1/2 ≤ |m| < 1 (or m = x, e = 0 if x is 0,
    infinite or NaN).

    Args:
      x: an array of real numbers.

    Returns:
      m, floats, and e, of dtype int32.

    Raises:
      TypeError: complex numbers.

    >>> m, e = frexp(jnp.array([1.0, 12.0]))
    >>> m.tolist(), e.tolist()
    ([0.5, 0.75], [1, 4])
    """
    (x,) = promote_dtypes_inexact(ensure_arraylike("frexp", x))
    if complex_input(x):
        raise TypeError("frexp does not support complex-valued inputs")
    return _frexp(x)


@custom_jvp
def _frexp(x):
    """The field of exponent bits is read off, and overwritten by that of 1/2.

    Subnormal numbers, which have no such field, are first multiplied by a power of two.
    """
    info = dtypes.finfo(x.dtype)
    int_dtype = np.dtype(f"int{info.bits}")
    mask, half = (1 << info.nexp) - 1, -info.minexp
    subnormal = abs(x) < info.tiny
    normal = _where(subnormal, x * constant_like(x, 2.0**info.nmant), x)
    word = bits.bitcast_convert_type(normal, int_dtype)
    exponent = ((word >> info.nmant) & mask) - half
    exponent = _where(subnormal, exponent - info.nmant, exponent)
    word = (word & int_dtype.type(~(mask << info.nmant))) | int_dtype.type(half << info.nmant)
    mantissa = bits.bitcast_convert_type(word, x.dtype)
    plain = isfinite(x) & (x != 0)
    return _where(plain, mantissa, x), _where(plain, exponent, 0).astype(np.int32)


@_frexp.defjvp
def _frexp_jvp(primals, tangents):
    m, e = frexp(*primals)
    (t,) = tangents
    return (m, e), (t * exp2(-e.astype(t.dtype)), np.zeros(e.shape, dtypes.float0))


@staged(eager=False)
def ldexp(x1, x2, /):
    """x1 times 2 to the power x2, elementwise.

    Args:
      x1: an array of real numbers.
      x2: an array of integers.

    Raises:
      ValueError: another dtype.

    >>> ldexp(jnp.array([0.75]), jnp.array([4])).tolist()
    [12.0]
    """
    x1, x2 = ensure_arraylikes("ldexp", x1, x2)
    if complex_input(x1) or dtypes.issubdtype(x2.dtype, np.inexact):
        raise ValueError(f"ldexp not supported for input types {x1.dtype.name}, {x2.dtype.name}")
    (x1,) = promote_args_inexact("ldexp", x1)
    m, e = frexp(x1)
    e = e.astype(x1.dtype) + x2.astype(x1.dtype)
    great = e > 0  # 2ᵉ might be too great where m 2ᵉ is not
    out = _where(great, m * 2, m) * 2 ** _where(great, e - 1, e)
    return _where(isinf(x1) | (x1 == 0), x1, out)


@compiled
def nextafter(x, y, /):
    """The floating point number next to `x` in the direction of `y`, elementwise."""
    return bits.nextafter(*promote_args_inexact("nextafter", x, y))


@compiled
def spacing(x, /):
    """The distance from `x` to the next floating point number away from zero, elementwise.

    Args:
      x: an array of real numbers.

    Raises:
      ValueError: complex numbers.

    >>> float(spacing(jnp.float32(1.0))) == 2.0**-23
    True
    """
    (x,) = promote_args_inexact("spacing", x)
    if complex_input(x):
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    x = convert(x, x.dtype)  # never weakly typed
    if x.dtype == np.float16:
        return bits.nextafter(x, full_like(x, np.inf)) - x
    gap = bits.nextafter(x, copysign(x.dtype.type(np.inf), x)) - x
    smallest = x.dtype.type(dtypes.finfo(x.dtype).smallest_subnormal)
    return _where(gap == 0, copysign(smallest, x), gap)


# ----------------------------------------------------------------------------------------------
# Common divisors and multiples


@jit
def gcd(x1, x2):
    """The greatest common divisor, elementwise, by Euclid's algorithm.

    Args:
      x1, x2: arrays of integers whose shapes broadcast.

    Raises:
      ValueError: another dtype.

    >>> gcd(jnp.array([12, 7]), jnp.array([18, 0])).tolist()
    [6, 7]
    """
    x1, x2 = _integers("gcd", x1, x2)
    divisor, _ = while_loop(lambda pair: (pair[1] != 0).any(), _euclid, broadcast_arrays(x1, x2))
    return convert(divisor, divisor.dtype, divisor.aval.weak_type and not divisor.shape)


def _euclid(pair):
    """(a, b) → (b, a mod b), until b is zero."""
    a, b = pair
    done = b == 0
    return [_where(done, a, b), _where(done, b, lax.rem(a, _where(done, 1, b)))]


@jit
def lcm(x1, x2):
    """The least common multiple, elementwise.

    Args, raises: as `gcd`.

    >>> lcm(jnp.array([4, 7]), jnp.array([6, 0])).tolist()
    [12, 0]
    """
    x1, x2 = _integers("lcm", x1, x2)
    divisor = gcd(x1, x2)
    none = divisor == 0
    multiple = x1 * floor_divide(x2, _where(none, 1, divisor))
    return _where(none, constant_like(divisor, 0), multiple)


def _integers(name, x1, x2):
    x1, x2 = promote_dtypes(*ensure_arraylikes(name, x1, x2))
    if not dtypes.issubdtype(x1.dtype, np.integer):
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers, got {x1.dtype.name}.")
    return abs(x1), abs(x2)
