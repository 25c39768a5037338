"""`minijax.lax` has the names of `jax.lax`, with their signatures, but for those listed here."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import minijax
from tests.oracle import jax
from tests.oracle.compare import both
from tools import differences

MISSING = {name for by_module in differences.MISSING.values()
           for name in by_module.get("lax", "").split()}


def names(module):
    return {name for name in dir(module) if not name.startswith("_")}


def test_names():
    assert names(jax.lax) - names(minijax.lax) == MISSING
    assert names(minijax.lax) - names(jax.lax) == set()


def signature(function):
    """Names, kinds and defaults of the parameters; sentinels count as one."""
    plain = (int, float, str, tuple, bool, type(None))
    return [(p.name, p.kind, p.default if isinstance(p.default, plain) else str(type(p.default)))
            for p in inspect.signature(function).parameters.values()]


FUNCTIONS = sorted(
    name for name in names(jax.lax) & names(minijax.lax) - {"random_gamma_grad"}
    if callable(getattr(jax.lax, name)) and inspect.isroutine(getattr(minijax.lax, name)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature(name):
    expected, actual = (signature(getattr(m.lax, name)) for m in (jax, minijax))
    for (got_name, got_kind, got), (want_name, want_kind, want) in zip(actual, expected, strict=True):
        assert (got_name, got_kind) == (want_name, want_kind)
        assert got == want or "DType" in str(want) or "Algorithm" in str(want)


def test_accuracy_and_result_type():
    x = np.float32(0.5)

    def program(m):
        modes = m.lax.AccuracyMode.HIGHEST, m.lax.Tolerance(1e-3, 0.0, 0), None
        return lambda: ([m.lax.exp(x, accuracy=mode) for mode in modes],
                        m.lax.mul(x, np.float16(2), out_dtype="float32"),
                        m.lax.mul(np.int32(2), np.int32(3), out_dtype="float32"),
                        m.lax.full((2,), 1, sharding=None), m.lax.reduce_sum(
                            np.ones(3, np.float32), (0,), out_sharding=None))

    both(program)
