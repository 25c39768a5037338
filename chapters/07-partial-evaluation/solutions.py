"""Solutions of chapter 7."""

from __future__ import annotations

from minijax.core.core import new_trace, set_current_trace, state, typeof
from minijax.core.jaxpr import Jaxpr, Literal
from minijax.core.partial_eval import (
    JaxprTrace,
    default_partial_eval,
    linearize_flat,
    partial_eval_rules,
)


def known_outputs(jaxpr, known):
    """An equation's results are known if all of its operands are."""
    unknown = {v for v, is_known in zip(jaxpr.invars, known) if not is_known}
    is_known = lambda atom: isinstance(atom, Literal) or atom not in unknown
    for eqn in jaxpr.eqns:
        if not all(map(is_known, eqn.invars)):
            unknown.update(eqn.outvars)
    return [is_known(v) for v in jaxpr.outvars]


def residual_count(f, x):
    """The constants of the linear jaxpr are its residuals."""
    _, linear, _ = linearize_flat(f, [x])
    return sum(typeof(c).size for c in linear.consts)


def specialize(f, x, y_aval):
    """One unknown argument."""
    trace = JaxprTrace(state.trace)
    with new_trace(trace):
        outvar = trace.atom(f(x, trace.new_arg(y_aval)))
    return trace.builder.build([outvar])


def dce_jaxpr(jaxpr, used_outputs, keep_inputs=False):
    """Backwards, with the set of what is wanted."""
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs) if used]
    wanted = {v for v in outvars if not isinstance(v, Literal)}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(v in wanted for v in eqn.outvars):
            eqns.insert(0, eqn)
            wanted.update(v for v in eqn.invars if not isinstance(v, Literal))
    kept = [keep_inputs or v in wanted for v in jaxpr.invars]
    invars = [v for v, keep in zip(jaxpr.invars, kept) if keep]
    return Jaxpr(jaxpr.constvars, invars, outvars, eqns, debug_info=jaxpr.debug_info), kept


def process_primitive(self, primitive, args, params):
    """Written down if anything is unknown, else computed below."""
    with set_current_trace(self.parent):
        if not any(map(self.is_unknown, args)):
            return self.parent.process_primitive(primitive, args, params)
        rule = partial_eval_rules.get(primitive, default_partial_eval)
        return rule(self, primitive, args, params)
