"""What drives XLA: the only folder that imports `jaxlib`."""

import contextlib
import functools
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ..core.extension import hooks, point


@functools.cache
def xla() -> Any:
    """The adapter to jaxlib, `client.py`.

    Loading XLA takes time, so the adapter is imported when it is first needed. Programs that
    compile nothing do without it.
    """
    from . import client

    return client


@functools.cache
def xla_on_devices() -> Any:
    """What XLA does on several devices: `several_devices.py`, imported when it is first needed."""
    from . import several_devices

    return several_devices


@point
def record_event(self, event: str) -> None:
    """Called when something has happened that can be counted."""


@point
def record_duration(self, event: str, seconds: float, what: str = "") -> None:
    """Called after a step of a compilation. `what` describes it for a log."""


@point
def load_or_compile(self, compile: Any, text: str, options: Any, devices: Sequence) -> Any:
    """XLA's program for the module `text`, as `compile()` returns it."""
    return compile()


@contextlib.contextmanager
def timed(what: str, event: str) -> Iterator[None]:
    """Tell extensions how long the block took."""
    start = time.perf_counter()
    yield
    for record_duration in hooks.record_duration:
        record_duration(f"/jax/core/compile/{event}_duration", time.perf_counter() - start, what)
