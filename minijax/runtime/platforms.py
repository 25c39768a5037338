"""Chapter 6: the platforms that programs run on, as far as they are known without loading jaxlib.

`client.py` fills `clients`. Modules for accelerators enter themselves in `accelerators`, and
`distributed.py` enters what a client needs to know of other processes in `peers`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..settings import State, add_traced
from . import settings, xla

# Modules with the functions `is_here()`; `start(load_plugin)`, which makes the client; and
# `prepare(text, options)`, for modules to compile.
accelerators: dict[str, Any] = {}

clients: dict[str, Any] = {}  # by platform, each made when it is first needed
peers: dict[str, Any] = {}  # keyword arguments for the makers of clients

# The platform that a function is traced for, if it is not the one that this process uses.
lowered_for = State("", None, lambda name: name, "A platform that a program is lowered for.")
add_traced(lowered_for)


def program_platform() -> str:
    """The platform that a program is lowered for: "cpu", "cuda" …"""
    return lowered_for.value or xla().platforms()[0]


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


def _refuse_other_number(count: int) -> None:
    if is_started() and count != settings.num_cpu_devices.value:
        raise RuntimeError(
            "jax_num_cpu_devices config should be updated before backends are initialized: there "
            f"are {len(clients['cpu'].devices())} CPU devices now. Set it right after the import.")


settings.num_cpu_devices.guards.append(_refuse_other_number)
