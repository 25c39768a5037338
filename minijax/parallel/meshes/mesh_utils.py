"""Chapter 14: in which order the devices fill a mesh.

Within one host any order of CPUs or GPUs is as good as any other, so CPUs keep theirs and GPUs go
by their numbers. (JAX looks at the torus of wires between TPUs, which are out of scope.) What
matters everywhere: between hosts the wires are slower, so the axes of a mesh that communicate most
should lie within a host.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks.sequences import iterable
from ...runtime.devices import devices as all_devices


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *,
                       contiguous_submeshes: bool = False,
                       allow_split_physical_axes: bool = False) -> np.ndarray:
    """Devices as an array that a mesh can be made of.

    Args:
      mesh_shape: the sizes of the mesh's axes; those that communicate most should come last.
      devices: as many devices; by default all there are.
      contiguous_submeshes, allow_split_physical_axes: for TPUs; have no effect.

    Returns:
      A NumPy array of devices with shape `mesh_shape`.

    Raises:
      ValueError: there are not as many devices as the mesh has places.

    >>> from minijax.experimental import mesh_utils
    >>> mesh_utils.create_device_mesh((1, 1), jax.devices()[:1])
    array([[CpuDevice(id=0)]], dtype=object)
    """
    shape = mesh_sizes(mesh_shape, "create_device_mesh")
    devices = all_devices() if devices is None else list(devices)
    if devices and devices[-1].platform == "gpu":
        devices = sorted(devices, key=lambda device: device.id)
    if math.prod(shape) != len(devices):
        raise ValueError(f"create_device_mesh: a mesh of shape {shape} has {math.prod(shape)} "
                         f"places, for {len(devices)} devices. Give as many `devices` as places.")
    return as_object_array(devices).reshape(shape)


def create_hybrid_device_mesh(mesh_shape: Sequence[int], dcn_mesh_shape: Sequence[int],
                              devices: Sequence[Any] | None = None, *,
                              process_is_granule: bool = False,
                              should_sort_granules_by_key: bool = True,
                              allow_split_physical_axes: bool = False) -> np.ndarray:
    """Devices of several granules (hosts), each axis split over granules and within them.

    Args:
      mesh_shape: the mesh within one granule, where communication is fast.
      dcn_mesh_shape: the mesh of granules, of the same rank: axis i of the result has
        `dcn_mesh_shape[i] * mesh_shape[i]` places.
      devices: the devices of all granules; by default all there are.
      process_is_granule: a granule is a process; otherwise it is what the devices call a slice.
      should_sort_granules_by_key: whether granules go by their number, not by first appearance.
      allow_split_physical_axes: for TPUs; has no effect.

    Raises:
      ValueError: there are not as many granules, or devices in one, as places; or the devices do
        not know their granule.
    """
    inner = mesh_sizes(mesh_shape, "create_hybrid_device_mesh")
    outer = mesh_sizes(dcn_mesh_shape, "create_hybrid_device_mesh")
    granules = _granules(all_devices() if devices is None else list(devices),
                         "process_index" if process_is_granule else "slice_index")
    if len(granules) != math.prod(outer):
        raise ValueError(f"create_hybrid_device_mesh: dcn_mesh_shape {outer} has "
                         f"{math.prod(outer)} places, for {len(granules)} granules.")
    numbers = sorted(granules) if should_sort_granules_by_key else list(granules)
    blocks = [create_device_mesh(inner, granules[number]) for number in numbers]
    return np.block(as_object_array(blocks).reshape(outer).tolist())


def mesh_sizes(sizes: Sequence[Any], caller: str) -> tuple[int, ...]:
    """The sizes of a mesh's axes as Python integers."""
    try:
        return tuple(map(int, list(sizes)))
    except (TypeError, ValueError):
        iterable(f"{caller}: the sizes of a mesh's axes", sizes, "a sequence of integers")
        raise ValueError(f"{caller}: the sizes of a mesh's axes must be integers, "
                         f"got {sizes}.") from None


def as_object_array(items: Sequence[Any]) -> np.ndarray:
    """A one-dimensional array of any objects, even of arrays."""
    array = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        array[place] = item
    return array


def _granules(devices: list, attribute: str) -> dict[int, list]:
    """The devices by the number of their granule."""
    if not hasattr(devices[0], attribute):
        raise ValueError(f"create_hybrid_device_mesh: {devices[0]!r} has no {attribute}. "
                         "Pass process_is_granule=True: then a granule is a process.")
    granules: dict[int, list] = {}
    for device in devices:
        granules.setdefault(getattr(device, attribute), []).append(device)
    return granules
