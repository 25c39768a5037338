"""Chapter 6: the door to XLA. A client of it, buffers to and from NumPy, and compiled programs.

`jaxlib` is XLA's compiler and runtime behind Python bindings that are not a public interface: names
move between releases, and a few calls silently import `jax`. So only the files of this folder use
it, and this one has what the engine needs. `compiler.py` has what the other rooms ask of compiled
programs, `transfers.py` has other ways to move data, and `backends.py` other platforms than a CPU.

Loading XLA takes longer than loading NumPy. Other modules therefore import this one when they
first need it, and `import minijax` stays light.

XLA checks little: an executable reads whatever bytes it is handed. The caller must check the types
of the arguments.
"""

from __future__ import annotations

import functools
import re
import weakref
from typing import Any

import numpy as np
from jaxlib import _jax, version as _jaxlib_version, xla_client

from ..core.core import ShapedArray
from ..core.extension import hooks
from ..errors import JaxRuntimeError
from . import buffer_readers, clients

JAXLIB_VERSION = tuple(int(part) for part in _jaxlib_version.__version__.split(".")[:3])

Buffer = xla_client.ArrayImpl  # an array in XLA's memory; it may still be being computed
Device = xla_client.Device
XlaRuntimeError = xla_client.XlaRuntimeError

_END_IN_CALLBACK = re.compile(
    r"CpuCallback error.*^(KeyboardInterrupt|SystemExit)(?:: (\d+))?", re.S | re.M)


def our_error(error: Exception) -> BaseException:
    """An error of jaxlib's as one of ours, which can be caught without loading jaxlib.

    Ctrl-C in a callback stays a `KeyboardInterrupt`, which `except Exception` does not catch, and
    `sys.exit` a `SystemExit`.
    """
    end = _END_IN_CALLBACK.search(text := str(error))
    if end is None:
        return JaxRuntimeError(text)
    return KeyboardInterrupt() if end[1] == "KeyboardInterrupt" else SystemExit(int(end[2] or 0))


# ----------------------------------------------------------------------------------------------
# The client: one a process and platform, made when first asked for.


def backend(platform: str | None = None) -> xla_client.Client:
    """The client of a platform (of the default one), made on the first call.

    Raises:
      RuntimeError: there is no such platform here.
    """
    name, make = "cpu", xla_client.make_cpu_client
    for client_maker in hooks.client_maker:
        name, make = client_maker(platform)
    if name not in clients:
        clients[name] = make()
    return clients[name]


def devices(platform: str | None = None) -> list[Device]:
    """All devices of a platform."""
    return backend(platform).devices()


@functools.cache
def default_device() -> Device:
    """Where work goes that names no device."""
    return backend().local_devices()[0]


replicated = xla_client.HloSharding.replicate()


class BufferSharding(xla_client.SingleDeviceSharding):
    """The placement of a whole array on one device, with the attributes that C++ reads."""

    memory_kind = None

    def __init__(self, device: Device):
        super().__init__(device)
        self.device = device
        self.devices = [device]
        self._addressable_device_assignment = (device,)

    def _to_xla_hlo_sharding(self, ndim: int):
        return replicated


@functools.cache
def placement(device: Device) -> BufferSharding:
    """The one sharding object of a device."""
    return BufferSharding(device)


# ----------------------------------------------------------------------------------------------
# Moving data.

_COPY = xla_client.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_ZERO_COPY = xla_client.HostBufferSemantics.ZERO_COPY


def put(
    value: np.ndarray, aval: ShapedArray, device: Device | None = None, owned: bool = False
) -> Buffer:
    """Hand a NumPy array to XLA.

    XLA would read a well-aligned array in place, perhaps after this call returned. That is right
    only if the array is never written to again, which the caller promises by `owned`. Otherwise it
    is copied.
    """
    sharding = placement(device or default_device())
    return xla_client.batched_device_put(  # not committed, no forced copy, with 64-bit types
        aval, sharding, [value], sharding.devices, False, False,
        _ZERO_COPY if owned else _COPY, True)


