"""Chapter 7: how is a program run when only some of its arguments are known?

    partial_eval_jaxpr : (a, b → c, d) → (a → c, residuals), (residuals, b → d)
    linearize_flat     : (a → b) → a → (b, jaxpr of T a ⊸ T b)

Here `a` is known now, and `b` will be known later. `JaxprTrace` computes the operations on known
values now, in its parent trace. It writes the other operations down as equations. A `JaxprTracer`
is an unknown value; every other value is known. The *residuals* are the known values that the
equations need. They are the constants of the jaxpr that partial evaluation makes.

The derivative of a function at a point is such a program: the primals are known, and the tangents
are not. So linearization is the partial evaluation of a JVP.

In JAX: `jax/_src/interpreters/partial_eval.py`, and `linearize_jaxpr` in `interpreters/ad.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from ..checks import partial_eval as checks
from ..source import source
from . import dtypes
from .calls import JaxprCall, around, rule_for_calls
from .core import Primitive, RuleTable, ShapedArray, Trace, Tracer, new_trace, state, typeof
from .forward import LinearizeTracer, Zero, jvpfun
from .jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Var,
    convert_constvars_jaxpr,
    eval_jaxpr,
    live_equations,
)
from .staging import JaxprBuilder, trace_to_jaxpr, weakref_cache
from .util import merge_lists, partition_list

# ----------------------------------------------------------------------------------------------
# The trace.


class JaxprTracer(Tracer):
    """An unknown value: a variable of the jaxpr in the making."""

    __slots__ = ("atom",)

    def __init__(self, trace: JaxprTrace, atom: Var):
        self._trace, self.atom = trace, atom

    aval = property(attrgetter("atom.aval"))


class JaxprTrace(Trace):
    """Partial evaluation: the known part runs in the parent, the unknown part becomes equations."""

    __slots__ = ("builder",)

    def __init__(self, parent: Trace):
        super().__init__(parent)
        self.builder = JaxprBuilder(len(source.names))

    def new_arg(self, aval: ShapedArray) -> JaxprTracer:
        """An unknown argument."""
        return JaxprTracer(self, self.builder.new_invar(aval))

    def is_unknown(self, x) -> bool:
        return isinstance(x, JaxprTracer) and x._trace is self

    def atom(self, x) -> Atom:
        """The variable of an unknown `x`, or a constant if `x` is known."""
        return x.atom if self.is_unknown(x) else self.builder.constant(x)

    def process_primitive(self, primitive, args, params):
        if any(map(self.is_unknown, args)):
            rule = partial_eval_rules.get(primitive, default_partial_eval)
            return self.in_parent(rule, self, primitive, args, params)
        return self.in_parent(self.parent.process_primitive, primitive, args, params)


def default_partial_eval(trace: JaxprTrace, primitive: Primitive, args, params):
    """Write down the whole operation as one equation. All its results are unknown."""
    out = trace.builder.add_eqn(primitive, [*map(trace.atom, args)], params)
    if primitive.multiple_results:
        return [JaxprTracer(trace, var) for var in out]
    return JaxprTracer(trace, out)


# The rules of primitives that contain jaxprs, because a part of those may be known:
# primitive -> (trace, primitive, args, params) -> result(s). They run with the parent current.
partial_eval_rules: dict[Primitive, Callable] = RuleTable()


# ----------------------------------------------------------------------------------------------
# Dead code.


# primitive -> (used_outputs, eqn) -> (used_inputs, new eqn or None)
dce_rules: dict[Primitive, Callable] = RuleTable()


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool],
              keep_inputs: bool | Sequence[bool] = False) -> tuple[Jaxpr, list[bool]]:
    """The jaxpr without dead code: equations without effects that no used output depends on.

    Args:
      used_outputs: which results are wanted.
      keep_inputs: which arguments to keep even if no equation needs them; `True` for all.

    Returns:
      the new jaxpr, and for each argument whether the new jaxpr has it.
    """
    if isinstance(keep_inputs, bool):
        keep_inputs = [keep_inputs] * len(jaxpr.invars)
    outvars = partition_list(used_outputs, jaxpr.outvars)[1]
    live: set = {*outvars}
    eqns = live_equations(jaxpr, live, _without_unused)
    used_inputs = [v in live or keep for v, keep in zip(jaxpr.invars, keep_inputs)]
    invars = partition_list(used_inputs, jaxpr.invars)[1]
    pruned = Jaxpr(jaxpr.constvars, invars, outvars, eqns, debug_info=jaxpr.debug_info)
    return pruned, used_inputs


def _without_unused(used_outputs: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn | None:
    """An equation without what only unused results need, if its primitive has a rule for that."""
    rule = dce_rules.get(eqn.primitive)
    return eqn if rule is None else rule(used_outputs, eqn)[1]


def _dce_closed(closed: ClosedJaxpr, used_outputs: tuple[bool, ...],
                keep_inputs: bool | tuple[bool, ...] = False) -> tuple[ClosedJaxpr, tuple]:
    """`dce_jaxpr` for a closed jaxpr. It also drops the constants that are not used."""
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used_outputs, keep_inputs)
    live = {v for eqn in jaxpr.eqns for v in eqn.invars} | {*jaxpr.outvars}
    kept = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts) if v in live]
    if len(kept) < len(closed.consts):
        jaxpr = jaxpr.replace(constvars=[v for v, _ in kept])
    return ClosedJaxpr(jaxpr, [c for _, c in kept]), tuple(used_inputs)


dce_closed = weakref_cache(_dce_closed)


def without_dead_code(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr with what its results depend on, and all its arguments."""
    return dce_closed(closed, (True,) * len(closed.outvars), True)[0]


