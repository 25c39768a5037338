"""Chapter 14: several processes that compute together, on one machine or on many.

Every process runs the same program. `initialize` joins them; from then on `devices()` lists the
devices of all, an array may be spread over all, and a compiled program that runs on such an array
has to be started by each:

    process 0                       process 1
    ┌──────────────────────┐        ┌──────────────────────┐
    │ coordinator  client ◄├────────┤► client              │  who is there, who still lives
    │ cpu:0   cpu:1        │        │   cpu:2   cpu:3      │
    └───┴───────┴──────────┘        └─────┴───────┴────────┘
        └───────┴──────── Gloo ───────────┴───────┘             psum, all_gather, …

The coordinator is a part of XLA, in the first process. All others call at its address, and go on
sending it heartbeats. If one stops to, XLA ends the others: a collective operation without it would
wait for ever. What the devices exchange does not go through the coordinator, but directly from
process to process, which is the work of Gloo, a library inside XLA.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

from ..settings import choice_state
from ..text.locations import user_stacklevel
from . import platforms, xla
from .effects import effects_barrier

collectives = choice_state(
    "jax_cpu_collectives_implementation", ("gloo", None), "gloo",
    "What moves data between the CPUs of several processes; with None, nothing does.")

_client: Any = None  # XLA's ends of the connection
_service: Any = None
_preemption: Any = None  # learns from any process that it will be stopped, and agrees on a step
_failing = False  # whether `sys.exit` was called with an error
_python_exit = sys.exit


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    slice_index: int | None = None,
    partition_index: int | None = None,
) -> None:
    """Join this process to others; returns when all have joined.

    Call it before anything that looks up devices or computes. When the program ends, the process
    waits until the others end, unless it ends by an error.

    Args:
      coordinator_address: where the first process listens, as `"10.0.0.1:1234"`. The default is
        the environment variable `JAX_COORDINATOR_ADDRESS`.
      num_processes, process_id: how many processes there are, and the number of this one, from 0.
        The defaults are `JAX_NUM_PROCESSES` and `JAX_PROCESS_ID`, which
        `python -m minijax launch` sets.
      cluster_detection_method: `"deactivate"` leaves these two variables unread.
      initialization_timeout: for how many seconds to wait for the others.
      heartbeat_timeout_seconds: after how many seconds without a message a process counts as dead.
      shutdown_timeout_seconds: for how many seconds, at the end, to wait for the others.
      coordinator_bind_address: the address on which the first process listens, if the others reach
        it by a different one. The default is `JAX_COORDINATOR_BIND_ADDRESS`. Without both, it
        listens on the loopback address if `coordinator_address` is one, or else on all addresses
        of that machine. It trusts whoever connects, as in JAX: use it in a private network.
      local_device_ids, slice_index, partition_index: which accelerators this process uses, and
        how they are wired. They have no effect here (set CUDA_VISIBLE_DEVICES for the former).

    Raises:
      ValueError: an argument is missing or out of range.
      TypeError: `num_processes` or `process_id` is not an int, or the address is not a string.
      RuntimeError: devices have been looked up already, `initialize` was called before, no process
        listens at the address, or the first process cannot listen on it. If another process does
        not connect in time, XLA ends this one.

    >>> jax.distributed.initialize("127.0.0.1:1234", num_processes=2, process_id=2)
    Traceback (most recent call last):
    ValueError: process_id must be in 0..1, got 2.
    """
    global _client, _service
    if slice_index is not None:
        warnings.warn("slice_index is called partition_index now.", DeprecationWarning,
                      stacklevel=user_stacklevel())
    address, count, me = _which_process(
        coordinator_address, num_processes, process_id, cluster_detection_method != "deactivate")
    host, port = _host_and_port(address)
    _check_in_time()
    times = {"heartbeat_timeout": heartbeat_timeout_seconds,
             "shutdown_timeout": shutdown_timeout_seconds}
    service = None
    if me == 0:
        bind = (coordinator_bind_address or os.environ.get("JAX_COORDINATOR_BIND_ADDRESS")
                or (address if _is_loopback(host) else f"[::]:{port}"))
        _check_free(bind)
        service = xla("backends").start_service(
            bind, count, cluster_register_timeout=initialization_timeout, **times)
    own_host = _reach(host, port, initialization_timeout)
    # The service can name the process that is missing, so it must time out first.
    client = xla("backends").connect(
        address, count, me, own_host if collectives.value == "gloo" else None,
        init_timeout=initialization_timeout + 10, **times)
    _client, _service = client, service
    sys.exit = _exit
    atexit.register(_leave)


def is_initialized() -> bool:
    """Whether this process has been joined to others.

    >>> jax.distributed.is_initialized()
    False
    """
    return _client is not None


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether now is the step at which all processes should save, because one will be stopped.

    A process that is sent SIGTERM tells all others. They agree on the step after the latest one
    that any of them has begun. Every process must call this at every step. SIGTERM no longer ends
    a process that has called this; the scheduler that sent it will.

    Args:
      step_id: the number of the step, an int.

    >>> from minijax.experimental import multihost_utils
    >>> multihost_utils.reached_preemption_sync_point(3)
    False
    """
    global _preemption
    if _client is None:
        return False
    if _preemption is None:
        _preemption = xla("backends").preemption_manager(_client)
    return _preemption.reached_sync_point(step_id)


