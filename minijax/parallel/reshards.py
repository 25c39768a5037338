"""Chapter 14: the primitives that change the sharding in an array's type.

    reshard      the array gets another sharding; data may move
    mesh_cast    the type speaks of a mesh whose axes have other types; the data stay

The cotangent of an array has its sharding, where reduced and unreduced axes change places. So the
transpose of both goes back to the type of the operand's cotangents, and a cotangent that lies
otherwise is resharded (`vary_like`).
"""

from __future__ import annotations

from typing import Any

from ..core.batching import primitive_batchers
from ..core.core import Primitive, ShapedArray, typeof
from ..core.extension import Extension, register, remove
from ..core.lowering import register_lowering
from ..core.transposition import deflinear2
from ..lax.out_shardings import cotangent_aval
from ..printing import pp_rules
from ..runtime.dispatch import apply_primitive
from . import mesh as meshes
from .constraints import evaluated, sharding_constraint_p
from .mesh import AbstractMesh, Mesh
from .modules import as_summands, constraint, devices_of_module, manual_context
from .partition_spec import P
from .placed import Place, PlacedArray, sees_to_places, typed_arrays
from .sharding import NamedSharding, check_no_axis_twice
from .sharding_rules import stated
from .spmd import is_abstract
from .typed import (
    entries_of,
    mesh_of,
    placement,
    reduced_types,
    sharding_of_type,
    sums_of,
    with_sharding,
)
from .unreduced import meets_numbers

reshard_p = Primitive("reshard")
mesh_cast_p = Primitive("mesh_cast")
sees_to_places.update([reshard_p, mesh_cast_p])
stated.update([reshard_p, mesh_cast_p, sharding_constraint_p])


def bind_reshard(x: Any, sharding: NamedSharding) -> Any:
    """`x` with this sharding, which has an entry for each dimension."""
    return reshard_p.bind(x, dst_sharding=sharding, concrete_mesh=None)


for _primitive in (reshard_p, mesh_cast_p):
    _primitive.def_abstract_eval(lambda x, *, dst_sharding, **params:
                                 _resharded_type(x, dst_sharding))


def _resharded_type(x, sharding):
    unreduced, wanted = sums_of(x)[0], sharding.spec.unreduced
    if unreduced - wanted and wanted - unreduced:
        raise NotImplementedError(
            f"reshard of {x.str_short()} to {sharding.spec}: summands over {set(unreduced)} cannot "
            f"become summands over {set(wanted)} in one step. Make the sum first, by "
            "`jax.sharding.reshard`.")
    return with_sharding(x, sharding)


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
    place = Place(x.aval, x.sharding.update(mesh=mesh), x.committed, x.layout)
    return PlacedArray(None, place, x.shards)


def _back(bind):
    """The transpose: to the type of the operand."""
    def transpose(ct, x, *, dst_sharding, **params):
        own = sharding_of_type(cotangent_aval(x.aval), dst_sharding.mesh)
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
    return sharding.update(spec=sharding.spec.update(entries))


def _batch(bind):
    def rule(args, dims, *, dst_sharding, **params):
        (x,), (d,) = args, dims
        return bind(x, dst_sharding=with_batch_entry(dst_sharding, x, d, d), **params), d

    return rule


primitive_batchers[reshard_p] = _batch(reshard_p.bind)
primitive_batchers[mesh_cast_p] = _batch(mesh_cast_p.bind)


def lower_stated(ctx: Any, x: Any, sharding: NamedSharding, makes_summands: bool = False) -> Any:
    """A value with a constraint to a sharding, if the program runs on several devices.

    A value becomes summands, of which all but one are zeros, unless the operation before
    `makes_summands`.
    """
    if not devices_of_module(ctx):
        return x
    mesh, _ = manual_context(ctx)
    mesh = sharding.mesh if mesh is None else mesh
    if sharding.spec.unreduced and not makes_summands:
        return as_summands(ctx, x, sharding, mesh)
    return constraint(ctx, x, sharding, mesh)


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
        own, sums = sums_of(typeof(x)), sums_of(aval)  # those of cotangents are the other way round
        if entries_of(typeof(x)) == entries_of(aval) and (any(own) or own == sums):
            return x
        spec = P(*entries_of(aval), unreduced=sums[0], reduced=sums[1])
        return bind_reshard(x, NamedSharding(mesh, spec))


class ReducedOperands(Extension):
    """Numbers that meet a reduced value become reduced. Registered while there are such types."""

    def stage_operands(self, builder, primitive, invars, params):
        if len(invars) != 2 or not meets_numbers(primitive.name):
            return invars
        meshes = {mesh: sums_of(v.aval)[1] for v in invars if (mesh := _reduced_mesh(v.aval))}
        if not meshes:
            return invars
        ((mesh, reduced), *_) = meshes.items()
        where = NamedSharding(mesh, P(reduced=reduced))
        return [v if v.aval.ndim or _reduced_mesh(v.aval) or sums_of(v.aval)[0] else
                builder.add_eqn(reshard_p, [v], {"dst_sharding": where, "concrete_mesh": None})
                for v in invars]


def _reduced_mesh(aval):
    """The mesh over which a type is reduced."""
    return mesh_of(aval) if type(aval) is ShapedArray and sums_of(aval)[1] else None


reduced_types.extensions.append(ReducedOperands())
_same_shardings = SameShardings()
typed_arrays.extensions.append(_same_shardings)


def _watch(mesh: Mesh | AbstractMesh | None, begins: bool) -> None:
    if mesh is not None and mesh.explicit_axes:
        (register if begins else remove)(_same_shardings)


meshes.abstract_mesh.watchers.append(_watch)
