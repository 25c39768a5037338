"""Chapter 6: the platforms that programs run on, as far as they are known without loading jaxlib.

Modules for accelerators enter themselves in `accelerators`, and `distributed.py` enters what a
client needs to know of other processes in `peers`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from ..core.extension import Extension, point, register
from ..settings import State, add_traced
from . import buffer_readers, clients, settings, xla
from .interruptions import undisturbed

# Modules with the functions `is_here()`; `start(load_plugin)`, which makes the client; and
# `prepare(text, options)`, for modules to compile.
accelerators: dict[str, Any] = {}

peers: dict[str, Any] = {}  # keyword arguments for the makers of clients

# The platform that a function is traced for, if it is not the one that this process uses.
lowered_for = State("", None, lambda name: name, "A platform that a program is lowered for.")
add_traced(lowered_for)


def platforms() -> list[str]:
    """The platforms to be used: those in `jax_platforms`, or all. The first is the default one
    (`jax_platform_name` comes before others); an accelerator that is not here gives way to others.
    """
    wanted = settings.platforms.value or ",".join([*accelerators, "cpu"])
    names = [*map(canonical_platform, wanted.split(","))]
    names = [n for n in names if n not in accelerators or accelerators[n].is_here()] or names
    first = canonical_platform(settings.platform_name.value or "")
    return [first, *(name for name in names if name != first)] if first else names


def program_platform() -> str:
    """The platform that a program is lowered for: "cpu", "cuda" …"""
    return lowered_for.value or platforms()[0]


def canonical_platform(name: str) -> str:
    """The platform of this name: NVIDIA's GPUs have two, "gpu" and "cuda"."""
    return {"gpu": "cuda"}.get(name.strip(), name.strip())


def is_started() -> bool:
    """Whether a client exists. It has read `peers` and the number of CPU devices by then."""
    return bool(clients)


def refuse_after_fork(*_: Any, **__: Any) -> NoReturn:
    """Raise the error of a process that needs XLA, and was forked from one that had started it."""
    raise RuntimeError(
        "This process was forked from one that had already used XLA. XLA's threads do not survive "
        "a fork: here, arrays can be computed with eagerly, by NumPy, but no program can be "
        "compiled or run. Start the process by multiprocessing.get_context('spawn') or "
        "get_context('forkserver'), or fork before anything is compiled or asked of devices.")

# ----------------------------------------------------------------------------------------------
# The points of `client.py`


@point
def program_cache(self) -> Any:
    """An object that keeps programs, and what the autotuner chose for them, for other processes:
    `load_or_compile(compile, text, options, devices)` returns what `compile()` returns, and
    `keep_choice(text, options, devices, choice)` keeps what `recall_choice(text, options, devices)`
    returns (`None` if there is none)."""


class Platforms(Extension):
    """Clients of all platforms, and compilation with all options."""

    def client_maker(self, platform):
        name = canonical_platform(platform) if platform else platforms()[0]
        return name, lambda: undisturbed(partial(xla("backends").started, name))

    def load_program(self, *args, **options):
        return xla("compiler").load_program(*args, **options)


register(Platforms())


def _read_packed(buffer: Any, aval: Any) -> np.ndarray:
    return xla("transfers").read_packed(buffer, aval)


def _read_foreign(buffer: Any, aval: Any) -> np.ndarray:
    return xla("transfers").read_foreign(buffer, aval)


buffer_readers.update(dict.fromkeys(map(np.dtype, (
    ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn,
)), _read_packed))
buffer_readers.update(dict.fromkeys(map(np.dtype, (
    ml_dtypes.bfloat16, ml_dtypes.float8_e3m4, ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3b11fnuz,
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e8m0fnu,
)), _read_foreign))
