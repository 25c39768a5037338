"""The checks of chapter 7's exercises."""

from __future__ import annotations

from unittest import mock

import numpy as np
from learning.checking import Wrong, compare, exercise, expect

from minijax import jit, linearize, make_jaxpr
from minijax.core import primitives as lax
from minijax.core.core import (
    Primitive,
    Trace,
    current_trace,
    eval_trace,
    set_current_trace,
    typeof,
)
from minijax.core.jaxpr import Effect, Jaxpr, JaxprEqn, Var, eval_jaxpr
from minijax.core.partial_eval import JaxprTrace, linearize_flat, partial_eval_rules

F = np.float32
X = np.array([0.5, -1.0, 2.0], F)


def f(x, y):
    return lax.add(lax.mul(lax.sin(x), y), x)


@exercise("7.1", "What is known", ["known_outputs"], hints=[
    "Go through the equations in order, and collect the variables that are unknown.",
    "If any operand of an equation is unknown, so are all its results.",
    "A result of the jaxpr may be a literal or one of its arguments.",
])
def known(known_outputs):
    programs = {
        "x + y": lambda x, y: [lax.add(x, y)],
        "sin(x)": lambda x, y: [lax.sin(x)],
        "sin(x) * y + x, sin(x), y, 2": lambda x, y: [f(x, y), lax.sin(x), y, 2.0],
        "cos(sin(y)), x * x": lambda x, y: [lax.cos(lax.sin(y)), lax.mul(x, x)],
        "x * sum(c), sum(c), where c is an array from outside": lambda x, y: [
            lax.mul(x, lax.reduce_sum(X, (0,))), lax.reduce_sum(X, (0,))],
    }
    # For each program and each result, the arguments (x: 0, y: 1) that it depends on.
    needs = [[{0, 1}], [{0}], [{0, 1}, {0}, {1}, set()], [{1}, {0}], [{0}, set()]]
    for (name, program), wanted in zip(programs.items(), needs):
        jaxpr = make_jaxpr(program)(1.0, 2.0).jaxpr
        for mask in ([True, False], [False, True], [True, True], [False, False]):
            compare(lambda m, j=jaxpr: list(known_outputs(j, m)),
                    lambda m, w=wanted: [all(m[i] for i in needed) for needed in w],
                    [(mask,)], f"the program {name}, and known arguments")


@exercise("7.2", "What a derivative keeps", ["residual_count"], hints=[
    "linearize_flat(f, [x]) returns the values, a closed jaxpr, and which results have tangents.",
    "The residuals are closed.consts; typeof(c).size is how many numbers one has.",
])
def residuals(residual_count):
    cases = [("2 x", lambda x: [lax.mul(2.0, x)], 0), ("sin", lambda x: [lax.sin(x)], 3),
             ("sin, cos", lambda x: [lax.sin(x), lax.cos(x)], 6),
             ("a sum", lambda x: [lax.reduce_sum(x, (0,))], 0)]
    for name, g, want in cases:
        compare(lambda x, g=g: int(residual_count(g, x)), lambda x, w=want: w, [(X,)],
                f"f = {name}, x =")


@exercise("7.3", "A program for a known argument", ["specialize"], hints=[
    "Make a JaxprTrace on the current trace, as linearize_flat does.",
    "trace.new_arg(y_aval) is the unknown argument, trace.atom(z) what stands for a result.",
    "trace.builder.build([...]) makes the closed jaxpr.",
])
def specialized(specialize):
    closed = specialize(f, X, typeof(X))
    expect(all(isinstance(v, Var) for v in closed.jaxpr.outvars), "the result of the jaxpr should "
           f"be trace.atom(z), and not the value z itself; it is {closed.jaxpr.outvars}")
    expect([str(e.primitive) for e in closed.eqns] == ["mul", "add"],
           f"the sine is known and should be computed; your jaxpr is {closed}")
    compare(lambda y: np.asarray(eval_jaxpr(closed.jaxpr, closed.consts, y)[0]),
            lambda y: np.sin(X) * y + X, [(X,), (2 * X,)], "y")


