"""Chapter 14: how an array in the middle of a program is to lie.

XLA finds a place for every intermediate result by itself, starting from the arguments. A constraint
says it better: where it stands, the array lies so, and XLA sends what must be sent.

    h = jax.lax.with_sharding_constraint(x @ w1, NamedSharding(mesh, P("data", "model")))

    %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}, {"model"}]> : tensor<8x32xf32>
"""

import functools
from collections.abc import Callable
from typing import Any

from ...core.api_util import flatten_axes
from ...core.batching import WithTrace, primitive_batchers
from ...core.boundary import api_boundary
from ...core.core import Primitive, ShapedArray, typeof
from ...core.lowering import register_lowering
from ...core.staging import shaped_abstractify
from ...core.tree import PyTreeDef, tree_flatten, tree_map
from ...lax.families import deflinear2
from ...runtime.dispatch import apply_primitive
from ...runtime.jit import jit
from ...runtime.jit_equations import UNSPECIFIED
from ..meshes import mesh as meshes
from ..meshes.layouts import sharding_of_format
from ..meshes.mesh import AbstractMesh, Mesh
from ..meshes.mesh_in_force import get_abstract_mesh
from ..meshes.partition_spec import UNCONSTRAINED, P, PartitionSpec
from ..meshes.sharding import NamedSharding, Sharding, check_no_axis_twice, is_unreduced
from ..types.placement import entries_of, says_split, sums_of, varying_axes, with_sharding
from ..types.stablehlo import as_summands, constraint, devices_of_module, manual_context
from .eager_operations import sees_to_places
from .placed_array import Place, PlacedArray
from .program_places import is_abstract

# ----------------------------------------------------------------------------------------------
# What users write for a sharding


def context_mesh() -> Mesh | AbstractMesh:
    """The mesh that a bare `PartitionSpec` refers to; an empty mesh by default."""
    if not get_abstract_mesh().empty:
        return get_abstract_mesh()
    return meshes.entered_mesh.value or meshes.no_mesh


def check_entries(entries: Any, argument: str, unconstrained: bool = False) -> None:
    """Check the leaves of a pytree of shardings, specs and `None`s.

    Raises:
      TypeError: a leaf is something else.
      ValueError: it has an empty mesh, names an axis twice, or leaves a dimension to XLA, unless
        `unconstrained`.
    """
    for entry in tree_flatten(entries, is_leaf=lambda x: x is None)[0]:
        if entry is None or entry is UNSPECIFIED:
            continue
        if not isinstance(entry, (Sharding, PartitionSpec)):
            raise TypeError(f"{argument} leaf specifications are expected to be PartitionSpec "
                            f"instances, shardings or None, but got {entry!r}.")
        if isinstance(entry, NamedSharding) and entry.mesh.empty:
            raise ValueError(f"{argument}: {entry} has an empty mesh, on which nothing can lie.")
        spec = getattr(entry, "spec", entry)
        if not isinstance(spec, PartitionSpec):
            continue
        check_no_axis_twice(spec, argument)
        if unconstrained:
            continue
        if UNCONSTRAINED in spec.partitions:
            raise ValueError(f"{argument}: {entry} leaves a dimension to the compiler, which "
                             "only with_sharding_constraint can do.")


def as_sharding(entry: Any, mesh: Mesh | AbstractMesh, argument: str) -> Sharding | None:
    """A user's entry as a sharding, with `mesh` for a bare spec. `None` is returned unchanged.

    Raises:
      RuntimeError: a spec, and the mesh is empty.
    """
    if not isinstance(entry, PartitionSpec):
        return None if entry is UNSPECIFIED else entry
    if mesh.empty:
        raise RuntimeError(f"{argument} requires a non-empty mesh in context for the PartitionSpec "
                           f"{entry}. Write `with jax.set_mesh(mesh):`, or give "
                           "NamedSharding(mesh, spec).")
    return NamedSharding(mesh, entry)


def flat_shardings(argument: str, tree: PyTreeDef, entries: Any, mesh: Mesh | AbstractMesh,
                   tupled_args: bool = False) -> list[Sharding | None]:
    """A sharding for each leaf of `tree`, of a prefix of it.

    Raises:
      ValueError: `entries` is not a prefix of `tree`.
    """
    flat = flatten_axes(argument, tree, entries, tupled_args=tupled_args)
    return [as_sharding(entry, mesh, argument) for entry in flat]


