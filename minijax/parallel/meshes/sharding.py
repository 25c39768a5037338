"""Chapter 14: shardings, which say what part of an array each device holds.

`PartitionSpec` gives every dimension of an array the axes of a mesh it is split over:

    mesh x=2, y=2:  d0 d1        P("x", "y")   P("x", None)   P(("x", "y"), None)   P(None, None)
                    d2 d3
                                  d0 | d1        d0 d1             d0               d0 d1 d2 d3
                                  ---+---        -----             --
                                  d2 | d3        d2 d3             d1
                                                                   --
                                                                   d2
                                                                   --
                                                                   d3

Everything follows from one table, `Sharding.tiles`: into how many parts each dimension is cut, and
which of the parts each device has. Devices with the same parts hold copies.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ...core.boundary import public
from ...lax.sizes import integers
from .mesh import AbstractMesh, Mesh, is_local
from .partition_spec import UNCONSTRAINED, P, PartitionSpec

Shape = tuple[int, ...]
Index = tuple[slice, ...]


class IndivisibleError(ValueError):
    """A dimension cannot be cut into equal parts."""


class DuplicateSpecError(ValueError):
    """A spec splits two dimensions, or one twice, over the same axis."""


class Sharding:
    """What part of an array each device holds, for arrays of any shape.

    Subclasses define `_device_assignment`, `memory_kind`, `with_memory_kind` and `tiles`.
    """

    memory_kind: str | None

    @property
    def _device_assignment(self) -> tuple[Any, ...]:
        """The devices in the order in which XLA numbers them."""
        raise NotImplementedError(f"{type(self).__name__} does not say which devices it is for.")

    def tiles(self, ndim: int) -> tuple[Shape, tuple[Shape, ...]]:
        """How many parts each dimension is cut into; for each device, which parts it has."""
        raise NotImplementedError(f"{type(self).__name__} does not say how arrays are split.")

    def with_memory_kind(self, kind: str) -> Sharding:
        """This sharding in another memory of its devices."""
        raise NotImplementedError(f"{type(self).__name__} has one memory only.")

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        """Raise ValueError unless arrays of this shape can be split like this at all."""

    @property
    def device_set(self) -> set:
        """The devices."""
        return set(self._device_assignment)

    @property
    def num_devices(self) -> int:
        """How many devices there are."""
        return len(self._device_assignment)

    @property
    def addressable_devices(self) -> set:
        """The devices of this process."""
        return set(self._addressable_device_assignment)

    @cached_property
    def _addressable_device_assignment(self) -> tuple[Any, ...]:
        """The devices of this process, in order."""
        return tuple(filter(is_local, self._device_assignment))

    @property
    def has_addressable_devices(self) -> bool:
        """Whether there is a device of this process."""
        return bool(self._addressable_device_assignment)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices are of this process."""
        return 0 < len(self._addressable_device_assignment) == self.num_devices

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        raise NotImplementedError(f"{type(self).__name__} does not say how arrays are split.")

    @public
    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of the part on each device, of an array of shape `global_shape`.

        Raises:
          ValueError: a dimension cannot be cut into equal parts.
        """
        return _shard_shape(self, integers("shard_shape: global_shape", global_shape))

    def devices_indices_map(self, global_shape: Shape) -> dict[Any, Index]:
        """What each device holds, as an index into the array."""
        return dict(_devices_indices_map(self, tuple(global_shape)))

    def addressable_devices_indices_map(self, global_shape: Shape) -> dict[Any, Index]:
        """What each device of this process holds, as an index into the array."""
        indices = _devices_indices_map(self, tuple(global_shape))
        return {device: indices[device] for device in self._addressable_device_assignment}

    @public
    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether arrays of `ndim` dimensions lie the same way under both."""
        return (self.memory_kind == other.memory_kind
                and self._placement(ndim) == other._placement(ndim))

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        """XLA's object for it, which tools read under JAX's private name."""
        from ...runtime.several_devices import hlo_sharding

        return hlo_sharding(tile_assignment(self, num_dimensions))

    def _placement(self, ndim: int) -> Hashable:
        """What must be equal so that shardings are equivalent."""
        return self._device_assignment, self.tiles(ndim), frozenset()


