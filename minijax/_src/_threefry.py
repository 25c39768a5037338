"""The functions of `jax._src.random.threefry2x32`. A key is an array of two words for them."""

from typing import Any

# chapter 13
from ..random import key_data, wrap_key_data
from ..random.threefry_keys import THREEFRY


def threefry_seed(seed: Any) -> Any:
    """The words of the key of an integer."""
    return key_data(THREEFRY.seed(seed, THREEFRY))


def threefry_split(key: Any, shape: tuple[int, ...]) -> Any:
    """The words of as many new keys."""
    return key_data(THREEFRY.split(wrap_key_data(key, impl="threefry2x32"), shape))


def threefry_fold_in(key: Any, data: Any) -> Any:
    """The words of the key that a key and a `uint32` make."""
    return key_data(THREEFRY.fold_in(wrap_key_data(key, impl="threefry2x32"), data))


def threefry_random_bits(key: Any, bit_width: int, shape: tuple[int, ...]) -> Any:
    """Random unsigned integers of 8, 16, 32 or 64 bits."""
    return THREEFRY.random_bits(wrap_key_data(key, impl="threefry2x32"), bit_width, shape)
