"""Chapter 6: the one door to XLA. No other file of minijax imports `jaxlib`.

`jaxlib` is XLA's compiler and runtime behind Python bindings that are not a public interface: names
move between releases, and a few calls silently import `jax`. So minijax uses jaxlib only through
the few functions below, and handles the differences between releases in this one place.

Loading XLA takes longer than loading NumPy. Other modules therefore import this one when they
first need it, and `import minijax` stays light.

XLA checks little: an executable reads whatever bytes it is handed. The caller must check the types
of the arguments.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import math
import operator
import os
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # read when jaxlib loads: hush its log

import ml_dtypes
import numpy as np
from jaxlib import _jax, xla_client
from jaxlib import version as _jaxlib_version

try:
    from jaxlib import _hlo
except ImportError:  # of jaxlib 0.10.0
    _hlo = _jax

from ..core.core import ShapedArray
from ..core.extension import hooks
from ..core.lowering import tensor_type, with_dtype
from ..errors import JaxRuntimeError
from . import compiler_of, settings, undisturbed
from . import load as load_module
from .platforms import accelerators, canonical_platform, clients, peers, refuse_after_fork

JAXLIB_VERSION = tuple(int(part) for part in _jaxlib_version.__version__.split(".")[:3])

Buffer = xla_client.ArrayImpl  # an array in XLA's memory; it may still be being computed
Device = xla_client.Device
DeviceList = _jax.DeviceList
ifrt_programs = _jax.ifrt_programs  # a module, as `jax.extend` gives it
PyTreeRegistry = _jax.pytree.PyTreeRegistry
# Of jaxlib itself, for programs that ask which of its releases it is, or test its C++ modules
jaxlib_extension_version = _version = getattr(xla_client, "_version", 0)
HloSharding, OpSharding = xla_client.HloSharding, xla_client.OpSharding
ifrt_version: int = getattr(xla_client, "_ifrt_version", 0)
pytree, jax_jit, guard_lib = _jax.pytree, _jax.jax_jit, _jax.guard_lib

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


class _Garbage:
    """What XLA's own threads have let go of; a collection of garbage, by Python, reads both names.

    All of this is C. Where Python were to begin a function, Ctrl-C could arrive in it, and Python
    drops the exceptions of these callbacks.
    """

    collect = staticmethod(_jax.collect_garbage)
    start = stop = property(operator.methodcaller("collect"))


collect_garbage = functools.partial(getattr, _Garbage())  # called with "start" or "stop", and more
gc.callbacks.append(collect_garbage)

# ----------------------------------------------------------------------------------------------
# The client: one a process and platform, made when first asked for.

_lock = threading.Lock()


def platforms() -> list[str]:
    """The platforms to be used: those in `jax_platforms`, or all. The first is the default one
    (`jax_platform_name` comes before others); an accelerator that is not here gives way to others.
    """
    wanted = settings.platforms.value or ",".join([*accelerators, "cpu"])
    names = [*map(canonical_platform, wanted.split(","))]
    names = [n for n in names if n not in accelerators or accelerators[n].is_here()] or names
    first = canonical_platform(settings.platform_name.value or "")
    return [first, *(name for name in names if name != first)] if first else names


def backend(platform: str | None = None) -> xla_client.Client:
    """The client of a platform (of the default one), made on the first call.

    Raises:
      RuntimeError: there is no such platform here.
    """
    name = canonical_platform(platform) if platform else platforms()[0]
    if name not in clients:
        undisturbed(functools.partial(_start, name))
    return clients[name]


def _start(platform):
    with _lock:
        if platform not in clients:
            clients[platform] = _make_client(platform)


def _make_client(platform):
    if platform in accelerators:
        return accelerators[platform].start(load_plugin)
    if platform != "cpu":
        here = platforms()
        if platform not in here:
            raise RuntimeError(f"Unknown backend {platform}. Available backends are {here}")
        raise RuntimeError(
            f"Unable to initialize backend '{platform}': Backend '{platform}' is not in the list "
            f"of known backends: {['cpu', *accelerators]}. Choose one of these, by "
            'config.update("jax_platforms", "cpu") or JAX_PLATFORMS=cpu.'
        )
    count = settings.num_cpu_devices.value
    return xla_client.make_cpu_client(num_devices=count if count > 0 else None, **peers)


def load_plugin(platform: str, library: str, extension: Any = None) -> xla_client.Client:
    """The client of a platform whose part of XLA is a shared library, a plugin.

    `extension`, a module, makes known to it the functions that programs there may call.

    Raises:
      RuntimeError: it does not load, or finds no device.
    """
    if not xla_client.pjrt_plugin_loaded(platform):
        plugin = xla_client.load_pjrt_plugin_dynamically(platform, library)
        if extension is not None:
            _register_calls(platform.upper(), plugin, extension)
    if not xla_client.pjrt_plugin_initialized(platform):
        xla_client.initialize_pjrt_plugin(platform)
    options = xla_client.generate_pjrt_gpu_plugin_options()
    options |= {name: peers[name] for name in ("node_id", "num_nodes") if name in peers}
    return xla_client.make_c_api_client(platform, options, peers.get("distributed_client"))


def _register_calls(platform, plugin, extension):
    register = functools.partial(extension.register_custom_type, plugin)
    xla_client.register_custom_type_handler(platform, register)
    register = functools.partial(extension.register_custom_call_target, plugin)
    xla_client.register_custom_call_handler(platform, register)
    for name, value in extension.ffi_types().items():
        xla_client.register_custom_type(name, value, platform=platform)
    for name, value in extension.ffi_handlers().items():
        xla_client.register_custom_call_target(name, value, platform=platform, api_version=1)


def start_service(address: str, num_processes: int, **timeouts: int):
    """What all processes connect to, in the first of them, listening on `address`."""
    return _jax.get_distributed_runtime_service(address, num_processes, **timeouts)


def connect(address: str, num_processes: int, process_id: int, own_host: str | None,
            **timeouts: int):
    """Join the other processes; returns when all have connected. Gloo moves data between them and
    listens on `own_host`. With `None` they move no data.

    If another process stops to send heartbeats, XLA ends this one in its own words. The client
    takes a `missed_heartbeat_callback`, but in jaxlib 0.10 it cannot be called: its argument, a
    status of XLA's, has no type in Python, and the process ends with `std::bad_cast`.
    """
    client = _jax.get_distributed_runtime_client(
        address, process_id, use_compression=True, **timeouts)
    client.connect()
    gloo = own_host and _jax.make_gloo_tcp_collectives(client, hostname=own_host)
    peers.update(distributed_client=client, node_id=process_id, num_nodes=num_processes,
                 collectives=gloo)
    return client


def preemption_manager(client):
    """What learns of a SIGTERM to any of the connected processes, and agrees on a step with all."""
    manager = _jax.create_preemption_sync_manager()
    manager.initialize(client)
    return manager


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


@functools.cache
def _default_placement() -> BufferSharding:
    return placement(default_device())


# ----------------------------------------------------------------------------------------------
# Moving data.

_device_put = xla_client.batched_device_put

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
    sharding = placement(device) if device else _default_placement()
    return _device_put(  # committed and force_copy are False, enable_x64 is True
        aval, sharding, [value], sharding.devices, False, False,
        _ZERO_COPY if owned else _COPY, True)


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
    return _device_put(  # committed is False, force_copy and enable_x64 are True
        buffer.aval, sharding, [buffer], sharding.devices, False, True, _COPY, True)


def to_numpy(buffer: Buffer) -> np.ndarray:
    """A read-only view of a buffer, waiting until it is computed. On the CPU nothing is copied.

    The buffer must be alive: not donated, not deleted.

    Raises:
      JaxRuntimeError: the program that computes it has failed.
    """
    try:
        return _to_numpy(buffer)
    except XlaRuntimeError as error:
        raise our_error(error) from None


def _to_numpy(buffer):
    if not buffer.is_ready():
        buffer.block_until_ready()  # which Ctrl-C can interrupt
    if JAXLIB_VERSION >= (0, 11) or buffer.platform() != "cpu":
        return fetch(buffer)  # np.asarray would import jax, for example
    dtype = buffer.aval.dtype
    if dtype.isbuiltin == 1:
        return np.asarray(buffer)
    buffer.block_until_ready()
    return read_foreign(buffer, buffer.aval)


def read_foreign(buffer, aval):
    """A computed buffer's contents; NumPy's buffer protocol has no letter for this element type."""
    if (wide := _of_whole_bytes.get(aval.dtype)) is None:
        return _view_foreign(buffer, aval)
    convert = _converter(with_dtype(aval, aval.dtype), wide, buffer._sharding._device)
    return _to_numpy(convert([buffer])[0]).astype(aval.dtype)


# What XLA packs into parts of a byte NumPy cannot view. It is read as these types.
_of_whole_bytes = {np.dtype(narrow): np.dtype(wide) for narrow, wide in (
    (ml_dtypes.int2, np.int8), (ml_dtypes.uint2, np.uint8),
    (ml_dtypes.int4, np.int8), (ml_dtypes.uint4, np.uint8),
    (ml_dtypes.float4_e2m1fn, np.float32))}


@functools.cache
def _converter(aval, wide, device):
    """The program that converts an array to another element type."""
    x, out = tensor_type(aval), with_dtype(aval, wide)
    return compile(f"func.func public @main(%x: {x}) -> {tensor_type(out)} {{\n"
                   f"  %y = stablehlo.convert %x : ({x}) -> {tensor_type(out)}\n"
                   f"  return %y : {tensor_type(out)}\n}}", [out], device)


def fetch(buffer):
    """A buffer's contents, copied by jaxlib, on accelerators as on the CPU."""
    if JAXLIB_VERSION >= (0, 11):
        return buffer._to_np_array_did_copy()[0]
    return buffer._single_device_array_to_np_array_did_copy()[0]  # imports jax, if there is one


