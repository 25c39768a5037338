"""Chapter 14: the specs of `shard_map`: found in types, checked, and laid over the leaves."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core.core import ShapedArray, typeof
from ...core.tree import tree_flatten, tree_map
from ...pytree.differences import prefix_errors
from ...pytree.functions import broadcast_prefix
from ...pytree.paths import generate_key_paths, keystr, leaf_paths
from ...source import fun_name
from ..meshes.mesh import AbstractMesh, AxisType, Mesh, concrete_mesh
from ..meshes.mesh_in_force import get_abstract_mesh
from ..meshes.partition_spec import UNCONSTRAINED, PartitionSpec
from ..meshes.sharding import NamedSharding, check_no_axis_twice
from ..types.placement import entries_of, sums_of, varying_axes


class _Infer:
    """The default of `in_specs`: arguments are cut as they are sharded."""

    def __repr__(self):
        return "jax.sharding.Infer"

    def __reduce__(self):
        return "Infer"


Infer = _Infer()


# ----------------------------------------------------------------------------------------------
# The mesh and its axes


def check_scope(mesh: Any, axis_names: Any, in_specs: Any, out_specs: Any) -> tuple:
    """The axes to map over, and the mesh: that in force, unless one is given.

    Raises:
      ValueError, TypeError: there is no mesh, it is not the one in force, or axes or specs do not
        belong to it.
    """
    mesh = checked_mesh(mesh)
    if not isinstance(axis_names, (set, frozenset)):
        raise TypeError("shard_map: axis_names must be a set of names of axes of the mesh, got "
                        f"{axis_names!r} of type {type(axis_names)}.")
    axes = frozenset(axis_names) or frozenset(mesh.axis_names)
    if not axes.issubset(mesh.axis_names):
        raise ValueError(f"shard_map: axis_names={set(axes)} are not all axes of the mesh, which "
                         f"has {mesh.axis_names}.")
    for what, specs in (("in_specs", in_specs), ("out_specs", out_specs)):
        if specs is not Infer:
            _check_specs(what, specs, axes, mesh)
    return axes, mesh


def checked_mesh(mesh):
    in_force = get_abstract_mesh()
    if mesh is None:
        if in_force.empty:
            raise ValueError("shard_map: The context mesh cannot be empty. Pass `mesh=`, or put a "
                             "mesh in force by `jax.set_mesh`.")
        return in_force
    if not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"shard_map: the mesh must be a jax.sharding.Mesh or AbstractMesh, got "
                        f"{mesh} of type {type(mesh)}.")
    if mesh.empty:
        raise ValueError(f"shard_map: the mesh is empty: {mesh}.")
    if not in_force.empty and mesh.abstract_mesh != in_force:
        raise ValueError(f"The context mesh {in_force} should match the mesh passed to shard_map, "
                         f"{mesh}. (Without `mesh=`, the context mesh is used.)")
    return mesh


def check_devices(mesh: AbstractMesh, args: Any) -> None:
    """Raise a `ValueError` unless it is known which devices an abstract mesh stands for."""
    if concrete_mesh.value is not None:
        return
    shardings = [getattr(x, "sharding", None) for x in tree_flatten(args)[0]]
    meshes = [x.mesh for x in shardings if isinstance(x, NamedSharding)]
    if not meshes:
        raise ValueError("Please pass `jax.Array`s with a `NamedSharding` as input to `shard_map` "
                         "when passing `AbstractMesh` to the mesh argument: which devices does "
                         f"{mesh} stand for? Or put a mesh in force by `jax.set_mesh`.")
    for other in meshes:
        if other.shape_tuple != mesh.shape_tuple:
            raise ValueError(f"Mesh shape of the input, {other.shape_tuple}, does not match the "
                             "mesh shape passed to shard_map, "
                             f"{mesh.shape_tuple}. Move the input by `jax.device_put`.")


def _check_specs(what, specs, axes, mesh):
    entries = generate_key_paths(specs)
    others = [f"{what}{keystr(path)} is {spec!r} of type {type(spec).__name__}"
              for path, spec in entries if not isinstance(spec, PartitionSpec)]
    if others:
        raise TypeError(f"shard_map: {what} must be a pytree of PartitionSpecs, but "
                        f"{'; '.join(others)}.")
    unknown = [f"{what}{keystr(path)} refers to {name!r}, as {spec}"
               for path, spec in entries for name in _named(spec) if name not in axes]
    if unknown:
        raise ValueError(f"shard_map: {what} can only name axes that the function is mapped over, "
                         f"{set(axes)}, but {'; '.join(unknown)}.")
    for _, spec in entries:
        check_no_axis_twice(spec)
        _check_sums(what, spec, axes, mesh)


def _named(spec):
    """What a spec names: axes, and also what stands for axes that the compiler chooses."""
    return [*spec.all_axes(), *[x for x in spec.partitions if x is UNCONSTRAINED]]


def _check_sums(what, spec, axes, mesh):
    """Raise an error unless a body can have unreduced and reduced values as a spec says."""
    names = spec.unreduced | spec.reduced
    if not names:
        return
    if axes != set(mesh.axis_names):
        raise NotImplementedError(f"shard_map: {spec}, with unreduced or reduced axes, can only be "
                                  f"passed to {what} when shard_map is in full manual mode, which "
                                  f"maps over all axes of the mesh: {mesh.axis_names}.")
    if not names <= set(mesh.explicit_axes):
        raise ValueError(f"shard_map: {what} has {spec}, but unreduced and reduced axes can only "
                         "be used when the mesh passed to shard_map contains axis names all of "
                         f"type `Explicit`, and it is {mesh}.")


# ----------------------------------------------------------------------------------------------
# From specs to leaves


def flat_in_specs(specs: Any, args: tuple) -> list:
    """A spec for each leaf of the arguments, `None` for those that are no arrays."""
    return _flat("in_specs", specs, args)


def flat_out_specs(specs: Any, out: Any) -> list:
    """A spec for each leaf of the results."""
    return _flat("out_specs", specs, out)


def _flat(what, specs, tree):
    is_leaf = (lambda x: x is None) if what == "in_specs" else None
    try:
        return broadcast_prefix(specs, tree, is_leaf=is_leaf)
    except ValueError:
        error, *_ = prefix_errors(specs, tree, is_leaf=is_leaf)
        raise error(f"shard_map {what}") from None


def spec_of_type(aval: ShapedArray, axes: frozenset) -> PartitionSpec:
    """How a type is split over some axes of type Explicit."""
    entries = [tuple(name for name in PartitionSpec(entry).all_axes() if name in axes)
               for entry in entries_of(aval)]
    unreduced, reduced = sums_of(aval)
    return PartitionSpec(*entries, unreduced=unreduced & axes, reduced=reduced & axes)


def infer_specs(args: tuple, mesh: Any, axis_names: Any) -> Any:
    """The specs of the arguments' shardings on the mesh.

    Raises:
      TypeError: the axes are not of type Explicit.
    """
    mesh = checked_mesh(mesh)
    axes = frozenset(axis_names) or frozenset(mesh.axis_names)
    types = dict(zip(mesh.axis_names, mesh.axis_types))
    if any(types.get(name) is not AxisType.Explicit for name in axes):
        raise TypeError("shard_map: in_specs is needed. Without it, arguments are cut as they lie, "
                        f"but only if the axes of the mesh are of type Explicit, got {mesh}.")
    return tree_map(lambda x: spec_of_type(typeof(x), axes), args)


# ----------------------------------------------------------------------------------------------
# Arguments and results


def check_in_specs(f: Callable, scope: Any, specs: Sequence, avals: Sequence[ShapedArray],
                   names: Callable[[], Sequence[str]]) -> None:
    """Raise a `ValueError` if an argument cannot be cut as its spec says, or is split otherwise
    while the user has all axes of the mesh in hand; it is named."""
    wrong, mesh = [], scope.mesh
    stays = mesh.are_all_axes_explicit and scope.newly_manual_axes == set(mesh.axis_names)
    for i, (spec, aval) in enumerate(zip(specs, avals)):
        if len(spec) > aval.ndim:
            wrong.append((i, f"which has rank {aval.ndim}, is too short for its spec {spec}, "
                             f"which has length {len(spec)}; consider using an in_specs entry of "
                             f"`P()`, or of at most {aval.ndim} entries"))
            continue
        for d, n in enumerate(aval.shape):
            parts = math.prod(mesh.shape[name] for name in spec.axes_of(d))
            if n % parts:
                wrong.append((i, f"cannot be cut as {spec} says: dimension {d}, of size {n}, is "
                                 f"not divisible by {spec.partitions[d]!r}, of size {parts}"))
        stated = spec_of_type(aval, scope.newly_manual_axes)
        if stays and any(spec.axes_of(d) != stated.axes_of(d) for d in range(aval.ndim)):
            wrong.append((i, f"is not split as {spec} says: in_specs passed to shard_map cannot "
                             "move data over axes of type Explicit, and this does not match the "
                             f"specs of the input: {stated}. Leave out in_specs, or reshard the "
                             "argument by `jax.reshard`"))
        elif sums_of(aval) != (spec.unreduced, spec.reduced) and not mesh.manual_axes:
            wrong.append((i, f"is not unreduced and reduced as {spec} says. Leave out in_specs, or "
                             "reshard the argument by `jax.reshard`"))
    if wrong:
        lines = [f"  * {names()[i]}, of type {avals[i].str_short(True)}, {why}" for i, why in wrong]
        raise ValueError(f"shard_map applied to the function '{fun_name(f)}' was given in_specs "
                         "that do not fit the arguments:\n" + "\n".join(lines))


def check_out_specs(f: Callable, scope: Any, specs: Sequence, avals: Sequence[ShapedArray],
                    out_tree: Any) -> None:
    """Raise a `ValueError` if results cannot be put together as specs say; the path is named."""
    wrong, replication = [], ""
    for i, (spec, aval) in enumerate(zip(specs, avals)):
        differing = scope.in_order(varying_axes(aval).intersection(scope.unmentioned(spec)))
        if len(spec) > aval.ndim:
            wrong.append((i, f"it has rank {aval.ndim}, too short for its spec {spec}, "
                             f"which has length {len(spec)}. (A scalar needs a dimension, "
                             "`x[None]`, to be put side by side.)"))
        elif scope.check_vma and differing:
            replication = ", which require replication that can't be statically inferred"
            wrong.append((i, _may_differ(scope, spec, aval, differing)))
        elif scope.check_vma and sums_of(aval) != (spec.unreduced, spec.reduced):
            wrong.append((i, f"is not unreduced and reduced as its spec {spec} says. Use "
                             "`jax.lax.pcast` or `jax.lax.psum`"))
    if wrong:
        paths = leaf_paths(out_tree)
        lines = [f"  * result{keystr(paths[i])}, of type {avals[i].str_short(True)}: {why}"
                 for i, why in wrong]
        raise ValueError(f"shard_map applied to the function '{fun_name(f)}' was given out_specs"
                         f"{replication or ' that do not fit the results'}:\n" + "\n".join(lines))


def _may_differ(scope, spec, aval, differing):
    def names(axes):
        return "{" + ",".join(map(str, scope.in_order(axes))) + "}"

    return (f"out_specs is {spec} which implies that the corresponding output value is only "
            f"varying across mesh axes {names(spec.all_axes())} and not {names(differing)}, but it "
            f"was inferred to be possibly varying over {names(varying_axes(aval))}. Name the axes "
            "in the spec, or make the value the same, as by `psum`; or, if you know that it is, "
            "pass check_vma=False")
