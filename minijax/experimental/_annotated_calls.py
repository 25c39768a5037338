"""Calls of a function that say something to the compiler, by frontend attributes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..checks.arguments import arg_names
from ..core.calls import call_rules
from ..core.core import Primitive
from ..core.lowering import register_lowering
from ..core.tree import PyTreeDef, tree_flatten
from ..lax.attributes import attribute_text
from ..lax.control_flow.common import stage, traced_constants_apart
from ..pytree.arguments import argument_avals
from ..runtime.dispatch import apply_primitive


class AnnotatedCall(Primitive):
    """A primitive that calls a jaxpr. Tracers among the jaxpr's constants become operands."""

    def bind(self, *args, jaxpr, **params):
        jaxpr, consts = traced_constants_apart(jaxpr)
        return super().bind(*consts, *args, jaxpr=jaxpr, **params)


def annotated_call(name: str, attributes: Callable[..., dict[str, str]],
                   by_operand: Callable[..., dict] = lambda *sources: {}) -> Primitive:
    """A primitive that calls a jaxpr; `attributes(jaxpr, **params)` are for the compiler."""
    primitive = AnnotatedCall(name, multiple_results=True, memoize_avals=False)

    def lower(ctx, *operands, jaxpr, **params):
        said = attribute_text(attributes(jaxpr, **params))
        outs = ctx.call(jaxpr, operands, name)
        if ctx.lines and "func.call @" in ctx.lines[-1]:  # else it was written in place
            ctx.lines[-1] = ctx.lines[-1].replace(
                ") : (", f") {{mhlo.frontend_attributes = {said}}} : (", 1)
        return outs

    primitive.def_impl(partial(apply_primitive, primitive))
    primitive.def_abstract_eval(lambda *avals, jaxpr, **params: jaxpr.out_avals)
    call_rules(primitive, "jaxpr", by_operand)
    register_lowering(primitive, lower)
    return primitive


def call(primitive: Primitive, fun: Callable, args: tuple, kwargs: dict, what: str,
         params: Callable[[PyTreeDef], dict[str, Any]]) -> Any:
    """Trace `fun`, and bind the primitive; `params(tree)` are for results of this structure."""
    function = (lambda args, kwargs: fun(*args, **kwargs)) if kwargs else fun
    arguments = (args, kwargs) if kwargs else args
    leaves, in_tree = tree_flatten(arguments)
    avals = argument_avals(leaves, what, lambda: arg_names(fun, args, kwargs))
    jaxpr, consts, out_tree = stage(function, in_tree, avals, what)
    outs = primitive.bind(*consts, *leaves, jaxpr=jaxpr, **params(out_tree))
    return out_tree.unflatten(outs)
