"""The tape of linear operations: what is on it, what is dropped, and what it does as an equation."""

from __future__ import annotations

import os

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.core.array import as_array
from minijax.core.partial_eval import dce_jaxpr, linearize_flat

if os.environ.get("MINIJAX_FAST") == "0":
    pytest.skip("there are no fast paths", allow_module_level=True)

from minijax.fast.rules import USES
from minijax.fast.tape import tape_p

X = np.linspace(0.1, 0.9, 5).astype(np.float32)


def repeated(f, *args):
    """The result of a call after the rules have been traced, which is also that of the first."""
    first = f(*args)
    for _ in range(USES + 2):
        again = f(*args)
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        assert a.aval == b.aval and np.array_equal(a, b, equal_nan=True)
    return again


def linear_program(f, *xs):
    """The linear program of a function that returns a list, after the rules have been traced."""
    for _ in range(USES + 3):
        _, closed, _ = linearize_flat(f, [*map(as_array, xs)])
    return closed


def steps(jaxpr):
    return [len(eqn.params["tape"].steps) if eqn.primitive is tape_p else eqn.primitive.name
            for eqn in jaxpr.eqns]


def test_operations_in_a_row_are_one_equation():
    closed = linear_program(lambda x: [lax.exp(lax.sin(x) * x)], X)
    assert steps(closed.jaxpr) == [3] and len(closed.consts) == 4


def test_another_equation_ends_a_tape():
    def f(x):
        y = jnp.sin(x) * 2.0
        z = jax.checkpoint(jnp.cos)(y)
        return [z * y + jnp.sin(y)]

    assert steps(linear_program(f, X).jaxpr) == [2, "remat2", 3]


def test_a_tangent_that_is_passed_on_is_no_step():
    assert steps(linear_program(lambda x: [x + 1.0], X).jaxpr) == []
    assert steps(linear_program(lambda x: [jnp.sin(x) + 1.0], X).jaxpr) == [1]


def test_dead_operations_and_their_residuals_are_dropped():
    def f(x, y):
        dead = jnp.exp(y) * y
        return [jnp.sin(x), lax.stop_gradient(dead)]

    closed = linear_program(f, X, X + 1)
    assert steps(closed.jaxpr) == [1] and len(closed.consts) == 1


@pytest.mark.parametrize("used", [(True, True), (True, False), (False, True), (False, False)])
def test_dead_results(used):
    def f(x, y):
        shared = x * y
        return [jnp.sin(shared), jnp.exp(x) * y]

    closed = linear_program(f, X, X + 1)
    pruned, used_inputs = dce_jaxpr(closed.jaxpr, used)
    kept = [i for i, is_used in enumerate(used) if is_used]
    assert used_inputs == [any(used)] * 2
    assert steps(pruned) == [n for n in [2 * used[0] + 2 * used[1]] if n]
    tangents = [as_array(X), as_array(X - 1)][:2 * any(used)]
    whole = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, as_array(X), as_array(X - 1))
    part = jax.core.eval_jaxpr(pruned, closed.consts, *tangents)
    for i, out in zip(kept, part, strict=True):
        assert np.array_equal(out, whole[i])


def mixed(x, y):
    """Operations of all kinds: on and off the tape, with inputs that both use."""
    a = jnp.sin(x) * y
    b = jax.checkpoint(lambda a: jnp.cos(a) * x)(a)
    c = lax.cond(True, jnp.sin, jnp.cos, b) + a
    d = lax.fori_loop(0, 2, lambda _, c: c * y, c)
    return jnp.sum(d * a + b[::-1] * x), (a, d)


def test_every_transformation_of_a_linear_function():
    x, y = jnp.asarray(X), jnp.asarray(X + 1)
    _, pull, _ = repeated_vjp(x, y)
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


def repeated_vjp(x, y):
    for _ in range(USES + 3):
        out = jax.vjp(mixed, x, y, has_aux=True)
    return out


def test_a_function_of_residuals():
    """The residuals are the leaves of what `vjp` returns, and may be traced, or replaced."""
    for _ in range(USES + 3):
        _, pull = jax.vjp(lambda x: jnp.sin(x) * x, jnp.asarray(X))
    residuals, tree = jax.tree.flatten(pull)
    assert [r.shape for r in residuals] == [(5,)] * 3
    ct = jnp.ones(5)
    assert np.array_equal(jax.jit(lambda pull, ct: pull(ct)[0])(pull, ct), pull(ct)[0])
    doubled = jax.tree.unflatten(tree, [2 * r for r in residuals])
    assert doubled(ct)[0].shape == (5,) and not np.array_equal(doubled(ct)[0], pull(ct)[0])


def test_cotangents_are_added_in_the_order_of_the_core():
    def f(x):
        y = x
        for i in range(1, 6):
            y = y * (x + np.float32(0.1) * i) + x
        return jnp.sum(y * x)

    repeated(jax.grad(f), jnp.asarray(X))
    repeated(jax.grad(lambda x: f(x) + mixed(x, x)[0]), jnp.asarray(X))
    repeated(jax.hessian(f), jnp.asarray(X))
    repeated(jax.vmap(jax.grad(f)), jnp.asarray(np.stack([X, X + 1])))


def test_cotangents_are_added_to_references():
    def f(x, y):
        return jnp.sum(jnp.sin(x) * y + x)

    def program():
        ref = jax.new_ref(jnp.ones(5))
        _, pull = jax.vjp(f, jnp.asarray(X), jnp.asarray(X + 1))
        return pull.with_refs(ref, jax.new_ref(jnp.zeros(5)))(jnp.float32(2)), ref[...]

    repeated(lambda: program()[1])
    assert np.allclose(program()[1], 1 + 2 * (np.cos(X) * (X + 1) + 1))


def test_infinities_give_no_warning(recwarn):
    repeated(jax.grad(lambda x: jnp.sum(jnp.log(x) / x)), jnp.zeros(3))
    assert not recwarn.list


def test_residuals_are_freed_with_the_linear_program():
    import gc
    import weakref
    for _ in range(USES + 3):
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
    repeated(f, jnp.zeros(3))
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(jnp.zeros(3))
