"""Chapter 14: how operands of calls, loops and branches vary between devices.

The jaxpr inside such a primitive states exactly which operands vary. The union over all operands
would say less. So an operand that varies along fewer axes than the jaxpr takes is first declared to
vary. Likewise, a tangent varies as its primal does (`vary_like`): the sum of an invariant and a
varying value varies, and its transpose contains the sum over the devices.
"""

from ...core.jit import jit_p
from ...custom_rules.jvp import custom_jvp_call_p
from ...custom_rules.solves import linear_solve_p
from ...custom_rules.vjp import custom_vjp_call_p
from ...custom_rules.vmap import custom_vmap_p
from ...lax.control_flow.cond import cond_p
from ...lax.control_flow.scan import scan_p
from ...lax.control_flow.while_loop import while_p
from ...remat import remat_p
from .varying_axes import operand_types, operands_apart

operand_types.update({
    jit_p: lambda params: params["jaxpr"].in_avals,
    remat_p: lambda params: params["jaxpr"].in_avals,
    scan_p: lambda params: params["jaxpr"].in_avals,
    while_p: lambda params: [*params["cond_jaxpr"].in_avals[:params["cond_nconsts"]],
                             *params["body_jaxpr"].in_avals],
    cond_p: lambda params: params["branches"][0].in_avals,
    custom_jvp_call_p: lambda params: params["call_jaxpr"].in_avals,
    custom_vjp_call_p: lambda params: params["call_jaxpr"].in_avals,
})
operands_apart.update([linear_solve_p, custom_vmap_p])
