"""Chapter 16: exported functions that run on several devices.

An exported function knows no devices, only how many they are. Its module is as those of chapter 14.
What it says of shardings is kept beside it, over abstract meshes, so that a caller can choose the
devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.core import ShapedArray
from ..core.jaxpr import ClosedJaxpr
from ..core.jit import Spec
from ..core.lowering import Value, used_variables
from ..core.tree import PyTreeDef
from ..parallel.memories import MemorySpace, is_elsewhere
from ..parallel.mesh import AbstractMesh, get_abstract_mesh
from ..parallel.modules import (
    PartitionedBody,
    PartitionedModule,
    as_summands,
    constraint,
    devices_of_module,
    manual_context,
)
from ..parallel.partition_spec import P
from ..parallel.sharding import NamedSharding, Sharding, SingleDeviceSharding, is_unreduced
from ..parallel.sharding_rules import stated
from ..parallel.spmd import Places, Wanted, committed_sharding, lowering
from ..parallel.typed import mesh_of, space_of, with_sharding
from .calling import call_exported_p
from .modules import ExportedBody, ExportedModule

no_mesh = AbstractMesh((), ())
stated.add(call_exported_p)  # the exported function says how its results are split


class PartitionedExportBody(ExportedBody, PartitionedBody):
    """A function of an exported module for several devices."""

    module: PartitionedExport  # type: ignore[assignment]


class PartitionedExport(ExportedModule, PartitionedModule):
    """The module of a function that is exported for several devices."""

    body_class = PartitionedExportBody

    def __init__(self, jaxpr: ClosedJaxpr, spec: Spec, platforms: tuple[str, ...],
                 tree: PyTreeDef, places: Places):
        PartitionedModule.__init__(self, f"jit_{spec.name}", places.devices,
                                   *places.placings(jaxpr, spec))
        self._describe(jaxpr, platforms, tree)

    def argument_attributes(self, i: int) -> list[str]:
        return PartitionedModule.argument_attributes(self, i)

    @property
    def attributes(self) -> str:  # type: ignore[override]
        return (f"jax.uses_shape_polymorphism = {str(self.polymorphic).lower()}, "
                f"mhlo.num_partitions = {len(self.devices)} : i32, mhlo.num_replicas = 1 : i32")


def abstract_places(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Places | None:
    """Where a program runs whose shardings are all over abstract meshes: on numbered devices.

    Args:
      jaxpr, spec: the program, and how it is called.
      args: its arguments, or their types, with shardings.

    Returns:
      the places, or `None` if there are no shardings, or they are for one device.
    """
    wanted, used = spec.placement or Wanted(), used_variables(jaxpr.jaxpr)
    shardings = tuple([committed_sharding(x) if v in used or spec.keep_unused else None
                       for x, v in zip(args, jaxpr.jaxpr.invars, strict=True)])
    outs = wanted.out_shardings or (None,) * len(jaxpr.out_avals)
    typed = tuple([x is None for x in outs])
    meshes = [x.mesh for x in (*shardings, *outs) if isinstance(x, NamedSharding)]
    meshes = [mesh for mesh in meshes if mesh.size > 1]
    if not meshes:
        return None
    mesh: Any = meshes[0]
    return Places(tuple(range(mesh.size)), shardings, outs, mesh, committed=True, typed=typed,
                  stated=None if get_abstract_mesh().empty else get_abstract_mesh())


# ----------------------------------------------------------------------------------------------
# Shardings without devices


def without_devices(sharding: Sharding | None, ndim: int) -> NamedSharding | None:
    """A sharding as it is kept: over an abstract mesh.

    Raises:
      NotImplementedError: it is of another class than those of meshes and of single devices.
    """
    if sharding is None:
        return None
    if isinstance(sharding, NamedSharding) and sharding.mesh.axis_names:
        return sharding.update(mesh=sharding.mesh.abstract_mesh)
    if not isinstance(sharding, NamedSharding | SingleDeviceSharding):
        raise NotImplementedError(f"export: {sharding} cannot be kept without its devices. Use a "
                                  "NamedSharding.")
    return NamedSharding(no_mesh, P(*[None] * ndim), memory_kind=sharding.memory_kind)


def hlo_shardings(shardings: Sequence, avals: Sequence[ShapedArray]) -> tuple:
    """Shardings as XLA writes them."""
    return tuple([_hlo_sharding(x, aval.ndim) for x, aval in zip(shardings, avals)])


def _hlo_sharding(sharding, ndim):
    if sharding is None:
        return None
    if not sharding.mesh.axis_names:
        sharding = NamedSharding(AbstractMesh((1,), ("x",)), P())
    return sharding._to_xla_hlo_sharding(ndim)


def kept_shardings(places: Places, jaxpr: ClosedJaxpr,
                   kept: Sequence[int]) -> tuple[tuple, tuple]:
    """What is kept of the shardings of the arguments and of the results: `None` for what the user
    left open, and for arguments that the module does not take."""
    ins, outs = places.shardings, places.out_shardings
    if places.named:
        here = SingleDeviceSharding(places.devices[0])
        ins, outs = (here,) * len(ins), (here,) * len(outs)
    typed = places.typed or (False,) * len(outs)
    return (tuple([without_devices(x, aval.ndim) if i in kept else None
                   for i, (x, aval) in enumerate(zip(ins, jaxpr.in_avals, strict=True))]),
            tuple([without_devices(x, aval.ndim) if not of_type or mesh_of(aval) else None
                   for x, aval, of_type in zip(outs, jaxpr.out_avals, typed, strict=True)]))


def check_memories(places: Places, jaxpr: ClosedJaxpr) -> None:
    """Raise NotImplementedError if arrays are in another memory than the devices'."""
    avals = [x for x in (*jaxpr.in_avals, *jaxpr.out_avals) if type(x) is ShapedArray]
    if any(map(is_elsewhere, (*places.shardings, *places.out_shardings))) or any(
            space_of(aval) is MemorySpace.Host for aval in avals):
        raise NotImplementedError("export: the function has arguments or results in the memory of "
                                  "the host. Move them to the device where it is called.")


# ----------------------------------------------------------------------------------------------
# Calls


def placed_avals(avals: Sequence[ShapedArray], shardings: Sequence) -> tuple[ShapedArray, ...]:
    """The types of the results of a call, which state the explicit axes that split them."""
    return tuple([aval if sharding is None or not sharding.mesh.axis_names
                  else with_sharding(aval, sharding) for aval, sharding in zip(avals, shardings)])


def check_device_count(ctx: Any, name: str, count: int) -> None:
    """Raise ValueError unless a module runs on as many devices as the function that it calls."""
    found = max(1, len(devices_of_module(ctx)))
    if count not in (1, found):
        raise ValueError(
            f"Function {name} was exported for {count} devices and is called in a context with "
            f"{found} devices, which is not allowed. Pass arguments that lie on {count} devices.")


def constrained(ctx: Any, x: Value, sharding: NamedSharding | None) -> Value:
    """A value that lies as an exported function says, over the devices of the caller."""
    devices = devices_of_module(ctx)
    if sharding is None or not devices:
        return x
    if manual_context(ctx)[0] is not None:
        raise NotImplementedError(
            "export: within a shard_map, a function was called that was exported with shardings. "
            "Call it outside.")
    if sharding.mesh.size != len(devices):  # exported for one device: each has all
        mesh = lowering.places.mesh  # type: ignore[union-attr]
        assert mesh is not None
        sharding = NamedSharding(mesh, P())
    if is_unreduced(sharding):
        return as_summands(ctx, x, sharding, sharding.mesh)
    return constraint(ctx, x, sharding, sharding.mesh)
