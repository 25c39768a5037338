"""What is asked of the answers to chapter 5's exercises."""

from __future__ import annotations

import math

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import make_jaxpr, vmap
from minijax.checks.staging import check_jaxpr
from minijax.core import primitives as lax
from minijax.core.forward import jvpfun
from minijax.core.jaxpr import Jaxpr, Literal, Var, eval_jaxpr
from minijax.lax import cutting

F = np.float32


def g(x):
    return lax.add(lax.mul(lax.sin(x), x), 1.0)


@exercise("5.1", "Counting", ["count_operations"], hints=[
    "eqn.primitive.name is the name.",
    "Call yourself for each of jaxprs_in_params(eqn.params), and add up: collections.Counter.",
])
def counting(count_operations):
    programs = [(lambda x: x, {}), (lax.sin, {"sin": 1}), (g, {"sin": 1, "mul": 1, "add": 1}),
                (lambda x: lax.sin(lax.sin(x)), {"sin": 2})]
    for f, want in programs:
        jaxpr = make_jaxpr(f)(1.0).jaxpr
        compare(lambda j: dict(count_operations(j)), lambda j, w=want: w, [(jaxpr,)], "the jaxpr")
    want = {"call": 1, "sin": 1, "mul": 1, "add": 1}
    compare(lambda j: dict(count_operations(j)), lambda j: want,
            [(_with_inner(make_jaxpr(g)(1.0)),)], "a jaxpr within a jaxpr")


def _with_inner(closed):
    """A jaxpr of one equation that holds another."""
    from minijax.core.core import Primitive
    from minijax.core.jaxpr import JaxprEqn

    invar, outvar = Var(closed.in_avals[0]), Var(closed.out_avals[0])
    eqn = JaxprEqn(Primitive("call"), [invar], [outvar], {"call_jaxpr": closed.jaxpr})
    return Jaxpr([], [invar], [outvar], [eqn])


@exercise("5.2", "An interpreter in ten lines", ["evaluate"], hints=[
    "Keep a dict from variables to values; begin with the constants and the arguments.",
    "isinstance(atom, Literal): then its value is atom.val.",
    "eqn.primitive.bind(*operands, **eqn.params) gives a list if eqn.primitive.multiple_results.",
])
def interpreter(evaluate):
    table = np.arange(3, dtype=F)
    programs = {"the argument": lambda x: [x], "a literal": lambda x: [2.0],
                "sin": lambda x: [lax.sin(x)],
                "x sin(x) + 1": lambda x: [g(x)],
                "two results": lambda x: cutting.split(x, (1, 2), 0),
                "a constant": lambda x: [lax.mul(x, table)]}
    for name, f in programs.items():
        closed = make_jaxpr(f)(table)
        compare(lambda x, c=closed: [np.asarray(y, F) for y in evaluate(c.jaxpr, c.consts, x)],
                lambda x, c=closed: [np.asarray(y, F) for y in eval_jaxpr(c.jaxpr, c.consts, x)],
                [(table + 1,)], f"the program {name}, at")
    closed = make_jaxpr(g)(1.0)
    run = lambda x: evaluate(closed.jaxpr, closed.consts, x)
    compare(lambda x: float(jvpfun(run, [x], [1.0])[1][0]),
            lambda x: math.sin(x) + x * math.cos(x), [(0.5,)],
            "the derivative of your interpreter on x sin(x) + 1, at")
    compare(lambda x: np.asarray(vmap(run)(x)[0]), lambda x: np.sin(x) * x + 1, [(table,)],
            "vmap of your interpreter on x sin(x) + 1, at")


@exercise("5.3", "Interval arithmetic", ["interval"], hints=[
    "It is exercise 5.2 with pairs in the environment, and a table of functions on pairs.",
    "A literal is the pair of its value twice.",
    "The product of two intervals lies between the least and the greatest of four products.",
])
def intervals(interval):
    cases = [(lambda x: x, [(1.0, 2.0)], (1.0, 2.0)),
             (lax.neg, [(1.0, 2.0)], (-2.0, -1.0)),
             (lambda x, y: lax.sub(x, y), [(0.0, 1.0), (0.0, 1.0)], (-1.0, 1.0)),
             (lambda x: lax.mul(x, -2.0), [(-1.0, 3.0)], (-6.0, 2.0)),
             (lambda x, y: lax.mul(x, y), [(-1.0, 2.0), (-3.0, 1.0)], (-6.0, 3.0)),
             (lambda x: lax.add(lax.exp(x), 1.0), [(0.0, 1.0)], (2.0, 1 + math.e))]
    for f, given, want in cases:
        jaxpr = make_jaxpr(f)(*(low for low, _ in given)).jaxpr
        compare(lambda *pairs, j=jaxpr: tuple(map(float, interval(j, *pairs))),
                lambda *pairs, w=want: w, [tuple(given)], f"{jaxpr}\nand the bounds")


@exercise("5.4", "The inverse of more functions", ["inverse_of_two"], hints=[
    "As `inverse` in the text, but one operand of an equation may be a Literal.",
    "For each primitive two functions: how to find the first operand, and how to find the second.",
    "z = x - y: if y is known, x = z + y; if x is known, y = x - z.",
])
def inverses(inverse_of_two):
    functions = {"x + 2": lambda x: lax.add(x, 2.0), "2 - x": lambda x: lax.sub(2.0, x),
                 "x - 2": lambda x: lax.sub(x, 2.0), "exp(3 x)": lambda x: lax.exp(lax.mul(3.0, x)),
                 "5 - 2 exp(x + 1)": lambda x: lax.sub(5.0, lax.mul(lax.exp(lax.add(x, 1.0)), 2.0))}
    for name, f in functions.items():
        compare(lambda x, f=f: float(inverse_of_two(f)(f(x))), lambda x: x, [(0.5,), (-1.0,)],
                f"f(x) = {name}, from f(x) back to x =")


@exercise("5.5", "Writing an equation down", ["add_eqn"], hints=[
    "Ask primitive.out_aval for the types; it is one aval, or a list with multiple_results.",
    "A new variable is Var(aval); an equation JaxprEqn(primitive, invars, outvars, params, info).",
    "SourceInfo(location) says where it comes from. outvars is a list, even for one.",
], hole="core.staging.JaxprBuilder.add_eqn")
def writing(add_eqn):
    programs = {"sin": lambda x: lax.sin(x), "x sin(x) + 1": g,
                "two results": lambda x: cutting.split(x, (1, 2), 0)}
    for name, f in programs.items():
        closed = make_jaxpr(f)(np.ones(3, F))
        check_jaxpr(closed)
        expect(all(isinstance(eqn.outvars, list) for eqn in closed.eqns), "outvars must be a list")
        compare(lambda x, c=closed: [np.asarray(y) for y in eval_jaxpr(c.jaxpr, c.consts, x)],
                lambda x, f=f: [np.asarray(y) for y in _as_list(f(x))], [(np.ones(3, F),)],
                f"the jaxpr of {name}, at")
    (eqn,) = make_jaxpr(lambda x: lax.mul(x, 2.0))(1.0).eqns
    expect(isinstance(eqn.invars[1], Literal), "operands must be kept as they are")


def _as_list(out):
    return out if isinstance(out, list | tuple) else [out]
