"""Chapter 14: arrays with a sharding.

An `Array` of the first chapter is on the first device, or still in NumPy, and is copied to wherever
it is needed. A `PlacedArray` stays where it was put: on another device, or in parts (*shards*) on
many. If the user put it there it is *committed*, and computations with it run on its devices
(`program_places.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ...checks.array import alive
from ...core.array import Array
from ...core.core import ShapedArray
from ...core.extension import hooks
from ...core.jit import buffer_of
from ...core.lowering import stored, stored_contents
from ...numpy._array_protocols import restored
from ...runtime import xla
from ...runtime.seen_calls import leaf_keys
from ..meshes.memory_spaces import space_of_kind
from ..meshes.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    is_unreduced,
    tile_assignment,
)
from ..types.placement import WhileAlive, in_space, split_over, with_sharding


class Shard:
    """The part of an array that one device holds.

    `index` is where in the array it is, `replica_id` counts the devices that hold the same part.
    """

    __slots__ = ("device", "index", "replica_id", "_data", "_aval", "_sharding", "_committed")

    def __init__(self, device, index, replica_id, data, aval, sharding, committed):
        self.device, self.index, self.replica_id = device, index, replica_id
        self._data, self._aval = data, aval
        if sharding.num_devices > 1:
            kind, sharding = sharding.memory_kind, on_one_device(device)
            sharding = sharding if kind is None else sharding.with_memory_kind(kind)
        self._sharding = sharding
        self._committed = committed

    @property
    def data(self) -> PlacedArray | None:
        """The part as an array on its device; `None` if another process has it."""
        if self._data is None:
            return None
        return place_shards([self._data], self._aval, self._sharding, self._committed)

    def __repr__(self):
        data = f", data={self.data}" if self._data is not None else ""
        return (f"Shard(device={self.device!r}, index={self.index}, "
                f"replica_id={self.replica_id}{data})")


@functools.lru_cache(4096)
def _typed(aval: ShapedArray, sharding: Sharding) -> ShapedArray:
    """The type of an array with this sharding, of which it states the axes of type Explicit."""
    aval = in_space(aval, space_of_kind(sharding.memory_kind))
    if isinstance(sharding, NamedSharding):
        return with_sharding(aval, sharding)
    return split_over(aval, (), None)


placed_arrays = WhileAlive()


@functools.lru_cache(4096)
def _types(aval, sharding):
    """The type of an array in this place, and the one object that stands for the place in keys."""
    return _typed(aval, sharding), object()


class Place:
    """Everything about a `PlacedArray` but its contents. A program keeps those of its results."""

    __slots__ = ("aval", "sharding", "committed", "placed_type")

    def __init__(self, aval: ShapedArray, sharding: Sharding, committed: bool = True):
        self.aval, place = _types(aval, sharding)
        self.sharding, self.committed = sharding, committed
        self.placed_type = place if committed else self.aval


class PlacedArray(Array):
    """An array on certain devices, as `device_put` makes it. It looks like any other."""

    __slots__ = ("shards", "sharding", "committed", "placed_type", "_host", "_placing")

    shards: Any  # XLA's array on several devices, or a buffer on one
    sharding: Sharding
    committed: bool
    placed_type: Any  # what programs for it depend on: its type, or its place if it is committed
    _buffer: Any  # `shards` if it is committed: what programs for `placed_type` may be given

    def __init__(self, value, place: Place, shards):
        self.aval, self.shards, self.sharding = place.aval, shards, place.sharding
        self.committed, self.placed_type = place.committed, place.placed_type
        self._host, self._buffer = value, shards if place.committed else None
        self._placing = placed_arrays.one_more()

    # Contents

    def _numpy(self):
        if self._host is None:
            alive(self)
            self._host = self._gather()
        return self._host

    def _gather(self):
        """All shards, put together."""
        if not self._is_whole:
            raise RuntimeError(
                "Fetching value for `jax.Array` that spans non-addressable (non process local) "
                "devices is not possible: this process has only some of its shards, "
                "`x.addressable_shards`. `multihost_utils.process_allgather` fetches the others."
            )
        aval = stored(self.aval)
        if self.is_fully_replicated:
            return self._shard_contents()[0]
        whole = np.empty(aval.shape, aval.dtype)
        if not whole.size:
            return whole  # XLA does not split nothing
        indices = self.sharding.addressable_devices_indices_map(aval.shape).values()
        for index, part in reversed([*zip(indices, self._shard_contents())]):
            whole[index] = part  # the first replica comes last: it counts if they differ
        whole.flags.writeable = False
        return whole

    def _shard_buffers(self) -> list:
        """The buffers of this process, one for each of its devices."""
        alive(self)
        if self.sharding.num_devices == 1:
            return [self.shards]
        return xla("several_devices").shards(self.shards)

    def _buffers_by_device(self) -> dict:
        """`_shard_buffers`, by the devices that they are on."""
        return dict(zip(self.sharding._addressable_device_assignment, self._shard_buffers()))

    def _buffer_near(self, device):
        """The buffer of this process that is on a device, if there is one; else another."""
        buffers = self._buffers_by_device()
        return buffers[device] if device in buffers else next(iter(buffers.values()))

    def _shard_contents(self) -> list[np.ndarray]:
        aval = self._stored_shard_aval()
        read = xla("several_devices").shard_to_numpy
        return [read(shard, aval) for shard in self._shard_buffers()]

    def _shard_aval(self):
        return self.aval.update(shape=self.sharding.shard_shape(self.aval.shape))

    def _stored_shard_aval(self):
        return stored(self._shard_aval())

    # Life and place

    def block_until_ready(self) -> PlacedArray:
        """Wait until the contents are computed; returns the array."""
        alive(self)
        xla().wait(self.shards)
        return self

    def is_ready(self) -> bool:
        """Whether the contents are computed already."""
        alive(self)
        return self.shards.is_ready()

    def is_deleted(self) -> bool:
        """Whether the contents were given away (donated to a jitted function, or deleted)."""
        return self.shards.is_deleted()

    def delete(self) -> None:
        """Free the contents now."""
        self.shards.delete()
        self._host = None

    def devices(self) -> set:
        """The devices that hold the array."""
        return self.sharding.device_set

    @property
    def device(self) -> Any:
        """The device that holds the array; if there are several, the sharding."""
        devices = self.sharding._device_assignment
        return devices[0] if len(devices) == 1 else self.sharding

    @property
    def _is_whole(self):
        """Whether the devices of this process have all of it between them."""
        return self.sharding.is_fully_addressable or self.is_fully_replicated

    @property
    def _is_printable(self):
        return self._is_whole and not is_unreduced(self.sharding)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether this process holds all of the array."""
        return self.sharding.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device of the array holds all of it."""
        return self.sharding.is_fully_replicated

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts that devices of this process hold."""
        return [shard for shard in self.global_shards if shard._data is not None]

    @property
    def global_shards(self) -> list[Shard]:
        """All parts; those of other processes without their data."""
        buffers, aval = self._buffers_by_device(), self._shard_aval()
        counts: dict[tuple, int] = {}
        shards = []
        where = self.sharding
        if isinstance(where, NamedSharding):  # each summand is of the whole part
            where = where.update(spec=where.spec.update(unreduced=frozenset()))
        for device, index in where.devices_indices_map(self.aval.shape).items():
            key = tuple((part.start, part.stop) for part in index)
            counts[key] = counts.get(key, -1) + 1
            shards.append(Shard(device, index, counts[key], buffers.get(device), aval,
                                self.sharding, self.committed))
        return shards

    def addressable_data(self, index: int) -> PlacedArray:
        """The part that the `index`th device of this process holds, as an array."""
        devices = self.sharding._addressable_device_assignment
        if not -len(devices) <= index < len(devices):
            raise IndexError(f"addressable_data: the array is on {len(devices)} devices of this "
                             f"process, so there is no part number {index}.")
        device = devices[index]
        buffer = self._shard_buffers()[index]
        return place_shards([buffer], self._shard_aval(), on_one_device(device), self.committed)

    def on_device_size_in_bytes(self) -> int:
        """How many bytes the contents take on all devices together."""
        shard = self._stored_shard_aval()
        return shard.size * shard.dtype.itemsize * self.sharding.num_devices

    def __iter__(self):
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d array")
        if not self.is_fully_replicated:  # by way of NumPy
            return super().__iter__()
        return (self[i] for i in range(self.aval.shape[0]))

    def __dlpack__(self, **kwargs):
        if self.sharding.num_devices > 1:
            raise BufferError("__dlpack__ only supported for unsharded arrays: this one lies on "
                              f"{self.sharding.num_devices} devices.")
        return super().__dlpack__(**kwargs)

    def __deepcopy__(self, memo):
        return self.copy()  # the memory of this array may be given away

    def __reduce__(self):
        return restored, (np.asarray(self._numpy()), self.aval)

    def __repr__(self):
        unreduced = is_unreduced(self.sharding)
        if self.is_deleted() or self._is_printable:
            return super().__repr__()
        kind = self.aval.str_short(short_dtypes=False).partition("[")[0]
        weak = ", weak_type=True" if unreduced and self.aval.weak_type else ""
        where = f", sharding={self.sharding}" if unreduced else ""
        return f"Array(shape={self.aval.shape}, dtype={kind}{weak}{where})"

    def __str__(self):
        return super().__str__() if self._is_printable else repr(self)

    def __format__(self, spec):
        return super().__format__(spec) if self._is_printable else repr(self)


