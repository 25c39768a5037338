"""`odeint`: the same solutions and derivatives as JAX's, and the right ones."""

from __future__ import annotations

import numpy as np
import pytest

import minijax.experimental.ode
from tests.oracle import both

TIMES = np.array([0.0, 0.5, 0.6, 2.0], np.float32)
START = np.array([1.0, -0.5], np.float32)
TIGHT = {"rtol": 1e-5, "atol": 1e-5}


def decay(jx):
    return lambda y, t: -y


def pendulum(jx):
    """Driven, with friction: depends on time and on an argument."""
    def func(y, t, friction):
        return jx.numpy.stack([y[1], -jx.numpy.sin(y[0]) - friction * y[1] + jx.numpy.cos(t)])

    return func


def tree(jx):
    """The same, as a pytree."""
    def func(y, t, p):
        return {"angle": y["speed"], "speed": [-y["angle"] * p["k"] + 0 * y["speed"][0]][0]}

    return func


def complex_wave(jx):
    return lambda y, t: 1j * y * (1 + t)


def stiff_start(jx):
    return lambda y, t: -30.0 * (y - jx.numpy.cos(t))


PROBLEMS = {
    "decay": (decay, np.float32(1.5), ()),
    "pendulum": (pendulum, START, (np.float32(0.3),)),
    "tree": (tree, {"angle": START, "speed": START[::-1].copy()}, ({"k": np.float32(2.0)},)),
    "complex": (complex_wave, np.array([1 + 1j, 2.0], np.complex64), ()),
    "stiff": (stiff_start, np.array([0.0, 2.0], np.float32), ()),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_solution(name):
    make, y0, args = PROBLEMS[name]
    both(lambda jx: lambda: jx.experimental.ode.odeint(
        make(jx), y0, jx.numpy.asarray(TIMES), *args, **TIGHT), tol=1e-4)


@pytest.mark.parametrize("name", ["decay", "pendulum", "tree"])
def test_gradient(name):
    """By start, times and arguments; and compiled."""
    make, y0, args = PROBLEMS[name]

    def program(jx):
        def loss(y0, t, *args):
            ys = jx.experimental.ode.odeint(make(jx), y0, t, *args, **TIGHT)
            return sum(jx.numpy.sum(jx.numpy.sin(leaf)) for leaf in jx.tree.leaves(ys))

        gradient = jx.jit(jx.grad(loss, tuple(range(2 + len(args)))))
        return lambda: gradient(y0, TIMES, *args)

    both(program, tol=1e-3)


def test_gradient_by_what_the_function_closed_over():
    def program(jx):
        def loss(k):
            ys = jx.experimental.ode.odeint(lambda y, t: -k * y, 1.0, jx.numpy.asarray(TIMES))
            return jx.numpy.sum(ys)

        return lambda: (jx.grad(loss)(0.7), jx.jit(loss)(0.7))

    both(program, tol=1e-4)


def test_vmap():
    def program(jx):
        solve = lambda y0: jx.experimental.ode.odeint(decay(jx), y0, jx.numpy.asarray(TIMES))
        return lambda: jx.vmap(solve)(START)

    both(program, tol=1e-4)


def test_exact():
    """In 64 bits the exponential function comes out to the tolerance, and its derivative."""
    with minijax.enable_x64(True):
        jnp, t = minijax.numpy, minijax.numpy.linspace(0.0, 2.0, 5)
        solve = lambda y0, t: minijax.experimental.ode.odeint(lambda y, t: y, y0, t)
        np.testing.assert_allclose(solve(1.0, t), np.exp(t), rtol=1e-6)
        y0_bar, t_bar = minijax.grad(lambda y0, t: solve(y0, t)[-1], (0, 1))(1.0, t)
        np.testing.assert_allclose(y0_bar, np.exp(2), rtol=1e-6)
        np.testing.assert_allclose(t_bar, jnp.array([-np.exp(2), 0, 0, 0, np.exp(2)]), rtol=1e-6,
                                   atol=1e-6)


def test_limits():
    """A loop that may not take enough steps, or long ones, ends; as in JAX."""
    both(lambda jx: lambda: jx.experimental.ode.odeint(
        decay(jx), 1.0, jx.numpy.asarray(TIMES), hmax=0.1, **TIGHT), tol=1e-4)
    both(lambda jx: lambda: jx.experimental.ode.odeint(
        decay(jx), 1.0, jx.numpy.asarray(TIMES), mxstep=1, **TIGHT), tol=1e-3)


@pytest.mark.parametrize("t", [np.arange(3), [0.0, 1.0]], ids=["integers", "a list"])
def test_times_that_are_none(t):
    both(lambda jx: lambda: jx.experimental.ode.odeint(decay(jx), 1.0, t))


def test_argument_that_is_none():
    both(lambda jx: lambda: jx.experimental.ode.odeint(decay(jx), 1.0, TIMES, "fast"))
