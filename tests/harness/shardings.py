"""XLA's own shardings, under JAX's private names."""

from __future__ import annotations

# chapter 14
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.parallel.meshes.sharding import NamedSharding, Sharding, _memory_kind
from minijax.parallel.programs.explicit_axes import explicit_sharding
from minijax.runtime.lib import xla_client


def is_hlo_sharding_replicated(hc: Any) -> bool:
    """Whether all devices hold all of an array."""
    return hc.num_devices() == 1 or hc.is_replicated()


def are_hlo_shardings_equal(hc1: Any, hc2: Any) -> bool:
    """Whether two shardings are the same for all arrays."""
    both_whole = is_hlo_sharding_replicated(hc1) and is_hlo_sharding_replicated(hc2)
    return hc1 is hc2 or both_whole or hc1 == hc2


class GSPMDSharding(Sharding):
    """A sharding that says in XLA's words how arrays are split.

    Args:
      devices: the devices in the order in which XLA numbers them.
      op_sharding: a sharding of XLA's, or its message.
      memory_kind: the memory of the devices; `None` for their own.
    """

    def __init__(self, devices: Sequence[Any], op_sharding: Any, *,
                 memory_kind: str | None = None):
        is_message = isinstance(op_sharding, xla_client.OpSharding)
        self._hlo_sharding = (
            xla_client.HloSharding.from_proto(op_sharding) if is_message else op_sharding)
        self._devices = tuple(devices)
        self.memory_kind = _memory_kind(memory_kind, self._devices)

    @classmethod
    def get_replicated(cls, devices: Sequence[Any], *,
                       memory_kind: str | None = None) -> GSPMDSharding:
        """The sharding of arrays that all devices hold whole."""
        return cls(devices, xla_client.HloSharding.replicate(), memory_kind=memory_kind)

    @property
    def _device_assignment(self) -> tuple[Any, ...]:
        return self._devices

    @property
    def is_fully_replicated(self) -> bool:
        return is_hlo_sharding_replicated(self._hlo_sharding)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self._hlo_sharding

    def with_memory_kind(self, kind: str) -> GSPMDSharding:
        return GSPMDSharding(self._devices, self._hlo_sharding, memory_kind=kind)

    def tiles(self, ndim: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        if self.is_fully_replicated:
            return (1,) * ndim, ((0,) * ndim,) * len(self._devices)
        sizes = self._hlo_sharding.tile_assignment_dimensions()
        order = np.array(self._hlo_sharding.tile_assignment_devices())
        places = np.stack(np.unravel_index(np.argsort(order), sizes), -1)[:, :ndim]
        return tuple(sizes[:ndim]), tuple(map(tuple, places.tolist()))

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, GSPMDSharding) and self._devices == other._devices
                and self.memory_kind == other.memory_kind
                and are_hlo_shardings_equal(self._hlo_sharding, other._hlo_sharding))

    def __hash__(self) -> int:
        return hash((self._devices, self.memory_kind,
                     self.is_fully_replicated or self._hlo_sharding))

    def __repr__(self) -> str:
        memory = "" if self.memory_kind is None else f", memory_kind={self.memory_kind}"
        return f"GSPMDSharding({self._hlo_sharding!r}{memory})"


def canonicalize_sharding(sharding: Any, api_name: str, check_mesh_consistency: bool = True
                          ) -> NamedSharding | None:
    """What a user wrote for a sharding over axes of type Explicit, on an abstract mesh; `None` if
    it is over no axes.

    With `check_mesh_consistency`, the mesh has to be the one in force, if there is one.
    """
    if sharding is None or isinstance(sharding, NamedSharding) and sharding.mesh.empty:
        return None
    sharding = explicit_sharding(sharding, api_name, check_mesh_consistency)
    return NamedSharding(sharding.mesh.abstract_mesh, sharding.spec)


def common_devices_indices_map(s: Sharding, global_shape: tuple[int, ...]) -> dict:
    """For each device the part of an array of this shape that it holds."""
    return s.devices_indices_map(global_shape)


@dataclasses.dataclass(kw_only=True, frozen=True, slots=True)
class SdyDim:
    """Over which axes a dimension is split, and whether XLA may split it further."""

    axes: tuple[str, ...]
    is_open: bool

    replace = dataclasses.replace

    def __repr__(self) -> str:
        return f"SdyDim({_dimension_text(self)})"


def _dimension_text(dim: SdyDim) -> str:
    return "{" + ", ".join([*map(repr, dim.axes), *["?"] * dim.is_open]) + "}"


@dataclasses.dataclass(kw_only=True, frozen=True, slots=True)
class SdyArray:
    """How each dimension of an array is split over the axes of a mesh."""

    mesh_shape: tuple[tuple[str, int], ...] | None
    dim_shardings: tuple[SdyDim, ...]
    logical_device_ids: tuple[int, ...] | None = None
    replicated_axes: frozenset[str] = frozenset()
    unreduced_axes: frozenset[str] = frozenset()

    replace = dataclasses.replace
