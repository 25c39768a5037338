"""Chapter 12: what other libraries ask of arrays: pickling, copying, bytes, DLPack, and where the
contents are."""

import _thread
import threading

import numpy as np

from ..checks import array as checks
from ..core import dtypes
from ..core.array import Array
from ..core.core import Tracer, install_methods
from ..core.jit import buffer_of
from ..lax.operators import contents_refused
from ..lax.shaping import copy_p
from ..runtime import xla


def _tobytes(self, order="C") -> bytes:
    """The bytes of the elements, in row-major order unless `order` is "F"."""
    checks.numeric(self, "converted to bytes")
    return np.asarray(self._numpy()).tobytes(order)


def _copy(self):
    return copy_p.bind(self)


def _deepcopy(self, memo):
    return Array(np.array(self._numpy()), self.aval)


def _reduce(self):
    is_key = dtypes.issubdtype(self.aval.dtype, dtypes.extended)  # which NumPy may not read
    return restored, (np.array(self._numpy()) if is_key else np.asarray(self), self.aval)


def restored(value: np.ndarray, aval) -> Array:
    """A pickled array. One of 64 bits loses half of them where x64 is off."""
    dtype = dtypes.canonicalize_dtype(aval.dtype, allow_extended_dtype=True)
    if dtype == aval.dtype:
        return Array(value if value.flags.owndata else value.copy(), aval)
    return Array(value.astype(dtype), aval.update(dtype=dtype))


def _dlpack(self, *, max_version=None, **kwargs):
    """The contents, read-only; a copy for readers that do not support read-only memory."""
    checks.numeric(self, "shared through DLPack")
    if self.dtype.isbuiltin != 1:  # bfloat16 and its like, which NumPy does not share
        return xla("transfers").to_dlpack(buffer_of(self, self.aval))
    supports_read_only = max_version is not None and max_version[0] >= 1
    value = np.asarray(self) if supports_read_only else np.array(self._numpy())
    return value.__dlpack__(max_version=max_version, **kwargs)


def _dlpack_device(self):
    checks.numeric(self, "shared through DLPack")
    if self.dtype.isbuiltin != 1:
        return np.empty(0).__dlpack_device__()
    return np.asarray(self._numpy()).__dlpack_device__()


def _is_ready(self) -> bool:
    """Whether the contents are computed already."""
    if self._host is None:
        checks.alive(self)
        return self._buffer.is_ready()
    return True


def _buffer(self, flags: int) -> memoryview:
    """The contents as `memoryview(x)` shows them, from Python 3.12 on; they cannot be written."""
    try:
        return self.__array__().data  # `np.asarray(self)` would ask for this buffer
    except KeyboardInterrupt:
        # NumPy passes over all errors here, and asks `__array__`, which waits for the contents
        # again. The interrupt must come once more to end that.
        threading.Timer(0.01, _thread.interrupt_main).start()
        raise BufferError("interrupted while waiting for the contents of an array") from None


def _copy_to_host_async(self) -> None:
    """Ask for the contents in NumPy soon: on the host they are there as soon as computed."""
    checks.alive(self)


def _on_device_size_in_bytes(self) -> int:
    """How many bytes the contents take."""
    return self.nbytes


def _value_on_host(self) -> np.ndarray:
    """JAX's private name for the contents in NumPy. Libraries read it, and must not write to it."""
    checks.alive(self)
    return np.asarray(self)


def _kept_on_host(self) -> np.ndarray | None:
    """The contents in NumPy if the array holds them there already: a private name of JAX's."""
    return None if self._host is None else np.asarray(self)


def _arrays(self) -> list:
    """The parts on each device of this process, as arrays: a private name of JAX's."""
    return [shard.data for shard in self.addressable_shards]


def _is_fully_addressable(self) -> bool:
    """Whether this process holds all of the array."""
    return True


def _is_fully_replicated(self) -> bool:
    """Whether each device of the array holds all of it."""
    return True


install_methods({
    "tobytes": _tobytes, "__bytes__": _tobytes, "__buffer__": _buffer,
    "__copy__": _copy, "__deepcopy__": _deepcopy, "__reduce__": _reduce,
    "__dlpack__": _dlpack, "__dlpack_device__": _dlpack_device, "is_ready": _is_ready,
    "copy_to_host_async": _copy_to_host_async,
    "on_device_size_in_bytes": _on_device_size_in_bytes,
    "_value": property(_value_on_host), "_npy_value": property(_kept_on_host),
    "_arrays": property(_arrays), "_check_if_deleted": checks.alive,
    "is_fully_addressable": property(_is_fully_addressable),
    "is_fully_replicated": property(_is_fully_replicated),
}, Array)

install_methods({name: contents_refused(name) for name in ("tobytes", "__dlpack__", "__reduce__")},
                Tracer)
