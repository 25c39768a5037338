"""A generator of random numbers with a state: each draw is JAX's, under each transformation."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import minijax
from minijax.experimental.random import stateful_rng
from tests.oracle import both

X = np.arange(3, dtype=np.float32)

# Functions of a generator.
DRAWS = {
    "key": lambda jx, rng: jx.random.key_data(rng.key()),
    "keys": lambda jx, rng: [jx.random.key_data(rng.key(s)) for s in (3, (2, 1), [2], 1, ())],
    "random": lambda jx, rng: [rng.random(), rng.random(3), rng.random((2, 1), "float16")],
    "uniform": lambda jx, rng: [rng.uniform(), rng.uniform(1, 2, (2,)), rng.uniform(0, 5, size=())],
    "bounds": lambda jx, rng: [rng.uniform(1, 2 + X), rng.uniform(X, X[:, None] + 4),
                               rng.uniform(np.float16(1), np.float64(2))],
    "uniform dtype": lambda jx, rng: rng.uniform(size=2, dtype="bfloat16"),
    "normal": lambda jx, rng: [rng.normal(), rng.normal(1, 2, 2), rng.normal(X, X[:, None]),
                               rng.normal([0, 1], 2)],
    "normal dtype": lambda jx, rng: [rng.normal(size=2, dtype=t) for t in ("float16", complex)],
    "integers": lambda jx, rng: [rng.integers(5), rng.integers(2, 9, (3,)), rng.integers(5, 1),
                                 rng.integers(np.arange(1, 4)), rng.integers(-5)],
    "integers dtype": lambda jx, rng: rng.integers(3, size=4, dtype="uint8"),
    "sizes": lambda jx, rng: [rng.normal(size=s) for s in (np.int32(2), [2], np.array([1, 2]))],
    "spawn": lambda jx, rng: [child.uniform() for child in rng.spawn(2)] + [rng.uniform()],
    "no children": lambda jx, rng: rng.spawn(0),
    "split": lambda jx, rng: jx.vmap(lambda rng, x: x + rng.uniform())(rng.split(3), X),
    "split twice": lambda jx, rng: jx.vmap(jx.vmap(lambda rng: rng.normal()))(rng.split((2, 3))),
    "two draws of each": lambda jx, rng: jx.vmap(lambda r: (r.uniform(), r.uniform()))(rng.split(2)),
    "after split": lambda jx, rng: (rng.split(3)._counter.shape, rng.uniform()),
    "leaves": lambda jx, rng: [(jx.tree_util.keystr(path), x.shape) for path, x in
                               jx.tree_util.tree_leaves_with_path(rng)],
    "scan": lambda jx, rng: jx.lax.scan(lambda c, _: (c + rng.uniform(), c), 0.0, length=3),
    "fori": lambda jx, rng: jx.lax.fori_loop(0, 3, lambda i, c: c + rng.uniform(), 0.0),
    "branch": lambda jx, rng: jx.lax.cond(True, lambda: rng.uniform(), lambda: 0.0),
    "jit": lambda jx, rng: [jx.jit(rng.uniform)() for _ in range(2)] + [rng.uniform()],
    "argument of jit": lambda jx, rng: jx.jit(lambda r: (r.uniform(), r.uniform()))(rng),
    "another implementation": lambda jx, rng: module(jx).stateful_rng(3, impl="rbg").uniform(size=2),
    "a seed of NumPy": lambda jx, rng: module(jx).stateful_rng(np.uint32(7)).uniform(),
}
REFUSED = {
    "seed": lambda jx, rng: module(jx).stateful_rng(1.5),
    "seed of key": lambda jx, rng: module(jx).stateful_rng(jx.random.key(1)),
    "no scalar": lambda jx, rng: module(jx).stateful_rng(np.arange(2)),
    "no seed": lambda jx, rng: jx.jit(lambda: module(jx).stateful_rng().uniform())(),
    "implementation": lambda jx, rng: module(jx).stateful_rng(1, impl="x"),
    "returned": lambda jx, rng: jx.jit(lambda: module(jx).stateful_rng(3))(),
    "carried": lambda jx, rng: jx.lax.scan(lambda c, _: (c, None), rng, length=2),
    "old key": lambda jx, rng: type(rng)(jx.random.PRNGKey(0), jx.new_ref(0)),
    "no reference": lambda jx, rng: type(rng)(jx.random.key(0), 3),
    "split as a whole": lambda jx, rng: rng.split(3).uniform(),
    "not mapped": lambda jx, rng: jx.vmap(lambda x: x + rng.uniform())(X),
    "float integers": lambda jx, rng: rng.integers(3, dtype=float),
    "integer floats": lambda jx, rng: rng.uniform(dtype=int),
    "integer normal": lambda jx, rng: rng.normal(dtype=int),
    "complex uniform": lambda jx, rng: rng.random(dtype="complex64"),
    "size": lambda jx, rng: rng.uniform(size="x"),
    "frozen": lambda jx, rng: setattr(rng, "_counter", 3),
    "too large": lambda jx, rng: rng.integers(2**40),
}


def module(jx):
    return importlib.import_module(f"{jx.__name__}.experimental.random")


def of_generator(fun):
    return lambda jx: lambda: fun(jx, module(jx).stateful_rng(0))


@pytest.mark.parametrize("row", DRAWS)
def test_draws(row):
    both(of_generator(DRAWS[row]))


@pytest.mark.parametrize("row", REFUSED)
def test_refusals(row):
    both(of_generator(REFUSED[row]), raises=("TypeError", "ValueError", "OverflowError",
                                             "FrozenInstanceError", "Exception"))


def test_a_generator_without_a_seed():
    draws = [float(stateful_rng().uniform()) for _ in range(3)]
    assert len({*draws}) == 3


def test_its_text():
    both(lambda jx: lambda: repr(module(jx).stateful_rng(42)))


def test_a_derivative():
    """JAX cannot differentiate a function with a generator in sight."""
    draw = stateful_rng(0).normal()
    assert minijax.grad(lambda x: x * stateful_rng(0).normal())(2.0) == draw
    rng = stateful_rng(0)
    assert minijax.grad(lambda x: x * rng.normal())(2.0) == draw
