"""The checks of chapter 10's exercises."""

from __future__ import annotations

import math

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import (
    checkpoint,
    checkpoint_policies,
    grad,
    jvp,
    lax,
    make_jaxpr,
    vjp,
    vmap,
)
from minijax.core.jaxpr import jaxprs_in_params
from minijax.remat import everything_saveable, nothing_saveable
from minijax.tree_util import tree_leaves

F = np.float32
X = np.array([3.0, 4.0], F)


@exercise("10.1", "A norm that is smooth enough", ["safe_norm"], hints=[
    "@minijax.custom_jvp above the function, and @safe_norm.defjvp above its rule.",
    "The tangent is the sum of x * x_dot, divided by the norm.",
    "Divide by lax.select(norm > 0, norm, 1): then zero is divided by one.",
])
def norm(safe_norm):
    compare(lambda x: float(safe_norm(x)), lambda x: float(np.linalg.norm(x)), [(0 * X,), (X,)],
            "x =")
    compare(lambda x: np.asarray(grad(safe_norm)(x)), lambda x: x / max(1e-9, np.linalg.norm(x)),
            [(X,), (0 * X,), (F(1e-7) * X,)], "the gradient at")
    compare(lambda x: float(jvp(safe_norm, (x,), (X,))[1]), lambda x: 5.0, [(X,)],
            "forwards, along (3, 4), at")
    compare(lambda x: np.asarray(vmap(grad(safe_norm))(x)), lambda x: np.stack([X / 5, 0 * X]),
            [(np.stack([X, 0 * X]),)], "the gradients of a batch, at")


@exercise("10.2", "Straight through", ["straight_through"], hints=[
    "@minijax.custom_vjp, and straight_through.defvjp(fwd, bwd).",
    "fwd returns the result and the residuals: None, because bwd needs nothing.",
    "bwd takes the residuals and the cotangent, and returns a tuple with a cotangent.",
])
def rounding(straight_through):
    compare(lambda x: float(straight_through(x)), lambda x: float(np.round(x)),
            [(0.4,), (-1.6,)], "x =")
    compare(lambda x: float(grad(lambda x: lax.mul(straight_through(x), 3.0))(x)), lambda x: 3.0,
            [(0.4,), (-1.6,)], "the gradient of 3 straight_through(x) at")


@exercise("10.3", "A fixed point", ["fixed_point"], hints=[
    "The x with x = f(a, x) is a root of g(x) = x - f(a, x).",
    "lax.custom_root(g, x0, solve, tangent_solve): solve(g, x0) finds the root, by a while_loop.",
    "One step of the iteration is x = x - g(x).",
    "tangent_solve(g, y) solves a linear equation of one number: y / g(1.0).",
])
def fixed(fixed_point):
    f = lambda a, x: lax.mul(a, lax.cos(x))
    solve = lambda a: _solve(a)
    compare(lambda a: round(float(fixed_point(f, a, 0.5)), 4), lambda a: round(solve(a), 4),
            [(0.5,), (0.9,)], "f = a cos(x), a =")
    slope = lambda a: math.cos(solve(a)) / (1 + a * math.sin(solve(a)))
    compare(lambda a: round(float(grad(lambda a: fixed_point(f, a, 0.5))(a)), 3),
            lambda a: round(slope(a), 3), [(0.5,), (0.9,)], "the derivative with respect to a, at")
    names = list(_primitives(make_jaxpr(grad(lambda a: fixed_point(f, a, 0.5)))(0.5).jaxpr))
    expect(names.count("while") == 1 and len(names) < 60,
           "the iteration should be one `while`, and the derivative should not go through its "
           f"steps; the jaxpr of your gradient has {names.count('while')} `while`s and "
           f"{len(names)} equations")


