"""Chapter 14: arrays put together of their parts.

In a program of several processes, each process holds only a part of an array. Each provides the
contents for its own devices, and all call the same function with the same global shape.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.boundary import api_boundary
from ...core.core import ShapedArray, Tracer, typeof
from ...core.tree import tree_flatten
from ...errors import UnexpectedTracerError
from ...lax.dtypes import check_and_canonicalize_user_dtype
from ...pytree.functions import broadcast_prefix
from ...runtime.processes import process_count
from ..meshes.sharding import NamedSharding, Sharding
from .device_put import concrete_sharding, device_put
from .placed_array import Place, PlacedArray, buffer_on, place_shards

Shape = tuple[int, ...]


@api_boundary
def make_array_from_callback(shape: Sequence[int], sharding: Sharding,
                             data_callback: Callable[[Any], Any], dtype: Any = None) -> Array:
    """An array whose parts a function delivers, one for each device of this process.

    Args:
      shape: of the whole array.
      sharding: its sharding.
      data_callback: returns the part of the array at an index (a tuple of slices into the whole
        array). If all devices hold the whole array, it is called once.
      dtype: the element type; by default that of the first part.

    Raises:
      TypeError: `sharding` is not a sharding.
      ValueError: a part has not the shape that its device needs, or another dtype.

    >>> sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    >>> jax.make_array_from_callback((2, 3), sharding, np.arange(6).reshape(2, 3).__getitem__)
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    if not isinstance(sharding, Sharding):
        raise TypeError(f"sharding should be an instance of `jax.sharding`. Got {sharding} of "
                        f"type {type(sharding)}")
    shape = tuple(shape)
    if sharding.is_fully_replicated:
        whole = data_callback((slice(None),) * len(shape))
        parts = [whole] * len(sharding._addressable_device_assignment)
    else:
        parts = [*map(data_callback, sharding.addressable_devices_indices_map(shape).values())]
    if any(isinstance(part, Tracer) for part in parts):
        raise UnexpectedTracerError(
            "jax.make_array_from_callback cannot be called within a traced context: data_callback "
            "returned a traced value. It must return the data itself.")
    return _assemble("make_array_from_callback", shape, sharding, parts, dtype)


@api_boundary
def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Sharding,
                                         arrays: Sequence[Array], *, dtype: Any = None) -> Array:
    """An array of its parts, which are on their devices already.

    Args:
      shape: of the whole array.
      sharding: its sharding.
      arrays: an array on each device of `sharding` that this process has, in any order.
      dtype: the element type; by default that of the first part.

    Raises:
      TypeError: `arrays` is no list or tuple of arrays.
      ValueError: the arrays are not on the sharding's devices, or have not the shape needed.

    >>> x = jnp.arange(3)
    >>> y = jax.make_array_from_single_device_arrays((3,), x.sharding, [x])
    >>> y.committed
    True
    """
    name = "make_array_from_single_device_arrays"
    if not isinstance(arrays, (list, tuple)):
        raise TypeError(f"{name}: `arrays` must be a list or tuple, but is a {type(arrays)}.")
    if any(isinstance(x, Tracer) for x in arrays):
        raise ValueError(f"jax.{name} requires a list of concrete arrays as input, but got types "
                         f"{set(map(type, arrays))}: some are traced. Call it outside of `jit`.")
    if bad := [type(x) for x in arrays if not isinstance(x, Array)]:
        raise TypeError(f"{name}: `arrays` must be arrays on devices, but one is a {bad[0]}. Put "
                        "it there with `jax.device_put`.")
    if not isinstance(sharding, Sharding):
        raise AttributeError(f"{name}: expected a jax.sharding.Sharding, got {sharding!r}.")
    for x in arrays:
        if len(x.devices()) > 1:
            raise ValueError("When making an array from single-device arrays the input arrays must "
                             "have one shard each. An argument array had "
                             f"{len(x.addressable_shards)} shard(s). Pass the data of its shards.")
    by_device = {x.device: x for x in arrays}
    devices = sharding._addressable_device_assignment
    if len(arrays) != len(devices):
        raise ValueError(f"Expected {len(devices)} per-device arrays (this is how many devices are "
                         f"addressable by the sharding), but got {len(arrays)}")
    given, wanted = {x.device.id for x in arrays}, {device.id for device in devices}
    if given != wanted:
        raise ValueError(
            "Addressable devices and per-device arrays devices do not match. Sharding contains "
            f"devices {wanted - given} that are not present in per-device arrays. Per-device "
            f"arrays contain devices {given - wanted} that are not present in the sharding.")
    return _assemble(name, tuple(shape), sharding, [by_device[d] for d in devices], dtype)


