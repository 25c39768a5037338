"""`jax.experimental.buffer_callback`: calling Python with the memory of operands and results.

It is `pure_callback` without copies: the function writes the results in place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.batching import primitive_batchers
from ..core.boundary import api_boundary
from ..core.core import Primitive, ShapedArray, typeof
from ..core.effects import Effect, control_flow_allowed_effects, lowerable_effects
from ..core.forward import primitive_jvps
from ..core.lowering import register_lowering
from ..core.transposition import primitive_transposes
from ..core.tree import tree_flatten
from ..debugging.callbacks import batching_rule
from ..foreign import checked_aliases, ffi_lowering
from ..parallel.modules import add_host_callback, devices_of_module
from ..runtime import load
from ..runtime.dispatch import apply_primitive


def __getattr__(name: str) -> Any:
    """Jaxlib's own classes of what a function is given, which are loaded when they are wanted."""
    if name not in ("Buffer", "ExecutionContext", "ExecutionStage"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(load("minijax.runtime.foreign"), name)


class BufferCallbackEffect(Effect):
    """A function that does more than write its results."""

    def __str__(self):
        return "BufferCallback"


_effect = BufferCallbackEffect()
lowerable_effects.add_type(BufferCallbackEffect)
control_flow_allowed_effects.add_type(BufferCallbackEffect)

buffer_callback_p = Primitive("buffer_callback", multiple_results=True, memoize_avals=False)


def buffer_callback(callback: Callable[..., None], result_shape_dtypes: Any, *,
                    has_side_effect: bool = False, vmap_method: str | None = None,
                    input_output_aliases: dict[int, int] | None = None,
                    command_buffer_compatible: bool = False) -> Callable[..., Any]:
    """A function of arrays that calls a Python function, which writes the results in place.

    Args:
      callback: takes a context, a pytree like the result and the arguments. The leaves are
        buffers, which `np.asarray` views without a copy. It returns nothing.
      result_shape_dtypes: a pytree of what has a `shape` and a `dtype`: the types of the results.
      has_side_effect: whether it is called even if its results are not read.
      vmap_method: what `vmap` does, as for `pure_callback`.
      input_output_aliases: numbers of arguments, and of the results that may take their memory.
      command_buffer_compatible: for GPUs. A CPU has no command buffers.

    Returns:
      `(*args, **kwargs)`, pytrees of arrays -> a pytree of arrays.

    Raises (when it is called):
      ValueError: an alias of another type, or the call is differentiated.
      NotImplementedError: `vmap` without a `vmap_method`, or on several devices.
      JaxRuntimeError: the function raises an exception, or returns something.

    >>> from minijax.experimental.buffer_callback import buffer_callback
    >>> def add_one(ctx, out, x):
    ...     np.asarray(out)[...] = np.asarray(x) + 1
    >>> buffer_callback(add_one, jax.ShapeDtypeStruct((2,), "float32"))(jnp.zeros(2))
    Array([1., 1.], dtype=float32)
    """
    leaves, out_tree = tree_flatten(result_shape_dtypes)
    result_avals = tuple(ShapedArray(tuple(x.shape), np.dtype(x.dtype)) for x in leaves)

    @api_boundary
    def call(*args, **kwargs):
        flat_args, in_tree = tree_flatten((args, kwargs))
        aliases = checked_aliases(
            input_output_aliases or {}, [*map(typeof, flat_args)], result_avals)
        outs = buffer_callback_p.bind(
            *flat_args, callback=callback, result_avals=result_avals, in_tree=in_tree,
            out_tree=out_tree, vmap_method=vmap_method, has_side_effect=has_side_effect,
            input_output_aliases=aliases, command_buffer_compatible=command_buffer_compatible)
        return out_tree.unflatten(outs)

    return call


@buffer_callback_p.def_effectful_abstract_eval
def _types(*avals, result_avals, has_side_effect, **params):
    return [*result_avals], {_effect} if has_side_effect else set()


def _refuse(transformation: str, wrapper: str) -> Callable:
    def rule(*args, **params):
        raise ValueError(f"Buffer callbacks do not support {transformation}. Please use "
                         f"`jax.{wrapper}` to use callbacks while taking gradients.")

    return rule


buffer_callback_p.def_impl(partial(apply_primitive, buffer_callback_p))
primitive_jvps[buffer_callback_p] = _refuse("JVP", "custom_jvp")
primitive_transposes[buffer_callback_p] = _refuse("transpose", "custom_vjp")
primitive_batchers[buffer_callback_p] = batching_rule(buffer_callback_p)


def _lower(ctx, *operands, callback, in_tree, out_tree, has_side_effect, input_output_aliases,
           **params):
    if devices_of_module(ctx):
        raise NotImplementedError("buffer_callback runs on one device. Call it within `shard_map`, "
                                  "or use `pure_callback`.")
    n = in_tree.num_leaves

    def on_buffers(context, *buffers):
        args, kwargs = in_tree.unflatten(buffers[:n])
        out = out_tree.unflatten(buffers[n:])
        if callback(context, out, *args, **kwargs) is not None:
            raise ValueError("buffer_callback callback must not return any values.")
        return ()

    rule = ffi_lowering("xla_buffer_python_cpu_callback", has_side_effect=has_side_effect,
                        operand_output_aliases=dict(input_output_aliases))
    return rule(ctx, *operands, index=np.uint64(add_host_callback(ctx, on_buffers)))


register_lowering(buffer_callback_p, _lower)
