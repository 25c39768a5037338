"""Chapter 13: keys for other counter-based generators: Threefry of four words, and Philox.

All are from the paper that Threefry is from. Philox multiplies where Threefry rotates: the high
words of two products, xored with the key and the other words, and the low words as they are. For
each generator, a function scrambles the words of a counter by those of a key; seeds, fresh keys and
bits are what it makes of the counters below.
"""

from __future__ import annotations

import functools
import operator

import numpy as np

from ..core.core import typeof
from ..core.primitives import convert
from ..lax import bitwise
from ..lax.bits import mulhi
from ..lax.cutting import index_in_dim, stack
from ..lax.shaping import broadcast, full_like
from ..runtime.jit import jit
from .custom import define_prng_impl
from .keys import PRNGImpl, register
from .threefry import PARITY, rotate
from .threefry_keys import UINT32, counters, joined

ZERO = np.uint32(0)

# ----------------------------------------------------------------------------------------------
# The generators

MULTIPLIERS = {2: [0xD256D193], 4: [0xD2511F53, 0xCD9E8D57]}  # by the words of the counter
WEYL = [0x9E3779B9, 0xBB67AE85]  # what is added to each word of the key after each round
ROTATIONS = [(10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20)]


def _philox(key, counter):
    """Ten rounds."""
    multipliers = [np.uint32(m) for m in MULTIPLIERS[len(counter)]]
    for round_ in range(10):
        if round_:
            key = [word + np.uint32(weyl) for word, weyl in zip(key, WEYL)]
        products = [*zip(multipliers, counter[::2])]
        high = [mulhi(full_like(x, m), x) for m, x in products][::-1]
        low = [m * x for m, x in products][::-1]
        mixed = [h ^ x ^ word for h, x, word in zip(high, counter[1::2], key)]
        counter = [word for pair in zip(mixed, low) for word in pair]
    return counter


def _threefry_4x32(key, counter):
    """Twenty rounds on two pairs of words, whose second words change places after each."""
    schedule = [*key, functools.reduce(operator.xor, key) ^ np.uint32(PARITY)]
    words = [x + word for x, word in zip(counter, schedule)]
    for round_ in range(20):
        for first, second, distance in zip((0, 2), (1, 3) if round_ % 2 == 0 else (3, 1),
                                           ROTATIONS[round_ % 8]):
            words[first] = words[first] + words[second]
            words[second] = rotate(words[second], distance) ^ words[first]
        if round_ % 4 == 3:
            group = round_ // 4 + 1
            words = [x + schedule[(group + i) % 5] for i, x in enumerate(words)]
            words[3] = words[3] + np.uint32(group)
    return words


# ----------------------------------------------------------------------------------------------
# What they are used for


def _implementation(name: str, tag: str, hash_words, n_key: int, n_counter: int) -> PRNGImpl:
    """Keys of `n_key` words for a generator whose counters have `n_counter`."""
    zeros = [ZERO] * (n_counter - 2)

    def hashed(words, counter):
        key = [index_in_dim(words, i, -1, keepdims=False) for i in range(n_key)]
        shape = np.broadcast_shapes(*(np.shape(x) for x in counter))
        return hash_words(key, [x if np.shape(x) == shape else broadcast(x, shape)
                                for x in counter])

    def new_key(words):
        return stack(words[:n_key], typeof(words[0]).ndim)

    @jit
    def seed(number):
        wide = typeof(number).dtype
        high = bitwise.shift_right_logical(number, wide.type(32))  # 0 if there are but 32 bits
        halves = [convert(high, UINT32), convert(number, UINT32)]
        zero = full_like(halves[0], 0)
        if n_key == n_counter:
            return new_key(hash_words([*halves, zero, zero], [zero] * 4))
        return new_key(hash_words([zero] * n_key, [*halves, *[zero] * len(zeros)]))

    @functools.partial(jit, static_argnums=(1,))
    def split(words, shape):
        return new_key(hashed(words, [*zeros, *counters(shape)]))

    @jit
    def fold_in(words, number):
        return new_key(hashed(words, [*zeros, ZERO, number]))

    @functools.partial(jit, static_argnums=(1, 2))
    def random_bits(words, bit_width, shape):
        drawn = hashed(words, [*counters(shape), *zeros])
        if bit_width < 64:
            return convert(functools.reduce(operator.xor, drawn), np.dtype(f"uint{bit_width}"))
        if n_key < 4:
            return joined(drawn[0], drawn[1])
        return joined(drawn[0] ^ drawn[2], drawn[1] ^ drawn[3])

    return define_prng_impl(key_shape=(n_key,), seed=seed, split=split, random_bits=random_bits,
                            fold_in=fold_in, name=name, tag=tag)


THREEFRY_4X32 = _implementation("threefry4x32", "fry4", _threefry_4x32, 4, 4)
PHILOX_2X32 = _implementation("philox2x32", "phx2", _philox, 1, 2)
PHILOX_4X32 = _implementation("philox4x32", "phx4", _philox, 2, 4)
for _generator in (THREEFRY_4X32, PHILOX_2X32, PHILOX_4X32):
    register(_generator)
