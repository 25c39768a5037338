"""Chapter 10: how is a derivative linearized in one step?

    linearize_jaxpr : (a → b)  →  (a → b, residuals), (residuals, T a ⊸ T b)

Chapter 7 linearizes a call in two steps: the JVP of its jaxpr is traced, and then partial
evaluation splits what was traced. Here the jaxpr is interpreted once. Its JVP runs on a
`JaxprTrace`, so the rule of each equation adds the known part to one jaxpr and the linear part to
another.

A primitive has such a rule in `primitive_linearizations`. The rules of other primitives are
derived from their JVP rules, as in chapter 7. A tangent that depends on no tangent is zero under
linearization. Only the rule of a `custom_jvp` function can make one.

In JAX: `linearize_jaxpr` and `primitive_linearizations` in `jax/_src/interpreters/ad.py`.
"""

from collections.abc import Callable, Sequence
from functools import partial

from ..checks.partial_eval import known_primals
from ..core.calls import JaxprCall, calls, with_zero_tangents
from ..core.core import Primitive, RuleTable, new_trace, set_current_trace, state, typeof
from ..core.extension import Extension, register
from ..core.forward import LinearizeTracer, Zero, jvpfun
from ..core.jaxpr import ClosedJaxpr, Jaxpr, Literal, convert_constvars_jaxpr, jaxpr_as_fun
from ..core.jit import jit_p
from ..core.partial_eval import (
    JaxprTrace,
    SplitJaxpr,
    default_partial_eval,
    new_residuals,
    without_dead_code,
)
from ..core.staging import DynamicJaxprTracer, trace_to_jaxpr, unchecked_constants, weakref_cache
from ..core.util import merge_lists, partition_list
from ..settings import State, add_traced, bool_state

use_direct_linearize = bool_state(
    "jax_use_direct_linearize",
    "Whether linearization interprets a jaxpr once; when off, it is the partial evaluation of a "
    "JVP.", True)
# Whether the jaxpr that is traced now is the JVP of a body that is being linearized.
linear_body = State("", False, bool, "Whether a loop's body is being linearized.", True)
add_traced(use_direct_linearize, linear_body)

# primitive -> (trace, primals, tangents, params) -> (primals out, tangents out), where the
# nonzero tangents are unknown to the `JaxprTrace`. It is current.
primitive_linearizations: dict[Primitive, Callable] = RuleTable()


def is_linearizing(primals: Sequence, tangents: Sequence) -> bool:
    """Whether a JVP rule with these operands is called for a linearization."""
    trace = state.trace
    return (use_direct_linearize.value and isinstance(trace, JaxprTrace)
            and not any(map(trace.is_unknown, primals))
            and all(type(t) is Zero or trace.is_unknown(t) for t in tangents))


def only_linear(trace: JaxprTrace, primals: Sequence, tangents: Sequence) -> list:
    """The tangents, with a `Zero` for each one that depends on no tangent."""
    return [t if type(t) is Zero or trace.is_unknown(t) else Zero.from_primal_value(x)
            for x, t in zip(primals, tangents)]


# ----------------------------------------------------------------------------------------------
# Derived rules


# Primitives that call jaxprs, by name -> whether a tangent inside these that depends on no tangent
# is zero. JAX has a rule for the linearization of such primitives. Others trust their jaxprs.
_LINEAR_INSIDE = {"scan": True, "cond": True, "while": False, "remat2": False, "shard_map": True}


def _derived(linear_inside: bool, jvp: Callable, trace: JaxprTrace, primals, tangents, params):
    """The linearization by the JVP rule and the rule for partial evaluation."""
    with linear_body(linear_inside):
        outs, out_tangents = jvp(primals, tangents, **params)
    return outs, only_linear(trace, outs, out_tangents)


class Linearizations(Extension):
    """The JVP of a call is linearized as a whole."""

    def rule_of_call(self, kind, primitive, rule, /, *args, **params):
        if kind != "jvp" or not is_linearizing(*args):
            return rule(*args, **params)
        if primitive in primitive_linearizations:
            return primitive_linearizations[primitive](state.trace, *args, params)
        linear_inside = _LINEAR_INSIDE.get(primitive.name)
        if linear_inside is None:
            return rule(*args, **params)
        return _derived(linear_inside, rule, state.trace, *args, params)


register(Linearizations())


def linear_part(jvp: Callable, tangents: Sequence, nonzeros: Sequence[bool]):
    """`jvp(tangents)`, two lists of results and their tangents, with a `Zero` for each tangent that
    depends on no nonzero one. It is for bodies that are being traced: see `linear_body`."""
    trace = JaxprTrace(state.trace)
    with new_trace(trace), linear_body(False):
        inputs = [trace.new_arg(typeof(t)) if nonzero else t
                  for t, nonzero in zip(tangents, nonzeros)]
        outs, out_tangents = jvp(inputs)
        out_tangents = only_linear(trace, outs, out_tangents)
        is_linear = [type(t) is not Zero for t in out_tangents]
        zeros, linear = partition_list(is_linear, out_tangents)
        jaxpr = trace.builder.build([*map(trace.atom, linear)], copy=False)
    with unchecked_constants(without_dead_code):  # a residual that only dead code reads
        results = jaxpr_as_fun(jaxpr)(*partition_list(nonzeros, tangents)[1])
    return outs, merge_lists(is_linear, zeros, results)


