"""Chapter 6: other ways to move data: between devices, to other libraries, and of narrow types."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import ml_dtypes
import numpy as np
from jaxlib import _jax, xla_client

from ..core.lowering import tensor_type, with_dtype
from .client import Buffer, Device, compile, devices, placement, put, to_numpy
from .platforms import canonical_platform


def is_near(buffer: Buffer, device: Device) -> bool:
    """Whether a buffer is on the device's platform, within which jaxlib moves it."""
    return canonical_platform(buffer.platform()) == canonical_platform(device.platform)


def copy_to_device(buffer: Buffer, device: Device) -> Buffer:
    """The same array in the memory of another device."""
    if buffer._sharding.device is device:
        return buffer
    if not is_near(buffer, device):
        return put(to_numpy(buffer), buffer.aval, device)
    sharding = placement(device)
    return xla_client.batched_device_put(
        buffer.aval, sharding, [buffer], sharding.devices, enable_x64=True
    )


def copy(buffer: Buffer, device: Device) -> Buffer:
    """The same array in other memory of a device."""
    sharding = placement(device)
    copied = xla_client.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
    return xla_client.batched_device_put(  # not committed, a forced copy, with 64-bit types
        buffer.aval, sharding, [buffer], sharding.devices, False, True, copied, True)


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def read_foreign(buffer, aval):
    """A computed buffer's contents; NumPy's buffer protocol has no letter for this element type.

    The bytes are viewed as of type `aval`. The view keeps the DLPack capsule, and so the bytes.
    """
    nbytes = aval.size * aval.dtype.itemsize
    if not nbytes:
        return np.empty(aval.shape, aval.dtype)
    buffer.block_until_ready()
    capsule = _jax.buffer_to_dlpack_managed_tensor(buffer, stream=None)
    address = ctypes.c_void_p.from_address(_capsule_pointer(capsule, b"dltensor")).value
    memory = (ctypes.c_char * nbytes).from_address(address)
    memory.owner = capsule
    view = np.frombuffer(memory, aval.dtype).reshape(aval.shape)
    view.flags.writeable = False
    return view


# What XLA packs into parts of a byte NumPy cannot view. It is read as these types.
_OF_WHOLE_BYTES = {np.dtype(narrow): np.dtype(wide) for narrow, wide in (
    (ml_dtypes.int2, np.int8), (ml_dtypes.uint2, np.uint8),
    (ml_dtypes.int4, np.int8), (ml_dtypes.uint4, np.uint8),
    (ml_dtypes.float4_e2m1fn, np.float32))}


def read_packed(buffer: Buffer, aval: Any) -> np.ndarray:
    """The contents of a computed buffer whose elements are parts of a byte."""
    wide = _OF_WHOLE_BYTES[aval.dtype]
    convert = _converter(with_dtype(aval, aval.dtype), wide, buffer._sharding._device)
    return to_numpy(convert([buffer])[0]).astype(aval.dtype)


@functools.cache
def _converter(aval, wide, device):
    """The program that converts an array to another element type."""
    x, out = tensor_type(aval), with_dtype(aval, wide)
    return compile(f"func.func public @main(%x: {x}) -> {tensor_type(out)} {{\n"
                   f"  %y = stablehlo.convert %x : ({x}) -> {tensor_type(out)}\n"
                   f"  return %y : {tensor_type(out)}\n}}", [out], device)


def to_dlpack(buffer: Buffer) -> Any:
    """A DLPack capsule that shares a buffer's memory. It has names for dtypes that NumPy lacks."""
    return _jax.buffer_to_dlpack_managed_tensor(buffer, stream=None)


def from_dlpack(capsule: Any) -> Buffer:
    """A buffer of the host that shares a DLPack capsule's memory. It has an `aval` only if JAX is
    installed, so only `fetch` can read it."""
    return _jax.dlpack_managed_tensor_to_buffer(capsule, devices("cpu")[0], None)
