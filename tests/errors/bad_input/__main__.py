"""`python -m tests.errors.bad_input`: print the messages of wrong calls, or write JAX's outcomes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

os.environ["JAX_NUM_CPU_DEVICES"] = "8"  # as in tests/conftest.py
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from tests.errors.bad_input.table import ROWS, Row, answered, parse, program
from tests.errors.bad_input.verdict import complaint
from tests.oracle import oracle, run, subject


def write(parts: list[str]) -> None:
    """Write JAX's outcomes into the tables."""
    for path in _tables(parts):
        lines = []
        for line in path.read_text().splitlines():
            rows = parse(path.stem, line)
            lines += [answered(row, oracle).line for row in rows] or [line]
        path.write_text("\n".join(lines) + "\n")


def show(parts: list[str], with_jax: bool, differing: bool) -> None:
    """Print what becomes of each call."""
    for path in _tables(parts):
        for row in parse(path.stem, path.read_text()):
            text = "\n".join(_shown(row, with_jax, differing))
            if text:
                print(f"--- {row.call}\n{text}")


def _shown(row: Row, with_jax: bool, differing: bool) -> Iterator[str]:
    told = ""
    for traced, wanted in row.ways:
        answer = run(subject, program(row.call, traced))
        complained = complaint(answer, wanted)
        ours = _described("", answer)
        if (differing and not complained) or ours == told:
            continue
        told = ours
        yield "traced " * traced + ours + f"\n!!! {complained}" * bool(complained)
        if with_jax:
            yield _described("JAX ", run(oracle, program(row.call, traced)))


def _described(label: str, answer: object) -> str:
    text = str(answer) if isinstance(answer, Exception) else ""
    return f"{label}{type(answer).__name__}: {text[:700]}"


def _tables(parts: list[str]) -> list:
    return [path for path in sorted(ROWS.glob("*.txt")) if not parts or path.stem in parts]


named = [arg for arg in sys.argv[1:] if not arg.startswith("-")]
if "--write" in sys.argv:
    write(named)
else:
    show(named, "--jax" in sys.argv, "--differing" in sys.argv)
