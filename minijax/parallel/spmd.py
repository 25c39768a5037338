"""Chapter 14: one program, many devices.

What is computed with an array is computed where it lies. The devices of a program are those of its
committed arguments and of the meshes that its jaxpr names; they must be the same for all. XLA is
told how the arguments lie on them, in the language of Shardy,

    sdy.mesh @mesh = <["x"=4, "y"=2]>
    func.func public @main(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) …

and makes of the module a program for one of them (*single program, multiple data*), with messages
between them wherever one needs what another has. How the results lie is its choice: it is asked.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import float0
from ..jaxpr import ClosedJaxpr, Jaxpr, subjaxprs
from ..xla import dispatch
from ..xla.dispatch import (
    Program,
    Spec,
    array_of,
    run_with_effects,
    stored,
    xla,
)
from ..xla.lowering import LoweredModule, lower_jaxpr
from .mesh import Mesh
from .placed import PlacedArray, buffer_on, default_device, shards_of, xla_sharding
from .sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    sdy_mesh,
    sdy_sharding,
    spec_of,
)

# ----------------------------------------------------------------------------------------------
# Where a program runs


class Places(NamedTuple):
    """The devices of a program, and how its arguments lie on them (`None`: as XLA likes it).

    `mesh` is the one in whose words the results' shardings are told. Results are `committed` if the
    devices were anybody's choice.
    """

    devices: tuple[Any, ...]
    shardings: tuple[Sharding | None, ...]
    mesh: Mesh | None
    committed: bool

    def lower(self, jaxpr: ClosedJaxpr, spec: Spec) -> LoweredModule:
        """The module of a jaxpr, which says how the arguments lie."""
        if len(self.devices) == 1:
            return dispatch.lower(jaxpr, spec.name, spec.donated, spec.keep_unused)
        module = lower_jaxpr(
            jaxpr, spec.name, (), spec.keep_unused, locations=True,
            devices=self.devices,
            attributes=functools.partial(_attributes, jaxpr, spec, self),
        )  # fmt: skip
        donated = tuple(i for i in module.kept if spec.donated and spec.donated[i])
        return dataclasses.replace(module, donated=donated)

    def compile(self, module: LoweredModule, jaxpr: ClosedJaxpr, options: dict) -> Program:
        """The program of a module."""
        make = _SingleDeviceProgram if len(self.devices) == 1 else _PartitionedProgram
        return make(module, jaxpr, options, self)


def program_places(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Places | None:
    """Where a program for these arguments runs; `None` if nothing is to be minded.

    Raises:
      ValueError: arguments, or meshes in the program, are on different devices.
    """
    shardings = tuple([x.sharding if type(x) is PlacedArray and x.committed else None
                       for x in args])
    meshes = meshes_of(jaxpr)
    choices = [*filter(None, shardings), *meshes]
    if choices or spec.device is not None:
        devices = _common_devices(jaxpr, spec, shardings, meshes)
    elif (device := default_device()) is not None:
        devices = (device,)
    else:
        return None
    named = [x.mesh for x in shardings if isinstance(x, NamedSharding)]
    return Places(devices, shardings, next(iter([*named, *meshes]), None), bool(choices))


dispatch.program_places = program_places


def _common_devices(jaxpr, spec, shardings, meshes) -> tuple:
    """The devices of all shardings and meshes, in the order of the first."""
    claims = {i: x._device_assignment for i, x in enumerate(shardings) if x is not None}
    claims |= {mesh: mesh.device_assignment for mesh in meshes}
    if spec.device is not None:
        return (spec.device,)
    (first, devices), *others = claims.items()
    for other, different in others:
        if set(different) != set(devices):
            raise ValueError(
                f"Received incompatible devices for jitted computation {spec.name}. Got "
                f"{_claim(jaxpr, first, devices)} and {_claim(jaxpr, other, different)}. "
                "Bring the arguments to the same devices with `jax.device_put`."
            )
    return devices


def _claim(jaxpr, who, devices) -> str:
    ids = [device.id for device in devices]
    where = f"device ids {ids} on platform {devices[0].platform.upper()}"
    if isinstance(who, Mesh):
        return f"a mesh in the program with {where}"
    names = jaxpr.jaxpr.debug_info.arg_names if jaxpr.jaxpr.debug_info else ()
    name = names[who] if who < len(names) else f"number {who}"
    kind = jaxpr.in_avals[who].str_short(short_dtypes=False)
    return f"argument {name} with shape {kind} and {where}"


_meshes: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def meshes_of(jaxpr: ClosedJaxpr) -> tuple[Mesh, ...]:
    """The meshes that a program names in its equations, each once."""
    if jaxpr not in _meshes:
        _meshes[jaxpr] = tuple(dict.fromkeys(_find_meshes(jaxpr.jaxpr)))
    return _meshes[jaxpr]


def _find_meshes(jaxpr: Jaxpr | ClosedJaxpr) -> Iterator[Mesh]:
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        for value in eqn.params.values():
            mesh = value.mesh if isinstance(value, NamedSharding) else value
            if isinstance(mesh, Mesh):
                yield mesh
    for inner in subjaxprs(jaxpr):
        yield from _find_meshes(inner)


# ----------------------------------------------------------------------------------------------
# Programs on one device, which is not the first, or has arguments committed to it


class _SingleDeviceProgram(Program):
    __slots__ = ("device", "sharding", "committed")

    def __init__(self, module, jaxpr, options, places):
        self.device, self.committed = places.devices[0], places.committed
        self.sharding = SingleDeviceSharding(self.device)
        program = dispatch.compile_module(module, jaxpr, options, self.device)
        super().__init__(program.executable, module, jaxpr.in_avals, jaxpr.out_avals)
        self.constants = [xla().copy_to_device(x, self.device) for x in self.constants]

    def __call__(self, args):
        buffers = [buffer_on(args[i], self.in_avals[i], self.device) for i in self.kept]
        buffers += self.constants
        outs = (run_with_effects(self.executable, self.effects, buffers) if self.effects
                else self.executable(buffers))
        self.forget_donated(args)
        return [*map(self._array, outs, self.out_avals)]

    def _array(self, buffer, aval):
        if aval.dtype == float0:
            return array_of(buffer, aval)
        return PlacedArray(aval, buffer, self.sharding, self.committed)

    @property
    def is_simple(self) -> bool:
        return False


# ----------------------------------------------------------------------------------------------
# Programs on several devices


class _PartitionedProgram(Program):
    __slots__ = ("in_shardings", "out_shardings")

    def __init__(self, module, jaxpr, options, places):
        loaded = xla().partitioned(module.text, places.devices, options, module.callbacks)
        ins, outs = xla().tilings(loaded)
        all_ins = [*(jaxpr.in_avals[i] for i in module.kept), *(aval for _, aval in module.hoisted)]
        self.in_shardings = [
            places.shardings[i] or sharding
            for i, sharding in zip(module.kept, _shardings(ins, all_ins, places))]
        self.out_shardings = _shardings(outs, jaxpr.out_avals, places)
        handlers = [xla().result_handler(stored(aval), xla_sharding(sharding, aval.ndim))
                    for sharding, aval in zip(self.out_shardings, jaxpr.out_avals)]
        self.executable = xla().Executable(loaded, handlers)
        self.in_avals, self.out_avals = jaxpr.in_avals, jaxpr.out_avals
        self.kept, self.effects = module.kept, module.effects
        self.donated = module.donated
        hidden = _shardings(ins, all_ins, places)[len(module.kept):]
        self.constants = [shards_of(x, aval, sharding)
                          for (x, aval), sharding in zip(module.hoisted, hidden)]

    def __call__(self, args):
        buffers = [shards_of(args[i], self.in_avals[i], sharding)
                   for i, sharding in zip(self.kept, self.in_shardings)]
        outs = _run(self.executable, self.effects, buffers + self.constants)
        self.forget_donated(args)
        return [array_of(x, aval) if aval.dtype == float0 else PlacedArray(aval, x, sharding)
                for x, aval, sharding in zip(outs, self.out_avals, self.out_shardings)]

    @property
    def is_simple(self) -> bool:
        return False


def _attributes(jaxpr, spec, places, module, i) -> list[str]:
    """What the module says of its `i`th argument."""
    attributes, sharding = [], places.shardings[i]
    if spec.donated and spec.donated[i]:
        attributes.append("jax.buffer_donor = true")
    if isinstance(sharding, NamedSharding):
        symbol = mesh_symbol(module, sharding.mesh, places.devices)
        text = sdy_sharding(sharding, jaxpr.in_avals[i].ndim, symbol)
        attributes.append(f"sdy.sharding = {text}")
    return attributes


def mesh_symbol(module, mesh: Mesh, devices=None) -> str:
    """The name by which a module knows a mesh, which is declared at its head."""
    return module.declare("mesh", f"sdy.mesh @ = {sdy_mesh(mesh, devices)}")


class TiledSharding(Sharding):
    """A sharding that XLA chose, which no spec of the mesh describes."""

    memory_kind = None

    def __init__(self, devices, tiling):
        self._devices, self._xla_tiling = devices, tiling

    @property
    def _device_assignment(self):
        return self._devices

    @property
    def is_fully_replicated(self):
        return False

    def tiles(self, ndim):
        """How many parts each dimension is cut into; for each device, which parts it has."""
        dims, order, copied = self._xla_tiling
        numbers = np.empty((len(dims), len(order)), int)
        numbers[:, list(order)] = np.indices(dims).reshape(len(dims), -1)
        return dims[:ndim], tuple(map(tuple, numbers[:ndim].T.tolist()))

    def __eq__(self, other):
        return (type(other) is TiledSharding
                and (self._devices, self._xla_tiling) == (other._devices, other._xla_tiling))

    def __hash__(self):
        return hash((self._devices, self._xla_tiling))


def _shardings(tilings, avals, places) -> list[Sharding]:
    """The shardings that XLA chose, as specs of the mesh where there are such."""
    tilings = tilings or [None] * len(avals)
    return [_sharding(tiling, places) for tiling in tilings]


def _sharding(tiling, places):
    in_order = places.mesh is not None and places.mesh.device_assignment == places.devices
    spec = spec_of(tiling, places.mesh) if in_order else None
    return TiledSharding(places.devices, tiling) if spec is None else NamedSharding(
        places.mesh, spec)


# ----------------------------------------------------------------------------------------------
# Not too many at a time

# Programs that exchange messages wait for each other on all devices. XLA runs them on a pool of
# threads: if too many are started before the first is done, they can take each other's threads.
MOST_IN_FLIGHT = 16
_in_flight: deque = deque()
_flight_lock = threading.Lock()


def _run(executable, effects, buffers):
    if effects:
        return run_with_effects(executable, effects, buffers)
    with _flight_lock:  # programs start in the same order on all devices
        if len(_in_flight) >= MOST_IN_FLIGHT:
            xla().wait(_in_flight.popleft())
        outs, token = executable.run_with_token(buffers)
        _in_flight.append(token)
    return outs
