"""Calls of a jitted function whose arguments change, die or are given away between them.

Arguments of all kinds to one function are told apart in `history/programs.txt`.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp

X = np.arange(4, dtype=np.float32)


def test_an_array_may_change_after_the_call():
    f = jax.jit(lambda x, y: sum([x @ x for _ in range(10)]) * 0 + y)
    x, y = np.ones((300, 300), np.float32), np.zeros((300, 300), np.float32)
    for n in range(1, 6):
        y[:] = n
        out = f(x, y)
        y[:] = -1
        assert (np.asarray(out) == n).all()


def test_caches_can_be_cleared():
    traced = []
    f = jax.jit(lambda x: traced.append(1) or x + 1)
    for clear in (f.clear_cache, jax.clear_caches):
        for _ in range(3):
            f(X), f(1.0)
        count = len(traced)
        clear()
        f(X)
        assert len(traced) == count + 1


def test_donated_dropped_and_constant_arguments():
    big = np.arange(3000, dtype=np.float32)
    f = jax.jit(lambda x, unused, y: (x + 1, y * big[:1]), donate_argnums=0)
    for n in range(4):
        x, y = jnp.full(4, float(n)) + 0, jnp.ones(4) * n
        for args in ((x, X, y), (X, None, y)):
            a, b = f(*args)
            assert a.tolist() == [v + 1 for v in (X.tolist() if args[1] is None else [n] * 4)]
            assert b.tolist() == [0.0] * 4
        assert x.is_deleted() and not y.is_deleted()


def test_a_donated_number_or_small_array_can_be_passed_again():
    f = jax.jit(lambda x, y: (x + 1, y + 1), donate_argnums=(0, 1))
    for x in (2.5, 3, True, np.float32(2), np.ones(2, np.float32), 0.0):
        for _ in range(4):
            a, b = f(x, jnp.float32(1))
            assert np.array_equal(np.asarray(a), np.asarray(x) + 1) and b == 2


def test_a_small_array_that_changes_between_calls():
    """The buffer of a small array is kept, under its contents and its type."""
    f = jax.jit(lambda x: x + 0)
    x = np.zeros(3, np.float32)
    for n in range(4):
        x[:] = n
        assert f(x).tolist() == [n] * 3 and f(x[1:]).tolist() == [n] * 2
        assert f(x.view(np.int32)).tolist() == x.view(np.int32).tolist()
        assert f(x.reshape(3, 1)).shape == (3, 1)
    for zero in (np.array([-0.0]), np.array([0.0]), np.float32(-0.0), np.float32(0.0), -0.0, 0.0):
        for _ in range(2):
            assert np.signbit(np.asarray(f(zero))).all() == np.signbit(zero).all()
    columns = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert f(columns).tolist() == columns.tolist() and f(columns.T).tolist() == columns.T.tolist()


def test_a_static_object_that_changes():
    """Equality of its class, and not identity, says whether it is the same."""
    class Config:
        n = 1

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return self.n

    f, config = jax.jit(lambda x, c: x * c.n, static_argnums=1), Config()
    for config.n in (2, 3):
        assert f(X, config).tolist() == (config.n * X).tolist()


def test_another_threads_settings():
    f, seen = jax.jit(lambda x: x * 2), []

    def other():
        with jax.enable_x64(True):
            seen.append(f(1.5).dtype)

    f(1.5)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [np.float64] and f(1.5).dtype == np.float32


def test_methods_and_flattening_that_fails():
    class Model:
        broken = False

        def __init__(self, w):
            self.w = w

        @jax.jit
        def double(self):
            return self.w * 2

        def flatten(self):
            if self.broken:
                raise ValueError("broken")
            return (self.w,), None

    jax.tree_util.register_pytree_node(Model, Model.flatten, lambda _, w: Model(*w))
    model = Model(jnp.asarray(X))
    assert model.double().tolist() == (2 * X).tolist()
    model.w = 1.5
    assert model.double() == 3
    model.broken = True
    with pytest.raises(ValueError, match="broken"):
        model.double()
