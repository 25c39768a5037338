"""Chapter 14: XLA's own profiler. It records what the host and the devices do, for TensorBoard,
XProf and Perfetto.

Loaded when it is first asked for, because it needs `jaxlib`.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxlib import _profile_data, _profiler

from ..source import wraps
from ..text.locations import user_stacklevel
from . import xla

ProfileData = _profile_data.ProfileData
ProfileEvent = _profile_data.ProfileEvent
ProfilePlane = _profile_data.ProfilePlane


class ProfileOptions(_profiler.ProfileOptions):
    """What a trace records: `host_tracer_level`, `python_tracer_level` and other attributes."""


class TraceAnnotation(_profiler.TraceMe):
    """A context that appears in traces by its name, with its keyword arguments.

    >>> with jax.profiler.TraceAnnotation("load", file=3):
    ...     pass
    """


class StepTraceAnnotation(TraceAnnotation):
    """A context that is a step of a loop: profilers show the time of each `step_num`."""

    def __init__(self, name: str, **kwargs):
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: Callable, name: str | None = None, **decorator_kwargs) -> Callable:
    """`func`, whose calls appear in traces by `name`, by default its own."""
    name = name or getattr(func, "__qualname__", None) or func.__name__

    @wraps(func)
    def annotated(*args, **kwargs):
        with TraceAnnotation(name, **decorator_kwargs):
            return func(*args, **kwargs)
    return annotated


# ----------------------------------------------------------------------------------------------
# Traces


class _Running:
    """The trace that is being recorded, and the server that waits for requests."""

    lock = threading.RLock()
    session: Any = None
    log_dir = ""
    for_perfetto = False
    server: Any = None


def start_trace(log_dir: os.PathLike | str, create_perfetto_link: bool = False,
                create_perfetto_trace: bool = False,
                profiler_options: ProfileOptions | None = None) -> None:
    """Begin to record, for `stop_trace` to write below `log_dir`.

    Args:
      log_dir: a directory, the one to give to TensorBoard.
      create_perfetto_trace: whether `stop_trace` also writes `perfetto_trace.json.gz`.
      create_perfetto_link: must be false. JAX serves the trace to a web page; here, open the file
        that `create_perfetto_trace` writes.
      profiler_options: what to record.

    Raises:
      RuntimeError: a trace is being recorded already.
    """
    if create_perfetto_link:
        raise NotImplementedError("create_perfetto_link: pass create_perfetto_trace=True, and open "
                                  "the file at https://ui.perfetto.dev.")
    with _Running.lock:
        if _Running.session is not None:
            raise RuntimeError("Profile has already been started. Only one profile may be run at a "
                               "time: call stop_trace() first.")
        xla().backend(None)  # the profiler records the devices that exist
        options = () if profiler_options is None else (profiler_options,)
        _Running.session = _profiler.ProfilerSession(*options)
        _Running.log_dir, _Running.for_perfetto = os.fspath(log_dir), create_perfetto_trace


def stop_trace() -> None:
    """Write the trace that `start_trace` began.

    Raises:
      RuntimeError: no trace is being recorded.
    """
    with _Running.lock:
        if _Running.session is None:
            raise RuntimeError("No profile started: call start_trace(log_dir) first.")
        session, _Running.session = _Running.session, None
        session.stop_and_export(_Running.log_dir)
        if _Running.for_perfetto:
            _write_perfetto(Path(_Running.log_dir))


def _write_perfetto(log_dir: Path) -> None:
    """A copy of the newest trace without the fields that Perfetto does not read."""
    newest = max(log_dir.glob("plugins/profile/*/*.trace.json.gz"), key=os.path.getmtime)
    with gzip.open(newest) as file:
        trace = json.load(file)
    with gzip.open(newest.with_name("perfetto_trace.json.gz"), "wt") as file:
        json.dump({key: trace[key] for key in ("displayTimeUnit", "metadata", "traceEvents")
                   if key in trace}, file)


@contextlib.contextmanager
def trace(log_dir: os.PathLike | str, create_perfetto_link: bool = False,
          create_perfetto_trace: bool = False,
          profiler_options: ProfileOptions | None = None) -> Iterator[None]:
    """A context that is recorded; arguments and errors as for `start_trace`."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Listen at `port` for requests to record, as TensorBoard's "capture profile" sends them.

    XLA's server listens on all addresses of the machine, not only on the loopback address, and it
    trusts whoever connects. So let a firewall close the port to other machines. (A warning says
    so.)

    Raises:
      ValueError: a server is running already.
    """
    if _Running.server is not None:
        raise ValueError("Only one profiler server can be active at a time: call stop_server().")
    if requires_backend:
        xla().backend(None)
    warnings.warn(f"The profiler's server listens on port {port} of all addresses of this machine, "
                  "and trusts whoever connects: close the port to other machines.", RuntimeWarning,
                  stacklevel=user_stacklevel())
    _Running.server = _profiler.start_server(port)
    return _Running.server


def stop_server() -> None:
    """End the server.

    Raises:
      ValueError: none is running.
    """
    if _Running.server is None:
        raise ValueError("No active profiler server: call start_server(port) first.")
    _Running.server = None


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Let traces of this process include those of a subprocess, whose server is at `port`."""
    return _profiler.register_subprocess(pid, port)


# ----------------------------------------------------------------------------------------------
# Memory


def device_memory_profile(backend: str | None = None) -> bytes:
    """A profile of the devices' memory, in the compressed format of `pprof`."""
    return gzip.compress(xla().backend(backend).heap_profile())


def save_device_memory_profile(filename: os.PathLike | str, backend: str | None = None) -> None:
    """Write `device_memory_profile()` to a file."""
    Path(filename).write_bytes(device_memory_profile(backend))


def get_profiled_instructions_proto(tensorboard_dir: str) -> bytes:
    """What a profile says of instructions, for XLA."""
    return _profiler.get_profiled_instructions_proto(tensorboard_dir)
