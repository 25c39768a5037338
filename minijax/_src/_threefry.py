"""What `jax._src.random.threefry2x32` has besides the primitive: Threefry on the words of keys."""

from __future__ import annotations

# chapter 13
from collections.abc import Sequence
from typing import Any

from ..random import bits, fold_in, key, key_data, split, wrap_key_data


def _key(words: Any) -> Any:
    return wrap_key_data(words, impl="threefry2x32")


def threefry_seed(seed: Any) -> Any:
    """The words of the key with this seed, `uint32[2]`."""
    return key_data(key(seed, impl="threefry2x32"))


def threefry_split(key: Any, shape: Sequence[int]) -> Any:
    """The words of new keys, `uint32[*shape, 2]`."""
    return key_data(split(_key(key), tuple(shape)))


def threefry_fold_in(key: Any, data: Any) -> Any:
    """The words of the key that a key and a number make."""
    return key_data(fold_in(_key(key), data))


def threefry_random_bits(key: Any, bit_width: int, shape: Sequence[int]) -> Any:
    """Random unsigned integers of 8, 16, 32 or 64 bits."""
    return bits(_key(key), tuple(shape), f"uint{bit_width}")
