"""The checks of chapter 5's exercises."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
from learning.checking import compare, exercise, expect

from minijax import make_jaxpr, vmap
from minijax.checks.typecheck import check_jaxpr
from minijax.core import primitives as lax
from minijax.core.core import Primitive, Trace, current_trace, new_trace
from minijax.core.forward import jvpfun
from minijax.core.jaxpr import Effect, Jaxpr, Literal, Var, eval_jaxpr
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
    from minijax.core.jaxpr import JaxprEqn

    invar, outvar = Var(closed.in_avals[0]), Var(closed.out_avals[0])
    eqn = JaxprEqn(Primitive("call"), [invar], [outvar], {"call_jaxpr": closed.jaxpr})
    return Jaxpr([], [invar], [outvar], [eqn])


@exercise("5.2", "An interpreter that does no more than it must", ["evaluate"], hints=[
    "One way: first walk the equations backwards, with the set of variables that are needed. Then "
    "evaluate those that are needed, forwards.",
    "Another way: a function that finds the value of a variable by evaluating the equation that "
    "makes it, and remembers what it has found.",
    "isinstance(atom, Literal): then its value is atom.val.",
    "A wanted result may be an argument, a constant, or a literal.",
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
        everything = [*range(len(closed.jaxpr.outvars))]
        compare(lambda x, wanted, c=closed: [
                    np.asarray(y, F) for y in evaluate(c.jaxpr, c.consts, [x], wanted)],
                lambda x, wanted, c=closed: [
                    np.asarray(eval_jaxpr(c.jaxpr, c.consts, x)[i], F) for i in wanted],
                [(table + 1, wanted) for wanted in ([0], everything, everything[::-1], [])],
                f"the program {name}, the argument, and `wanted`")
    lazy = make_jaxpr(_four_results)(1.0)
    for wanted, want in (([0], ["sin"]), ([1], ["sin", "exp"]), ([3], []), ([2], ["cos"]),
                         ([1, 0], ["sin", "exp"]), ([2, 2], ["cos"]), ([], [])):
        compare(lambda w: _bound(lambda: evaluate(lazy.jaxpr, lazy.consts, [F(1)], w)),
                lambda w, want=want: want, [(wanted,)],
                "sin(x), exp(sin(x)), cos(x), x: which primitives are bound for")
    closed = make_jaxpr(g)(1.0)
    run = lambda x: evaluate(closed.jaxpr, closed.consts, [x], [0])
    compare(lambda x: float(jvpfun(run, [x], [1.0])[1][0]),
            lambda x: math.sin(x) + x * math.cos(x), [(0.5,)],
            "the derivative of your interpreter on x sin(x) + 1, at")
    compare(lambda x: np.asarray(vmap(run)(x)[0]), lambda x: np.sin(x) * x + 1, [(table,)],
            "vmap of your interpreter on x sin(x) + 1, at")


def _four_results(x):
    y = lax.sin(x)
    return [y, lax.exp(y), lax.cos(x), x]


def _bound(f):
    """The names of the primitives that are bound while f runs, in order."""
    names = []

    class Names(Trace):
        def process_primitive(self, primitive, args, params):
            names.append(primitive.name)
            return self.in_parent(primitive.bind, *args, **params)

    with new_trace(Names(current_trace())):
        f()
    return names


@exercise("5.3", "Interval arithmetic", ["interval"], hints=[
    "It is `eval_jaxpr` of the text, with pairs in the environment, and a table of functions on "
    "pairs.",
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


@exercise("5.4", "The inverse of a function of two", ["inverse_of_two"], hints=[
    "Start with a dict from the outvars to the results, and visit the equations in a loop.",
    "For each primitive two functions: how to find the first operand, and how to find the second.",
    "z = x - y: if y is known, x = z + y; if x is known, y = x - z.",
    "You are done when a round over all equations has entered nothing new.",
])
def inverses(inverse_of_two):
    functions = {
        "y, x": lambda x, y: (y, x),
        "x + 2, 3 y": lambda x, y: (lax.add(x, 2.0), lax.mul(3.0, y)),
        "x, y + exp(x)": lambda x, y: (x, lax.add(y, lax.exp(x))),
        "x - exp(y), exp(y)": lambda x, y: (lax.sub(x, lax.exp(y)), lax.exp(y)),
        "a, y a, where a = x + exp(y)": _coupled,
        "exp(2 - x), 5 - x y": lambda x, y: (lax.exp(lax.sub(2.0, x)), lax.sub(5.0, lax.mul(x, y)))}
    for name, f in functions.items():
        compare(lambda x, y, f=f: tuple(map(float, inverse_of_two(f)(*f(x, y)))),
                lambda x, y: (x, y), [(0.5, 2.0), (-1.0, 0.25)],
                f"f(x, y) = ({name}), from f(x, y) back to x, y =")
    try:
        found = inverse_of_two(lambda x, y: (lax.add(x, y), lax.sub(x, y)))(3.0, 1.0)
    except ValueError:
        return
    expect(False, "x + y = 3, x - y = 1: neither equation alone gives x or y, so raise "
           f"ValueError; you return {found}")


def _coupled(x, y):
    a = lax.add(x, lax.exp(y))
    return a, lax.mul(y, a)


class _Noise(Effect):
    pass


def _pair(x):
    return lax.broadcast_in_dim(x, (2,), ())


def _split_twice(x):
    (a, b), (c, d) = (cutting.split(x, (1, 2), 0) for _ in range(2))
    return lax.mul(a, c), lax.mul(b, d)


_noise_p = Primitive("noise")
_noise_p.def_effectful_abstract_eval(lambda x: (x, {_Noise()}))
SHARED = {
    "sin(x) sin(x)": (lambda x: lax.mul(lax.sin(x), lax.sin(x)), ["sin", "mul"]),
    "sin(x) cos(x)": (lambda x: lax.mul(lax.sin(x), lax.cos(x)), ["sin", "cos", "mul"]),
    "(x * 2) + (x * 2)": (lambda x: lax.add(lax.mul(x, 2.0), lax.mul(x, 2.0)), ["mul", "add"]),
    "(x * 2) + (x * 3)": (lambda x: lax.add(lax.mul(x, 2.0), lax.mul(x, 3.0)),
                          ["mul", "mul", "add"]),
    "(x - 1) + (1 - x)": (lambda x: lax.add(lax.sub(x, 1.0), lax.sub(1.0, x)),
                          ["sub", "sub", "add"]),
    "(x / 0) + (x / -0)": (lambda x: lax.add(lax.div(x, 0.0), lax.div(x, -0.0)),
                           ["div", "div", "add"]),
    "x² + x³": (lambda x: lax.add(lax.integer_pow(x, 2), lax.integer_pow(x, 3)),
                ["integer_pow", "integer_pow", "add"]),
    "1 and 1.0, as arrays": (lambda x: (_pair(ml_dtypes.bfloat16(1)), _pair(1)),
                             ["broadcast_in_dim", "broadcast_in_dim"]),
    "two and three arrays, joined": (
        lambda x: [cutting.concatenate([p] * n, 0) for p in [_pair(x)] for n in (2, 3)],
        ["broadcast_in_dim", "concatenate", "concatenate"]),
    "noise(x) + noise(x)": (lambda x: lax.add(_noise_p.bind(x), _noise_p.bind(x)),
                            ["noise", "noise", "add"]),
}


@exercise("5.5", "No equation twice", ["add_eqn"], hints=[
    "Ask primitive.out_aval for the types; it is one aval, or a list with multiple_results.",
    "A new variable is Var(aval); an equation JaxprEqn(primitive, invars, outvars, params, info).",
    "SourceInfo(location) says where it comes from. outvars is a list, even for one.",
    "Make the new equation first: its `effects` are known then. Append it if none is like it.",
    "Variables are the same only if they are the same object: compare them by `is`.",
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
    for name, (f, want) in SHARED.items():
        compare(lambda name, f=f: [eqn.primitive.name for eqn in make_jaxpr(f)(F(1)).eqns],
                lambda name, want=want: want, [(name,)], "the equations of")
    x = np.ones(2, F)
    closed = make_jaxpr(SHARED["sin(x) sin(x)"][0])(x)
    compare(lambda x: np.asarray(eval_jaxpr(closed.jaxpr, closed.consts, x)[0]),
            lambda x: np.sin(x) ** 2, [(x,)], "the jaxpr of sin(x) sin(x), at")
    x = np.arange(3, dtype=F)
    closed = make_jaxpr(_split_twice)(x)
    compare(lambda x: [np.asarray(y) for y in eval_jaxpr(closed.jaxpr, closed.consts, x)],
            lambda x: [x[:1] ** 2, x[1:] ** 2], [(x,)], "x split twice, and the parts squared, at")
    expect(len(closed.eqns) == 3, f"x split twice takes one split, and your jaxpr is {closed}")
    (eqn,) = make_jaxpr(lambda x: lax.mul(x, 2.0))(1.0).eqns
    expect(isinstance(eqn.invars[1], Literal), "operands must be kept as they are")


def _as_list(out):
    return out if isinstance(out, list | tuple) else [out]


@exercise("5.6", "What a program costs, in tiny", ["cost"], hints=[
    "The number of elements of a shape is the product of its numbers, and 1 for ().",
    "getattr(x, 'aval', ()) is the shape of a variable or of a number.",
    "n is the last dimension of the left factor: eqn.invars[0].aval[-1].",
], page=True)
def costs(cost):
    import numpy as np
    import tiny

    x, m = np.asarray([1.0, 2.0, 3.0]), np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    programs = [
        ("x", lambda x: x, (2.0,), 0), ("x * sin(x)", lambda x: x * tiny.sin(x), (2.0,), 2),
        ("x * sin(x), of 3 elements", lambda x: x * tiny.sin(x), (x,), 6),
        ("the sum of m, of 2 x 3", tiny.reduce_sum, (m,), 6),
        ("the transpose of m", tiny.transpose, (m,), 0),
        ("m + x, where x is broadcast", lambda m, x: m + x, (m, x), 6),
        ("2 * 3 in every place of x", lambda x: tiny.mul(2.0, 3.0) * x, (x,), 4),
        ("the product of m and its transpose", lambda m: tiny.dot(m, tiny.transpose(m)), (m,), 12)]
    for name, f, args, want in programs:
        jaxpr = tiny.make_jaxpr(f)(*args)
        compare(cost, lambda jaxpr, want=want: want, [(jaxpr,)], name + ", the jaxpr")
