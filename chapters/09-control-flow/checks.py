"""What is asked of the answers to chapter 9's exercises."""

from __future__ import annotations

import math

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import grad, jacrev, jvp, lax, vmap

F = np.float32
X = np.array([0.5, -1.0, 2.0], F)


@exercise("9.1", "The fixpoint of a round", ["my_fixpoint"], hints=[
    "One round: a carry has a tangent afterwards if one of those has that it is computed from.",
    "A carry that had one keeps it. Repeat until a round changes nothing.",
])
def fixpoints(my_fixpoint):
    cases = [([[0]], [True]), ([[0], [0, 1]], [True, False]), ([[0], [0, 1]], [False, True]),
             ([[1], [2], [2]], [False, False, True]), ([[], [0]], [True, False]),
             ([[3], [0], [1], [2]], [False, False, True, False])]
    wants = [[True], [True, True], [False, True], [True] * 3, [True, True], [True] * 4]
    for case, want in zip(cases, wants):
        compare(lambda d, s: [*map(bool, my_fixpoint(d, s))], lambda d, s, w=want: w, [case],
                "depends, start")


@exercise("9.2", "What scan means", ["scan_by_hand"], hints=[
    "carry, y = f(carry, xs[i]) for each i in its turn.",
    "In reverse the steps go from the last element to the first, but y[i] still stands at i.",
])
def meaning(scan_by_hand):
    f = lambda c, x: (lax.add(lax.mul(c, 2.0), x), lax.mul(c, x))
    for reverse in (False, True):
        compare(lambda c, xs, r=reverse: tuple(map(np.asarray, scan_by_hand(f, c, xs, r))),
                lambda c, xs, r=reverse: tuple(map(np.asarray, lax.scan(f, c, xs, reverse=r))),
                [(F(1), X[:1]), (F(1), X)], f"reverse={reverse}, init, xs =")


@exercise("9.3", "A loop with a derivative", ["newton"], hints=[
    "lax.while_loop(condition, body, init): both functions take the carry, here one number.",
    "Both may use `a` from outside: it becomes a constant of the loop, and has a tangent, too.",
    "Use lax.mul, lax.div, lax.add, lax.sub, lax.abs, lax.gt: there is no jnp yet in this chapter.",
])
def root(newton):
    compare(lambda a: float(newton(a)), lambda a: math.sqrt(a), [(1.0,), (2.0,), (50.0,)], "a =")
    compare(lambda a: round(float(jvp(newton, (a,), (1.0,))[1]), 3),
            lambda a: round(0.5 / math.sqrt(a), 3), [(2.0,), (50.0,)], "the derivative at a =")
    compare(lambda a: np.asarray(vmap(newton)(a)), np.sqrt, [(np.array([4.0, 9.0], F),)],
            "vmap, at a =")


@exercise("9.4", "A choice for each example", ["_batch_predicate"], hints=[
    "Bring everything to the front: bdim_at_front(x, d, axis_data.size) for index and operands.",
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
            [(np.array([1.0, 0.0], F),)], "the gradient of a sum of roots, where x > 0, at")


@exercise("9.5", "A step backwards", ["_transposed_body"], hints=[
    "backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, cts, sums=...) does the work.",
    "Its operands: in the order of jaxpr.in_avals, UndefinedPrimal(aval) where linear, else the "
    "next of the known ones (consts first, xs last).",
    "Its cts: those of the carry, then for each y its cotangent or Zero(aval).",
    "Its sums: for the linear consts what has been summed so far, None for the others.",
    "Return instantiate_zeros(ct) for the linear arguments only.",
], hole="lax.control_flow.scan_reverse._transposed_body")
def backwards(_transposed_body):
    total = lambda x: lax.reduce_sum(x, tuple(range(np.ndim(x))))
    programs = {
        "a sum (xs only)": lambda x: lax.scan(lambda c, a: (lax.add(c, a), None), 0.0, x)[0],
        "a power (a constant)": lambda x: total(lax.scan(
            lambda c, _: (lax.mul(c, x), None), np.ones(3, F), None, length=3)[0]),
        "all of it": lambda x: total(lax.scan(
            lambda c, a: (lax.mul(c, lax.sin(a)), lax.mul(c, a)), lax.slice(x, (0,), (1,)), x)[1]),
    }
    wants = [np.ones(3, F), 3 * X**2, None]
    for (name, f), want in zip(programs.items(), wants):
        if want is None:
            want = np.asarray(jacrev(_written_out)(X))
        compare(lambda x, f=f: np.asarray(grad(f)(x)), lambda x, w=want: w, [(X,)],
                f"the gradient of {name}, at")
    expect(np.isfinite(np.asarray(jacrev(grad(programs["all of it"]))(X))).all(),
           "the second derivative fails")


def _written_out(x):
    """The third program without a scan."""
    carry, total = lax.squeeze(lax.slice(x, (0,), (1,)), (0,)), 0.0
    for i in range(3):
        a = lax.squeeze(lax.slice(x, (i,), (i + 1,)), (0,))
        total = lax.add(total, lax.mul(carry, a))
        carry = lax.mul(carry, lax.sin(a))
    return total
