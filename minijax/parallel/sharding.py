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

Everything follows from one table, `Sharding.tiling`: into how many parts each dimension is cut, and
which of the parts each device has. Devices with the same parts hold copies.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from functools import cached_property, lru_cache
from typing import Any, NoReturn

import numpy as np

from .mesh import AbstractMesh, Immutable, Mesh, interned, is_local

Shape = tuple[int, ...]
Index = tuple[slice, ...]


# ----------------------------------------------------------------------------------------------
# Partition specs


class _Unconstrained:
    """The entry of a spec that leaves a dimension to the compiler."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


class PartitionSpec(Immutable):
    """Which axes of a mesh each dimension of an array is split over. Its short name is `P`.

    It is a leaf of pytrees, and equal specs are one object.

    Args:
      partitions: for each dimension the name of an axis, a tuple of names (the first cuts it most
        coarsely), `None` (not split), or `P.UNCONSTRAINED` (the compiler decides). Dimensions
        beyond the last entry are not split.
      unreduced: axes over which the shards are parts of a sum that is still to be made.
      reduced: axes over which the cotangent is such a sum.

    Raises:
      ValueError: a tuple in a tuple; an axis that is at once split over and (un)reduced.
      TypeError: `unreduced` or `reduced` is no set.

    >>> jax.P("x", None, ("y", "z"))
    P('x', None, ('y', 'z'))
    >>> jax.P("x") == jax.P(("x",)), jax.P("x") == jax.P("x", None)
    (True, False)
    """

    __slots__ = ("partitions", "unreduced", "reduced", "__weakref__")

    partitions: tuple[Any, ...]
    unreduced: frozenset
    reduced: frozenset

    UNCONSTRAINED = UNCONSTRAINED

    def __new__(cls, *partitions: Any, unreduced: Any = frozenset(),
                reduced: Any = frozenset()) -> PartitionSpec:
        partitions = tuple(map(_as_entry, partitions))
        unreduced = _as_axis_set(unreduced, "unreduced")
        reduced = _as_axis_set(reduced, "reduced")
        _check_disjoint(partitions, unreduced, reduced)
        return interned(cls, partitions, unreduced, reduced, make=lambda: cls._new(
            partitions=partitions, unreduced=unreduced, reduced=reduced))

    def __init_subclass__(cls, **kwargs: Any) -> NoReturn:
        raise TypeError("PartitionSpec cannot have subclasses: equal specs are one object.")

    def __reduce__(self) -> tuple:
        return _spec, (self.partitions, self.unreduced, self.reduced)

    def __repr__(self) -> str:
        sets = {"unreduced": self.unreduced, "reduced": self.reduced}
        given = [f"{name}={set(axes)!r}" for name, axes in sets.items() if axes]
        if not given:
            return f"P({repr(self.partitions)[1:-1]})"
        return f"P({', '.join([*map(repr, self.partitions), *given])})"

    def _plain(self) -> tuple[Any, ...]:
        """The partitions, of a spec that is nothing else."""
        if self.unreduced or self.reduced:
            raise ValueError(f"{self} is more than its partitions: to use them as a tuple, "
                             "write `spec.partitions`.")
        return self.partitions

    def __getitem__(self, i: Any) -> Any:
        return self._plain()[i]

    def __iter__(self) -> Any:
        return iter(self._plain())

    def __len__(self) -> int:
        return len(self.partitions)

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(*self.partitions, *other.partitions,
                                 unreduced=self.unreduced | other.unreduced,
                                 reduced=self.reduced | other.reduced)
        return PartitionSpec(*self._as_addend(other), *other)

    def __radd__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*other, *self._as_addend(other))

    def _as_addend(self, other: Any) -> tuple[Any, ...]:
        if not isinstance(other, tuple):
            raise NotImplementedError(f"{self} + {other!r}: only tuples and specs can be added.")
        if self.unreduced or self.reduced:
            raise TypeError(f"{self} + {other!r}: a spec with unreduced or reduced axes can only "
                            "be added to a spec.")
        return self.partitions

    def index(self, value: Any) -> int:
        """The first dimension with this entry."""
        return self.partitions.index(_as_entry(value))

    def count(self, value: Any) -> int:
        """How many dimensions have this entry."""
        return self.partitions.count(_as_entry(value))

    def update(self, partitions: Any = None, unreduced: Any = None,
               reduced: Any = None) -> PartitionSpec:
        """This spec with other partitions or sets."""
        return PartitionSpec(*(self.partitions if partitions is None else partitions),
                             unreduced=self.unreduced if unreduced is None else unreduced,
                             reduced=self.reduced if reduced is None else reduced)

    def axes_of(self, dimension: int) -> tuple[Any, ...]:
        """The mesh axes that a dimension is split over, none for one beyond the last entry."""
        entry = self.partitions[dimension] if dimension < len(self.partitions) else None
        if entry is None or entry is UNCONSTRAINED:
            return ()
        return entry if isinstance(entry, tuple) else (entry,)

    def all_axes(self) -> list:
        """The mesh axes that dimensions are split over, in order."""
        return [name for dimension in range(len(self)) for name in self.axes_of(dimension)]


P = PartitionSpec
P.__name__ = P.__qualname__ = "P"  # as JAX prints it


def _spec(partitions: tuple, unreduced: frozenset, reduced: frozenset) -> PartitionSpec:
    """Makes a spec while unpickling, which passes no keywords."""
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _as_entry(entry: Any) -> Any:
    """An entry in the one form it has inside of a spec: `()` is None, `("x",)` is "x"."""
    if not isinstance(entry, (tuple, list)):
        return entry
    if any(isinstance(name, (tuple, list)) for name in entry):
        raise ValueError(f"PartitionSpec: a tuple inside of an entry, {entry}. "
                         "An entry is the name of an axis, or a flat tuple of names.")
    if len(entry) <= 1:
        return entry[0] if entry else None
    return tuple(entry)


def _as_axis_set(axes: Any, argument: str) -> frozenset:
    if not isinstance(axes, (set, frozenset)):
        raise TypeError(f"PartitionSpec: {argument} must be a set of axis names, got {axes!r}.")
    if None in axes:
        raise ValueError(f"PartitionSpec: None is no axis name, but it is in {argument}={axes}.")
    return frozenset(axes)


def _check_disjoint(partitions: tuple, unreduced: frozenset, reduced: frozenset) -> None:
    if not (unreduced or reduced):
        return
    flat = [name for entry in partitions
            for name in (entry if isinstance(entry, tuple) else (entry,))]
    for first, second in ((unreduced, reduced), (unreduced, flat), (reduced, flat)):
        if first.intersection(second):
            raise ValueError("PartitionSpec: every axis can have one role, but "
                             f"{set(first.intersection(second))} has two: {partitions}, "
                             f"unreduced={set(unreduced)}, reduced={set(reduced)}.")


# ----------------------------------------------------------------------------------------------
# Shardings


class IndivisibleError(ValueError):
    """A dimension cannot be cut into equal parts."""


class DuplicateSpecError(ValueError):
    """A spec splits two dimensions, or one twice, over the same axis."""


class Sharding:
    """What part of an array each device holds, for arrays of any shape.

    Subclasses define `_device_assignment`, `memory_kind`, `with_memory_kind` and `tiling`.
    """

    memory_kind: str | None

    @property
    def _device_assignment(self) -> tuple[Any, ...]:
        """The devices in the order in which XLA numbers them."""
        raise NotImplementedError(f"{type(self).__name__} does not say which devices it is for.")

    def tiling(self, ndim: int) -> tuple[Shape, tuple[Shape, ...]]:
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

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of the part on each device, of an array of shape `global_shape`.

        Raises:
          ValueError: a dimension cannot be cut into equal parts.
        """
        return _shard_shape(self, tuple(global_shape))

    def devices_indices_map(self, global_shape: Shape) -> dict[Any, Index]:
        """What each device holds, as an index into the array."""
        return dict(_devices_indices_map(self, tuple(global_shape)))

    def addressable_devices_indices_map(self, global_shape: Shape) -> dict[Any, Index]:
        """What each device of this process holds, as an index into the array."""
        indices = _devices_indices_map(self, tuple(global_shape))
        return {device: indices[device] for device in self._addressable_device_assignment}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether arrays of `ndim` dimensions lie the same way under both."""
        return (self.memory_kind == other.memory_kind
                and self._placement(ndim) == other._placement(ndim))

    def _placement(self, ndim: int) -> Hashable:
        """What must be equal so that shardings are equivalent."""
        return self._device_assignment, self.tiling(ndim)


@lru_cache(4096)
def _shard_shape(sharding: Sharding, shape: Shape) -> Shape:
    parts, _ = sharding.tiling(len(shape))
    for dimension, (size, count) in enumerate(zip(shape, parts, strict=True)):
        if size % count:
            raise IndivisibleError(
                f"{sharding} cuts dimension {dimension} into {count} equal parts, which is "
                f"impossible for size {size} (of shape {shape}). Pad the array, or split "
                "another dimension.")
    return tuple(size // count for size, count in zip(shape, parts, strict=True))


@lru_cache(4096)
def _devices_indices_map(sharding: Sharding, shape: Shape) -> dict[Any, Index]:
    sizes = _shard_shape(sharding, shape)
    parts, tiles = sharding.tiling(len(shape))
    devices = sharding._device_assignment
    return {device: tuple(map(_part, tile, sizes, parts))
            for device, tile in zip(devices, tiles, strict=True)}


def _part(number: int, size: int, count: int) -> slice:
    """Part `number` of a dimension that is cut into `count` parts of this size."""
    return slice(None) if count == 1 else slice(number * size, (number + 1) * size)


class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    Args:
      device: the device.
      memory_kind: which of its memories; by default its usual one.

    >>> jax.sharding.SingleDeviceSharding(jax.devices()[0]).devices_indices_map((2, 3))
    {CpuDevice(id=0): (slice(None, None, None), slice(None, None, None))}
    """

    def __init__(self, device: Any, memory_kind: str | None = None) -> None:
        self._device = device
        self.memory_kind = _memory_kind(memory_kind, (device,))

    @property
    def _device_assignment(self) -> tuple[Any, ...]:
        return (self._device,)

    def tiling(self, ndim: int) -> tuple[Shape, tuple[Shape, ...]]:
        return (1,) * ndim, ((0,) * ndim,)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, kind)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, SingleDeviceSharding) and self._device == other._device
                and self.memory_kind == other.memory_kind)

    def __hash__(self) -> int:
        return hash((self._device, self.memory_kind))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}{_memory_text(self)})"


