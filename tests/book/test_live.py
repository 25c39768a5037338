"""Live cells and exercises on the page, as far as they can be tested without a browser."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from weaver import engine, exercises, extension, live, tiny

SHA256 = {
    "micropython.mjs": "c2be87e7ba24e3b47d133022b009a66bff07f4720aa23d816d216ef8cc47014c",
    "micropython.wasm": "06338c955b03c5700aa0069015d3e392d76836ef8e2ce25bedbe59b88ccd373c",
}
ON_PAGE = exercises.solved_on_the_page()


@pytest.mark.parametrize("name", SHA256)
def test_micropython_is_that_of_the_package(name):
    assert hashlib.sha256((engine.MICROPYTHON / name).read_bytes()).hexdigest() == SHA256[name]


def test_the_engine_holds_the_files_that_cells_import():
    content = json.loads(engine.script().removeprefix("globalThis.liveEngine = ").rstrip(";\n"))
    for chapter, end in content["ends"].items():
        assert content["files"]["tiny.py"][:end] == tiny.source_until(int(chapter))
    assert {"numpy.py", "tiny.py", "tiny_loops.py", "runner.py", "page_checking.py"} == set(content["files"])
    assert not re.search(r"^export |import\.meta", content["worker"], re.MULTILINE)


@pytest.mark.parametrize(
    "code, printed, error",
    [
        ("x = 1\nx + 1", "2\n", None), ("x = 1", "", None), ("(1,\n 2)\n# end", "(1, 2)\n", None),
        ("for i in range(2):\n    print(i)\n    i", "0\n1\n", None), ("None", "", None), ("", "", None),
        ("if True:\n    x = 3\nelse:\n    x = 4", "", None), ("def f():\n    return 5\n\nf()", "5\n", None),
        ("x = 1\n\ny = 1 / 0", "", "ZeroDivisionError"), ("x = = 1", "", "SyntaxError"), ("x = '''\n1\n2'''\nx", "'\\n1\\n2'\n", None),
    ],
)  # fmt: skip
def test_a_cell_prints_the_value_of_its_last_expression(code, printed, error, capsys):
    names: dict = {}
    exec((engine.HERE / "runner.py").read_text().replace("sys.print_exception(error, text)", "text.write(repr(error))"), names)
    found = names["run_cell"](code, "cell 1", {"__name__": "__main__"})
    assert capsys.readouterr().out == printed
    assert found is None if error is None else error in found


def checked(number, code):
    """What the page's check says of an answer: nothing, or what is wrong; on the page's ground."""
    exercise = exercises.find(number)
    world, check = live.World(int(number.split(".")[0])), exercises.check(exercise)
    with world.entered():
        names: dict = {}
        exec((engine.HERE / "page_checking.py").read_text(), names)
        answers: dict = {}
        exec(code, answers)
        exec(check["code"], names)
        try:
            names[check["function"]](*[answers[name] for name in check["answers"]])
        except names["Wrong"] as wrong:
            return str(wrong)
    return None


@pytest.mark.parametrize("page, number, solution", ON_PAGE, ids=[number for _, number, _ in ON_PAGE])
def test_an_exercise_is_checked_on_the_page(page, number, solution):
    assert checked(number, solution) is None
    assert "nothing yet" in checked(number, exercises.stub(number))


def test_wrong_answers_are_explained():
    assert "it should be  1.0\n  you say       7.0" in checked("2.1", "def quotient_tangent(*args):\n    return 7.0")
    assert "ZeroDivisionError" in checked("2.1", "def quotient_tangent(*args):\n    return 1 / 0")
    assert "once" in checked("2.6", """
def tanh_rule(p, primals, tangents):
    from tiny import add, mul, neg
    return p.bind(*primals), mul(tangents[0], add(1.0, neg(mul(p.bind(*primals), p.bind(*primals)))))
""")


def test_each_of_the_first_chapters_has_an_exercise_on_the_page():
    assert {1, 2, 3, 4, 9} <= {int(number.split(".")[0]) for _, number, _ in ON_PAGE}


def test_an_item_of_the_list_gets_its_stub_and_hints():
    lines = ["1. **2.1** The tangent", "   of a quotient.", "2. **2.3** Any order.", "", "Text."]
    found = exercises.with_boxes(lines, lambda number: exercises.box(number, extension._stub))
    assert "**2.1** The tangent" in found
    assert "of a quotient." in found
    assert not any(re.match(r"\d\.", line) for line in found)
    first, second = [line for line in found if line.startswith("<details")]
    assert "data-check" in first and "quotient_tangent" in first and first.count("Hint") == 2
    assert "data-check" not in second and "minijax learn check 2.3" in second


# ----------------------------------------------------------------------------------------------
# The cells in MicroPython itself, the file that the site has, where there is Node to run it

CELL = re.compile(r"^```python live[^\n]*\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+\.\d+")
BROWSER = Path(__file__).resolve().parents[1] / "browser"
PAGES = [(0, "index.md"), (9, "tiny/README.md"),
         *[(int(page.parent.name[:2]), str(page.relative_to(tiny.FOLDER.parent)))
           for page in sorted(tiny.FOLDER.parent.glob("0[1-9]-*/README.md"))]]  # fmt: skip


@pytest.fixture(scope="module")
def printed():
    """By page: what its cells print in MicroPython, and what is stored."""
    if not shutil.which("node"):
        pytest.skip("needs node")
    cells = [CELL.findall((tiny.FOLDER.parent / page).read_text()) for _, page in PAGES]
    pages = [{"files": live.files(chapter or live.LAST), "cells": [code for code, _ in found]}
             for (chapter, _), found in zip(PAGES, cells)]  # fmt: skip
    run = subprocess.run(["node", BROWSER / "cells.mjs"], input=json.dumps(pages), capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    return {page: [(out, stored.strip()) for out, (_, stored) in zip(outs, found)]
            for (_, page), outs, found in zip(PAGES, json.loads(run.stdout), cells)}  # fmt: skip


@pytest.mark.parametrize("page", [page for _, page in PAGES])
def test_cells_print_in_micropython_what_is_stored(printed, page):
    assert printed[page]
    for out, stored in printed[page]:
        assert NUMBER.sub("#", out) == NUMBER.sub("#", stored)
        assert [*map(float, NUMBER.findall(out))] == pytest.approx([*map(float, NUMBER.findall(stored))], rel=1e-4)
