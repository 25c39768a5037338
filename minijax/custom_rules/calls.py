"""Chapter 10: `core_call` and `closed_call`, plain calls, for programs that build jaxprs with them.

No function of this library makes such an equation. Staging keeps the call; all other rules
evaluate its jaxpr in place.
"""

from __future__ import annotations

from ..core.batching import WithTrace, batch_subtrace, primitive_batchers
from ..core.core import Primitive, set_current_trace, typeof
from ..core.forward import jvpfun, primitive_jvps
from ..core.jaxpr import ClosedJaxpr, Jaxpr, convert_constvars_jaxpr, jaxpr_as_fun
from ..core.lowering import register_lowering
from ..core.partial_eval import partial_eval_rules
from ..core.staging import jaxpr_of
from ..core.transposition import backward_pass, primitive_transposes
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
        return super().bind(*args, **params)

    def get_bind_params(self, params: dict) -> dict:
        return bind_params(params, ("call_jaxpr",))


def _closed(jaxpr) -> ClosedJaxpr:
    """The jaxpr of a call, which may be open if it has no constants."""
    return ClosedJaxpr(jaxpr) if isinstance(jaxpr, Jaxpr) else jaxpr


def _fun(call_jaxpr):
    return jaxpr_as_fun(_closed(call_jaxpr))


def _partial_eval(trace, primitive, args, params):
    with set_current_trace(trace):
        return _fun(params["call_jaxpr"])(*args)


def _transpose(cts, *operands, call_jaxpr, **params):
    closed = _closed(call_jaxpr)
    return backward_pass(closed.jaxpr, closed.consts, operands, cts)


call_p, closed_call_p = CallPrimitive("core_call"), CallPrimitive("closed_call")
for _p in (call_p, closed_call_p):
    _p.def_impl(lambda *args, call_jaxpr, **params: _fun(call_jaxpr)(*args))
    _p.def_abstract_eval(lambda *avals, call_jaxpr, **params: [
        v.aval for v in call_jaxpr.outvars])
    primitive_jvps[_p] = lambda primals, tangents, *, call_jaxpr, **params: jvpfun(
        _fun(call_jaxpr), primals, tangents)
    primitive_batchers[_p] = WithTrace(
        lambda trace, args, dims, *, call_jaxpr, **params: batch_subtrace(
            _fun(call_jaxpr), trace.axis_data, dims, args))
    partial_eval_rules[_p] = _partial_eval
    primitive_transposes[_p] = _transpose
    register_lowering(_p, lambda ctx, *operands, call_jaxpr, **params: ctx.inline(
        _closed(call_jaxpr), operands))
