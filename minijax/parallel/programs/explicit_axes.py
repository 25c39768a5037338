"""Chapter 14: functions for axes of type `Explicit`, over which the user chooses the shardings.

Such a sharding is a part of an array's type: `f32[8@x,2]`. The types of results follow from those
of operands (`types/sharding_rules.py`), or the user states them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from ...core.api_util import flatten_axes
from ...core.boundary import api_boundary, public
from ...core.core import ShapedArray, Tracer, typeof
from ...core.staging import shaped_abstractify
from ...core.tree import tree_flatten, tree_map
from ...source import wraps
from ..meshes.memory_spaces import MemorySpace
from ..meshes.mesh import AbstractMesh, AxisType, no_abstract_mesh
from ..meshes.mesh_in_force import get_abstract_mesh, use_abstract_mesh
from ..meshes.partition_spec import UNCONSTRAINED, P, PartitionSpec
from ..meshes.sharding import NamedSharding
from ..types.placement import (
    check_divides,
    explicit_part,
    mesh_of,
    sharding_of_type,
    space_of,
    sums_of,
    varying_axes,
)
from .reshard import bind_reshard
from .sharding_constraint import check_fits


@api_boundary
def reshard(xs: Any, out_shardings: Any) -> Any:
    """Give arrays new shardings over axes of type `Explicit`.

    Args:
      xs: a pytree of arrays.
      out_shardings: a prefix of it of `NamedSharding`s, or of `PartitionSpec`s if there is a mesh
        in force (`with jax.set_mesh(mesh):`).

    Returns:
      the arrays.

    Raises:
      ValueError: a spec names an axis of another type, there is no mesh, or a dimension does not
        divide evenly.
      TypeError: an entry of `out_shardings` is not a sharding.

    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
    ...     jax.sharding.reshard(jnp.arange(3), jax.P("x"))
    Array([0, 1, 2], dtype=int32)
    """
    leaves, tree = tree_flatten(xs)
    flat = flatten_axes("reshard: out_shardings", tree, out_shardings, tupled_args=True)
    return tree.unflatten([_reshard_leaf(x, sharding) for x, sharding in zip(leaves, flat)])


def _reshard_leaf(x, sharding):
    return bind_reshard(x, checked_sharding(sharding, shaped_abstractify(x), "reshard"))


def checked_sharding(sharding: Any, aval: ShapedArray, caller: str) -> NamedSharding:
    """What a user wrote for the sharding of an array, with an entry for each dimension."""
    sharding = explicit_sharding(sharding, caller)
    entries = [None if x is UNCONSTRAINED else x for x in sharding.spec.entries(aval.ndim)]
    while len(entries) > aval.ndim and entries[-1] is None:
        entries.pop()
    sharding = sharding.update(spec=sharding.spec.update(entries))
    check_fits(sharding, aval, f"{caller}'s arrays")
    check_divides(sharding, aval.shape, caller)
    return sharding


def explicit_sharding(sharding: Any, caller: str, in_context: bool = True) -> NamedSharding:
    """What a user wrote for a sharding over axes of type Explicit; `in_context`, of the mesh in
    force."""
    if isinstance(sharding, PartitionSpec):
        sharding = NamedSharding(_nonempty(get_abstract_mesh(), caller), sharding)
    if sharding is None or isinstance(sharding, NamedSharding) and sharding.mesh.empty:
        raise ValueError(f"{caller}: expected a sharding with a mesh, got {sharding}.")
    if not isinstance(sharding, NamedSharding):
        raise TypeError(f"{caller}: expected NamedShardings or PartitionSpecs, got {sharding!r}.")
    _check_explicit(sharding, caller)
    if in_context and caller != "reshard":
        _check_context(sharding.mesh.abstract_mesh, caller)
    return sharding


def _check_context(mesh, caller):
    around = get_abstract_mesh()
    if not (around.empty or mesh == around or mesh.are_all_axes_auto and around.are_all_axes_auto):
        raise ValueError(f"{caller}: Context mesh {around} should match the mesh of sharding, "
                         f"{mesh}. Give the PartitionSpec alone.")


def _check_explicit(sharding, caller):
    spec = sharding.spec
    named = {*spec.all_axes(), *spec.unreduced, *spec.reduced}
    others = named.difference(sharding.mesh.explicit_axes)
    if others:
        raise ValueError(f"PartitionSpec passed to {caller.removesuffix(': out_sharding')} cannot "
                         "contain axis names that are of type Auto or Manual. Got PartitionSpec: "
                         f"{sharding.spec}, and {', '.join(sorted(map(str, others)))} are in "
                         f"{sharding.mesh}. Over axes of type Auto, use with_sharding_constraint.")
    if (spec.unreduced or spec.reduced) and not sharding.mesh.are_all_axes_explicit:
        raise NotImplementedError(f"{caller}: {spec} is unreduced or reduced, which is possible if "
                                  f"all axes are of type Explicit, and the mesh is "
                                  f"{sharding.mesh}.")


def _nonempty(mesh: AbstractMesh, caller: str) -> AbstractMesh:
    if mesh.empty:
        raise ValueError(f"{caller}: Using PartitionSpec when you are not under a mesh context is "
                         "not allowed. Write `with jax.set_mesh(mesh):`, or give a NamedSharding.")
    return mesh


@api_boundary
def auto_axes(f: Callable | None = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """A function within which axes are of type `Auto`: XLA chooses the shardings inside it.

    Args:
      f: the function; without it, a decorator is returned.
      axes: the axes of the mesh in force; by default all.
      out_sharding: a prefix of the result of shardings or specs; if it is not given, calls take it
        as a keyword.

    Raises:
      TypeError: a call without `out_sharding`.

    >>> double = jax.sharding.auto_axes(lambda x: x * 2, out_sharding=jax.P("x"))
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
    ...     double(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @wraps(f)
    def in_auto_mode(*args, **kwargs):
        sharding = _argument(out_sharding, kwargs, "out_sharding")
        mesh = _mesh_of(sharding)
        names = _names(axes, mesh)
        if set(names) <= set(mesh.auto_axes):  # also if there is no mesh
            return f(*args, **kwargs)
        auto_mesh = _with_types(mesh, names, AxisType.Auto)
        args, kwargs = _cast((args, kwargs), auto_mesh)
        with use_abstract_mesh(auto_mesh):
            out = f(*args, **kwargs)
        return reshard(out, sharding)

    return in_auto_mode


@api_boundary
def explicit_axes(f: Callable | None = None, /, *, axes: Any = None, in_sharding: Any = None
                  ) -> Any:
    """A function within which axes are of type `Explicit`.

    Args:
      f: the function; without it, a decorator is returned.
      axes: the axes of the mesh in force; by default all.
      in_sharding: a prefix of the arguments of shardings or specs; if it is not given, calls take
        it as a keyword.

    Raises:
      TypeError: a call without `in_sharding`.
      ValueError: there is no mesh in force.

    >>> double = jax.sharding.explicit_axes(lambda x: x * 2, in_sharding=jax.P("x"))
    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
    ...     double(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    @wraps(f)
    def in_explicit_mode(*args, **kwargs):
        sharding = _argument(in_sharding, kwargs, "in_sharding")
        mesh = _nonempty(get_abstract_mesh(), "explicit_axes")
        with use_abstract_mesh(_with_types(mesh, _names(axes, mesh), AxisType.Explicit)):
            out = f(*reshard(args, sharding), **kwargs)
        return _cast(out, mesh)

    return in_explicit_mode


def _cast(values, mesh):
    """The arrays of a pytree, in types that speak of this mesh."""
    def cast(x):
        aval = typeof(x) if hasattr(x, "aval") else None
        if aval is None or mesh_of(aval) == mesh or mesh_of(aval) is None and (
                not isinstance(x, Tracer)):  # what a tracer stands for may have a typed dimension
            return x
        stated = sharding_of_type(aval, mesh).spec
        entries = [explicit_part(entry, mesh.explicit_axes) for entry in stated.partitions]
        return bind_reshard(x, NamedSharding(mesh, P(*entries)))

    return tree_map(cast, values)


def _argument(value, kwargs, name):
    """The value given when the function was made, or else the one given at the call."""
    if value is not None:
        return value
    if name not in kwargs:
        raise TypeError(f"Missing required keyword argument: {name!r}")
    return kwargs.pop(name)


def _mesh_of(shardings) -> AbstractMesh:
    """The mesh in force, which is that of the shardings; without one, theirs."""
    meshes = {leaf.mesh.abstract_mesh for leaf in tree_flatten(shardings)[0]
              if isinstance(leaf, NamedSharding)} | {get_abstract_mesh()} - {no_abstract_mesh}
    if len(meshes) > 1:
        raise ValueError(f"auto_axes: shardings of several meshes, {meshes}; there can be one.")
    return meshes.pop() if meshes else no_abstract_mesh


def _names(axes, mesh):
    if axes is None:
        return mesh.axis_names
    return axes if isinstance(axes, tuple) else (axes,)


def _with_types(mesh, names, axis_type):
    """The mesh, where these axes have another type."""
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for name in names:
        if types[name] is AxisType.Manual:
            raise NotImplementedError("Going from `Manual` AxisType to `Auto` or `Explicit` "
                                      f"AxisType is not possible for the axis {name!r}, within a "
                                      "shard_map. Give the other axes by axes=.")
    return mesh.update_axis_types(dict.fromkeys(names, axis_type))


# ----------------------------------------------------------------------------------------------
# Shardings of types


@dataclass(frozen=True, kw_only=True)
class ManualAxisType:
    """What a type says of the axes along which `shard_map` splits by hand.

    Raises:
      ValueError: values vary along an axis and are also sums over it.
    """

    varying: frozenset = frozenset()
    unreduced: frozenset = frozenset()
    reduced: frozenset = frozenset()

    @public
    def __post_init__(self):
        for name in ("unreduced", "reduced"):
            if twice := self.varying & getattr(self, name):
                raise ValueError(f"ManualAxisType: varying and {name} cannot have common mesh "
                                 f"axes, but both name {set(twice)}.")
        for part in fields(self):  # they may be given as sets, which have no hash
            object.__setattr__(self, part.name, frozenset(getattr(self, part.name)))

    @property
    def vur(self) -> frozenset:
        """All axes that the type names."""
        return self.varying | self.unreduced | self.reduced

    @property
    def empty(self) -> bool:
        """Whether it names none."""
        return not self.vur

    def update(self, **changes: frozenset) -> ManualAxisType:
        """The same with some of the three replaced."""
        return replace(self, **changes)

    def to_ct_mat(self) -> ManualAxisType:
        """What the type of a cotangent says: sums that are pending become sums that were done."""
        return replace(self, unreduced=self.reduced, reduced=self.unreduced)

    def invarying(self, mesh: Any) -> frozenset:
        """The manual axes of a mesh along which all devices have the same value."""
        return frozenset(mesh.manual_axes) - self.vur


def type_sharding(aval: ShapedArray) -> NamedSharding:
    """`Placements.type_sharding`"""
    return sharding_of_type(aval, get_abstract_mesh())


def manual_axes(aval: ShapedArray) -> ManualAxisType:
    """`Placements.manual_axes`"""
    unreduced, reduced = sums_of(aval) if mesh_of(aval) is None else (frozenset(), frozenset())
    return ManualAxisType(varying=varying_axes(aval), unreduced=unreduced, reduced=reduced)


def memory_space(aval: ShapedArray) -> MemorySpace:
    """`Placements.memory_space`"""
    return space_of(aval) or MemorySpace.Device