def wait(*pending: Any) -> None:
    """Wait until buffers are computed, or programs are at their end (`run_with_token`).

    Raises:
      JaxRuntimeError: a program has failed.
    """
    try:
        for x in pending:
            x.block_until_ready()
    except XlaRuntimeError as error:
        raise our_error(error) from None


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def _view_foreign(buffer, aval):
    """View the bytes of a buffer as of type `aval`; the view keeps the DLPack capsule, so them."""
    nbytes = aval.size * aval.dtype.itemsize
    if not nbytes:
        return np.empty(aval.shape, aval.dtype)
    capsule = _jax.buffer_to_dlpack_managed_tensor(buffer, stream=None)
    address = ctypes.c_void_p.from_address(_capsule_pointer(capsule, b"dltensor")).value
    memory = (ctypes.c_char * nbytes).from_address(address)
    memory.owner = capsule
    view = np.frombuffer(memory, aval.dtype).reshape(aval.shape)
    view.flags.writeable = False
    return view


def to_dlpack(buffer: Buffer) -> Any:
    """A DLPack capsule that shares a buffer's memory. It has names for dtypes that NumPy lacks."""
    return _jax.buffer_to_dlpack_managed_tensor(buffer, stream=None)


def from_dlpack(capsule: Any) -> Buffer:
    """A buffer of the host that shares a DLPack capsule's memory. It has an `aval` only if JAX is
    installed, so only `fetch` can read it."""
    return _jax.dlpack_managed_tensor_to_buffer(capsule, devices("cpu")[0], None)


