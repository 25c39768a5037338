"""Fast paths for derivatives, by JVP rules that were traced.

Forward mode runs the traced rule on primals and tangents. Linearization splits it. The part that
depends on primals alone runs at once. The rest is linear in the tangents: at arrays, it is noted on
a tape (`tape.py`), and in a program that is traced, it becomes equations.
"""

from __future__ import annotations

from typing import Any

from ..core.array import Array, as_array
from ..core.core import install_methods, new_trace, state, typeof
from ..core.dtypes import float0
from ..core.extension import hooks
from ..core.forward import JVPTrace, JVPTracer, Zero, primitive_jvps
from ..core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, no_effects
from ..core.partial_eval import JaxprTrace, JaxprTracer, without_dead_code
from ..core.staging import DynamicJaxprTrace, DynamicJaxprTracer, trace_to_jaxpr
from ..core.util import merge_lists, partition_list
from ..source import source
from .programs import by_binding
from .rules import Program, TracedRules, aval_of
from .tape import Linearized, linear_source, record

# ----------------------------------------------------------------------------------------------
# Forward mode


def jvp_of(primitive, params, avals, tangent_avals) -> ClosedJaxpr:
    """The JVP rule as a jaxpr, from primals and nonzero tangents to the result and its tangent.

    If the tangent is zero, there is only one result.
    """
    rule = primitive_jvps[primitive]
    is_zero = [aval is None for aval in tangent_avals]

    def jvp(*args):
        primals, nonzeros = args[:len(avals)], args[len(avals):]
        zeros = map(Zero.from_primal_value, partition_list(is_zero, primals)[1])
        out, tangent = rule(primals, merge_lists(is_zero, nonzeros, zeros), **params)
        return [out] if type(tangent) is Zero or tangent.aval.dtype == float0 else [out, tangent]

    closed = trace_to_jaxpr(jvp, [*avals, *partition_list(is_zero, tangent_avals)[0]])
    return without_dead_code(closed)


def trace_jvp(primitive, params, avals, tangent_avals):
    return Program(jvp_of(primitive, params, avals, tangent_avals))


# ----------------------------------------------------------------------------------------------
# Linearization


def trace_linearized(primitive, params, avals, tangent_avals):
    closed = jvp_of(primitive, params, avals, tangent_avals)
    return Linearized(closed, len(avals)) if len(closed.outvars) == 2 else None


class StagedLinearized:
    """A JVP rule in two parts, for primals that are staged.

    The equations are the ones that the rule itself adds, in the same order. The known part
    adds its equations to the program that is traced, and the linear part to the linear program.

    Raises:
      NotImplementedError: the rule is not traced, because it has array constants (each application
        makes its own), or because its linear part is more than equations with one result.
    """

    __slots__ = ("known", "literals", "constants", "equations", "out")

    def __init__(self, rule, params, avals, tangent_avals):
        linear: Any = None

        def known(*primals):
            nonlocal linear
            linear = JaxprTrace(state.trace)
            with new_trace(linear):
                tangents = [Zero.from_primal_value(x) if aval is None else linear.new_arg(aval)
                            for x, aval in zip(primals, tangent_avals)]
                out, tangent = rule(primals, tangents, **params)
                if not linear.is_unknown(tangent):
                    raise NotImplementedError("This tangent does not depend on the tangents.")
                residuals = linear.builder.build([linear.atom(tangent)], copy=False)
            self._write_down(residuals.jaxpr)
            return [out, *residuals.consts]

        closed = trace_to_jaxpr(known, avals)
        atoms = [v for eqn in closed.eqns for v in eqn.invars] + closed.outvars[:1]
        if closed.consts or any(type(v) is Literal and typeof(v.val) is not v.aval for v in atoms):
            raise NotImplementedError("This rule is called as it is.")
        self.known = by_binding(closed)
        self.literals = [v if type(v) is Literal else None for v in closed.outvars[1:]]

    def _write_down(self, jaxpr: Jaxpr):
        """The linear equations, with the places of their operands in a list of atoms."""
        self.constants: list[Atom] = [v for eqn in jaxpr.eqns for v in eqn.invars
                                      if type(v) is Literal]
        atoms = [*map(id, self.constants), *map(id, jaxpr.constvars), *map(id, jaxpr.invars)]
        self.equations = []
        for eqn in jaxpr.eqns:
            if eqn.primitive.multiple_results or eqn.effects:
                raise NotImplementedError(eqn.primitive)
            operands = [atoms.index(id(v)) for v in eqn.invars]
            self.equations.append((eqn.primitive, operands, eqn.own_params, eqn.outvars[0].aval))
            atoms.append(id(eqn.outvars[0]))
        self.out = atoms.index(id(jaxpr.outvars[0]))

    def apply(self, trace: JaxprTrace, primals: list, tangents: list):
        """The result, and its tangent, which is unknown to `trace`."""
        program: Any = trace.parent
        outside, state.trace = state.trace, program
        try:
            out, *residuals = self.known(*primals)
        finally:
            state.trace = outside
        builder = trace.builder
        atoms: list[Any] = self.constants.copy()
        for x, literal in zip(residuals, self.literals):
            atoms.append(builder.constant(x if literal is None else
                                          DynamicJaxprTracer(program, literal)))
        atoms += [t.atom for t in tangents]
        info, eqns = linear_source(source.names, builder.n_outside), builder.eqns
        for primitive, places, params, aval in self.equations:
            operands, outvar = [atoms[i] for i in places], Var(aval)
            for stage_operands in hooks.stage_operands:
                operands = stage_operands(builder, primitive, operands, params)
            eqns.append(JaxprEqn(primitive, operands, [outvar], params, info, no_effects))
            atoms.append(outvar)
        return out, JaxprTracer(trace, atoms[self.out])


