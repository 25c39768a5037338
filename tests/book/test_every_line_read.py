"""Chapter 8 says of the network that it trains: every line that just ran, you have read."""

from __future__ import annotations

import sys
from pathlib import Path

from weaver import examples, tiny as site

from tests.book.tiny_programs import tiny

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


def shown() -> set[str]:
    """The steps of tiny that chapters 1 to 8 show."""
    numbers: set[str] = set()
    for page in CHAPTERS.glob("0[1-8]-*/*.md"):
        for block in examples.load(page)[1]:
            for line in block.body if block.kind == "tiny" else []:
                numbers |= {n for n, step in site.steps().items()
                            if line.strip() in (n, f"chapter {step.chapter}")}
    return numbers


def network() -> str:
    """The example of chapter 8, with fewer steps."""
    page = examples.load(CHAPTERS / "08-reverse-mode/README.md")[2]
    (code,) = [example.block.code for example in page if "load_digits" in example.block.code]
    assert "range(300)" in code
    return code.replace("range(300)", "range(1)")


def test_every_line_that_runs_in_the_network_stands_in_chapters_1_to_8(monkeypatch, capsys):
    ran: set[int] = set()

    def watch(frame, event, arg):
        if not frame.f_code.co_filename.startswith("tiny.py"):
            return None
        ran.add(frame.f_lineno)
        return watch

    monkeypatch.setitem(sys.modules, "tiny", tiny())
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        exec(network(), {"__name__": "__main__"})
    finally:
        sys.settrace(before)
    assert "digits that it has never seen" in capsys.readouterr().out
    steps = {n for n, step in site.steps().items() for line in ran if step.file == "tiny.py"
             and step.first <= line <= step.last}
    assert len(steps) > 25
    assert steps <= shown(), f"chapters 1 to 8 show no step {', '.join(sorted(steps - shown()))}"
