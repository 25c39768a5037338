"""Chapter 14: which values differ between devices, in programs within programs and in derivatives.

The equations of a loop, a branch or a call say for themselves what varies; the jaxprs inside know
it better than the union of the operands. What goes in has to be of the types that a jaxpr takes,
where less varies it is declared to vary. And a tangent varies as its primal does: a sum of an
invariant and a varying value varies, and so the sum over devices is due when it is transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.core import Primitive, ShapedArray
from ..core.jaxpr import Atom
from ..core.jit import jit_p
from ..core.primitives import shaping
from ..core.staging import JaxprBuilder
from ..custom_rules.closures import linear_call_p
from ..custom_rules.jvp import custom_jvp_call_p
from ..custom_rules.solves import linear_solve_p
from ..custom_rules.vjp import custom_vjp_call_p
from ..custom_rules.vmap import custom_vmap_p
from ..lax.composites import composite_p
from ..lax.control_flow.cond import cond_p
from ..lax.control_flow.scan import scan_p
from ..lax.control_flow.while_loop import while_p
from ..remat import remat_p
from .vma import in_scope_order, pvary_p, varying

# primitive -> from its parameters to the types that its jaxprs want of the operands: of the last
# ones, if not of all.
operand_types: dict[Primitive, Callable[[dict], Sequence[ShapedArray]]] = {
    jit_p: lambda params: params["jaxpr"].in_avals,
    remat_p: lambda params: params["jaxpr"].in_avals,
    scan_p: lambda params: params["jaxpr"].in_avals,
    while_p: lambda params: [*params["cond_jaxpr"].in_avals[:params["cond_nconsts"]],
                             *params["body_jaxpr"].in_avals],
    cond_p: lambda params: params["branches"][0].in_avals,
    custom_jvp_call_p: lambda params: params["call_jaxpr"].in_avals,
    custom_vjp_call_p: lambda params: params["call_jaxpr"].in_avals,
}

for _primitive in (*operand_types, linear_call_p, linear_solve_p, custom_vmap_p, composite_p):
    _primitive.joins_vma = False

_vary_alike = JaxprBuilder.vary


def _vary_as_wanted(builder: JaxprBuilder, primitive: Primitive, invars: list[Atom],
                    params: dict) -> list[Atom]:
    types = operand_types.get(primitive)
    if types is None:
        return _vary_alike(builder, primitive, invars, params)
    wanted = types(params)
    first = len(invars) - len(wanted)
    return invars[:first] + [_vary(builder, v, aval) for v, aval in zip(invars[first:], wanted)]


def _vary(builder, v, aval):
    axes = in_scope_order(aval.vma - v.aval.vma)
    return builder.add_eqn(pvary_p, [v], {"axes": axes}) if axes else v


JaxprBuilder.vary = _vary_as_wanted  # type: ignore[method-assign,assignment]
shaping.vary_like = lambda x, aval: varying(x, aval.vma)