def trace_staged_linearized(primitive, params, avals, tangent_avals):
    return StagedLinearized(primitive_jvps[primitive], params, avals, tangent_avals)


# ----------------------------------------------------------------------------------------------
# The trace

jvp_rules = TracedRules(primitive_jvps, trace_jvp)
linearized_rules = TracedRules(primitive_jvps, trace_linearized)
staged_linearized_rules = TracedRules(primitive_jvps, trace_staged_linearized)
in_the_core = JVPTrace.process_primitive


def is_unknown(x, trace) -> bool:
    """Whether `x` is a tracer of this partial evaluation."""
    return isinstance(x, JaxprTracer) and x._trace is trace


def process_primitive(self, primitive, args, params):
    """`JVPTrace.process_primitive`, by a traced rule if there is one.

    When the parent is a partial evaluation, this is linearization: all primals are known to it, and
    all tangents are unknown.
    """
    parent = self.parent
    linearizing = type(parent) is JaxprTrace
    if parent.staging and (not linearizing or type(parent.parent) is not DynamicJaxprTrace
                           or state.axis_sizes):
        return in_the_core(self, primitive, args, params)
    primals, tangents, operands = [], [], []
    for x in args:
        if isinstance(x, JVPTracer) and x._trace is self:
            tangent, x = x.tangent, x.primal
            if linearizing and not is_unknown(tangent, parent):
                return in_the_core(self, primitive, args, params)
            tangent_aval = aval_of(tangent)
            if tangent_aval is None:  # a number or an array of NumPy's, from a custom rule
                return in_the_core(self, primitive, args, params)
            tangents.append(tangent)
        else:
            tangent_aval = None
        if type(x) is Array:
            operands += x.aval, tangent_aval
        elif linearizing and is_unknown(x, parent):
            return in_the_core(self, primitive, args, params)
        else:
            operands += aval_of(x), tangent_aval
        primals.append(x)
    if not tangents:
        return self.in_parent(parent.process_primitive, primitive, primals, params)
    rules = (jvp_rules if not linearizing else
             staged_linearized_rules if parent.staging else linearized_rules)
    rule = rules.find(primitive, params, operands)
    if rule is None:
        return in_the_core(self, primitive, args, params)
    if not linearizing:
        outs = rule.run(parent, primals + tangents)
    elif parent.staging:
        outs = rule.apply(parent, primals, tangents)
    else:
        outs = record(rule, parent, primals, tangents)
    return self.tracer_type(self, *outs) if len(outs) == 2 else outs[0]


def known_or_unknown(self, primitive, args, params):
    """`JaxprTrace.process_primitive`. While a program is staged, most equations are known."""
    for x in args:
        if isinstance(x, JaxprTracer) and x._trace is self:
            return partial_evaluation_in_the_core(self, primitive, args, params)
    outside, state.trace = state.trace, self.parent
    try:
        return self.parent.process_primitive(primitive, args, params)
    finally:
        state.trace = outside


def box(self, primal, tangent):
    """`JVPTrace.box`. Traced rules take arrays, so a Python number becomes one."""
    if type(primal) is float and not self.parent.staging:
        primal = as_array(primal)
    return box_in_the_core(self, primal, tangent)


box_in_the_core = JVPTrace.box
partial_evaluation_in_the_core = JaxprTrace.process_primitive
install_methods({"process_primitive": process_primitive, "box": box}, JVPTrace)
install_methods({"process_primitive": known_or_unknown}, JaxprTrace)
