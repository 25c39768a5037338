"""A fast path for tracing: an equation with one result is added in one function."""

from __future__ import annotations

from ..core.core import Primitive, install_methods
from ..core.extension import hooks
from ..core.jaxpr import JaxprEqn, Var
from ..core.staging import DynamicJaxprTrace, DynamicJaxprTracer, staging_rules
from ..source import SourceInfo, source, user_location

in_the_core = DynamicJaxprTrace.process_primitive


def process_primitive(self, primitive: Primitive, args, params):
    """`DynamicJaxprTrace.process_primitive`, written out for primitives with one result."""
    if primitive.multiple_results or primitive in staging_rules:
        return in_the_core(self, primitive, args, params)
    location = user_location()
    invars = [x.atom if type(x) is DynamicJaxprTracer and x._trace is self else self.atom(x)
              for x in args]
    for stage_operands in hooks.stage_operands:
        invars = stage_operands(self.builder, primitive, invars, params)
    outvar = Var(primitive.out_aval(tuple([v.aval for v in invars]), params))
    info = SourceInfo(location, source.names)
    self.builder.eqns.append(JaxprEqn(primitive, invars, [outvar], params, info))
    return DynamicJaxprTracer(self, outvar, location)


install_methods({"process_primitive": process_primitive}, DynamicJaxprTrace)
