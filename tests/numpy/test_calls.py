"""Every call of the table does the same in both libraries: values, types, shapes, errors, text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.numpy.calls import ARRAYS, rows
from tests.oracle import both
from tests.oracle.calls import arrays_in, program

ROWS = rows()

# Jaxprs that differ, by how our function does it: the rest of the row is the same.
OTHER_TEXT = {
    "the order of complex numbers": r"logaddexp2?\(c",
    "complex numbers are true if any part is": r"(all|any)\(c\)",
    "all pieces are computed and one is selected, where JAX maps a switch": "piecewise",
    "slices, where JAX gathers": r"diagonal|diagflat|diag\((sq|m)|triu_indices_from"
    r"|delete\(x, slice",
    "the length has a second derivative where both are equal": r"jnp\.hypot",
    "the order of one reshape": r"pad\(n, 1, .linear_ramp|polyder",
    "JAX checks the type only when it compiles": r"arg(max|min)\(c\)",
    "numbers are converted before what is compiled": r"nan_to_num\((c|w, nan)",
    "a size that stands for an unknown number": r"where\(b, size",
}
OTHER_VALUES = {"jnp.all(c)"}  # declared in tools/differences.py: JAX drops the imaginary parts
EXCEPTIONS = re.compile("|".join(OTHER_TEXT.values()))
# Constants and indices have no traced argument, or are about values.
NOT_TRACED = re.compile(r"jnp\.(array|asarray)\(|where\((b|m > 0.3)\)|nonzero|argwhere")


def program_of(row: str, transform: str = "", arrays=ARRAYS, x64: bool = False):
    """The row, with `jnp` for the library's NumPy, perhaps transformed."""
    transformed = (lambda jx, f: getattr(jx, transform)(f)) if transform else None
    return program(row, arrays, lambda jx: {"jnp": jx.numpy}, transformed, x64)


@pytest.mark.parametrize("row", [row for row in ROWS if row not in OTHER_VALUES])
def test_eager(row):
    both(program_of(row))


@pytest.mark.parametrize("row", ROWS[::7])
def test_jit(row):
    both(program_of(row, "jit"))


@pytest.mark.parametrize("row", [row for row in ROWS[::5] if row not in OTHER_VALUES])
def test_64_bits(row):
    wide = {name: a.astype(np.float64) if a.dtype == np.float32 and name != "x" else a
            for name, a in ARRAYS.items()}
    both(program_of(row, arrays=wide, x64=True))


@pytest.mark.parametrize("row", [r for r in ROWS if arrays_in(r, ARRAYS) and not NOT_TRACED.search(r)
                                 and not EXCEPTIONS.search(r)])
def test_text(row):
    """The jaxprs read the same, nested `jit` equations included."""
    both(program_of(row, "make_jaxpr"))


def test_the_exceptions_are_needed():
    """Each reason for another text still has a row that it explains."""
    for reason, pattern in OTHER_TEXT.items():
        assert any(re.search(pattern, row) for row in ROWS), reason
