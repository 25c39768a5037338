"""Where arrays are, and getting their values."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax.core.array import as_array
from tests.oracle import both, jax

X = np.arange(3, dtype=np.float32)


def test_devices_as_in_jax():
    for name in ("default_backend", "device_count"):
        assert getattr(minijax, name)() == getattr(jax, name)(), name
    assert str(minijax.devices()) == str(jax.devices())


def test_unknown_platform():
    with pytest.raises(RuntimeError, match="tpu"):
        minijax.devices("tpu")


@pytest.mark.parametrize("x", [as_array(X), minijax.jit(lambda x: x + 1)(X)], ids=["numpy", "xla"])
def test_device_of_an_array(x):
    assert x.device == minijax.devices()[0]
    assert x.devices() == {minijax.devices()[0]}


def test_get_makes_numpy_arrays():
    got = minijax.device_get({"a": as_array(X), "b": None})
    assert type(got["a"]) is np.ndarray and got["b"] is None
    np.testing.assert_array_equal(got["a"], X)


def test_block_until_ready_takes_any_tree():
    tree = {"a": minijax.jit(lambda x: x + 1)(X), "b": [2.0, None]}
    ready = minijax.block_until_ready(tree)
    np.testing.assert_array_equal(ready["a"], X + 1)
    assert ready["b"] == [2.0, None]


def test_a_tree_is_waited_for_and_returned_as_it_is():
    def program(jx):
        def f():
            tree = {"a": jx.jit(lambda x: x * 2)(np.ones(3, np.float32)), "b": [1, None, "s"]}
            return jx.block_until_ready(tree) is tree, tree["a"]
        return f

    both(program)
    gone = minijax.jit(lambda x: x * 2)(1.0)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        minijax.block_until_ready([1, gone])
