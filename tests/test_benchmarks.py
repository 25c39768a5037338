"""The benchmarks run: every workload does its work, and the table can be made of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.benchmarks.measure import ROOT
from tests.benchmarks.workloads import COMPILED, WORKLOADS
from tests.oracle import both, subject


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload_runs(name):
    WORKLOADS[name].build(subject)()


@pytest.mark.parametrize("name", COMPILED)
def test_both_libraries_compute_the_same(name):
    """A quick program is worth nothing if it is another program."""

    def program(jx):
        step, args = COMPILED[name](jx)
        return lambda: jx.jit(step)(*args)

    both(program, tol=1e-3)


def test_rows_of_the_table(tmp_path):
    command = [sys.executable, "-m", "tests.benchmarks", "--quick", "x * 2.0", "MLP step: fl"]
    command += ["--folder", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert "| eager x * 2.0 |" in result.stdout
    assert "2 rows" in result.stdout
    assert (tmp_path / "latest.md").exists() and (tmp_path / "latest.json").exists()
