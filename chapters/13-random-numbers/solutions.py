"""Solutions of chapter 13."""

from __future__ import annotations

from minijax import lax, numpy as jnp, random, vmap
from minijax.random.uniform import random_bits

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
WORD = 2 ** 32


def rotate(x, r):
    """A word, rotated to the left."""
    return (x << r | x >> (32 - r)) % WORD


def threefry(key, counter):
    """The chapter's function: two words from a key and a counter, which are pairs of words."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ PARITY)
    a, b = (counter[0] + key[0]) % WORD, (counter[1] + key[1]) % WORD
    for group in range(5):
        for r in ROTATIONS[group % 2]:
            a = (a + b) % WORD
            b = rotate(b, r) ^ a
        a = (a + schedule[(group + 1) % 3]) % WORD
        b = (b + schedule[(group + 2) % 3] + group + 1) % WORD
    return a, b


def threefry_inverse(key, block):
    """Each step undone, the last one first."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ PARITY)
    a, b = block
    for group in reversed(range(5)):
        a = (a - schedule[(group + 1) % 3]) % WORD
        b = (b - schedule[(group + 2) % 3] - group - 1) % WORD
        for r in reversed(ROTATIONS[group % 2]):
            b = rotate(b ^ a, 32 - r)
            a = (a - b) % WORD
    return (a - key[0]) % WORD, (b - key[1]) % WORD


def uniform_at(key, i):
    """The mantissa as a fraction."""
    a, b = threefry(key, (i >> 32, i % WORD))
    return ((a ^ b) >> 9) / 2 ** 23


def kumaraswamy(key, a, b, shape):
    """F(x) = u, solved for x."""
    u = random.uniform(key, shape)
    return (1.0 - (1.0 - u) ** (1.0 / b)) ** (1.0 / a)


def _shuffle(key, x, axis):
    """Sorted by random words; all axes are one line."""
    if axis is None:
        return _shuffle(key, x.reshape(-1), 0).reshape(x.shape)
    _, shuffled = lax.sort_key_val(random_bits(key, 32, x.shape), x, axis)
    return shuffled


def augment(key, images):
    """A key for each image, by its number; of that, one for the flip and one for the noise."""

    def one(i, image):
        for_flip, for_noise = random.split(random.fold_in(key, i))
        flipped = jnp.where(random.bernoulli(for_flip, 0.5), image[:, ::-1], image)
        return flipped + 0.1 * random.normal(for_noise, image.shape)

    return vmap(one)(jnp.arange(len(images)), images)
