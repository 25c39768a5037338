"""Indices made up by Hypothesis: reading, and writing with every method and mode, against JAX."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minijax
from tests.oracle.compare import both

UPDATES = "set add subtract multiply divide power min max apply".split()
MODES = [None, "clip", "drop", "fill", "promise_in_bounds"]


def _bounds(n):
    return st.none() | st.integers(-n - 1, n + 1)


def _entry(n: int):
    """One entry of an index for a dimension of this size; arrays keep within bounds."""
    slices = st.builds(slice, _bounds(n), _bounds(n), st.sampled_from([None, None, 1, 2, -1, -2]))
    if n == 0:
        return slices
    ints = st.integers(-n, n - 1)
    arrays = st.lists(ints, min_size=1, max_size=3).map(np.array)
    columns = st.lists(ints, min_size=2, max_size=2).map(lambda i: np.array(i, np.int8)[:, None])
    masks = st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)
    return st.one_of(ints, slices, slices, arrays, columns, masks, ints.map(np.int64))


@st.composite
def shapes_and_indices(draw):
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    count = draw(st.integers(0, len(shape)))
    if draw(st.booleans()):  # entries after an ellipsis are for the last dimensions
        before = draw(st.integers(0, count))
        last = shape[len(shape) - (count - before):]
        entries = [draw(_entry(n)) for n in shape[:before]]
        entries += [Ellipsis, *(draw(_entry(n)) for n in last)]
    else:
        entries = [draw(_entry(n)) for n in shape[:count]]
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), None)
    return shape, tuple(entries)


def _selected_shape(shape, index):
    """The shape of what NumPy reads; `None` if the arrays in the index do not broadcast."""
    try:
        return np.zeros(shape)[index].shape
    except IndexError:
        return None


def _on(m, index):
    """The index with the arrays of this library."""
    return tuple(m.numpy.asarray(e) if isinstance(e, np.ndarray) else e for e in index)


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(shapes_and_indices(), st.sampled_from(["float32", "int32", "bool", "complex64", "bfloat16"]))
def test_reading(case, dtype):
    shape, index = case
    x = np.arange(math.prod(shape)).reshape(shape)
    both(lambda m: lambda: m.numpy.asarray(x).astype(dtype)[_on(m, index)])
    both(lambda m: lambda: m.numpy.asarray(x).astype(dtype).at[_on(m, index)].get(
        mode="fill", fill_value=0))


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(shapes_and_indices(), st.sampled_from(UPDATES), st.sampled_from(MODES), st.booleans(), st.booleans())
def test_writing(case, method, mode, whole, integers):
    shape, index = case
    x = np.arange(math.prod(shape)).reshape(shape).astype("int32" if integers else "float32")

    def update(m):
        operand = m.numpy.asarray(x)
        place = operand.at[_on(m, index)]
        if method == "apply":
            return place.apply(m.numpy.negative, mode=mode)
        # One value for all: which of several values a repeated index gets is nobody's promise.
        value = m.numpy.full(operand[_on(m, index)].shape, 3) if whole else 3
        return getattr(place, method)(value, mode=mode)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of quotients written into integers
        both(lambda m: lambda: update(m))


@settings(max_examples=15, deadline=None)
@given(shapes_and_indices())
def test_traced_indices_have_jax_s_text(case):
    """Integers and arrays as arguments: the same gathers and dynamic slices."""
    shape, index = case
    traced = [e for e in index if isinstance(e, np.ndarray) and e.dtype != bool]
    masks = any(isinstance(e, np.ndarray) and e.dtype == bool for e in index)
    selected = _selected_shape(shape, index)
    if masks or 0 in shape or selected is None or 0 in selected:
        return
    x = np.zeros(shape, np.float32)

    def read(m):
        def f(x, *arrays):
            rest = iter(arrays)
            return x[tuple(next(rest) if isinstance(e, np.ndarray) else e for e in index)]
        return f

    both(lambda m: m.make_jaxpr(read(m)), x, *traced)


NARROW = {
    "dynamic_index_in_dim": lambda jx, x, i: jx.lax.dynamic_index_in_dim(x, i, keepdims=False),
    "dynamic_slice": lambda jx, x, i: jx.lax.dynamic_slice(x, (i,), (1,))[0],
    "integer": lambda jx, x, i: x[i],
    "array": lambda jx, x, i: x[i[None]][0],
    "take": lambda jx, x, i: jx.numpy.take(x, i),
    "take, wrapped": lambda jx, x, i: jx.numpy.take(x, i, mode="wrap"),
    "take_along_axis": lambda jx, x, i: jx.numpy.take_along_axis(x, i[None], 0)[0],
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", NARROW)
def test_narrow_indices_count_from_the_end_of_a_long_dimension(name, jit, dtype):
    """In JAX, -1 in eight bits is 43 of 300 elements, or an OverflowError."""
    x = minijax.numpy.arange(300.0)
    call = minijax.jit(lambda x, i: NARROW[name](minijax, x, i)) if jit else (
        lambda x, i: NARROW[name](minijax, x, i))
    for i in (5, 100) if dtype == "uint8" else (5, -1, -100):
        assert call(x, minijax.numpy.asarray(i, dtype)) == i % 300


@pytest.mark.parametrize("jit", [False, True])
def test_narrow_indices_of_updates(jit):
    f = lambda i: minijax.numpy.zeros(300).at[i].set(1.0).argmax()
    f = minijax.jit(f) if jit else f
    assert f(np.int8(-1)) == 299 and f(np.array([-2], np.int8)) == 298
