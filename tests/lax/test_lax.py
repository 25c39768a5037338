"""tile, reduced precision, the approximate greatest few, bits from XLA: against JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax import lax
from tests.oracle import jax
from tests.oracle.compare import both, in_both

X = np.random.default_rng(0).normal(size=(2, 60)).astype(np.float32)
INTS = (X * 2**28).astype(np.int32)
SPECIAL = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1], np.float32)
# call: a function of the library and an array, the array, what is tested of it
CALLS = {
    "approx_max_k": (lambda m, x: m.lax.approx_max_k(x, 3), X, "jvp"),
    "approx_min_k": (lambda m, x: m.lax.approx_min_k(x, 2, -2, 0.5), X, "jvp"),
    "tile": (lambda m, x: m.lax.tile(x, (2, 3)), X[:, :3], "grad"),
    "tile nothing": (lambda m, x: m.lax.tile(x, (2, 0)), X[:, :3], "grad"),
    "jnp.tile": (lambda m, x: m.numpy.tile(x, (3, 1, 2)), X[:, :3], "grad"),
    "jnp.tile once": (lambda m, x: m.numpy.tile(x, 1), X[:, :3], "grad"),
    "reduce_precision": (lambda m, x: m.lax.reduce_precision(x * 1e4, 5, 3), X, "grad"),
    "reduce_precision, nan": (lambda m, x: m.lax.reduce_precision(x, 2, 1), SPECIAL, ""),
    **{f"mulhi {dtype}": (lambda m, x: m.lax.mulhi(x, m.lax.rev(x, (1,))), INTS.astype(dtype), "")
       for dtype in ("int32", "uint32", "int16", "uint8")},
    **{f"{name}, total order": (
        lambda m, x, name=name: getattr(m.lax, name).bind(x[:, None], x[None]), SPECIAL, "")
       for name in ("eq_to_p", "le_to_p", "lt_to_p")},
    "total order of ints": (lambda m, x: m.lax.lt_to_p.bind(x, m.lax.rev(x, (1,))), INTS, ""),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    call, x, derivative = CALLS[name]

    def program(m):
        f = lambda x: call(m, x)
        results = [f, m.jit(f), m.make_jaxpr(f)]
        if derivative:
            results += [lambda x: m.jvp(f, (x,), (2 * x,))]
        if derivative == "grad":
            g = m.grad(lambda x: (f(x) ** 2).sum())
            results += [g, m.make_jaxpr(g)]
        results += [lambda x: m.vmap(f, 1)(np.stack([x, x + x], 1))]
        return lambda x: [f(x) for f in results]

    both(program, x, text="approx" not in name)  # exact here: it is `top_k`


def test_wide_products():
    with minijax.enable_x64(True):
        x = np.array([2**62 + 12345, -(2**61) - 7, 3, -1], np.int64)
        got = minijax.lax.mulhi(x[:, None], x[None])
        assert got.tolist() == [[int(a) * int(b) >> 64 for b in x] for a in x]
        compiled = minijax.jit(minijax.lax.mulhi)(x[:, None], x[None])
        assert compiled.tolist() == got.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("algorithm", range(3))
def test_bits(dtype, algorithm):
    def program(m):
        f = lambda key: m.lax.rng_bit_generator(key, (3, 2), dtype,
                                                m.lax.RandomAlgorithm(algorithm))
        return lambda key: (f(key), m.make_jaxpr(f)(key),
                            m.vmap(f, 1)(np.stack([key, key + 1], 1)))

    both(program, np.arange(4, dtype=np.uint32))


def test_bits_of_a_wide_state():
    with jax.enable_x64(True), minijax.enable_x64(True):
        both(lambda m: lambda key: m.lax.rng_bit_generator(key, (3,), "uint64"),
             np.arange(2, dtype=np.uint64))


# ----------------------------------------------------------------------------------------------
# Functions for platforms


def test_shapes_and_values():
    both(lambda m: lambda x: (
        m.lax.broadcast_like(3, x), m.lax.broadcast_like(x[:1], x), m.lax.shape_as_value((2, 3)),
        m.lax.shape_as_value(()), m.lax.empty(3, np.float32).shape, m.lax.empty((2, 0), "int32"),
        m.lax.stage(3), m.lax.stage(x), m.make_jaxpr(lambda x: m.lax.stage(3))(x),
        m.make_jaxpr(m.jit(lambda x: m.lax.stage(x)))(x)), X)


def test_platform_dependent():
    both(lambda m: lambda x: (
        m.lax.platform_dependent(x, cpu=m.lax.sin, tpu=m.lax.cos),
        m.jit(lambda x: m.lax.platform_dependent(x, x, default=m.lax.add, tpu=m.lax.sub))(x)),
        np.float32(3))


# ----------------------------------------------------------------------------------------------
# Found by mutation testing

STRONG, WEAK_SHAPE = np.ones((1, 1, 4), np.float32), (1, 1, 3)
BYTES = np.array([-100, 100, -1, 3], np.int8)


def weak_ones(m):
    return m.lax.full(WEAK_SHAPE, 1.0)


def shifts(m):
    counts = np.array([7, 8, 9, 100], np.int8)
    return m.lax.shift_right_arithmetic(BYTES, counts), m.lax.shift_right_arithmetic(
        BYTES.astype(np.int32), counts.astype(np.int32))


SURVIVORS = {
    "a convolution of weak arrays": lambda m: m.lax.conv(weak_ones(m), weak_ones(m), (1,), "SAME"),
    "a convolution by a weak array": lambda m: m.lax.conv(STRONG, weak_ones(m), (1,), "SAME"),
    "a convolution of a weak array": lambda m: m.lax.conv(weak_ones(m), STRONG, (1,), "SAME"),
    "no indices": lambda m: m.vmap(lambda x: m.numpy.take(x, np.zeros((0, 2), int), axis=0))(X),
    "shifts by more than the width": shifts,
    "powers of zero": lambda m: m.lax.pow(np.zeros(3, np.complex64),
                                          np.array([1j, 2, 2 + 1j], np.complex64)),
    "solutions for one right side": lambda m: m.numpy.linalg.solve(
        np.stack([np.eye(3, dtype="f"), 2 * np.eye(3, dtype="f")]), np.ones((1, 3, 1), "f")),
    "a byte as an index": lambda m: m.jit(lambda x, i: x[i])(X[0], np.uint8(1)),
    "remainders": lambda m: m.lax.rem(np.array([5, -5, 5, 7, 5]), np.array([0, 0, 1, -2, 3])),
}


@pytest.mark.parametrize("name", SURVIVORS)
def test_survivors(name):
    both(lambda m: lambda: SURVIVORS[name](m))


ACCURATE = "cbrt cos exp exp2 expm1 log log1p logistic rsqrt sin sqrt tan tanh".split()


@pytest.mark.parametrize("mode", ["HIGHEST", "DEFAULT"])
@pytest.mark.parametrize("name", ACCURATE)
@in_both
def test_accuracy_in_derivatives(m, name, mode):
    def f(x):
        return getattr(m.lax, name)(x, accuracy=m.lax.AccuracyMode[mode])

    def all_of_it(x, t):
        jvp = m.jvp(f, (x,), (t,))
        if name in ("sin", "cos"):  # the derivative of JAX's sine in a gradient has no accuracy
            return jvp
        return jvp, m.vmap(m.grad(f))(m.numpy.stack([x, t]))

    x = np.float32(0.3), np.float32(1.5)
    text = name == "exp2" or str(m.make_jaxpr(all_of_it)(*x))  # JAX's slope of exp2 overflows
    return (all_of_it(*x), m.grad(m.grad(f))(x[0]), m.jit(all_of_it)(*x), text)


def test_accuracy_where_digits_are_lost():
    """Closed forms: 1 / cosh² 20, s(40) s(-40) for the logistic function s, and e⁻⁴⁰."""
    highest, cases = lax.AccuracyMode.HIGHEST, {
        lax.tanh: (20.0, 1 / np.cosh(20.0) ** 2), lax.expm1: (-40.0, np.exp(-40.0)),
        lax.logistic: (40.0, np.exp(-40.0) / (1 + np.exp(-40.0)) ** 2),
        lax.sin: (3.0, np.cos(3.0))}
    with minijax.enable_x64():
        for f, (x, slope) in cases.items():
            def g(x, f=f):
                return f(x, accuracy=highest)

            for found in (minijax.grad(g)(x), minijax.jit(minijax.grad(g))(x), minijax.jvp(g, (x,), (1.0,))[1],
                          minijax.linearize(minijax.jit(g), x)[1](1.0)):
                np.testing.assert_allclose(found, slope, rtol=1e-15)
    assert "cos[accuracy=AccuracyMode.HIGHEST]" in str(
        minijax.make_jaxpr(minijax.grad(lambda x: lax.sin(x, accuracy=highest)))(1.0))


def test_accuracy_and_result_type():
    x = np.float32(0.5)

    def program(m):
        modes = m.lax.AccuracyMode.HIGHEST, m.lax.Tolerance(1e-3, 0.0, 0), None
        return lambda: ([m.lax.exp(x, accuracy=mode) for mode in modes],
                        m.lax.mul(x, np.float16(2), out_dtype="float32"),
                        m.lax.mul(np.int32(2), np.int32(3), out_dtype="float32"),
                        m.lax.full((2,), 1, sharding=None), m.lax.reduce_sum(
                            np.ones(3, np.float32), (0,), out_sharding=None))

    both(program)
