"""Which statements of a file programs execute: by coverage, of one small program."""

from __future__ import annotations

from pathlib import Path

from tools import used

FORWARD = Path("minijax/core/forward.py")
FILES = [Path("minijax/version.py"), FORWARD]


def test_a_program_reaches_what_it_calls(tmp_path, monkeypatch, capsys):
    program = tmp_path / "program.py"
    program.write_text("import minijax as jax\njax.jvp(lambda x: x * x, (2.0,), (1.0,))\n")
    monkeypatch.chdir(used.ROOT)
    used.run({"a program": [str(program)]}, tmp_path / "data")
    first, last = used.uses(FILES, tmp_path / "data")
    assert (first.path, last.path) == tuple(reversed(FILES))  # the most unreached come first
    assert last.unreached == [] and 0 < len(first.unreached) < first.statements

    lines = FORWARD.read_text().splitlines()
    reached = [text for number, text in enumerate(lines, 1) if number not in first.unreached]
    unreached = [lines[number - 1] for number in first.unreached]
    assert any("return" in text for text in reached) and any("raise" in text for text in unreached)

    used.show([first, last])
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 4 and shown[1].endswith(str(FORWARD)) and shown[-1].endswith("in all")
