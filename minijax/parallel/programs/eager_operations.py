"""Chapter 14: operations outside of `jit` run where their operands lie.

Most are compiled for the devices of the operands. A new array goes to the default device, or on all
devices of the mesh in force.
"""

import functools
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.array import Array
from ...core.core import Primitive, typeof
from ...core.extension import Extension, register, remove
from ...core.jit import jit_p
from ...core.lowering import lowering_rules
from ...custom_rules.calls import call_p, closed_call_p
from ...custom_rules.jvp import custom_jvp_call_p
from ...custom_rules.vjp import custom_vjp_call_p
from ...custom_rules.vmap import custom_vmap_p
from ...lax.control_flow.scan import scan_p
from ...lax.control_flow.while_loop import while_p
from ...lax.reducing import reduce_p
from ...lax.windowed_reductions import reduce_window_p
from ...remat import remat_p
from ...runtime import cuda, settings, xla
from ...runtime.dispatch import apply_primitive
from ..meshes.mesh import Mesh, abstract_mesh, concrete_mesh
from ..meshes.partition_spec import P
from ..meshes.sharding import NamedSharding
from .placed_array import Place, PlacedArray, place_value, placed_arrays

# ----------------------------------------------------------------------------------------------
# Computation follows data

# Primitives that call functions, hold programs or move arrays: their evaluation handles shardings.
sees_to_places: set[Primitive] = {
    jit_p, custom_jvp_call_p, custom_vjp_call_p, custom_vmap_p, call_p,
    closed_call_p, remat_p, reduce_p, reduce_window_p, scan_p, while_p,
}  # fmt: skip
_OURS = __name__.partition(".")[0]


@functools.lru_cache(4096)
def _takes_place(primitive, impl):
    """Whether a primitive can be evaluated on placed arrays by compiling it. A primitive with a
    user's evaluation rule is evaluated by that rule instead."""
    author = getattr(impl, "__module__", None) or ""
    return (primitive not in sees_to_places and primitive in lowering_rules
            and author.partition(".")[0] == _OURS)


def _evaluate_there(primitive, args, params):
    """Evaluate a primitive on its arguments' devices, or on the default device."""
    if _takes_place(primitive, vars(primitive).get("impl")):
        return apply_primitive(primitive, *args, **params)
    return primitive.impl(*args, **params)


class PlacedOperands(Extension):
    """Evaluates a primitive on its arguments' devices. Registered while there is a `PlacedArray`.
    """

    def evaluate_placed(self, primitive, args, params):
        for x in args:
            if type(x) is PlacedArray:
                if len(args) > 1:
                    args = [_scalar_near(y, x.sharding) if isinstance(y, np.generic) else y
                            for y in args]
                return _evaluate_there(primitive, args, params)
        return NotImplemented


class PlacedEvaluation(Extension):
    """Evaluates a primitive of arguments that have no place: on a default device that is not the
    first one; under `set_mesh`, such that the results are on all devices of the mesh.

    It is registered while there is an accelerator, another default device, or a mesh in force.
    """

    def evaluate(self, primitive, args, params):
        if any(type(x) is PlacedArray for x in args):
            return NotImplemented
        if (mesh := mesh_in_force()) is not None and primitive not in sees_to_places:
            return _on_mesh(primitive, primitive.impl(*args, **params), mesh)
        if default_device() is None and not default_is_accelerator():
            return NotImplemented
        return _evaluate_there(primitive, args, params)


def _on_mesh(primitive, out, mesh):
    """The results of a primitive, as arrays that all devices of the mesh hold."""
    def moved(x):
        if type(x) is not Array or x.dtype == dtypes.float0:
            return x
        spec = P(*[None] * x.ndim) if mesh.explicit_axes else P()
        return place_value(x._numpy(), x.aval, NamedSharding(mesh, spec), owned=True)

    return [*map(moved, out)] if primitive.multiple_results else moved(out)


def mesh_in_force() -> Mesh | None:
    """The mesh of `set_mesh`, if it has devices, with the axes that are in force now, as in
    `auto_axes`. It keeps its own in a `shard_map`."""
    mesh = concrete_mesh.value
    if mesh is None or mesh.empty:
        return None
    around = abstract_mesh.value
    if (around is None or around is mesh.abstract_mesh or around.manual_axes
            or around.size != mesh.size):
        return mesh
    return _with_axes(mesh, around)


@functools.lru_cache(64)
def _with_axes(mesh, around):
    """The devices of a mesh, with the axes of an abstract one."""
    return Mesh(mesh.devices.reshape(around.axis_sizes), around.axis_names, around.axis_types)


def jit_params() -> dict:
    """`Placements.jit_params`: equations of `jit` name the mesh of `set_mesh`."""
    mesh = concrete_mesh.value
    return {} if mesh is None or mesh.empty else {"ctx_mesh": mesh}


def _watch_mesh(mesh: Mesh | None, begins: bool) -> None:
    if mesh is not None:
        (register if begins else remove)(placed_evaluation)


concrete_mesh.watchers.append(_watch_mesh)
placed_evaluation = PlacedEvaluation()
if cuda.has_device():  # a look at files, which does not load XLA
    register(placed_evaluation)
placed_operands = PlacedOperands()
placed_arrays.extensions.append(placed_operands)


@functools.cache
def default_is_accelerator() -> bool:
    """Whether eager operations run on an accelerator by default.

    On a CPU, NumPy evaluates. On a GPU, NumPy would have to fetch the arguments of every operation
    and to send its result back. So each primitive is compiled there, once for each type of its
    arguments. (JAX does so on CPUs too.)
    """
    return cuda.has_device() and xla().default_device().platform != "cpu"


def _scalar_near(x, sharding):
    """A scalar of NumPy as an array on the same devices; the same ones are often met again."""
    aval = typeof(x)
    return PlacedArray(None, *_copies(aval, x.astype(aval.dtype).tobytes(), sharding))


@functools.lru_cache(1024)
def _copies(aval, data, sharding):
    """The place and the buffers of a scalar. A `PlacedArray` in a cache would never let the
    registration of `placed_evaluation` end."""
    named = isinstance(sharding, NamedSharding)
    everywhere = NamedSharding(sharding.mesh, P()) if named else sharding
    value = np.frombuffer(data, aval.dtype).reshape(())
    shards = place_value(value, aval, everywhere, committed=False).shards
    return Place(aval, everywhere, committed=False), shards



def default_device():
    """The device of the setting `jax_default_device`; `None` if that is the first one anyway."""
    return _other_device(settings.default_device.value)


def _other_device(choice):
    if choice is None:
        return None
    device = xla().backend(choice).local_devices()[0] if isinstance(choice, str) else choice
    return None if device == xla().default_device() else device


def watch_default_device(choice: Any, begins: bool) -> None:
    """The setting `jax_default_device` begins or ends to have this value somewhere."""
    if choice is not None:
        (register if begins else remove)(placed_evaluation)


settings.default_device.watched_by(watch_default_device)
