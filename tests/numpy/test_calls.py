"""Every call of the table does the same in both libraries: values, types, shapes, errors, text."""

from __future__ import annotations

import re
import warnings

import jax
import numpy as np
import pytest

from tests.numpy.calls import ARRAYS, rows
from tests.oracle.compare import Outcome, assert_same_outcome
from tests.oracle.namespaces import oracle, subject
from tests.oracle.text import jaxpr_text

ROWS = rows()

# Jaxprs that differ, by how our function does it: the rest of the row is the same.
OTHER_TEXT = {
    "a series, where JAX has a custom_jvp for each derivative at 0": "sinc",
    "the order of complex numbers": r"logaddexp2?\(c",
    "all pieces are computed and one is selected, where JAX maps a switch": "piecewise",
    "slices, where JAX gathers": r"diagonal|diagflat|diag\((sq|m)|repeat\(.*array|triu_indices_from"
    r"|delete\((m, 0|x, (np|slice))",
    "the order of one reshape": r"pad\(n, 1, .linear_ramp|polyder",
    "JAX checks the type only when it compiles": r"arg(max|min)\(c\)",
    "a size that stands for an unknown number": r"where\(b, size",
}
EXCEPTIONS = re.compile("|".join(OTHER_TEXT.values()))
# Constants and indices have no traced argument, or are about values.
NOT_TRACED = re.compile(r"jnp\.(array|asarray)\(|where\((b|m > 0.3)\)|nonzero|argwhere")


def names_in(row: str) -> list[str]:
    """The arrays that a row mentions."""
    return [name for name in ARRAYS if re.search(rf"(?<![\w.\"']){name}(?![\w\"'=(])", row)]


def function_of(row: str, jnp):
    """The row as a function of the arrays that it mentions."""
    return eval(f"lambda {', '.join(names_in(row))}: {row}", {"jnp": jnp, "np": np})


def outcome(library, row: str, transform=lambda f: f, arrays=ARRAYS) -> Outcome:
    """What the row does in one library."""
    values = [library.numpy.asarray(arrays[name]) for name in names_in(row)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of truncated dtypes and discarded imaginary parts
        try:
            return Outcome(value=transform(function_of(row, library.numpy))(*values))
        except Exception as error:
            return Outcome(error=error)


@pytest.mark.parametrize("row", ROWS)
def test_eager(row):
    assert_same_outcome(outcome(subject, row), outcome(oracle, row))


@pytest.mark.parametrize("row", ROWS[::7])
def test_jit(row):
    assert_same_outcome(outcome(subject, row, subject.jit), outcome(oracle, row, oracle.jit))


@pytest.mark.parametrize("row", ROWS[::5])
def test_64_bits(row):
    wide = {name: a.astype(np.float64) if a.dtype == np.float32 and name != "x" else a
            for name, a in ARRAYS.items()}
    with oracle.enable_x64(True), subject.enable_x64(True):
        assert_same_outcome(outcome(subject, row, arrays=wide), outcome(oracle, row, arrays=wide))


@pytest.mark.parametrize("row", [r for r in ROWS if names_in(r) and not NOT_TRACED.search(r)
                                 and not EXCEPTIONS.search(r)])
def test_text(row):
    """The jaxprs read the same, nested `jit` equations included."""
    expected = outcome(oracle, row, jax.make_jaxpr)
    actual = outcome(subject, row, subject.make_jaxpr)
    if expected.error is not None:
        assert type(actual.error).__name__ == type(expected.error).__name__
        return
    if actual.error is not None:
        raise actual.error
    assert jaxpr_text(actual.value) == jaxpr_text(expected.value)


def test_the_exceptions_are_needed():
    """Each reason for another text still has a row that it explains."""
    for reason, pattern in OTHER_TEXT.items():
        assert any(re.search(pattern, row) for row in ROWS), reason
