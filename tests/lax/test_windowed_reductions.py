"""Reductions by any function, and of windows (pooling), against JAX."""

from __future__ import annotations

import functools
import re
from collections import Counter

import numpy as np
import pytest

import minijax
from tests.oracle import jax
from tests.oracle.compare import both, in_both

X = np.random.default_rng(0).normal(size=(2, 3, 7, 6)).astype(np.float32)
WINDOWS = {
    "plain": ((1, 2, 2, 3), (1, 1, 2, 2), "VALID"),
    "same": ((1, 1, 3, 2), (1, 1, 1, 1), "SAME"),
    "same lower": ((1, 1, 3, 2), (1, 1, 2, 1), "same_lower"),
    "padded": ((2, 1, 2, 2), (1, 1, 3, 2), [(0, 1), (0, 0), (1, 0), (1, 2)]),
    "dilated array": ((1, 2, 2, 2), (1, 1, 2, 2), "VALID", (1, 2, 1, 3)),
    "dilated window": ((1, 2, 2, 2), (1, 1, 2, 2), "SAME", None, (1, 1, 3, 2)),
    "all dilated": ((1, 2, 2, 2), (1, 1, 2, 2), [(0, 0), (1, 2), (0, 1), (3, 3)], (1, 2, 1, 3),
                    (1, 1, 2, 1)),
}
FUNCTIONS = {"add": 0.0, "max": -np.inf, "min": np.inf, "mul": 1.0}


def pool(m, op, name):
    return lambda x: m.lax.reduce_window(x, FUNCTIONS[op], getattr(m.lax, op), *WINDOWS[name])


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_values(op, name):
    def program(m):
        f = pool(m, op, name)
        jvp = lambda x: m.jvp(f, (x,), (x + 1,))
        return lambda x: (f(x), jvp(x), m.make_jaxpr(f)(x), m.make_jaxpr(jvp)(x))

    both(program, X)


@pytest.mark.parametrize("op, name", [
    *(("add", name) for name in WINDOWS), *(("max", name) for name in WINDOWS), ("min", "padded"),
    ("mul", "plain")])
def test_derivatives(op, name):
    """Errors too: a product's, and that of the maximum over dilated windows."""
    def program(m):
        g = m.grad(lambda x: (pool(m, op, name)(x) ** 2).sum())
        h = m.grad(lambda x: (g(x) ** 2).sum())
        return lambda x: (m.jit(g)(x), m.jit(h)(x), m.make_jaxpr(g)(x), m.make_jaxpr(h)(x))

    both(program, X)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "uint8", "bool", "complex64"])
def test_dtypes(dtype):
    x = np.asarray(minijax.numpy.asarray(X * 3).astype(dtype))

    def program(m):
        def f(x, op):
            zero = np.zeros((), dtype)
            init = {"add": zero, "mul": zero + 1, "max": m.lax.full((), -np.inf, x.dtype)
                    if "float" in dtype else np.array(-np.inf)}[op]
            return m.lax.reduce_window(x, init, getattr(m.lax, op), (1, 2, 3, 1), (1, 1, 2, 2))

        return lambda x: [f(x, op) for op in ("add", "max", "mul") if (op, dtype) != ("add", "bool")]

    both(program, x)


@in_both
def test_small_and_empty_arrays(m):
    f = lambda x, *window: m.lax.reduce_window(x, 0.0, m.lax.add, *window)
    return (f(np.float32(2), (), ()), f(np.ones((0, 3), np.float32), (1, 2)),
            f(np.ones(2, np.float32), (3,)), f(np.ones(2, np.float32), (3,), (1,), "SAME"))


def test_scalars():
    """XLA cannot select in a scalar's window: JAX's process ends at the derivative of a maximum."""
    m = minijax

    def maximum(x):
        return m.lax.reduce_window(x * x, -np.inf, m.lax.max, (), ())

    for dtype in ("float32", "bfloat16"):
        x = m.numpy.asarray(3, dtype)
        grad = m.grad(maximum)
        for out in (grad(x), m.jit(grad)(x), m.vmap(grad)(x[None])[0], m.jvp(maximum, (x,), (x / 3,))[1]):
            assert out == 6 and out.dtype == x.dtype
        assert m.hessian(maximum)(x) == 2


def test_several_arrays():
    """The greatest element of each window together with its place."""
    places = np.arange(X.size, dtype=np.int32).reshape(X.shape)

    def program(m):
        def f(x, i):
            def larger(a, b):
                which = a["x"] >= b["x"]
                return {k: m.lax.select(which, a[k], b[k]) for k in a}

            return m.lax.reduce_window({"x": x, "i": i}, {"x": -np.inf, "i": np.int32(-1)}, larger,
                                       (1, 1, 2, 2), (1, 1, 2, 2), "SAME")

        shared = lambda x: (f(x, places), f(x + 1, places))
        return lambda x: (f(x, places), m.vmap(f)(x[None], places[None]), m.make_jaxpr(f)(x, places),
                          shared(x), m.jit(shared)(x))

    both(program, X)


