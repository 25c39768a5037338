"""Chapter 13: ways to make random bits that users define."""

from collections.abc import Callable

import numpy as np

from .. import numpy as jnp
from ..core.api import vmap
from ..lax.sizes import canonical_shape
from .key_functions import resolve_implementation
from .keys import PRNGImpl, impl_of, random_seed_p, unwrap, wrap
from .threefry import threefry2x32_p


def define_prng_impl(*, key_shape: tuple[int, ...], seed: Callable, split: Callable,
                     random_bits: Callable, fold_in: Callable, name: str = "<unnamed>",
                     tag: str = "?") -> PRNGImpl:
    """An implementation of keys of one's own, for `random.key(seed, impl=…)`.

    Args:
      key_shape: the shape of the words of one key. Keys of more than four words are for eager
        programs only: XLA has no numbers of that size.
      seed: `(integer) -> data`, the words of a key, `uint32` of `key_shape`.
      split: `(data, shape) -> data` of keys of this shape.
      random_bits: `(data, bit_width, shape) -> ` unsigned integers of so many bits.
      fold_in: `(data, uint32 scalar) -> data`.
      name, tag: for messages and for jaxprs.

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
    key_shape = canonical_shape(key_shape)

    def seeds_to_keys(seeds, impl):
        return wrap(_for_each(seed, 0, seeds), impl)

    def split_keys(keys, shape):
        return _of_keys(lambda data: split(data, shape), keys, to_keys=True)

    def bits_of_keys(keys, bit_width, shape):
        return _of_keys(lambda data: random_bits(data, bit_width, shape), keys, to_keys=False)

    def fold_into_keys(keys, data):
        words = _for_each_pair(fold_in, np.shape(keys), np.shape(data))(unwrap(keys), data)
        return wrap(words, impl_of(keys))

    return PRNGImpl(key_shape, name, tag, seeds_to_keys, split_keys, bits_of_keys, fold_into_keys)


def _of_keys(function, keys, to_keys: bool):
    """A function of the words of one key, applied to those of each."""
    out = _for_each(function, len(impl_of(keys).key_shape), unwrap(keys))
    return wrap(out, impl_of(keys)) if to_keys else out


def _for_each(function, ndim, x):
    """`vmap` over all dimensions of `x` but the last `ndim`."""
    for _ in range(np.ndim(x) - ndim):
        function = vmap(function)
    return function(x)


def _for_each_pair(function, keys_shape, data_shape):
    """`vmap` over keys and numbers of shapes that broadcast. What has one element along a
    dimension is not mapped there: XLA's generator would draw other bits."""
    rank = max(len(keys_shape), len(data_shape))
    shapes = [shape or (1,) * rank for shape in (keys_shape, data_shape)]
    keep = [bool(keys_shape), bool(data_shape)]
    for sizes in zip(*(shape[::-1] for shape in shapes)):
        function = _mapped_pair(function, sizes, keep)
    return function


def _mapped_pair(function, sizes, keep):
    """`function` of one more dimension, of these two sizes. Operands not in `keep` are scalars."""
    alone = [n == 1 and max(sizes) > 1 for n in sizes]
    in_axes = [None if is_alone or not kept else 0 for is_alone, kept in zip(alone, keep)]

    def mapped(*operands):
        operands = [x[0] if is_alone and kept else x
                    for x, is_alone, kept in zip(operands, alone, keep)]
        return vmap(function, in_axes)(*operands)

    return mapped


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
