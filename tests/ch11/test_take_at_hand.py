"""The short cut of eager `x[i]`, `take` and `take_along_axis`: as the gather that it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax.families.gather import take_at_hand
from tests.oracle.compare import both

X = np.arange(12, dtype=np.float32).reshape(3, 4)
INDICES = {"inside": np.array([2, -3, 0], np.int32), "outside": np.array([0, 3, -4], np.int32),
           "bytes": np.array([1, 2], np.int8), "unsigned": np.array([2, 0], np.uint8),
           "matrix": np.array([[1], [-1]], np.int32), "none": np.zeros(0, np.int32)}


@pytest.mark.parametrize(("dtype", "name"), [
    *[("float32", name) for name in INDICES],
    *[(dtype, "outside") for dtype in ("bfloat16", "complex64", "bool", "int8")],
    ("bfloat16", "inside"),
])
def test_dtypes(dtype, name):
    def program(jx):
        x, i = jx.numpy.asarray(X, dtype), jx.numpy.asarray(INDICES[name])
        return lambda: (x[i], jx.numpy.take(x, i), jx.numpy.take(x, i, 1), jx.numpy.take(x, i, -2))

    both(program)


def test_weak_types_and_scalars():
    def program(jx):
        x = jx.numpy.asarray(2.0) * jx.numpy.arange(3.0).astype(float)
        weak = jx.lax.full_like(jx.numpy.asarray(1.0), 3.0, shape=(4,))
        i = jx.numpy.asarray([1, -1])
        return lambda: (x[i], weak[i], jx.numpy.take(weak, jx.numpy.int32(2)), jx.numpy.take(x, i[0]))

    both(program)


@pytest.mark.parametrize("axis", [0, 1, -1, -2, 2, None])
@pytest.mark.parametrize("indices", [[[1, 0, 2, -1]], [[1], [3], [0]], [[0, 1], [2, 3], [0, 0]],
                                     [[9], [0], [-9]], [1, 2]])
def test_along_axis(axis, indices):
    i = np.array(indices, np.int32)

    def program(jx):
        return lambda: jx.numpy.take_along_axis(jx.numpy.asarray(X), jx.numpy.asarray(i), axis)

    both(program)


def test_only_values_at_hand_are_short_cut():
    jnp = minijax.numpy
    x, i = jnp.asarray(X), jnp.asarray([0, 2])
    assert take_at_hand(x, i, 0).tolist() == X[[0, 2]].tolist()
    assert take_at_hand(x, jnp.asarray([3]), 0) is None
    assert take_at_hand(x, X, 0) is None
    assert "gather" in str(minijax.make_jaxpr(lambda: x[i])())
    assert minijax.jit(lambda i: take_at_hand(x, i, 0) is None)(i)
