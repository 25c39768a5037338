"""Chapter 14: `jax.experimental.shard_map`, where `shard_map` was when it was new."""

from collections.abc import Callable
from typing import Any

from ..parallel.programs import shard_map as _new


def shard_map(f: Callable, mesh: Any, in_specs: Any, out_specs: Any,
              check_rep: bool = True) -> Callable:
    """Use `jax.shard_map`: this is the same, and `check_rep` is its `check_vma`.

    >>> from minijax.experimental.shard_map import shard_map
    >>> mesh = jax.sharding.Mesh(jax.devices()[:1], "i")
    >>> shard_map(lambda x: x + 1, mesh, jax.P("i"), jax.P("i"))(jnp.arange(2)).tolist()
    [1, 2]
    """
    return _new.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)
