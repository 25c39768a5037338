"""Chapter 14: arrays and programs on several devices, as XLA handles them.

This file continues `client.py`. It says in XLA's terms how an array is cut into shards, compiles
modules that XLA's partitioner splits, and puts shards together and takes arrays apart.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence

import numpy as np
from jaxlib import _jax, xla_client

from ..core.core import ShapedArray
from . import buffer_readers
from .client import XlaRuntimeError, fetch, our_error, replicated
from .compiler import compile_options, load
from .transfers import is_near
from .wrong_programs import avoiding_flags

Buffer = xla_client.ArrayImpl
Device = xla_client.Device

# How an array is cut into tiles: `None` if each device holds all of it, or the number of tiles in
# each dimension, the positions of the devices in the order of the tiles, and whether one more
# dimension counts devices that hold the same tile.

Tiling = tuple[tuple[int, ...], tuple[int, ...], bool] | None


_UNREDUCED = xla_client.OpSharding.Type.UNREDUCED


class XlaSharding(_jax.GSPMDSharding):
    """The sharding of an array over several devices, with the attributes that C++ reads.

    Arrays whose copies are `summands`, parts of a sum, have a sharding that is another object: the
    two are never interchangeable.
    """

    memory_kind = None

    def __new__(cls, devices, tiling, summands):
        return super().__new__(cls)

    def __init__(self, devices: tuple[Device, ...], tiling: Tiling, summands: bool):
        self.hlo = hlo_sharding(tiling)
        super().__init__(_jax.DeviceList(devices), self.hlo)
        here = devices[0].client.process_index()
        self._addressable_device_assignment = tuple(
            device for device in devices if device.process_index == here)

    def _to_xla_hlo_sharding(self, ndim: int):
        return self.hlo


xla_sharding = functools.cache(XlaSharding)


def hlo_sharding(tiling: Tiling):
    """XLA's object for a tiling."""
    if tiling is None:
        return replicated
    dims, order, same_tile = tiling
    kinds = [xla_client.OpSharding.Type.REPLICATED] * same_tile
    tiles = np.array(order, np.int64).reshape(dims)
    return xla_client.HloSharding.subgroup_with_device_ordering(tiles, subgroup_types=kinds)


def tilings(loaded) -> tuple[list[Tiling], list[Tiling]]:
    """The tilings of a partitioned program's arguments and of its results. (For summands, `None`:
    callers know their shardings.)"""
    return tuple(  # type: ignore[return-value]
        [_tiling(xla_client.HloSharding.from_proto(proto)) for proto in protos or ()]
        for protos in (loaded.get_parameter_shardings(), loaded.get_output_shardings())
    )


def _tiling(sharding):
    if not sharding.is_tiled() or _UNREDUCED in sharding.subgroup_types():
        return None
    dims, order = sharding.tile_assignment_dimensions(), sharding.tile_assignment_devices()
    return tuple(dims), tuple(order), sharding.replicate_on_last_tile_dim()


def partitioned(text: str, devices: tuple[Device, ...], flags: dict[str, object] | None,
                host_callbacks: Sequence[Callable] = ()):
    """Compile a module that Shardy, a part of XLA, splits into a program for each device."""
    avoiding = avoiding_flags(text, devices[0].platform)
    options = compile_options(devices, {**avoiding, **(flags or {})})
    build = options.executable_build_options
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    build.allow_spmd_sharding_propagation_to_parameters = [True]
    build.allow_spmd_sharding_propagation_to_output = [True]
    return load(text, options, devices, host_callbacks)


def sharding_listener(function: Callable[[Tiling], None]) -> tuple[Callable, bytes]:
    """What XLA's partitioner calls with the tiling of a value, for `function`, as long as it lives;
    and its name for `@InspectSharding`."""
    def listener(sharding):
        function(_tiling(sharding))

    return listener, xla_client.encode_inspect_sharding_callback(listener)


def put_shards(aval: ShapedArray, sharding: XlaSharding, shards: list) -> Buffer:
    """An array on several devices, from one part for each device of this process. The parts are
    buffers, or NumPy arrays that are never written to again."""
    devices = list(sharding._addressable_device_assignment)
    shards = [part if isinstance(part, np.ndarray) or is_near(part, device)
              else shard_to_numpy(part, aval) for part, device in zip(shards, devices)]
    return xla_client.batched_device_put(aval, sharding, shards, devices, enable_x64=True)


def shards(buffer: Buffer) -> list[Buffer]:
    """The parts of an array on several devices that are in this process, a buffer for each.

    jaxlib would import jax here. Unless jax is loaded already, `sys.modules` hides it.
    """
    hidden = [] if "jax" in sys.modules else ["jax", "jax.core", "jax._src", "jax._src.core"]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        return buffer._arrays
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def shard_to_numpy(shard: Buffer, aval: ShapedArray) -> np.ndarray:
    """A read-only view of one of `shards`, which has the type `aval`."""
    try:
        shard.block_until_ready()
        if shard.platform() != "cpu":
            return fetch(shard)
        if aval.dtype.isbuiltin == 1:
            return np.asarray(shard)
        return buffer_readers[aval.dtype](shard, aval)
    except XlaRuntimeError as error:
        raise our_error(error) from None