def _assemble(caller, shape, sharding, parts, dtype) -> PlacedArray:
    """The array of its parts, in the order of the sharding's devices."""
    if dtype is not None:
        dtype = check_and_canonicalize_user_dtype(dtype, caller)
    elif not parts:
        raise ValueError(f"{caller}: this process has no part of the array, so it has to be told "
                         "the dtype.")
    part_shape = sharding.shard_shape(shape)
    avals = [*map(typeof, parts)]
    wanted = ShapedArray(part_shape, avals[0].dtype if dtype is None else dtype)
    for device, aval in zip(sharding._addressable_device_assignment, avals):
        where = f"{caller}: the part on {device} of an array of the shape {shape}"
        if aval.dtype != wanted.dtype:
            raise ValueError("Input buffers to `Array` must have matching dtypes. Got "
                             f"{aval.dtype.name}, expected {wanted.dtype.name} for {where}.")
        if aval.shape != wanted.shape:
            raise ValueError(f"Expected shard shape {wanted.shape} doesn't match the single device "
                             f"array shape {aval.shape}. It is that of {where}.")
    devices = sharding._addressable_device_assignment
    buffers = [buffer_on(x, wanted, device) for x, device in zip(parts, devices)]
    return place_shards(buffers, ShapedArray(shape, wanted.dtype), sharding)


class _TypeOfContents(type(Array)):  # type: ignore[misc]
    """`isinstance(x, ArrayImpl)`: whether `x` is an array that has contents, and no tracer."""

    def __instancecheck__(cls, x):
        return isinstance(x, Array) and not isinstance(x, Tracer)

    def __subclasscheck__(cls, other):
        return issubclass(other, Array)


class ArrayImpl(Array, metaclass=_TypeOfContents):
    """JAX's class of arrays, for programs that name it. Here, calling it makes an `Array`."""

    def __new__(cls, aval: ShapedArray, sharding: Sharding, arrays: list, committed: bool,
                _skip_checks: bool = False) -> Any:
        """An array of its parts.

        Args:
          aval: the type of the whole array.
          sharding: its sharding.
          arrays: a list with an array on each device of `sharding` that this process has, in any
            order.
          committed: whether programs that use the array must run where it is.
          _skip_checks: ignored, the checks are always made.

        Raises:
          TypeError: `arrays` is no list of arrays.
          ValueError: the parts are not on the sharding's devices, or have the wrong shape or dtype.
        """
        if not isinstance(arrays, list):
            raise TypeError(f"ArrayImpl: `arrays` must be a list, but is a {type(arrays)}.")
        out: Any = make_array_from_single_device_arrays(
            aval.shape, sharding, arrays, dtype=aval.dtype)
        return PlacedArray(None, Place(aval, sharding, bool(committed)), out.shards)


