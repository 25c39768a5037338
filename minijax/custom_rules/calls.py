"""Chapter 10: `core_call` and `closed_call`, plain calls, for programs that build jaxprs with them.

No function of this library makes such an equation.
"""

from ..core.calls import call_rules
from ..core.core import Primitive, typeof
from ..core.jaxpr import ClosedJaxpr, Jaxpr, convert_constvars_jaxpr, jaxpr_as_fun
from ..core.lowering import register_lowering
from ..core.staging import jaxpr_of
from .common import bind_params


class CallPrimitive(Primitive):
    """A call of the function `call_jaxpr`. `bind(fun, *args)` stages a flat function first."""

    call_primitive = True

    def __init__(self, name: str):
        super().__init__(name, multiple_results=True)

    def bind(self, *args, **params):
        if "call_jaxpr" not in params:
            fun, *args = params.pop("subfuns", ()) + args
            closed = jaxpr_of(fun, [*map(typeof, args)])
            args = [*closed.consts, *args]
            params["call_jaxpr"] = ClosedJaxpr(convert_constvars_jaxpr(closed.jaxpr))
        if isinstance(params["call_jaxpr"], Jaxpr):  # an open one, without constants
            params["call_jaxpr"] = ClosedJaxpr(params["call_jaxpr"])
        return super().bind(*args, **params)

    def get_bind_params(self, params: dict) -> dict:
        return bind_params(params, ("call_jaxpr",))


call_p, closed_call_p = CallPrimitive("core_call"), CallPrimitive("closed_call")
for _p in (call_p, closed_call_p):
    _p.def_impl(lambda *args, call_jaxpr, **params: jaxpr_as_fun(call_jaxpr)(*args))
    _p.def_abstract_eval(lambda *avals, call_jaxpr, **params: call_jaxpr.out_avals)
    call_rules(_p, "call_jaxpr")
    register_lowering(_p, lambda ctx, *operands, call_jaxpr, **params:
                      ctx.inline(call_jaxpr, operands))