@lru_cache(4096)
def _shard_shape(sharding: Sharding, shape: Shape) -> Shape:
    parts, _ = sharding.tiles(len(shape))
    for dimension, (size, count) in enumerate(zip(shape, parts, strict=True)):
        if size % count:
            raise IndivisibleError(
                f"Sharding {sharding} implies that array axis {dimension} is partitioned {count} "
                f"times, but the dimension size is {size} (full shape: {shape}, per-dimension "
                f"tiling factors: {list(parts)} should evenly divide the shape). Pad the array, or "
                "split another dimension.")
    return tuple(size // count for size, count in zip(shape, parts, strict=True))


@lru_cache(4096)
def _devices_indices_map(sharding: Sharding, shape: Shape) -> dict[Any, Index]:
    _check_reduced(sharding)
    sizes = _shard_shape(sharding, shape)
    parts, tiles = sharding.tiles(len(shape))
    return {device: tuple(map(_index, tile, sizes, parts))
            for device, tile in zip(sharding._device_assignment, tiles, strict=True)}


def _index(number: int, size: int, count: int) -> slice:
    """Part `number` of a dimension that is cut into `count` parts of this size."""
    return slice(None) if count == 1 else slice(number * size, (number + 1) * size)


def is_unreduced(sharding: Sharding) -> bool:
    """Whether the shards are parts of a sum that is still to be made."""
    return isinstance(sharding, NamedSharding) and bool(sharding.spec.unreduced)


def _check_reduced(sharding: Sharding) -> None:
    if is_unreduced(sharding):
        raise NotImplementedError(f"{sharding}: its shards are parts of a sum, not of an array.")


class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    Args:
      device: the device.
      memory_kind: which of its memories; by default its usual one.

    >>> jax.sharding.SingleDeviceSharding(jax.devices()[0]).devices_indices_map((2, 3))
    {CpuDevice(id=0): (slice(None, None, None), slice(None, None, None))}
    """

    @public
    def __init__(self, device: Any, memory_kind: str | None = None) -> None:
        if not hasattr(device, "process_index"):
            raise TypeError("SingleDeviceSharding: expected a device, such as jax.devices()[0], "
                            f"got {device!r}.")
        self._device = device
        self.memory_kind = _memory_kind(memory_kind, (device,))
        self._hash = hash((device, self.memory_kind))

    @property
    def _device_assignment(self) -> tuple[Any, ...]:
        return (self._device,)

    def tiles(self, ndim: int) -> tuple[Shape, tuple[Shape, ...]]:
        return (1,) * ndim, ((0,) * ndim,)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, kind)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, SingleDeviceSharding) and self._device == other._device
            and self.memory_kind == other.memory_kind)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}{_memory_text(self)})"


@public
def make_single_device_sharding(device: Any, *,
                                memory_kind: str | None = None) -> SingleDeviceSharding:
    """The sharding of arrays on one device: `SingleDeviceSharding(device)`."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


class NamedSharding(Sharding):
    """Dimensions of the array, split over axes of a mesh.

    Args:
      mesh: a `Mesh`, or an `AbstractMesh` to which questions about devices are errors.
      spec: a `PartitionSpec` of its axes.
      memory_kind: which memory of the devices; by default their usual one.

    Raises:
      ValueError: the spec names an axis that the mesh has not, or one axis twice.

    >>> mesh = jax.make_mesh((1, 1), ("x", "y"))
    >>> jax.NamedSharding(mesh, jax.P("x", "y")).shard_shape((8, 6))
    (8, 6)
    """

    mesh: Mesh | AbstractMesh
    spec: PartitionSpec

    @public
    def __init__(self, mesh: Mesh | AbstractMesh, spec: PartitionSpec,
                 memory_kind: str | None = None) -> None:
        _check_spec(mesh, spec)
        self.mesh, self.spec = mesh, spec
        devices = mesh.device_assignment if isinstance(mesh, Mesh) and not mesh.empty else ()
        self.memory_kind = _memory_kind(memory_kind, devices)
        self._hash = hash((mesh, spec, self.memory_kind))

    @property
    def _device_assignment(self) -> tuple[Any, ...]:
        if isinstance(self.mesh, AbstractMesh):
            raise ValueError(f"{self} has no devices, because its mesh is an AbstractMesh.")
        return self.mesh.device_assignment

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    def tiles(self, ndim: int) -> tuple[Shape, tuple[Shape, ...]]:
        return _named_tiles(self.mesh.shape_tuple, self.spec, ndim)

    @cached_property
    def is_fully_replicated(self) -> bool:
        if self.mesh.size == 1:
            return True
        split = math.prod(self.mesh.shape[name] for name in self.spec.all_axes())
        return split == 1 and not self.spec.unreduced

    @property
    def replicated_axes(self) -> frozenset:
        """The axes of the mesh along which devices hold copies."""
        used = self.spec.unreduced | self.spec.reduced | set(self.spec.all_axes())
        return frozenset(self.mesh.axis_names) - used

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        if len(self.spec) > len(aval_shape):
            scalar = " For scalars the PartitionSpec should be P()"
            raise ValueError(f"Sharding {self} is only valid for values of rank at least "
                             f"{len(self.spec)}, but was applied to a value of rank "
                             f"{len(aval_shape)}.{'' if aval_shape else scalar}")

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def update(self, *, mesh: Any = None, spec: Any = None, **memory_kind: Any) -> NamedSharding:
        """This sharding with another mesh, spec (or tuple) or memory kind."""
        spec = self.spec if spec is None else spec
        return NamedSharding(self.mesh if mesh is None else mesh,
                             spec if isinstance(spec, PartitionSpec) else P(*spec),
                             **{"memory_kind": self.memory_kind, **memory_kind})

    def _placement(self, ndim: int) -> Hashable:
        devices = () if isinstance(self.mesh, AbstractMesh) else self._device_assignment
        return devices, self.tiles(ndim), self.spec.unreduced

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, NamedSharding) and self.mesh is other.mesh
            and self.spec is other.spec and self.memory_kind == other.memory_kind)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple:
        return NamedSharding, (self.mesh, self.spec, self.memory_kind)

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{_memory_text(self)})"