# ----------------------------------------------------------------------------------------------
# Programs.


_lost = False  # whether a fork has left this process without XLA's threads


def lose_threads() -> None:
    """From now on, refuse to run programs: this is a forked process (`forks.py`)."""
    global _lost
    _lost = True
    gc.callbacks.remove(collect_garbage)  # a lost thread may hold its lock


class Executable:
    """A compiled program.

    `execute` runs it: buffers in, a result object out, whose `consume_with_handlers(handlers)` is
    the list of the result buffers. Both are attributes for the sake of a fast dispatch.
    """

    __slots__ = ("loaded", "execute", "handlers")

    def __init__(self, loaded, handlers: list):
        self.loaded = loaded
        self.execute = loaded.execute_sharded  # never `loaded.execute`: slow, and imports jax
        self.handlers = handlers

    def run_with_token(self, buffers: list[Buffer]) -> tuple[list[Buffer], Any]:
        """Start the program; returns also a token, whose `block_until_ready` waits for its end."""
        if _lost:
            refuse_after_fork()
        try:
            started = self.execute(buffers, with_tokens=True)
            return started.consume_with_handlers(self.handlers), started.consume_token()
        except XlaRuntimeError as error:
            raise our_error(error) from None

    def __call__(self, buffers: list[Buffer]) -> list[Buffer]:
        """Start the program; it runs on while the results are handed out.

        Raises:
          JaxRuntimeError: XLA refuses, for example because a buffer was donated before.
        """
        if _lost:
            refuse_after_fork()
        try:
            return self.execute(buffers).consume_with_handlers(self.handlers)
        except XlaRuntimeError as error:
            raise our_error(error) from None

    def cost_analysis(self) -> dict[str, float]:
        """What XLA reckons a run costs: "flops", "bytes accessed" …"""
        cost = self.loaded.cost_analysis()
        return cost[0] if isinstance(cost, list) else cost

    def memory_analysis(self):
        """XLA's account of the memory of a run: `argument_size_in_bytes`, `temp_size_in_bytes` …"""
        return self.loaded.get_compiled_memory_stats()

    def hlo_text(self) -> str:
        """The optimised program."""
        return "\n".join(module.to_string() for module in self.loaded.hlo_modules())


