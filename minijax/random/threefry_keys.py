"""Chapter 13: what Threefry makes of keys: other keys, and random bits.

A key is the key of the hash function, the counter says which bits are wanted. Two words come out of
each block: a new key, or 32 bits when they are combined, or 64.
"""

import math

import numpy as np

from ..core.array import Array
from ..core.core import ShapedArray, typeof
from ..core.primitives import convert
from ..lax import bitwise, elementwise as lax
from ..lax.cutting import concatenate, index_in_dim, slice_in_dim
from ..lax.selection import select
from ..lax.shaping import full_like, iota_p, reshape
from ..lax.stacking import stack
from ..runtime.dispatch import apply_primitive
from ..settings import enable_x64
from .keys import (
    KeyTy,
    PRNGImpl,
    mode,
    random_bits_p,
    random_split_p,
    random_unwrap_p,
    random_wrap_p,
    register,
)
from .settings import threefry_partitionable
from .threefry import MASK, integer_rounds, numbered_blocks, threefry2x32_p

UINT32 = np.dtype(np.uint32)


def _words(keys):
    """The two words of each key."""
    data = random_unwrap_p.bind(keys)
    return [index_in_dim(data, i, -1, keepdims=False) for i in (0, 1)]


def _from_words(word0, word1):
    return random_wrap_p.bind(stack([word0, word1], typeof(word0).ndim), impl=THREEFRY)


def _seed(seeds, impl):
    """The key of a seed is the seed, as 64 bits with the high word first."""
    dtype = typeof(seeds).dtype
    if isinstance(seeds, np.integer):
        n = int(seeds) % 2 ** (64 if dtype.itemsize == 8 else 32)
        return Array(np.uint64(n >> 32 | (n & MASK) << 32), ShapedArray((), KeyTy(impl)))
    low = convert(seeds, UINT32)
    if dtype.itemsize < 8:
        return _from_words(full_like(low, 0), low)
    high = bitwise.shift_right_logical(seeds, dtype.type(32))
    return _from_words(convert(high, UINT32), low)


# ----------------------------------------------------------------------------------------------
# Each block for itself


def counters(shape):
    """0, 1, 2 … in row-major order, as the high and the low words of 64-bit numbers."""
    size = math.prod(shape)
    if size <= 2**32:
        low = iota_p.bind(dtype=np.dtype(np.uint32), shape=(size,), dimension=0)
        return np.uint32(0), reshape(low, shape)
    wide = iota_p.bind(dtype=np.dtype(np.uint64), shape=(size,), dimension=0)
    with enable_x64(True):
        words = bitwise.shift_right_logical(wide, np.uint64(32)), wide
    return [reshape(convert(word, UINT32), shape) for word in words]


def _blocks(keys, shape):
    """Two random words for each key and each position in `shape`, which is the counter."""
    keys_shape = typeof(keys).shape
    with_positions = keys_shape + (1,) * len(shape)
    key_words = [reshape(word, with_positions) for word in _words(keys)]
    high, low = counters((1,) * len(keys_shape) + shape)
    return threefry2x32_p.bind(*key_words, high, low)


def _split(keys, shape):
    number = math.prod(shape)
    if type(keys) is Array and number * keys.aval.size >= MANY:
        many = apply_primitive(random_split_p, keys, shape=(number,), **mode())
        return reshape(many, keys.aval.shape + shape)
    if not threefry_partitionable.value:
        return _old_split(keys, shape)
    if not _is_scalar(keys):
        return _from_words(*_blocks(keys, shape))
    word0, word1 = numbered_blocks(*_two_words(keys), number)
    value = np.stack([word0, word1], -1).view(np.uint64).reshape(shape)
    return Array(value, ShapedArray(shape, keys.aval.dtype))


def _fold_in(keys, data):
    if _is_scalar(keys) and typeof(data) == ShapedArray((), np.uint32) and type(data) is Array:
        word0, word1 = integer_rounds(*_two_words(keys), 0, int(data))
        return Array(np.uint64(word0 | word1 << 32), keys.aval)
    return _from_words(*threefry2x32_p.bind(*_words(keys), np.uint32(0), data))


def _is_scalar(x) -> bool:
    return type(x) is Array and not x.aval.ndim


def _two_words(key: Array) -> tuple[int, int]:
    words = int(key._numpy())
    return words & MASK, words >> 32


MANY = 10_000  # elements from which on it pays to compile


def _random_bits(keys, bit_width, shape):
    if type(keys) is Array and math.prod(shape) * keys.aval.size >= MANY:
        return apply_primitive(random_bits_p, keys, bit_width=bit_width, shape=shape, **mode())
    if not threefry_partitionable.value:
        return _old_bits(keys, bit_width, shape)
    dtype = np.dtype(f"uint{bit_width}")
    if _is_scalar(keys) and bit_width < 64:
        word0, word1 = numbered_blocks(*_two_words(keys), math.prod(shape))
        bits = (word0 ^ word1).astype(dtype).reshape(shape)
        return Array(bits, ShapedArray(shape, dtype))
    word0, word1 = _blocks(keys, shape)
    if bit_width < 64:
        return convert(bitwise.bitwise_xor(word0, word1), dtype)
    return joined(word0, word1)


def joined(high, low):
    """Two words as one of 64 bits."""
    wide = np.dtype(np.uint64)
    high = bitwise.shift_left(convert(high, wide), np.uint64(32))
    return bitwise.bitwise_or(high, convert(low, wide))


# ----------------------------------------------------------------------------------------------
# As in old releases: numbers in two halves, each number of the first beside one of the second as
# counter; all first words come before all second ones. To find one, its partner must be known.


def _old_words(keys, n):
    """`n` random words for each key."""
    keys_shape, half = typeof(keys).shape, (n + 1) // 2
    first = iota_p.bind(dtype=np.dtype(np.uint32), shape=(half,), dimension=0)
    second = lax.add(first, np.uint32(half))
    second = select(lax.lt(second, np.uint32(n)), second, full_like(second, 0))
    key_words = [reshape(word, (*keys_shape, 1)) for word in _words(keys)]
    counters = [reshape(x, (1,) * len(keys_shape) + (half,)) for x in (first, second)]
    words = concatenate(threefry2x32_p.bind(*key_words, *counters), len(keys_shape))
    return slice_in_dim(words, 0, n, axis=len(keys_shape))


def _old_split(keys, shape):
    words = _old_words(keys, 2 * math.prod(shape))
    return random_wrap_p.bind(reshape(words, (*typeof(keys).shape, *shape, 2)), impl=THREEFRY)


def _old_bits(keys, bit_width, shape):
    keys_shape, size = typeof(keys).shape, math.prod(shape)
    words = _old_words(keys, -(-bit_width * size // 32))
    axis = len(keys_shape)
    if bit_width == 64:
        halves = (slice_in_dim(words, i * size, (i + 1) * size, axis=axis) for i in (0, 1))
        bits = joined(*halves)
    elif bit_width == 32:
        bits = words
    else:  # the bytes of each word, the low ones first
        shifts = np.arange(0, 32, bit_width, dtype=np.uint32)
        parts = words[..., None] >> shifts
        flat = reshape(parts, (*keys_shape, words.shape[-1] * len(shifts)))
        bits = convert(slice_in_dim(flat, 0, size, axis=axis), np.dtype(f"uint{bit_width}"))
    return reshape(bits, (*keys_shape, *shape))


THREEFRY = PRNGImpl((2,), "threefry2x32", "fry", _seed, _split, _random_bits, _fold_in)
register(THREEFRY)
