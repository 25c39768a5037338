"""Chapter 14: the primitives that change the sharding in an array's type.

    reshard      the array gets another sharding; data may move
    mesh_cast    the type speaks of a mesh whose axes have other types; the data stay

The cotangent of an array has its sharding. So the transpose of both goes back to the type of the
operand, and a cotangent that lies otherwise is resharded (`vary_like`).
"""

from __future__ import annotations

from typing import Any

from ..core.batching import primitive_batchers
from ..core.core import Primitive, ShapedArray, typeof
from ..core.extension import Extension, register, remove
from ..core.lowering import register_lowering
from ..core.transposition import deflinear2
from ..printing import pp_rules
from ..runtime.dispatch import apply_primitive
from . import mesh as meshes
from .constraints import evaluated, sharding_constraint_p
from .mesh import AbstractMesh, Mesh
from .modules import devices_of_module, manual_context
from .partition_spec import P
from .placed import PlacedArray, sees_to_places, typed_arrays
from .sharding import NamedSharding, check_no_axis_twice
from .sharding_rules import stated
from .spmd import constraint, is_abstract
from .typed import entries_of, mesh_of, placement, sharding_of_type, with_sharding

reshard_p = Primitive("reshard")
mesh_cast_p = Primitive("mesh_cast")
sees_to_places.update([reshard_p, mesh_cast_p])
stated.update([reshard_p, mesh_cast_p, sharding_constraint_p])


def bind_reshard(x: Any, sharding: NamedSharding) -> Any:
    """`x` with this sharding, which has an entry for each dimension."""
    return reshard_p.bind(x, dst_sharding=sharding, concrete_mesh=None)


for _primitive in (reshard_p, mesh_cast_p):
    _primitive.def_abstract_eval(lambda x, *, dst_sharding, **params:
                                 with_sharding(x, dst_sharding))


@reshard_p.def_impl
def _reshard(x, *, dst_sharding, concrete_mesh):
    """As a constraint on the array is evaluated."""
    mesh = meshes.concrete_mesh.value
    if mesh is not None and mesh.abstract_mesh is dst_sharding.mesh:
        dst_sharding = dst_sharding.update(mesh=mesh)
    return evaluated(x, dst_sharding, lambda sharding: apply_primitive(
        reshard_p, x, dst_sharding=sharding, concrete_mesh=concrete_mesh))


@mesh_cast_p.def_impl
def _mesh_cast(x, *, dst_sharding):
    if type(x) is not PlacedArray or not isinstance(x.sharding, NamedSharding):
        return x
    mesh = x.sharding.mesh.update(axis_types=dst_sharding.mesh.axis_types)
    return PlacedArray(x.aval, x.shards, x.sharding.update(mesh=mesh), x.committed, x.layout)


def _back(bind):
    """The transpose: to the type of the operand."""
    def transpose(ct, x, *, dst_sharding, **params):
        own = sharding_of_type(x.aval, dst_sharding.mesh)
        return [bind(ct, dst_sharding=_on_devices_of(own, dst_sharding), **params)]

    return transpose


def _on_devices_of(sharding, other):
    """The sharding on a mesh with the devices of another one, if that has some."""
    if is_abstract(other) or not is_abstract(sharding):
        return sharding
    return sharding.update(mesh=other.mesh.update(axis_types=sharding.mesh.axis_types))


deflinear2(reshard_p, _back(reshard_p.bind))
deflinear2(mesh_cast_p, _back(mesh_cast_p.bind))


def with_batch_entry(sharding: NamedSharding, x: Any, d: int, out_dim: int) -> NamedSharding:
    """The sharding with an entry for the batch dimension, which is dimension `d` of `x`.

    Raises:
      DuplicateSpecError: the sharding names an axis that splits the batch dimension.
    """
    entries = [*sharding.spec.partitions]
    entries.insert(out_dim, entries_of(typeof(x))[d])
    check_no_axis_twice(P(*entries))
    return sharding.update(spec=P(*entries))


def _batch(bind):
    def rule(args, dims, *, dst_sharding, **params):
        (x,), (d,) = args, dims
        return bind(x, dst_sharding=with_batch_entry(dst_sharding, x, d, d), **params), d

    return rule


primitive_batchers[reshard_p] = _batch(reshard_p.bind)
primitive_batchers[mesh_cast_p] = _batch(mesh_cast_p.bind)


def lower_stated(ctx: Any, x: Any, sharding: NamedSharding) -> Any:
    """A value with a constraint to a sharding, if the program runs on several devices."""
    if not devices_of_module(ctx):
        return x
    mesh, _ = manual_context(ctx)
    return constraint(ctx, x, sharding, sharding.mesh if mesh is None else mesh)


register_lowering(reshard_p, lambda ctx, x, *, dst_sharding, **params:
                  lower_stated(ctx, x, dst_sharding))
pp_rules["reshard"] = lambda params: {}  # the type of the result says it
register_lowering(mesh_cast_p, lambda ctx, x, *, dst_sharding: x)

# ----------------------------------------------------------------------------------------------
# Tangents and cotangents lie as their primals


class SameShardings(Extension):
    """Values that meet a type get its sharding. Registered while there are arrays or meshes with
    axes of type Explicit."""

    def batch_placement(self, axis_data, in_dims, args):
        said = {(entries_of(aval)[d], mesh_of(aval)) for x, d in zip(args, in_dims)
                if d is not None and mesh_of(aval := typeof(x)) is not None}
        said = {(entry, mesh) for entry, mesh in said if entry is not None}
        if not said:
            return axis_data
        if len(said) > 1:
            raise ValueError("vmap: the batch dimensions of the arguments are split differently, "
                             f"over {', '.join(str(entry) for entry, _ in said)}. Reshard some.")
        ((entry, mesh),) = said
        if axis_data.spmd_name not in (None, entry, (entry,)):
            raise ValueError(f"vmap: spmd_axis_name is {axis_data.spmd_name!r}, but the batch "
                             f"dimension is split over {entry!r}. Leave out spmd_axis_name.")
        return axis_data._replace(placement=placement(frozenset(), (entry,), mesh))

    def vary_like(self, x, aval):
        mesh = mesh_of(aval) or mesh_of(typeof(x))
        if mesh is None or type(aval) is not ShapedArray or typeof(x).shape != aval.shape:
            return x
        if entries_of(typeof(x)) == entries_of(aval):
            return x
        return bind_reshard(x, NamedSharding(mesh, P(*entries_of(aval))))


_same_shardings = SameShardings()
typed_arrays.extensions.append(_same_shardings)


def _watch(mesh: Mesh | AbstractMesh | None, begins: bool) -> None:
    if mesh is not None and mesh.explicit_axes:
        (register if begins else remove)(_same_shardings)


meshes.abstract_mesh.watchers.append(_watch)
