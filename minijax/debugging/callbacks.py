"""Chapter 15: calling Python from compiled programs.

A callback is a Python function that a program calls while it runs. XLA passes it the operands as
NumPy arrays and takes the results back. There are three primitives, which differ in what a program
may assume of the function:

    pure_callback   no effect: it may be called often, or not at all if its results are not used
    io_callback     an effect, which happens exactly once; it is not differentiated
    debug_callback  an effect, and no results: it prints or records under every transformation

Outside of compiled programs, all three just call the function.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks.arguments import are_arrays
from ..compat.optional import may_be_asked
from ..core import dtypes
from ..core.api_util import with_statics
from ..core.array import Array, as_array
from ..core.batching import batch_size, moveaxis, primitive_batchers, unmapped_aval
from ..core.boundary import api_boundary
from ..core.core import Primitive, ShapedArray, typeof
from ..core.forward import primitive_jvps
from ..core.jaxpr import Effect
from ..core.lowering import lowering_rules, register_lowering
from ..core.staging import jaxpr_of
from ..core.transposition import primitive_transposes
from ..core.tree import PyTreeDef, tree_flatten, tree_leaves
from ..core.util import merge_lists, partition_list
from ..errors import JaxRuntimeError
from ..lax import cutting, shaping
from ..lax.compile_time import eval_context
from ..lax.control_flow.common import chosen_effects
from ..lax.control_flow.cond import cond
from ..lax.control_flow.scan import scan
from ..parallel.collectives.exchanges import axis_index
from ..parallel.meshes.mesh import AxisType
from ..parallel.meshes.partition_spec import P
from ..parallel.programs.eager_operations import sees_to_places
from ..parallel.programs.shard_map_primitive import Scope, inside, shard_map_p
from ..parallel.types.stablehlo import manual_context
from ..pytree.arguments import valid_jaxtype
from ..pytree.names import leaf_names
from ..runtime import logger
from ..runtime.effect_sets import (
    control_flow_allowed_effects,
    is_ordered,
    lowerable_effects,
    ordered_effects,
    remat_allowed_effects,
    shardable_ordered_effects,
)
from ..runtime.effects import effects_barrier  # noqa: F401  (a name that programs look for here)
from .host_calls import check_sharding, checked_results, lower_callback

# ----------------------------------------------------------------------------------------------
# Effects


class IOEffect(Effect):
    """A callback that reads or changes something."""

    def __str__(self):
        return "IO"


class OrderedIOEffect(Effect):
    """The same, in the order of the program."""

    def __str__(self):
        return "OrderedIO"


class DebugEffect(Effect):
    """A callback that only shows something."""

    def __str__(self):
        return "Debug"


class OrderedDebugEffect(Effect):
    """The same, in the order of the program."""

    def __str__(self):
        return "OrderedDebug"


io_effect, ordered_io_effect = IOEffect(), OrderedIOEffect()
debug_effect, ordered_debug_effect = DebugEffect(), OrderedDebugEffect()
for _kind in (IOEffect, OrderedIOEffect, DebugEffect, OrderedDebugEffect):
    lowerable_effects.add_type(_kind)
    control_flow_allowed_effects.add_type(_kind)
for _kind in (OrderedIOEffect, OrderedDebugEffect):
    ordered_effects.add_type(_kind)
for _kind in (IOEffect, OrderedIOEffect):
    chosen_effects.add_type(_kind)
shardable_ordered_effects.add_type(OrderedIOEffect)
for _kind in (DebugEffect, OrderedDebugEffect):
    remat_allowed_effects.add_type(_kind)

# ----------------------------------------------------------------------------------------------
# Calling the function


def callback_primitive(name: str) -> Primitive:
    """A primitive that calls a Python function."""
    return Primitive(name, multiple_results=True, memoize_avals=False)


@dataclass(frozen=True)
class _FlatCallback:
    """The user's function on leaves: equal for the same function and structure of arguments."""

    callback_func: Callable
    in_tree: PyTreeDef

    def __call__(self, *leaves):
        args, kwargs = self.in_tree.unflatten(leaves)
        return tree_leaves(self.callback_func(*args, **kwargs))


def _flat_callback(callback: Callable, in_tree: PyTreeDef) -> _FlatCallback:
    """The function as a parameter of an equation, which must be hashable."""
    if callback.__hash__ is None:
        raise TypeError("a callback must be a function, or another hashable object that can be "
                        f"called; got {callback!r}.")
    return _FlatCallback(callback, in_tree)


def _reported(api: str, callback: Callable) -> Callable:
    """`callback`. What it raises is also logged, since the error of a program may come late."""
    def call(*args):
        try:
            return callback(*args)
        except Exception:
            logger("minijax.callback").exception("jax.%s failed", api)
            raise

    return call


