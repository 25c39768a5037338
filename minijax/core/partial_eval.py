"""Chapter 7: partial evaluation, and `linearize`.

Some values are known now, others later. `JaxprTrace` computes what depends on known values alone
(its parent does) and writes the rest down as equations. A `JaxprTracer` is an unknown value; all
else is known. The known values that the equations need, the *residuals*, are the constants of the
jaxpr that comes out.

The derivative of a function at a point is such a program: the primals are known, the tangents are
not. `linearize` is a JVP, partially evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import dtypes
from .calls import Call, rule_for_calls
from .core import Primitive, ShapedArray, Trace, Tracer, new_trace, state, typeof
from .forward import LinearizeTracer, Zero, jvp_flat
from .jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    Literal,
    Var,
    convert_constvars_jaxpr,
    eval_jaxpr,
)
from .staging import JaxprBuilder, trace_to_jaxpr, weakref_cache
from .util import merge_lists, partition_list

# ----------------------------------------------------------------------------------------------
# The trace


class JaxprTracer(Tracer):
    """A value that is unknown: a variable of the jaxpr in the making."""

    __slots__ = ("atom",)

    def __init__(self, trace: JaxprTrace, atom: Var):
        self._trace, self.atom = trace, atom

    @property
    def aval(self) -> ShapedArray:
        return self.atom.aval


class JaxprTrace(Trace):
    """Partial evaluation: the known part runs in the parent, the unknown becomes equations."""

    __slots__ = ("builder",)

    def __init__(self, parent: Trace):
        super().__init__(parent)
        self.builder = JaxprBuilder()

    def new_arg(self, aval: ShapedArray) -> JaxprTracer:
        """An unknown argument."""
        return JaxprTracer(self, self.builder.new_invar(aval))

    def is_unknown(self, x) -> bool:
        return isinstance(x, JaxprTracer) and x._trace is self

    def atom(self, x) -> Atom:
        """What stands for `x` in the equations: its variable, or a constant if it is known."""
        return x.atom if self.is_unknown(x) else self.builder.constant(x)

    def process_primitive(self, primitive, args, params):
        if any(isinstance(x, JaxprTracer) and x._trace is self for x in args):
            rule = partial_eval_rules.get(primitive, default_partial_eval)
        else:
            rule = _evaluate_known
        return self.in_parent(rule, self, primitive, args, params)


def _evaluate_known(trace, primitive, args, params):
    return trace.parent.process_primitive(primitive, args, params)


def default_partial_eval(trace: JaxprTrace, primitive: Primitive, args, params):
    """An equation, whole: all results are unknown."""
    out = trace.builder.add_eqn(primitive, [*map(trace.atom, args)], params)
    if primitive.multiple_results:
        return [JaxprTracer(trace, var) for var in out]
    return JaxprTracer(trace, out)


# The rules of primitives that contain jaxprs, of which a part may be known:
# primitive -> (trace, primitive, args, params) -> result(s), run with the trace's parent current.
partial_eval_rules: dict[Primitive, Callable] = {}


# ----------------------------------------------------------------------------------------------
# Dead code


# primitive -> (used_outputs, eqn) -> (used_inputs, new eqn or None)
dce_rules: dict[Primitive, Callable] = {}


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool],
              keep_inputs: bool | Sequence[bool] = False) -> tuple[Jaxpr, list[bool]]:
    """The jaxpr without the equations that its used outputs do not need, and that have no effects.

    Args:
      used_outputs: which results are wanted.
      keep_inputs: which arguments to keep even if nothing needs them.

    Returns:
      the new jaxpr, and for each argument whether it is still one.
    """
    kept_inputs = [keep_inputs] * len(jaxpr.invars) if isinstance(keep_inputs, bool) \
        else keep_inputs
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs) if used]
    live = {v for v in outvars if type(v) is not Literal}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in live for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            continue
        rule = dce_rules.get(eqn.primitive)
        if rule is not None:
            _, eqn = rule(used, eqn)
        if eqn is not None:
            eqns.append(eqn)
            live.update(v for v in eqn.invars if type(v) is not Literal)
    used_inputs = [v in live or keep for v, keep in zip(jaxpr.invars, kept_inputs)]
    invars = [v for v, used in zip(jaxpr.invars, used_inputs) if used]
    pruned = Jaxpr(jaxpr.constvars, invars, outvars, eqns[::-1], debug_info=jaxpr.debug_info)
    return pruned, used_inputs


@weakref_cache
def dce_closed(closed: ClosedJaxpr, used_outputs: tuple[bool, ...],
               keep_inputs: bool | tuple[bool, ...] = False) -> tuple[ClosedJaxpr, tuple]:
    """`dce_jaxpr` for a closed jaxpr. It also drops the constants that are not used."""
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used_outputs, keep_inputs)
    live = {v for eqn in jaxpr.eqns for v in eqn.invars} | {*jaxpr.outvars}
    kept = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts) if v in live]
    jaxpr = jaxpr.replace(constvars=[v for v, _ in kept])
    return ClosedJaxpr(jaxpr, [c for _, c in kept]), tuple(used_inputs)


@rule_for_calls(dce_rules)
def _dce_of_call(call: Call, used_outputs, eqn):
    """Drop what is dead inside a call, and the operands that only the dead equations needed."""
    with call.inside(eqn.params):
        jaxpr, used_inputs = dce_closed(eqn.params[call.jaxpr_param], tuple(used_outputs))
    in_sources = partition_list(used_inputs, range(len(used_inputs)))[1]
    out_sources = partition_list(used_outputs, range(len(used_outputs)))[1]
    return used_inputs, eqn.replace(
        invars=[eqn.invars[i] for i in in_sources], outvars=[eqn.outvars[i] for i in out_sources],
        params=call.params(eqn.params, jaxpr, in_sources, out_sources))


# ----------------------------------------------------------------------------------------------
# Partial evaluation of a whole jaxpr


@weakref_cache
def partial_eval_jaxpr(jaxpr: ClosedJaxpr, unknowns: tuple, instantiate: tuple,
                       forward_consts: bool = False):
    """Split a jaxpr into one of its known arguments and one that needs the unknown ones.

    Args:
      unknowns: for each argument, whether it is unknown.
      instantiate: for each result, whether it must count as unknown though it is known.

    Returns:
      `(known_jaxpr, unknown_jaxpr, out_unknowns, n_residuals, forwarded)`. The first maps the
      known arguments to the known results and `n_residuals` residuals; the second maps all
      residuals and the unknown arguments to the unknown results. `forwarded` has, for each
      argument of the second that is a residual, the place of the known argument that it is, or
      `None` if it is one of the `n_residuals`. With `forward_consts` it may also be a constant of
      the jaxpr: the places of those follow on the arguments'.
    """
    unknown_jaxpr: Any = None
    out_unknowns: list[bool] = []
    forwarded: list[int | None] = []

    def known_fun(*known_args):
        nonlocal unknown_jaxpr
        trace = JaxprTrace(state.trace)
        known = iter(known_args)
        with new_trace(trace):
            args = [trace.new_arg(aval) if unknown else next(known)
                    for aval, unknown in zip(jaxpr.in_avals, unknowns)]
            outs = eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
            out_unknowns[:] = [trace.is_unknown(out) or force
                               for out, force in zip(outs, instantiate)]
            outvars = [trace.atom(out) for out, unknown in zip(outs, out_unknowns) if unknown]
        closed, _ = dce_closed(trace.builder.build(outvars, jaxpr.debug_info, copy=False),
                               (True,) * len(outvars), True)
        sources = [*known_args, *(jaxpr.consts if forward_consts else ())]
        forwarded[:] = [_index_of(sources, x) for x in closed.consts]
        residuals = [x for x, place in zip(closed.consts, forwarded) if place is None]
        unknown_jaxpr = ClosedJaxpr(convert_constvars_jaxpr(closed.jaxpr))
        return [out for out, unknown in zip(outs, out_unknowns) if not unknown] + residuals

    known_avals = [aval for aval, unknown in zip(jaxpr.in_avals, unknowns) if not unknown]
    known_jaxpr = trace_to_jaxpr(known_fun, known_avals, jaxpr.debug_info)
    n_residuals = forwarded.count(None)
    return known_jaxpr, unknown_jaxpr, tuple(out_unknowns), n_residuals, tuple(forwarded)


def _index_of(items, x):
    """The place of the very object `x` among `items`, or `None`."""
    return next((i for i, item in enumerate(items) if item is x), None)


@rule_for_calls(partial_eval_rules)
def _partial_eval_of_call(call: Call, trace, primitive, args, params):
    """A call becomes two: the known one runs now, the unknown one is written down."""
    jaxpr = params[call.jaxpr_param]
    unknowns = tuple(map(trace.is_unknown, args))
    with call.inside(params):
        known_jaxpr, unknown_jaxpr, out_unknowns, n_residuals, forwarded = partial_eval_jaxpr(
            jaxpr, unknowns, (False,) * len(jaxpr.outvars), True)
    known_ins, unknown_ins = partition_list(unknowns, range(len(args)))
    known_outs, unknown_outs = partition_list(out_unknowns, range(len(out_unknowns)))
    known_args, results = [args[i] for i in known_ins], []
    if known_jaxpr.outvars or known_jaxpr.effects:
        results = primitive.bind(*known_args, **call.params(
            params, known_jaxpr, known_ins, [*known_outs, *[None] * n_residuals], shared=True))
    computed = iter(results[len(results) - n_residuals:])
    sources = [*known_args, *jaxpr.consts]
    residuals = [next(computed) if place is None else sources[place] for place in forwarded]
    unknown_results = []
    if unknown_outs or unknown_jaxpr.effects:
        unknown_params = call.params(params, unknown_jaxpr,
                                     [*[None] * len(residuals), *unknown_ins], unknown_outs, True)
        operands = [*residuals, *(args[i] for i in unknown_ins)]
        unknown_results = default_partial_eval(trace, primitive, operands, unknown_params)
    return merge_lists(out_unknowns, results, unknown_results)


# ----------------------------------------------------------------------------------------------
# linearize


def linearize_flat(fun: Callable, primals: Sequence):
    """Values of `fun` at `primals`, and its derivative there as a jaxpr of the tangents.

    `fun` takes arrays and returns a list of them.

    Returns:
      `(primals_out, jaxpr, out_nonzeros)`: the jaxpr's arguments are the tangents of the primals
      that have one (those of inexact type), its results those of the results that have one.
    """
    trace = JaxprTrace(state.trace)
    with new_trace(trace):
        tangents = [_unknown_tangent(trace, typeof(x).to_tangent_aval()) for x in primals]
        outs, out_tangents = jvp_flat(fun, primals, tangents, LinearizeTracer)
        if any(isinstance(x, JaxprTracer) and x._trace is trace for x in outs):
            raise ValueError(
                "Linearization could not compute all results of the function: it uses an operation "
                "whose derivative is computed together with its value, and which therefore has no "
                "reverse-mode derivative. Use `jvp` or `jacfwd`.")
        nonzeros = [type(t) is not Zero for t in out_tangents]
        outvars = [trace.atom(t) for t in out_tangents if type(t) is not Zero]
    # Under staging, the trace outside recognises a NumPy array that it has met by its identity.
    closed = trace.builder.build(outvars, copy=not trace.staging)
    closed, _ = dce_closed(closed, (True,) * len(outvars), True)
    return outs, closed, nonzeros


def _unknown_tangent(trace, aval):
    return Zero(aval) if aval.dtype == dtypes.float0 else trace.new_arg(aval)
