"""The benchmarks run: every workload does its work, and the table can be made of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.benchmarks.__main__ import BEGIN, END, PAGE, with_table
from tests.benchmarks.composite import COMPOSITE
from tests.benchmarks.measure import ROOT, environment
from tests.benchmarks.workloads import COMPILED, WORKLOADS
from tests.oracle import both, subject


@pytest.mark.long
@pytest.mark.daily(7)
@pytest.mark.parametrize("name", WORKLOADS)
def test_workload_runs(name):
    WORKLOADS[name].build(subject)()


@pytest.mark.long
def test_composite_functions_run():
    assert len(COMPOSITE) > 100
    for name, work in COMPOSITE.items():
        assert work.build(subject)() is not None, name


@pytest.mark.parametrize("name", COMPILED)
def test_both_libraries_compute_the_same(name):
    """A quick program is worth nothing if it is another program."""

    def program(jx):
        step, args = COMPILED[name](jx)
        return lambda: jx.jit(step)(*args)

    both(program, tol=1e-3)


@pytest.mark.long
def test_rows_of_the_table(tmp_path):
    command = [sys.executable, "-m", "tests.benchmarks", "--quick", "x * 2.0", "MLP step: fl"]
    command += ["--folder", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert "| eager x * 2.0 |" in result.stdout
    assert "3 rows" in result.stdout
    assert (tmp_path / "latest.md").exists() and (tmp_path / "latest.json").exists()


def test_the_table_in_the_book():
    """A new table replaces the old one, and leaves the page around it as it was."""
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    rows = [{"row": "x + y", "jax": "10 µs", "subject": "1 µs", "ratio": 0.1}]
    once = with_table(page, "Today.", rows)
    assert once.startswith(before) and once.endswith(rest.partition(END)[2]) and END in rest
    assert "| x + y | 10 µs | 1 µs | 0.10 |" in once
    assert with_table(once, "Today.", rows) == once


def test_the_curve_over_devices():
    result = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.devices", "--library", "minijax"], text=True,
        capture_output=True, cwd=ROOT, env=environment() | {"JAX_NUM_CPU_DEVICES": "4"})
    assert result.returncode == 0, result.stderr
    assert {"lower", "compile", "step", "memory"} == set(json.loads(result.stdout))
