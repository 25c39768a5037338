"""Functions at the ends of their domains and of the types, eagerly and compiled, against JAX.

This is a small part of the table in `table.py`: single precision and integers, values and
gradients. `make edges` compares the whole. Every difference is declared in tools/differences.py.
"""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest

from tests.edges.compare import differences, is_declared
from tests.edges.subnormals import can_flush, flushed
from tests.edges.table import FUNCTIONS, LOOPS, TABLE, answers, is_left_out
from tests.oracle import ask, jax, subject
from tools.differences import EDGES

SHORT = [(text, arity) for text, arity in FUNCTIONS if not LOOPS.search(text)]


def undeclared(text: str, arity: int, dtype: str, jit: bool, want: dict) -> list:
    """The differences from what JAX answered that no reason is given for."""
    # XLA takes subnormal numbers as zero. NumPy must do so, too, or it would differ wherever an
    # intermediate result is one: that is the first difference that EDGES declares.
    eager = flushed() if not jit and dtype == "float32" else contextlib.nullcontext()
    with eager:
        got = answers(subject, text, arity, dtype, jit, few=True)
    how = "jit" if jit else "eager"
    found = differences(text, arity, dtype, how, got, want, few=True)
    return [(row, points) for row, points, _ in found if not is_declared(row)]


@pytest.mark.parametrize("text, arity", SHORT, ids=[text for text, _ in SHORT])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_edges(dtype, text, arity):
    if is_left_out(text, dtype):
        pytest.skip("JAX does not end")
    want = ask(lambda: answers(jax, text, arity, dtype, True, few=True))
    if can_flush() or dtype == "int32":
        assert undeclared(text, arity, dtype, False, want) == []
    if dtype == "float32":
        assert undeclared(text, arity, dtype, True, want) == []


def test_the_comparison_finds_each_kind_of_difference():
    x = np.float32([0, 1, np.nan, np.inf])
    for other, kind in (([-0.0, 1, np.nan, np.inf], "zero"), ([0, 2, np.nan, np.inf], "value"),
                        ([0, np.nan, np.nan, np.inf], "nan"), ([0, 1, np.nan, -np.inf], "value")):
        rows = differences("f", 1, "float32", "jit", {"value": [x]}, {"value": [np.float32(other)]})
        assert [row[:2] for row in rows] == [(f"float32 jit f value: {kind}", 1)]
    assert [*differences("f", 1, "float32", "jit", {"value": [x]}, {"value": [x]})] == []
    (refused,) = differences("f", 1, "float32", "jit", {"value": "TypeError"}, {"value": [x]})
    assert refused[:2] == ("float32 jit f value: error", 1)


def test_eager_arithmetic_keeps_subnormal_numbers():
    """As declared; compiled, they are zero."""
    x = subject.numpy.float32(1.4e-45)
    assert np.isfinite(subject.numpy.log(x))
    assert subject.jit(subject.numpy.log)(x) == -np.inf == ask(lambda: float(jax.numpy.log(1.4e-45)))


@pytest.mark.parametrize("pattern", [p for patterns in EDGES.values() for p in patterns])
def test_patterns_of_declared_differences_name_functions_of_the_table(pattern):
    rows = [f"{dtype} {how} {text} {mode}: {kind}" for text, _ in TABLE
            for dtype in ("float32", "float64", "bfloat16", "complex64", "int32", "uint8")
            for how in ("eager", "jit") for mode in ("value", "jvp0", "grad", "second0", "second1", "reverse0", "reverse1")
            for kind in ("subnormal", "infinite", "nan", "zero", "value", "error")]
    assert any(re.fullmatch(pattern, row) for row in rows)


def test_ends_of_long_programs():
    """Of functions that the suite's part of the table leaves out, since XLA compiles them long."""
    a, x = np.float32([0, 1, 0.5, 3]), np.float32([1e10, 1e18, 3e38, np.inf])
    grid = [y.ravel() for y in np.meshgrid(a, x)]
    np.testing.assert_array_equal(subject.lax.igamma(*grid), np.ones(16))
    np.testing.assert_array_equal(subject.lax.igammac(*grid), np.zeros(16))
    fresnel = subject.scipy.special.fresnel(np.float32([1e30, 3.4e38, -3.4e38]))
    np.testing.assert_array_equal(fresnel, [[0.5, 0.5, -0.5]] * 2)