def test_the_function_may_use_arrays():
    """In JAX it may not use NumPy's."""
    c = np.ones(3, np.float32)

    def combine(a, b):
        return a + b + 0 * minijax.numpy.asarray(c).sum()

    for sums in (minijax.lax.reduce(X, 0.0, combine, (1,)),
                 minijax.lax.reduce_window(X, 0.0, combine, (1, 3, 1, 1))[:, 0]):
        np.testing.assert_allclose(sums, X.sum(1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("op", ["add", "mul", "max"])
def test_derivatives_of_reduce_know_the_initial_value(op, size):
    """It may be another value than the identity. JAX leaves it out, of the value, too. XLA leaves
    it out for a single element."""
    combine, start = getattr(minijax.lax, op), np.float32(0.75)
    x = X[0, 0, :size, :2]

    def program(reduce):
        return [reduce(x), minijax.jvp(reduce, (x,), (x + 1,)),
                minijax.grad(lambda x: reduce(x).sum())(x)]

    actual = program(lambda x: minijax.lax.reduce(x, start, combine, (0,)))
    expected = program(lambda x: x[0] if size == 1 else functools.reduce(
        combine, x, minijax.numpy.full(2, start)))
    for a, e in zip(minijax.tree.leaves(actual), minijax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-6)


@pytest.mark.parametrize("op", ["add", "max"])
def test_pooling_compiles_as_in_jax(op):
    for order in (0, 1):
        programs = []
        for m in (jax, minijax):
            f = pool(m, op, "plain")
            g = m.grad(lambda x, f=f: (f(x) ** 2).sum()) if order else f
            programs.append(m.jit(g).lower(X).compile())
        expected, actual = (Counter(re.findall(r"= \S+ ([\w-]+)\(", p.as_text())) for p in programs)
        assert actual == expected
        assert programs[0].cost_analysis()["flops"] == programs[1].cost_analysis()["flops"]


def test_select_and_scatter():
    """XLA's operation, which has no function of its own."""
    scalar = np.float32(0)

    def program(m):
        select, add = (m.make_jaxpr(f)(scalar, scalar).jaxpr for f in (m.lax.ge, m.lax.add))
        params = {"select_jaxpr": select, "select_consts": (), "scatter_jaxpr": add,
                  "scatter_consts": (), "window_dimensions": (1, 1, 2, 2),
                  "window_strides": (1, 1, 2, 2), "padding": ((0, 0),) * 4}
        return lambda x: m.lax.select_and_scatter_p.bind(x, x[:, :, :3, :3], scalar, **params)

    both(program, X)
    x = np.stack([X, -X])
    batched = minijax.vmap(program(minijax))(x)
    np.testing.assert_allclose(batched, np.stack([program(minijax)(a) for a in x]))


# ----------------------------------------------------------------------------------------------
# reduce

REDUCTIONS = {
    "sum": lambda m, x: m.lax.reduce(x, 0, m.lax.add, (0, 2)),
    "product": lambda m, x: m.lax.reduce(x, 1, m.lax.mul, (1,)),
    "maximum": lambda m, x: m.lax.reduce(x, -np.inf, m.lax.max, (0, 2)),
    "minimum": lambda m, x: m.lax.reduce(x, m.numpy.array(np.inf), m.lax.min, ()),
    "not from 0": lambda m, x: m.lax.reduce(x, np.float32(1.5), m.lax.add, (0, 2)),
    "all": lambda m, x: m.lax.reduce(x > 0, True, m.lax.bitwise_and, (0,)),
    "any": lambda m, x: m.lax.reduce(x > 0, False, m.lax.bitwise_or, (0,)),
    "parity": lambda m, x: m.lax.reduce(x > 0, False, m.lax.bitwise_xor, (0,)),
    "bits": lambda m, x: m.lax.reduce(x.astype("int32"), -1, m.lax.bitwise_and, (2,)),
    "function": lambda m, x: m.lax.reduce(x, np.float32(1), lambda a, b: a * b + m.lax.sin(a),
                                          (2, 0)),
    "own product": lambda m, x: m.lax.reduce(x, 1.0, lambda a, b: b * a, (2, 0)),
    "nothing": lambda m, x: m.lax.reduce(x[:0], 2.0, lambda a, b: a * b, (0,)),
    "several": lambda m, x: m.lax.reduce(
        (x, [x * 2]), (1.0, [np.float32(0)]), lambda a, b: (a[0] * b[0], [a[1][0] + b[1][0]]),
        (1,)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduce(name):
    x = X[0, :, :3]

    def program(m):
        f = lambda x: REDUCTIONS[name](m, x)
        text = m.make_jaxpr(f)
        return lambda x: (f(x), m.jit(m.vmap(f, 1))(np.stack([x, x + 1], 1)),
                          re.sub("0x[0-9a-f]+", "", str(text(x))) if name in ("not from 0",)
                          else text(x))

    both(program, x, text=name not in ("function", "own product", "nothing", "several"))


@pytest.mark.parametrize("name", ["sum", "product", "own product", "several", "nothing"])
def test_derivatives_of_reduce(name):
    def program(m):
        f = lambda x: m.tree.leaves(REDUCTIONS[name](m, x))[0]
        g = m.grad(lambda x: (f(x) ** 2).sum())
        jvp = lambda x: m.jvp(f, (x,), (x,))
        return lambda x: (jvp(x), m.jit(m.grad(lambda x: (g(x) ** 2).sum()))(x),
                          m.make_jaxpr(jvp)(x))

    both(program, X[0, :, :3], text=name not in ("own product", "several"))  # the initial value


@pytest.mark.parametrize("n", range(1, 9))
@in_both
def test_equal_elements_share_a_derivative_as_in_jax(m, n):
    """Where the initial value is not known while tracing, elements are compared in pairs."""
    def largest(x):
        return m.lax.reduce(x, m.numpy.array(-np.inf, x.dtype), m.lax.max, (0,))

    return m.jit(m.grad(largest))(np.ones(n, np.float32))