leaf_keys[PlacedArray] = attrgetter("placed_type")
PlacedArray.__name__ = Array.__name__  # programs look for JAX's name


def contents_here(x: Array) -> list[np.ndarray]:
    """The contents of an array as far as they are in this process, perhaps in several parts."""
    return x._shard_contents() if type(x) is PlacedArray else [x._numpy()]


# ----------------------------------------------------------------------------------------------
# Between arrays and buffers

on_one_device = functools.cache(SingleDeviceSharding)


@functools.lru_cache(4096)
def xla_sharding(sharding: Sharding, ndim: int):
    """The sharding as XLA's object."""
    devices = sharding._device_assignment
    if len(devices) == 1:
        return xla().placement(devices[0])
    return xla("several_devices").xla_sharding(devices, tile_assignment(sharding, ndim),
                                               is_unreduced(sharding))


def shards_of(x: Any, aval: ShapedArray, sharding: Sharding):
    """XLA's array with the contents of `x` and this sharding: that of `x` itself if it fits."""
    where = xla_sharding(sharding, aval.ndim)
    if type(x) is PlacedArray:
        alive(x)
        if x.sharding is sharding or xla_sharding(x.sharding, aval.ndim) is where:
            return x.shards
    elif type(x) is Array and x._buffer is not None and x._buffer._sharding is where:
        return x._buffer
    if isinstance(x, Array):
        for watch_transfer in hooks.watch_transfer:
            watch_transfer(x, sharding, True)
    if sharding.num_devices == 1:
        return buffer_on(x, aval, sharding._device_assignment[0])
    if isinstance(x, Array):
        return place_value(x._numpy(), aval, sharding, owned=True).shards
    return place_value(stored_contents(x, aval), aval, sharding).shards


