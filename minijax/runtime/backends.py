"""Chapter 6: clients of other platforms than one process's CPU: plugins, and several processes."""

from __future__ import annotations

import functools
import gc
import operator
import threading
from collections.abc import Callable
from typing import Any

from jaxlib import _jax, xla_client

from . import clients, settings
from .client import executables
from .platforms import accelerators, peers, platforms


class _Garbage:
    """What XLA's own threads have let go of; a collection of garbage, by Python, reads both names.

    All of this is C. Where Python were to begin a function, Ctrl-C could arrive in it, and Python
    drops the exceptions of these callbacks.
    """

    collect = staticmethod(_jax.collect_garbage)
    start = stop = property(operator.methodcaller("collect"))


_collect_garbage = functools.partial(getattr, _Garbage())  # called with "start" or "stop", and more
gc.callbacks.append(_collect_garbage)


def lose_threads(refuse: Callable) -> None:
    """From now on, programs are refused: this is a forked process (`forks.py`)."""
    gc.callbacks.remove(_collect_garbage)  # a lost thread may hold its lock
    for executable in executables:
        executable.execute = refuse


lock = threading.Lock()


def started(platform: str) -> xla_client.Client:
    """The client of a platform, made if there is none."""
    with lock:
        if platform not in clients:
            clients[platform] = make_client(platform)
    return clients[platform]


def make_client(platform: str) -> xla_client.Client:
    """A client of a platform.

    Raises:
      RuntimeError: there is no such platform here.
    """
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