def to_numpy(buffer: Buffer) -> np.ndarray:
    """A read-only view of a buffer, waiting until it is computed. On the CPU nothing is copied.

    The buffer must be alive: not donated, not deleted.

    Raises:
      JaxRuntimeError: the program that computes it has failed.
    """
    try:
        if not buffer.is_ready():
            buffer.block_until_ready()  # which Ctrl-C can interrupt
        if JAXLIB_VERSION >= (0, 11) or buffer.platform() != "cpu":
            return fetch(buffer)  # np.asarray would import jax, for example
        aval = buffer.aval
        if aval.dtype.isbuiltin == 1:
            return np.asarray(buffer)
        read = buffer_readers.get(aval.dtype)
        return read(buffer, aval) if read else fetch(buffer)
    except XlaRuntimeError as error:
        raise our_error(error) from None


def fetch(buffer: Buffer) -> np.ndarray:
    """A buffer's contents, copied by jaxlib, on accelerators as on the CPU."""
    if JAXLIB_VERSION >= (0, 11):
        return buffer._to_np_array_did_copy()[0]
    return buffer._single_device_array_to_np_array_did_copy()[0]  # imports jax, if there is one


def wait(*pending: Any) -> None:
    """Wait until buffers are computed, or programs that return a token are at their end.

    Raises:
      JaxRuntimeError: a program has failed.
    """
    try:
        for x in pending:
            x.block_until_ready()
    except XlaRuntimeError as error:
        raise our_error(error) from None


# ----------------------------------------------------------------------------------------------
# Programs.

executables: weakref.WeakSet[Executable] = weakref.WeakSet()


class Executable:
    """A compiled program.

    `execute` runs it: buffers in, a result object out, whose `consume_with_handlers(handlers)` is
    the list of the result buffers. Both are attributes for the sake of a fast dispatch.
    """

    __slots__ = ("loaded", "execute", "handlers", "__weakref__")

    def __init__(self, loaded, handlers: list):
        self.loaded = loaded
        self.execute = loaded.execute_sharded  # never `loaded.execute`: slow, and imports jax
        self.handlers = handlers
        executables.add(self)

    def __call__(self, buffers: list[Buffer]) -> list[Buffer]:
        """Start the program; it runs on while the results are handed out.

        Raises:
          JaxRuntimeError: XLA refuses, for example because a buffer was donated before.
        """
        try:
            return self.execute(buffers).consume_with_handlers(self.handlers)
        except XlaRuntimeError as error:
            raise our_error(error) from None


@functools.cache
def result_handler(aval: ShapedArray, sharding):
    """What makes a buffer with the type `aval` of a raw result; C++ all through."""
    checks = {} if JAXLIB_VERSION >= (0, 11) else {"_skip_checks": True}
    return _jax.array_result_handler(aval, sharding, committed=False, **checks)


def compile(text: str, out_avals: list[ShapedArray], device: Device | None = None,
            options: dict[str, Any] | None = None, **for_extension: Any) -> Executable:
    """Compile a StableHLO module for one device. `options` sets XLA flags by name.

    Raises:
      JaxRuntimeError: the text is no valid module, or XLA cannot compile it.
    """
    device = device or default_device()
    handlers = [result_handler(aval, placement(device)) for aval in out_avals]
    for load_program in hooks.load_program:
        return Executable(load_program(text, device, options, handlers, **for_extension), handlers)
    where, used = _jax.DeviceList((device,)), compile_options((device,), options or {})
    return Executable(device.client.compile_and_load(text, where, used), handlers)


def compile_options(devices: tuple[Device, ...], flags: dict[str, Any]) -> Any:
    """XLA's object for the options of a compilation: the devices, and flags by name."""
    options = xla_client.CompileOptions()
    options.num_partitions = len(devices)
    assignment = np.array([[device.id for device in devices]], np.int32)
    options.device_assignment = xla_client.DeviceAssignment.create(assignment)
    options.env_option_overrides = [*flags.items()]
    return options
