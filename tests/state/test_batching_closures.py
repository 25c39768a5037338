"""References that a mapped function closes over: all examples may read them, and none may write."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

X = np.arange(2, dtype=np.float32)


def add(ref, x):
    ref[...] += x


# Functions of a reference from outside, one of each example, and a number of each example.
READS = {
    "get": lambda jx, r, q, x: r[...] + x,
    "jit": lambda jx, r, q, x: jx.jit(lambda: r[...])() + x,
    "jit that writes": lambda jx, r, q, x: (jx.jit(lambda x: add(q, x + r[...]))(x), x)[1],
    "jit of no example": lambda jx, r, q, x: (jx.jit(lambda: add(q, r[...]))(), x)[1],
    "constant": lambda jx, r, q, x: (add(q, 1.0), x)[1],
    "swap": lambda jx, r, q, x: jx.ref.swap(q, ..., 1.0),
    "scan": lambda jx, r, q, x: jx.lax.scan(lambda c, _: (c + r[...], r[...]), x, length=2),
    "scan of no example": lambda jx, r, q, x: jx.lax.scan(
        lambda c, _: (c + r[...], r[...]), 0.0, length=2),
    "scan that writes": lambda jx, r, q, x: jx.lax.scan(
        lambda c, _: (add(q, r[...]), (c + 1, q[...]))[1], 0.0, length=2),
    "fori": lambda jx, r, q, x: jx.lax.fori_loop(0, 3, lambda i, c: c + r[...] * q[...], x),
    "checkpoint": lambda jx, r, q, x: jx.grad(jx.checkpoint(lambda y: y * r[...]))(x),
    "grad": lambda jx, r, q, x: jx.grad(lambda y: (add(q, r[...]), y * q[...])[1])(x),
    "new": lambda jx, r, q, x: (lambda p: (add(p, r[...]), add(p, x), p[...])[2])(jx.new_ref(0.0)),
    "new in jit": lambda jx, r, q, x: jx.jit(
        lambda: (lambda p: (add(p, r[...]), p[...])[1])(jx.new_ref(0.0)))() + x,
    "frozen": lambda jx, r, q, x: jx.freeze(jx.new_ref(r[...])) + x,
    "branch": lambda jx, r, q, x: jx.lax.cond(x > 0, lambda: 2.0, lambda: 0.0) + r[...],
    "vmap": lambda jx, r, q, x: jx.vmap(lambda y: y * r[...] * q[...])(jx.numpy.ones(3)),
    "map": lambda jx, r, q, x: jx.lax.map(
        lambda y: (add(q, y), y * r[...])[1], jx.numpy.ones(3)),
}
WRITES = {
    "set": lambda jx, r, q, x: r.__setitem__(..., 1.0),
    "add": lambda jx, r, q, x: jx.ref.addupdate(r, ..., 1.0),
    "swap": lambda jx, r, q, x: jx.ref.swap(r, ..., r[...] + 1),
    "of each example": lambda jx, r, q, x: add(r, x),
    "jit": lambda jx, r, q, x: jx.jit(lambda: add(r, 1.0))(),
    "jit of an example": lambda jx, r, q, x: jx.jit(lambda x: add(r, 1.0))(x),
    "jit of a reference": lambda jx, r, q, x: jx.jit(lambda r: add(r, 1.0))(r),
    "jit in jit": lambda jx, r, q, x: jx.jit(jx.jit(lambda: add(r, 1.0)))(),
    "scan": lambda jx, r, q, x: jx.lax.scan(lambda c, _: (add(r, 1.0), (c, c))[1], 0.0, length=2),
    "fori": lambda jx, r, q, x: jx.lax.fori_loop(0, 2, lambda i, c: (add(r, 1.0), c)[1], x),
    "while": lambda jx, r, q, x: jx.lax.while_loop(
        lambda i: i < 2, lambda i: (add(r, 1.0), i + 1)[1], 0),
    "vmap": lambda jx, r, q, x: jx.vmap(lambda y: (add(r, 1.0), y)[1])(jx.numpy.ones(3)),
    "vmap of it": lambda jx, r, q, x: jx.vmap(lambda q: (add(q, 1.0), 1)[1], in_axes=None,
                                              axis_size=2)(q),
    "grad": lambda jx, r, q, x: jx.grad(lambda y: (add(r, 1.0), y * y)[1])(x),
    "checkpoint": lambda jx, r, q, x: jx.checkpoint(lambda y: (add(r, 1.0), y * y)[1])(x),
    "batches": lambda jx, r, q, x: jx.lax.map(
        lambda y: (add(r, 1.0), y)[1], jx.numpy.ones(4), batch_size=2),
}
ROADS = {
    "vmap": lambda jx, f: jx.vmap(f),
    "jit of vmap": lambda jx, f: jx.jit(jx.vmap(f)),
    "vmap of jit": lambda jx, f: jx.vmap(jx.jit(f)),
    "a named axis": lambda jx, f: jx.vmap(f, axis_name="i"),
    "vmap of jit of nothing": lambda jx, f: jx.vmap(lambda *args: jx.jit(lambda: f(*args))()),
}


def program(fun, road):
    def on_references(jx):
        def call():
            outer, own = jx.new_ref(np.float32(3)), jx.new_ref(X)
            out = ROADS[road](jx, lambda q, x: fun(jx, outer, q, x))(own, X)
            return out, outer[...], own[...]

        return call

    return on_references


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("row", READS)
def test_reading(row, road):
    both(program(READS[row], road))


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("row", WRITES)
def test_writing_is_refused(row, road):
    both(program(WRITES[row], road), raises=Exception)


@pytest.mark.parametrize("transform", ["jacfwd", "hessian", "vectorize"])
def test_functions_that_map(transform):
    def count(jx):
        def call(x):
            calls = jx.new_ref(0)
            of_module = {"vectorize": jx.numpy}.get(transform, jx)
            return getattr(of_module, transform)(lambda x: (add(calls, 1), x * x)[1])(x)

        return call

    both(count, X, raises=Exception)


@in_both
def test_a_pullback_maps_no_function(jx):
    x = X
    calls = jx.new_ref(0)
    return jx.jacrev(lambda x: (add(calls, 1), x * x)[1])(x), calls[...]
