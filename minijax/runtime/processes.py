"""Chapter 14: the processes that compute together, and the devices of each."""

from __future__ import annotations

from ..core.boundary import public
from . import xla
from .devices import devices


@public
def local_devices(process_index: int | None = None, backend: str | None = None) -> list:
    """The devices of this process, or of another that computes with it.

    Raises:
      ValueError: there is no such process.
    """
    index = xla().backend(backend).process_index() if process_index is None else process_index
    if index not in process_indices(backend):
        raise ValueError(f"Unknown process_index {index}: there are {process_indices(backend)}.")
    return [device for device in devices(backend) if device.process_index == index]


@public
def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(local_devices(backend=backend))


@public
def process_index(backend: str | None = None) -> int:
    """The number of this process among those that compute together."""
    return xla().backend(backend).process_index()


@public
def process_count(backend: str | None = None) -> int:
    """How many processes compute together."""
    return len(process_indices(backend))


@public
def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes that compute together."""
    return sorted({device.process_index for device in devices(backend)})