@functools.cache
def result_handler(aval: ShapedArray, sharding):
    """What makes a buffer with the type `aval` of a raw result; C++ all through."""
    checks = {} if JAXLIB_VERSION >= (0, 11) else {"_skip_checks": True}
    return _jax.array_result_handler(aval, sharding, committed=False, **checks)


def compile(text: str, out_avals: list[ShapedArray], device: Device | None = None,
            options: dict[str, object] | None = None,
            host_callbacks: Sequence[Callable] = ()) -> Executable:
    """Compile a StableHLO module for one device. `options` sets XLA flags by name, and may have the
    setting `jax_cpu_autotune`.

    Its `xla_ffi_python_cpu_callback`s call the Python functions `host_callbacks`, by their number.
    These live as long as the program.

    Raises:
      JaxRuntimeError: the text is no valid module, or XLA cannot compile it.
    """
    device = device or default_device()
    handlers = [result_handler(aval, placement(device)) for aval in out_avals]

    def load_with(flags, text=text):
        return load(text, compile_options((device,), {**(options or {}), **flags}), (device,),
                    host_callbacks)

    autotune = (options or {}).get(settings.cpu_autotune.name, settings.cpu_autotune.value)
    if not autotune or host_callbacks or device.platform != "cpu":
        if device.platform == "cpu" and not options and _is_tiny(text):
            with contextlib.suppress(JaxRuntimeError):  # another version may not have the option
                return Executable(load_with(_SOONER), handlers)
        return Executable(load_with({}), handlers)
    from .autotune import Source, tuned  # wanted by few

    used = compile_options((device,), options)
    return Executable(tuned(Source(text, used, device, handlers, load_with)), handlers)


# XLA's older way to compile fused operations takes two thirds of the time. The programs have the
# same bits, but for the last one here and there, and programs of longer arrays are slower.
_SOONER: dict[str, object] = {"xla_cpu_use_fusion_emitters": False}
_TINY = 32  # elements
_DIMENSIONS = re.compile(r"tensor<((?:\d+x)+)")
_OF_OTHER_BITS = re.compile(r"complex<|[x<]b?f16>|[x<]f[468]E|[x<]u?i[24]>|\.(tan|cbrt|atan2) ")


def _is_tiny(text: str) -> bool:
    """Whether no array in a module has many elements, and the environment has no flags of XLA's."""
    return ("XLA_FLAGS" not in os.environ and _OF_OTHER_BITS.search(text) is None
            and all(math.prod(map(int, found[1][:-1].split("x"))) <= _TINY
                    for found in _DIMENSIONS.finditer(text)))


def load(text: str, options, devices: tuple[Device, ...], callbacks: Sequence[Callable]):
    """Compile a module, and load the program on its devices.

    Where Ctrl-C ends the call, jaxlib frees the module, which XLA's own threads may still be
    reading. So the call is made in a thread, which goes on.
    """
    if (platform := canonical_platform(devices[0].platform)) in accelerators:
        text = accelerators[platform].prepare(text, options)
    if "channel_handle" in text:  # XLA fails at collectives of several ranks on one device without
        build = options.executable_build_options
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
    where, compile_and_load = _jax.DeviceList(devices), compiler_of(devices[0].client)
    try:
        if callbacks:  # the overload for text takes no functions
            args = _parse(text), where, options, list(callbacks)
            return undisturbed(lambda: compile_and_load(*args), needed=False)
        compile = lambda: undisturbed(lambda: compile_and_load(text, where, options), needed=False)
        for cache in hooks.program_cache:
            return cache.load_or_compile(compile, text, options, devices)
        return compile()
    except XlaRuntimeError as error:
        raise our_error(error) from None


