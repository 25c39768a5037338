"""Chapter 14: `shard_map`, a function of shards, run on each device of a mesh."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...core.boundary import api_boundary
from ...core.core import Tracer, eval_trace, state
from ...core.jaxpr import ClosedJaxpr, convert_constvars_jaxpr
from ...core.staging import trace_to_jaxpr
from ...core.tree import PyTreeDef, tree_flatten, tree_map
from ...core.util import merge_lists, partition_list
from ...pytree.arguments import argument_avals
from ...pytree.names import arg_names
from ...runtime.jit import jit
from ...settings import trace_context
from ...source import fun_sourceinfo, wraps
from ...text.debug_info import DebugInfo
from ..meshes.mesh import AbstractMesh, Mesh
from ..meshes.partition_spec import P
from ..types.varying_axes import as_summands_along, varying
from . import shard_map_lowering  # noqa: F401  (fills a table of rules)
from .shard_map_primitive import Scope, in_words_of_spec, inside, shard_map_p
from .shard_map_printing import given, show_values, take_given
from .shard_map_specs import (
    Infer,
    check_devices,
    check_in_specs,
    check_out_specs,
    check_scope,
    flat_in_specs,
    flat_out_specs,
    infer_specs,
)

# ----------------------------------------------------------------------------------------------
# The function


@api_boundary
def shard_map(f: Callable | None = None, /, *, out_specs: Any, in_specs: Any = Infer,
              mesh: Mesh | AbstractMesh | None = None, axis_names: Any = frozenset(),
              check_vma: bool = True) -> Callable:
    """Map a function over shards: each device of a mesh applies it to its own parts.

    Args:
      f: a function of pytrees of shards that returns one. It may use collectives along the axes
        of the mesh. Without it, a decorator.
      out_specs: how the shards of the results are put together: a prefix of the pytree that `f`
        returns, of `PartitionSpec`s. Along axes that a spec does not name all devices must have
        the same result, of which one is taken.
      in_specs: how arguments are cut: a prefix of the tuple of arguments. Along axes that a spec
        does not name, all devices get the same. `None` for arguments that are no arrays, and are
        handed on as they are. Without it, arrays are taken as they lie.
      mesh: the devices; by default the mesh of `set_mesh`.
      axis_names: the axes to map over, by default all; the others are left to the compiler.
      check_vma: whether types say along which axes values differ between devices: then results
        are checked to be the same where `out_specs` say so, and derivatives take fewer messages.

    Returns:
      a function of the whole arguments, with the whole results.

    Raises:
      ValueError: there is no mesh, a spec does not fit an argument, a result or the mesh, or a
        result may differ between devices along an axis that its spec does not name.
      TypeError: an entry of `in_specs` or `out_specs` is not a spec.

    >>> mesh = jax.sharding.Mesh(jax.devices()[:1], "i")
    >>> normalize = lambda x: x / jax.lax.psum(x.sum(), "i")
    >>> f = jax.shard_map(normalize, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))
    >>> f(jnp.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    if f is None:
        return functools.partial(shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh,
                                 axis_names=axis_names, check_vma=check_vma)
    return _shard_map(f, mesh, in_specs, out_specs, axis_names, check_vma)


@api_boundary
def smap(f: Callable | None = None, /, *, in_axes: Any = Infer, out_axes: Any,
         axis_name: Any) -> Callable:
    """`shard_map` over one axis of the mesh in force, with `vmap`'s words for what is cut where.

    Args:
      f: a function of pytrees of shards. Without it, a decorator.
      in_axes: an int, `None` (not cut), or a tuple of them, or of pytrees, for each argument.
      out_axes: the same for the result.
      axis_name: the axis.

    Raises:
      TypeError: several axes; entries that are no ints.
      ValueError: as `shard_map`.

    >>> with jax.set_mesh(jax.sharding.Mesh(jax.devices()[:1], "i")):
    ...     jax.smap(lambda x: 2 * x, in_axes=0, out_axes=0, axis_name="i")(jnp.arange(3)).tolist()
    [0, 2, 4]
    """
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if isinstance(axis_name, (list, tuple)):
        raise TypeError(f"smap: axis_name is the name of one axis, got {axis_name}.")
    if in_axes is not Infer and not (in_axes is None or isinstance(in_axes, (int, tuple))):
        raise TypeError(f"smap: in_axes must be an int, None or a tuple, got {in_axes!r}.")
    in_specs = Infer if in_axes is Infer else axes_to_specs("smap in_axes", in_axes, axis_name)
    out_specs = axes_to_specs("smap out_axes", out_axes, axis_name)
    return _shard_map(f, None, in_specs, out_specs, {axis_name}, True)


def axes_to_specs(what: str, axes: Any, axis_name: Any) -> Any:
    """A pytree of ints and `None`s as specs that split these dimensions over one axis."""

    def spec(axis):
        if axis is not None and not isinstance(axis, int):
            raise TypeError(f"{what} must be an int, None, or a container of them, got {axes!r}.")
        return P() if axis is None else P(*[None] * axis, axis_name)

    return tree_map(spec, axes, is_leaf=lambda x: x is None)


def _shard_map(f, mesh, in_specs, out_specs, axis_names, check_vma):
    if not callable(f):
        raise TypeError(f"shard_map: the first argument must be callable, got {f} of type "
                        f"{type(f)}.")
    cache: dict = {}

    @wraps(f)
    def bind(*args):
        axes, scope_mesh = check_scope(mesh, axis_names, in_specs, out_specs)
        scope = Scope(scope_mesh, axes - set(scope_mesh.manual_axes), check_vma)
        leaves, in_tree = tree_flatten(args)
        specs = flat_in_specs(in_specs, args)
        arrays = _Arrays([spec is not None for spec in specs], leaves, in_tree)
        known = take_given()
        names = functools.partial(arg_names, f, args, {})
        avals = argument_avals(arrays.dynamic, "shard_map", names)
        specs = tuple(spec for spec in specs if spec is not None)
        check_in_specs(f, scope, specs, avals, names)
        staged = _staged(f, arrays, avals, specs, out_specs, scope, cache, known)
        outs = shard_map_p.bind(
            *staged.consts, *arrays.dynamic, jaxpr=staged.jaxpr, out_specs=staged.out_specs,
            in_specs=(P(),) * len(staged.consts) + specs, **scope._asdict())
        return staged.out_tree.unflatten(outs)

    compiled = functools.cache(lambda: jit(bind))  # made when arrays are passed
    has_statics = None in tree_flatten(in_specs, lambda x: x is None)[0]

    @wraps(f)
    @api_boundary
    def wrapped(*args):
        if in_specs is Infer:
            specs = infer_specs(args, mesh, axis_names)
            leaves, tree = tree_flatten(specs)
            if (tree, *leaves) not in cache:
                cache[tree, *leaves] = _shard_map(f, mesh, specs, out_specs, axis_names, check_vma)
            return cache[tree, *leaves](*args)
        eager = state.trace is eval_trace and not has_statics
        if eager and isinstance(mesh, AbstractMesh):
            check_devices(mesh, args)
        if not eager:
            return bind(*args)
        with given(args):
            out = compiled()(*args)
        outs, tree = tree_flatten(out)
        return tree.unflatten(map(in_words_of_spec, outs, flat_out_specs(out_specs, out)))

    return wrapped


class _Arrays:
    """The arguments of a call, of which some are no arrays, but handed on as they are."""

    def __init__(self, is_dynamic: list[bool], leaves: list, in_tree: PyTreeDef):
        self.is_dynamic, self.in_tree = is_dynamic, in_tree
        self.static, self.dynamic = partition_list(is_dynamic, leaves)

    def call(self, f: Callable, leaves: Sequence):
        return f(*self.in_tree.unflatten(merge_lists(self.is_dynamic, self.static, leaves)))


class _Staged(NamedTuple):
    """A body as a jaxpr, whose first arguments are what the function closed over."""

    jaxpr: ClosedJaxpr
    consts: tuple
    out_specs: tuple
    out_tree: PyTreeDef


def _staged(f, arrays, avals, in_specs, out_specs, scope, cache, known) -> _Staged:
    """The body, traced; once for the same types, unless it depends on more than types."""
    key = (arrays.in_tree, tuple(avals), scope, trace_context(), *state.axis_sizes.items())
    # Under `jit`, it is traced once for the program that is being written.
    if state.trace.staging:
        return _trace(f, arrays, avals, in_specs, out_specs, scope, known)
    if key not in cache:
        found = _trace(f, arrays, avals, in_specs, out_specs, scope, known)
        if arrays.static or any(isinstance(x, Tracer) for x in found.consts):
            return found
        cache[key] = found
    return cache[key]


def _trace(f, arrays, avals, in_specs, out_specs, scope, known) -> _Staged:
    """If the arguments are `known`, a `print` in the body shows values."""
    axes = scope.in_order(scope.newly_manual_axes)

    def evaluate(jaxpr):
        leaves = partition_list(arrays.is_dynamic, tree_flatten(known)[0])[1]
        (out,) = shard_map_p.bind(*leaves, jaxpr=jaxpr, in_specs=in_specs,
                                  out_specs=(P(axes),), **scope._asdict())
        return out

    def flat_fun(*leaves):
        if known is not None:
            show_values(state.trace, axes, evaluate)
        out = arrays.call(f, leaves)
        outs, out_tree = tree_flatten(out)
        specs = tuple(flat_out_specs(out_specs, out))
        outs = [_as_spec_says(x, spec, scope) for x, spec in zip(outs, specs)]
        return outs, (out_tree, specs)

    shards = [scope.shard_aval(spec, aval) for spec, aval in zip(in_specs, avals)]
    with inside(scope):
        jaxpr, (out_tree, specs) = trace_to_jaxpr(
            flat_fun, shards, DebugInfo("shard_map", fun_sourceinfo(f)), copy_constants=False)
    check_out_specs(f, scope, specs, jaxpr.out_avals, out_tree)
    return _Staged(ClosedJaxpr(convert_constvars_jaxpr(jaxpr.jaxpr)), tuple(jaxpr.consts), specs,
                   out_tree)


def _as_spec_says(x, spec, scope):
    """A result of the body, varying where its spec splits it, and unreduced where that says so."""
    x = varying(x, spec.all_axes())
    return as_summands_along(x, spec.unreduced) if scope.check_vma else x
