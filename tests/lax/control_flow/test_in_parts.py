"""Programs as loops over parts of their arrays: which ones, and that the results are the same."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import lax, nn
from minijax.core.jaxpr import jaxpr_as_fun
from minijax.lax.control_flow import in_parts

ROWS = 1024
RNG = np.random.default_rng(0)
X = RNG.uniform(0.5, 2, ROWS).astype(np.float32)
M = RNG.standard_normal((ROWS, 3)).astype(np.float32)
I = RNG.integers(-9, 9, ROWS).astype(np.int32)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(in_parts, "LEAST", ROWS)
    monkeypatch.setattr(in_parts, "PART", 64)


def rewritten(fun, *args):
    return in_parts.in_parts(minijax.make_jaxpr(fun)(*args))


def option_value(spot, strike, time):
    d = jnp.log(spot / strike) / jnp.sqrt(time)
    return jnp.sum(spot * lax.erfc(-d) - strike * jnp.exp(-time))


@pytest.mark.parametrize("fun, args", [
    (lambda x: jnp.sin(x) * 2 + 1, (X,)),
    (lambda x, s: (jnp.where(x > s, x, 0.0), x.astype(jnp.int32)), (X, np.float32(1))),
    (lambda x: (x.mean(), x.max(), x.min() * 2, x), (X,)),
    (lambda x: (x.prod(), (x > 1).all(), (x > 1).any()), (X / 1.2,)),
    (lambda x, m: x[:, None] * m, (X, M)),
    (lambda m: (m.sum(0), m.sum(1), m.max(0), nn.softmax(m)), (M,)),
    (lambda m, v: m * v + v.sum(), (M, np.float32([1, 2, 3]))),
    (lambda m, w: nn.relu(m) * (w @ w).sum(), (M, np.ones((4, 4), np.float32))),
    (lambda i: (i // 3, i % 4, i << 1, i.sum(), abs(i), i), (I,)),
    (lambda x: (x + 1j, x.reshape(-1, 1), jnp.clip(x, 1, 1.5), jnp.full_like(x, 2)), (X,)),
    (minijax.value_and_grad(option_value, (0, 1, 2)), (X, X + 1, X)),
    (lambda x: (nn.relu(x), jnp.where(x > 1, x, 2.0).sum(), jnp.clip(x.mean(), 0, 1)), (X,)),
    (lambda x, t: minijax.jvp(lambda x: jnp.tanh(x).sum(), (x,), (t,)), (X, X - 1)),
])  # fmt: skip
def test_programs_by_rows(fun, args):
    closed = rewritten(fun, *args)
    assert closed is not None and "scan" in str(closed)
    expected = minijax.tree.leaves(minijax.jit(fun)(*args))
    results = minijax.jit(jaxpr_as_fun(closed))(*args)
    for x, y in zip(expected, results, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("fun, args", [
    (lambda x: x - x.mean(), (X,)),  # a row needs all others
    (lambda x: nn.softmax(x), (X,)),
    (lambda x: x[::-1], (X,)),
    (lambda x: jnp.roll(x, 1), (X,)),
    (lambda x: jnp.cumsum(x), (X,)),
    (lambda x: jnp.sort(x), (X,)),
    (lambda x: x[:-1] * x[1:], (X,)),
    (lambda x: x * jnp.arange(ROWS), (X,)),
    (lambda m: m.T * 2, (M,)),
    (lambda m: m.reshape(3, ROWS) + 1, (M,)),
    (lambda x: x.reshape(2, -1).sum(1), (X,)),
    (lambda x: jnp.broadcast_to(x, (ROWS, ROWS)), (X,)),
    (lambda x: x[:, None] * x, (X,)),
    (lambda m: m @ np.ones((3, 2), np.float32), (M,)),
    (lambda x: lax.fori_loop(0, 3, lambda i, y: y * 2, x), (X,)),
    (lambda x: lax.cond(x[0] > 1, jnp.sin, jnp.cos, x), (X,)),
    (lambda x: x.at[3].set(1.0), (X,)),
    (lambda x: lax.reduce(x, 2.0, lax.add, (0,)), (X,)),  # the start would count in each part
    (lambda x: minijax.jit(lambda x: x.sum())(x) + 1, (X,)),
    (lambda x, s: lax.reduce(x, s, lax.max, (0,)), (X, np.float32(1))),
    (lambda x: x * 2, (X[:1021],)),  # a prime number of rows
    (lambda x: x * 2, (X[:100],)),  # few
    (lambda s: s * 2, (np.float32(1),)),
    (lambda: jnp.ones(ROWS), ()),
])  # fmt: skip
def test_programs_that_are_refused(fun, args):
    assert rewritten(fun, *args) is None


def test_donated_arguments_keep_their_mark():
    with minijax.runtime.settings.cpu_autotune(True):
        lowered = minijax.jit(lambda x, y: x * y, donate_argnums=0).lower(X, X)
    text = lowered._module.for_compiler["in_parts"]
    assert "tf.aliasing_output" in text and "stablehlo.while" in text


def test_the_autotuner_chooses_it(monkeypatch):
    from tests.runtime import test_autotune as tuner

    minijax.clear_caches()
    monkeypatch.setattr(tuner.tuning, "SHORTEST", 0.0)
    tuner.tuning._choices.clear()
    fun = minijax.value_and_grad(option_value, (0, 1, 2))
    variant = tuner.tuning.VARIANTS[tuner.tuning.IN_PARTS]
    with tuner.trying(parts=variant), tuner.first_is(1.0, monkeypatch):
        f, before, choice = tuner.tune(fun, X, X + 1, X)
    assert choice.variant == "parts"
    for x, y in zip(*map(minijax.tree.leaves, (before, f(X, X + 1, X))), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)
    with tuner.trying(parts=variant):
        assert "parts" not in tuner.tune(jnp.sort, X)[2].seconds