def deserialize(program: bytes, options, devices: tuple[Device, ...]):
    """What `load` had returned in the process in which its `serialize()` gave these bytes.

    Raises:
      RuntimeError: they are something else.
    """
    return devices[0].client.deserialize_executable(program, _jax.DeviceList(devices), options)


def compile_options(devices, flags):
    options = xla_client.CompileOptions()
    options.num_partitions = len(devices)
    assignment = np.array([[device.id for device in devices]], np.int32)
    options.device_assignment = xla_client.DeviceAssignment.create(assignment)
    flags = {k: v for k, v in (flags or {}).items() if k != settings.cpu_autotune.name}
    for name in _EFFORTS & flags.keys():
        setattr(options.executable_build_options, name, flags.pop(name))
    if flags:
        options.env_option_overrides = [*flags.items()]
    return options


# Options of a compilation that are no flags of XLA's.
_EFFORTS = {"exec_time_optimization_effort", "memory_fitting_effort"}


def _parse(text):
    """A StableHLO module as MLIR's object, in a context of its own: threads do not share it."""
    ir, extension, dialects = _mlir()
    registry, context = ir.DialectRegistry(), ir.Context()
    extension.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for dialect in dialects:
        dialect.register_dialect(context)
    return ir.Module.parse(text, context)


def canonical_text(text: str, result_names: Sequence[str]) -> str:
    """A StableHLO module as MLIR prints it, with the names of the results of `main` beside them."""
    module = _parse(text)
    ir, *_ = _mlir()
    with module.context:
        (main,) = [op for op in module.body.operations
                   if "sym_name" in op.attributes and op.attributes["sym_name"].value == "main"]
        count = len(main.type.results)
        given = [*main.attributes["res_attrs"]] if "res_attrs" in main.attributes else [{}] * count
        names = [*result_names] + [""] * (count - len(result_names))
        main.attributes["res_attrs"] = ir.ArrayAttr.get([
            ir.DictAttr.get({**{entry.name: entry.attr for entry in attributes},
                             "jax.result_info": ir.StringAttr.get(name)})
            for attributes, name in zip(given, names)])
    return str(module)


@functools.cache
def _mlir():
    """MLIR's bindings, which take time to load: `ir`, the dialects' registration, the dialects."""
    names = "ir _mlir_libs._jax_mlir_ext dialects.chlo dialects.sdy dialects.stablehlo"
    ir, extension, *dialects = [load_module(f"jaxlib.mlir.{name}") for name in names.split()]
    return ir, extension, dialects


@functools.cache
def load_lapack() -> None:
    """Tell XLA of the LAPACK routines that jaxlib brings, which programs can then call.

    They are those of SciPy, which this loads: that takes a while.
    """
    undisturbed(_register_lapack)


def _register_lapack():
    from jaxlib import lapack

    _register(lapack, "cpu")
    lapack._lapack.initialize()


def _register(module, platform):
    for name, function, api_version in module.registrations()[platform]:
        xla_client.register_custom_call_target(
            name, function, platform=platform, api_version=api_version
        )


@functools.cache
def load_gpu_solvers() -> None:
    """Tell XLA of the routines for NVIDIA's GPUs, which their plugin brings."""
    undisturbed(_register_gpu_solvers)


def _register_gpu_solvers():
    from jaxlib import gpu_linalg, gpu_solver, gpu_sparse

    for module in (gpu_linalg, gpu_solver, gpu_sparse):
        _register(module, "CUDA")
    gpu_solver.initialize_hybrid_kernels()  # those that call LAPACK


def _to_hlo(text):
    return _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)


def compiler_ir(text: str, dialect: str | None) -> Any:
    """A StableHLO module as an object of MLIR's, or of XLA's if `dialect` is "hlo"."""
    return _to_hlo(text) if dialect == "hlo" else _parse(text)


def hlo_before_compiling(text: str, debug_info: bool = False) -> str:
    """A StableHLO module in XLA's own language, as it stands. With `debug_info`, each operation
    says which equation it came from."""
    options = _hlo.HloPrintOptions.short_parsable()
    options.print_metadata = debug_info
    return _to_hlo(text).get_hlo_module().to_string(options)


def cost_before_compiling(text: str) -> dict[str, float]:
    """What XLA reckons of a StableHLO module as it stands, before any optimisation."""
    return _jax.hlo_module_cost_analysis(backend(), _to_hlo(text).get_hlo_module())
