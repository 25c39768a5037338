"""Where arrays are, and getting values to and from a device."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import minijax
from minijax.array import as_array

X = np.arange(3, dtype=np.float32)


def test_one_cpu_device_as_in_jax():
    for name in ("default_backend", "device_count", "local_device_count", "process_index",
                 "process_count"):
        assert getattr(minijax, name)() == getattr(jax, name)(), name
    assert str(minijax.devices()) == str(jax.devices()) == str(minijax.local_devices())


def test_unknown_platform():
    with pytest.raises(RuntimeError, match="tpu"):
        minijax.devices("tpu")


@pytest.mark.parametrize("x", [as_array(X), minijax.jit(lambda x: x + 1)(X)], ids=["numpy", "xla"])
def test_device_of_an_array(x):
    assert x.device == minijax.devices()[0]
    assert x.devices() == {minijax.devices()[0]}


def test_put_copies_and_get_reads_only():
    source = X.copy()
    put = minijax.device_put({"a": source, "b": 1.0})
    source[:] = -1
    np.testing.assert_array_equal(put["a"], X)
    assert type(put["b"]) is type(put["a"])
    got = minijax.device_get(put)
    assert type(got["a"]) is np.ndarray
    np.testing.assert_array_equal(got["a"], X)


def test_put_under_transformations():
    assert minijax.jit(lambda x: minijax.device_put(x) * 2)(3.0).item() == 6
    _, tangent = minijax.jvp(lambda x: minijax.device_put(x) ** 2, (3.0,), (1.0,))
    assert tangent.item() == 6


def test_put_of_no_array():
    with pytest.raises(TypeError):
        minijax.device_put("a")


def test_block_until_ready_takes_any_tree():
    tree = {"a": minijax.jit(lambda x: x + 1)(X), "b": [2.0, None]}
    ready = minijax.block_until_ready(tree)
    np.testing.assert_array_equal(ready["a"], X + 1)
    assert ready["b"] == [2.0, None]
