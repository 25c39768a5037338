"""The checks of chapter 2's exercises."""

from __future__ import annotations

import contextlib
import math
from unittest import mock

import numpy as np
from learning.checking import Wrong, compare, exercise, expect

from minijax.core import primitives as lax
from minijax.core.array import def_numpy
from minijax.core.core import Primitive, Trace, current_trace, new_trace, set_current_trace, typeof
from minijax.core.forward import JVPTrace, Zero, jvpfun, primitive_jvps
from minijax.lax import cutting, shaping

F = np.float32


@exercise("2.1", "The tangent of a quotient", ["quotient_tangent"], hints=[
    "Let only x move first, then only y, and add what you found.",
    "d(x/y) = dx/y - x dy/y²",
], page=True)
def quotient(quotient_tangent):
    compare(quotient_tangent, lambda x, y, x_dot, y_dot: (x_dot * y - x * y_dot) / y**2,
            [(0.0, 1.0, 1.0, 0.0), (1.0, 2.0, 0.0, 1.0), (3.0, -4.0, 0.5, 2.0)],
            "x, y, x_dot, y_dot")


@exercise("2.2", "A rule that uses the result", ["logaddexp_jvp"], hints=[
    "The primal part is log(exp(x) + exp(y)), by lax.log, lax.exp and lax.add.",
    "Differentiate exp(r) = exp(x) + exp(y) on both sides, and divide by exp(r).",
    "exp(x) / exp(r) is exp(x - r), which needs no division.",
])
def logaddexp(logaddexp_jvp):
    cases = [((3.0, 4.0), (1.0, 0.0)), ((3.0, 4.0), (0.0, 1.0)), ((F(-1), F(2)), (F(0.5), F(2)))]
    plain = lambda x, y: [lax.log(lax.add(lax.exp(x), lax.exp(y)))]

    def expected(primals, tangents):
        (out,), (tangent,) = jvpfun(plain, primals, tangents)
        return out, tangent

    compare(logaddexp_jvp, expected, cases, "primals and tangents")
    applied = _applied(logaddexp_jvp, (3.0, 4.0), (1.0, 0.0))
    logs = applied.count("log")
    expect(logs == 1, f"the logarithm should be computed once, and is computed {logs} times")
    expect("div" not in applied, "with the result in hand there is nothing to divide by")
    second = lambda x: [logaddexp_jvp((x, 4.0), (1.0, 0.0))[1]]
    compare(lambda x: jvpfun(second, [x], [1.0])[1][0],
            lambda x: lax.full_like(x, math.e / (1 + math.e) ** 2), [(F(3.0),)],
            "the second derivative at")


@exercise("2.3", "Derivatives of any order", ["derivative"], hints=[
    "The derivative of f at x is the tangent that jvpfun gives for the tangent 1.",
    "jvpfun takes functions that return lists, and lists of primals and tangents.",
    "derivative(f, n) is the first derivative of derivative(f, n - 1).",
])
def derivatives(derivative):
    compare(lambda n, x: float(derivative(lax.sin, n)(x)),
            lambda n, x: math.sin(x + n * math.pi / 2), [(0, 0.5), (1, 0.5), (2, 0.5), (5, 1.0)],
            "f = sin, and n, x =")


