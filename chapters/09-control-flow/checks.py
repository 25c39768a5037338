"""The checks of chapter 9's exercises."""

from __future__ import annotations

import math

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import grad, jvp, lax, make_jaxpr, vjp, vmap
from minijax.core.core import Tracer

F = np.float32
X = np.array([0.5, -1.0, 2.0], F)


@exercise("9.1", "The fixpoint of a round", ["my_fixpoint"], hints=[
    "In one round, a carry gets a tangent if it is computed from a carry that has one.",
    "A carry that had one keeps it. Repeat until a round changes nothing.",
], page=True)
def fixpoints(my_fixpoint):
    cases = [([[0]], [True]), ([[0], [0, 1]], [True, False]), ([[0], [0, 1]], [False, True]),
             ([[1], [2], [2]], [False, False, True]), ([[], [0]], [True, False]),
             ([[3], [0], [1], [2]], [False, False, True, False])]
    wants = [[True], [True, True], [False, True], [True] * 3, [True, True], [True] * 4]
    for case, want in zip(cases, wants):
        compare(lambda d, s: list(map(bool, my_fixpoint(d, s))), lambda d, s, w=want: w, [case],
                "depends, start")


@exercise("9.2", "What scan means", ["scan_by_hand"], hints=[
    "carry, y = f(carry, xs[i]) for each i in its turn.",
    "In reverse the steps go from the last element to the first, but y[i] still stands at i.",
])
def meaning(scan_by_hand):
    f = lambda c, x: (lax.add(lax.mul(c, 2.0), x), lax.mul(c, x))

    def on_numbers(c, x):
        expect(not isinstance(x, Tracer), "f gets a box: do not use lax.scan, but a Python loop")
        return f(c, x)

    for reverse in (False, True):
        compare(lambda c, xs, r=reverse: tuple(map(np.asarray, scan_by_hand(on_numbers, c, xs, r))),
                lambda c, xs, r=reverse: tuple(map(np.asarray, lax.scan(f, c, xs, reverse=r))),
                [(F(1), X[:1]), (F(1), X)], f"reverse={reverse}, init, xs =")
    compare(lambda c, xs: np.asarray(scan_by_hand(on_numbers, c, xs)[1]),
            lambda c, xs: np.asarray(lax.scan(f, c, xs)[1]), [(F(1), X)],
            "the results if reverse is not given, init, xs =")


@exercise("9.3", "A loop with a derivative", ["newton"], hints=[
    "lax.while_loop(condition, body, init): both functions take the carry, here one number.",
    "Both may use `a` from outside: it becomes a constant of the loop, and gets a tangent.",
    "Use lax.mul, lax.div, lax.add, lax.sub, lax.abs, lax.gt: there is no jnp yet in this chapter.",
])
def root(newton):
    compare(lambda a: float(newton(a)), lambda a: math.sqrt(a),
            [(1.0,), (2.0,), (50.0,), (1e-4,)], "a =")
    compare(lambda a: round(float(jvp(newton, (a,), (1.0,))[1]), 3),
            lambda a: round(0.5 / math.sqrt(a), 3), [(2.0,), (50.0,)], "the derivative at a =")
    compare(lambda a: np.asarray(vmap(newton)(a)), np.sqrt, [(np.array([4.0, 9.0], F),)],
            "vmap, at a =")
    names = [eqn.primitive.name for eqn in make_jaxpr(newton)(2.0).eqns]
    expect("while" in names, "the root should be found by a `while`; the primitives of your "
                             f"function are {', '.join(names[:5])}")


