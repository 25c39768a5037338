"""Chapter 14: the memories of a device, by name. On a CPU they are all the host's.

A sharding names one by its kind. Arrays are put there by `device_put`, and the results of a program
by `out_shardings`. Types say it, as `f32<host>[8]`, and the operands of an operation must agree.
"""

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


def space_of_kind(kind: str | None) -> MemorySpace:
    """The memory that a kind of memory of a sharding names."""
    return MemorySpace.Host if kind == "pinned_host" else MemorySpace.Device


memory = SimpleNamespace(Space=MemorySpace)  # `jax.memory`
