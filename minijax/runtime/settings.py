"""The settings that say where and how programs run, and how numbers and strings are settings."""

from __future__ import annotations

import functools
from typing import Any

from ..settings import State, add_traced, bool_state, define
from . import clients


def _parse_number(kinds: tuple[type, ...], value: Any) -> Any:
    if value is not None and not isinstance(value, kinds):
        raise ValueError(f"new config value must be None or of type {kinds[-1].__name__}, "
                         f"got {value} of type {type(value)}.")
    return value


def _parse_optional_str(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("new string config value must be None or of type str, "
                         f"got {value} of type {type(value)}.")
    return value


def _parse_device(value: Any) -> Any:
    if value in (None, "cpu", "gpu", "tpu", "cuda") or hasattr(value, "device_kind"):
        return value
    raise ValueError("jax.default_device must be a device, as `jax.devices()[0]`, or the name of a "
                     f"platform, as 'cpu', or None; got: {value!r}")


def _parse_device_count(value: Any) -> int | None:
    count = _parse_number((int,), value)
    if clients and count != num_cpu_devices.value:
        raise RuntimeError(
            "jax_num_cpu_devices config should be updated before backends are initialized: there "
            f"are {len(clients['cpu'].devices())} CPU devices now. Set it right after the import.")
    return count


def number_state(name: str, default: int | float, help: str) -> State:
    """Makes a setting that is a number of the default's type, or `None`."""
    kinds = (int, float) if isinstance(default, float) else (int,)
    return define(name, default, functools.partial(_parse_number, kinds), help,
                   from_env=type(default))


def string_state(name: str, default: str | None, help: str) -> State:
    """Makes a setting that is any string, or `None`."""
    return define(name, default, _parse_optional_str, help)


platforms = string_state(
    "jax_platforms", None,
    "Comma-separated platforms to start, the first being the default; None means all.")
platform_name = string_state(
    "jax_platform_name", "",
    "The platform that programs run on by default; else the first of jax_platforms.")
cpu_autotune = bool_state(
    "jax_cpu_autotune",
    "Whether programs for the CPU are tuned: after a few calls, the fastest of XLA's options is "
    "found by measuring.")
default_device = define(
    "jax_default_device", None, _parse_device,
    "The device, or the platform, for what nobody put anywhere; None means the first device.")
num_cpu_devices = define(
    "jax_num_cpu_devices", -1, _parse_device_count,
    "How many CPU devices to make out of this machine; -1 leaves it to XLA_FLAGS.", int)
no_execution = bool_state("jax_no_execution", "Whether it is an error to compute anything.")
check_vma = bool_state(
    "check_vma",
    "Internal: a `shard_map` is being traced that tracks which values differ by device.")
add_traced(default_device, check_vma)
