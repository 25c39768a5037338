"""The checks of chapter 16's exercises."""

from __future__ import annotations

import numpy as np
from learning.checking import compare, exercise, expect

import minijax
from minijax import grad, jit, make_jaxpr, nn, numpy as jnp, tree, vmap
from minijax.example_libraries import optimizers

F = np.float32
X = np.array([[0.5, -1.0], [2.0, 0.25], [0.0, 3.0]], F)
Y = np.array([1.0, -2.0, 0.5], F)


def line(p, x, y):
    return (jnp.tanh(p["w"] @ x) + p["b"] - y) ** 2


@exercise("16.1", "The length of each gradient", ["gradient_lengths"], hints=[
    "minijax.grad(loss) is the gradient for one example.",
    "minijax.vmap(…, (None, 0, 0)) takes one p, and all examples.",
    "Each leaf has the examples along its first dimension: sum the squares over the others.",
])
def lengths(gradient_lengths):
    def one_by_one(p, xs, ys):
        found = []
        for x, y in zip(xs, ys):
            leaves = tree.leaves(grad(line)(p, x, y))
            found.append(sum(float(jnp.sum(leaf ** 2)) for leaf in leaves) ** 0.5)
        return np.array(found, F)

    p = {"w": np.array([0.3, -0.2], F), "b": F(0.1)}
    compare(lambda p, xs, ys: np.asarray(gradient_lengths(line, p, xs, ys)), one_by_one,
            [(p, X[:1], Y[:1]), (p, X, Y)], "p, xs, ys =")
    text = str(make_jaxpr(lambda p, xs, ys: gradient_lengths(line, p, xs, ys))(
        p, np.ones((40, 2), F), np.ones(40, F)))
    expect(text.count("tanh") < 4, "each example is differentiated by itself; use vmap")


@exercise("16.2", "Descent with momentum", ["momentum"], hints=[
    "The carry of the scan is a pair: p, and the speed v, which is a pytree like p.",
    "minijax.tree.map(lambda v, slope: …, v, slopes) works on two trees.",
    "There is nothing to loop over: lax.scan(step, init, None, length=steps).",
])
def faster(momentum):
    def by_hand(p, steps, rate, decay):
        v = {name: np.zeros_like(x) for name, x in p.items()}
        for _ in range(steps):
            slopes = grad(valley)(p)
            v = {name: decay * v[name] + np.asarray(slopes[name]) for name in p}
            p = {name: (p[name] - rate * v[name]).astype(F) for name in p}
        return p

    valley = lambda p: jnp.sum(p["a"] ** 2) + 10.0 * (p["b"] - 1.0) ** 2
    p = {"a": np.array([1.0, -2.0], F), "b": F(0.0)}
    compare(lambda *args: tree.map(np.asarray, momentum(valley, *args)), by_hand,
            [(p, 1, 0.05, 0.9), (p, 2, 0.05, 0.9), (p, 30, 0.02, 0.5)], "p, steps, rate, decay =")
    sizes = [len(str(make_jaxpr(lambda p, n=n: momentum(valley, p, n, 0.1, 0.9))(p)))
             for n in (20, 90)]
    expect(sizes[0] == sizes[1], "the jaxpr grows with the number of steps; use lax.scan")


@exercise("16.3", "Attention, a row at a time", ["causal_attention"], hints=[
    "For one query, k @ query / sqrt(width) has a number for each place.",
    "Where a place is later than t, put -jnp.inf instead, and softmax gives it the weight 0.",
    "lax.map(row, (q, jnp.arange(length))) calls row with pairs of a query and its place.",
])
def looking_back(causal_attention):
    def all_pairs(q, k, v):
        fit = q @ k.T / np.sqrt(F(q.shape[1]))
        past = np.tri(len(q), dtype=bool)
        return np.asarray(nn.softmax(jnp.where(past, fit, -jnp.inf)) @ v)

    rng = np.random.default_rng(0)
    cases = [tuple(rng.normal(size=(3, n, d)).astype(F)) for n, d in ((2, 1), (5, 3), (9, 4))]
    compare(lambda q, k, v: np.asarray(causal_attention(q, k, v)), all_pairs, cases, "q, k, v =")
    closed = make_jaxpr(causal_attention)(*np.ones((3, 40, 2), F))
    largest = max(_sizes(closed.jaxpr))
    expect(largest <= 80, f"for a length of 40 and a width of 2, an array has {largest} elements")


