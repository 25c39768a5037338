"""Where a jitted function's references from outside stand among the operands of its equation."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

X = np.arange(1, 5, dtype=np.float32)


def reads_and_writes(jx):
    """A function of two arguments that closes over two references and two arrays."""
    jnp = jx.numpy
    first, second = jx.new_ref(jnp.ones(4)), jx.new_ref(jnp.zeros(3))
    a, b = jnp.arange(4.0), jnp.arange(4.0) * 2

    def f(x, y):
        z = a * x + second[0]
        first[...] = x * y + b
        return x + z

    return f, first


def reads(jx):
    """The same without writes, so that it can be differentiated and mapped."""
    ref, a = jx.new_ref(jx.numpy.ones(3)), jx.numpy.arange(4.0)
    return lambda x, y: a * x + ref[0] * y


def nested(jx):
    f = reads(jx)
    return jx.jit(lambda x, y: jx.jit(f)(x, y) * 2)


def beside_a_tracer(jx):
    f = reads(jx)
    return lambda x, y: jx.jit(lambda z: f(x, z))(y)


def in_a_scan(jx):
    f = reads(jx)
    return lambda x, y: jx.lax.scan(lambda c, v: (c, jx.jit(f)(c, v)), x,
                                    y * jx.numpy.ones((2, 1)))[1]


def twice(jx):
    f = jx.jit(reads_and_writes(jx)[0])
    return lambda x, y: f(x, y) + f(y, x)


PROGRAMS = {
    "jit": lambda jx: jx.jit(reads_and_writes(jx)[0]),
    "donated": lambda jx: jx.jit(reads_and_writes(jx)[0], donate_argnums=0),
    "grad": lambda jx: jx.grad(lambda x, y: jx.jit(reads(jx))(x, y).sum(), (0, 1)),
    "nested": nested, "beside a tracer": beside_a_tracer, "scan": in_a_scan, "twice": twice,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_text_is_that_of_jax(program):
    both(lambda jx: jx.make_jaxpr(PROGRAMS[program](jx)), X, 2 * X)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_values_are_those_of_jax(program):
    both(lambda jx: PROGRAMS[program](jx), X, 2 * X)


@in_both
def test_the_parameters_move_with_the_operands(jx):
    f = jx.jit(reads_and_writes(jx)[0], donate_argnums=1)
    x, y = X, X
    return jx.make_jaxpr(f)(x, y).eqns[0].params["donated_invars"]


@in_both
def test_what_is_written(jx):
    f, ref = reads_and_writes(jx)
    x, y = X, 2 * X
    out = jx.jit(f)(x, y)
    jx.jit(lambda x: jx.jit(f)(x, y))(x * 3)
    return out, ref[...]
