"""`jax.experimental.multihost_utils`: what programs in several processes say to each other.

All of these are collective: every process has to call them, in the same order.
"""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..core.api_util import flatten_axes
from ..core.array import Array
from ..core.tree import tree_flatten, tree_map
from ..parallel.meshes.mesh import Mesh
from ..parallel.meshes.partition_spec import PartitionSpec as P
from ..parallel.meshes.sharding import NamedSharding
from ..parallel.programs.device_put import device_put
from ..parallel.programs.global_arrays import (
    make_array_from_process_local_data,
    part_of_this_process,
)
from ..runtime.devices import devices
from ..runtime.distributed import reached_preemption_sync_point as reached_preemption_sync_point
from ..runtime.jit import jit
from ..runtime.processes import process_count, process_index

# ----------------------------------------------------------------------------------------------
# Values of each process for all processes


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values that all processes have, in NumPy.

        process 0   process 1        both
          [1 2]       [3 4]     →    [[1 2] [3 4]], or [1 2 3 4] if `tiled`

    Args:
      in_tree: a pytree of arrays and numbers, of the same shapes in each process.
      tiled: whether the values are concatenated along their first axis, instead of stacked along a
        new one. Of an array that is spread over the processes, the result is all of it; that needs
        `tiled=True`.

    Raises:
      ValueError: an array that is spread over the processes, and not `tiled`.

    >>> from minijax.experimental import multihost_utils
    >>> multihost_utils.process_allgather(np.arange(3))
    array([[0, 1, 2]])
    """
    return tree_map(lambda x: _gather(x, tiled), in_tree)


def _gather(x, tiled):
    if _is_spread(x):
        if not tiled:
            raise ValueError("process_allgather of an array that is spread over the processes: it "
                             "has no values of each process to stack. Use tiled=True.")
        return _fetch(_identity, x)
    x = np.asarray(x)
    if process_count() == 1:
        return x if tiled else x[None]
    return _fetch(_identity, _of_each_process(x if tiled and x.ndim else x[None]))


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of one process in all of them, in NumPy.

    Args:
      in_tree: a pytree of arrays and numbers, of the same shapes in each process.
      is_source: whether this is the one process; by default that is the first.

    >>> from minijax.experimental import multihost_utils
    >>> multihost_utils.broadcast_one_to_all({"seed": 3})
    {'seed': array(3)}
    """
    if process_count() == 1:
        return tree_map(np.asarray, in_tree)
    mine = process_index() == 0 if is_source is None else is_source

    def broadcast(x):
        x = np.asarray(x)
        return _fetch(_sum_of_rows, _of_each_process((x if mine else np.zeros_like(x))[None]))

    return tree_map(broadcast, in_tree)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values.

    Raises:
      AssertionError: they have not.
    """
    tree = tree_map(lambda x: np.asarray(x.addressable_data(0) if _is_spread(x) else x), in_tree)
    leaves, gathered = tree_flatten(tree)[0], tree_flatten(process_allgather(tree))[0]
    if not all(np.array_equal(np.stack([x] * len(xs)), xs) for x, xs in zip(leaves, gathered)):
        raise AssertionError(f"{fail_message}. This process has {in_tree}, all have {gathered}.")


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come to here.

    Raises:
      AssertionError: another is where it gives another `name`.

    >>> from minijax.experimental import multihost_utils
    >>> multihost_utils.sync_global_devices("checkpoint written")
    """
    assert_equal(np.uint32(zlib.crc32(name.encode())),
                 f"sync_global_devices: the processes wait in different places, this in {name!r}")


# ----------------------------------------------------------------------------------------------
# Arrays of a process as parts of arrays of all


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays that are spread over all processes, of the parts that each process has.

    Args:
      local_inputs: a pytree of arrays: this process's part of each.
      global_mesh: the devices of each process have to form a block in it.
      pspecs: how to spread them, a `PartitionSpec` or a prefix tree of such.

    Returns:
      the pytree of global arrays. Along a dimension that is split over the processes, it is as long
      as their parts together.

    Raises:
      ValueError: a spec is `None`.

    >>> from minijax.experimental import multihost_utils
    >>> mesh = jax.sharding.Mesh(jax.devices()[:1], "x")
    >>> multihost_utils.host_local_array_to_global_array(np.arange(4), mesh, jax.P("x"))
    Array([0, 1, 2, 3], dtype=int32)
    """
    def convert(x, spec):
        if _is_spread(x):
            return x
        return make_array_from_process_local_data(NamedSharding(global_mesh, spec), x)

    return _map_with_specs(convert, local_inputs, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The parts that this process has of arrays that are spread over all processes.

    Args:
      global_inputs: a pytree of global arrays.
      global_mesh: the devices of each process have to form a block in it.
      pspecs: how to spread the arrays before, a `PartitionSpec` or a prefix tree of such.

    Returns:
      the pytree of the parts, each on the devices of this process.

    Raises:
      ValueError: a spec is `None`.

    >>> from minijax.experimental import multihost_utils
    >>> mesh = jax.sharding.Mesh(jax.devices()[:1], "x")
    >>> multihost_utils.global_array_to_host_local_array(jnp.arange(4), mesh, jax.P("x"))
    Array([0, 1, 2, 3], dtype=int32)
    """
    def convert(x, spec):
        if not isinstance(x, Array):
            return device_put(x, NamedSharding(global_mesh.local_mesh, spec))
        if not _is_spread(x):
            return x
        sharding = NamedSharding(global_mesh, spec)
        return part_of_this_process(jit(_identity, out_shardings=sharding)(x))

    return _map_with_specs(convert, global_inputs, pspecs)


def _map_with_specs(convert: Callable, inputs, pspecs):
    leaves, tree = tree_flatten(inputs)
    specs = flatten_axes("pspecs", tree, pspecs)
    if None in specs:
        raise ValueError("pspecs: None is no spec. PartitionSpec() says that all devices have all.")
    return tree.unflatten([*map(convert, leaves, specs)])


# ----------------------------------------------------------------------------------------------
# Global arrays, whose parts lie in several processes


def _is_spread(x) -> bool:
    """Whether other processes have parts of an array."""
    return isinstance(x, Array) and not x.is_fully_addressable  # type: ignore[attr-defined]


def _of_each_process(x):
    """A global array whose parts along the first axis are the values of the processes."""
    mesh = Mesh(np.array(devices()).reshape(process_count(), -1), ("processes", "devices"))
    return host_local_array_to_global_array(x, mesh, P("processes"))


def _fetch(fun, x) -> np.ndarray:
    """What a function makes of a global array, in every process."""
    everywhere = NamedSharding(Mesh(np.array(x.sharding._device_assignment), "all"), P())
    return np.asarray(jit(fun, out_shardings=everywhere)(x).addressable_data(0))


def _identity(x):  # these two are no lambdas within, lest each call compile them anew
    return x


def _sum_of_rows(x):
    return jnp.sum(x, axis=0, dtype=x.dtype)
