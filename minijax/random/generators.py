"""Chapter 13: keys for XLA's own generator, `lax.rng_bit_generator`.

Its state is four words: two keys of Threefry, side by side. `rbg` makes fresh keys by Threefry, and
leaves only the bits to XLA. `unsafe_rbg` leaves fresh keys to XLA, too, which nobody has examined.
Which bits come out is up to the platform, and of an array of keys, `vmap` uses the first alone.
"""

import math

import numpy as np

from .. import numpy as jnp
from ..core.api import vmap
from ..lax.generators import rng_bit_generator
from .custom import define_prng_impl
from .keys import random_fold_in_p, random_seed_p, register, split_keys, unwrap, wrap
from .threefry_keys import THREEFRY

ROUNDS = 10  # of the generator, whose last output counts: that is to be a hash function


def _seed(seed):
    half = unwrap(random_seed_p.bind(seed, impl=THREEFRY))
    return jnp.concatenate([half, half])


def _in_halves(function):
    """A function of a Threefry key, applied to both halves of a key of four words."""
    def of_four(words, *args):
        halves = wrap(jnp.reshape(words, (2, 2)), THREEFRY)
        return unwrap(function(halves, *args))

    return of_four


def _split(words, shape):
    split = _in_halves(lambda keys: split_keys(keys, shape))
    return jnp.reshape(jnp.moveaxis(split(words), 0, -2), (*shape, 4))


def _fold_in(words, data):
    return jnp.ravel(_in_halves(vmap(random_fold_in_p.bind, (0, None)))(words, data))


def _random_bits(words, bit_width, shape):
    return rng_bit_generator(words, shape, f"uint{bit_width}")[1]


def _unsafe_split(words, shape):
    _, drawn = rng_bit_generator(words, (ROUNDS * math.prod(shape), 4), np.uint32)
    return jnp.reshape(drawn[::ROUNDS], (*shape, 4))


def _unsafe_fold_in(words, data):
    return words ^ rng_bit_generator(_seed(data), (ROUNDS, 4), np.uint32)[1][-1]


RBG = define_prng_impl(key_shape=(4,), seed=_seed, split=_split, random_bits=_random_bits,
                       fold_in=_fold_in, name="rbg", tag="rbg")
UNSAFE_RBG = define_prng_impl(
    key_shape=(4,), seed=_seed, split=_unsafe_split, random_bits=_random_bits,
    fold_in=_unsafe_fold_in, name="unsafe_rbg", tag="urbg")
register(RBG)
register(UNSAFE_RBG)