def shutdown() -> None:
    """Leave the other processes; waits until all call it. Does nothing before `initialize`."""
    global _client, _service, _preemption
    client, service, _client, _service = _client, _service, None, None
    preemption, _preemption = _preemption, None
    if preemption is not None:
        preemption.shutdown()
    if sys.exit is _exit:
        sys.exit = _python_exit
    if client is not None:
        client.shutdown()
    if service is not None:
        service.shutdown()


def _exit(status=None):
    """`sys.exit` between `initialize` and `shutdown`. It notes whether the process fails, because
    Python does not pass the status to functions that are registered with `atexit`."""
    global _failing
    _failing = status not in (None, 0)
    _python_exit(status)


def _leave():
    """Shut down at the end of the process, unless an error ends it. After an error, other processes
    may be waiting for this one in the middle of their work. They learn of its end by its silence.
    """
    if _failing or hasattr(sys, "last_value"):
        for end in (_client, _service):  # their destructors, too, would wait: they shall not run
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(end))
        return
    try:
        effects_barrier()  # what is still to be printed may need what others compute
    finally:
        shutdown()


# ----------------------------------------------------------------------------------------------
# Arguments and environment


def _check_in_time():
    if is_initialized():
        raise RuntimeError("distributed.initialize should only be called once; it has been.")
    if platforms.is_started():
        raise RuntimeError(
            "jax.distributed.initialize() must be called before any JAX calls that compute or ask "
            "for devices: these have been looked up already, without those of other processes.")


def _which_process(address, count, me, use_environment):
    """The arguments that say who is who, completed from the environment, and checked."""
    address = address or os.environ.get("JAX_COORDINATOR_ADDRESS")
    if use_environment:
        count = _from_environment("JAX_NUM_PROCESSES") if count is None else count
        me = _from_environment("JAX_PROCESS_ID") if me is None else me
    for name, value in (
            ("coordinator_address", address), ("num_processes", count), ("process_id", me)):
        if value is None:
            raise ValueError(
                f"{name} is missing: pass it to distributed.initialize, or set JAX_{name.upper()}, "
                "or start the program by `python -m minijax launch`.")
        kind, words = (str, "a str") if name == "coordinator_address" else (int, "an int")
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be {words}, got {value!r} of type {type(value)}.")
    if not 0 <= me < count:
        raise ValueError(f"process_id must be in 0..{count - 1}, got {me}.")
    return address, count, me


def _from_environment(name):
    word = os.environ.get(name)
    if word is not None and not word.isdecimal():
        raise ValueError(f"The environment variable {name} must be a number, got {word!r}.")
    return None if word is None else int(word)


def _host_and_port(address):
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 2**16):
        raise ValueError(f"{address!r} is no address: it has to be of the form host:port, with a "
                         "port in 1..65535.")
    return host.strip("[]"), int(port)


def _is_loopback(host):
    """Whether only processes of this machine can reach the host."""
    return host in ("localhost", "::1") or host.startswith("127.")


def _check_free(address):
    """Complain if the first process cannot listen at an address. (XLA would crash.)"""
    import socket  # wanted only if there are several processes

    host, port = _host_and_port(address)
    try:
        socket.create_server(("" if host == "::" else host, port)).close()
    except OSError as error:
        raise RuntimeError(f"The coordinator cannot listen on {address}: {error}.") from None


def _reach(host, port, seconds):
    """Wait until the coordinator listens; returns this process's address as the coordinator sees
    it."""
    import socket

    deadline = time.monotonic() + seconds
    while True:
        try:
            left = max(deadline - time.monotonic(), 0.1)
            with socket.create_connection((host, port), timeout=left) as connection:
                return connection.getsockname()[0]
        except OSError as error:
            if time.monotonic() > deadline:
                raise RuntimeError(
                    f"No coordinator at {host}:{port} after {seconds} s ({error}). Does process 0 "
                    "run, and is this its address?") from None
            time.sleep(0.05)
