"""Chapter 13: numbers that are all equally likely: floats, integers, coins."""

import functools
from collections.abc import Sequence

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.primitives import convert
from ..lax import bitwise, elementwise as lax
from ..lax.bits import bitcast_convert_type
from ..lax.dtypes import check_and_canonicalize_user_dtype
from ..lax.operators import check_arraylike
from ..lax.out_shardings import shardable
from ..lax.selection import select
from ..lax.shaping import broadcast_to_rank, full_like, reshape
from ..lax.sizes import canonical_shape
from ..numpy._arguments import constant_like
from ..runtime.jit import jit
from .arguments import at_hand, check_shape, float_dtype, int_dtype
from .key_functions import typed_key
from .keys import bits_of, split_keys


def random_bits(key, bit_width: int, shape):
    """Unsigned integers of random bits."""
    return bits_of(key, bit_width, shape)


def split_key(key, num: int = 2) -> list:
    """The keys that `split` makes of a new-style key."""
    return list(split_keys(key, (num,)))


# ----------------------------------------------------------------------------------------------
# Floats


@shardable
def uniform(key, shape: Sequence[int] = (), dtype=None, minval=0.0, maxval=1.0):
    """Floats between two bounds, each as likely as any other.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: a float dtype.
      minval, maxval: the bounds, arrays that can be repeated to `shape`; the upper is excluded.

    Raises:
      ValueError: another dtype.

    >>> jax.random.uniform(jax.random.key(0), (2,))
    Array([0.947667 , 0.9785799], dtype=float32)
    """
    key, dtype = typed_key("uniform", key), float_dtype("uniform", dtype)
    return _uniform(key, at_hand(minval), at_hand(maxval), canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _uniform(key, minval, maxval, shape, dtype):
    """Random bits for the mantissa, below the exponent of 1: numbers from 1 up to 2. Less 1, they
    are evenly spaced between 0 and 1."""
    info = dtypes.finfo(dtype)
    if info.bits not in (8, 16, 32, 64):
        raise TypeError(f"uniform only accepts 8-, 16-, 32-, or 64-bit dtypes, got {dtype}.")
    bounds = [convert(x, dtype) for x in (minval, maxval)]
    minval, maxval = (broadcast_to_rank(x, len(shape)) for x in bounds)
    drawn = 8 if info.nmant < 8 else info.bits  # so many bits suffice
    unsigned = np.dtype(f"uint{info.bits}")
    bits = convert(random_bits(key, drawn, shape), unsigned)
    mantissa = bitwise.shift_right_logical(bits, unsigned.type(drawn - info.nmant))
    one = np.ones((), dtype)
    from_1_to_2 = bitcast_convert_type(bitwise.bitwise_or(mantissa, one.view(unsigned)[()]), dtype)
    from_0_to_1 = lax.sub(from_1_to_2, one[()])
    scaled = lax.add(lax.mul(from_0_to_1, lax.sub(maxval, minval)), minval)
    return lax.max(minval, reshape(scaled, shape))


# ----------------------------------------------------------------------------------------------
# Integers


@shardable
def randint(key, shape: Sequence[int], minval, maxval, dtype=None):
    """Integers between two bounds, each as likely as any other.

    Args:
      key: one key.
      shape: the result's shape.
      minval, maxval: the bounds, integer arrays that can be repeated to `shape`; the upper is
        excluded. Where it is not greater than the lower, the result is the lower.
      dtype: an integer dtype.

    Raises:
      TypeError: another dtype.
      ValueError: bounds of another shape.

    >>> jax.random.randint(jax.random.key(0), (4,), 0, 10).tolist()
    [9, 0, 2, 3]
    """
    key, dtype = typed_key("randint", key), int_dtype("randint", dtype, TypeError)
    shape, drawn = canonical_shape(shape), dtype
    if dtype.itemsize < 4:
        info = dtypes.iinfo(dtype)
        drawn, lowest, highest = np.dtype(np.int32), int(info.min), int(info.max)
        minval = jnp.clip(jnp.asarray(minval).astype(drawn), min=lowest, max=highest)
        maxval = jnp.clip(jnp.asarray(maxval).astype(drawn), min=lowest, max=highest + 1)
    return convert(_randint(key, at_hand(minval), at_hand(maxval), shape, drawn), dtype)


@functools.partial(jit, static_argnums=(3, 4))
def _randint(key, minval, maxval, shape, dtype):
    """The remainder of twice as many bits as there are in the result, so that no integer is
    noticeably more likely: (high bits · 2ⁿ + low bits) mod span."""
    check_shape("randint", shape, np.shape(minval), np.shape(maxval))
    check_arraylike("randint", minval, maxval)
    minval, maxval = map(_as_integer, (minval, maxval))
    highest = _clipped(jnp.array(dtypes.iinfo(dtype).max, dtype), maxval.dtype)
    beyond = lax.gt(maxval, highest)  # the one bound that `dtype` cannot hold
    minval, maxval = [_clipped(x, dtype) for x in (minval, maxval)]
    minval, maxval = (broadcast_to_rank(x, len(shape)) for x in (minval, maxval))
    n = dtypes.iinfo(dtype).bits
    high, low = (random_bits(k, n, shape) for k in split_key(key))
    span = _span(minval, maxval, beyond, np.dtype(f"uint{n}"))
    base = lax.rem(span.dtype.type(2 ** (n // 2)), span)
    base = lax.rem(lax.mul(base, base), span)  # 2ⁿ mod span
    offset = lax.rem(lax.add(lax.mul(lax.rem(high, span), base), lax.rem(low, span)), span)
    return lax.add(minval, convert(offset, dtype))


def _as_integer(x):
    x = jnp.asarray(x)
    return x if dtypes.issubdtype(x.dtype, np.integer) else x.astype(int)


def _clipped(x, dtype):
    """Integers in another dtype, those that it cannot hold brought to the nearest that it can."""
    ours, theirs = dtypes.iinfo(dtype), dtypes.iinfo(x.dtype)
    least, most = max(int(ours.min), int(theirs.min)), min(int(ours.max), int(theirs.max))
    return convert(jnp.clip(x, constant_like(x, least), constant_like(x, most)), dtype)


def _span(minval, maxval, beyond, unsigned):
    """How many integers there are to choose from: at least one; zero stands for all of them."""
    span = convert(lax.sub(maxval, minval), unsigned)
    span = select(lax.le(maxval, minval), full_like(span, 1), span)
    one_more = beyond & lax.gt(maxval, minval)
    return select(one_more, lax.add(span, unsigned.type(1)), span)


# ----------------------------------------------------------------------------------------------
# Coins


@shardable
def bernoulli(key, p=0.5, shape: Sequence[int] | None = None, mode: str = "low"):
    """Booleans that are true with probability `p`.

    Args:
      key: one key.
      p: a float array.
      shape: the result's shape, to which `p` can be repeated; by default that of `p`.
      mode: "high" draws twice as many bits, which matters for a very small `p`.

    Raises:
      TypeError: `p` is not floating point.
      ValueError: another mode, or a shape that does not fit.

    >>> jax.random.bernoulli(jax.random.key(0), 0.3, (3,)).tolist()
    [False, False, False]
    """
    shape = None if shape is None else canonical_shape(shape)
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    key, dtype = typed_key("bernoulli", key), dtypes.dtype(p)
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    return _bernoulli(key, convert(p, dtype), shape=shape, mode=mode)


@functools.partial(jit, static_argnames=("shape", "mode"))
def _bernoulli(key, p, shape, mode):
    if shape is None:
        shape = p.shape
    check_shape("bernoulli", shape, p.shape)
    if mode == "low":
        return uniform(key, shape, p.dtype) < p
    coarse, fine = uniform(key, (2, *shape), p.dtype)
    return fine * 2.0 ** -dtypes.finfo(p.dtype).nmant < p - coarse


@shardable
def rademacher(key, shape: Sequence[int] = (), dtype=None):
    """Either 1 or -1.

    Args:
      key: one key.
      shape: the result's shape.
      dtype: any numeric dtype; by default an integer.

    >>> jax.random.rademacher(jax.random.key(0), (3,)).tolist()
    [-1, -1, 1]
    """
    key = typed_key("rademacher", key)
    dtype = check_and_canonicalize_user_dtype(int if dtype is None else dtype)
    return _rademacher(key, canonical_shape(shape), dtype)


@functools.partial(jit, static_argnums=(1, 2))
def _rademacher(key, shape, dtype):
    coins = convert(bernoulli(key, 0.5, shape), dtype)
    return convert(2 * coins - 1, dtype)
