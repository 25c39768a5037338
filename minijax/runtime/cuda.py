"""Chapter 14: programs on NVIDIA's GPUs.

XLA's part for GPUs is a plugin: a shared library in a package of its own, which
`pip install "minijax[cuda]"` installs together with NVIDIA's libraries. This file finds it in the
namespace package `jax_plugins` without running that package's code, which would import JAX.

Factorizations of matrices are computed by NVIDIA's libraries. Where those have none, a program that
calls LAPACK is refused: that is for CPUs.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

from . import logger, xla
from .compilation_cache import flags_for_gpus
from .platforms import accelerators

_DEVICE_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg")  # the last one on Windows
_INSTALL = 'Install it by `pip install "minijax[cuda]"`, or choose JAX_PLATFORMS=cpu.'

# NVIDIA's libraries, each after those that it depends on: package, then file. The packages
# for CUDA 12 have a folder for each library, and those for CUDA 13 one folder for most.
_LIBRARIES = {
    12: """cuda_runtime/libcudart.so.12 cuda_nvrtc/libnvrtc.so.12 cublas/libcublas.so.12
        cublas/libcublasLt.so.12 nccl/libnccl.so.2 cuda_cupti/libcupti.so.12
        cusparse/libcusparse.so.12 cusolver/libcusolver.so.11 cufft/libcufft.so.11
        nvshmem/libnvshmem_host.so.3 cudnn/libcudnn.so.9""",
    13: """cu13/libcudart.so.13 cu13/libnvrtc.so.13 cu13/libcublas.so.13 cu13/libcublasLt.so.13
        nccl/libnccl.so.2 cu13/libcupti.so.13 cu13/libcusparse.so.12 cu13/libcusolver.so.12
        cu13/libcufft.so.12 nvshmem/libnvshmem_host.so.3 cudnn/libcudnn.so.9""",
}


def has_device() -> bool:
    """Whether the driver of a GPU is loaded."""
    return any(map(os.path.exists, _DEVICE_FILES))


def _files(package: str, name: str) -> list[str]:
    """The files of this name in the parts of a namespace package, without importing it."""
    import importlib.util  # not all that finding a module takes is loaded as a rule

    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations or () if spec else ()
    return [path for folder in folders if os.path.exists(path := os.path.join(folder, name))]


def plugin() -> tuple[str, int] | None:
    """The path of XLA's plugin, the newest if there are more, and its CUDA's version; or `None`."""
    for version in sorted(_LIBRARIES, reverse=True):
        for path in _files("jax_plugins", f"xla_cuda{version}/xla_cuda_plugin.so"):
            return path, version
    return None


@functools.cache
def is_here() -> bool:
    """Whether programs may run on a GPU, by default; tells of one that is there in vain."""
    if not has_device():
        return False
    if plugin() is None:
        logger(__name__).warning(
            "There is an NVIDIA GPU, but not XLA's plugin for it. %s", _INSTALL)
    return plugin() is not None


def libraries(version: int) -> Iterable[str]:
    """Those of NVIDIA's libraries that are installed as Python packages, for a CUDA version."""
    for name in _LIBRARIES[version].split():
        yield from _files("nvidia", name.replace("/", "/lib/"))


def _load_libraries(version):
    """Load them, so that the plugin finds them: it looks where the system has its libraries, and
    among those that the process has loaded."""
    for path in libraries(version):
        try:
            ctypes.CDLL(path)
        except OSError as error:  # perhaps the system has a better one
            logger(__name__).info("%s does not load: %s", path, error)


def _extension(version) -> Any:
    """The module with the functions that programs on the GPU may call, or `None`."""
    try:
        return importlib.import_module(f"jax_cuda{version}_plugin.cuda_plugin_extension")
    except ImportError as error:
        logger(__name__).info("Programs for CUDA can call no functions: %s", error)
        return None


def _check_release(version):
    """Complain if the plugin was made for another release of jaxlib: C++ has no defence then."""
    # It takes time to load.
    from importlib.metadata import PackageNotFoundError, version as release_of

    package = f"jax-cuda{version}-pjrt"
    try:
        plugins, jaxlibs = release_of(package), release_of("jaxlib")
    except PackageNotFoundError:  # built by hand
        return
    if plugins.split(".")[:2] != jaxlibs.split(".")[:2]:
        raise RuntimeError(f"{package} {plugins} is not for jaxlib {jaxlibs}. Install it anew, "
                           f'by `pip install "jax-cuda{version}-plugin[with-cuda]=={jaxlibs}"`.')


def start(load_plugin: Any) -> Any:
    """The client for GPUs.

    Args:
      load_plugin: the adapter's function that loads the library.

    Raises:
      RuntimeError: the plugin is not installed, does not load, or finds no GPU.
    """
    found = plugin()
    if found is None:
        raise RuntimeError(
            f"Unknown backend: 'cuda' requested, but XLA's plugin for it is not here. {_INSTALL}")
    library, version = found
    try:
        _check_release(version)
        _load_libraries(version)
        return load_plugin("cuda", library, _extension(version))
    except RuntimeError as error:
        raise RuntimeError(f"Unable to initialize backend 'cuda': {error} ({library})") from None


# ----------------------------------------------------------------------------------------------
# Programs


_ON_CPU_ONLY = r"@(lapack_\w+)"
_SOLVERS = re.compile(r"@cu(solver|hybrid|sparse)?_")


def prepare(text: str, options: Any) -> str:
    """A module as it is on a GPU; tells the compiler where its tools are, and its own files.

    Raises:
      NotImplementedError: it calls LAPACK.
    """
    flags = flags_for_gpus()
    if folder := _tools():
        flags["xla_gpu_cuda_data_dir"] = folder
    options.env_option_overrides = [*flags.items(), *options.env_option_overrides]
    if call := re.search(_ON_CPU_ONLY, text):
        raise NotImplementedError(
            f"this program calls {call[1]}, which computes on CPUs only: there is no such "
            "factorization for the platform 'cuda' here. Put the arrays on a CPU, by "
            "`jax.device_put(x, jax.devices('cpu')[0])`.")
    if _SOLVERS.search(text):
        xla("compiler").load_gpu_solvers()
    for part in ("", "_partitioned"):
        text = text.replace(f"@xla_ffi{part}_python_cpu_callback",
                            f"@xla_ffi{part}_python_gpu_callback")
    return text


@functools.cache
def _tools() -> str | None:
    """The folder with the assembler and the library of functions that the compiler needs."""
    suffix = os.path.join("nvvm", "libdevice", "libdevice.10.bc")
    found = [path.removesuffix(suffix) for package in ("cu13", "cuda_nvcc")
             for path in _files("nvidia", os.path.join(package, suffix))]
    return os.environ.get("CUDA_ROOT") or next(iter(found), None)


accelerators["cuda"] = sys.modules[__name__]
