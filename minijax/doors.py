"""Chapter 15: what stands for a room until it is first used.

The names of `__init__.py` lead to most rooms: a module is loaded when its name is used. Some rooms
also change what arrays, settings and the engine do. Such a room needs doors: stand-ins for its
attributes, watchers of its settings, and an `Extension` for the points at which it must be asked
even if no name of it was used. Each loads the room, which takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import optional
from .core.array import Array
from .core.core import ShapedArray, Tracer, install_methods
from .core.extension import Extension, register, remove
from .core.jit import jit_p
from .core.placements import Placements, placements
from .first_use import AttributeOnFirstUse, Postponed, doors, load
from .runtime import cuda
from .runtime.structs import ShapeDtypeStruct
from .settings import (
    State,
    allow_f16_reductions,
    debug_infs,
    debug_nans,
    default_device,
    no_execution,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_host_to_device,
)


def attributes(room: str, names: str, *classes: type) -> None:
    """Let these attributes of classes load the room that defines them."""
    stand_ins = {name: AttributeOnFirstUse(f"minijax.{room}", name) for name in names.split()}
    install_methods(stand_ins, *classes)


def watched(setting: State, room: str, watcher: str, unless: Any = None) -> None:
    """Let a setting's values, other than its ordinary one, load the room that watches them."""
    def watch(value: Any, begins: bool) -> None:
        if value is not unless:
            load(Postponed(f"minijax.{room}", watcher))(value, begins)

    setting.watchers.append(watch)
    watch(setting.value, True)  # it may come from the environment


# ----------------------------------------------------------------------------------------------
# Indexing by arrays


class IndexingByArrays(Extension):
    """`x[index]` by arrays."""

    def index_by_arrays(self, x, index):
        return load(Postponed("minijax.lax.advanced_indexing", "take_index"))(x, index)


register(IndexingByArrays())
attributes("lax.advanced_indexing", "at")

# ----------------------------------------------------------------------------------------------
# Devices and shardings


class BeforeShardings(Placements):
    """Loads the room of shardings if a device or a sharding is given, or asked for."""

    def new(self, x, device, like, constrained):
        return x if device is None else _answers().new(x, device, like, constrained)

    def filled(self, value, shape, sharding, like=None):
        return value if sharding is None else _answers().filled(value, shape, sharding, like)

    bind = lambda self, *args: _answers().bind(*args)
    call = lambda self, *args: _answers().call(*args)
    reshard = lambda self, *args: _answers().reshard(*args)
    permuted = lambda self, *args: _answers().permuted(*args)
    formats = lambda self, program: _answers().formats(program)
    of_jit = lambda self, wanted: _answers().of_jit(wanted)
    struct_sharding = lambda self, *args: _answers().struct_sharding(*args)


def _answers() -> Placements:
    load(Postponed("minijax.parallel", "answers"))
    return placements()


class Places(Extension):
    """Asks the room of placement if a device or a sharding is given, or asked for."""

    placements = BeforeShardings()


def _parallel(module: str) -> Any:
    return load(Postponed(f"minijax.parallel.{module}", ""))


attributes("parallel", "sharding committed addressable_shards global_shards addressable_data "
           "unsafe_buffer_pointer platform _committed format", Array)
attributes("parallel", "committed addressable_shards global_shards is_fully_addressable "
           "is_fully_replicated devices addressable_data delete is_deleted on_device_size_in_bytes "
           "unsafe_buffer_pointer", Tracer)
attributes("parallel", "sharding manual_axis_type mat", ShapedArray)
attributes("parallel", "format", ShapeDtypeStruct)
watched(default_device, "parallel.placed", "watch_default_device")
_places = Places()
register(_places)
doors["minijax.parallel"] = [lambda: remove(_places)]
if cuda.has_device():  # a look at files, which does not load XLA
    register(_parallel("placed").placed_evaluation)


def _room_of_jit(function: str) -> Callable[[dict], dict]:
    return lambda params: load(Postponed("minijax.parallel.nested_jit", function))(params)


optional.set_rule(jit_p, optional.Rule("compiler_options_kvs", _room_of_jit("own_params"),
                                       _room_of_jit("listed_params")))


# ----------------------------------------------------------------------------------------------
# References


class References(Extension):
    """Asks the room of references for the type of a reference without contents."""

    def reference_type(self, aval):
        return load(Postponed("minijax.state.refs", "AbstractRef"))(aval)


register(References())

# ----------------------------------------------------------------------------------------------
# Settings that forbid something

watched(debug_nans, "debugging.value_checks", "watch", unless=False)
watched(debug_infs, "debugging.value_checks", "watch", unless=False)
watched(no_execution, "debugging.refusals", "watch_execution", unless=False)
watched(allow_f16_reductions, "debugging.refusals", "watch_sums", unless=True)
watched(transfer_guard, "debugging.refusals", "watch_transfers")
watched(transfer_guard_host_to_device, "debugging.refusals", "watch_transfers")
watched(transfer_guard_device_to_device, "debugging.refusals", "watch_transfers")
