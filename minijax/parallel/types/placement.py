"""Chapter 14: what the type of an array says of a mesh.

    f32[8@x,2]        split over the axis x of type Explicit
    f32[2]{V:y}       inside `shard_map`: differs along the axis y of type Manual
    f32[8]{U:x}       unreduced: the devices along x hold parts of a sum, which is the value
    f32[8]{R:x}       reduced: all devices along x hold the value; its cotangents are unreduced
    f32<host>[8]      in the memory of the host

These words stand in the slot `placement` of a type, which is `None` if there are none. The type of
an array on a mesh names the mesh even if no axis of type Explicit splits the array. It prints as
`f32[8]`, like a type without a mesh, but the two differ.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ...core.core import ShapedArray
from ...core.extension import Extension, register, remove
from ..meshes.interned import Immutable, interned
from ..meshes.memory_spaces import MemorySpace
from ..meshes.mesh import AbstractMesh
from ..meshes.mesh_in_force import get_abstract_mesh
from ..meshes.partition_spec import P
from ..meshes.sharding import NamedSharding, check_no_axis_twice


class _Registration:
    """Keeps extensions registered as long as it lives."""

    __slots__ = ("__weakref__",)

    def __init__(self, extensions: Sequence[Extension]):
        for extension in extensions:
            register(extension)
            weakref.finalize(self, remove, extension).atexit = False  # when Python ends, all end


class WhileAlive:
    """Extensions that are registered while there are certain objects: all refer to the same
    registration, so that it ends with the last of them."""

    def __init__(self) -> None:
        self.extensions: list[Extension] = []
        self._living: Callable[[], _Registration | None] = lambda: None  # a weak reference

    def one_more(self) -> _Registration:
        """The registration for one more object. (If two threads make one each, both count.)"""
        registration = self._living()
        if registration is None:
            registration = _Registration(tuple(self.extensions))
            self._living = weakref.ref(registration)
        return registration



reduced_types = WhileAlive()
Entries = tuple[Any, ...]  # for each dimension `None`, an axis, or a tuple of axes


class Placement(Immutable):
    """What types say of a mesh. `placement` makes it."""

    __slots__ = ("varying", "entries", "mesh", "unreduced", "reduced", "space", "registration",
                 "__weakref__")

    varying: frozenset  # the axes along which a value differs
    entries: Entries  # the explicit axes that split each dimension; () if none does
    mesh: AbstractMesh | None  # the one of the `entries`, and of the sums if they are explicit
    unreduced: frozenset  # the axes over which a sum is still to be made
    reduced: frozenset  # those over which a sum of the cotangents is still to be made
    space: MemorySpace | None  # the memory, if it is not that of the devices
    registration: Any  # of what is needed while there are reduced types

    def changed(self, **parts: Any) -> Placement | None:
        """The same placement with other parts."""
        return placement(**{name: getattr(self, name) for name in _PARTS} | parts)

    def without(self, axis: int) -> Placement | None:
        """The placement of one example of an array with a batch dimension."""
        return self._with_entries((*self.entries[:axis], *self.entries[axis + 1:]))

    def _with_entries(self, entries: Entries) -> Placement | None:
        return self.changed(entries=() if self.mesh is None else entries)

    def of_cotangents(self) -> Placement | None:
        """The placement of cotangents of values that are placed like this."""
        return self.changed(unreduced=self.reduced, reduced=self.unreduced)

    def check_whole(self, axis: int) -> None:
        """Raise an error if a loop cannot run along a dimension: a ValueError if it is split."""
        if self.unreduced:
            raise NotImplementedError("scan: there is no rule for xs that are unreduced. Make the "
                                      "sum first, by `jax.sharding.reshard`.")
        if self.entries and self.entries[axis] is not None:
            raise ValueError(f"scan: the {axis}th dimension of all xs should be replicated, since "
                             f"the loop runs along it. Got {P(*self.entries)}. Reshard xs first, "
                             "by `jax.sharding.reshard`.")

    def with_new(self, axis: int) -> Placement | None:
        """The placement of an array with one more dimension."""
        return self._with_entries((*self.entries[:axis], None, *self.entries[axis:]))

    @property
    def says_split(self) -> bool:
        """Whether a dimension is split, or a sum is to be made: the mesh alone says neither."""
        return bool(self.entries or self.unreduced or self.reduced)

    def agrees(self, other: Placement | None) -> bool:
        """Whether a loop may carry values of the one placement as such of the other, or `None`.
        A value that is on no mesh may become one that is, and meshes matter only if the user has
        some of their axes in hand."""
        if self is other or self.varying or self.space or self.mesh is None:
            return self is other
        if self.unreduced or self.reduced or other is None:
            return other is None and not (self.unreduced or self.reduced)
        if other.varying or other.space or self.says_split or other.says_split:
            return False
        return other.mesh is not None and not (self.mesh.explicit_axes or other.mesh.explicit_axes)

    def stated_sharding(self, ndim: int) -> NamedSharding | None:
        """The sharding that a type of so many dimensions states, if the user has all axes in
        hand."""
        if self.mesh is None or not self.mesh.are_all_axes_explicit:
            return None
        spec = self._spec()
        return NamedSharding(self.mesh, spec if self.says_split else spec.update([None] * ndim))

    def _spec(self) -> P:
        return P(*self.entries, unreduced=self.unreduced, reduced=self.reduced)

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
        return changed(aval, entries=entries, mesh=self.mesh).placement

    def shape_text(self, shape: Sequence[int]) -> str:
        """What follows the dtype where the type is printed, as `[8@x,2]{V:y}`."""
        space = f"<{self.space.name.lower()}>" if self.space else ""
        splits = map(_split_text, self.entries or (None,) * len(shape))
        sizes = ",".join([f"{n!s}{split}" for n, split in zip(shape, splits)])
        axes = {"V": self.varying, "U": self.unreduced, "R": self.reduced}
        texts = [f"{kind}:{_axes_text(names, self.mesh)}" for kind, names in axes.items() if names]
        return f"{space}[{sizes}]" + (f"{{{', '.join(texts)}}}" if texts else "")

    def __reduce__(self):
        return placement, tuple([getattr(self, name) for name in _PARTS])

    def __repr__(self):
        return f"Placement(varying={set(self.varying)}, {self._spec()})"


def _axes_text(names, mesh):
    order = sorted(names, key=mesh.axis_names.index) if mesh else sorted(names, key=str)
    text = ",".join(map(str, order))
    return f"({text})" if len(order) > 1 else text


def _split_text(entry) -> str:
    if isinstance(entry, tuple):
        return f"@({','.join(map(str, entry))})"
    return "" if entry is None else f"@{entry}"


_PARTS = Placement.__slots__[:6]
_NOWHERE: frozenset = frozenset()


def placement(varying: frozenset, entries: Entries = (), mesh: AbstractMesh | None = None,
              unreduced: frozenset = _NOWHERE, reduced: frozenset = _NOWHERE,
              space: MemorySpace | None = None) -> Placement | None:
    """The placement with these axes; `None` if it says nothing.

    A mesh whose axes split nothing is left out inside `shard_map`, where the context says it.
    """
    if not (unreduced or reduced or any(entry is not None for entry in entries)):
        entries = ()
        if varying or mesh is None or mesh.empty or mesh.manual_axes:
            mesh = None
            if not (varying or space):
                return None
    return interned(Placement, varying, entries, mesh, unreduced, reduced, space, make=lambda:
                    Placement._new(varying=varying, entries=entries, mesh=mesh,
                                   unreduced=unreduced, reduced=reduced, space=space,
                                   registration=reduced_types.one_more() if reduced else None))


def texts(avals: Sequence[ShapedArray]) -> str:
    """Types as errors show them."""
    return ", ".join(aval.str_short(True) for aval in avals)


def varying_axes(aval: ShapedArray) -> frozenset:
    """The axes along which values of this type vary."""
    return _NOWHERE if aval.placement is None else aval.placement.varying


def changed(aval: ShapedArray, **parts: Any) -> ShapedArray:
    """The same type with other parts of its placement."""
    own = aval.placement
    new = placement(**{"varying": _NOWHERE, **parts}) if own is None else own.changed(**parts)
    return aval if new is own else aval.update(placement=new)


def along(aval: ShapedArray, axes) -> ShapedArray:
    """The same type of values that vary along these axes."""
    axes = frozenset(axes)
    if aval.placement is None:
        return aval.update(placement=_only_varying(axes)) if axes else aval
    return aval if axes == aval.placement.varying else changed(aval, varying=axes)


_only_varying = functools.lru_cache(256)(placement)


def entries_of(aval: ShapedArray) -> Entries:
    """For each dimension, the explicit axes that split it."""
    entries = aval.placement.entries if aval.placement is not None else ()
    return entries if len(entries) == aval.ndim else (None,) * aval.ndim


def mesh_of(aval: ShapedArray) -> AbstractMesh | None:
    """The mesh that an array of this type lies on, if the type says it."""
    return None if aval.placement is None else aval.placement.mesh


def says_split(aval: ShapedArray) -> bool:
    """Whether axes of type Explicit split an array of this type, or it has sums over them."""
    return aval.placement is not None and aval.placement.says_split


def explicit_mesh_of(aval: ShapedArray) -> AbstractMesh | None:
    """The mesh of a type, if some of its axes are of type Explicit."""
    mesh = mesh_of(aval)
    return None if mesh is None or not mesh.explicit_axes else mesh


def sums_of(aval: ShapedArray) -> tuple[frozenset, frozenset]:
    """The unreduced and the reduced axes of a type."""
    if aval.placement is None:
        return _NOWHERE, _NOWHERE
    return aval.placement.unreduced, aval.placement.reduced


def with_sums(aval: ShapedArray, unreduced: frozenset, reduced: frozenset) -> ShapedArray:
    """The same type inside `shard_map`, with these unreduced and reduced axes of type Manual."""
    return changed(aval, entries=(), mesh=None, unreduced=unreduced, reduced=reduced)


def space_of(aval: ShapedArray) -> MemorySpace | None:
    """The memory that values of a type are in; `None` for that of the devices."""
    return None if aval.placement is None else aval.placement.space


def in_space(aval: ShapedArray, space: MemorySpace | None) -> ShapedArray:
    """The same type in a memory."""
    return changed(aval, space=None if space is MemorySpace.Device else space)


def split_over(aval: ShapedArray, entries: Sequence, mesh: AbstractMesh | None,
               unreduced: frozenset = _NOWHERE, reduced: frozenset = _NOWHERE) -> ShapedArray:
    """The same type, split over axes of a mesh. Those of other types than Explicit are left out."""
    explicit = () if mesh is None else mesh.explicit_axes
    entries = tuple([explicit_part(entry, explicit) for entry in entries])
    return changed(aval, entries=entries, mesh=mesh, unreduced=unreduced.intersection(explicit),
                   reduced=reduced.intersection(explicit))


def explicit_part(entry: Any, explicit: Sequence) -> Any:
    """What is left of an entry without the axes that are not of type Explicit."""
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
    entries = sharding.spec.entries(len(shape))[:len(shape)]
    sharding = sharding.update(spec=sharding.spec.update(entries))
    check_divides(sharding, shape, "ShapedArray")
    return with_sharding(ShapedArray(shape, bool), sharding).placement


def check_divides(sharding: NamedSharding, shape: Sequence[int], caller: str) -> None:
    """Raise ValueError unless a sharding cuts the dimensions of a type into equal parts."""
    try:
        sharding.shard_shape(tuple(shape))
    except ValueError as error:
        raise ValueError(f"{caller}: {sharding.spec} does not evenly divide the dimension sizes of "
                         f"the shape {tuple(shape)}. {error}") from None


def with_sharding(aval: ShapedArray, sharding: NamedSharding) -> ShapedArray:
    """The same type with this sharding."""
    spec = sharding.spec
    return split_over(aval, spec.entries(aval.ndim), sharding.mesh.abstract_mesh, spec.unreduced,
                      spec.reduced)


def sharding_of_type(aval: ShapedArray, mesh: AbstractMesh) -> NamedSharding:
    """The sharding that a type states, over its own mesh or else `mesh`."""
    own = mesh_of(aval)
    unreduced, reduced = (_NOWHERE, _NOWHERE) if own is None else sums_of(aval)
    return _named_sharding(own or mesh, entries_of(aval), unreduced, reduced)


@functools.lru_cache(1024)
def _named_sharding(mesh, entries, unreduced, reduced):
    return NamedSharding(mesh, P(*entries, unreduced=unreduced, reduced=reduced))
