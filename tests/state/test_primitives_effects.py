"""An effect on a reference names it: in each equation its operand, in each jaxpr its input."""

from __future__ import annotations

import pytest

import minijax
from minijax import numpy as jnp
from tests.oracle import both, in_both


def new(jx):
    return jx.new_ref(jx.numpy.zeros(3))


def write(ref, x):
    ref[0] = x


def plain(jx):
    def f(a, x, b):
        a[...] = x
        b[0] += a[1]
        return a[...]
    return f, (new(jx), jx.numpy.ones(3), new(jx))


def jitted(jx):
    f, args = plain(jx)
    return jx.jit(f), args


def closed_over(jx):
    a, b = new(jx), new(jx)

    def f(x):
        write(a, x)
        return b[0]
    return f, (1.0,)


def branches(jx):
    def f(a, b, x):
        return jx.lax.cond(x > 0, lambda: write(a, x), lambda: write(b, x))
    return f, (new(jx), new(jx), 1.0)


def while_loop(jx):
    def f(a, b, x):
        def body(c):
            write(a, c)
            jx.ref.addupdate(a, 1, c)
            return c + 1
        return jx.lax.while_loop(lambda c: (c < 3) & (b[0] < 1), body, x)
    return f, (new(jx), new(jx), 1.0)


def scan(jx):
    def f(x):
        ref = jx.new_ref(x)

        def body(c, i):
            ref[i] = c
            return c, c
        return jx.lax.scan(body, 1.0, jx.numpy.arange(3))
    return f, (jx.numpy.ones(3),)


def scan_argument(jx):
    def f(a, x):
        return jx.lax.scan(lambda c, y: (c + a[0], write(a, y)), x, jx.numpy.ones(2))
    return f, (new(jx), 1.0)


def checkpointed(jx):
    return jx.checkpoint(lambda a, x: a[0] * jx.numpy.sin(x)), (new(jx), 1.0)


def mapped(jx):
    def f(a, x):
        return jx.vmap(lambda r, y: r[0] * y, in_axes=(0, None))(a, x)
    return f, (jx.new_ref(jx.numpy.ones((2, 3))), 1.0)


def gradient(jx):
    def f(x):
        ref = jx.new_ref(x)
        ref[0] = ref[0] * 2
        return ref[...].sum()
    return jx.grad(f), (jx.numpy.ones(3),)


def gradient_of_jitted(jx):
    f, args = gradient(jx)
    return jx.jit(f), args


def frozen(jx):
    return lambda x: jx.freeze(jx.new_ref(x)), (1.0,)


PROGRAMS = [plain, jitted, closed_over, branches, while_loop, scan, scan_argument, checkpointed,
            mapped, gradient, gradient_of_jitted, frozen]


def described(effects, jaxpr):
    """The effects' classes and the places of their inputs; -1 for a reference made inside."""
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    places = {v: i for i, v in enumerate(inputs)}
    return sorted({f"{type(e).__name__} {places.get(getattr(e, 'input', None), -1)}"
                   for e in effects})


@pytest.mark.parametrize("make", PROGRAMS)
@in_both
def test_equations_and_jaxprs_have_the_effects_of_jax(jx, make):
    f, args = make(jx)
    closed = jx.make_jaxpr(f)(*args)
    jaxpr = closed.jaxpr
    return [described(jaxpr.effects, jaxpr),
            [described(eqn.effects, jaxpr) for eqn in jaxpr.eqns]]


@pytest.mark.parametrize("name", ["checkpoint", "jit", "scan", "while_loop"])
def test_inner_jaxprs_name_their_own_inputs(name):
    make = {"checkpoint": checkpointed, "jit": jitted, "scan": scan_argument,
            "while_loop": while_loop}[name]

    def program(jx):
        def effects():
            f, args = make(jx)
            eqn = jx.make_jaxpr(f)(*args).eqns[-1]
            jaxprs = [getattr(p, "jaxpr", p) for _, p in sorted(eqn.params.items())
                      if hasattr(p, "eqns") or hasattr(p, "jaxpr")]
            return [described(jaxpr.effects, jaxpr) for jaxpr in jaxprs]
        return effects

    both(program)


@in_both
def test_effects_are_printed_with_the_names_of_their_references(jx):
    x = 1.0
    closed = jx.make_jaxpr(lambda a, x: write(a, x))(new(jx), x)
    jaxpr = closed.jaxpr
    shown = [str(e).split("<")[0] for e in jaxpr.effects]
    return jaxpr.pretty_print(print_effects=True), shown


def test_a_copy_with_other_inputs_has_effects_on_them():
    jaxpr = minijax.make_jaxpr(lambda a: a[...])(new(minijax)).jaxpr
    (eqn,) = jaxpr.eqns
    var = type(eqn.invars[0])(eqn.invars[0].aval)
    copy = eqn.replace(invars=[var])
    assert [effect.input for effect in copy.effects] == [var]
    assert not jaxpr.replace(invars=[var]).effects
    assert [e.input for e in jaxpr.replace(invars=[var], eqns=[copy]).effects] == [var]


def test_a_jitted_function_that_closes_over_a_reference_is_traced_once():
    ref, traced = minijax.new_ref(jnp.zeros(3)), []

    @minijax.jit
    def f(x):
        traced.append(None)
        ref[...] += x
        return x

    for _ in range(3):
        f(1.0)
    assert len(traced) == 1
    assert ref[...].tolist() == [3, 3, 3]
