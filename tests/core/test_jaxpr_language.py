"""The kinds of functions that JAX's page on the jaxpr language explains, one of each, as text."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import in_both


def arithmetic(jx):
    return lambda x, y: jx.numpy.sum(x + jx.numpy.sin(y) * 3.0), (np.zeros(8, "f4"),) * 2


def function_argument(jx):
    def outer(inner, x, y):
        return jx.numpy.sum(x + inner(y) * 3.0)

    def inner(y):
        return jx.numpy.sin(y) if y.shape[0] > 4 else y  # decided while tracing

    return lambda x, y: outer(inner, x, y), (np.zeros(8, "f4"),) * 2


def pair_argument(jx):
    return (lambda pair: jx.numpy.sum(pair[0] + jx.numpy.sin(pair[1]) * 3.0),
            ((np.zeros(8, "f4"), np.ones(8, "f4")),))


def captured_array(jx):
    constant = jx.numpy.array([1.0, 2.0, 3.0])
    return lambda x: x * constant - jx.numpy.sin(constant), (np.ones(3, "f4"),)


def switch(jx):
    branches = [lambda x: x + 1.0, lambda x: x - 2.0, lambda x: x + 3.0]
    return lambda i, x: jx.lax.switch(i, branches, x), (np.int32(1), np.float32(5))


def cond(jx):
    return (lambda x: jx.lax.cond(x >= 0.0, lambda yes: yes + 3.0, lambda no: no - 3.0, x),
            (np.float32(5),))


def cond_of_pairs(jx):
    def f(x, pair):
        return jx.lax.cond(x >= 0.0, lambda yes: yes[0],
                           lambda no: jx.numpy.array([1]) + no[1], pair)

    return f, (np.float32(5), (np.zeros(1, "i4"), np.int32(2)))


def while_loop(jx):
    def f(x):
        return jx.lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * x), (0, x))

    return f, (np.float32(2),)


def fori_loop(jx):
    def f(x, n):
        ones = jx.numpy.ones(x.shape)
        return jx.lax.fori_loop(0, n, lambda i, c: c + ones * 3.0 + x, x + ones)

    return f, (np.ones(16, "f4"), 5)


def scan(jx):
    def f(xs, extra):
        ones = jx.numpy.ones(xs.shape)

        def body(carry, elements):
            a, b = elements
            return carry + a * b + extra, carry

        return jx.lax.scan(body, 0.0, (xs, ones))

    return f, (np.ones(16, "f4"), np.float32(5))


def inner_jit(jx):
    def f(x):
        @jx.jit
        def inner(y):
            return y + x * jx.numpy.ones(1)

        return x + inner(x - 2.0)

    return f, (np.float32(1),)


PROGRAMS = [arithmetic, function_argument, pair_argument, captured_array, switch, cond,
            cond_of_pairs, while_loop, fori_loop, scan, inner_jit]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@in_both
def test_text(jx, program):
    f, args = program(jx)
    return jx.make_jaxpr(f)(*args)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@in_both
def test_value_jitted_or_not(jx, program):
    f, args = program(jx)
    return (f(*args), jx.jit(f)(*args))
