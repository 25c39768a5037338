"""Chapter 6: the devices there are, and getting values from them.

Programs run on the first device. Putting arrays on others is the subject of chapter 14.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks.array import alive
from ..core import dtypes
from ..core.array import Array
from ..core.boundary import public
from ..core.core import Tracer, install_methods
from ..core.tree import tree_leaves, tree_map
from . import xla


@public
def devices(backend: str | None = None) -> list:
    """All devices of a platform.

    Args:
      backend: the platform, as `"cpu"`; by default the first of `jax_platforms`.

    Raises:
      RuntimeError: there is no such platform here.

    >>> devices()[0]
    CpuDevice(id=0)
    """
    return list(xla().devices(backend))


@public
def device_count(backend: str | None = None) -> int:
    """How many devices there are."""
    return len(devices(backend))


@public
def copy_to_host_async(x: Any) -> Any:
    """Begin to copy the arrays of a pytree to the host, where they are already; returns it."""
    return x


@public
def default_backend() -> str:
    """The name of the platform that programs run on.

    >>> default_backend()
    'cpu'
    """
    return xla().backend().platform


@public
def device_get(x: Any) -> Any:
    """A pytree of arrays as NumPy arrays, waiting until they are computed; random keys stay keys,
    and traced values stay traced.

    >>> device_get(jnp.arange(3))
    array([0, 1, 2], dtype=int32)
    """
    def get(leaf):
        if not isinstance(leaf, Array) or isinstance(leaf, Tracer):
            return leaf
        return leaf if isinstance(leaf.dtype, dtypes.ExtendedDType) else np.asarray(leaf)

    return tree_map(get, x)


@public
def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a pytree are computed; returns it."""
    pending = []
    for leaf in tree_leaves(x):
        if type(leaf) is Array:
            if leaf._host is None:
                alive(leaf)
                pending.append(leaf._buffer)
        elif hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    if pending:
        xla().wait(*pending)
    return x


def _device(x: Array):
    """The device that holds the array; for contents in NumPy, the one they would go to."""
    alive(x)
    return xla().default_device() if x._buffer is None else x._buffer._sharding.device


def _devices(x: Array) -> set:
    """The devices that hold the array."""
    return {_device(x)}


install_methods({"device": property(_device), "devices": _devices}, Array)
# Where an operator has no meaning, Python's message names the class: programs look for JAX's name.
install_methods({"__name__": "ArrayImpl"}, Array)
