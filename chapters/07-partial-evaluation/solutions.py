"""Solutions of chapter 7."""

from __future__ import annotations

from minijax.core.core import current_trace, new_trace, typeof
from minijax.core.jaxpr import Jaxpr, JaxprEqn, Literal
from minijax.core.partial_eval import (
    JaxprTrace,
    default_partial_eval,
    linearize_flat,
    partial_eval_rules,
)
from minijax.core.primitives import mul_p


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
    trace = JaxprTrace(current_trace())
    with new_trace(trace):
        outvar = trace.atom(f(x, trace.new_arg(y_aval)))
    return trace.builder.build([outvar])


def dce_jaxpr(jaxpr, used_outputs, keep_inputs=False):
    """Forwards without x * 1, then backwards with the set of what is wanted."""
    same_as, eqns = {}, []
    new = lambda v: v if isinstance(v, Literal) else same_as.get(v, v)
    for eqn in jaxpr.eqns:
        invars = [new(v) for v in eqn.invars]
        factor = other_factor(eqn, invars)
        if factor is not None:
            same_as[eqn.outvars[0]] = factor
        else:
            eqns.append(JaxprEqn(eqn.primitive, invars, eqn.outvars, eqn.params, eqn.source_info,
                                 eqn.effects))
    outvars = [new(v) for v, used in zip(jaxpr.outvars, used_outputs) if used]
    wanted, live = {*outvars}, []
    for eqn in reversed(eqns):
        if eqn.effects or not wanted.isdisjoint(eqn.outvars):
            live.append(eqn)
            wanted.update(eqn.invars)
    kept = [keep_inputs or v in wanted for v in jaxpr.invars]
    invars = [v for v, keep in zip(jaxpr.invars, kept) if keep]
    return Jaxpr(jaxpr.constvars, invars, outvars, live[::-1]), kept


def other_factor(eqn, invars):
    """The operand that stands beside a 1 in a product, if it has the type of the product."""
    if eqn.primitive is mul_p:
        for one, other in (invars, invars[::-1]):
            if isinstance(one, Literal) and one.val == 1 and other.aval == eqn.outvars[0].aval:
                return other
    return None


def process_primitive(self, primitive, args, params):
    """Computed below if everything is known, else written down, and then weighed."""
    if not any(map(self.is_unknown, args)):
        return self.in_parent(self.parent.process_primitive, primitive, args, params)
    rule = partial_eval_rules.get(primitive, default_partial_eval)
    out = self.in_parent(rule, self, primitive, args, params)
    size = sum(typeof(c).size for c in self.builder.build([]).consts)
    if size > 1000:
        raise MemoryError(f"with {primitive.name} the derivative keeps {size} numbers")
    return out


def split_size(jaxpr, known):
    """One walk, with the set of variables that are not known."""
    unknown = {v for v, is_known in zip(jaxpr.invars, known) if not is_known}
    n_known, residuals = 0, set()
    for eqn in jaxpr.eqns:
        if any(x in unknown for x in eqn.invars):
            unknown.update(eqn.outvars)
            residuals.update(x for x in eqn.invars if hasattr(x, "aval") and x not in unknown)
        else:
            n_known += 1
    return n_known, len(residuals)
