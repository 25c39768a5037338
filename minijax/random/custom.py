"""Chapter 13: ways to make random bits that users define."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from .. import numpy as jnp
from ..core.api import vmap
from .key_functions import resolve_implementation
from .keys import PRNGImpl, impl_of, random_seed_p, random_unwrap_p, random_wrap_p
from .threefry import threefry2x32_p


def define_prng_impl(*, key_shape: tuple[int, ...], seed: Callable, split: Callable,
                     random_bits: Callable, fold_in: Callable, name: str = "<unnamed>",
                     tag: str = "?") -> PRNGImpl:
    """An implementation of keys of one's own, for `random.key(seed, impl=…)`.

    Args:
      key_shape: `(2,)`: a key consists of two words.
      seed: `(integer) -> data`, the words of a key, `uint32` of `key_shape`.
      split: `(data, shape) -> data` of keys of this shape.
      random_bits: `(data, bit_width, shape) -> ` unsigned integers of so many bits.
      fold_in: `(data, uint32 scalar) -> data`.
      name, tag: for messages and for jaxprs.

    Raises:
      NotImplementedError: another `key_shape`.

    >>> def multiples(data, shape):
    ...     return jnp.arange(np.prod(shape), dtype="uint32").reshape(shape) * data[1] + data[0]
    >>> impl = define_prng_impl(
    ...     key_shape=(2,), seed=lambda n: jnp.full(2, n, "uint32"),
    ...     split=lambda data, shape: multiples(data, (*shape, 2)),
    ...     random_bits=lambda data, width, shape: multiples(data, shape),
    ...     fold_in=lambda data, n: data + n, name="poor", tag="poor")
    >>> jax.random.bits(jax.random.key(3, impl=impl), (3,)).tolist()
    [3, 6, 9]
    """
    if tuple(key_shape) != (2,):
        raise NotImplementedError(f"keys of shape {key_shape}: they must have two words, (2,)")

    def seeds_to_keys(seeds, impl):
        return random_wrap_p.bind(_for_each(seed, 0, seeds), impl=impl)

    def split_keys(keys, shape):
        return _of_keys(functools.partial(split, shape=shape), keys, to_keys=True)

    def bits_of_keys(keys, bit_width, shape):
        return _of_keys(lambda data: random_bits(data, bit_width, shape), keys, to_keys=False)

    def fold_into_keys(keys, data):
        return _of_keys(fold_in, *jnp.broadcast_arrays(keys, data), to_keys=True)

    return PRNGImpl(name, tag, seeds_to_keys, split_keys, bits_of_keys, fold_into_keys)


def _of_keys(function, keys, *others, to_keys: bool):
    """A function of the words of one key, applied to those of each."""
    out = _for_each(function, 1, random_unwrap_p.bind(keys), *others)
    return random_wrap_p.bind(out, impl=impl_of(keys)) if to_keys else out


def _for_each(function, ndim, first, *others):
    """`vmap` over all dimensions but the last `ndim` of the first argument."""
    for _ in range(np.ndim(first) - ndim):
        function = vmap(function)
    return function(first, *others)


def random_seed(seeds, impl):
    """Keys made of an array of seeds.

    Args:
      seeds: an integer array of any shape.
      impl: an implementation, or its name.
    """
    seeds = jnp.asarray(np.int64(seeds) if isinstance(seeds, int) else seeds)
    return random_seed_p.bind(seeds, impl=resolve_implementation(impl))


def seed_with_impl(impl, seed):
    """`random_seed` of one seed."""
    return random_seed(seed, impl)


def threefry_2x32(keypair, count):
    """Threefry of the numbers in an array, each of the first half paired with one of the second.

    Args:
      keypair: the two words of a key.
      count: a `uint32` array.

    Returns:
      an array like `count`.

    Raises:
      TypeError: other dtypes.

    >>> threefry_2x32(jax.random.PRNGKey(0), jnp.arange(2, dtype="uint32")).tolist()
    [928981903, 3453687069]
    """
    numbers = jnp.ravel(count)
    n = len(numbers)
    halves = jnp.split(jnp.concatenate([numbers, jnp.zeros(n % 2, numbers.dtype)]), 2)
    words = jnp.concatenate(threefry2x32_p.bind(*keypair, *halves))
    return jnp.reshape(words[:n], np.shape(count))
