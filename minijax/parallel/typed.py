"""Chapter 14: what the type of an array says of a mesh.

    f32[8@x,2]        split over the axis x of type Explicit
    f32[2]{V:y}       inside `shard_map`: differs along the axis y of type Manual

Both stand in the slot `placement` of the type. It holds `None` for types that say nothing. So a
type without a mesh and one that is the same on all devices are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.core import ShapedArray
from .mesh import AbstractMesh, Immutable, get_abstract_mesh, interned
from .partition_spec import P
from .sharding import NamedSharding, check_no_axis_twice

Entries = tuple[Any, ...]  # for each dimension `None`, an axis, or a tuple of axes


class Placement(Immutable):
    """What types say of a mesh. `placement` makes it."""

    __slots__ = ("varying", "entries", "mesh", "__weakref__")

    varying: frozenset  # the axes along which a value differs
    entries: Entries  # the explicit axes that split each dimension; () if there are none
    mesh: AbstractMesh | None  # the one of the `entries`

    def without(self, axis: int) -> Placement | None:
        """The placement of one example of an array with a batch dimension."""
        entries = self.entries and (*self.entries[:axis], *self.entries[axis + 1:])
        return placement(self.varying, entries, self.mesh)

    def check_whole(self, axis: int) -> None:
        """Raise a ValueError if a dimension is split that a loop runs along."""
        if self.entries and self.entries[axis] is not None:
            raise ValueError(f"A loop cannot run along dimension {axis} of an array that is split "
                             f"there: its sharding is {P(*self.entries)}. Reshard it first, by "
                             "`jax.sharding.reshard`.")

    def with_new(self, axis: int) -> Placement | None:
        """The placement of an array with one more dimension."""
        entries = self.entries and (*self.entries[:axis], None, *self.entries[axis:])
        return placement(self.varying, entries, self.mesh)

    @property
    def stated_sharding(self) -> NamedSharding | None:
        """The sharding that the type states."""
        return None if self.mesh is None else NamedSharding(self.mesh, P(*self.entries))

    def with_others(self, aval: ShapedArray, axis: int) -> Placement | None:
        """The placement of many arrays of a type along a new dimension, whose placement this is."""
        own, around = entries_of(aval), get_abstract_mesh()
        (new,) = self.entries
        names = new if isinstance(new, tuple) else (new,)
        if mesh_of(aval) not in (None, self.mesh) or not (
                around.empty or set(names) <= set(around.explicit_axes)):
            return aval.placement and aval.placement.with_new(axis)
        entries = (*own[:axis], new, *own[axis:])
        check_no_axis_twice(P(*entries))
        return placement(varying_axes(aval), entries, self.mesh)

    def shape_text(self, shape: Sequence[int]) -> str:
        """What follows the dtype where the type is printed, as `[8@x,2]{V:y}`."""
        splits = map(_split_text, self.entries or (None,) * len(shape))
        sizes = ",".join([f"{n}{split}" for n, split in zip(shape, splits)])
        axes = ",".join(sorted(map(str, self.varying)))
        return f"[{sizes}]" + (f"{{V:({axes})}}" if len(self.varying) > 1
                               else f"{{V:{axes}}}" * len(self.varying))

    def __reduce__(self):
        return placement, (self.varying, self.entries, self.mesh)

    def __repr__(self):
        return f"Placement(varying={set(self.varying)}, {P(*self.entries)})"


def _split_text(entry) -> str:
    if isinstance(entry, tuple):
        return f"@({','.join(map(str, entry))})"
    return "" if entry is None else f"@{entry}"


def placement(varying: frozenset, entries: Entries = (), mesh: AbstractMesh | None = None
              ) -> Placement | None:
    """The placement with these axes; `None` if it says nothing."""
    if not any(entry is not None for entry in entries):
        entries, mesh = (), None
    if not (varying or entries):
        return None
    return interned(Placement, varying, entries, mesh, make=lambda: Placement._new(
        varying=varying, entries=entries, mesh=mesh))


_NOWHERE: frozenset = frozenset()


def varying_axes(aval: ShapedArray) -> frozenset:
    """The axes along which values of this type vary."""
    return _NOWHERE if aval.placement is None else aval.placement.varying


def along(aval: ShapedArray, axes) -> ShapedArray:
    """The same type of values that vary along these axes."""
    entries = entries_of(aval)
    return aval.update(placement=placement(frozenset(axes), entries, mesh_of(aval)))


def entries_of(aval: ShapedArray) -> Entries:
    """For each dimension, the explicit axes that split it."""
    entries = aval.placement.entries if aval.placement is not None else ()
    return entries if len(entries) == aval.ndim else (None,) * aval.ndim


def mesh_of(aval: ShapedArray) -> AbstractMesh | None:
    """The mesh whose explicit axes split an array of this type, if some do."""
    return None if aval.placement is None else aval.placement.mesh


def split_over(aval: ShapedArray, entries: Sequence, mesh: AbstractMesh | None) -> ShapedArray:
    """The same type, split over axes of a mesh. Those of other types than Explicit are left out."""
    explicit = () if mesh is None else mesh.explicit_axes
    entries = tuple([_explicit_part(entry, explicit) for entry in entries])
    return aval.update(placement=placement(varying_axes(aval), entries, mesh))


def _explicit_part(entry, explicit):
    names = entry if isinstance(entry, tuple) else (entry,)
    kept = tuple([name for name in names if name in explicit])
    return kept if len(kept) > 1 else kept[0] if kept else None


def stated_placement(sharding: Any, shape: Sequence[int]) -> Placement | None:
    """What a type of this shape says if a user gives it a sharding.

    Raises:
      ValueError: its mesh has devices, or the dimensions do not divide evenly.
      TypeError: it is not a `NamedSharding`.
    """
    if not isinstance(sharding, NamedSharding):
        raise TypeError(f"ShapedArray: sharding must be a NamedSharding, got {sharding!r}.")
    if not isinstance(sharding.mesh, AbstractMesh):
        raise ValueError("ShapedArray: a type speaks of an AbstractMesh, but the sharding is over "
                         f"{sharding.mesh}. Give its abstract mesh: mesh.abstract_mesh.")
    if sharding.mesh.empty:
        return None
    entries = [*sharding.spec.partitions, *[None] * len(shape)][:len(shape)]
    sharding = sharding.update(spec=P(*entries))
    check_divides(sharding, shape, "ShapedArray")
    return with_sharding(ShapedArray(shape, bool), sharding).placement


def check_divides(sharding: NamedSharding, shape: Sequence[int], caller: str) -> None:
    """Raise ValueError unless a sharding cuts the dimensions of a type into equal parts."""
    try:
        sharding.shard_shape(tuple(shape))
    except ValueError as error:
        raise ValueError(f"{caller}: a type cannot state this sharding. {error}") from None


def with_sharding(aval: ShapedArray, sharding: NamedSharding) -> ShapedArray:
    """The same type with this sharding."""
    entries = sharding.spec.partitions
    entries = (*entries, *[None] * (aval.ndim - len(entries)))
    return split_over(aval, entries, sharding.mesh.abstract_mesh)


def sharding_of_type(aval: ShapedArray, mesh: AbstractMesh) -> NamedSharding:
    """The sharding that a type states, over its own mesh or else `mesh`."""
    return NamedSharding(mesh_of(aval) or mesh, P(*entries_of(aval)))
