"""Chapter 14: `pmap`, the first way in JAX to use many devices, said in terms of the newer ones.

    pmap(f)  =  jit(shard_map(f, mesh of as many devices as there are examples))

where each device's shard has size 1 along the mapped dimension: it is taken out before `f`, and put
back behind it. `vmap` maps over examples on one device, `pmap` puts each on a device of its own.
"""

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ...checks.arguments import check_callable
from ...core.api_util import ensure_index_tuple, flatten_axes, with_statics
from ...core.boundary import api_boundary
from ...core.core import eval_trace, state, typeof
from ...core.jit import JitFunction
from ...core.tree import tree_flatten, tree_leaves, tree_map
from ...lax.shaping import expand_dims, squeeze
from ...pytree.arguments import rebase_donate_argnums
from ...pytree.differences import prefix_errors
from ...pytree.functions import broadcast_prefix
from ...pytree.names import arg_names
from ...runtime.devices import devices as all_devices
from ...runtime.jit import jit
from ...runtime.processes import local_devices, process_count
from ...settings import cache_of
from ...source import wraps
from ..meshes.mesh import Mesh
from ..meshes.sharding import IndivisibleError, NamedSharding
from .global_arrays import make_array_from_process_local_data, part_of_this_process
from .placed_array import PlacedArray
from .shard_map import axes_to_specs, shard_map


@api_boundary
def pmap(fun: Callable, axis_name: Hashable | None = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: Any = (), devices: Sequence | None = None,
         backend: str | None = None, axis_size: int | None = None,
         donate_argnums: Any = ()) -> Callable:
    """Run a function on many devices at once, each with its own example. (Newer: `shard_map`.)

    Args:
      fun: takes and returns pytrees of arrays.
      axis_name: a name for the axis, for collectives between the devices.
      in_axes: which dimension of each argument counts the examples, as for `vmap`, but counted
        from the front. With `None`, all devices get the whole argument.
      out_axes: which dimension of the results counts the examples. With `None`, the result is that
        of the first device.
      static_broadcasted_argnums: positions of arguments that are part of the program.
      devices: the devices to use; by default the first there are.
      backend: a platform, to use its devices.
      axis_size: how many examples there are, if that is to be checked.
      donate_argnums: positions of arguments whose memory may be used for the results.

    In several processes, each calls the result with the examples for its own devices, and gets
    theirs back. But traced, for a derivative or in a `jit`, it uses one process's devices alone.

    Returns:
      a function like `fun` whose arguments and results have a dimension more. Its method `lower`
      shows the program.

    Raises:
      ValueError: no argument is mapped, there are more examples than devices, the arguments have
        different numbers of examples, or a static argument is missing or cannot be hashed.
      TypeError: an axis is not an int.

    >>> jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.array([2.0])).tolist()
    [1.0]
    """
    check_callable(fun)
    for what, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(type(axis) is not int for axis in tree_leaves(axes)):
            raise TypeError(f"pmap: {what} must be an int, None, or a container of them, got "
                            f"{axes!r}.")
    if devices is not None and not len(devices):
        raise ValueError("pmap: `devices` is empty. Leave it out to use the first devices.")
    static = ensure_index_tuple(static_broadcasted_argnums)
    rebase_donate_argnums(ensure_index_tuple(donate_argnums), static)  # checks
    name = "_internal_pmap_axis_name" if axis_name is None else axis_name

    def _fun(*args, **kwargs):
        if not set(static).issubset(range(len(args))):
            raise ValueError(
                f"pmapped function has static_broadcasted_argnums={static} but was called with "
                f"only {len(args)} positional argument{'s' * (len(args) != 1)}. All static "
                "broadcasted arguments must be passed positionally.")
        call = _Call(fun, args, kwargs, in_axes, static)
        mesh = Mesh(_devices(devices, backend, call.size(axis_size)), (name,))
        call.check(len(mesh.devices))
        mapped = shard_map(
            functools.partial(call.on_one_device, out_axes), mesh=mesh, check_vma=False,
            in_specs=axes_to_specs("pmap: in_axes", tuple(call.axes), name),
            out_specs=axes_to_specs("pmap: out_axes", out_axes, name))
        return mapped(*call.leaves)

    jitted = jit(_fun, static_argnums=static, donate_argnums=donate_argnums)
    axes, axes_tree = tree_flatten((in_axes, out_axes))
    _share_caches(jitted, fun, (
        name, *axes, axes_tree, static, ensure_index_tuple(donate_argnums), backend, axis_size,
        devices if devices is None else tuple(devices)))

    @api_boundary
    @wraps(fun)
    def wrapped(*args, **kwargs):
        if process_count(backend) > 1 and devices is None and state.trace is eval_trace:
            call = _Call(fun, args, kwargs, in_axes, static)
            return call.in_all_processes(jitted, Mesh(all_devices(backend), (name,)))
        return jitted(*args, **kwargs)

    wrapped.lower = jitted.lower  # type: ignore[attr-defined]
    return wrapped


