"""References under `vmap`, where each example has an index of its own, or loops over a reference.

The jaxprs are JAX's, in which the index of all examples is an array. The values are those of a loop
over the examples: JAX's differ where it drops a write out of bounds, and where it mixes up axes.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.oracle import both, in_both, subject as jax

jnp = jax.numpy
SHAPE, FIXED = (3, 4, 5), np.array([2, 0])
CONTENTS = np.arange(180, dtype=np.float32).reshape(3, *SHAPE)
NUMBERS, ROWS = np.array([2, 0, 1], np.int32), np.array([[0, 2], [1, 1], [2, 0]], np.int32)
XS = np.array([0.3, 0.5, 0.7], np.float32)
ALL = slice(None)

# Of a number `i` and a vector `v` of each example.
INDICES = {
    "i": lambda i, v: i,
    "v": lambda i, v: v,
    "0,i": lambda i, v: (0, i),
    ":,i": lambda i, v: (ALL, i),
    "i,i,i": lambda i, v: (i, i, i),
    "1:,i": lambda i, v: (slice(1, None), i),
    ":,v": lambda i, v: (ALL, v),
    ":,v,v": lambda i, v: (ALL, v, v),
    "v,:,v": lambda i, v: (v, ALL, v),
    "v,1": lambda i, v: (v, 1),
    ":,fixed": lambda i, v: (ALL, FIXED),
    "v,fixed": lambda i, v: (v, FIXED),
    "fixed,:,fixed": lambda i, v: (FIXED, ALL, FIXED),
    "1,:,1": lambda i, v: (1, ALL, 1),
}
# What JAX has no rule for, and what prints without its step there.
OUR_INDICES = {
    "v,i": lambda i, v: (v, i),
    "::2,i": lambda i, v: (slice(None, None, 2), i),
    "out of bounds": lambda i, v: (ALL, i * 7 - 6, 3),
    "v out of bounds": lambda i, v: (v * 5 - 4, ALL, 1),
    "a slice": lambda i, v: (jax.ref.ds(i, 2), 1) if hasattr(jax.ref, "ds") else (i, 1),
}


def _value(jx, old, x):
    count = jx.numpy.arange(old.size, dtype="float32").reshape(old.shape)
    return jx.numpy.sin(count if x is None else count + x)


def _set(jx, r, index, x):
    r[index] = _value(jx, r[index], x)


USES = {
    "get": lambda jx, r, index, x: r[index],
    "set": _set,
    "set what is the same": lambda jx, r, index, x: _set(jx, r, index, None),
    "swap": lambda jx, r, index, x: jx.ref.swap(r, index, _value(jx, r[index], x)),
    "add": lambda jx, r, index, x: jx.ref.addupdate(r, index, _value(jx, r[index], x)),
}


def program(jx, use, index, axis):
    def one(r, i, v, x):
        return USES[use](jx, r, index(i, v), x)

    def call(contents, numbers, rows, xs):
        r = jx.new_ref(contents)
        if axis is None:
            return jx.vmap(lambda *args: one(r, *args))(numbers, rows, xs), r[...]
        return jx.vmap(one, (axis, 0, 0, 0))(r, numbers, rows, xs), r[...]

    return call


def cases():
    return [(use, axis) for use in USES for axis in (0, 1, 3, None) if axis is not None or use == "get"]


def arguments(axis):
    return (CONTENTS[0] if axis is None else np.moveaxis(CONTENTS, 0, axis)), NUMBERS, ROWS, XS


def text(jx, f, args):
    """The text of a jaxpr, without its layout: JAX breaks lines after `np.int64(1)` for 1."""
    return "".join(re.sub(r"np\.int64\((\d+)\)", r"\1", str(jx.make_jaxpr(f)(*args))).split())


@pytest.mark.parametrize("index", INDICES)
@in_both
def test_jaxprs(jx, index):
    return [text(jx, program(jx, use, INDICES[index], axis), arguments(axis))
            for use, axis in cases()]


@pytest.mark.daily(3)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("index", INDICES | OUR_INDICES)
def test_values(index, use):
    """What a loop over the examples gives."""
    index = (INDICES | OUR_INDICES)[index]

    @jax.jit  # a known index out of bounds is refused
    def one(contents, i, v, x):
        r = jax.new_ref(contents)
        return USES[use](jax, r, index(i, v), x), r[...]

    outs, contents = zip(*map(one, CONTENTS, NUMBERS, ROWS, XS))
    for axis in (0, 3):
        mode = jax.jit if axis and use == "swap" else lambda f: f
        ours = mode(program(jax, use, index, axis))(*map(jnp.asarray, arguments(axis)))
        np.testing.assert_allclose(ours[1], np.stack(contents, axis), 1e-6)
        if outs[0] is not None:
            np.testing.assert_allclose(ours[0], np.stack(outs), 1e-6)
    if use == "get":
        ours = program(jax, use, index, None)(*map(jnp.asarray, arguments(None)))
        want = [one(CONTENTS[0], *args)[0] for args in zip(NUMBERS, ROWS, XS)]
        assert np.array_equal(ours[0], want)


def uses_twice(r, i, v, x, index):
    """Reads, writes and adds at an index, and returns what depends on all of that."""
    part = r[index(i, v)]
    old = jax.ref.swap(r, index(i, v), jnp.sin(part * x))
    jax.ref.addupdate(r, index(i, v), part * x * x)
    return (r[...] * jnp.cos(old.sum())).sum() + r[index(i, v)].sum()


@pytest.mark.daily(3)
@pytest.mark.parametrize("index", [k for k in INDICES | OUR_INDICES if k != "v out of bounds"])
def test_derivatives(index):
    """Each example has a derivative by its contents and its number. An index may repeat a row."""
    index = (INDICES | OUR_INDICES)[index]

    def f(contents, i, v, x):
        return uses_twice(jax.new_ref(contents * 0.01), i, v, x, index)

    arrays = jnp.asarray(CONTENTS), jnp.asarray(NUMBERS), jnp.asarray(ROWS), jnp.asarray(XS)
    slope = jax.jit(jax.grad(f, (0, 3)))
    want = [np.stack(parts) for parts in zip(*[slope(*args) for args in zip(*arrays)])]
    total = lambda contents, i, v, x: jax.vmap(f)(contents, i, v, x).sum()
    for ours in (jax.vmap(slope), jax.grad(total, (0, 3))):
        for a, b in zip(ours(*arrays), want):
            np.testing.assert_allclose(a, b, 1e-4, 1e-4)


def test_a_map_of_a_map():
    def f(contents, i, j, x):
        r = jax.new_ref(contents)
        r[i, j] += x
        r[1, i] = r[j, i] * 2
        return r[...], r[i]

    numbers = jnp.asarray(NUMBERS)
    inner = jax.vmap(f, (None, 0, None, 0))
    ours = jax.vmap(inner, (0, None, 0, None))(jnp.asarray(CONTENTS), numbers, numbers, XS)
    want = [[f(jnp.asarray(c), i, j, x) for i, x in zip(numbers, XS)]
            for c, j in zip(CONTENTS, numbers)]
    for k in (0, 1):
        assert np.array_equal(ours[k], [[both_of[k] for both_of in row] for row in want])


# ----------------------------------------------------------------------------------------------
# Loops

Q = np.arange(4, dtype=np.float32) + 1
OWN = CONTENTS[0, :, :4, 0].copy()


def loop_of(body, condition, start):
    return lambda jx, r, q, x: jx.lax.while_loop(
        lambda c: condition(jx, r, q, x, c), lambda c: body(jx, r, q, x, c), start)


def step(write):
    def body(jx, r, q, x, c):
        write(r, q, x, c)
        return c + 1

    return body


def put(r, i, x):
    r[i] = x


def over(rows, reverse=False):
    """A scan over a reference."""

    def scan(jx, r, q, x):
        def body(c, y):
            if rows is not q:
                y[...] = y[...] * 2 + c
            return c + x, y[...]

        return jx.lax.scan(body, 0.0, {"r": r, "q": q}[rows], reverse=reverse)

    return scan


LOOPS = {
    "while": loop_of(step(lambda r, q, x, c: put(r, ..., r[...] * 2 + c)),
                     lambda jx, r, q, x, c: c < 3, 0.0),
    "its condition reads": loop_of(step(lambda r, q, x, c: put(r, 0, r[0] + q[1])),
                                   lambda jx, r, q, x, c: c < q[2], 0.0),
    "indexed by the carry": loop_of(step(lambda r, q, x, c: put(r, c, r[c] * 2)),
                                    lambda jx, r, q, x, c: c < 3, 0),
    "fori": lambda jx, r, q, x: jx.lax.fori_loop(
        0, q[1].astype(int) - 2, lambda i, c: (put(r, i, r[i] + x), c + q[i])[1], x),
    "scan over shared rows": lambda jx, r, q, x: jx.lax.scan(
        lambda c, y: (c + x, y[...]), 0.0, q),
}
LENGTHS_OF_EXAMPLES = {
    "while": loop_of(step(lambda r, q, x, c: put(r, 0, r[0] + c)),
                     lambda jx, r, q, x, c: c < x, 0.0),
    "its body reads": loop_of(step(lambda r, q, x, c: put(r, 0, r[0] + q[1])),
                              lambda jx, r, q, x, c: c < x, 0.0),
    "its condition reads": loop_of(step(lambda r, q, x, c: None),
                                   lambda jx, r, q, x, c: c < r[1], 0.0),
    "indexed by the carry": loop_of(step(lambda r, q, x, c: put(r, c, x * c)),
                                    lambda jx, r, q, x, c: c < x, 0),
    "fori": lambda jx, r, q, x: jx.lax.fori_loop(
        0, x.astype(int), lambda i, c: (put(r, i, r[i] + x), c + q[i])[1], 0.0),
}
# JAX has no batch of references as rows of a loop unless the rows come first, and none in another
# dimension than the first for loops that end in another round for each example.
ROWS_OF_EXAMPLES = {
    "scan over rows": over("r"),
    "backwards": over("r", reverse=True),
    "with shared rows": lambda jx, r, q, x: jx.lax.scan(
        lambda c, rows: (put(rows[1], ..., rows[0][...] + c), (c + x, c))[1], 0.0, (q, r)),
}
LENGTHS = np.array([1.0, 3.0, 2.0], np.float32)
IN_JAX = [("LOOPS", 0), ("LOOPS", 1), ("LENGTHS_OF_EXAMPLES", 0), ("ROWS_OF_EXAMPLES", 1)]
LOOP_CASES = [(table, row, axis) for table in ("LOOPS", "LENGTHS_OF_EXAMPLES", "ROWS_OF_EXAMPLES")
              for row in globals()[table] for axis in (0, 1)]


def on_references(jx, table, row, axis):
    def call(contents, q, xs):
        r, q = jx.new_ref(contents), jx.new_ref(q)
        one = lambda r, q, x: globals()[table][row](jx, r, q, x)
        return jx.vmap(one, (axis, None, 0))(r, q, xs), r[...]

    return call


@pytest.mark.parametrize(("table", "row", "axis"), [c for c in LOOP_CASES if c[::2] in IN_JAX])
def test_jaxprs_of_loops(table, row, axis):
    contents = np.stack([*OWN], axis)
    both(lambda jx: lambda *args: text(jx, on_references(jx, table, row, axis), args),
         contents, Q, LENGTHS)


@pytest.mark.daily(3)
@pytest.mark.parametrize(("table", "row", "axis"), LOOP_CASES)
def test_values_of_loops(table, row, axis):
    want = []
    for own, x in zip(OWN, LENGTHS):
        r, q = jax.new_ref(jnp.asarray(own)), jax.new_ref(jnp.asarray(Q))
        want.append((globals()[table][row](jax, r, q, jnp.asarray(x)), r[...]))
    want = jax.tree.map(lambda *xs: np.stack(xs), *want)
    want = want[0], np.moveaxis(want[1], 0, axis)
    contents = jnp.asarray(np.stack([*OWN], axis))
    for mode in (lambda f: f, jax.jit):
        ours = mode(on_references(jax, table, row, axis))(contents, jnp.asarray(Q), LENGTHS)
        for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(want), strict=True):
            assert np.array_equal(a, b)
