"""A program shows the same whatever ran before it: value, type, text, warnings, error.

`python -m tests.history --all` runs all programs, which takes some minutes. Here a sample is taken,
another one each day. The faults that were found first are always in it.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys

import pytest

from tests.history.outcome import Program, difference, sources
from tests.processes import ROOT

# What once depended on history: a call that was refused four times and then succeeded, a program
# that printed differently from the fifth time on, a rule that stayed after it was taken back.
FOUND = {"nan_to_num(x, nan=1j)", "jax.linearize(sin_x, x)[1]\n", "primitive_transposes[lax.mul_p] = old"}


def history(*arguments: str) -> None:
    """Run the command in a process that has not started XLA."""
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-m", "tests.history", *arguments], cwd=ROOT, text=True,
                          env=environment, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]


@pytest.mark.long
def test_a_sample_of_programs_among_others():
    seed = os.environ.get("HISTORY_SEED", datetime.date.today().isoformat())
    history("--sample", "60", "--rounds", "8", "--seed", seed)


@pytest.mark.parametrize("text", sorted(FOUND))
def test_a_program_that_once_depended_on_history(text):
    assert any(text.strip() in source for source in sources())
    history("--only", text.strip(), "--rounds", "20")


@pytest.mark.long
@pytest.mark.parametrize("function", ["bump(", "named(", "hashed("])
def test_one_function_tells_arguments_of_all_kinds_apart(function):
    history("--only", function, "--rounds", "8")


def test_there_are_many_different_programs():
    programs = sources()
    assert len(set(programs)) == len(programs) >= 300


def test_a_difference_is_told():
    once = Program("jnp.sin(x)").run()
    assert difference(once, Program("jnp.sin(x)").run()) == ""
    other = Program("jnp.sin(x) + 0 * 1e-7 + 1e-7").run()
    assert "leaves" in difference(once, other) and "fresh" in difference(once, other)
    assert "error" in difference(once, Program("jnp.sin('a')").run())
