"""A loop whose condition reads or writes a reference. JAX refuses some of these loops, and in others
its condition sees the contents from before the loop, or its last write is lost; so each is compared
with a loop of Python's."""

from __future__ import annotations

import numpy as np
import pytest

import minijax as jax
from minijax import lax, numpy as jnp


def add(ref, x):
    ref[...] += x


def python_loop(cond, body, x):
    while cond(x):
        x = body(x)
    return x


# Each has two references with the same first contents.
LOOPS = {
    "both read, neither changed": lambda loop, a, b: loop(
        lambda c: c < 2 * a[...], lambda c: c + b[...] * 0 + 1, 0.0),
    "one read, another changed": lambda loop, a, b: loop(
        lambda c: (c < 2 * a[...]) & (c < 10), lambda c: (add(b, 1.0), c + 1)[1], 0.0),
    "the changed one read": lambda loop, a, b: loop(
        lambda c: (c < 2 * b[...]) & (c < 10), lambda c: (add(b, 1.0), c + 1)[1], 0.0),
    "read where it is changed": lambda loop, a, b: loop(
        lambda c: c < 2 * a[...], lambda c: (add(a, -1.0), c + a[...] * 0 + 1)[1], 0.0),
    "each by the other": lambda loop, a, b: loop(
        lambda c: c < a[...] + b[...],
        lambda c: (add(a, -1.0), add(b, a[...] * 0.25), c + 1)[2], 0.0),
    "the condition writes": lambda loop, a, b: loop(
        lambda c: (add(a, 1.0), c < 3)[1], lambda c: c + b[...] * 0 + 1, 0.0),
    "the condition writes, the body reads": lambda loop, a, b: loop(
        lambda c: (add(a, b[...]), c < 100)[1], lambda c: c + a[...], 0.0),
    "both write": lambda loop, a, b: loop(
        lambda c: (add(a, 1.0), c + a[...] < 20)[1], lambda c: (add(a, a[...]), c + 1)[1], 0.0),
    "each writes what the other reads": lambda loop, a, b: loop(
        lambda c: (add(a, b[...]), c + a[...] < 90)[1],
        lambda c: (add(b, a[...] * 0.5), c + 1)[1], 0.0),
    "no round": lambda loop, a, b: loop(
        lambda c: (add(a, 1.0), c < -a[...])[1], lambda c: (add(b, 1.0), c + 1)[1], 0.0),
}
ROADS = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "jit in jit": lambda f: jax.jit(jax.jit(f)),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (np.float32(1),))[0],
    "jvp of jit": lambda f: lambda x: jax.jvp(jax.jit(f), (x,), (np.float32(1),))[0],
    "linearize": lambda f: lambda x: jax.linearize(f, x)[0],
    "vmap": lambda f: lambda x: [y[1] for y in jax.vmap(f)(jnp.stack([x, x]))],
    "vmap of jit": lambda f: lambda x: [y[1] for y in jax.vmap(jax.jit(f))(jnp.stack([x, x]))],
    "scan": lambda f: lambda x: [y[1] for y in lax.scan(lambda c, _: (c, f(c)), x, length=2)[1]],
    "checkpoint": jax.checkpoint,
    "branch": lambda f: lambda x: lax.cond(x > 0, f, f, x),
}


@pytest.mark.daily(3)
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("row", LOOPS)
def test_against_a_loop_of_python(row, road):
    def run(loop):
        def call(x):
            a, b = jax.new_ref(x), jax.new_ref(x)
            return LOOPS[row](loop, a, b), a[...], b[...]

        return call

    want = run(python_loop)(jnp.float32(3))
    assert [*map(float, ROADS[road](run(lax.while_loop))(jnp.float32(3)))] == [*map(float, want)]


@pytest.mark.parametrize("road", ["eager", "jit", "scan"])
def test_references_from_outside(road):
    for row, loop in LOOPS.items():
        refs = [jax.new_ref(jnp.float32(3)) for _ in range(2)]
        expected = [jax.new_ref(jnp.float32(3)) for _ in range(2)]
        call = lambda: loop(lax.while_loop, *refs)
        if road == "scan":
            lax.scan(lambda c, _: (call(), None), jnp.float32(0), length=1)
        else:
            ROADS[road](call)()
        loop(python_loop, *expected)
        assert [float(r[...]) for r in refs] == [float(r[...]) for r in expected], row


@pytest.mark.parametrize("row", [row for row in LOOPS if "write" in row])
def test_derivatives(row):
    """Forward mode, where each example has a loop of its own length."""
    def run(loop, x):
        a, b = jax.new_ref(x), jax.new_ref(x * x)
        return LOOPS[row](loop, a, b) * x, a[...], b[...]

    slopes = lambda loop: lambda x: jax.jvp(lambda x: run(loop, x), (x,), (1.0,))
    xs = jnp.array([3.0, 1.5, 2.0])
    want = [jax.tree.leaves(slopes(python_loop)(x)) for x in xs]
    for ours in (jax.vmap(slopes(lax.while_loop)), jax.jit(jax.vmap(slopes(lax.while_loop)))):
        np.testing.assert_allclose(jax.tree.leaves(ours(xs)), np.transpose(want), 1e-5)


def test_a_rule_of_derivatives_that_closes_over_a_reference_in_jit():
    def f(x):
        ref = jax.new_ref(jnp.float32(3))
        g = jax.custom_jvp(lambda y: y * ref[...])
        g.defjvps(lambda t, ans, y: t * 2)
        return g(x)

    assert float(jax.jit(f)(jnp.float32(2))) == 6
