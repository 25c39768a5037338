"""Short versions of what `make endurance` runs for long."""

from __future__ import annotations

import pytest

from tests.endurance import interrupts, kills, memory, threads
from tests.endurance.threads import WORKS


def test_every_program_of_the_memory_test_is_right():
    for i in range(12):
        memory.visit(i)


def test_threads():
    assert threads.main(3) == []


def test_every_work_of_the_threads_is_right():
    for work in WORKS:
        actual, expected = work(0.5)
        threads.np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.long
def test_ctrl_c_at_random_moments():
    interrupts.main(5)


def test_ctrl_c_at_the_ends_of_with_blocks():
    assert interrupts.everywhere(1, 100, all_calls=False) > 100


def test_killed_while_writing_the_cache():
    kills.main(2, programs=5)