def _strong(x) -> Array:
    """A concrete operand as an array; it comes without its weak type, as out of a program."""
    x = as_array(x)
    return Array(x._host, x.aval.strip_weak_type(), x._buffer) if x.aval.weak_type else x


def _evaluate(callback: Callable, args: Sequence, avals: Sequence[ShapedArray]) -> list[Array]:
    """Call the function now. What it raises comes as the error that a program would have."""
    try:
        with eval_context():
            values = checked_results(callback(*map(_strong, args)), avals)
    except Exception as error:
        import traceback  # not loaded for an import of minijax

        text = "".join(traceback.format_exception(error))
        raise JaxRuntimeError(f"INTERNAL: CpuCallback error calling callback: {text}") from error
    return [Array(np.array(x), aval) for x, aval in zip(values, avals)]


def _asked(sharding: Any) -> dict:
    """The parameter of an equation if a sharding was given."""
    return {} if sharding is None else {"sharding": sharding}


def _evaluation_rule(api: str) -> Callable:
    """The evaluation rule of a callback with results."""
    def evaluate(*args, callback, result_avals, sharding=None, **params):
        if sharding is not None:
            on = {d for x in args if isinstance(x, Array) for d in x.devices()}
            check_sharding(sharding, sorted(on, key=lambda d: d.id))
        return _evaluate(_reported(api, callback), args, result_avals)

    return evaluate


def _result_avals(shape_dtypes) -> tuple[tuple[ShapedArray, ...], PyTreeDef]:
    """The types that the user declared, and their structure."""
    leaves, tree = tree_flatten(shape_dtypes)
    for x in leaves:
        if dtypes.canonicalize_dtype(x.dtype) != np.dtype(x.dtype):
            raise ValueError("result_shape_dtypes cannot specify 64-bit types when "
                             "`jax_enable_x64` is disabled")
    return tuple(ShapedArray(x.shape, x.dtype) for x in leaves), tree


# ----------------------------------------------------------------------------------------------
# pure_callback

VMAP_METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all",
                "legacy_vectorized", None]

pure_callback_p = callback_primitive("pure_callback")


