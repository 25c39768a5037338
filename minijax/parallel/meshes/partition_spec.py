"""Chapter 14: partition specs, which say over which axes of a mesh an array is split.

`P("x", None, ("y", "z"))`: dimension 0 is split over x, 1 is not split, 2 is split over y and then
each part again over z.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Hashable
from typing import Any, NoReturn

from .interned import Immutable, interned


class _Unconstrained:
    """The entry of a spec that leaves a dimension to the compiler."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


_NO_AXES: frozenset = frozenset()


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

    def __new__(cls, *partitions: Any, unreduced: Any = _NO_AXES,
                reduced: Any = _NO_AXES) -> PartitionSpec:
        if unreduced is _NO_AXES and reduced is _NO_AXES:
            with contextlib.suppress(TypeError):  # an entry has no hash, or is something else
                return _plain_spec(partitions)
        return cls._checked(partitions, unreduced, reduced)

    @classmethod
    def _checked(cls, partitions, unreduced, reduced):
        partitions = tuple(map(_as_entry, partitions))
        if not all(isinstance(entry, Hashable) for entry in partitions):
            raise TypeError("PartitionSpec: an entry must be None, the name of an axis of the "
                            f"mesh, or a tuple of names, got {partitions}.")
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
        entries = self._plain()
        if isinstance(i, int) and not -len(entries) <= i < len(entries):
            raise IndexError(f"{self} has no entry {i}: it has {len(entries)}.")
        return entries[i]

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
        ours = self._as_addend(other)
        return PartitionSpec(*other, *ours)

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
        return axes_of_entry(self.partitions[dimension]) if dimension < len(self) else ()

    def entries(self, ndim: int) -> list:
        """The entries of so many dimensions, or all if there are more."""
        return [*self.partitions, *[None] * (ndim - len(self))]

    def with_entry(self, dimension: int, entry: Any, ndim: int = 0) -> PartitionSpec:
        """The spec of arrays with one dimension more, which has this entry: `ndim` in all."""
        entries = self.entries(max(dimension, ndim - 1))
        entries.insert(dimension, entry)
        return self.update(entries)

    def all_axes(self) -> list:
        """The mesh axes that dimensions are split over, in order."""
        return [name for dimension in range(len(self)) for name in self.axes_of(dimension)]


P = PartitionSpec
P.__name__ = P.__qualname__ = "P"  # as JAX prints it


@functools.lru_cache(1024)
def _plain_spec(partitions):
    """A cache, because rules make the same specs again and again."""
    return PartitionSpec._checked(partitions, _NO_AXES, _NO_AXES)


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


def axes_of_entry(entry: Any) -> tuple[Any, ...]:
    """The mesh axes that an entry of a spec names."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


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
