"""A wrong call raises the class of error that JAX raises, with a message made for the user."""

from __future__ import annotations

import pytest

from tests.bad_input.table import Row, all_rows, program
from tests.bad_input.verdict import complaint
from tests.oracle import run, subject

LEAST_ROWS = 800


@pytest.mark.parametrize("row", all_rows(), ids=lambda row: f"{row.part}: {row.call}")
def test_wrong_call(row: Row):
    for traced, wanted in row.ways:
        answer = run(subject, program(row.call, traced))
        assert not complaint(answer, wanted), f"{complaint(answer, wanted)}: {answer!r}"
