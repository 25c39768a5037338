"""Chapter 10: `optimization_barrier`, across which XLA moves and merges nothing."""

from collections.abc import Sequence
from typing import Any

from ..core.array import as_array
from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive
from ..core.forward import instantiate_zeros, primitive_jvps
from ..core.lowering import register_lowering
from ..core.transposition import primitive_transposes
from ..core.tree import tree_flatten

optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)


@public
def optimization_barrier(operand: Any, /) -> Any:
    """`operand`, computed in full before anything that uses the result (in compiled programs).

    Args:
      operand: a pytree of arrays.

    >>> optimization_barrier(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    leaves, tree = tree_flatten(operand)
    return tree.unflatten(optimization_barrier_p.bind(*leaves))


def barrier(ctx, operands: Sequence) -> list:
    """The values behind a barrier."""
    names, kinds = (", ".join(texts) for texts in zip(*[(x.name, x.type) for x in operands]))
    avals = [x.aval for x in operands]
    text = f"stablehlo.optimization_barrier {names} : {kinds}"
    return ctx.ops(text, avals) if len(avals) > 1 else [ctx.op(text, avals[0])]


optimization_barrier_p.def_impl(lambda *args: [*map(as_array, args)])
optimization_barrier_p.def_abstract_eval(lambda *avals: list(avals))
primitive_jvps[optimization_barrier_p] = lambda primals, tangents: (
    optimization_barrier_p.bind(*primals),
    optimization_barrier_p.bind(*map(instantiate_zeros, tangents)))
primitive_batchers[optimization_barrier_p] = lambda args, dims: (
    optimization_barrier_p.bind(*args), dims)
primitive_transposes[optimization_barrier_p] = lambda cts, *operands: (
    optimization_barrier_p.bind(*map(instantiate_zeros, cts)))
register_lowering(optimization_barrier_p, lambda ctx, *operands: barrier(ctx, operands))
