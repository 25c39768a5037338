"""Chapter 14: the memories of a device, by name. On a CPU they are all the host's."""

from __future__ import annotations

import enum
from types import SimpleNamespace


class MemorySpace(enum.Enum):
    """A memory: the device's own, or its host's."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"


memory = SimpleNamespace(Space=MemorySpace)  # `jax.memory`
