"""Chapter 14: `reshard`, the primitive that changes the sharding in an array's type.

The data move if that is necessary. They stay if the new type says the same over a mesh whose axes
have other types, as on the way into `auto_axes`.

The cotangent of an array has its sharding, where reduced and unreduced axes change places. So the
transpose goes back to the type of the operand's cotangents, and a cotangent that lies otherwise is
resharded (`sharded_like`).
"""

from collections.abc import Sequence
from typing import Any

from ...core.batching import AxisData, BatchTrace, WithTrace, primitive_batchers
from ...core.core import Primitive, ShapedArray, state, typeof
from ...core.extension import Extension
from ...core.lowering import register_lowering
from ...lax.families import deflinear2
from ...lax.out_shardings import cotangent_aval
from ...runtime.dispatch import apply_primitive
from ...text.printing import pp_rules
from ..meshes import mesh as meshes
from ..meshes.mesh_in_force import get_abstract_mesh
from ..meshes.partition_spec import P
from ..meshes.sharding import NamedSharding, check_no_axis_twice
from ..types.placement import (
    entries_of,
    explicit_part,
    mesh_of,
    placement,
    reduced_types,
    sharding_of_type,
    sums_of,
    with_sharding,
)
from ..types.sharding_rules import stated
from ..types.spmd_axes import split_over
from ..types.stablehlo import (
    as_summands,
    constraint,
    devices_of_module,
    manual_context,
    open_constraint,
)
from ..types.unreduced import meets_numbers
from .eager_operations import sees_to_places
from .placed_array import Place, PlacedArray
from .program_places import is_abstract
from .sharding_constraint import evaluated, sharding_constraint_p

reshard_p = Primitive("reshard")
sees_to_places.add(reshard_p)
stated.update([reshard_p, sharding_constraint_p])


def bind_reshard(x: Any, sharding: NamedSharding) -> Any:
    """`x` with this sharding, which has an entry for each dimension."""
    return reshard_p.bind(x, dst_sharding=sharding, concrete_mesh=None)


@reshard_p.def_abstract_eval
def _resharded_type(x, *, dst_sharding, concrete_mesh):
    sharding, unreduced = dst_sharding, sums_of(x)[0]
    wanted = sharding.spec.unreduced
    if unreduced - wanted and wanted - unreduced:
        raise NotImplementedError(
            f"reshard of {x.str_short(True)} to {sharding.spec}: summands over {set(unreduced)} "
            f"cannot become summands over {set(wanted)} in one step. Make the sum first, by "
            "`jax.sharding.reshard`.")
    return with_sharding(x, sharding)


@reshard_p.def_impl
def _reshard(x, *, dst_sharding, concrete_mesh):
    """As a constraint on the array is evaluated, unless the data stay."""
    if type(x) is PlacedArray and (out := _on_other_types(x, dst_sharding)) is not None:
        return out
    mesh = meshes.concrete_mesh.value
    if mesh is not None and mesh.abstract_mesh is dst_sharding.mesh:
        dst_sharding = dst_sharding.update(mesh=mesh)
    if type(x) is PlacedArray and x.sharding == dst_sharding and x.committed:
        return x
    if type(x) is not PlacedArray and is_abstract(dst_sharding) and not _says_split(dst_sharding):
        return x  # the devices are not known, and all of them are to have it
    return evaluated(x, dst_sharding, lambda sharding: apply_primitive(
        reshard_p, x, dst_sharding=sharding, concrete_mesh=concrete_mesh))


def _says_split(sharding):
    spec = sharding.spec
    return bool(spec.all_axes() or spec.unreduced or spec.reduced)


def _on_other_types(x, sharding):
    """`x` where it lies, on a mesh whose axes have other types, if it has this sharding there."""
    own, types = x.sharding, sharding.mesh.axis_types
    if (not isinstance(own, NamedSharding) or own.mesh.axis_types == types
            or own.mesh.shape_tuple != sharding.mesh.shape_tuple):
        return None
    said = sharding.spec if sharding.mesh.are_all_axes_explicit else own.spec
    moved = own.update(mesh=own.mesh.update(axis_types=types))
    own = moved.update(spec=said) if _same_tiles(moved, said, x) else moved
    out = PlacedArray(None, Place(x.aval, own, x.committed), x.shards)
    return out if out.aval == with_sharding(x.aval, sharding) else None


def _same_tiles(sharding, spec, x):
    return sharding.is_equivalent_to(sharding.update(spec=spec), x.ndim)


def _back(ct, x, *, dst_sharding, **params):
    """The transpose: to the type of the operand."""
    own = sharding_of_type(cotangent_aval(x.aval), dst_sharding.mesh)
    return [reshard_p.bind(ct, dst_sharding=_on_devices_of(own, dst_sharding), **params)]


