"""Chapter 14: compiled programs whose arguments and results have shardings.

XLA chooses the shardings of results, which are read from the compiled program and told in the words
of a mesh.
"""

import functools
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from ...checks.array import alive
from ...core.array import Array
from ...core.core import ShapedArray
from ...core.dtypes import float0
from ...core.jaxpr import Var
from ...core.jit import Program, array_of, runner
from ...core.lowering import stored
from ...runtime import xla
from ...runtime.effects import run_with_token
from ..meshes.memory_spaces import MemorySpace, is_elsewhere
from ..meshes.mesh import Mesh
from ..meshes.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    is_unreduced,
    spec_of,
    tile_assignment,
    with_prime_axes,
)
from ..types.placement import mesh_of, sharding_of_type, space_of
from .placed_array import Place, PlacedArray, on_one_device, shards_of, xla_sharding

# ----------------------------------------------------------------------------------------------
# How XLA's choices are told


def _in_words(tilings, avals, asked, places) -> list[Sharding]:
    """The shardings that XLA was `asked` for, or else chose."""
    tilings = tilings[:len(avals)] or [None] * len(avals)  # of `()`, XLA tells something, too
    return [sharding or sharding_of(tiling, places)
            for tiling, sharding in zip(tilings, asked, strict=True)]


def _like_argument(outs, out_avals, ins, in_avals, places) -> list[Sharding]:
    """The shardings of results: where the first argument is cut the same way, in its very words,
    which may say `None` for the last dimensions."""
    example, ndim = next(((x, aval.ndim) for x, aval in zip(ins, in_avals)
                          if isinstance(x, NamedSharding) and x.mesh is places.mesh
                     and not (x.spec.unreduced or x.spec.reduced)), (None, 0))
    if example is None or not places.arrays or _is_mixed(places.mesh):
        return outs
    return [example if aval.ndim == ndim and sharding.is_equivalent_to(example, ndim) else sharding
            for sharding, aval in zip(outs, out_avals)]


def _all_in_words(in_avals, asked, out_avals, places, in_tilings=(), out_tilings=()):
    """The shardings of arguments and of results."""
    ins = _in_words(in_tilings, in_avals, asked, places)
    outs = _like_argument(_in_words(out_tilings, out_avals, [None] * len(out_avals), places),
                          out_avals, ins, in_avals, places)
    return ins, [_truly(said, found, aval, places.stated) for said, found, aval
                 in zip(places.out_shardings, outs, out_avals, strict=True)]


def _is_mixed(mesh):
    return mesh is not None and 0 < len(mesh.explicit_axes) < len(mesh.axis_names)


def _truly(said, found, aval, stated):
    """How a result lies: in the words that were said, if XLA did it; over axes of the types that
    its own type names, which a part of the program may have changed."""
    own = mesh_of(aval) or stated if type(aval) is ShapedArray else None
    if own is not None and isinstance(found, NamedSharding):
        found = _over_axes_of(own, found, aval.ndim)
    if (own is not None and isinstance(found, NamedSharding)
            and found.mesh.shape_tuple == own.shape_tuple
            and found.mesh.axis_types != own.axis_types):
        found = found.update(mesh=found.mesh.update(axis_types=own.axis_types))
    if (said is None and own is not None and isinstance(found, NamedSharding)
            and found.mesh.explicit_axes):
        if not set(found.spec.all_axes()) <= set(found.mesh.explicit_axes):
            return found  # the compiler's choice
        typed = found.update(spec=sharding_of_type(aval, own).spec)  # names axes of size 1, too
        if aval.dtype != float0 and typed.is_equivalent_to(found, aval.ndim):
            return typed
        return found.update(spec=found.spec.entries(aval.ndim))  # as types have them
    if said is not None and is_unreduced(said):
        return said  # a tiling does not tell summands from copies
    if said is None or aval.size and not said.is_equivalent_to(found, aval.ndim):
        return found
    return said


def _over_axes_of(mesh, sharding, ndim):
    """A sharding in the words of the mesh that a constraint named, over the same devices."""
    own = sharding.mesh
    if own.shape_tuple == mesh.shape_tuple or own.size != mesh.size:
        return sharding
    own = Mesh(own.devices.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)
    spec = spec_of(tile_assignment(sharding, ndim), own)
    return sharding if spec is None else sharding.update(mesh=own, spec=spec)


def sharding_of(tiling, places: Any) -> NamedSharding:
    """How a tiling cuts arrays, in the words of the mesh; if it has none, in those of a mesh whose
    axes are parts of its own."""
    mesh = places.mesh
    assert mesh is not None, "a partitioned program has a mesh"
    spec = spec_of(tiling, mesh)
    if spec is None:
        mesh = with_prime_axes(mesh)
        spec = spec_of(tiling, mesh)
    assert spec is not None, tiling
    return NamedSharding(mesh, spec)


# ----------------------------------------------------------------------------------------------
# Programs that mind places


