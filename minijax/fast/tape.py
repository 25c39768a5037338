"""A fast path for linearization at arrays: linear operations are written on a tape.

A JVP rule that was traced is split in two. The part that depends on primals alone runs at once. The
other part is linear in the tangents, and is noted on a `Tape`. A tape is one equation of the linear
program, for as many operations as follow one another. Its transpose runs them backwards, in a loop
without variables, accumulators and traces if all values are NumPy's.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from types import NoneType
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.core import Primitive, ShapedArray, eval_trace, state, typeof
from ..core.extension import hooks
from ..core.forward import Zero, add_tangents
from ..core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, no_effects
from ..core.partial_eval import JaxprTrace, JaxprTracer, dce_rules, partial_eval_jaxpr
from ..core.primitives import add_any_p
from ..core.staging import JaxprBuilder
from ..core.transposition import (
    UndefinedPrimal,
    is_undefined_primal,
    primitive_transposes,
    transpose_jaxpr,
)
from ..source import SourceInfo, source
from .evaluation import SCALAR_AVALS, quietly
from .rules import Program

new = object.__new__


def contents_of(x: Array) -> Any:
    """The NumPy value of an array."""
    value = x._host
    return x._numpy() if value is None else value


@functools.lru_cache(1024)
def linear_source(names: tuple, n_outside: int) -> SourceInfo:
    """Where linear equations come from, one object for those of the same scopes."""
    return SourceInfo(None, names[n_outside:])


# ----------------------------------------------------------------------------------------------
# Rules


class Linearized:
    """A JVP rule in two parts.

    The known part maps the primals to the result, and to values that the linear part needs. These
    are the `residuals`: places in the list of primals and of the known part's results. The linear
    part maps residuals and tangents to the tangent of the result. It has an operand for each
    use of a tangent, and `uses` lists the tangents' numbers, in the order in which the core's
    backward pass would add up what the uses contribute. So both get the same sums. If the result's
    tangent is that of an operand, `passed_on` is the number of that one.

    Raises:
      NotImplementedError: the result's tangent is known, as that of `x**0` is.
    """

    __slots__ = ("known", "residuals", "uses", "linear", "passed_on", "aval", "_push_forward",
                 "transposes")

    def __init__(self, closed: ClosedJaxpr, n_primals: int):
        unknowns = tuple(i >= n_primals for i in range(len(closed.invars)))
        known, linear, out_unknowns, n_residuals, forwarded = partial_eval_jaxpr(
            closed, unknowns, (False, False))
        if not out_unknowns[1]:
            raise NotImplementedError("This tangent does not depend on the tangents.")
        distinct = [*dict.fromkeys(known.outvars)]  # the result may also be a residual
        computed = [n_primals + distinct.index(v) for v in known.outvars]
        fresh = iter(computed[len(computed) - n_residuals:])
        self.residuals = [next(fresh) if place is None else place for place in forwarded]
        self.known = Program(ClosedJaxpr(known.jaxpr.replace(outvars=distinct), known.consts))
        self.uses, self.linear = one_use_each(linear.jaxpr, len(self.residuals))
        self.passed_on = {v: i for i, v in enumerate(closed.invars[n_primals:])}.get(
            closed.outvars[1])
        (self.aval,) = linear.out_avals
        self._push_forward: Program | None = None
        self.transposes: dict[ShapedArray, Program] = {}

    def push_forward(self, operands: Sequence) -> Any:
        """The tangent of the result, from residuals and a tangent for each use."""
        if self._push_forward is None:
            self._push_forward = Program(self.linear)
        return self._push_forward.by_binding(*operands)[0]

    def transpose(self, ct_aval: ShapedArray) -> Program:
        """From residuals and a cotangent of this type to a cotangent for each use."""
        found = self.transposes.get(ct_aval)
        if found is None:
            kinds = (None,) * len(self.residuals) + (UndefinedPrimal,) * len(self.uses)
            in_avals = tuple(self.linear.in_avals[:len(self.residuals)])
            jaxpr, nonzeros = transpose_jaxpr(self.linear, kinds, in_avals, (ct_aval,))
            assert all(nonzeros), self.linear
            found = self.transposes[ct_aval] = Program(jaxpr)
        return found


def one_use_each(jaxpr: Jaxpr, n_residuals: int) -> tuple[list[int], ClosedJaxpr]:
    """For each use of a tangent, from the last to the first, the tangent's number; and the jaxpr
    with an argument for each use."""
    residuals, tangents = jaxpr.invars[:n_residuals], jaxpr.invars[n_residuals:]
    uses: list[int] = []
    arguments: list[Var] = []

    def of_its_own(v: Any) -> Any:
        if v not in tangents:
            return v
        uses.append(tangents.index(v))
        arguments.append(Var(v.aval))
        return arguments[-1]

    eqns = [eqn.replace(invars=[*map(of_its_own, eqn.invars)]) for eqn in reversed(jaxpr.eqns)]
    return uses, ClosedJaxpr(jaxpr.replace(invars=residuals + arguments, eqns=eqns[::-1]))


# ----------------------------------------------------------------------------------------------
# The tape


class Tape:
    """Linear operations in their order.

    Each tangent that enters the tape or is computed on it has a place. A step is `(rule, place of
    the result, places of the uses, start, stop)`: its residuals are the operands from `start` to
    `stop` of the equation. `inputs` are the positions of the other operands and their places, and
    `outputs` are the places of the results.
    """

    __slots__ = ("steps", "n_places", "invars", "outvars", "inputs", "outputs", "_entered")

    def __init__(self):
        self.steps: list[tuple[Linearized, int, list[int], int, int]] = []
        self.n_places = 0
        self.invars: list[Atom] = []
        self.outvars: list[Var] = []
        self.inputs: list[tuple[int, int]] = []
        self.outputs: list[int] = []
        self._entered: dict[Var, int] = {}  # tangents from outside, and their places

    def equation(self, info: SourceInfo | None) -> JaxprEqn:
        return JaxprEqn(tape_p, self.invars, self.outvars, {"tape": self}, info, no_effects)

    def new_place(self) -> int:
        self.n_places += 1
        return self.n_places - 1

    def place(self, tangent: JaxprTracer) -> int:
        """The place of a tangent. One from outside of the tape becomes an operand."""
        if type(tangent) is TapeTracer and tangent.tape is self:
            return tangent.place
        var = tangent.atom
        if var not in self._entered:
            self._entered[var] = place = self.new_place()
            self.inputs.append((len(self.invars), place))
            self.invars.append(var)
        return self._entered[var]

    def output(self, place: int, aval: ShapedArray) -> Var:
        """A variable for what is computed at a place."""
        self.outvars.append(var := Var(aval))
        self.outputs.append(place)
        return var

    def with_outputs(self, used: Sequence[bool]) -> tuple[Tape, list[bool]]:
        """The tape without what only unused results need, and for each operand whether it stays."""
        live = {place for place, is_used in zip(self.outputs, used) if is_used}
        steps = []
        for step in reversed(self.steps):
            _, out, uses, *_ = step
            if out in live:
                live.update(uses)
                steps.append(step)
        if len(steps) == len(self.steps) and all(used):
            return self, [True] * len(self.invars)
        needed = [False] * len(self.invars)
        for position, place in self.inputs:
            needed[position] = place in live
        for *_, start, stop in steps:
            needed[start:stop] = [True] * (stop - start)
        at = [0, *itertools.accumulate(needed)]
        new_tape = Tape()
        new_tape.n_places = self.n_places
        new_tape.steps = [(rule, out, uses, at[start], at[stop])
                          for rule, out, uses, start, stop in reversed(steps)]
        new_tape.invars = [*itertools.compress(self.invars, needed)]
        new_tape.inputs = [(at[i], place) for i, place in self.inputs if needed[i]]
        new_tape.outvars = [*itertools.compress(self.outvars, used)]
        new_tape.outputs = [*itertools.compress(self.outputs, used)]
        return new_tape, needed

    def __repr__(self):
        return f"<{len(self.steps)} linear operations>"


class TapeTracer(JaxprTracer):
    """A tangent on a tape. It becomes a variable if something else than the tape needs it."""

    __slots__ = ("tape", "place", "aval", "_atom")

    tape: Tape
    place: int
    aval: ShapedArray
    _atom: Var | None

    @property
    def atom(self) -> Var:  # type: ignore[override]
        if self._atom is None:
            self._atom = self.tape.output(self.place, self.aval)
        return self._atom


def open_tape(builder: JaxprBuilder) -> Tape:
    """The tape at the end of a linear program."""
    eqns = builder.eqns
    if not eqns or eqns[-1].primitive is not tape_p:
        eqns.append(Tape().equation(linear_source(source.names, builder.n_outside)))
    return eqns[-1].own_params["tape"]


def record(rule: Linearized, trace: JaxprTrace, primals: list, tangents: list) -> tuple:
    """The result of an operation, and its tangent, which goes on the tape."""
    values = [*primals, *rule.known.run(trace.parent, primals)]
    out = values[len(primals)]
    if rule.passed_on is not None:
        return out, tangents[rule.passed_on]
    tape = open_tape(trace.builder)
    places = [*map(tape.place, tangents)]
    start = len(tape.invars)
    for i in rule.residuals:
        x = values[i]
        tape.invars.append(Literal(x, SCALAR_AVALS[type(x)]) if type(x) in SCALAR_AVALS else
                           trace.builder.constant(x))
    tangent = new(TapeTracer)
    tangent._trace, tangent.tape, tangent.aval, tangent._atom = trace, tape, rule.aval, None
    tangent.place = tape.new_place()
    tape.steps.append((rule, tangent.place, [places[i] for i in rule.uses], start,
                       len(tape.invars)))
    return out, tangent


# ----------------------------------------------------------------------------------------------
# The equation


class TapeOfOperations(Primitive):
    """To bind a tape is to bind what is on it."""

    multiple_results = True

    def bind(self, *operands, tape):
        tangents: list[Any] = [None] * tape.n_places
        for position, place in tape.inputs:
            tangents[place] = operands[position]
        for rule, out, uses, start, stop in tape.steps:
            tangents[out] = rule.push_forward(
                [*operands[start:stop], *[tangents[i] for i in uses]])
        return [tangents[place] for place in tape.outputs]


tape_p = TapeOfOperations("tape", memoize_avals=False)


def _transpose(cts, *operands, tape):
    """Run the tape backwards. The sums begin with what the operands have got so far."""
    sums: list[Any] = [None] * tape.n_places
    linear = [(operands[i], place) for i, place in tape.inputs if is_undefined_primal(operands[i])]
    for x, place in linear:
        if type(x) is UndefinedPrimal:
            sums[place] = x.ct
    for place, ct in zip(tape.outputs, cts):
        if type(ct) is not Zero:
            sums[place] = ct
    plain = (state.trace is eval_trace and not (hooks.evaluate or hooks.after_evaluation)
             and {*map(type, operands)} <= _ON_NUMPY and {*map(type, sums)} <= {Array, NoneType})
    (_backwards_on_numpy if plain else _backwards)(tape.steps, operands, sums)
    for x, place in linear:
        if type(x) is UndefinedPrimal:
            x.ct = sums[place]
        else:  # its sum is in a reference
            x.accum(sums[place])
    return [None] * len(operands)


_ON_NUMPY = {Array, UndefinedPrimal, *SCALAR_AVALS}


def _backwards(steps: list, operands: Sequence, sums: list) -> None:
    """Add what each operation contributes to the cotangents of its operands."""
    for rule, out, uses, start, stop in reversed(steps):
        ct, sums[out] = sums[out], None
        if ct is not None:
            cts = rule.transpose(typeof(ct)).run(state.trace, (*operands[start:stop], ct))
            for place, ct in zip(uses, cts):
                sums[place] = ct if sums[place] is None else add_tangents(sums[place], ct)


def _backwards_on_numpy(steps: list, operands: Sequence, sums: list) -> None:
    """`_backwards` for arrays, whose contents are not wrapped up on the way."""
    values = [contents_of(x) if type(x) is Array else x for x in operands]
    avals: list[Any] = [None if x is None else x.aval for x in sums]
    sums[:] = [None if x is None else contents_of(x) for x in sums]
    for rule, out, uses, start, stop in reversed(steps):
        ct = sums[out]
        if ct is None:
            continue
        sums[out], aval = None, avals[out]
        program = rule.transposes.get(aval) or rule.transpose(aval)
        function = program.values_on_numpy
        if function is None:
            outs = program.by_binding(*operands[start:stop], Array(ct, aval))
            cts = [*map(contents_of, outs)]
        else:
            cts = quietly(function, *values[start:stop], ct)
        for place, ct, aval in zip(uses, cts, program.out_avals):
            if sums[place] is None:
                sums[place], avals[place] = ct, aval
            else:
                sums[place] = quietly(np.add, sums[place], ct)
                avals[place] = add_any_p.out_aval((avals[place], aval), {})
    sums[:] = [None if x is None else Array(x, aval) for x, aval in zip(sums, avals)]


primitive_transposes[tape_p] = _transpose


def _dce(used_outputs, eqn):
    """Drop the operations that no used result depends on, and their residuals."""
    tape, used_inputs = eqn.own_params["tape"].with_outputs(used_outputs)
    return used_inputs, tape.equation(eqn.source_info)


dce_rules[tape_p] = _dce
