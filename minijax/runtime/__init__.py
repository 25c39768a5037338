"""What drives XLA: the only folder that imports `jaxlib`."""

import functools
from typing import Any


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
