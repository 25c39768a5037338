"""`ravel_pytree` against real JAX."""

from __future__ import annotations

import functools
from importlib import import_module

import numpy as np
import pytest

from tests.oracle import both, in_both

TREES = {
    "mixed": {"a": np.ones((2, 2), np.float32), "b": (np.arange(3), 1.0)},
    "one": np.arange(6.0, dtype=np.float32).reshape(2, 3), "integers": [np.arange(3), 2],
    "empty": {}, "zero size": [np.zeros((0, 2), np.float32), np.float32(1)],
    "complex": [np.ones(2, np.complex64), np.ones(1, np.float32)],
}


def ravel(jx):
    return import_module(jx.__name__ + ".flatten_util").ravel_pytree


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", TREES)
@in_both
def test_there_and_back(jx, name):
    tree = TREES[name]
    vector, unravel = ravel(jx)(tree)
    return vector, unravel(vector), jx.jit(unravel)(vector)


@in_both
def test_under_transformations(jx):
    def f(tree):
        return (ravel(jx)(tree)[0] ** 2).sum()

    _, unravel = ravel(jx)(TREES["one"])
    return (jx.grad(f)(TREES["one"]),
            jx.vmap(unravel)(np.ones((4, 6), np.float32)))


@pytest.mark.parametrize("vector", [np.zeros(3, np.float32), np.zeros(8, np.int32)])
def test_errors(vector):
    both(lambda jx: lambda: ravel(jx)(TREES["mixed"])[1](jx.numpy.asarray(vector)))


@in_both
def test_equal_ways_back_are_one_static_argument(jx):
    (vector, one), (_, two) = (ravel(jx)(TREES["one"]) for _ in range(2))
    traces = []

    @functools.partial(jx.jit, static_argnums=1)
    def run(vector, unravel):
        traces.append(unravel)
        return unravel(vector + 1)

    return (run(vector, one), run(vector, two), len(traces))


@in_both
def test_any_dtype_for_leaves_of_one_dtype(jx):
    """Before, `unravel` refused a vector of another dtype."""
    ravel = import_module(f"{jx.__name__}.flatten_util").ravel_pytree
    vector, unravel = ravel([np.arange(3.0, dtype="f"), np.ones((2, 2), "f")])
    return unravel(vector < 1.5), unravel(vector), ravel([])[1](np.zeros(0, int))
