"""`vmap` enters loops, branches and calls that use references with the references."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both, subject as jax

jnp = jax.numpy

X = np.array([1.0, -2.0, 3.0], np.float32)


def jitted(jx, a):
    r = jx.new_ref(a)

    @jx.jit
    def add(b):
        r[...] += b * a

    add(2.0), add(a)
    return jx.freeze(r)


def loop(jx, a):
    r = jx.new_ref(a)

    def step(i, c):
        r[...] += a * c
        return c + i

    return jx.lax.fori_loop(0, 3, step, a) + r[...]


def places(jx, a):
    r = jx.new_ref(jx.numpy.arange(3.0))

    def step(c, i):
        r[i] = c * a + r[(i + 1) % 3]
        return c * 2, r[0]

    return jx.lax.scan(step, 1.0, jx.numpy.arange(3))[1].sum() + r[...].sum()


def checkpointed(jx, a):
    @jx.checkpoint
    def g(b):
        r = jx.new_ref(b)
        r[...] *= a
        return r[...]

    return g(a * 2)


def own_places(jx, a):
    r, own = jx.new_ref(jx.numpy.arange(3.0)), jx.numpy.where(a > 0, 1, 2)

    def step(c, i):
        r[own] += c * a
        return c * 2, r[i]

    return jx.lax.scan(step, 1.0, jx.numpy.arange(3))[1].sum() + r[...].sum()


def made_in_a_loop(jx, a):
    def step(c, i):
        r = jx.new_ref(c)
        r[...] += i * a
        return r[...], None

    return jx.lax.scan(step, a, jx.numpy.arange(3.0))[0]


def own_branches(jx, a):
    r = jx.new_ref(a)

    def triple():
        r[...] = a * 3.0

    def double():
        r[...] += a

    jx.lax.cond(a > 0, triple, double)
    return r[...]


def one_branch(jx, a):
    r = jx.new_ref(a)

    def triple():
        r[...] = a * 3.0

    jx.lax.cond(jx.numpy.ones(2).sum() > 1, triple, lambda: None)
    return r[...]


def own_rounds(jx, a):
    r = jx.new_ref(a)

    def step(i):
        r[...] *= 2
        return i + 1.0

    jx.lax.while_loop(lambda i: i < jx.numpy.abs(a), step, 0.0)
    return r[...]


PROGRAMS = [jitted, loop, places, checkpointed, own_places, made_in_a_loop, own_branches, one_branch,
            own_rounds]


@pytest.mark.daily(3)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [0, 1])
def test_each_example_has_its_own_reference(program, axis):
    f = lambda a: program(jax, a)
    xs = jnp.stack([jnp.asarray(X), jnp.asarray(X) * 2], axis)
    expected = np.stack([[f(jnp.float32(a)) for a in X * k] for k in (1, 2)])
    for mapped in (jax.vmap(jax.vmap(f), axis), jax.jit(jax.vmap(jax.vmap(f), axis))):
        assert np.array_equal(mapped(xs), expected)
    if program is not own_rounds:
        slopes = np.stack([[jax.grad(f)(jnp.float32(a)) for a in X * k] for k in (1, 2)])
        assert np.array_equal(jax.vmap(jax.vmap(jax.grad(f)), axis)(xs), slopes)
        total = lambda xs: jax.vmap(jax.vmap(f), axis)(xs).sum()
        assert np.array_equal(jnp.moveaxis(jax.grad(total)(xs), axis, 0), slopes)


TRANSFORMS = {
    "vmap": lambda jx, f: jx.vmap(f),
    "vmap of jit": lambda jx, f: jx.vmap(jx.jit(f)),
    "jvp": lambda jx, f: lambda x: jx.jvp(jx.vmap(f), (x,), (x,)),
    "grad": lambda jx, f: jx.grad(lambda x: jx.vmap(f)(x).sum()),
    "vmap of grad": lambda jx, f: jx.vmap(jx.grad(f)),
}
# Derivatives of a checkpoint that makes references are discharged.
JAXPRS = [(program, name) for program in (jitted, loop, checkpointed) for name in TRANSFORMS
          if program is not checkpointed or name.startswith("vmap") and "grad" not in name]


@pytest.mark.parametrize(("program", "name"), JAXPRS)
@in_both
def test_jaxprs(jx, program, name):
    x = X
    return str(jx.make_jaxpr(TRANSFORMS[name](jx, lambda a: program(jx, a)))(x))


def test_a_shared_reference_takes_no_batched_value():
    def program(jx):
        def f(a):
            def step(i, c):
                r[...] = a
                return c
            return jx.lax.fori_loop(0, 2, step, a)

        r = jx.new_ref(jx.numpy.zeros(()))
        return jx.vmap(f)

    both(program, X, raises=Exception)