class PlacedProgram(Program):
    """A program whose arguments and results have shardings."""

    array_class = PlacedArray
    __slots__ = ("in_shardings", "out_shardings", "inputs", "out_places", "elsewhere", "takes_all")

    def __init__(self, module, jaxpr, options, places):
        loaded, ins, outs = _compiled(module, jaxpr, options, places)
        handlers = [xla().result_handler(stored(aval), xla_sharding(sharding, aval.ndim))
                    for sharding, aval in zip(outs, jaxpr.out_avals)]
        self.executable = xla().Executable(loaded, handlers)
        self.in_avals, self.out_avals = jaxpr.in_avals, jaxpr.out_avals
        self.takes_all = places.named
        self.kept, self.donated = module.kept, module.donated
        self.in_shardings, self.out_shardings = ins[:len(self.kept)], outs
        self.inputs = [(i, jaxpr.in_avals[i], x) for i, x in zip(self.kept, self.in_shardings)]
        self.out_places = [aval if aval.dtype == float0 else Place(aval, x, places.committed)
                           for aval, x in zip(jaxpr.out_avals, outs)]
        self.constants = [shards_of(x, aval, sharding) for (x, aval), sharding
                          in zip(module.hoisted, ins[len(self.kept):])]
        asked = enumerate(zip(places.out_shardings, _put_at_the_end(jaxpr)))
        self.elsewhere = [(i, x) for i, xs in asked for x in xs if is_elsewhere(x)]
        said = {i for i, x in enumerate(places.out_shardings) if x is not None and not
                (places.typed and places.typed[i])} | {i for i, _ in self.elsewhere}
        self.elsewhere += [(i, x.with_memory_kind("pinned_host")) for i, (x, aval)
                           in enumerate(zip(outs, jaxpr.out_avals))
                           if i not in said and in_host_memory(aval)]
        self.run = runner(self.executable, jaxpr.effects)
        if len(places.devices) > 1 and not jaxpr.effects and _has_messages(self.executable):
            self.run = functools.partial(run_with_messages, self.executable)

    def __call__(self, args):
        buffers = [x.shards if type(x := args[i]) is PlacedArray and x.sharding is sharding
                   else shards_of(x, aval, sharding) for i, aval, sharding in self.inputs]
        try:
            outs = self.run(buffers + self.constants if self.constants else buffers)
        except RuntimeError:
            for i in self.kept:
                if isinstance(args[i], Array):
                    alive(args[i])
            raise
        if self.donated:
            self._forget_donated(args, buffers)
        outs = [PlacedArray(None, place, x) if type(place) is Place
                else array_of(x, place) for x, place in zip(outs, self.out_places)]
        for i, sharding in self.elsewhere:
            aval = outs[i].aval
            outs[i] = PlacedArray(None, Place(aval, sharding), shards_of(outs[i], aval, sharding))
        return outs

    def takes_buffers(self, args: Sequence) -> bool:
        """Whether XLA gets just the buffers of arguments of these types, in these places."""
        if self.constants or self.donated or self.elsewhere or len(self.kept) < len(args):
            return False
        here = xla().placement(xla().default_device())
        return all(x._buffer is not None and x.sharding == sharding if type(x) is PlacedArray
                   else xla_sharding(sharding, aval.ndim) is here
                   for x, (_, aval, sharding) in zip(args, self.inputs))

    def _forget_donated(self, args, buffers):
        """Mark donated arguments as deleted, except those whose memory XLA did not take."""
        for i, buffer in zip(self.kept, buffers):
            if (i in self.donated and buffer.is_deleted()
                    and isinstance(args[i], Array) and buffer is _buffer(args[i])):
                args[i].delete()


def _buffer(x: Array):
    return x.shards if type(x) is PlacedArray else x._buffer


def _compiled(module, jaxpr, options, places) -> tuple[Any, list, list]:
    """XLA's program, and the shardings of its arguments (with the constants) and its results."""
    in_avals = [jaxpr.in_avals[i] for i in module.kept] + [aval for _, aval in module.hoisted]
    asked = [places.shardings[i] for i in module.kept] + [None] * len(module.hoisted)
    if len(places.devices) > 1:
        on_devices = xla("several_devices")
        loaded = on_devices.partitioned(module.text, places.devices, options, **module.for_compiler)
        return loaded, *_all_in_words(in_avals, asked, jaxpr.out_avals, places,
                                      *on_devices.tilings(loaded))
    (device,) = places.devices
    loaded = xla().compile(
        module.text, [*map(stored, jaxpr.out_avals)], device, options, **module.for_compiler).loaded
    if places.mesh is None or isinstance(next(filter(None, asked), None), SingleDeviceSharding):
        here = on_one_device(device)
        return loaded, [here] * len(in_avals), [x or here for x in places.out_shardings]
    return loaded, *_all_in_words(in_avals, asked, jaxpr.out_avals, places)


def in_host_memory(aval: Any) -> bool:
    """Whether the type of a result says that it is in the memory of the host."""
    return type(aval) is ShapedArray and space_of(aval) is MemorySpace.Host


def _put_at_the_end(jaxpr) -> list:
    """For each result the sharding that it is put to last, if it is."""
    put = {v: where for eqn in jaxpr.jaxpr.eqns if eqn.primitive.name == "device_put"
           for v, where in zip(eqn.outvars, eqn.own_params["devices"])
           if isinstance(where, Sharding)}
    return [put.get(v) if isinstance(v, Var) else None for v in jaxpr.jaxpr.outvars]


# ----------------------------------------------------------------------------------------------
# Not too many at a time

# Programs that exchange messages wait for each other on all devices. XLA runs them on a pool of
# threads: if too many are started before the first is done, they can take each other's threads.
MOST_IN_FLIGHT = 16
_in_flight: deque = deque()
_flight_lock = threading.RLock()
_MESSAGES = ("all-reduce", "all-gather", "all-to-all", "collective", "reduce-scatter")


def _has_messages(executable) -> bool:
    """Whether the devices exchange messages while they run a program."""
    text = xla("compiler").hlo_text(executable)
    return any(word in text for word in _MESSAGES)


def run_with_messages(executable, buffers: list) -> list:
    """Run a program whose devices exchange messages."""
    with _flight_lock:  # programs start in the same order on all devices
        if len(_in_flight) >= MOST_IN_FLIGHT:
            xla().wait(_in_flight.popleft())
        outs, token = run_with_token(executable, buffers)
        _in_flight.append(token)
    return outs
