"""Chapter 14: what a `ShapeDtypeStruct` says of a mesh."""

from typing import Any

from ...core.core import ShapedArray
from ..meshes.layouts import AUTO, Format, sharding_of_format
from ..meshes.memory_spaces import space_of_kind
from ..meshes.mesh import AxisType, concrete_mesh
from ..meshes.mesh_in_force import get_abstract_mesh
from ..meshes.partition_spec import PartitionSpec
from ..meshes.sharding import NamedSharding, Sharding
from ..types.placement import Placement, changed, in_space, sharding_of_type, with_sharding
from .explicit_axes import ManualAxisType


def struct_sharding(sharding: Any, axes: Any, shape: tuple) -> Sharding | None:
    """`Placements.struct_sharding`: it may be given as a spec of the mesh in force."""
    if axes is not None and not isinstance(axes, ManualAxisType):
        raise TypeError("ShapeDtypeStruct: `manual_axis_type` should be of type "
                        f"`jax.sharding.ManualAxisType`, got {axes!r} of type {type(axes)}.")
    return None if sharding is None else _checked(sharding, shape)


def _checked(sharding, shape):
    if isinstance(sharding, PartitionSpec):
        if get_abstract_mesh().empty:
            raise TypeError(f"ShapeDtypeStruct: {sharding} needs a mesh in force: jax.set_mesh.")
        sharding = NamedSharding(concrete_mesh.value or get_abstract_mesh(), sharding)
    if isinstance(sharding, Format):
        if sharding.layout is AUTO:
            raise TypeError("ShapeDtypeStruct: Layout.AUTO says nothing of the type of an "
                            f"argument; give it to jit's in_shardings. Got {sharding}.")
        sharding = sharding_of_format(sharding, "ShapeDtypeStruct")
    if not isinstance(sharding, Sharding):
        raise ValueError("ShapeDtypeStruct: sharding should be an instance of "
                         "`jax.sharding.Sharding`, a PartitionSpec or a Format, got "
                         f"{sharding!r}.")
    sharding.check_compatible_aval(shape)
    return sharding


def sharding_of(aval: ShapedArray) -> Sharding | None:
    """`Placements.sharding_of`: inside of a `shard_map` over all axes of a mesh, each type states
    one."""
    stated = aval.placement and aval.placement.stated_sharding(aval.ndim)
    around = get_abstract_mesh()
    if stated or not around.manual_axes or AxisType.Auto in around.axis_types:
        return stated
    return sharding_of_type(aval, around)


def struct_placement(struct: Any) -> Placement | None:
    """`Placements.struct_placement`."""
    aval, sharding = ShapedArray(struct.shape, struct.dtype), struct.sharding
    if sharding is not None:
        aval = in_space(aval, space_of_kind(sharding.memory_kind))
    if isinstance(sharding, NamedSharding):
        aval = with_sharding(aval, sharding)
    return _along_manual_axes(aval, struct.manual_axis_type).placement


def _along_manual_axes(aval: ShapedArray, axes: ManualAxisType | None) -> ShapedArray:
    """The same type of values that vary, or are sums, along axes of type Manual."""
    if axes is None or axes.empty:
        return aval
    manual = get_abstract_mesh().manual_axes
    if foreign := axes.vur.difference(manual):
        raise ValueError(
            f"ShapeDtypeStruct: axes mentioned in manual_axis_type={axes} should be of type "
            f"`Manual`, but {set(foreign)} are not: the manual axes of the mesh in force are "
            f"{tuple(manual)}. Use the struct inside the `shard_map` over these axes.")
    parts = {"varying": axes.varying, "unreduced": axes.unreduced, "reduced": axes.reduced}
    return changed(aval, **{name: names for name, names in parts.items() if names})
