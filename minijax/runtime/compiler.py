"""Chapter 6: how the library compiles, and what XLA says of programs.

Options of the compiler, the cache on disk, the autotuner, accelerators, and Python functions that
programs call.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from jaxlib import _jax, xla_client

try:
    from jaxlib import _hlo
except ImportError:  # of jaxlib 0.10.0
    _hlo = _jax

from ..core.extension import hooks
from ..errors import JaxRuntimeError
from . import client, settings
from .client import Device, Executable, XlaRuntimeError, backend, our_error
from .interruptions import load as load_module, undisturbed
from .platforms import accelerators, canonical_platform
from .wrong_programs import avoiding_flags


def load_program(text: str, device: Device, options: dict[str, Any] | None, handlers: list,
                 host_callbacks: Sequence[Callable] = (), in_parts: str | None = None) -> Any:
    """The loaded program of a StableHLO module for one device. `options` sets XLA flags by name,
    and may have the setting `jax_cpu_autotune`, which may choose the module `in_parts`.

    Its `xla_ffi_python_cpu_callback`s call the Python functions `host_callbacks`, by their number.
    These live as long as the program.

    Raises:
      JaxRuntimeError: the text is no valid module, or XLA cannot compile it.
    """

    avoiding = avoiding_flags(text, device.platform)

    def load_with(flags, text=text):
        used = compile_options((device,), {**avoiding, **(options or {}), **flags})
        return load(text, used, (device,), host_callbacks)

    autotune = (options or {}).get(settings.cpu_autotune.name, settings.cpu_autotune.value)
    if not autotune or host_callbacks or device.platform != "cpu":
        if device.platform == "cpu" and not options and not avoiding and _is_tiny(text):
            with contextlib.suppress(JaxRuntimeError):  # another version may not have the option
                return load_with(_SOONER)
        return load_with({})
    from .autotune import Source, tuned  # wanted by few

    used = compile_options((device,), options)
    return tuned(Source(text, used, device, handlers, load_with, in_parts))


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
    """Compile a module, and load the program on its devices."""
    if (platform := canonical_platform(devices[0].platform)) in accelerators:
        text = accelerators[platform].prepare(text, options)
    if "channel_handle" in text:  # XLA fails at collectives of several ranks on one device without
        build = options.executable_build_options
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
    compile = functools.partial(_compile, text, options, devices, callbacks)
    for cache in () if callbacks else hooks.program_cache:
        return cache.load_or_compile(compile, text, options, devices)
    return compile()


def _compile(text, options, devices, callbacks):
    """Compile a module, and compile it again if the optimised program is known to be wrong."""
    def compile():
        # The overload for text takes no functions.
        module, *more = (_parse(text), [*callbacks]) if callbacks else (text,)
        return loaded(compiler_of(devices[0].client), module, _jax.DeviceList(devices),
                      options, *more)

    program = compile()
    flags = avoiding_flags(text, devices[0].platform, functools.partial(_optimised, program))
    if not flags.keys() <= dict(options.env_option_overrides).keys():
        options.env_option_overrides = [*options.env_option_overrides, *flags.items()]
        return compile()
    return program


def loaded(compile_and_load: Callable, *args: Any) -> Any:
    """The loaded program that `compile_and_load(*args)` returns.

    Where Ctrl-C ends the call, jaxlib frees the module, which XLA's own threads may still be
    reading. So the call is made in a thread, which goes on.
    """
    try:
        return undisturbed(functools.partial(compile_and_load, *args), needed=False)
    except XlaRuntimeError as error:
        raise our_error(error) from None


def backend_compile_and_load(client: Any, *args: Any) -> Any:
    """Compile a module by XLA. Each compilation calls this function as the module `_src.compiler`
    shows it: libraries put another one in its place there, to forbid compilations."""
    return client.compile_and_load(*args)


def compiler_of(client: Any) -> Callable:
    """What compiles modules for the devices of a client of XLA."""
    shown = sys.modules.get(__name__.replace("runtime", "_src"))
    compile = getattr(shown, "backend_compile_and_load", backend_compile_and_load)
    return functools.partial(compile, client)


def deserialize(program: bytes, options, devices: tuple[Device, ...]):
    """What `load` had returned in the process in which its `serialize()` gave these bytes.

    Raises:
      RuntimeError: they are something else.
    """
    return devices[0].client.deserialize_executable(program, _jax.DeviceList(devices), options)


def compile_options(devices: tuple[Device, ...], flags: dict[str, Any] | None) -> Any:
    """XLA's object for the options of a compilation. The autotuner's setting is not one."""
    flags = {k: v for k, v in (flags or {}).items() if k != settings.cpu_autotune.name}
    efforts = {name: flags.pop(name) for name in _EFFORTS & flags.keys()}
    options = client.compile_options(devices, flags)
    for name, effort in efforts.items():
        setattr(options.executable_build_options, name, effort)
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


def cost_analysis(executable: Executable) -> dict[str, float]:
    """What XLA reckons a run costs: "flops", "bytes accessed" …"""
    cost = executable.loaded.cost_analysis()
    return cost[0] if isinstance(cost, list) else cost


def hlo_text(executable: Executable) -> str:
    """The optimised program."""
    return _optimised(executable.loaded)


def _optimised(loaded):
    return "\n".join(module.to_string() for module in loaded.hlo_modules())
