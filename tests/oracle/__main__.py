"""`python -m tests.oracle`: store what a run with `MINIJAX_ORACLE=refresh` has left.

`--new` first forgets the stored answers, for a run of all tests. `--prune` forgets the answers to
tests that are no more.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict

from tests.oracle import refusals, stored


def listed(questions: list) -> dict[str, str]:
    """The errors among a test's answers: under "" if all are the same, else under `#number`."""
    errors = {f"#{i}": answer for i, answer in enumerate(questions) if isinstance(answer, str)}
    if len(errors) == len(questions) and len(set(errors.values())) == 1:
        return {"": errors["#0"]}
    return errors


def prune() -> None:
    """Forget the answers to tests that pytest does not find."""
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests"], check=True, text=True,
        env=os.environ | {"MINIJAX_ALL_CASES": "1"}, capture_output=True).stdout
    asked = {stored.name_of(line) for line in found.splitlines()}
    for path in sorted(stored.FOLDER.glob("*.json.xz")):
        module = path.name.removesuffix(".json.xz")
        answers = stored.read(module)
        kept = {name: answer for name, answer in answers.items() if (module, name) in asked}
        if kept and kept != answers:
            stored.write(module, kept)
        elif not kept:
            path.unlink()
        if kept != answers:
            print(f"{len(answers) - len(kept):6} stale answers of {module}")


def write_refusals() -> None:
    """List the refused questions. (A test may also declare its own, by `raises=`.)"""
    cases: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(stored.FOLDER.glob("*.json.xz")):
        module = path.name.removesuffix(".json.xz")
        for name, questions in stored.read(module).items():
            test, _, case = name.partition("[")
            for number, error in listed(questions).items():
                cases[f"{module}::{test}"][case.removesuffix("]") + number] = error
    refusals.FILE.write_text(refusals.text_of(cases))


if "--new" in sys.argv:
    shutil.rmtree(stored.FOLDER, ignore_errors=True)
stored.collect_fresh()
if "--prune" in sys.argv:
    prune()
write_refusals()