def check_fits(sharding: Sharding, aval: ShapedArray, what: str) -> None:
    """Raise ValueError unless an array of this type has the dimensions that the sharding splits."""
    try:
        sharding.check_compatible_aval(aval.shape)
    except ValueError as error:
        raise ValueError(f"One of {what} is incompatible with its sharding: {error}") from None


# ----------------------------------------------------------------------------------------------
# The primitive


sharding_constraint_p = Primitive("sharding_constraint")
sees_to_places.add(sharding_constraint_p)


def constrain(x: Any, sharding: Sharding, mesh: Mesh | AbstractMesh = meshes.no_mesh) -> Any:
    """`x`, constrained to a sharding."""
    return sharding_constraint_p.bind(x, **constraint_params(sharding, mesh))


def constraint_params(sharding: Sharding, mesh: Mesh | AbstractMesh = meshes.no_mesh) -> dict:
    """The parameters of the primitive, in the words of JAX."""
    return {"sharding": sharding, "layout": None, "context_mesh": mesh,
            "unconstrained_dims": unconstrained_dims(sharding)}


def unconstrained_dims(sharding: Sharding) -> frozenset[int]:
    """The dimensions that a sharding leaves to the compiler."""
    entries = sharding.spec.partitions if isinstance(sharding, NamedSharding) else ()
    return frozenset(i for i, entry in enumerate(entries) if entry is UNCONSTRAINED)