@exercise("7.4", "Dead code", ["dce_jaxpr"], hole="core.partial_eval.dce_jaxpr", hints=[
    "Walk the equations from the last to the first.",
    "An equation stays if one of its outvars is wanted. Then its invars are also wanted.",
    "A first walk, forwards, leaves out x * 1: a dict says which operand stands for its result, "
    "and the operands of later equations, and the results, are looked up in it.",
    "x * 1 * 1 is also x: look an operand up before you look whether the equation goes.",
])
def dead_code(dce_jaxpr):
    program = lambda x, y: [lax.sin(x), lax.mul(lax.cos(y), 2.0), x]
    jaxpr = make_jaxpr(program)(1.0, 2.0).jaxpr
    names = lambda jaxpr: [str(e.primitive) for e in jaxpr.eqns]
    for used, want in (([True, False, False], (["sin"], [True, False])),
                       ([False, True, False], (["cos", "mul"], [False, True])),
                       ([False, False, True], ([], [True, False])),
                       ([False, False, False], ([], [False, False]))):
        compare(lambda used: (lambda out: (names(out[0]), list(out[1])))(dce_jaxpr(jaxpr, used)),
                lambda used, w=want: w, [(used,)], "sin(x), 2 cos(y), x; and used results")
    kept, used_inputs = dce_jaxpr(jaxpr, [True, False, False], True)
    expect(len(kept.invars) == 2 and all(used_inputs), "keep_inputs should keep all arguments")
    effects = {"cos": frozenset({Effect()})}
    noisy = Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, [
        JaxprEqn(e.primitive, e.invars, e.outvars, e.params, e.source_info,
                 effects.get(str(e.primitive), e.effects)) for e in jaxpr.eqns])
    compare(lambda used: (lambda out: (names(out[0]), list(out[1])))(dce_jaxpr(noisy, used)),
            lambda used: (["sin", "cos"], [True, True]), [([True, False, False],)],
            "sin(x), 2 cos(y), x, where the cos has an effect; and used results")
    one = F(1)
    products = {
        "sin(x * 1)": (lambda x: lax.sin(lax.mul(x, one)), ["sin"]),
        "1 * sin(x)": (lambda x: lax.mul(one, lax.sin(x)), ["sin"]),
        "x * 1": (lambda x: lax.mul(x, one), []),
        "sin(x * 1 * 1)": (lambda x: lax.sin(lax.mul(lax.mul(x, one), one)), ["sin"]),
        "x * 2": (lambda x: lax.mul(x, F(2)), ["mul"]),
        "x + 1": (lambda x: lax.add(x, one), ["add"]),
    }
    for name, (f, want) in products.items():
        closed = make_jaxpr(f)(F(0.5))
        compare(lambda name, c=closed: names(dce_jaxpr(c.jaxpr, [True])[0]), lambda name, w=want: w,
                [(name,)], "the equations that are left of")
        new, _ = dce_jaxpr(closed.jaxpr, [True])
        compare(lambda x, j=new, c=closed.consts: float(eval_jaxpr(j, c, x)[0]),
                lambda x, f=f: float(f(x)), [(F(0.5),)], f"{name}, at")
    weak = make_jaxpr(lambda x: lax.mul(x, one))(0.5)  # a weak float times a strong one is strong
    expect(names(dce_jaxpr(weak.jaxpr, [True])[0]) == ["mul"],
           f"this product changes the type, and must stay:\n{weak}")
    _, linear = linearize(lambda x: lax.mul(lax.sin(x), x), X)
    compare(lambda t: np.asarray(linear(t)), lambda t: (np.sin(X) + X * np.cos(X)) * t, [(X,)],
            "the derivative of x sin(x), in direction")


@exercise("7.5", "The heart of partial evaluation", ["process_primitive"], hints=[
    "With nothing unknown, the parent does it: self.in_parent(self.parent.process_primitive, "
    "primitive, args, params).",
    "Else the rule in partial_eval_rules, or default_partial_eval. It also runs in the parent, and "
    "gets the trace first.",
    "Weigh the constants after the rule has run, and before you return what it gave.",
], hole="core.partial_eval.JaxprTrace.process_primitive")
def heart(process_primitive):
    _who_is_asked(process_primitive)
    programs = {
        "2 x": (lambda x: lax.mul(2.0, x), lambda x: 2 + 0 * x),
        "sin": (lax.sin, np.cos),
        "x sin(x)": (lambda x: lax.mul(x, lax.sin(x)), lambda x: np.sin(x) + x * np.cos(x)),
        "a jit": (jit(lambda x: lax.mul(x, lax.sin(x))), lambda x: np.sin(x) + x * np.cos(x)),
    }
    for name, (g, slope) in programs.items():
        compare(lambda x, g=g: np.asarray(linearize(g, x)[1](np.ones_like(x))), slope, [(X,)],
                f"the derivative of {name}, at")
    _, linear, _ = linearize_flat(lambda x: [lax.sin(x)], [X])
    expect([str(e.primitive) for e in linear.eqns] == ["mul"],
           f"the derivative of sin should have one equation, a mul; yours is {linear}")

    small, large, square = np.ones(500, F), np.ones(600, F), np.ones((40, 30), F)
    for name, f, x, keeps in (
            ("sin(x)", lax.sin, small, None), ("sin(x)", lax.sin, large, None),
            ("sin(x)", lax.sin, np.ones(1000, F), None),
            ("sin(x)", lax.sin, np.ones(1001, F), "mul"),
            ("sin(x)", lax.sin, square, "mul"),
            ("sin(sin(x))", lambda x: lax.sin(lax.sin(x)), small, None),
            ("sin(sin(x))", lambda x: lax.sin(lax.sin(x)), large, "mul"),
            ("sin(x) / 2 x", lambda x: lax.div(lax.sin(x), lax.mul(x, 2.0)), large, "div")):
        what = f"the derivative of {name}, where x has {x.size} elements,"
        try:
            linearize_flat(lambda x, f=f: [f(x)], [x])
        except MemoryError as error:
            expect(keeps, f"{what} keeps no more than 1,000 numbers\n  you say   {error}")
            expect(keeps in str(error), f"{what} keeps too much at {keeps}\n  you say   {error}")
        else:
            expect(not keeps, f"{what} keeps too much at {keeps}: raise MemoryError")