def make_single_device_sharding(device: Any, *,
                                memory_kind: str | None = None) -> SingleDeviceSharding:
    """The sharding of arrays that lie on one device: `SingleDeviceSharding(device)`."""
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

    def tiling(self, ndim: int) -> tuple[Shape, tuple[Shape, ...]]:
        return _named_tiling(self.mesh.shape_tuple, self.spec, ndim)

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
            raise ValueError(f"{self} is for arrays of {len(self.spec)} dimensions or more, but "
                             f"the shape is {aval_shape}. For a scalar the spec is P().")

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self.update(memory_kind=kind)

    def update(self, *, mesh: Any = None, spec: Any = None, **memory_kind: Any) -> NamedSharding:
        """This sharding with another mesh, spec (or tuple) or memory kind."""
        spec = self.spec if spec is None else spec
        return NamedSharding(self.mesh if mesh is None else mesh,
                             spec if isinstance(spec, PartitionSpec) else PartitionSpec(*spec),
                             **{"memory_kind": self.memory_kind, **memory_kind})

    def _placement(self, ndim: int) -> Hashable:
        abstract = isinstance(self.mesh, AbstractMesh)
        return None if abstract else self._device_assignment, self.tiling(ndim)

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
        raise ValueError(f"Device {device} has no memory of kind {kind!r}, only {kinds}.")
    return kind