def _memory_text(sharding: Sharding) -> str:
    return "" if sharding.memory_kind is None else f", memory_kind={sharding.memory_kind}"


def _memory_kind(kind: str | None, devices: Sequence[Any]) -> str | None:
    """The kind of memory that is meant: by default the usual one of the first local device."""
    device = next((device for device in devices if is_local(device)), None)
    if device is None:
        return kind
    if kind is None:
        return device.default_memory().kind
    kinds = [memory.kind for memory in device.addressable_memories()]
    if kind not in kinds:
        name = device.device_kind
        raise ValueError(f"Could not find memory addressable by device {name}. Device {name} can "
                         f"address the following memory kinds: {', '.join(kinds)}. Got memory "
                         f"kind: {kind}")
    return kind


def check_no_axis_twice(spec: PartitionSpec, argument: str = "NamedSharding spec") -> None:
    """Raise a DuplicateSpecError if two entries of the spec name one axis."""
    names = spec.all_axes()
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise DuplicateSpecError(
            f"A single {argument} specification can map every mesh axis to at most one "
            f"positional dimension, but {spec} has duplicate entries for `{', '.join(twice)}`")


@lru_cache(4096)
def _check_spec(mesh: Mesh | AbstractMesh, spec: PartitionSpec) -> None:
    """Raise ValueError unless the mesh has the axes that the spec names, and it names each once."""
    if not isinstance(spec, PartitionSpec):
        raise TypeError(f"NamedSharding: {spec!r} is no spec; write P('x'), a PartitionSpec.")
    names = spec.all_axes()
    for name in (*names, *spec.unreduced, *spec.reduced):
        if name not in mesh.axis_names:
            raise ValueError(f"Resource axis: {name} of {spec} is not found in mesh: "
                             f"{mesh.axis_names}.")
    check_no_axis_twice(spec)
    if UNCONSTRAINED in spec.partitions and not mesh.auto_axes:
        raise ValueError(f"{spec} leaves a dimension to the compiler, which needs an axis of type "
                         f"Auto, but the types are {mesh.axis_types}.")
    if not (spec.unreduced | spec.reduced) <= set(mesh.explicit_axes):
        raise ValueError(f"{spec}: unreduced and reduced axes must be of type Explicit in {mesh}.")


@lru_cache(4096)
def _named_tiles(axes: tuple[tuple[Any, int], ...], spec: PartitionSpec,
                  ndim: int) -> tuple[Shape, tuple[Shape, ...]]:
    """`Sharding.tiles` of a spec over a mesh with these axes (pairs of name and size)."""
    sizes = dict(axes)
    grid = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
    where = dict(zip(sizes, grid, strict=True))  # each device's coordinate along each axis
    if any(spec.axes_of(dimension) for dimension in range(ndim, len(spec))):
        raise ValueError(f"{spec} splits more dimensions than the {ndim} that there are.")
    parts, tiles = [], np.zeros((ndim, grid.shape[1]), int)
    for dimension in range(ndim):
        names = spec.axes_of(dimension)
        parts.append(math.prod(sizes[name] for name in names))
        for name in names:  # the first name cuts most coarsely: digits of a number
            tiles[dimension] = tiles[dimension] * sizes[name] + where[name]
    return tuple(parts), tuple(map(tuple, tiles.T.tolist()))


# ----------------------------------------------------------------------------------------------
# Shardings in XLA's words