# ----------------------------------------------------------------------------------------------
# Calls


@weakref_cache
def linearize_jaxpr(jaxpr: ClosedJaxpr, nonzeros: tuple) -> SplitJaxpr:
    """The linearization of a jaxpr. `nonzeros` says which arguments have a tangent.

    The known part maps the primals to the results and to the new residuals; the unknown part maps
    the residuals and the nonzero tangents to the nonzero tangents of the results, which the
    `out_unknowns` are. A residual may also be a primal, a constant or a result.
    """
    def known_fun(*primals):
        trace = JaxprTrace(state.trace)
        with new_trace(trace):
            tangents = [trace.new_arg(aval.to_tangent_aval()) if nonzero else
                        Zero(aval.to_tangent_aval())
                        for aval, nonzero in zip(jaxpr.in_avals, nonzeros)]
            outs, out_tangents = jvpfun(jaxpr_as_fun(jaxpr), primals, tangents, LinearizeTracer)
            known_primals(map(trace.is_unknown, outs))
            out_tangents = only_linear(trace, outs, out_tangents)
            nonzeros_out = tuple(type(t) is not Zero for t in out_tangents)
            atoms = [*map(trace.atom, partition_list(nonzeros_out, out_tangents)[1])]
            closed = with_literals(trace.builder.build(atoms, jaxpr.debug_info, copy=False))
        closed = without_dead_code(closed)
        linear = ClosedJaxpr(convert_constvars_jaxpr(closed.jaxpr))
        new, places = new_residuals(closed.consts, [*primals, *jaxpr.consts, *outs])
        return outs + new, (linear, nonzeros_out, places)

    known, static = trace_to_jaxpr(known_fun, jaxpr.in_avals, jaxpr.debug_info)
    return SplitJaxpr(without_dead_code(known), *static)


def with_literals(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr, with literals in place of the constants that are literals of the outer trace."""
    literals: dict = {v: x.atom for v, x in zip(closed.constvars, closed.consts)
                      if type(x) is DynamicJaxprTracer and type(x.atom) is Literal}
    if not literals:
        return closed

    def replaced(atoms):
        return [v if type(v) is Literal else literals.get(v, v) for v in atoms]

    kept = [(v, x) for v, x in zip(closed.constvars, closed.consts) if v not in literals]
    eqns = [eqn if literals.keys().isdisjoint(
        v for v in eqn.invars if type(v) is not Literal) else eqn.replace(
            invars=replaced(eqn.invars)) for eqn in closed.eqns]
    jaxpr = Jaxpr([v for v, _ in kept], closed.invars, replaced(closed.outvars), eqns,
                  debug_info=closed.debug_info)
    return ClosedJaxpr(jaxpr, [x for _, x in kept])


def linearize_call(call: JaxprCall, trace: JaxprTrace, primals, tangents, params):
    """The known part is a call now, and the linear part is a call that is written down."""
    nonzeros, jaxpr = tuple(type(t) is not Zero for t in tangents), params[call.jaxpr_param]
    with call.inside(params):
        split = linearize_jaxpr(jaxpr, nonzeros)
    n, linear, nonzeros_out = len(primals), split.unknown, split.out_unknowns
    n_outs = len(nonzeros_out)
    # The parameters have entries for the operands and results of the call's JVP.
    with_tangents = [*range(n), *partition_list(nonzeros, range(n))[1]]
    outs_with_tangents = [*range(n_outs), *partition_list(nonzeros_out, range(n_outs))[1]]
    params = call.params(params, jaxpr, with_tangents, outs_with_tangents)
    with set_current_trace(trace.parent):  # type: ignore[arg-type]
        results = call.primitive.bind(*primals, **call.params(
            params, split.known, range(n), [*range(n_outs), *[None] * split.sources.count(None)],
            shared=True))
    outs = results[:n_outs]
    residuals = split.residuals(results, [*primals, *jaxpr.consts, *outs])
    operands = [*residuals, *partition_list(nonzeros, tangents)[1]]
    in_sources = [*[None] * len(residuals), *range(n, len(with_tangents))]
    linear_params = call.params(params, linear, in_sources,
                                range(n_outs, len(outs_with_tangents)), shared=True)
    out_tangents: list = []
    if linear.outvars or linear.effects:
        out_tangents = default_partial_eval(trace, call.primitive, operands, linear_params)
    return with_zero_tangents([*outs, *out_tangents], nonzeros_out)


primitive_linearizations[jit_p] = partial(linearize_call, calls[jit_p])