def _share_caches(jitted: JitFunction, fun: Callable, key: tuple) -> None:
    """Let `jitted` find what earlier `pmap`s of `fun` with this key have traced and compiled."""
    for name in ("_traces", "_entries"):  # the fast path has the second
        if hasattr(jitted, name):
            setattr(jitted, name, cache_of(fun, ("pmap", name, *key)))


class _Call:
    """The arguments of a call: leaves, each with the dimension that is mapped, or `None`."""

    def __init__(self, fun, args, kwargs, in_axes, static):
        self.fun, self.static, self.num_args = fun, {i: args[i] for i in static}, len(args)
        self.args, self.kwargs = args, kwargs
        dynamic = tuple(x for i, x in enumerate(args) if i not in static)
        if static and isinstance(in_axes, tuple):
            in_axes = tuple(axis for i, axis in enumerate(in_axes) if i not in static)
        self.leaves, self.tree = tree_flatten((dynamic, kwargs))
        self.axes = flatten_axes("pmap in_axes", self.tree, (in_axes, 0), kws=True)

    def size(self, wanted: int | None) -> int:
        """The number of examples: what the first argument that is mapped says."""
        for x, axis in zip(self.leaves, self.axes):
            shape = typeof(x).shape
            if axis is None or not shape:
                continue
            if axis >= len(shape):
                raise IndexError(f"pmap: an argument of shape {shape} has no dimension {axis}.")
            if wanted not in (None, shape[axis]):
                raise ValueError(f"pmap: axis_size={wanted}, but there are {shape[axis]} examples, "
                                 f"along dimension {axis} of an argument of shape {shape}.")
            return shape[axis]
        raise ValueError("pmap requires at least one argument with a mapped axis: an array with "
                         "a dimension that counts the examples.")

    def check(self, n: int) -> None:
        """Raise unless all arguments have `n` examples, one for each device."""
        for i, (x, axis) in enumerate(zip(self.leaves, self.axes)):
            shape = typeof(x).shape
            if axis is not None and shape[axis:axis + 1] != (n,):
                name = arg_names(self.fun, self.args, self.kwargs, tuple(self.static))[i]
                raise IndivisibleError(
                    f"pmap: the argument {name}, of shape {shape}, is to be mapped along dimension "
                    f"{axis} over {n} devices, one example each. (`vmap` in it takes several; on a "
                    "CPU, jax.config.update('jax_num_cpu_devices', n) makes n devices of it.)")

    def with_leaves(self, leaves) -> tuple[tuple, dict]:
        """Arguments like these, with other leaves."""
        dynamic, kwargs = self.tree.unflatten(leaves)
        return with_statics(lambda *args, **kwargs: (args, kwargs), self.static)(*dynamic, **kwargs)

    def in_all_processes(self, jitted, mesh):
        """Call, in each of several processes with its own examples, what takes all of them."""
        specs = axes_to_specs("pmap: in_axes", tuple(self.axes), *mesh.axis_names)
        args, kwargs = self.with_leaves([
            make_array_from_process_local_data(NamedSharding(mesh, spec), x)
            if axis is not None or type(x) is PlacedArray else x
            for x, axis, spec in zip(self.leaves, self.axes, specs)])
        return tree_map(part_of_this_process, jitted(*args, **kwargs))

    def on_one_device(self, out_axes, *leaves):
        """The function of one example, between shards."""
        leaves = [x if axis is None else squeeze(x, (axis,)) for x, axis in zip(leaves, self.axes)]
        args, kwargs = self.with_leaves(leaves)
        out = self.fun(*args, **kwargs)
        outs, tree = tree_flatten(out)
        is_none = lambda x: x is None
        try:
            axes = broadcast_prefix(out_axes, out, is_leaf=is_none)
        except ValueError:
            error, *_ = prefix_errors(out_axes, out, is_leaf=is_none)
            raise error("pmap out_axes") from None
        return tree.unflatten([x if axis is None else expand_dims(x, (axis,))
                               for x, axis in zip(outs, axes)])


def _devices(given, backend, n) -> list:
    """The devices for so many examples, if there are enough: those of this process, or of all."""
    if given is None:
        mine = local_devices(backend=backend)
        given = mine if n <= len(mine) else all_devices(backend)
    return list(given)[:n]
