"""`jax.experimental.shard_alike`: two arrays that devices hold alike."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from ..core.batching import broadcast, moveaxis, primitive_batchers
from ..core.core import Primitive, typeof
from ..core.forward import Zero, deflinear_jvp
from ..core.lowering import register_lowering
from ..core.transposition import primitive_transposes
from ..core.tree import tree_flatten
from ..parallel.modules import devices_of_module
from ..runtime.dispatch import apply_primitive

_group_numbers = itertools.count()


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """The same two pytrees; the compiler shards each pair of leaves alike.

    Args:
      x, y: pytrees of arrays, of the same structure and shapes.

    Raises:
      ValueError: other structures or shapes.

    >>> from minijax.experimental.shard_alike import shard_alike
    >>> x, y = jax.jit(shard_alike)(jnp.zeros(2), jnp.ones(2))
    >>> x.sharding == y.sharding
    True
    """
    (xs, x_tree), (ys, y_tree) = tree_flatten(x), tree_flatten(y)
    if x_tree != y_tree:
        raise ValueError(f"Trees should be equal. Got x_tree: {x_tree}, y_tree: {y_tree}")
    for one, other in zip(xs, ys):
        if typeof(one).shape != typeof(other).shape:
            raise ValueError("The leaves shapes of `x` and `y` should match. Got `x` leaf shape: "
                             f"{typeof(one).shape} and `y` leaf shape: {typeof(other).shape}.")
    outs = [shard_alike_p.bind(one, other) for one, other in zip(xs, ys)]
    return x_tree.unflatten([a for a, _ in outs]), y_tree.unflatten([b for _, b in outs])


shard_alike_p = Primitive("shard_alike", multiple_results=True)
shard_alike_p.def_impl(partial(apply_primitive, shard_alike_p))
shard_alike_p.def_abstract_eval(lambda x, y: [x, y])


def _transpose(cts, *operands):
    x_ct, y_ct = cts
    return [x_ct, y_ct] if Zero in (type(x_ct), type(y_ct)) else shard_alike_p.bind(x_ct, y_ct)


def _batch(args, dims):
    (x, y), (x_dim, y_dim) = args, dims
    if x_dim is None:
        x, x_dim = broadcast(x, y.shape[y_dim], y_dim), y_dim
    elif y_dim is None:
        y = broadcast(y, x.shape[x_dim], x_dim)
    else:
        y = moveaxis(y, y_dim, x_dim)
    return shard_alike_p.bind(x, y), (x_dim, x_dim)


def _lower(ctx, x, y):
    if devices_of_module(ctx):
        number = next(_group_numbers)
        for value in (x, y):
            ctx.ops(f"sdy.sharding_group {value.name} group_id = {number} : {value.type}", [])
    return [x, y]


deflinear_jvp(shard_alike_p)
primitive_transposes[shard_alike_p] = _transpose
primitive_batchers[shard_alike_p] = _batch
register_lowering(shard_alike_p, _lower)
