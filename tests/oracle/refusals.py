"""The reviewed list of cases that JAX refuses, `refusals.txt`.

A line is `ErrorClass: case` below the name of a test, `module::test`. The case is pytest's name of
it, where `{a,b}` stands for several names; a name that has braces itself follows `=`. `#n` at the end
is the number of the question in the test, where not all of its questions are refused.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from pathlib import Path

FILE = Path(__file__).with_name("refusals.txt")
SEPARATOR = re.compile(r"([-.])")
HEADER = """\
# The cases that JAX refuses, by test and class of error (tests/oracle/refusals.py explains the form).
# A case that is listed here must be refused by both libraries, and no other case may be.
# `make oracle` writes this file anew; what changes in it is to be reviewed like code.
"""


def declared_refusal(module: str, name: str, question: int) -> str | None:
    """The class of error that the list declares for a question of a test."""
    test, _, case = name.partition("[")
    cases = _cases().get(f"{module}::{test}", {})
    case = case.removesuffix("]")
    return cases.get(f"{case}#{question}") or cases.get(case)


@functools.cache
def _cases() -> dict[str, dict[str, str]]:
    return parse(FILE.read_text()) if FILE.exists() else {}


def parse(text: str) -> dict[str, dict[str, str]]:
    """By test, the error of each case."""
    cases: dict[str, dict[str, str]] = defaultdict(dict)
    test = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            test = line
            continue
        error, _, pattern = line.strip().partition(": ")
        cases[test].update(dict.fromkeys(_expand(pattern), error))
    return cases


def _expand(pattern: str) -> list[str]:
    if pattern.startswith("="):
        return [pattern[1:]]
    parts = re.split(r"\{([^{}]*)\}", pattern)
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def text_of(cases: dict[str, dict[str, str]]) -> str:
    """The file's text for these cases, with cases that differ in one part brought together."""
    lines = [HEADER]
    for test in sorted(cases):
        lines.append(f"\n{test}\n")
        by_error: dict[str, list[str]] = defaultdict(list)
        for case, error in cases[test].items():
            by_error[error].append(case)
        for error in sorted(by_error):
            lines.extend(f"    {error}: {pattern}\n" for pattern in _patterns(by_error[error]))
    return "".join(lines)


def _patterns(ids: list[str]) -> list[str]:
    """Few patterns that stand for exactly these ids: boxes that differ in one part are merged."""
    plain = [case for case in ids if case and not re.search(r"[{},=]", case)]
    boxes = {tuple((part,) for part in SEPARATOR.split(case)) for case in plain}
    for position in range(max(map(len, boxes), default=0)):
        groups: dict[tuple, list] = defaultdict(list)
        for box in boxes:
            if position < len(box):
                groups[(box[:position], box[position + 1 :])].append(box[position])
            else:
                groups[(box, None)].append(())
        boxes = {
            left if right is None else (*left, tuple(sorted(itertools.chain(*parts))), *right)
            for (left, right), parts in groups.items()
        }
    written = [
        "".join(part[0] if len(part) == 1 else "{" + ",".join(part) + "}" for part in box)
        for box in boxes
    ]
    return sorted(written) + sorted("=" + case for case in set(ids) - set(plain))