def buffer_on(x: Any, aval: ShapedArray, device):
    """A buffer on a device with the contents of `x`."""
    if type(x) is PlacedArray:
        alive(x)
        if x.sharding.num_devices == 1:
            return xla("transfers").copy_to_device(x.shards, device)
        if x.is_fully_replicated:
            return place_shards([x._buffer_near(device)], aval, on_one_device(device)).shards
    elif type(x) is Array and (x._buffer is not None or device is xla().default_device()):
        return xla("transfers").copy_to_device(buffer_of(x, aval), device)
    if isinstance(x, Array):
        return xla().put(np.asarray(x._numpy(), order="C"), stored(aval), device, owned=True)
    return xla().put(stored_contents(x, aval), stored(aval), device)


def place_value(value: np.ndarray, aval: ShapedArray, sharding: Sharding, committed=True,
                owned=False):
    """A NumPy array as an array with this sharding. `owned` arrays are never written to again."""
    value = np.asarray(value)
    indices = sharding.addressable_devices_indices_map(aval.shape).values()
    own = functools.partial(np.asarray if owned else np.array, order="C")
    return place_shards([own(value[index]) for index in indices], aval, sharding, committed)


def place_shards(parts: Sequence, aval: ShapedArray, sharding: Sharding, committed=True):
    """An array from its parts: for each device of this process a buffer on it, or a NumPy array
    that is never written to again."""
    where = xla_sharding(sharding, aval.ndim)
    buffer = xla("several_devices").put_shards(stored(aval), where, list(parts))
    return PlacedArray(None, Place(aval, sharding, committed), buffer)
