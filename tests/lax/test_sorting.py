"""Chapter 11: `sort` and `top_k`, compiled and not, against real JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

DTYPES = ["int8", "int32", "uint32", "float16", "float32", "bfloat16", "complex64", "bool"]


def operand(jx, dtype):
    """Many ties; and of floats the special ones."""
    x = np.random.default_rng(0).integers(-4, 4, (4, 7))
    if dtype in ("float16", "float32", "bfloat16", "complex64"):
        x = x.astype(np.complex64 if dtype == "complex64" else np.float32)
        x[0, 3], x[1, 2], x[2, 4], x[3, 1] = np.nan, -0.0, -np.inf, np.inf
    return jx.numpy.asarray(x.astype("uint32") if dtype == "uint32" else x).astype(dtype)


@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
@in_both
def test_sort(jx, dtype, dimension):
    x = operand(jx, dtype)
    places = jx.lax.broadcasted_iota("int32", x.shape, dimension)

    def one(x):
        return jx.lax.sort((x, places), dimension)

    def two(x):
        return jx.lax.sort((x, x[::-1], places), dimension, num_keys=2)

    return (one(x), jx.jit(one)(x), two(x), jx.jit(two)(x))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "complex64"])
@in_both
def test_top_k(jx, dtype, axis):
    x = operand(jx, dtype)
    return (jx.lax.top_k(x, 3, axis=axis),
            jx.jit(lambda x: jx.lax.top_k(x, 3, axis=axis))(x))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "complex64"])
@in_both
def test_top_few_of_many(jx, dtype, axis):
    """The first of equal elements, where they are not found by sorting all of them."""
    x = jx.numpy.tile(operand(jx, dtype), (10, 6))
    return [jx.lax.top_k(x, k, axis=axis) for k in (1, 3)]


X = np.random.default_rng(1).normal(size=(3, 5)).astype(np.float32)
FUNCTIONS = {
    "sort": lambda jx, x: jx.lax.sort(x, dimension=0),
    "sort_key_val": lambda jx, x: jx.lax.sort_key_val(x, 2 * x, 0)[1],
    "top_k": lambda jx, x: jx.lax.top_k(x, 2)[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_transformations(name):
    def program(jx):
        def f(x):
            return FUNCTIONS[name](jx, x)

        def loss(x):
            return (f(x) ** 2).sum()

        def run(x):
            many = jx.numpy.stack([x, x[::-1]], axis=1)
            return (jx.jvp(f, (x,), (x + 1,)), jx.grad(loss)(x), jx.vmap(f, in_axes=1)(many),
                    jx.jit(jx.grad(loss))(x), jx.vmap(jx.grad(loss), in_axes=1)(many))

        return run

    both(program, X)


def test_one_mapped_operand():
    both(lambda jx: jx.vmap(lambda k, v: jx.lax.sort_key_val(k, v), in_axes=(0, None)), X, X[0])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "uint32"])
def test_top_k_of_long_vectors(dtype):
    """They are searched among a few candidates, unless there are many ties."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=9000) * 40
    sparse = np.where(rng.random(9000) < 0.1, [-0.0, 0.0, np.nan] * 3000, x)

    def program(jx):
        rows = [x, np.sort(x), x.round(-2), sparse] if dtype[0] in "fb" else [
            abs(x), np.sort(abs(x)), abs(x) // 50]
        return lambda: [jx.lax.top_k(jx.numpy.asarray(row.astype("float32")).astype(dtype), k)
                        for row in rows for k in (1, 7, 60)]

    both(program)