@api_boundary
def pure_callback(callback: Callable, result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                  vmap_method: str | None = None, **kwargs: Any) -> Any:
    """`callback(*args, **kwargs)`, a Python function that a compiled program calls while it runs.

    The function must be pure: XLA may call it more than once, or not at all if its results are not
    used. It has no derivative. To give it one, wrap it in `custom_jvp` or `custom_vjp`.

    Args:
      callback: takes arrays (whose contents are known), returns a pytree of arrays or NumPy arrays.
      result_shape_dtypes: a pytree of what has a `shape` and a `dtype`, such as `ShapeDtypeStruct`:
        the structure and the types of its result.
      *args, **kwargs: pytrees of arrays, passed on to the function.
      sharding: a sharding on one device of those that run the program. The first of them calls the
        function, with whole arrays, whichever is named.
      vmap_method: what `vmap` does. "sequential" and "sequential_unrolled" call the function for
        one example after the other. "expand_dims" and "broadcast_all" call it once, with the
        examples along a new first axis. Arguments that are the same for all examples have a first
        axis of size 1 with "expand_dims", and are repeated with "broadcast_all".

    Returns:
      a pytree of arrays.

    Raises:
      ValueError: `vmap_method` is unknown, a result has 64 bits without x64, or the callback is
        differentiated.
      NotImplementedError: `vmap` without a `vmap_method`.
      JaxRuntimeError: the function raises an exception, or returns something else than declared.

    >>> wave = lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), "float32"), x)
    >>> jax.jit(wave)(0.0)
    Array(0., dtype=float32)
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"vmap_method must be one of the allowed methods {VMAP_METHODS}, "
                         f"but got: {vmap_method}")
    leaves, in_tree = tree_flatten((args, kwargs))
    are_arrays("pure_callback", leaves, typeof, lambda: leaf_names("args", (args, kwargs)))
    avals, out_tree = _result_avals(result_shape_dtypes)
    outs = pure_callback_p.bind(*leaves, callback=_flat_callback(callback, in_tree),
                                result_avals=avals, vmap_method=vmap_method, **_asked(sharding))
    return out_tree.unflatten(outs)


def batching_rule(primitive: Primitive, params_of_batch: Callable | None = None) -> Callable:
    """The batching rule of a primitive that calls a function as its `vmap_method` says.

    Args:
      params_of_batch: `(batched, **params) -> params` for a call with all examples, if they differ.
    """
    def rule(args, dims, *, vmap_method, result_avals, **params):
        size = batch_size(args, dims)
        args = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims)]
        batched = [d is not None for d in dims]
        bind = functools.partial(primitive.bind, vmap_method=vmap_method)
        if vmap_method in ("sequential", "sequential_unrolled"):
            bind = functools.partial(bind, result_avals=result_avals, **params)
            outs = one_by_one(bind, args, dims, unroll=vmap_method == "sequential_unrolled")
            return outs, (0,) * len(outs)
        if vmap_method is None:
            raise NotImplementedError(
                f"vmap is only supported for the {primitive.name} primitive when vmap_method is "
                f"one of {', '.join(map(repr, VMAP_METHODS[:-2]))}, or {VMAP_METHODS[-2]!r}. "
                "Got vmap_method=None.")
        if vmap_method != "legacy_vectorized":
            n = size if vmap_method == "broadcast_all" else 1
            args = [x if b else shaping.broadcast(x, (n,)) for x, b in zip(args, batched)]
            batched = [True] * len(args)
        params = params_of_batch(batched, **params) if params_of_batch else params
        avals = tuple(unmapped_aval(size, 0, aval) for aval in result_avals)
        outs = bind(*args, result_avals=avals, **params)
        return outs, (0,) * len(outs)

    return rule


def one_by_one(bind, args, dims, **options):
    """A loop over the examples; what is the same for all of them is not looped over."""
    batched = [d is not None for d in dims]
    same, examples = partition_list(batched, args)
    _, outs = scan(lambda _, xs: ((), bind(*merge_lists(batched, same, xs))), (), examples,
                   **options)
    return outs


def _error(text: str) -> Callable:
    """A rule that refuses, and says why."""
    def rule(*args, **params):
        raise ValueError(text)

    return rule


may_be_asked(pure_callback_p, "sharding")
pure_callback_p.def_impl(_evaluation_rule("pure_callback"))
pure_callback_p.def_abstract_eval(lambda *avals, result_avals, **params: list(result_avals))
primitive_jvps[pure_callback_p] = _error(
    "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking "
    "gradients.")
primitive_transposes[pure_callback_p] = _error(
    "Pure callbacks do not support transpose. Please use `jax.custom_vjp` to use callbacks while "
    "taking gradients.")
primitive_batchers[pure_callback_p] = batching_rule(pure_callback_p)
register_lowering(
    pure_callback_p, lambda ctx, *operands, callback, result_avals, sharding=None, **params:
    lower_callback(ctx, _reported("pure_callback", callback), operands, result_avals, frozenset(),
                   sharding=sharding))

# ----------------------------------------------------------------------------------------------
# io_callback

io_callback_p = callback_primitive("io_callback")


@api_boundary
def io_callback(callback: Callable, result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                ordered: bool = False, **kwargs: Any) -> Any:
    """`callback(*args, **kwargs)`, a Python function with effects, called by compiled programs.

    It is called exactly as often as the program says, whether its results are read or not.

    Args:
      callback: takes arrays (whose contents are known), returns a pytree of arrays or NumPy arrays.
      result_shape_dtypes: a pytree of what has a `shape` and a `dtype`, such as `ShapeDtypeStruct`:
        the structure and the types of its result. `None` for a function that returns nothing.
      *args, **kwargs: pytrees of arrays, passed on to the function.
      sharding: a sharding on one device of those that run the program. The first of them calls the
        function, with whole arrays, whichever is named.
      ordered: whether the calls have to happen in the order of the program.

    Returns:
      a pytree of arrays.

    Raises:
      ValueError: a result has 64 bits without x64, or the callback is differentiated, or it is
        ordered and under `vmap`.
      NotImplementedError: differentiation of a function under `checkpoint` that calls it.
      JaxRuntimeError: the function raises an exception, or returns something else than declared.

    >>> from minijax.experimental import io_callback
    >>> seen = []
    >>> jax.jit(lambda x: io_callback(lambda x: seen.append(int(x)), None, x, ordered=True))(3)
    >>> seen
    [3]
    """
    leaves, in_tree = tree_flatten((args, kwargs))
    avals, out_tree = _result_avals(result_shape_dtypes)
    outs = io_callback_p.bind(*leaves, callback=_flat_callback(callback, in_tree),
                              result_avals=avals, ordered=ordered, **_asked(sharding))
    return out_tree.unflatten(outs)


def _io_effects(ordered):
    return {ordered_io_effect if ordered else io_effect}


def _io_batch(args, dims, *, ordered, **params):
    if ordered:
        raise ValueError("Cannot `vmap` ordered IO callback: the examples have no order.")
    args = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims)]
    bind = functools.partial(io_callback_p.bind, ordered=False, **params)
    outs = one_by_one(bind, args, dims)
    return outs, (0,) * len(outs)


may_be_asked(io_callback_p, "sharding")
io_callback_p.def_impl(_evaluation_rule("io_callback"))
io_callback_p.def_effectful_abstract_eval(
    lambda *avals, result_avals, ordered, **params: (list(result_avals), _io_effects(ordered)))
primitive_jvps[io_callback_p] = _error("IO callbacks do not support JVP.")
primitive_transposes[io_callback_p] = _error("IO callbacks do not support transpose.")
primitive_batchers[io_callback_p] = _io_batch
register_lowering(
    io_callback_p, lambda ctx, *operands, callback, result_avals, ordered, sharding=None:
    lower_callback(ctx, _reported("io_callback", callback), operands, result_avals,
                   _io_effects(ordered), sharding=sharding))

# ----------------------------------------------------------------------------------------------
# debug_callback

debug_callback_p = callback_primitive("debug_callback")


def unrolled_batching(primitive: Primitive) -> Callable:
    """The batching rule of a primitive without results that shows one example after the other."""
    def rule(args, dims, **params):
        for i in range(batch_size(args, dims)):
            primitive.bind(*[x if d is None else cutting.index_in_dim(x, i, d, keepdims=False)
                             for x, d in zip(args, dims)], **params)
        return [], []

    return rule


def _debug_evaluate(*args, callback, **params):
    with eval_context():
        callback(*map(as_array, args))
    return []


def define_debug_rules(primitive: Primitive, callback_of: Callable) -> None:
    """The rules of a primitive that watches: it sees primals, and is no part of what is computed.

    `callback_of(**params)` is the pair of the function to be called, and the effect.
    """
    def evaluate(*args, **params):
        return _debug_evaluate(*args, callback=callback_of(**params)[0])

    def lower(ctx, *operands, partitioned=False, **params):
        callback, effect = callback_of(partitioned=partitioned, **params)
        if _automatic_axes(ctx) and not is_ordered({effect}):
            return _lower_for_one(ctx, primitive, operands, params | {"partitioned": partitioned})
        return lower_callback(ctx, callback, operands, [], {effect}, partitioned)

    primitive.def_impl(evaluate)
    sees_to_places.add(primitive)
    primitive.def_effectful_abstract_eval(lambda *avals, **params: ([], {callback_of(**params)[1]}))
    primitive_jvps[primitive] = lambda primals, tangents, **params: (
        primitive.bind(*primals, **params), [])
    primitive_batchers[primitive] = unrolled_batching(primitive)
    primitive_transposes[primitive] = lambda cts, *operands, **params: [None] * len(operands)
    register_lowering(primitive, lower)


define_debug_rules(debug_callback_p, lambda *, callback, effect, **params: (callback, effect))


def _automatic_axes(ctx) -> frozenset:
    """In a `shard_map` over some axes of the mesh, the other axes."""
    mesh, manual_axes = manual_context(ctx)
    return frozenset(mesh.axis_names) - {*manual_axes} if mesh else frozenset()


def _lower_for_one(ctx, primitive, operands, params) -> list:
    """The call by the first device along the axes that are left to XLA, by a `shard_map` over
    them, whose arguments are whole."""
    mesh, manual_axes = manual_context(ctx)
    types = dict.fromkeys(manual_axes, AxisType.Manual)
    scope = Scope(mesh.abstract_mesh.update_axis_types(types), _automatic_axes(ctx), False)

    def show(*xs):
        first = axis_index(scope.in_order(scope.newly_manual_axes)) == 0
        cond(first, lambda: primitive.bind(*xs, **params), list)
        return []

    with inside(scope):
        jaxpr = jaxpr_of(show, [x.aval.update(placement=None) for x in operands])
    return lowering_rules[shard_map_p](
        ctx, *operands, jaxpr=jaxpr, in_specs=(P(),) * len(operands), out_specs=(),
        **scope._asdict())


def split_static_args(args: tuple, kwargs: dict) -> tuple[PyTreeDef, list, dict[int, Any]]:
    """The structure of the arguments, the leaves that are arrays, and (by position) the others."""
    leaves, in_tree = tree_flatten((args, kwargs))
    static = {i: x for i, x in enumerate(leaves) if not valid_jaxtype(x)}
    return in_tree, [x for i, x in enumerate(leaves) if i not in static], static


def with_static_args(callback: Callable, in_tree: PyTreeDef, static: dict[int, Any]) -> Callable:
    """The function of the leaves that are arrays; it returns nothing."""
    def flat_callback(*leaves):
        args, kwargs = in_tree.unflatten(leaves)
        callback(*args, **kwargs)
        return ()

    return with_statics(flat_callback, static)
