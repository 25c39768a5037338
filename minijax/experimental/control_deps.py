"""`jax.experimental.control_deps`: the order in which a compiler schedules operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..foreign import ffi_call


def control_dep(src: Any, dst: Any) -> None:
    """Have the operation that makes `dst` run after that which makes `src`.

    Args:
      src, dst: arrays. Compilers for CPUs do not know this, and refuse the program.
    """
    ffi_call("control_dep", (), has_side_effect=True)(src, dst)


def schedule(ops: Sequence[Any]) -> None:
    """Have the operations that make these arrays run one after the other.

    Args:
      ops: arrays.
    """
    for src, dst in zip(ops[:-1], ops[1:]):
        control_dep(src, dst)
