"""A fast path for `vmap`, by batching rules that were traced."""

from __future__ import annotations

from ..core.batching import BatchTrace, BatchTracer, WithTrace, mapped_aval, primitive_batchers
from ..core.core import install_methods
from ..core.staging import trace_to_jaxpr
from ..source import user_location
from .rules import Program, TracedRules, aval_of


def trace_batching_rule(primitive, params, avals, dims):
    """The batching rule; the batch dimension of its result; and the type of one example of that."""
    rule = primitive_batchers[primitive]
    if type(rule) is WithTrace:
        return None
    out_dim = None

    def batched(*args):
        nonlocal out_dim
        out, out_dim = rule(args, dims, **params)
        return [out]

    closed = trace_to_jaxpr(batched, avals)
    (aval,) = closed.out_avals
    return Program(closed), out_dim, mapped_aval(aval.shape[out_dim], out_dim, aval)


batching_rules = TracedRules(primitive_batchers, trace_batching_rule)
in_the_core = BatchTrace.process_primitive


def process_primitive(self, primitive, args, params):
    """`BatchTrace.process_primitive`, by a traced rule if there is one."""
    if self.staging:
        return in_the_core(self, primitive, args, params)
    tag, values, operands, batched = self.tag, [], [], False
    for x in args:
        dim = None
        if type(x) is BatchTracer and x._trace.tag is tag:
            dim, x, batched = x.batch_dim, x.val, True
        values.append(x)
        operands += aval_of(x), dim
    if not batched and type(primitive_batchers.get(primitive)) is not WithTrace:
        return self.in_parent(self.parent.process_primitive, primitive, values, params)
    found = batching_rules.find(primitive, params, operands)
    if found is None:
        return in_the_core(self, primitive, args, params)
    rule, dim, aval = found
    tracer = object.__new__(BatchTracer)  # its `__init__` would compute the type
    (tracer.val,) = rule.run(self.parent, values)
    tracer._trace, tracer.batch_dim, tracer.aval = self, dim, aval
    tracer._birthplace = user_location()
    return tracer


install_methods({"process_primitive": process_primitive}, BatchTrace)