@rule_for_calls(dce_rules)
def _dce_of_call(call: JaxprCall, used_outputs, eqn):
    """Drop what is dead inside a call, and the operands that only the dead equations needed."""
    with call.inside(eqn.own_params):
        jaxpr, used_inputs = dce_closed(eqn.own_params[call.jaxpr_param], tuple(used_outputs))
    in_sources = partition_list(used_inputs, range(len(used_inputs)))[1]
    out_sources = partition_list(used_outputs, range(len(used_outputs)))[1]
    return used_inputs, eqn.replace(
        invars=[eqn.invars[i] for i in in_sources], outvars=[eqn.outvars[i] for i in out_sources],
        params=call.params(eqn.own_params, jaxpr, in_sources, out_sources))


# ----------------------------------------------------------------------------------------------
# Partial evaluation of a whole jaxpr.


class SplitJaxpr(NamedTuple):
    """A program in two parts: what can be computed now, and what has to wait.

    `known` maps the known arguments to the known results, and then to the new residuals. `unknown`
    maps all residuals and the unknown arguments to the unknown results. `out_unknowns` says which
    results those are. `sources` has an entry for each residual: `None` for a new one, or else the
    position of the residual among the values that the caller has: the known arguments, or more.
    """

    known: ClosedJaxpr
    unknown: ClosedJaxpr
    out_unknowns: tuple[bool, ...]
    sources: tuple[int | None, ...]

    def residuals(self, known_outs: Sequence, inputs: Sequence) -> list:
        """All residuals, from the results of `known` and from the values of the `sources`."""
        new = iter(known_outs[len(known_outs) - self.sources.count(None):])
        return [next(new) if i is None else inputs[i] for i in self.sources]


@weakref_cache
def partial_eval_jaxpr(jaxpr: ClosedJaxpr, unknowns: tuple, instantiate: tuple) -> SplitJaxpr:
    """Split a jaxpr into a jaxpr of its known arguments, and one that needs the unknown arguments.

    A residual that is a known argument is not new.

    Args:
      unknowns: for each argument, whether it is unknown.
      instantiate: for each result, whether it must count as unknown even if it is known.
    """
    return _split(jaxpr, unknowns, instantiate, lambda known_args, known_outs: known_args)


@weakref_cache
def partial_eval_call(jaxpr: ClosedJaxpr, unknowns: tuple) -> SplitJaxpr:
    """`partial_eval_jaxpr` for the body of a call, where the caller has more values: the known
    arguments, the constants of the jaxpr, and the known results."""
    def sources(known_args, known_outs):
        return [*known_args, *jaxpr.consts, *known_outs]

    split = _split(jaxpr, unknowns, (False,) * len(jaxpr.outvars), sources)
    return split._replace(known=without_dead_code(split.known))


