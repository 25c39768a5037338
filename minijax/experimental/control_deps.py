"""`jax.experimental.control_deps`: the order in which a compiler schedules operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..foreign import ffi_call


def control_dep(src: Any, dst: Any) -> None:
    """Have the operation that makes `dst` run after that which makes `src`.

    Args:
      src, dst: arrays.
    """
    ffi_call("control_dep", (), has_side_effect=True)(src, dst)


def schedule(ops: Sequence[Any]) -> None:
    """Have the operations that make these arrays run one after the other.

    Args:
      ops: arrays.

    >>> from minijax.experimental.control_deps import schedule
    >>> @jax.jit
    ... def f(x):
    ...     y, z = jnp.sin(x), jnp.cos(x)
    ...     schedule([z, y])
    ...     return y
    >>> f(0.0).item()
    0.0
    """
    for src, dst in zip(ops[:-1], ops[1:]):
        control_dep(src, dst)
