"""Exercises of chapter 13: fill in the stubs, then `python -m minijax learn check 13.1`."""

from __future__ import annotations

from minijax import numpy as jnp, random, vmap

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
    """13.1: the counter for which threefry(key, counter) == block; all three are pairs of ints."""
    raise NotImplementedError


def uniform_at(key, i):
    """13.2: element i of jax.random.uniform for a key and a long vector, as a float.

    `key` is a pair of words, `i` an int below 2**64. Compute only this one. A counter is a pair of
    words, the high one first. The bits are the exclusive or of the block's two words; the upper 23
    of them are the mantissa.
    """
    raise NotImplementedError


def kumaraswamy(key, a, b, shape):
    """13.3: samples of the distribution on [0, 1] whose distribution function is

        F(x) = 1 - (1 - x**a)**b

    for positive floats a and b. Use `random.uniform(key, shape)`, and functions of jnp. The
    samples must be differentiable with respect to a and b.
    """
    raise NotImplementedError


def _shuffle(key, x, axis):
    """13.4: the array `x` with its elements in random order along an axis, or along all of them.

    Each line along the axis gets an order of its own, and each order is equally likely. That is all
    that the library's function does. In yours, `axis` may also be None. Then an element may come to
    any place in the array, and the array keeps its shape. The function is compiled, so do not write
    a Python loop over elements. Of use: `random_bits(key, 32, shape)` (from
    `minijax.random.uniform`), and `lax.sort_key_val(keys, values, dimension)` (`lax` is from
    `minijax`), which sorts both arrays along a dimension by the first, and returns the pair. Equal
    random words hardly matter.
    """
    raise NotImplementedError


def augment(key, images):
    """13.5: each image is flipped with probability 1/2, and gets noise. Repair it.

    `images` has the shape (n, height, width). To flip is to reverse the width. The noise is 0.1
    times a normal number for each pixel. The images must be flipped independently of each other,
    and have independent noise, and the noise must be independent of the flips. What becomes of an
    image must not depend on how many images come after it.
    """
    flip = random.bernoulli(key, 0.5)
    noise = 0.1 * random.normal(key, images.shape[1:])
    return vmap(lambda image: jnp.where(flip, image[:, ::-1], image) + noise)(images)
