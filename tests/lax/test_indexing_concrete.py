"""Eager `x[i]`, `take`, `take_along_axis` and `x.at[i].set(y)`, with indices in and out of bounds."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import subject
from tests.oracle.compare import both, in_both

X = np.arange(12, dtype=np.float32).reshape(3, 4)
INDICES = {"inside": np.array([2, -3, 0], np.int32), "outside": np.array([0, 3, -4], np.int32),
           "bytes": np.array([1, 2], np.int8), "unsigned": np.array([2, 0], np.uint8),
           "matrix": np.array([[1], [-1]], np.int32), "none": np.zeros(0, np.int32)}


@pytest.mark.parametrize(("dtype", "name"), [
    *[("float32", name) for name in INDICES],
    *[(dtype, "outside") for dtype in ("bfloat16", "complex64", "bool", "int8")],
    ("bfloat16", "inside"),
])
@in_both
def test_dtypes(jx, dtype, name):
    x, i = jx.numpy.asarray(X, dtype), jx.numpy.asarray(INDICES[name])
    return (x[i], jx.numpy.take(x, i), jx.numpy.take(x, i, 1), jx.numpy.take(x, i, -2))


@in_both
def test_weak_types_and_scalars(jx):
    x = jx.numpy.asarray(2.0) * jx.numpy.arange(3.0).astype(float)
    weak = jx.lax.full_like(jx.numpy.asarray(1.0), 3.0, shape=(4,))
    i = jx.numpy.asarray([1, -1])
    return (x[i], weak[i], jx.numpy.take(weak, jx.numpy.int32(2)), jx.numpy.take(x, i[0]))


@pytest.mark.parametrize("axis", [0, 1, -1, -2, 2, None])
@pytest.mark.parametrize("indices", [[[1, 0, 2, -1]], [[1], [3], [0]], [[0, 1], [2, 3], [0, 0]],
                                     [[9], [0], [-9]], [1, 2]])
def test_along_axis(axis, indices):
    i = np.array(indices, np.int32)

    def program(jx):
        return lambda: jx.numpy.take_along_axis(jx.numpy.asarray(X), jx.numpy.asarray(i), axis)

    both(program)


S = np.s_
PLACES = {"int": 1, "-1": -1, "9": 9, "int, int": S[1, -2], "slice": S[1:], "step": S[:, ::-2],
          "array": np.array([2, 0]), "outside": np.array([2, 3]), "array, int": S[np.array([1, 1]), 2],
          ":, array": S[:, np.array([3, -1])], "mask": X > 5, "...": S[..., 0], "None": S[None],
          "bytes": np.array([1], np.uint8), "too many": S[0, 0, 0], "far slice": S[2:9], "all": ()}


@pytest.mark.parametrize("name", PLACES)
@in_both
def test_set(jx, name):
    x, z = jx.numpy.asarray(X), jx.numpy.asarray(X.astype(np.int32))
    index = jx.tree_util.tree_map(
        lambda i: jx.numpy.asarray(i) if isinstance(i, np.ndarray) else i, PLACES[name])
    row = jx.numpy.asarray([5.0, 6.0, 7.0, 8.0])
    return (x.at[index].set(9.5), x.at[index].set(2), z.at[index].set(7),
            x.at[index].set(row[0]), z.astype("uint8").at[index].set(300))


@pytest.mark.parametrize(("index", "shape"), [
    (0, (4,)), (0, (1,)), (0, (1, 4)), (0, (3,)), (S[:2], (4,)), (S[:2], (2, 1)), (S[:, 1], (3,)),
    (S[0, 0], ()), (S[0, 0], (1,)), (S[5:], (4,))])
def test_shapes_of_what_is_set(index, shape):
    both(lambda jx: lambda: jx.numpy.asarray(X).at[index].set(jx.numpy.full(shape, 7.0)))


def test_a_negative_zero_is_another_parameter():
    """JAX's caches take it for a zero."""
    x, i = subject.numpy.ones((1, 3)), subject.numpy.array(9)

    def is_negative(zero):
        filled = subject.vmap(lambda x: x.at[i].get(mode="fill", fill_value=zero))(x)
        return bool(subject.numpy.signbit(filled[0]))

    assert [is_negative(zero) for _ in range(8) for zero in (0.0, -0.0)] == [False, True] * 8
