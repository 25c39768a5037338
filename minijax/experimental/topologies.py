"""`jax.experimental.topologies`: the devices of a machine, as programs are compiled for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..parallel import mesh_utils
from ..parallel.mesh import Mesh
from ..runtime.devices import devices


class TopologyDescription:
    """The devices of a machine, a list."""

    def __init__(self, devices: list[Any]):
        self.devices = devices


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The devices of this machine.

    Args:
      platform: "cpu" or "gpu"; by default, the one that programs run on.

    >>> from minijax.experimental import topologies
    >>> topologies.get_attached_topology().devices == jax.devices()
    True
    """
    return TopologyDescription(devices(platform))


def get_topology_desc(topology_name: str = "", platform: str | None = None,
                      **kwargs: Any) -> TopologyDescription:
    """The devices of another machine, to compile for it: only TPUs and GPUs can be described.

    Raises:
      NotImplementedError: always. minijax compiles for the devices that it runs on.
    """
    raise NotImplementedError(
        f"get_topology_desc: no machine {topology_name!r} of platform {platform!r}, with the "
        f"options {kwargs}, is known here. "
        "minijax compiles for the devices of this machine: use get_attached_topology().")


def make_mesh(topo: TopologyDescription, mesh_shape: Sequence[int], axis_names: tuple[str, ...], *,
              contiguous_submeshes: bool = False) -> Mesh:
    """A mesh of the devices of a machine.

    Args:
      topo: the machine.
      mesh_shape, axis_names: the sizes and names of the mesh's axes.
      contiguous_submeshes: whether devices that are close stay together.
    """
    mesh = mesh_utils.create_device_mesh(mesh_shape, [*topo.devices],
                                         contiguous_submeshes=contiguous_submeshes)
    return Mesh(mesh, axis_names)
