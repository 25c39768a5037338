"""`example_libraries.optimizers`: the same steps as JAX's."""

from __future__ import annotations

import numpy as np
import pytest

import minijax.example_libraries.optimizers  # noqa: F401
from tests.oracle import both, in_both

PARAMS = {"w": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), "b": [np.float32(0.5)]}
SCALE = {"w": np.array([[1, 2, 3], [0, 5, 0.1]], np.float32), "b": [np.float32(0)]}

MADE = {
    "sgd": lambda o: o.sgd(0.1),
    "momentum": lambda o: o.momentum(0.1, 0.9),
    "nesterov": lambda o: o.nesterov(0.1, mass=0.8),
    "adagrad": lambda o: o.adagrad(0.1),
    "rmsprop": lambda o: o.rmsprop(0.1, gamma=0.8),
    "rmsprop_momentum": lambda o: o.rmsprop_momentum(0.1),
    "adam": lambda o: o.adam(o.exponential_decay(0.125, 10, 0.5), b1=0.8),
    "adamax": lambda o: o.adamax(0.1),
    "sm3": lambda o: o.sm3(0.1, momentum=0.5),
}  # fmt: skip

SCHEDULES = {
    "constant": lambda o: o.constant(0.1),
    "exponential": lambda o: o.exponential_decay(0.1, 2, 0.9),
    "inverse": lambda o: o.inverse_time_decay(0.1, 2, 0.9),
    "staircase": lambda o: o.inverse_time_decay(0.1, 2, 0.9, staircase=True),
    "polynomial": lambda o: o.polynomial_decay(0.1, 4, 0.01, power=2.0),
    "piecewise": lambda o: o.piecewise_constant([1, 3], [0.1, 0.2, 0.3]),
    "of a number": lambda o: o.make_schedule(0.1),
    "of a schedule": lambda o: o.make_schedule(lambda i: 0.1 * i),
    "of an array": lambda o: o.make_schedule(np.ones(3)),
    "too few values": lambda o: o.piecewise_constant([1, 3], [0.1, 0.2]),
    "no sequences": lambda o: o.piecewise_constant(1, 0.1),
}  # fmt: skip


def gradients(jx, params):
    """Of a bowl, steep in some directions."""
    return jx.grad(lambda p: sum(jx.tree.leaves(jx.tree.map(
        lambda x, s: jx.numpy.sum(s * x**2), p, SCALE))))(params)


def optimizers(jx):
    return jx.example_libraries.optimizers


@pytest.mark.parametrize("name", MADE)
@in_both
def test_steps(jx, name):
    init, update, get_params = MADE[name](optimizers(jx))
    state, path = init(jx.tree.map(jx.numpy.asarray, PARAMS)), []
    for i in range(4):
        state = update(i, gradients(jx, get_params(state)), state)
        path.append(get_params(state))
    return path


@pytest.mark.parametrize("name", [name for name in MADE if name != "sm3"])
@in_both
def test_jaxpr_text(jx, name):
    """A compiled step is JAX's, equation by equation. (JAX's sm3 cannot be traced.)"""
    init, update, get_params = MADE[name](optimizers(jx))

    def step(i, params, grads):
        return get_params(update(i, grads, update(i, grads, init(params))))

    return jx.make_jaxpr(step)(3, PARAMS, SCALE)


def test_sm3_under_jit():
    """Where JAX's state holds a shape as if it were data, ours does not."""
    import minijax as jx

    init, update, get_params = MADE["sm3"](optimizers(jx))
    state = init(jx.tree.map(jx.numpy.asarray, PARAMS))
    compiled, eager = jx.jit(update)(0, SCALE, state), update(0, SCALE, state)
    for a, b in zip(jx.tree.leaves(compiled), jx.tree.leaves(eager), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    def program(jx):
        schedule = SCHEDULES[name](optimizers(jx))
        return lambda: ([schedule(i) for i in range(6)], jx.jit(schedule)(3))

    both(lambda jx: lambda: program(jx)())


def trained(jx):
    """A state after one step."""
    init, update, _ = optimizers(jx).momentum(0.1, 0.9)
    return update(0, SCALE, init(PARAMS))


CALLS = {
    "l2_norm": lambda jx, o: o.l2_norm(PARAMS),
    "clip": lambda jx, o: (o.clip_grads(PARAMS, 1.0), o.clip_grads(PARAMS, 100.0)),
    "save and load": lambda jx, o: jx.tree.leaves(
        o.pack_optimizer_state(o.unpack_optimizer_state(trained(jx)))),
    "unpacked": lambda jx, o: [list(x) for x in jx.tree.leaves(
        o.unpack_optimizer_state(trained(jx)), is_leaf=lambda x: isinstance(x, o.JoinPoint))],
    "flattened": lambda jx, o: jx.tree.leaves(trained(jx)),
    "other gradients": lambda jx, o: o.sgd(0.1)[1](0, {"w": 1.0}, o.sgd(0.1)[0](PARAMS)),
    "other state": lambda jx, o: o.optimizer(
        lambda: (lambda x: (x, x), lambda i, g, s: s[0], lambda s: s[0]))()[1](
            0, PARAMS, o.optimizer(lambda: (lambda x: (x, x), None, None))()[0](PARAMS)),
    "by name": lambda jx, o: o.adam(0.1).params_fn(o.adam(0.1).init_fn(PARAMS)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    both(lambda jx: lambda: CALLS[name](jx, optimizers(jx)))
