"""The backward pass over references: in place, and with the text that JAX has."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from tests.oracle import both

XS = np.sin(np.arange(8, dtype=np.float32)) + np.arange(8, dtype=np.float32) / 4


def _filtered(jx):
    """A filter that reads two elements of a reference in each step, and keeps its state in one."""
    def f(xs):
        x, y = jx.new_ref(xs), jx.new_ref(0.0)

        def body(_, n):
            y[...] = 0.9 * (y[...] + x[n] - x[n - 1])
            return None, y[...]

        return jx.lax.scan(body, None, jx.numpy.arange(1, len(xs)))[1]

    return f


def _straight(jx):
    def f(xs):
        ref = jx.new_ref(xs)
        ref[0] = jx.numpy.sin(ref[1])
        ref[1:3] *= 2.0
        jx.ref.addupdate(ref, 3, ref[4] * ref[0])
        return (ref[...] * jx.freeze(ref)).sum()

    return f


def _carried(jx):
    def f(xs):
        ref = jx.new_ref(jx.numpy.zeros(8))

        def body(c, i):
            ref[i] += c * xs[i]
            return c * xs[i], ref[i]

        c, ys = jx.lax.scan(body, 1.0, jx.numpy.arange(8), reverse=True)
        return (ys**2).sum() + c * ref[...].sum()

    return f


def _shared_by_calls(jx):
    def f(xs):
        ref = jx.new_ref(xs)

        @jx.jit
        def g(ref, y):
            ref[...] = ref[...] * y
            return ref[0] + 1.0

        a = g(ref, xs[1])
        return a * g(ref, a) + ref[...].sum()

    return f


def _rows(jx):
    def f(xs):
        ref = jx.new_ref(xs.reshape(4, 2))

        def body(c, i):
            ref[i, 0] = ref[i, 1] * c
            return c + ref[i].sum(), None

        return jx.lax.scan(body, xs[0], jx.numpy.arange(4))[0] * ref[2, 1]

    return f


PROGRAMS = [_filtered, _straight, _carried, _shared_by_calls, _rows]
SUMMED = {
    "grad": lambda jx, f: jx.grad(lambda x: f(x).sum()),
    "grad of jit": lambda jx, f: jx.grad(jx.jit(lambda x: f(x).sum())),
    "jit of grad": lambda jx, f: jx.jit(jx.grad(lambda x: (f(x) ** 2).sum())),
    "jvp": lambda jx, f: lambda x: jx.jvp(f, (x,), (x,)),
    "jvp of grad": lambda jx, f: lambda x: jx.jvp(jx.grad(lambda x: f(x).sum()), (x,), (x,)),
    "linearize": lambda jx, f: lambda x: jx.linearize(f, x)[1](x),
}


@pytest.mark.parametrize("kind", SUMMED)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__[1:])
def test_values(f, kind):
    both(lambda jx: SUMMED[kind](jx, f(jx)), XS)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__[1:])
def test_texts_of_backward_passes(f):
    both(lambda jx: jx.make_jaxpr(jx.grad(lambda x: f(jx)(x).sum())), XS)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__[1:])
def test_the_second_derivative_is_symmetric(f):
    """JAX has no reverse mode over reverse mode for references."""
    def loss(xs):
        return (f(minijax)(xs) ** 2).sum()

    reverse = minijax.grad(lambda x: minijax.grad(loss)(x).sum())(XS)
    _, forward = minijax.jvp(minijax.grad(loss), (XS,), (np.ones_like(XS),))
    np.testing.assert_allclose(reverse, forward, rtol=1e-5)


def _taken(jx, ref, i):
    _, f_vjp = jx.vjp(jx.jit(lambda x, i: x[i]), jx.numpy.arange(10.0), np.int32(i))
    return f_vjp.with_refs(ref, jx.ad.GradValue())(1.0)


def test_a_part_is_added_in_place():
    def values(jx):
        def f(start):
            ref = jx.new_ref(start)
            for i in (3, 5, 3):
                _taken(jx, ref, i)
            return ref[...]

        return f

    def text(jx):
        return lambda start: jx.make_jaxpr(lambda ref: _taken(jx, ref, 3) and None)(
            jx.new_ref(start))

    both(values, np.zeros(10, np.float32))
    both(text, np.zeros(10, np.float32))


def test_a_slice_is_added_in_place():
    """JAX 0.10.2 fails here."""
    _, f_vjp = minijax.vjp(lambda x: x[2:6:2].sum(), jnp.arange(10.0))
    ref = minijax.new_ref(jnp.ones(10))
    text = str(minijax.make_jaxpr(lambda ref: f_vjp.with_refs(ref)(1.0) and None)(ref))
    assert "[2:6:2] += " in text
    f_vjp.with_refs(ref)(1.0)
    np.testing.assert_array_equal(ref[...], [1, 1, 2, 1, 2, 1, 1, 1, 1, 1])


def test_microbatches_add_to_one_reference():
    def program(jx):
        jnp = jx.numpy

        def loss(weights, xs):
            return jx.lax.scan(lambda x, w: (jnp.dot(x, w), None), xs, weights)[0].mean()

        def f(weights):
            total = jx.new_ref(jnp.zeros_like(weights))

            def step(_, xs):
                out, f_vjp = jx.vjp(lambda w: loss(w, xs), weights)
                f_vjp.with_refs(total)(jnp.ones_like(out))
                return (), out

            (), losses = jx.lax.scan(step, (), jnp.ones((5, 7, 4)))
            return jx.freeze(total), losses

        return f

    weights = np.ones((3, 4, 4), np.float32)
    both(program, weights)
    both(lambda jx: jx.make_jaxpr(program(jx)), weights)


def test_unwanted_cotangents_are_not_computed():
    def program(jx):
        def text(w, x):
            _, f_vjp = jx.vjp(lambda w, x: jx.numpy.sin(w @ x) + x, w, x)
            wanted = jx.ad.GradValue(), jx.ad.DontWant()
            return jx.make_jaxpr(lambda: f_vjp.with_refs(*wanted)(jx.numpy.ones(4)))()

        return lambda w, x: str(text(w, x)).count("dot_general")

    both(program, np.ones((4, 4), np.float32), np.ones(4, np.float32))


def test_an_index_that_selects_an_element_twice():
    """The derivative of a write is that of what stays; JAX counts both."""
    def f(x):
        ref = minijax.new_ref(jnp.zeros(3))
        ref[jnp.array([1, 1])] = x
        old = minijax.ref.swap(ref, jnp.array([1, 1, 0]), 2 * jnp.ones(3))
        return (old * jnp.array([1.0, 10.0, 100.0])).sum()

    np.testing.assert_array_equal(minijax.grad(f)(jnp.ones(2)), [0.0, 11.0])


def test_references_that_a_rule_fills_in_a_loop():
    def program(jx):
        @jx.custom_vjp
        def stash(ref, x):
            return x

        def bwd(ref, g):
            ref[...] = g
            return None, g

        stash.defvjp(lambda ref, x: (x, ref), bwd)

        def f(x):
            ref = jx.new_ref(jx.numpy.zeros(3))

            def loop(x, ref):
                def body(c, i):
                    return jx.numpy.sin(stash(ref, c * jx.numpy.ones(3)).sum()), None
                return jx.lax.scan(body, x, jx.numpy.arange(2))[0]

            return jx.grad(loop)(x, ref), ref[...]

        return f

    both(program, np.float32(1.0))
