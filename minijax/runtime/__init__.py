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
