"""Chapter 10: `closure_convert`, which turns closed-over values into arguments."""

from collections.abc import Callable
from typing import Any

from ..core import dtypes
from ..core.api_util import flatten_fun_nokwargs
from ..core.batching import BatchTracer
from ..core.boundary import api_boundary
from ..core.core import Tracer, typeof
from ..core.forward import JVPTracer
from ..core.jaxpr import eval_jaxpr
from ..core.staging import jaxpr_of
from ..core.tree import tree_flatten
from ..core.util import merge_lists, partition_list, split_list
from ..source import fun_sourceinfo
from ..text.debug_info import DebugInfo


@api_boundary
def closure_convert(fun: Callable, *example_args) -> tuple[Callable, list[Any]]:
    """`fun` as a function that takes the values it closed over as further arguments.

    A custom derivative covers a function's arguments only. If one of them is itself a function,
    the arrays in its closure are not covered. With this function they become arguments.

    Args:
      fun: a pure function of pytrees of arrays that returns one.
      *example_args: arguments of the types for which it is converted.

    Returns:
      a function that takes `fun`'s arguments and then those values that may be differentiated; and
      the list of these values.

    Raises (when the function is called):
      TypeError: arguments of another structure than that of the examples.

    >>> converted, hoisted = closure_convert(lambda x: 2 * x, 1.0)
    >>> converted(3.0, *hoisted), hoisted
    (Array(6., dtype=float32, weak_type=True), [])
    """
    leaves, in_tree = tree_flatten(example_args)
    flat_fun, out_tree = flatten_fun_nokwargs(fun, in_tree)
    debug_info = DebugInfo("closure_convert", fun_sourceinfo(fun))
    closed = jaxpr_of(flat_fun, [typeof(x) for x in leaves], debug_info)
    hoist = [*map(_maybe_perturbed, closed.consts)]
    kept, hoisted = partition_list(hoist, closed.consts)

    def converted_fun(*args):
        given, hoisted_now = split_list(args, [len(args) - len(hoisted)])
        leaves, tree = tree_flatten(tuple(given))
        if tree != in_tree:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree "
                "structure as the example arguments passed when closure_convert was called. "
                f"Expected {in_tree}, but got {tree}")
        consts = merge_lists(hoist, kept, hoisted_now)
        return out_tree().unflatten(eval_jaxpr(closed.jaxpr, consts, *leaves))

    return converted_fun, hoisted


def _maybe_perturbed(x) -> bool:
    """Whether `x` may have a tangent, now or (under staging) later."""
    if isinstance(x, BatchTracer):
        return _maybe_perturbed(x.val)
    if isinstance(x, JVPTracer):
        return True
    return isinstance(x, Tracer) and dtypes.issubdtype(x.aval.dtype, dtypes.np.inexact)