def _primitives(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in jaxprs_in_params(eqn.params):
            yield from _primitives(inner)


def _solve(a):
    x = 0.5
    for _ in range(500):
        x = a * math.cos(x)
    return x


@exercise("10.4", "What a policy saves", ["choose_saved"], hints=[
    "Begin with the set of variables that are wanted, and walk the equations backwards.",
    "If none of an equation's results is needed, skip it.",
    "If the policy allows it, save those of its results that are needed. Else the equation is done "
    "again, and its operands are needed. A broadcast_in_dim is always done again.",
], hole="remat.choice.choose_saved")
def policies(choose_saved):
    jaxpr = make_jaxpr(lambda x: lax.exp(lax.sin(lax.cos(x))))(1.0).jaxpr
    made = lambda variables: [str(_maker(jaxpr, v)) for v in variables]
    names = lambda out: (made(out[1]), [str(e.primitive) for e in out[2]])
    only = lambda *allowed: lambda primitive, *_, **__: primitive.name in allowed
    cases = [("everything", everything_saveable, (["exp"], [])),
             ("nothing", nothing_saveable, ([], ["cos", "sin", "exp"])),
             ("cos", only("cos"), (["cos"], ["sin", "exp"])),
             ("sin", only("sin"), (["sin"], ["exp"]))]
    for name, policy, want in cases:
        compare(lambda j, p=policy: names(choose_saved(j, j.outvars, p)),
                lambda j, w=want: w, [(jaxpr,)],
                f"the policy that saves {name}, all results wanted, and the jaxpr")
    product = make_jaxpr(lambda x: lax.mul(lax.sin(x), lax.cos(x)))(1.0).jaxpr
    part = make_jaxpr(lambda x: lax.exp(lax.split(x, (2, 1, 1), 0)[1]))(np.ones(4, F)).jaxpr
    for name, jaxpr, want in (("sin and cos", product, (["sin", "cos"], ["mul"])),
                              ("split", part, (["split"], ["exp"]))):
        compare(lambda j: names(choose_saved(j, j.outvars, only("sin", "cos", "split"))),
                lambda j, w=want: w, [(jaxpr,)],
                f"the policy that saves {name}, all results wanted, and the jaxpr")
    jaxpr = make_jaxpr(lambda x: lax.mul(lax.integer_pow(x, 2), lax.integer_pow(x, 3)))(1.0).jaxpr
    squares = lambda primitive, *_, **params: params.get("y") == 2
    compare(lambda j: names(choose_saved(j, j.outvars, squares)),
            lambda j: (["integer_pow"], ["integer_pow", "mul"]), [(jaxpr,)],
            "the policy that saves x² (by its parameter y), all results wanted, and the jaxpr")
    jaxpr = make_jaxpr(lambda x: lax.exp(lax.broadcast_in_dim(lax.cos(x), (3,), ())))(1.0).jaxpr
    for name, policy, want in (
            ("everything but exp", only("cos", "broadcast_in_dim"),
             (["cos"], ["broadcast_in_dim", "exp"])),
            ("broadcast_in_dim", only("broadcast_in_dim"),
             ([], ["cos", "broadcast_in_dim", "exp"]))):
        compare(lambda j, p=policy: names(choose_saved(j, j.outvars, p)),
                lambda j, w=want: w, [(jaxpr,)],
                f"the policy that saves {name}, all results wanted, and the jaxpr")
    f = lambda w, x: lax.sin(lax.dot(w, lax.sin(lax.dot(w, x))))
    for policy, want in ((None, [(2,), (2, 2)]),
                         (checkpoint_policies.dots_saveable, [(2,), (2,), (2,), (2, 2)])):
        compare(lambda w, x, p=policy: _saved(checkpoint(f, policy=p), w, x),
                lambda w, x, want=want: want, [(np.eye(2, dtype=F), X)],
                f"policy {policy}, w and x")


def _maker(jaxpr, v):
    return next(eqn.primitive for eqn in jaxpr.eqns if v in eqn.outvars)


def _saved(f, *args):
    return sorted(np.shape(leaf) for leaf in tree_leaves(vjp(f, *args)[1]))


@exercise("10.5", "A way back that needs no map", ["reversible"], hints=[
    "@custom_vjp on a function of x that applies f in a Python loop.",
    "The forward rule returns the result twice: as the result, and as what is kept.",
    "The backward rule does this for each step: y = f_inverse(y) is the value before the step, and "
    "minijax.vjp(f, y)[1](ct) has the cotangent of that value.",
    "The backward rule returns a tuple.",
])
def turning_back(reversible):
    affine = (lambda x: lax.sub(lax.mul(x, 2.0), 1.0), lambda y: lax.mul(lax.add(y, 1.0), 0.5))
    curved = (_cubic, _cubic_root)
    for name, (f, f_inverse), steps in (("2 x - 1", affine, 0), ("2 x - 1", affine, 1),
                                        ("2 x - 1", affine, 5), ("x + x³/10", curved, 3)):
        chain = lambda x, f=f, n=steps: x if n == 0 else chain(f(x), n=n - 1, f=f)
        what = f"f(x) = {name}, {steps} steps; "
        mine = lambda x, f=f, g=f_inverse, n=steps: reversible(f, g, n)(x)
        compare(lambda x: np.asarray(mine(x)), lambda x: np.asarray(chain(x)), [(X / 4,)],
                what + "the value at")
        total = lambda g: grad(lambda x: lax.reduce_sum(g(x), (0,)))
        compare(lambda x: np.asarray(total(mine)(x)), lambda x: np.asarray(total(chain)(x)),
                [(X / 4,)], what + "the gradient of the sum at")
    kept = _saved(reversible(*curved, 3), X / 4)
    expect(kept == [(2,)], "the gradient should keep one vector of two numbers, the result; yours "
           f"keeps arrays of the shapes {kept}")


def _cubic(x):
    return lax.add(x, lax.mul(0.1, lax.mul(x, lax.mul(x, x))))


def _cubic_root(y):
    """The x with x + x³/10 = y, by Newton's method."""
    x = y
    for _ in range(8):
        slope = lax.add(lax.mul(lax.mul(x, x), 0.3), 1.0)
        x = lax.sub(x, lax.div(lax.sub(_cubic(x), y), slope))
    return x
