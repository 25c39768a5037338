"""What is asked of the answers to chapter 10's exercises."""

from __future__ import annotations

import math

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import (
    checkpoint,
    checkpoint_policies,
    custom_vjp,
    grad,
    jvp,
    lax,
    make_jaxpr,
    vjp,
    vmap,
)
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
            [(X,), (0 * X,)], "the gradient at")
    compare(lambda x: float(jvp(safe_norm, (x,), (X,))[1]), lambda x: 5.0, [(X,)],
            "forwards, along (3, 4), at")
    compare(lambda x: np.asarray(vmap(grad(safe_norm))(x)), lambda x: np.stack([X / 5, 0 * X]),
            [(np.stack([X, 0 * X]),)], "the gradients of a batch, at")


@exercise("10.2", "Straight through", ["straight_through"], hints=[
    "@minijax.custom_vjp, and straight_through.defvjp(fwd, bwd).",
    "fwd returns the result and residuals, of which there are none: None.",
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
            lambda a: round(slope(a), 3), [(0.5,), (0.9,)], "the derivative by a, at")


def _solve(a):
    x = 0.5
    for _ in range(500):
        x = a * math.cos(x)
    return x


@exercise("10.4", "What a policy saves", ["choose_saved"], hints=[
    "Begin with the set of variables that are wanted, and walk the equations backwards.",
    "If none of an equation's results is needed, it does not concern us.",
    "If the policy allows it, save those of its results that are needed; else do it again, and "
    "need its operands.",
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


@exercise("10.5", "A map of which only the transpose is known", ["_jvp"], hints=[
    "A tangent is a symbolic zero if type(t) is Zero (minijax.core.forward).",
    "Run fwd_jaxpr_thunk, and cut its list into residuals and results.",
    "Bind custom_lin_p (minijax.custom_rules.vjp) on the residuals and the tangents that move.",
    "typeof(x).to_tangent_aval() is the type of the tangent of a result.",
], hole="custom_rules.vjp._jvp")
def linear(_jvp):
    from minijax.core import forward
    from minijax.custom_rules.vjp import custom_vjp_call_p

    f = custom_vjp(lambda x, y: lax.mul(x, y))
    f.defvjp(lambda x, y: (lax.mul(x, y), (x, y)),
             lambda res, ct: (lax.mul(ct, 10.0), lax.mul(lax.mul(ct, res[0]), 100.0)))
    before = forward.primitive_jvps[custom_vjp_call_p]
    forward.primitive_jvps[custom_vjp_call_p] = _jvp
    try:
        compare(lambda x, y: [float(t) for t in grad(f, (0, 1))(x, y)],
                lambda x, y: [10.0, 100.0 * x], [(2.0, 3.0)],
                "bwd = (10 ct, 100 x ct): the gradient at")
        compare(lambda x, y: float(grad(f, 1)(x, y)), lambda x, y: 100.0 * x, [(2.0, 3.0)],
                "the gradient by y only, at")
        compare(lambda x: np.asarray(vmap(grad(f), (0, None))(x, 3.0)), lambda x: 0 * x + 10,
                [(X,)], "the gradients of a batch of x, at")
        expect(float(f(2.0, 3.0)) == 6.0, "the value has changed")
    finally:
        forward.primitive_jvps[custom_vjp_call_p] = before