@api_boundary
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Constrain the shardings of arrays.

    Under `jit`, XLA partitions the program such that the arrays have these shardings. Otherwise the
    arrays are moved. The cotangents get the same shardings.

    Args:
      x: a pytree of arrays.
      shardings: a prefix of it of `NamedSharding`s, or of `PartitionSpec`s if there is a mesh
        around (`with jax.set_mesh(mesh):`). `P.UNCONSTRAINED` leaves a dimension to the compiler.
        A `Format` has a sharding.

    Returns:
      the arrays.

    Raises:
      ValueError: an array has too few dimensions, or they do not divide evenly; no sharding is
        given; a sharding names a mesh axis of type Explicit; outside of `jit`, the array is
        committed to other devices.
      TypeError: an entry of `shardings` is not a sharding.
      RuntimeError: a spec without a mesh.

    >>> mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    >>> sharding = jax.NamedSharding(mesh, jax.P("x"))
    >>> jax.jit(lambda x: jax.lax.with_sharding_constraint(2 * x, sharding))(jnp.arange(4))
    Array([0, 2, 4, 6], dtype=int32)
    """
    leaves, tree = tree_flatten(x)
    shardings = tree_map(lambda entry: sharding_of_format(entry, "with_sharding_constraint"),
                         shardings)
    check_entries(shardings, "with_sharding_constraint", unconstrained=True)
    mesh = context_mesh()
    flat = flat_shardings("with_sharding_constraint: shardings", tree, shardings, mesh)
    return tree.unflatten([_constrain_leaf(leaf, sharding, mesh)
                           for leaf, sharding in zip(leaves, flat, strict=True)])


def _constrain_leaf(x, sharding, mesh):
    if sharding is None and not mesh.empty:
        sharding = NamedSharding(mesh, P())
    if sharding is None:
        raise ValueError("with_sharding_constraint: a sharding is None. Say P() for an array that "
                         "all devices hold.")
    sharding = _within_shard_map(x, sharding)
    check_fits(sharding, shaped_abstractify(x), "with_sharding_constraint's arrays")
    if isinstance(sharding, NamedSharding) and _all_stated(x, sharding):
        return x
    return constrain(x, sharding, mesh)


def _all_stated(x, sharding) -> bool:
    """Whether the type of `x` states all of its sharding, which must then be this one.

    Raises:
      AssertionError: it is another one.
      ValueError: the sharding names an axis of type Explicit, and not all axes around are.
    """
    around, mesh = get_abstract_mesh(), sharding.mesh
    if around.empty or not around.are_all_axes_explicit:
        if named := set(sharding.spec.all_axes()) & set(mesh.explicit_axes):
            raise ValueError(f"with_sharding_constraint: {sharding.spec} names {sorted(named)}, of "
                             f"type Explicit in {mesh}. The spec can only refer to Auto axes of "
                             "the mesh: make it with `axis_types=(jax.sharding.AxisType.Auto,)`. "
                             "For axes of type Explicit, use `jax.sharding.reshard`.")
        return False
    own = shaped_abstractify(x)
    wanted = with_sharding(own, sharding)
    foreign = set(sharding.spec.all_axes()) - set(around.axis_names)
    if foreign or (entries_of(own), sums_of(own)) != (entries_of(wanted), sums_of(wanted)):
        raise AssertionError(
            "`with_sharding_constraint` acts as an assert when all axes of mesh are of type "
            f"`Explicit`. It expected {wanted.str_short(True)}, got {own.str_short(True)}. To "
            "change the sharding, use `jax.sharding.reshard`.")
    return True


def _within_shard_map(x, sharding):
    """The sharding over the mesh around, of which `shard_map` leaves some axes to the compiler. It
    may be over the mesh outside, whose axes have other types, unless the type of `x` speaks of
    axes of type Manual.

    Raises:
      ValueError: it is of another mesh, or names an axis that is not left to the compiler.
    """
    around = get_abstract_mesh()
    if not around.manual_axes or not isinstance(sharding, NamedSharding):
        return sharding
    alike = sharding.mesh.shape_tuple == around.shape_tuple
    if sharding.mesh.abstract_mesh != around and not (
            alike and not varying_axes(shaped_abstractify(x))):
        raise ValueError(f"with_sharding_constraint: {sharding} is of another mesh than that of "
                         f"the shard_map around, {around}. Give the PartitionSpec alone.")
    check_no_manual_axis(sharding, "with_sharding_constraint")
    return sharding.update(mesh=around)


def check_no_manual_axis(sharding: Sharding | None, caller: str) -> None:
    """Raise ValueError if a sharding names an axis of which a shard_map around gives one part."""
    around = get_abstract_mesh()
    if not around.manual_axes or not isinstance(sharding, NamedSharding):
        return
    if taken := set(sharding.spec.all_axes()) & set(around.manual_axes):
        raise ValueError(f"{caller}: {sharding.spec} contains a manual axes {sorted(taken)} of "
                         f"mesh {around}: the shard_map around has split the array over it "
                         "already.")


@sharding_constraint_p.def_abstract_eval
def _constrained_type(aval, *, sharding, **params):
    if not isinstance(sharding, NamedSharding):
        return aval
    if says_split(aval) and not sharding.mesh.are_all_axes_explicit:
        return aval  # a constraint speaks of the other axes
    return with_sharding(aval, sharding)


@sharding_constraint_p.def_impl
def _evaluate(x, *, sharding, layout, context_mesh, unconstrained_dims):
    def apply(sharding):
        if says_split(typeof(x)) and not unconstrained_dims:
            return mover(sharding)(x)  # which also gives up the split over explicit axes
        around = context_mesh if is_abstract(sharding) else meshes.no_mesh  # the devices are known
        return apply_primitive(sharding_constraint_p, x, sharding=sharding, layout=layout,
                               context_mesh=around, unconstrained_dims=unconstrained_dims)

    return evaluated(x, sharding, apply)


@functools.lru_cache(256)
def mover(sharding: Sharding) -> Any:
    """A program that moves an array."""
    return jit(lambda x: x, out_shardings=sharding)


def evaluated(x: Any, sharding: Sharding, apply: Callable[[Sharding], Any]) -> Any:
    """An array moved by a program that gives it this sharding, with devices: `apply` runs it."""
    if is_abstract(sharding) and (meshes.concrete_mesh.value or meshes.no_mesh).empty:
        sharding = _on_mesh_of(x, sharding)
    complete = not unconstrained_dims(sharding)
    if complete:
        sharding.shard_shape(typeof(x).shape)  # must be possible in equal parts
    out = apply(sharding)
    if not complete or type(out) is not PlacedArray or is_abstract(sharding):
        return out
    if not (is_unreduced(sharding) or out.sharding.is_equivalent_to(sharding, out.ndim)):
        return out  # axes that the compiler has in hand split it, too
    return PlacedArray(None, Place(out.aval, sharding), out.shards)  # in the user's words


def _on_mesh_of(x, sharding):
    """The sharding on the devices where `x` lies already: its own mesh is an abstract one."""
    if type(x) is not PlacedArray or not isinstance(x.sharding, NamedSharding):
        kind = ValueError if not hasattr(x, "sharding") else TypeError
        raise kind(f"with_sharding_constraint: {sharding} has an abstract mesh, so the array must "
                   "already lie on the devices of a mesh.")
    if x.sharding.mesh.shape_tuple != sharding.mesh.shape_tuple:
        raise ValueError(f"with_sharding_constraint: the array lies on {x.sharding.mesh}, not on a "
                         f"mesh like {sharding.mesh}.")
    return sharding.update(mesh=x.sharding.mesh)


deflinear2(sharding_constraint_p,
           lambda ct, _, **params: [sharding_constraint_p.bind(ct, **params)])


def _batch(trace, args, dims, *, sharding, context_mesh, **params):
    """The batch dimension is left to the compiler, or split over `spmd_axis_name`."""
    (x,), (d,) = args, dims
    if d is not None:
        sharding = _with_batch_dimension(sharding, d, typeof(x).ndim, trace.axis_data.spmd_name)
    return constrain(x, sharding, context_mesh), d


def _with_batch_dimension(sharding, d, ndim, spmd_name):
    check_spmd_name(sharding, spmd_name)
    if not isinstance(sharding, NamedSharding):
        return sharding
    names = () if spmd_name is None else spmd_name if isinstance(spmd_name, tuple) else (spmd_name,)
    if set(names) & set(sharding.spec.all_axes()):
        raise ValueError(f"vmap: spmd_axis_name {spmd_name!r} splits the batch dimension already, "
                         f"and with_sharding_constraint another one: {sharding.spec}.")
    return sharding.update(spec=sharding.spec.with_entry(d, names or UNCONSTRAINED, ndim))


def check_spmd_name(sharding: Sharding, spmd_name: Any) -> None:
    """Raise ValueError if the batch cannot be split, because the sharding names no axes."""
    if spmd_name is not None and not isinstance(sharding, NamedSharding):
        raise ValueError("If you are using spmd_axis_name parameter of jax.vmap, please make "
                         "sure to run your jitted function inside the mesh context manager. "
                         "Only `jax.lax.with_sharding_constraint` with a NamedSharding names "
                         f"axes that the batch could be split over, got {sharding}.")


primitive_batchers[sharding_constraint_p] = WithTrace(_batch)


def _lower(ctx, x, *, sharding, **params):
    if isinstance(sharding, NamedSharding) and sharding.mesh.auto_axes and says_split(x.aval):
        sharding = _beside_explicit(sharding, x.aval)
    return lower_sharding(ctx, x, sharding)


def lower_sharding(ctx: Any, x: Any, sharding: Sharding) -> Any:
    """A value with a constraint to a sharding, if the program runs on several devices.

    Raises:
      ValueError: the sharding is one for another number of devices.
    """
    devices = devices_of_module(ctx)
    if not devices and is_abstract(sharding):
        return x
    if sharding.num_devices != max(1, len(devices)):
        raise ValueError(f"The program runs on {max(1, len(devices))} devices, but a constraint "
                         f"in it speaks of {sharding.num_devices}: {sharding}.")
    if not devices:
        return x
    assert isinstance(sharding, NamedSharding), "several devices are on a mesh"
    mesh, _ = manual_context(ctx)
    mesh = sharding.mesh if mesh is None else mesh
    if is_unreduced(sharding):
        return as_summands(ctx, x, sharding, mesh)
    return constraint(ctx, x, sharding, mesh)


def _beside_explicit(sharding, aval):
    """The sharding over axes of type Auto, with those of type Explicit that the type names."""
    spec, stated = sharding.spec, P(*entries_of(aval))
    entries = spec.entries(aval.ndim)
    for d, entry in enumerate(entries):
        if entry is not UNCONSTRAINED:
            entries[d] = (*dict.fromkeys((*stated.axes_of(d), *spec.axes_of(d))),)
    return sharding.update(spec=spec.update(entries))


register_lowering(sharding_constraint_p, _lower)
