"""A wrong call raises the class of error that JAX raises, with a message made for the user."""

from __future__ import annotations

import pytest

from tests.errors.bad_input.table import ROWS, Row, all_rows, answered, program
from tests.errors.bad_input.verdict import complaint
from tests.oracle import oracle, run, subject

LEAST_ROWS = 800


@pytest.mark.parametrize("row", all_rows(), ids=lambda row: f"{row.part}: {row.call}")
def test_wrong_call(row: Row):
    for traced, wanted in row.ways:
        answer = run(subject, program(row.call, traced))
        assert not complaint(answer, wanted), f"{complaint(answer, wanted)}: {answer!r}"


def test_there_are_rows_for_the_whole_api():
    assert len(all_rows()) >= LEAST_ROWS
    assert len({row.call for row in all_rows()}) == len(all_rows()), "a call stands twice"


def test_a_declared_difference_has_a_reason_and_is_one():
    for row in all_rows():
        assert bool(row.ours) == bool(row.reason), row.call
        assert row.ours != row.jax, f"no difference: {row.call}"


@pytest.mark.live_jax
@pytest.mark.parametrize("part", sorted(path.stem for path in ROWS.glob("*.txt")))
def test_jax_does_what_the_tables_say(part: str):
    rows = [row for row in all_rows() if row.part == part]
    changed = [(row.call, row.jax, now) for row in rows
               if (now := answered(row, oracle).jax) != row.jax]
    assert not changed, changed


def test_the_buffer_of_an_array():
    """What `memoryview(x)` asks for, from Python 3.12 on."""
    x = subject.numpy.arange(3)
    assert bytes(x.__buffer__(0)) == bytes(x) == x.tobytes()
