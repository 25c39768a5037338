"""Chapter 10: `closure_convert`, which turns closed-over values into arguments, and
`linear_call`, a linear function with a transpose of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core import dtypes
from ..core.api_util import flatten_fun_nokwargs
from ..core.batching import BatchTracer
from ..core.boundary import api_boundary
from ..core.core import Primitive, Tracer, typeof
from ..core.forward import JVPTracer, Zero, instantiate_zeros, primitive_jvps
from ..core.jaxpr import ClosedJaxpr, convert_constvars_jaxpr, eval_jaxpr, jaxpr_as_fun
from ..core.lowering import register_lowering
from ..core.staging import jaxpr_of
from ..core.transposition import is_undefined_primal, primitive_transposes
from ..core.tree import tree_flatten
from ..core.util import merge_lists, partition_list, split_list
from ..pytree.functions import treedef_tuple
from ..source import DebugInfo, fun_sourceinfo

# ----------------------------------------------------------------------------------------------
# closure_convert


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


# ----------------------------------------------------------------------------------------------
# linear_call
#
#   callee           the function, a jaxpr of: closed-over values, residuals, linear arguments
#   transpose_thunk  () -> the same for its transpose, and the values that one closed over
#   num_callee_consts, num_res   how many of the operands are closed-over values, and residuals

linear_call_p = Primitive("linear_call", multiple_results=True)


@api_boundary
def linear_call(fun: Callable, fun_transpose: Callable, residual_args: Any,
                linear_args: Any) -> Any:
    """`fun(residual_args, linear_args)`, where transposition uses `fun_transpose`.

    Args:
      fun: linear in its second argument.
      fun_transpose: takes the residuals and a cotangent like `fun`'s result; returns a cotangent
        like `linear_args`.
      residual_args, linear_args: pytrees of arrays.

    Raises (when it is transposed):
      TypeError: the transpose's result does not have the structure of `linear_args`.

    >>> halve = lambda x: linear_call(lambda r, x: x / r, lambda r, ct: ct / r, 2.0, x)
    >>> jax.linear_transpose(halve, 1.0)(3.0)
    (Array(1.5, dtype=float32, weak_type=True),)
    """
    residuals, res_tree = tree_flatten(residual_args)
    linear, lin_tree = tree_flatten(linear_args)
    res_avals, lin_avals = ([typeof(x) for x in xs] for xs in (residuals, linear))
    flat_fun, out_tree = flatten_fun_nokwargs(fun, treedef_tuple((res_tree, lin_tree)))
    callee, consts = _closed(flat_fun, res_avals + lin_avals)

    @functools.cache
    def transpose_thunk():
        tree = treedef_tuple((res_tree, out_tree()))
        flat_transpose, ct_tree = flatten_fun_nokwargs(fun_transpose, tree)
        transpose, consts = _closed(flat_transpose, res_avals + callee.out_avals)
        if ct_tree() != lin_tree:
            raise TypeError(
                "transpose output pytree structure must match that of linear inputs, got output "
                f"structure {ct_tree()} and input structure {lin_tree}.")
        return transpose, consts

    outs = linear_call_p.bind(*consts, *residuals, *linear, callee=callee,
                              transpose_thunk=transpose_thunk, num_callee_consts=len(consts),
                              num_res=len(residuals))
    return out_tree().unflatten(outs)


def _closed(flat_fun, in_avals):
    """A function as a jaxpr without constants, and the values it closed over."""
    jaxpr = jaxpr_of(flat_fun, in_avals)
    return ClosedJaxpr(convert_constvars_jaxpr(jaxpr.jaxpr)), jaxpr.consts


@linear_call_p.def_impl
def _evaluate(*args, callee, **params):
    return jaxpr_as_fun(callee)(*args)


linear_call_p.def_abstract_eval(lambda *avals, callee, **params: callee.out_avals)


def _jvp(primals, tangents, *, callee, num_callee_consts, num_res, **params):
    """It is linear: the tangents go the same way. Residuals cannot have any."""
    n = num_callee_consts + num_res
    if any(type(t) is not Zero for t in tangents[:n]):
        raise NotImplementedError("linear_call is not differentiable in its residual_args, nor in "
                                  "what its function closed over")
    bind = functools.partial(linear_call_p.bind, callee=callee, num_res=num_res,
                             num_callee_consts=num_callee_consts, **params)
    return bind(*primals), bind(*primals[:n], *map(instantiate_zeros, tangents[n:]))


def _transpose(cts, *operands, callee, transpose_thunk, num_callee_consts, num_res):
    """The call of the transpose, whose own transpose is the function."""
    transpose, consts = transpose_thunk()
    callee_consts, residuals, _ = split_list(operands, [num_callee_consts, num_res])
    if any(map(is_undefined_primal, callee_consts + residuals)):
        raise NotImplementedError("linear_call is not linear in its residual_args")
    outs = linear_call_p.bind(
        *consts, *residuals, *map(instantiate_zeros, cts), callee=transpose,
        transpose_thunk=lambda: (callee, callee_consts), num_callee_consts=len(consts),
        num_res=num_res)
    return [None] * (num_callee_consts + num_res) + outs


primitive_jvps[linear_call_p] = _jvp
primitive_transposes[linear_call_p] = _transpose
register_lowering(linear_call_p, lambda ctx, *operands, callee, **params:
                  ctx.inline(callee, operands))