@lru_cache(4096)
def _check_spec(mesh: Mesh | AbstractMesh, spec: PartitionSpec) -> None:
    """Raise ValueError unless the mesh has the axes that the spec names, and it names each once."""
    names = spec.all_axes()
    for name in (*names, *spec.unreduced, *spec.reduced):
        if name not in mesh.axis_names:
            raise ValueError(f"{spec} names the axis {name!r}, which the mesh has not: "
                             f"it has {mesh.axis_names}.")
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise DuplicateSpecError(f"{spec} names {', '.join(twice)} twice. An axis of the mesh can "
                                 "split one dimension only.")
    if UNCONSTRAINED in spec.partitions and not mesh.auto_axes:
        raise ValueError(f"{spec} leaves a dimension to the compiler, which needs an axis of type "
                         f"Auto, but the types are {mesh.axis_types}.")
    if not (spec.unreduced | spec.reduced) <= set(mesh.explicit_axes):
        raise ValueError(f"{spec}: unreduced and reduced axes must be of type Explicit in {mesh}.")


@lru_cache(4096)
def _named_tiling(axes: tuple[tuple[Any, int], ...], spec: PartitionSpec,
                  ndim: int) -> tuple[Shape, tuple[Shape, ...]]:
    """`Sharding.tiling` of a spec over a mesh with these axes (pairs of name and size)."""
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