@exercise("2.4", "A rule where zeros cost nothing", ["fma_jvp"], hints=[
    "The tangent is x_dot * y + x * y_dot + z_dot, without the terms that are Zero.",
    "A helper: the tangent times a factor, or the tangent itself if it is a Zero.",
    "add_tangents leaves out Zeros, and two Zeros make a Zero.",
])
def fused(fma_jvp):
    primals = (F(2), F(3), F(4))
    zero = Zero(typeof(F(1)))
    cases = {(1, 0, 0): 3, (0, 1, 0): 3, (0, 0, 1): 2, (1, 1, 0): 5, (1, 0, 1): 4, (0, 1, 1): 4,
             (1, 1, 1): 6}
    for moving, most in cases.items():
        tangents = tuple(F(10**i) if moves else zero for i, moves in enumerate(moving))
        want = sum(10**i * (3, 2, 1)[i] for i, moves in enumerate(moving) if moves)
        compare(lambda p, t: tuple(map(float, fma_jvp(p, t))),
                lambda p, t, w=want: (10.0, float(w)), [(primals, tangents)], "primals, tangents =")
        names = _applied(fma_jvp, primals, tangents)
        expect(len(names) <= most, f"with the tangents {tangents}, {most} operations will do; you "
               f"apply {names}")
    out, tangent = fma_jvp(primals, (zero, zero, zero))
    expect(type(tangent) is Zero, f"if nothing moves, the tangent is a Zero; you say {tangent}")
    fma_p = Primitive("fma")
    def_numpy(fma_p, lambda x, y, z: x * y + z)
    with mock.patch.dict(primitive_jvps, {fma_p: fma_jvp}):
        compare(lambda x: _slope(lambda x: fma_p.bind(x, lax.sin(x), 2.0), x),
                lambda x: math.sin(x) + x * math.cos(x), [(3.0,)],
                "the derivative of fma(x, sin(x), 2) at")
        compare(lambda x: _slope(lambda x: _tangent(lambda x: fma_p.bind(x, x, x), x), x),
                lambda x: 2.0, [(3.0,)], "the second derivative of fma(x, x, x) at")


@exercise("2.5", "The heart of forward mode", ["process_primitive"], hints=[
    "Five steps: open the arguments, look the rule up, run it in the parent, look at the tangents, "
    "box.",
    "If no argument has a tangent, no rule is needed: "
    "self.in_parent(self.parent.process_primitive, primitive, primals, params).",
    "A primitive with multiple_results gives lists.",
    "np.all(np.isfinite(np.asarray(tangent))) says whether a tangent is finite everywhere.",
], hole="core.forward.JVPTrace.process_primitive")
def heart(process_primitive):
    f = lambda x: lax.mul(lax.sin(x), x)
    programs = {
        "a constant": (lambda x: 2.0, 3.0, 0.0),
        "sin(x)": (lax.sin, 3.0, math.cos(3.0)),
        "x * sin(x)": (f, 3.0, math.sin(3) + 3 * math.cos(3)),
        "2 * x": (lambda x: lax.mul(2.0, x), 3.0, 2.0),
    }
    for name, (g, x, want) in programs.items():
        compare(lambda x, g=g: _slope(g, x), lambda x, w=want: w, [(x,)], f"f = {name}, at x =")
    compare(lambda x: _slope(lambda x: _tangent(f, x), x),
            lambda x: 2 * math.cos(x) - x * math.sin(x), [(3.0,)], "the second derivative at")
    compare(lambda x: _slope(lambda x: lax.mul(x, _tangent(lambda y: lax.add(x, y), 1.0)), x),
            lambda x: 1.0, [(1.0,)], "perturbation confusion: d/dx (x · d/dy (x + y)) at")
    pieces = lambda x: cutting.split(lax.mul(lax.full((2,), 0.5), x), (1, 1), 0)
    halves = lambda x: lax.reduce_sum(lax.add(*pieces(x)), (0,))
    compare(lambda x: _slope(halves, x), lambda x: 1.0, [(3.0,)], "split, which gives a list, at")
    numbers = lambda: shaping.broadcasted_iota("float32", (3,), 0)
    counted = lambda x: lax.reduce_sum(lax.mul(x, numbers()), (0,))
    compare(lambda x: _slope(counted, x), lambda x: 3.0, [(2.0,)],
            "the sum of x * [0, 1, 2], where `iota` has no arguments, at")
    _while_a_rule_runs()
    _not_finite(lax.log, 0.0, "log")
    _not_finite(lambda x: lax.neg(lax.div(1.0, x)), 0.0, "div")
    twice = lambda x: lax.log(lax.mul(lax.full((2,), 1.0), x))
    _not_finite(lambda x: lax.add(*cutting.split(twice(x), (1, 1), 0)), 0.0, "log")
    try:
        second = jvpfun(lambda x: [_tangent(lax.log, x)], [F(4)], [F(1)])[1][0]
        passed = jvpfun(lambda x: [lax.neg(x)], [F(4)], [F(math.inf)])[1][0]
    except FloatingPointError as error:
        raise Wrong(f"nothing is wrong here, and you raise FloatingPointError: {error}") from error
    expect(np.isclose(float(second), -1 / 16) and float(passed) == -math.inf,
           "the second derivative of log at 4, or the infinite tangent that was put in, is wrong")