@api_boundary
def make_array_from_process_local_data(sharding: Any, local_data: Any,
                                       global_shape: Any = None) -> Any:
    """An array of what each process has of it, as its share of a batch.

                       process 0         process 1
        local_data     [0 1 2 3]         [4 5 6 7]
        devices        d0: 0 1, d1: 2 3  d2: 4 5, d3: 6 7      the array: [0 1 2 3 4 5 6 7]

    Args:
      sharding: how the array lies; a pytree of shardings with the first levels of `local_data`.
      local_data: a NumPy array (or a pytree) with the parts of this process, in order. In
        dimensions in which it is as large as the whole array, it is all of it.
      global_shape: the shape of the whole array; by default every process brings other parts.

    Raises:
      ValueError: the shape of `local_data` does not fit, or that of the array cannot be told.

    >>> sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    >>> jax.make_array_from_process_local_data(sharding, np.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    leaves, tree = tree_flatten(local_data)
    shapes = broadcast_prefix(
        global_shape, local_data, is_leaf=lambda x: x is None or isinstance(x, tuple))
    if process_count() == 1:
        for x, shape in zip(leaves, shapes):
            if shape is not None and tuple(shape) != np.shape(x):
                raise ValueError(
                    "When calling `make_array_from_process_local_data` on a single process, "
                    "global_shape should be None or equal to local_data.shape. Got global_shape="
                    f"{shape} and local_data.shape={np.shape(x)}.")
        return device_put(local_data, sharding)
    shardings = map(concrete_sharding, broadcast_prefix(sharding, local_data))
    return tree.unflatten([*map(_from_local, leaves, shardings, shapes)])


def _from_local(data, sharding, shape):
    shape = _whole_shape(sharding, data.shape) if shape is None else tuple(shape)
    starts = _local_starts(sharding, shape)
    sizes = sharding.shard_shape(shape)
    for dimension, (have, whole) in enumerate(zip(data.shape, shape, strict=True)):
        need = len(starts[dimension]) * sizes[dimension]
        if have not in (whole, need):
            raise ValueError(f"dimension {dimension} of the data has size {have}; it should be "
                             f"{need}, for the devices of this process, or {whole}, for all.")

    def part(index):
        local = [wanted if have == whole else _local_slice(begins, wanted.start or 0, size)
                 for wanted, have, whole, begins, size
                 in zip(index, data.shape, shape, starts, sizes)]
        return data[tuple(local)]

    return make_array_from_callback(shape, sharding, part)


def _local_starts(sharding, shape) -> list[list[int]]:
    """Where in each dimension the parts of this process begin."""
    indices = sharding.addressable_devices_indices_map(shape).values()
    return [sorted({index[i].start or 0 for index in indices}) for i in range(len(shape))]


def _local_slice(begins, start, size):
    """The place in this process's data of the part that begins at `start` in the whole array."""
    number = begins.index(start)
    return slice(number * size, (number + 1) * size)


def _whole_shape(sharding, local_shape) -> Shape:
    """The shape of an array, if each process brings its parts of it."""
    _, tiles = sharding.tiles(len(local_shape))
    return tuple([size * _groups(sharding, [tile[i] for tile in tiles], i)
                  for i, size in enumerate(local_shape)])


def _groups(sharding, numbers, dimension) -> int:
    """How many groups of processes have different parts in one dimension; `numbers` says which
    part each device has."""
    parts: dict[int, set] = {}
    for device, number in zip(sharding._device_assignment, numbers):
        parts.setdefault(device.process_index, set()).add(number)
    groups = {frozenset(group) for group in parts.values()}
    if sum(map(len, groups)) != len(set(numbers)) or len({*map(len, groups)}) > 1:
        raise ValueError(f"the parts of the processes overlap in dimension {dimension} of "
                         f"{sharding}: say `global_shape`.")
    return len(groups)


def part_of_this_process(x: PlacedArray) -> Array:
    """What this process has of an array, as an array on its own devices. Its devices form a block
    of the array's mesh."""
    whole = x.sharding
    part = NamedSharding(whole.mesh.local_mesh, whole.spec)  # type: ignore[attr-defined]
    counts, _ = part.tiles(x.ndim)  # how many shards there are here in each dimension
    shape = [*map(operator.mul, whole.shard_shape(x.shape), counts)]
    shards: Any = [shard.data for shard in x.addressable_shards]
    return make_array_from_single_device_arrays(shape, part, shards)
