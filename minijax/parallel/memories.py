"""Chapter 14: the memories of a device, by name. On a CPU they are all the host's.

A sharding names one by its kind. Arrays are put there by `device_put`, and the results of a program
by `out_shardings`. Types do not say it, as they do in JAX: a program's other results are in the
usual memory, wherever its arguments are.
"""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any


class MemorySpace(enum.Enum):
    """A memory: the device's own, or its host's."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


def is_elsewhere(sharding: Any) -> bool:
    """Whether a sharding is in another memory than the usual one of its devices."""
    kind = None if sharding is None else sharding.memory_kind
    return kind is not None and kind != sharding.with_memory_kind(None).memory_kind


memory = SimpleNamespace(Space=MemorySpace)  # `jax.memory`
