"""`python -m tests.oracle`: store what a run with `MINIJAX_ORACLE=refresh` has left.

`--new` first forgets the stored answers, for a run of all tests.
"""

from __future__ import annotations

import shutil
import sys
from collections import defaultdict

from tests.oracle import refusals, stored


def listed(questions: list) -> dict[str, str]:
    """The errors among a test's answers: under "" if all are the same, else under `#number`."""
    errors = {f"#{i}": answer for i, answer in enumerate(questions) if isinstance(answer, str)}
    if len(errors) == len(questions) and len(set(errors.values())) == 1:
        return {"": errors["#0"]}
    return errors


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
write_refusals()