def _split(jaxpr: ClosedJaxpr, unknowns: tuple, instantiate: tuple, sources: Callable):
    """`sources(known_args, known_outs)` are the values that need not be new residuals."""
    def known_fun(*known_args):
        trace = JaxprTrace(state.trace)
        with new_trace(trace):
            unknown_args = map(trace.new_arg, partition_list(unknowns, jaxpr.in_avals)[1])
            args = merge_lists(unknowns, known_args, unknown_args)
            outs = eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
            out_unknowns = tuple([trace.is_unknown(out) or force
                                  for out, force in zip(outs, instantiate)])
            known_outs, unknown_outs = partition_list(out_unknowns, outs)
            closed = _built(trace, unknown_outs, jaxpr.debug_info)
        new, places = new_residuals(closed.consts, sources(known_args, known_outs))
        unknown = ClosedJaxpr(convert_constvars_jaxpr(closed.jaxpr))
        return known_outs + new, (unknown, out_unknowns, places)

    known_avals = partition_list(unknowns, jaxpr.in_avals)[0]
    known, static = trace_to_jaxpr(known_fun, known_avals, jaxpr.debug_info)
    return SplitJaxpr(known, *static)


def new_residuals(residuals: Sequence, sources: Sequence) -> tuple[list, tuple[int | None, ...]]:
    """The residuals that are not among the `sources`, and the place of each residual among them or
    `None`."""
    position = {id(x): i for i, x in reversed([*enumerate(sources)])}
    places = tuple([position.get(id(x)) for x in residuals])
    return [x for x, place in zip(residuals, places) if place is None], places


def _built(trace: JaxprTrace, outs: Sequence, debug_info=None, copy: bool = False) -> ClosedJaxpr:
    """The jaxpr of the unknown values `outs`, without dead code. Its constants are the residuals.

    Unless `copy`, NumPy arrays among them stay the same objects, because their `id` is needed.
    """
    closed = trace.builder.build([*map(trace.atom, outs)], debug_info, copy)
    return _dce_closed(closed, (True,) * len(outs), True)[0]  # it is new, so no cache has it


@rule_for_calls(partial_eval_rules, partial(around, "partial evaluation"))
def _partial_eval_of_call(call: JaxprCall, trace, primitive, args, params):
    """A call becomes two calls: the known one runs now, and the unknown one is written down."""
    unknowns = tuple(map(trace.is_unknown, args))
    with call.inside(params):
        jaxpr = params[call.jaxpr_param]
        split = partial_eval_call(jaxpr, unknowns)
    known_ins, unknown_ins = partition_list(unknowns, range(len(args)))
    places = range(len(split.out_unknowns))
    known_outs, unknown_outs = partition_list(split.out_unknowns, places)
    known_args, results = [args[i] for i in known_ins], []
    if split.known.outvars or split.known.effects:
        results = primitive.bind(*known_args, **call.params(
            params, split.known, known_ins, [*known_outs, *[None] * split.sources.count(None)],
            shared=True))
    residuals = split.residuals(results, [*known_args, *jaxpr.consts, *results])
    operands = [*residuals, *(args[i] for i in unknown_ins)]
    sources = [*[None] * len(residuals), *unknown_ins]
    unknown_params = call.params(params, split.unknown, sources, unknown_outs, shared=True)
    unknown_results = default_partial_eval(trace, primitive, operands, unknown_params)
    return merge_lists(split.out_unknowns, results, unknown_results)


# ----------------------------------------------------------------------------------------------
# Linearization.


def linearize_flat(fun: Callable, primals: Sequence):
    """The values of `fun` at `primals`, and its derivative there as a jaxpr of the tangents.

    `fun` takes arrays and returns a list of them.

    Returns:
      `(primals_out, jaxpr, out_nonzeros)`. The jaxpr's arguments are the tangents of those primals
      that have one (their dtype is inexact). Its results are the nonzero tangents of the results.
    """
    trace = JaxprTrace(state.trace)
    with new_trace(trace):
        avals = [typeof(x).to_tangent_aval() for x in primals]
        tangents = [Zero(aval) if aval.dtype == dtypes.float0 else trace.new_arg(aval)
                    for aval in avals]
        outs, out_tangents = jvpfun(fun, primals, tangents, LinearizeTracer)
        checks.known_primals(map(trace.is_unknown, outs))
        out_nonzeros = [type(t) is not Zero for t in out_tangents]
        # Under staging, the outer trace recognises NumPy arrays by their `id`.
        copy = not trace.staging
        jaxpr = _built(trace, partition_list(out_nonzeros, out_tangents)[1], copy=copy)
    return outs, jaxpr, out_nonzeros
