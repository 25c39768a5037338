"""What is asked of the answers to chapter 7's exercises."""

from __future__ import annotations

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import jit, linearize, make_jaxpr
from minijax.core import primitives as lax
from minijax.core.core import Primitive, current_trace, new_trace, typeof
from minijax.core.jaxpr import eval_jaxpr
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
    }
    # For each program and each result, the arguments (x: 0, y: 1) that it depends on.
    needs = [[{0, 1}], [{0}], [{0, 1}, {0}, {1}, set()], [{1}, {0}]]
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
    "Make a JaxprTrace on the current trace (minijax.core.state.trace), as linearize_flat does.",
    "trace.new_arg(y_aval) is the unknown argument, trace.atom(z) what stands for a result.",
    "trace.builder.build([...]) makes the closed jaxpr.",
])
def specialized(specialize):
    closed = specialize(f, X, typeof(X))
    expect([str(e.primitive) for e in closed.eqns] == ["mul", "add"],
           f"the sine is known and should be computed; your jaxpr is {closed}")
    compare(lambda y: np.asarray(eval_jaxpr(closed.jaxpr, closed.consts, y)[0]),
            lambda y: np.sin(X) * y + X, [(X,), (2 * X,)], "y")


@exercise("7.4", "Dead code", ["dce_jaxpr"], hole="core.partial_eval.dce_jaxpr", hints=[
    "Walk the equations from the last to the first.",
    "An equation stays if one of its outvars is wanted; then its invars are wanted, too.",
    "A Literal is no variable, and cannot be put into a set.",
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
    _, linear = linearize(lambda x: lax.mul(lax.sin(x), x), X)
    compare(lambda t: np.asarray(linear(t)), lambda t: (np.sin(X) + X * np.cos(X)) * t, [(X,)],
            "the derivative of x sin(x), in direction")


@exercise("7.5", "The heart of partial evaluation", ["process_primitive"], hints=[
    "self.is_unknown(x) tells whether x is an unknown of this trace.",
    "With nothing unknown the parent does it: self.parent.process_primitive.",
    "Else the rule in partial_eval_rules, or default_partial_eval: call it with the trace first.",
    "Both run with the parent current: minijax.core.set_current_trace.",
], hole="core.partial_eval.JaxprTrace.process_primitive")
def heart(process_primitive):
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
           f"of the derivative of sin one mul should wait; what waits is {linear}")

    below, probe, seen = current_trace(), Primitive("probe"), []
    partial_eval_rules[probe] = lambda trace, *_: seen.append(current_trace())
    try:
        with new_trace(JaxprTrace(below)) as trace:
            probe.bind(trace.new_arg(typeof(F(1))))
            expect(current_trace() is trace, "afterwards the trace should be current again")
    finally:
        del partial_eval_rules[probe]
    expect(seen == [below], "while a rule runs, the parent should be current")