@exercise("9.4", "A choice for each example", ["_batch_predicate"], hints=[
    "Bring everything to the front: bdim_at_front(x, d, axis_data.size) for index and operands.",
    "All agree if the greatest index is the least one. Then that index goes to a switch, whose "
    "functions evaluate the batched branches.",
    "For each branch: batch it, with in_dims and out_dims all 0, and evaluate it on the operands.",
    "Then choose, for each result, by select_rows(index, *the results of the branches).",
    "An infinite derivative of a branch that is not chosen must not reach the operands: give it "
    "stop_gradient(x) there.",
], hole="lax.control_flow.cond._batch_predicate")
def choices(_batch_predicate):
    step = lambda i, x: lax.switch(i, [lax.sin, lax.neg, lambda x: lax.mul(x, 10.0)], x)
    want = lambda i, x: np.choose(i, [np.sin(x), -x, 10 * x])
    i = np.array([2, 0, 1])
    compare(lambda i, x: np.asarray(vmap(step)(i, x)), want, [(i, X)], "index and x")
    compare(lambda i, x: np.asarray(vmap(step, (0, None))(i, x)),
            lambda i, x: want(i, np.full(3, x)), [(i, F(0.5))], "index, and one x for all:")
    matrix = np.stack([X, 2 * X, 3 * X], 1)
    compare(lambda i, x: np.asarray(vmap(step, (0, 1))(i, x)), lambda i, x: want(i[:, None], x.T),
            [(i, matrix)], "index, and x batched along axis 1:")
    safe = lambda x: lax.cond(lax.gt(x, 0.0), lax.sqrt, lambda x: 0.0, x)
    slope = lambda x: grad(lambda x: lax.reduce_sum(vmap(safe)(x), (0,)))(x)
    compare(lambda x: np.asarray(slope(x)), lambda x: np.array([0.5, 0.0], F),
            [(np.array([1.0, 0.0], F),)],
            "the gradient of a sum of roots, where x > 0, at")
    for index in ([0, 0, 0], [1, 1, 1], [2, 2, 2]):
        compare(lambda i, x: np.asarray(vmap(step)(i, x)), want, [(np.array(index), X)],
                "index, all the same, and x")
    names = [eqn.primitive.name for eqn in make_jaxpr(vmap(step))(i, X).eqns]
    expect("cond" in names, "let a cond decide when the program runs whether all agree; "
           f"the primitives of vmap(switch) are {', '.join(names)}")
    for_ever = lambda x: lax.while_loop(lambda x: lax.eq(x, x), lambda x: lax.add(x, 1.0), x)
    careful = lambda i, x: lax.switch(i, [lax.neg, for_ever], x)
    compare(lambda i, x: np.asarray(vmap(careful)(i, x)), lambda i, x: -x, [(0 * i, X)],
            "a branch that never ends, and is not chosen; index and x")


@exercise("9.5", "There and back", ["scan_vjp"], hints=[
    "The first loop: lax.scan(lambda carry, x: (f(carry, x), carry), init, xs).",
    "A step of the second loop takes a cotangent, and the pair (carry, x) of the forward step.",
    "minijax.vjp(f, carry, x)[1](ct) is a pair: the next carry of the loop that runs back, and a "
    "result to stack up.",
])
def there_and_back(scan_vjp):
    steps = {
        "c + x": lambda c, x: lax.add(c, x), "c x": lambda c, x: lax.mul(c, x),
        "sin(c) x": lambda c, x: lax.mul(lax.sin(c), x), "x": lambda c, x: x,
        "c exp(c x)": lambda c, x: lax.mul(c, lax.exp(lax.mul(c, x))),
    }
    for name, f in steps.items():
        def expected(init, xs, ct, f=f):
            last, pullback = vjp(lambda c, xs: lax.scan(
                lambda c, x: (f(c, x), None), c, xs)[0], init, xs)
            return [np.asarray(out) for out in (last, *pullback(ct))]

        compare(lambda *args, f=f: [np.asarray(out) for out in scan_vjp(f, *args)], expected,
                [(F(0.5), X[:1], F(1)), (F(0.5), X, F(1)), (F(2), X / 4, F(-3))],
                f"f = {name}, and init, xs, ct =")
    closed = make_jaxpr(lambda c, xs, ct: scan_vjp(steps["sin(c) x"], c, xs, ct))(F(1), X, F(1))
    loops = [eqn for eqn in closed.eqns if eqn.primitive.name == "scan"]
    expect([eqn.params["reverse"] for eqn in loops] == [False, True],
           f"write two scans, the second of them in reverse; your program is\n{closed}")
    kept = sum(len(v.aval.shape) == 1 for v in loops[0].outvars)
    expect(kept == 1, f"keep the carry of each step, and nothing else; you keep {kept} numbers")
