"""Chapter 16: `jax.experimental.random`: random numbers from a generator that has a state.

The state is the number of draws, in a reference (`jax.new_ref`). Each draw uses a new key, made of
the generator's key and that number. So a draw in a compiled function, or in a loop, differs from
the one before. A generator may be where a reference may be: functions that are transformed take
it as an argument or close over it, and do not return it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import numpy as jnp
from .. import random
from ..core.core import eval_trace, state
from ..pytree.registration import register_dataclass
from ..random.keys import is_key_array
from ..state.functions import addupdate, new_ref
from ..state.refs import is_ref

Size = int | Sequence[int] | None


def stateful_rng(seed: Any = None, *, impl: str | None = None) -> StatefulPRNG:
    """A generator of random numbers with a state, like `numpy.random.default_rng`.

    Args:
      seed: an integer scalar, as for `jax.random.key`. Without one the operating system is asked
        for a random one, outside of transformed functions.
      impl: the name of an implementation of keys, as for `jax.random.key`.

    Raises:
      TypeError: the seed is not an integer scalar, or is left out in a transformed function.

    >>> rng = stateful_rng(42)
    >>> rng.uniform(), rng.uniform()
    (Array(0.5302608, dtype=float32), Array(0.72766423, dtype=float32))
    >>> draw = jax.jit(rng.uniform)
    >>> draw(), draw()
    (Array(0.6672406, dtype=float32), Array(0.3890121, dtype=float32))
    """
    if seed is None:
        if state.trace is not eval_trace:
            raise TypeError("stateful_rng needs a seed in a transformed function: a random one "
                            "would be the same in all calls of the compiled program.")
        seed = secrets.randbits(31)
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(0))


@register_dataclass
@dataclass(frozen=True, slots=True)
class StatefulPRNG:
    """A generator of random numbers, which `stateful_rng` makes.

    Attributes:
      _base_key: a new-style key; or an array of keys, in a generator to map over.
      _counter: a reference to integers of the same shape, the number of draws from each key.

    Raises:
      ValueError: the attributes are something else.
    """

    _base_key: Any
    _counter: Any

    def __post_init__(self):
        key, counter = self._base_key, self._counter
        if not is_key_array(key):
            raise ValueError(f"StatefulPRNG: _base_key must be a typed PRNG key, as "
                             f"`jax.random.key` makes it, got {key!r}.")
        if not is_ref(counter):
            raise ValueError(f"StatefulPRNG: _counter must be a reference, as `jax.new_ref(0)` "
                             f"makes it, got {counter!r}.")

    def key(self, shape: int | Sequence[int] = ()) -> Any:
        """A new key, independent of all others; or an array of keys of a shape.

        Raises:
          ValueError: the generator is one of those that `split` makes, outside of `vmap`.

        >>> jax.random.key_data(stateful_rng(0).key())
        Array([1797259609, 2579123966], dtype=uint32)
        """
        if self._base_key.shape:
            raise ValueError("A generator that `split` has made cannot be used as a whole. Map a "
                             "function over it, by `jax.vmap`.")
        key = random.fold_in(self._base_key, self._counter[...])
        addupdate(self._counter, ..., 1)
        return random.split(key, _shape(shape)) if _shape(shape) else key

    def random(self, size: Size = None, dtype: Any = float) -> Any:
        """Floats drawn from [0, 1): `size` is the result's shape, `()` by default, and `dtype` a
        float dtype.

        Raises:
          ValueError: another dtype.

        >>> stateful_rng(0).random(2)
        Array([0.8423141 , 0.18237865], dtype=float32)
        """
        return random.uniform(self.key(), () if size is None else _shape(size), dtype)

    def uniform(self, low: Any = 0, high: Any = 1, size: Size = None, *, dtype: Any = float) -> Any:
        """Floats drawn from [low, high).

        Args:
          low, high: numbers or arrays, broadcast to the result's shape.
          size: this shape; by default that of `low` and `high` together.
          dtype: a float dtype.

        Raises:
          ValueError: another dtype, or shapes that do not broadcast.

        >>> stateful_rng(0).uniform(1, 2, 2)
        Array([1.8423141, 1.1823786], dtype=float32)
        """
        return random.uniform(self.key(), _size(size, low, high), dtype, low, high)

    def normal(self, loc: Any = 0, scale: Any = 1, size: Size = None, *, dtype: Any = float) -> Any:
        """Floats of the normal distribution.

        Args:
          loc, scale: the mean and the standard deviation, numbers or arrays, broadcast to the
            result's shape.
          size: this shape; by default that of `loc` and `scale` together.
          dtype: a float or complex dtype.

        Raises:
          ValueError: another dtype.
          TypeError: shapes that do not broadcast.

        >>> stateful_rng(0).normal(1, 2, 2)
        Array([ 3.0080285, -0.8126744], dtype=float32)
        """
        draws = random.normal(self.key(), _size(size, loc, scale), dtype)
        return jnp.asarray(loc, draws.dtype) + jnp.asarray(scale, draws.dtype) * draws

    def integers(self, low: Any, high: Any = None, size: Size = None, *, dtype: Any = int) -> Any:
        """Integers drawn from [low, high), or from [0, low) if there is no `high`.

        Args:
          low, high: integers or arrays of them, broadcast to the result's shape.
          size: this shape; by default that of `low` and `high` together.
          dtype: an integer dtype.

        Raises:
          TypeError: another dtype.

        >>> stateful_rng(0).integers(0, 10, 3)
        Array([1, 1, 7], dtype=int32)
        """
        low, high = (0, low) if high is None else (low, high)
        return random.randint(self.key(), _size(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """One generator that stands for several, to map over.

        Args:
          num: how many, or the shape of the array of their keys.

        >>> jax.vmap(lambda rng, x: x + rng.uniform())(stateful_rng(123).split(3), jnp.zeros(3))
        Array([0.35525954, 0.21937883, 0.5336956 ], dtype=float32)
        """
        keys = self.key(num)
        return StatefulPRNG(keys, new_ref(jnp.zeros(keys.shape, int)))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """`n_children` generators, independent of this one and of each other.

        >>> [rng.integers(0, 10, 2).tolist() for rng in stateful_rng(123).spawn(2)]
        [[4, 5], [2, 1]]
        """
        return [StatefulPRNG(key, new_ref(0)) for key in self.key(n_children)]


def _shape(size):
    return (size,) if np.ndim(size) == 0 else tuple(size)


def _size(size, *args):
    """The shape that is asked for, or that these have together."""
    return jnp.broadcast_shapes(*map(np.shape, args)) if size is None else _shape(size)
