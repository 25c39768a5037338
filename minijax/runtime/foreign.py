"""Chapter 14: functions of other libraries, made known to XLA, which can then call them."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import jaxlib
from jaxlib import _jax, xla_client

Buffer = _jax.ffi.Buffer
ExecutionContext = _jax.ffi.ExecutionContext
ExecutionStage = _jax.ffi.ExecutionStage


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1,
                        **kwargs: Any) -> None:
    """Make a function known to XLA, for `ffi_call`.

    Args:
      name: what `ffi_call` will call it by.
      fn: a `PyCapsule` with the function's address, which `pycapsule` makes; or a dictionary of
        them by the stages of a call, such as "execute".
      platform: where it can be called.
      api_version: 1 for a function of XLA's FFI, 0 for an older one, `void f(out, in)`.
      **kwargs: handed on to jaxlib.
    """
    xla_client.register_custom_call_target(name, fn, platform, api_version, **kwargs)


def register_ffi_type(name: str, type_registration: dict[str, Any], platform: str = "cpu") -> None:
    """Make the type of a foreign function's state known to XLA.

    Args:
      name: the name of the type, different from those of all others.
      type_registration: a dictionary with the capsules "type_id" and, if there is one, "type_info".
      platform: where functions use it.
    """
    xla_client.register_custom_type(name, type_registration, platform=platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """What `register_ffi_type` did in older versions of JAX.

    Raises:
      ValueError: always. jaxlib has it no more.
    """
    raise ValueError("register_ffi_type_id is not supported after jaxlib version 381. Use "
                     f"register_ffi_type({name!r}, {{'type_id': …}}).")


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Tell XLA that each device can call a function for its own part of a batch.

    Args:
      name: the function's. The frontend attribute `num_batch_dims` of a call says how many leading
        dimensions are the batch.
    """
    xla_client.register_custom_call_as_batch_partitionable(name)


def pycapsule(funcptr: Any) -> Any:
    """The address of a function as an object that `register_ffi_target` takes.

    Args:
      funcptr: a function that `ctypes` has loaded from a library.

    >>> import ctypes
    >>> type(jax.ffi.pycapsule(ctypes.CDLL(None).abs)).__name__
    'PyCapsule'
    """
    destructor = ctypes.CFUNCTYPE(None, ctypes.py_object)
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, destructor)(
        ("PyCapsule_New", ctypes.pythonapi))
    return new(ctypes.cast(funcptr, ctypes.c_void_p), None, destructor(0))


def include_dir() -> str:
    """The folder with the C and C++ headers of XLA's FFI, which jaxlib brings.

    >>> os.path.exists(os.path.join(jax.ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))
    True
    """
    (folder, *_) = jaxlib.__path__
    return os.path.join(folder, "include")


