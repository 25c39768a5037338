"""`jax.experimental.pallas`, which minijax does not have: a language for kernels of accelerators.

Libraries import it, and the kernels that JAX has written in it, where they offer such kernels
beside plain functions. The imports succeed, so that the plain functions run. Each name of these
modules is refused, but for the slices that index mutable arrays outside of kernels.
"""

from types import ModuleType
from typing import Any

from ...compat.first_use import show_module
from ...lax.dynamic_slices import Slice as Slice, ds as ds, dslice as dslice

MODULES = """
    fuser mosaic_gpu tpu tpu_sc triton
    ops ops.gpu ops.gpu.attention ops.gpu.decode_attention ops.gpu.layer_norm
    ops.gpu.paged_attention ops.gpu.rms_norm ops.gpu.softmax
    ops.tpu ops.tpu.flash_attention ops.tpu.matmul
    ops.tpu.megablox ops.tpu.megablox.gmm ops.tpu.megablox.ops
    ops.tpu.paged_attention ops.tpu.paged_attention.paged_attention_kernel
    ops.tpu.ragged_paged_attention ops.tpu.ragged_paged_attention.kernel
    ops.tpu.splash_attention ops.tpu.splash_attention.splash_attention_kernel
    ops.tpu.splash_attention.splash_attention_mask""".split()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(f"pallas.{name}: minijax has no language for kernels of accelerators. "
                         "Write the function with `jax.numpy`, and compile it by `jax.jit`.")


class Kernels(ModuleType):
    """A module of kernels, which has no names."""

    def __getattr__(self, name: str) -> Any:
        return __getattr__(name)


for _module in MODULES:
    show_module(Kernels(f"{__name__}.{_module}"))