def _not_finite(f, x, name):
    """That the primitive is named whose derivative is not finite."""
    with np.errstate(all="ignore"):
        try:
            got = jvpfun(lambda x: [f(x)], [F(x)], [F(1)])[1][0]
        except FloatingPointError as error:
            expect(name in str(error), f"the message should name {name}; it is\n  {error}")
            return
    raise Wrong(f"the derivative of {name} at {x} is not finite: raise FloatingPointError;\n"
                f"  you say   {got!r}")


def _while_a_rule_runs():
    """Who is asked for a rule, who is current meanwhile, and who afterwards."""
    probe = Primitive("probe")
    probe.def_abstract_eval(lambda x: x)
    def_numpy(probe, lambda x: x)
    compare(lambda x: _slope(lambda x: lax.add(x, probe.bind(F(1))), x), lambda x: 1.0, [(3.0,)],
            "x + probe(1), where `probe` needs no rule, because its argument does not move; at")
    try:
        got = jvpfun(lambda x: [probe.bind(x)], [F(3)], [F(1)])
    except NotImplementedError as error:
        expect("probe" in str(error), f"raise missing_rule, which names probe; you say {error}")
    else:
        raise Wrong(f"probe(x) moves, and has no rule: raise missing_rule; you say {got}")
    seen = []

    def rule(primals, tangents):
        seen.append(current_trace())
        if primals[0] < 0:
            raise ArithmeticError
        return primals[0], tangents[0]

    below = current_trace()
    primitive_jvps[probe] = rule
    try:
        jvpfun(lambda x: [probe.bind(x)], [F(3)], [F(1)])
        expect(seen[0] is below, "while a rule runs, the parent should be current")
        with new_trace(JVPTrace(below)) as trace:
            with contextlib.suppress(ArithmeticError):
                probe.bind(trace.box(F(-3), F(1)))
            expect(current_trace() is trace,
                   "after a rule that raised an error, the trace should be current again")
    finally:
        del primitive_jvps[probe]


def _applied(f, *args):
    """The names of the primitives that are applied."""
    names = []

    class Names(Trace):
        def process_primitive(self, primitive, args, params):
            names.append(primitive.name)
            with set_current_trace(self.parent):
                return primitive.bind(*args, **params)

    with new_trace(Names(current_trace())):
        f(*args)
    return names




def _tangent(f, x):
    tangent = jvpfun(lambda x: [f(x)], [x], [1.0])[1][0]
    return 0.0 if type(tangent) is Zero else tangent


def _slope(f, x):
    return float(_tangent(f, x))


@exercise("2.6", "A rule for tiny", ["tanh_rule"], hints=[
    "Keep the result of the primitive in a variable: you need it twice.",
    "The tangent is `mul(t, add(1.0, neg(mul(out, out))))`, with t the tangent of the argument.",
], page=True)
def rule_for_tiny(tanh_rule):
    import tiny

    calls = []

    def impl(x):
        calls.append(x)
        return math.tanh(x)

    tanh_p = tiny.Primitive("tanh", impl)
    tiny.primitive_jvps[tanh_p] = lambda primals, tangents: tanh_rule(tanh_p, primals, tangents)

    def slope(f, x):
        return tiny.jvp(f, (x,), (1.0,))[1]

    def first(x):
        return slope(tanh_p.bind, x)

    def by_hand(x):
        return 1.0 - math.tanh(x) ** 2

    compare(lambda x: float(first(x)), by_hand, [(0.0,), (0.5,), (-2.0,)],
            "the derivative of tanh at")
    del calls[:]
    first(0.5)
    expect(len(calls) == 1, f"tanh should be computed once, and is computed {len(calls)} times")
    compare(lambda x: float(slope(lambda x: tiny.mul(x, tanh_p.bind(tiny.sin(x))), x)),
            lambda x: math.tanh(math.sin(x)) + x * by_hand(math.sin(x)) * math.cos(x), [(0.7,)],
            "the derivative of x · tanh(sin x) at")
    compare(lambda x: float(slope(first, x)), lambda x: -2 * math.tanh(x) * by_hand(x), [(0.5,)],
            "the second derivative at")
