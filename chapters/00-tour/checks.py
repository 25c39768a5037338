"""The checks of chapter 0's exercises."""

from __future__ import annotations

import numpy as np
from learning.checking import compare, exercise, expect

import minijax as jax
import minijax.numpy as jnp

F = np.float32
X = np.array([[1.0, 0.0], [1.0, 2.0], [0.0, 3.0]], F)
Y = np.array([1.0, 0.0, 2.0], F)


@exercise("0.1", "Slopes", ["slopes"], hints=[
    "jax.grad(f) is the derivative of f at one number.",
    "jax.vmap makes a function of one number a function of many.",
])
def many_slopes(slopes):
    for name, f, want in (("sin", jnp.sin, np.cos), ("x ** 3", lambda x: x**3, lambda x: 3 * x**2)):
        compare(lambda xs, f=f: slopes(f, xs), lambda xs, w=want: w(xs),
                [(np.array([0.5], F),), (np.array([0.0, 1.0, -2.0], F),)], f"f = {name}, xs =")


def _loss(w, x, y):
    return (jnp.dot(w, x) - y) ** 2


@exercise("0.2", "A gradient for each example", ["gradient_norms"], hints=[
    "jax.grad(loss) differentiates by the first argument.",
    "jax.vmap(..., in_axes=(None, 0, 0)): w is the same for all, x and y are not.",
    "The length of a vector is the root of the sum of its squares; mind the axis.",
])
def norms(gradient_norms):
    want = lambda w, xs, ys: np.abs(2 * (xs @ w - ys)) * np.linalg.norm(xs, axis=1)
    w = np.array([0.5, -1.0], F)
    compare(lambda w, xs, ys: gradient_norms(_loss, w, xs, ys), want,
            [(w, X[:1], Y[:1]), (w, X, Y)], "loss = (w · x - y)², and w, xs, ys =")


@exercise("0.3", "Descent in one loop", ["descend"], hints=[
    "jax.lax.scan(step, w, None, length=steps); step takes the carry and an element.",
    "step returns a pair: the new carry, and what is to be stacked up (None).",
    "The result of scan is a pair as well.",
])
def descent(descend):
    loss = lambda w: jnp.sum((w - 3.0) ** 2)
    want = lambda w, steps, rate: 3 + (w - 3) * F(1 - 2 * rate) ** steps
    cases = [(np.zeros(1, F), 1, 0.1), (np.zeros(2, F), 0, 0.1), (np.ones(2, F), 20, 0.25)]
    compare(lambda *args: descend(loss, *args), want, cases,
            "loss = the sum of (w - 3)², and w, steps, rate =")
    jaxpr = jax.make_jaxpr(lambda w: descend(loss, w, 100, 0.1))(np.zeros(1, F))
    names = [str(eqn.primitive) for eqn in jaxpr.eqns]
    expect("scan" in names and len(names) < 20,
           f"100 steps should be one `scan`; the jaxpr of yours has {len(names)} equations, "
           f"{', '.join(names[:4])} …")