def _on_devices_of(sharding, other):
    """The sharding on a mesh with the devices of another one, if that has some."""
    if is_abstract(other) or not is_abstract(sharding):
        return sharding
    return sharding.update(mesh=other.mesh.update(axis_types=sharding.mesh.axis_types))


deflinear2(reshard_p, _back)


def with_batch_entry(sharding: NamedSharding, trace: BatchTrace, x: Any, d: int,
                     out_dim: int) -> NamedSharding:
    """The sharding with an entry for the batch dimension, which is dimension `d` of `x`.

    That dimension is split as those of the arguments of `vmap`, also where the type of `x` does not
    say it, because `x` is computed under `auto_axes`.

    Raises:
      DuplicateSpecError: the sharding names an axis that splits the batch dimension.
    """
    said = trace.axis_data.placement
    (entry,) = (entries_of(typeof(x))[d],) if said is None else said.entries
    spec = sharding.spec.with_entry(out_dim, explicit_part(entry, sharding.mesh.explicit_axes),
                                    typeof(x).ndim)
    check_no_axis_twice(spec)
    return sharding.update(spec=spec)


def _batch(trace, args, dims, *, dst_sharding, **params):
    (x,), (d,) = args, dims
    if d is not None:
        dst_sharding = with_batch_entry(dst_sharding, trace, x, d, d)
    return reshard_p.bind(x, dst_sharding=dst_sharding, **params), d


primitive_batchers[reshard_p] = WithTrace(_batch)


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
    if sharding.mesh.auto_axes:
        return open_constraint(ctx, x, sharding) if sharding.mesh.explicit_axes else x
    return constraint(ctx, x, sharding, mesh)


register_lowering(reshard_p, lambda ctx, x, *, dst_sharding, **params:
                  lower_stated(ctx, x, dst_sharding))
pp_rules["reshard"] = lambda params: {}  # the type of the result says it

# ----------------------------------------------------------------------------------------------
# Tangents and cotangents lie as their primals


def placement_of_batch(axis_data: AxisData, in_dims: Sequence, args: Sequence) -> AxisData:
    """`Placements.of_batch`: as the types of the arguments say, or `spmd_axis_name`."""
    if axis_data.spmd_name is not None:
        axis_data = split_over(axis_data, axis_data.spmd_name)
    mapped = [(typeof(x), d) for x, d in zip(args, in_dims) if d is not None]
    said = {entries_of(aval)[d]: mesh_of(aval) for aval, d in mapped if type(aval) is ShapedArray}
    if len(said) > 1:
        raise ValueError("Mapped away dimension of inputs passed to vmap should be sharded the "
                         f"same. Got inconsistent axis specs: {' vs '.join(map(str, said))}. "
                         "Reshard some, by `jax.sharding.reshard`.")
    if said.keys() <= {None}:
        return axis_data
    ((entry, mesh),) = said.items()
    if axis_data.spmd_name not in (None, entry, (entry,)):
        raise ValueError("vmap: Only one of spmd_axis_name or arrays sharded on `Explicit` "
                         "mesh axis type is allowed to say how the batch is split, but "
                         f"spmd_axis_name is {axis_data.spmd_name!r}, and the arguments are "
                         f"split over {entry!r}. Leave out spmd_axis_name.")
    axis_data = axis_data._replace(placement=placement(frozenset(), (entry,), mesh))
    return split_over(axis_data, entry)


def sharded_like(x: Any, aval: ShapedArray) -> Any:
    """`Placements.like`, of values with shardings in their types."""
    mesh = mesh_of(aval) or mesh_of(typeof(x))
    if mesh is None or type(aval) is not ShapedArray or typeof(x).shape != aval.shape:
        return x
    own, sums = sums_of(typeof(x)), sums_of(aval)  # those of cotangents are the other way round
    if entries_of(typeof(x)) == entries_of(aval) and (any(own) or own == sums):
        is_new = not aval.ndim and mesh_of(typeof(x)) is None  # a number, as `grad` passes it
        if not (is_new and state.trace.staging and _says_mesh_in_types()):
            return x
    if mesh_of(typeof(x)) is None and not any(sums) and not _can_be_moved():
        return x
    spec = P(*entries_of(aval), unreduced=sums[0], reduced=sums[1])
    return bind_reshard(x, NamedSharding(mesh, spec))


def _can_be_moved():
    """Whether a value that is on no mesh can be brought to the mesh of a type now: types do not say
    the devices."""
    return state.trace.staging or meshes.concrete_mesh.value is not None


def _says_mesh_in_types():
    """Whether numbers have to be brought to the mesh of a type: the context does not say it."""
    around = get_abstract_mesh()
    return not (around.manual_axes or around.are_all_axes_auto)


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