def _sizes(jaxpr):
    """The numbers of elements of all results, also inside of loops and calls."""
    for eqn in jaxpr.eqns:
        yield from (int(np.prod(v.aval.shape)) for v in eqn.outvars)
        for closed in tree.leaves(list(eqn.params.values())):
            if hasattr(closed, "jaxpr"):
                yield from _sizes(closed.jaxpr)


@exercise("16.4", "Clipping that survives", ["clip_grads"], hints=[
    "Compare the square of the length with that of max_norm, so that no root is needed for short "
    "gradients.",
    "An infinity or a NaN in any leaf makes the sum of the squares not finite.",
    "0 times infinity is NaN. So choose the zeros by jnp.where, not by multiplication.",
    "The derivative of a root is infinite at 0, and jnp.where does not hide it. Give the root "
    "a harmless argument where its result is not used.",
], hole="example_libraries.optimizers.clip_grads")
def clipping(clip_grads):
    def want(g, limit):
        length = np.sqrt(sum(float(np.sum(x ** 2)) for x in g))
        if not np.isfinite(length):
            return [np.zeros_like(x) for x in g]
        return [x * F(min(1.0, limit / max(length, limit))) for x in g]

    run = lambda g, limit: [np.asarray(x) for x in optimizers.clip_grads(g, limit)]
    short, long = [np.array([0.3, 0.4], F)], [np.array([3.0, 0.0], F), np.array([[4.0]], F)]
    compare(run, want, [(short, 1.0), (long, 1.0), (long, 5.0), (long, 7.0)], "g, max_norm =")
    bad = [[np.array([np.nan, 1.0], F), np.array([2.0], F)], [np.array([-np.inf], F)]]
    compare(run, want, [(g, 1.0) for g in bad], "g, max_norm =")
    of_each = lambda g: jit(vmap(lambda g: optimizers.clip_grads(g, 1.0)))(g)
    compare(lambda g: [np.asarray(x) for x in of_each(g)],
            lambda g: [np.stack([want([row], 1.0)[0] for row in g[0]])],
            [([np.array([[3.0, 4.0], [np.nan, 0.0], [0.1, 0.1]], F)],)], "jit(vmap), and g =")
    slope = lambda x: grad(lambda x: jnp.sum(optimizers.clip_grads([x], 1.0)[0]))(x)
    compare(lambda x: np.asarray(slope(x)), lambda x: np.ones_like(x), [(np.zeros(2, F),)],
            "the derivative of the sum of the result, at")


@exercise("16.5", "Fewer gradients", ["leapfrog"], hints=[
    "Begin with half a step of the momentum and a whole step of q.",
    "Then steps - 1 times: a whole step of the momentum, and one of q.",
    "At the end, another half step of the momentum.",
    "minijax.grad(height)(q) is a pytree like q: minijax.tree.map.",
])
def rolling(leapfrog):
    def as_in_the_chapter(q, p, size, steps):
        for _ in range(steps):
            p = tree.map(lambda p, slope: p - size / 2 * slope, p, grad(height)(q))
            q = tree.map(lambda q, p: q + size * p, q, p)
            p = tree.map(lambda p, slope: p - size / 2 * slope, p, grad(height)(q))
        return tree.map(np.asarray, (q, p))

    height = lambda q: jnp.sum(q["x"] ** 2) / 2 + jnp.sin(q["y"]) * q["x"][0]
    q = {"x": np.array([1.0, -0.5], F), "y": F(0.3)}
    p = {"x": np.array([0.2, 0.0], F), "y": F(-1.0)}
    compare(lambda *args: tree.map(np.asarray, tuple(leapfrog(height, *args))), as_in_the_chapter,
            [(q, p, 0.1, 1), (q, p, 0.1, 2), (q, p, 0.05, 20)], "q, p, size, steps =")
    calls = []
    counting = lambda q: calls.append(1) or height(q)
    text = str(make_jaxpr(lambda q, p: leapfrog(counting, q, p, 0.1, 50))(q, p))
    expect("scan" in text or "while" in text, "the steps are to be a loop of lax")
    calls.clear()
    with minijax.disable_jit():
        leapfrog(counting, q, p, 0.1, 8)
    expect(len(calls) <= 9, f"for 8 steps, 9 gradients are enough; you compute {len(calls)}")

