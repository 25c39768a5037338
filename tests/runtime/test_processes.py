"""The devices of a process, and `device_put` in its simplest uses."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import jax

X = np.arange(3, dtype=np.float32)


def test_one_process_as_in_jax():
    for name in ("local_device_count", "process_index", "process_count", "process_indices"):
        assert getattr(minijax, name)() == getattr(jax, name)(), name
    assert str(minijax.local_devices()) == str(jax.local_devices())


@pytest.mark.parametrize("library", [jax, minijax])
def test_no_such_process(library):
    with pytest.raises(ValueError, match="process_index 1"):
        library.local_devices(process_index=1)


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
