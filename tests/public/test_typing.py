"""`minijax.typing` and `minijax.version`: the same things are array-like as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both

VALUES = {
    "array": lambda jx: jx.numpy.ones(2), "NumPy array": lambda jx: np.ones(2),
    "NumPy scalar": lambda jx: np.float16(1), "NumPy bool": lambda jx: np.bool_(True),
    "float": lambda jx: 1.0, "complex": lambda jx: 1j, "bool": lambda jx: True,
    "list": lambda jx: [1.0], "text": lambda jx: "a", "nothing": lambda jx: None,
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_array_like(name):
    both(lambda jx: lambda: isinstance(VALUES[name](jx), jx.typing.ArrayLike))


def test_tracers_are_array_like():
    seen = []
    minijax.jit(lambda x: seen.append(isinstance(x, minijax.typing.ArrayLike)))(1.0)
    assert seen == [True]


def test_version():
    assert minijax.version.__version__ == minijax.__version__
    assert minijax.__version_info__ == tuple(map(int, minijax.__version__.split(".")))
