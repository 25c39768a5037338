"""Chapter 6: the devices there are, and getting values to and from them.

Programs run on the first device; arrays on several devices are the subject of chapter 14.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..api_util import argument_avals, leaf_names
from ..array import Array, as_array
from ..core import ArrayMethods
from ..pytree import tree_flatten, tree_map
from .dispatch import xla


def devices(backend: str | None = None) -> list:
    """All devices of a platform.

    Args:
      backend: the platform, as `"cpu"`; by default the first of `jax_platforms`.

    Raises:
      RuntimeError: there is no such platform here.

    >>> devices()[0]
    CpuDevice(id=0)
    """
    return list(xla().devices(backend))


def local_devices(process_index: int | None = None, backend: str | None = None) -> list:
    """The devices of this process, or of another that computes with it.

    Raises:
      ValueError: there is no such process.
    """
    index = xla().backend(backend).process_index() if process_index is None else process_index
    if index not in process_indices(backend):
        raise ValueError(f"Unknown process_index {index}: there are {process_indices(backend)}.")
    return [device for device in devices(backend) if device.process_index == index]


def device_count(backend: str | None = None) -> int:
    """How many devices there are."""
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(local_devices(backend=backend))


def process_index(backend: str | None = None) -> int:
    """The number of this process among those that compute together."""
    return xla().backend(backend).process_index()


def process_count(backend: str | None = None) -> int:
    """How many processes compute together."""
    return len(process_indices(backend))


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes that compute together."""
    return sorted({device.process_index for device in devices(backend)})


def copy_to_host_async(x: Any) -> Any:
    """Begin to copy the arrays of a pytree to the host, where they are already; returns it."""
    return x


def default_backend() -> str:
    """The name of the platform that programs run on.

    >>> default_backend()
    'cpu'
    """
    return xla().backend().platform


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False,
               may_alias: Any = None) -> Any:
    """A pytree of arrays, on a device.

    Args:
      x: a pytree of arrays, NumPy arrays and numbers.
      device: the default device, or `None` for it.
      src: where the arrays are, which they know themselves.
      donate, may_alias: permissions to reuse the memory of `x`; no array changes, so its memory
        is shared in any case.

    Raises:
      NotImplementedError: another device.
      TypeError: a leaf that is no array and no number.

    >>> device_put({"a": 1.0})
    {'a': Array(1., dtype=float32, weak_type=True)}
    """
    if device is not None and device != xla().default_device():
        raise NotImplementedError(
            f"device_put to {device}: programs run on {xla().default_device()} only. Placement on "
            "several devices is the subject of chapter 14."
        )
    leaves, tree = tree_flatten(x)
    argument_avals(leaves, "device_put", lambda: leaf_names("x", x))
    return tree.unflatten([x if isinstance(x, ArrayMethods) else as_array(x) for x in leaves])


def on_device(x: Array, device: Any, like: Any = None) -> Array:
    """What a function has made, perhaps after the example of an array, where its argument `device`
    wants it."""
    return put_new(x, device, like)


# Chapter 14 supplies another, to which `None` means: as `like`, or on the default device.
put_new: Callable = lambda x, device, like: x if device is None else device_put(x, device)


def device_get(x: Any) -> Any:
    """A pytree of arrays as NumPy arrays, waiting until they are computed; random keys stay keys.

    >>> device_get(jnp.arange(3))
    array([0, 1, 2], dtype=int32)
    """
    def get(leaf):
        ours = isinstance(leaf, Array) and not isinstance(leaf.dtype, dtypes.ExtendedDType)
        return np.asarray(leaf) if ours else leaf

    return tree_map(get, x)


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a pytree are computed; returns it."""
    return tree_map(
        lambda leaf: leaf.block_until_ready() if hasattr(leaf, "block_until_ready") else leaf, x)


def _device(x: Array):
    """The device that holds the array; for contents in NumPy, the one they would go to."""
    x._check_alive()
    return xla().default_device() if x._buffer is None else x._buffer._sharding.device


def _devices(x: Array) -> set:
    """The devices that hold the array."""
    return {_device(x)}


Array.devices = _devices  # type: ignore[attr-defined]
Array.device = property(_device)  # type: ignore[attr-defined]