def _who_is_asked(process_primitive):
    """One call at a time, so that what is wrong can be told apart."""
    below, probe, asked = _Below(eval_trace), Primitive("probe"), []
    probe.def_abstract_eval(lambda *avals, n: avals[0])
    trace = JaxprTrace(below)

    def apply(args):
        with set_current_trace(trace):
            got = process_primitive(trace, probe, args, {"n": 2})
            expect(current_trace() is trace, "afterwards, the trace should be current again")
        return got

    try:
        got = apply((F(1),))
    except RecursionError:
        raise Wrong("with no unknown argument, your trace processes the primitive again and again: "
                    "let the parent do it, by self.in_parent") from None
    expect(below.asked == (probe, (F(1),), {"n": 2}),
           "with no unknown argument, call self.parent.process_primitive(primitive, args, params); "
           f"the parent got {below.asked}")
    expect(got == "its answer", f"… and its answer should be returned; you return {got!r}")
    expect(below.current is below, "while the parent processes a primitive, it should be current: "
           "call it by self.in_parent")
    below.asked = None
    unknown = trace.new_arg(typeof(F(1)))
    answer = [unknown]

    def rule(*given):
        asked.append((given, current_trace()))
        return answer

    with mock.patch.dict(partial_eval_rules, {probe: rule}):
        got = apply((F(1), unknown))
    expect(asked, "with an unknown argument, the rule in partial_eval_rules should be called")
    given, current = asked[0]
    expect(given == (trace, probe, (F(1), unknown), {"n": 2}),
           f"the rule should get (self, primitive, args, params); it gets {given}")
    expect(current is below, "while a rule runs, the parent should be current: call it by "
           "self.in_parent")
    expect(got is answer, f"what the rule returns is the result; you return {got!r}")
    expect(below.asked is None, "with an unknown argument, do not call the parent")


class _Below(Trace):
    """A parent that keeps what it was asked, and who was current then."""

    asked = current = None

    def process_primitive(self, primitive, args, params):
        self.asked, self.current = (primitive, tuple(args), params), current_trace()
        return "its answer"


@exercise("7.6", "Known, unknown, and residuals, in tiny", ["split_size"], hints=[
    "Walk through the equations with the set of unknown variables.",
    "An unknown equation makes its outvars unknown. Its other operands that are variables are "
    "residuals.",
    "Collect residuals in a set: it holds each variable once.",
], page=True)
def split(split_size):
    import tiny

    programs = [
        ("x * sin(x)", lambda x: x * tiny.sin(x), (True,), (2, 0)),
        ("x * sin(x)", lambda x: x * tiny.sin(x), (False,), (0, 0)),
        ("sin(x) * y", lambda x, y: tiny.sin(x) * y, (True, False), (1, 1)),
        ("sin(x) * y", lambda x, y: tiny.sin(x) * y, (False, True), (0, 1)),
        ("sin(x) * y + x", lambda x, y: tiny.sin(x) * y + x, (True, False), (1, 2)),
        ("cos(x) * y + cos(x) * 2", lambda x, y: tiny.cos(x) * y + tiny.cos(x) * 2.0,
         (True, False), (3, 2)),
        ("2 * y + 3 * x * y", lambda x, y: 2.0 * y + 3.0 * x * y, (True, False), (1, 1)),
        ("x * y * x", lambda x, y: x * y * x, (True, False), (0, 1)),
        ("the tangent of x * sin(x)", lambda x, t: tiny.jvp(
            lambda x: x * tiny.sin(x), (x,), (t,))[1], (True, False), (3, 3))]
    for name, f, known, want in programs:
        jaxpr = tiny.make_jaxpr(f)(*[1.5 for _ in known])
        compare(lambda jaxpr, known: tuple(split_size(jaxpr, known)),
                lambda jaxpr, known, want=want: want, [(jaxpr, known)],
                name + ", the jaxpr and known =")
