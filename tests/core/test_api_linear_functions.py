"""Linear functions of `linearize` and `vjp` are trees of residuals, which can be traced and replaced."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax

X = np.linspace(0.1, 0.9, 5).astype(np.float32)


def mixed(x, y):
    """Operations of all kinds, and inputs that several use."""
    a = jnp.sin(x) * y
    b = jax.checkpoint(lambda a: jnp.cos(a) * x)(a)
    c = lax.cond(True, jnp.sin, jnp.cos, b) + a
    d = lax.fori_loop(0, 2, lambda _, c: c * y, c)
    return jnp.sum(d * a + b[::-1] * x), (a, d)


def test_every_transformation_of_a_linear_function():
    x, y = jnp.asarray(X), jnp.asarray(X + 1)
    _, pull, _ = jax.vjp(mixed, x, y, has_aux=True)
    ct = jnp.float32(2)
    expected = pull(ct)
    for out in (jax.jit(pull)(ct), [v[0] for v in jax.vmap(pull)(ct[None])],
                jax.jvp(pull, (ct,), (ct,))[1], jax.linearize(pull, ct)[1](ct)):
        for a, b in zip(out, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    _, push = jax.linearize(lambda x, y: mixed(x, y)[0], x, y)
    assert np.isclose(push(x, y), sum(jnp.vdot(g, t) for g, t in zip(pull(jnp.float32(1)), (x, y))))
    _, again = jax.vjp(push, x, y)
    for a, b in zip(again(ct), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_function_of_residuals():
    """The residuals are the leaves of what `vjp` returns, and may be traced, or replaced."""
    _, pull = jax.vjp(lambda x: jnp.sin(x) * x, jnp.asarray(X))
    residuals, tree = jax.tree.flatten(pull)
    assert [r.shape for r in residuals] == [(5,)] * 3
    ct = jnp.ones(5)
    assert np.array_equal(jax.jit(lambda pull, ct: pull(ct)[0])(pull, ct), pull(ct)[0])
    doubled = jax.tree.unflatten(tree, [2 * r for r in residuals])
    assert doubled(ct)[0].shape == (5,) and not np.array_equal(doubled(ct)[0], pull(ct)[0])


def test_cotangents_are_added_to_references():
    def f(x, y):
        return jnp.sum(jnp.sin(x) * y + x)

    ref = jax.new_ref(jnp.ones(5))
    _, pull = jax.vjp(f, jnp.asarray(X), jnp.asarray(X + 1))
    pull.with_refs(ref, jax.new_ref(jnp.zeros(5)))(jnp.float32(2))
    assert np.allclose(ref[...], 1 + 2 * (np.cos(X) * (X + 1) + 1))


def test_infinities_give_no_warning(recwarn):
    jax.grad(lambda x: jnp.sum(jnp.log(x) / x))(jnp.zeros(3))
    assert not recwarn.list


def test_residuals_are_freed_with_the_linear_program():
    _, pull = jax.vjp(lambda x: jnp.sin(x) * x, jnp.asarray(X))
    gc.collect()
    gc.disable()
    try:
        alive = [weakref.ref(r) for r in jax.tree.leaves(pull)]
        del pull
        assert [r() for r in alive] == [None] * 3
    finally:
        gc.enable()


def test_debug_nans_sees_the_steps():
    f = jax.grad(lambda x: jnp.sum(jnp.sqrt(x) * 0.0))
    f(jnp.zeros(3))
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(jnp.zeros(3))
