"""Chapter 4: every primitive has a batching rule, and slices at starts that differ by example.

The rules' results and equations are compared with JAX's in `products/test_primitives.py`."""

from __future__ import annotations

import numpy as np
import pytest

from minijax import core
from minijax.core.api import vmap
from minijax.core.batching import primitive_batchers
from minijax.lax import slicing
from minijax.lax.shaping import iota_p
from tests.families import primitives_of_families
from tests.recorder import applied


def test_every_primitive_has_a_rule():
    without = primitives_of_families() - set(primitive_batchers)
    assert without == {iota_p}  # it has no arguments


# ----------------------------------------------------------------------------------------------
# Starts that differ by example: chapter 4 has no gather to delegate to.

EVERYWHERE = np.array([-(2**31), -8, -1, 0, 1, 4, 5, 6, 2**31 - 1], np.int32)


@pytest.mark.parametrize("n, size", [(1, 1), (2, 1), (5, 1), (8, 1), (9, 4), (6, 5), (7, 0)])
def test_own_starts_are_clamped(n, size):
    x = np.arange(n, dtype=np.int16)
    cut = lambda i: slicing.dynamic_slice_p.bind(x, i, slice_sizes=(size,))
    put = lambda i: slicing.dynamic_update_slice_p.bind(x, np.full(size, -1, np.int16), i)
    for function in (cut, put):
        loop = np.stack([np.asarray(function(i)) for i in EVERYWHERE])
        np.testing.assert_array_equal(np.asarray(vmap(function)(EVERYWHERE)), loop)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint8, np.int8])
def test_own_starts_of_any_type(dtype):
    x = np.arange(300, dtype=np.float32)
    starts = np.array([0, 1, 100, np.iinfo(dtype).max], dtype)
    cut = lambda i: slicing.dynamic_slice_p.bind(x, i, slice_sizes=(7,))
    loop = np.stack([np.asarray(cut(i)) for i in starts])
    np.testing.assert_array_equal(np.asarray(vmap(cut)(starts)), loop)


def test_own_starts_carry_no_values_over():
    """A one-hot product would make NaNs of what was not chosen."""
    x = np.array([np.nan, 1, np.inf, 2, -np.inf], np.float32)
    got = vmap(lambda i: slicing.dynamic_slice_p.bind(x, i, slice_sizes=(1,)))(np.array([1, 3]))
    assert got.tolist() == [[1.0], [2.0]]
    put = lambda i: slicing.dynamic_update_slice_p.bind(np.ones(3, np.float32), x[:1], i)
    assert np.isnan(np.asarray(vmap(put)(np.array([0, 2])))).sum(axis=1).tolist() == [1, 1]


def test_own_starts_take_logarithmically_many_equations():
    def equations(n):
        cut = lambda i: slicing.dynamic_slice_p.bind(np.zeros(n), i, slice_sizes=(2,))
        return applied(vmap(cut), np.arange(50))[0].total()

    assert equations(1000) - equations(500) == equations(500) - equations(250) <= 8


def test_missing_rule():
    nameless_p = core.Primitive("nameless")
    with pytest.raises(NotImplementedError, match="Batching rule for 'nameless'.*chapter 4"):
        vmap(nameless_p.bind)(np.ones(3))