def tile_assignment(sharding: Sharding, ndim: int) -> tuple[Shape, Shape, bool] | None:
    """How a sharding cuts arrays of `ndim` dimensions, as `xla.client.Tiling`: `None` if it does
    not; otherwise the number of tiles in each dimension, the devices' positions in the order of
    the tiles, and whether one more dimension counts the copies of each tile. (Summands that are
    still to be added count as copies: see `is_unreduced`.)
    """
    parts, tiles = sharding.tiles(ndim)
    if math.prod(parts) == 1:
        return None
    order = sorted(range(len(tiles)), key=tiles.__getitem__)  # stable: copies stay in order
    copies = len(tiles) // math.prod(parts)
    return (*parts, *[copies] * (copies > 1)), tuple(order), copies > 1


def spec_of(tiling: tuple[Shape, Shape, bool] | None, mesh: Mesh) -> PartitionSpec | None:
    """The spec over `mesh` that has this tile assignment, or `None`.

    The inverse of `tile_assignment`. The number of a device's tile in a dimension has the device's
    coordinates as digits: one step along an axis changes it by that digit's place value.
    """
    if tiling is None:
        return P()
    dims, order, copied = tiling
    if len(order) != mesh.size:
        return None
    numbers = np.empty((len(dims), len(order)), int)  # of the tile that each device has
    numbers[:, list(order)] = np.indices(dims).reshape(len(dims), -1)
    numbers = numbers[:len(dims) - copied]
    entries = [_axes_by_step(row.reshape(mesh.axis_sizes), mesh) for row in numbers]
    while entries and not entries[-1]:
        entries.pop()
    spec = P(*entries)
    tiles = tuple(map(tuple, numbers.T.tolist()))
    return spec if _named_tiles(mesh.shape_tuple, spec, len(numbers))[1] == tiles else None


def _axes_by_step(numbers: np.ndarray, mesh: Mesh) -> tuple[Any, ...]:
    """The axes along which the number of the tile changes, those of large steps first."""
    steps = {name: int(numbers[tuple(int(name == other) for other in mesh.axis_names)])
             for name, size in mesh.shape_tuple if size > 1}
    return tuple(sorted((name for name in steps if steps[name]), key=lambda name: -steps[name]))


def with_prime_axes(mesh: Mesh) -> Mesh:
    """The same devices in the same order, with axes of prime sizes, named `_0`, `_1` …"""
    sizes = [factor for size in mesh.axis_sizes for factor in _factors(size)]
    return Mesh(mesh.devices.reshape(sizes), tuple([f"_{i}" for i in range(len(sizes))]))


def _factors(n):
    for factor in range(2, n + 1):
        while n % factor == 0:
            yield factor
            n //= factor


def sdy_mesh(mesh: Mesh | AbstractMesh, device_assignment: Sequence[Any] | None = None) -> str:
    """A mesh as Shardy writes it, as `<["x"=4, "y"=2]>`.

    `device_assignment` is the order in which the program numbers its devices, if that may not be
    the mesh's own.
    """
    axes = ", ".join(f"{quoted(name)}={size}" for name, size in mesh.shape_tuple)
    own = getattr(mesh, "device_assignment", None)  # an abstract mesh has none
    if own is None or device_assignment is None or own == tuple(device_assignment):
        return f"<[{axes}]>"
    position = {device: number for number, device in enumerate(device_assignment)}
    return f"<[{axes}], device_ids={[position[device] for device in own]}>"


def sdy_sharding(sharding: Sharding, ndim: int, mesh_name: str) -> str:
    """A sharding as Shardy writes it, as `#sdy.sharding<@mesh, [{"x"}, {}]>`."""
    spec = sharding.spec if isinstance(sharding, NamedSharding) else P()
    dims = ", ".join(_sdy_axes(spec, dimension) for dimension in range(ndim))
    return f"#sdy.sharding<@{mesh_name}, [{dims}]{sdy_sums(sharding)}>"


def sdy_sums(sharding: Sharding) -> str:
    """The axes over which a sum is still to be made, as Shardy writes them after the dimensions."""
    if not isinstance(sharding, NamedSharding) or not sharding.spec.unreduced:
        return ""
    names = [name for name in sharding.mesh.axis_names if name in sharding.spec.unreduced]
    return f", unreduced={{{', '.join(map(quoted, names))}}}"


def _sdy_axes(spec: PartitionSpec, dimension: int) -> str:
    if dimension < len(spec) and spec.partitions[dimension] is UNCONSTRAINED:
        return "{?}"
    return "{" + ", ".join(map(quoted, spec.axes_of(dimension))) + "}"


def quoted(name: Any) -> str:
    """A string of MLIR."""
    return '"' + str(name).replace("\\", "\\\\").replace('"', "\\22") + '"'
