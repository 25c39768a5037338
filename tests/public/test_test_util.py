"""`minijax.test_util`: what it accepts and refuses, JAX's accepts and refuses."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import minijax.test_util
from tests.oracle import both, in_both, jax

X = np.linspace(0.2, 0.9, 6, dtype=np.float32).reshape(2, 3)


def wrong_sine(jx):
    """A sine that says its derivative is itself."""
    f = jx.custom_jvp(jx.numpy.sin)
    f.defjvps(lambda t, ans, x: t * ans)
    return f


FUNCTIONS = {
    "sine": (lambda jx: jx.numpy.sin, (X,)),
    "of Python numbers": (lambda jx: lambda x, y: x * y, (0.5, 2.0)),
    "of pytrees": (lambda jx: lambda p, x: {"y": [jx.numpy.tanh(x @ p["w"])]}, ({"w": X.T}, X)),
    "complex": (lambda jx: lambda z: jx.numpy.exp(z) * z, (X + 1j * X,)),
    "real of complex": (lambda jx: lambda z: jx.numpy.abs(z) ** 2, (X + 1j * X,)),
    "with a bend": (lambda jx: jx.nn.relu, (X - 0.5,)),
    "bfloat16": (lambda jx: lambda x: jx.numpy.asarray(x, "bfloat16") * 2, (X,)),
    "infinite": (lambda jx: lambda x: jx.numpy.divide(x, 0.0), (X,)),
    "wrong": (wrong_sine, (X,)),
    "wrong in one place": (lambda jx: lambda x: jx.numpy.where(X > 0.8, wrong_sine(jx)(x), x), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("modes", [["fwd"], ["rev"], ["lin"]], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_order(name, modes):
    make, args = FUNCTIONS[name]
    eps = 0.1 if name == "bfloat16" else None
    both(lambda jx: lambda: jx.test_util.check_grads(make(jx), args, 1, modes, eps=eps))


@pytest.mark.parametrize("name", ["sine", "of Python numbers", "of pytrees", "wrong"])
def test_second_order(name):
    make, args = FUNCTIONS[name]
    both(lambda jx: lambda: jx.test_util.check_grads(make(jx), args, 2, atol=5e-2, rtol=5e-2))


TOLERANCES = [{"atol": 10.0}, {"atol": {np.float32: 10.0}}, {"atol": {np.float64: 10.0}}]


@pytest.mark.parametrize("options", TOLERANCES, ids=str)
def test_tolerances(options):
    both(lambda jx: lambda: jx.test_util.check_grads(wrong_sine(jx), (X,), 1, ["fwd"], **options))


def test_64_bits():
    with minijax.enable_x64(True), jax.enable_x64(True):
        x = X.astype(np.float64)
        both(lambda jx: lambda: jx.test_util.check_grads(jx.numpy.sin, (x,), 2))
        both(lambda jx: lambda: jx.test_util.check_grads(wrong_sine(jx), (x,), 1))


def test_one_derivative():
    """`check_jvp` and `check_vjp`, of derivatives by hand."""

    def program(jx):
        sin, cos = jx.numpy.sin, jx.numpy.cos
        tools = jx.test_util

        def run(slope):
            tools.check_jvp(sin, lambda x, t: (sin(*x), slope(*x) * t[0]), (X,))
            tools.check_vjp(sin, lambda x: (sin(x), lambda ct: (slope(x) * ct,)), (X,))
            tools.check_jvp(sin, functools.partial(jx.jvp, sin), (X,), err_msg="here")

        return lambda name: run({"right": cos, "wrong": sin}[name])

    both(program, "right")
    both(program, "wrong")


@in_both
def test_tolerances_are_those_of_the_dtype_of_arrays(jx):
    """The inner products are 64-bit, since the arguments are; JAX computes in 32 bits."""
    x = np.random.RandomState(0).randn(3, 2)
    sums = lambda x: jx.numpy.sin(1e3 * x).sum()
    tols = {np.float32: 0.5}
    return jx.test_util.check_vjp(sums, functools.partial(jx.vjp, sums), (x,), tols, tols)


def test_the_message_says_which_derivative():
    """The first derivative is right; the second, backwards, is not."""

    @minijax.custom_vjp
    def slope(x):
        return 2 * x

    slope.defvjp(lambda x: (slope(x), None), lambda res, ct: (7 * ct,))
    square = minijax.custom_vjp(lambda x: x**2)
    square.defvjp(lambda x: (square(x), x), lambda x, ct: (ct * slope(x),))
    minijax.test_util.check_grads(square, (1.0,), 1, ["rev"])
    with pytest.raises(AssertionError, match="VJP of VJP cotangent projection"):
        minijax.test_util.check_grads(square, (1.0,), 2, ["rev"])
