"""Each chapter is a notebook, too, whose cells give the outputs that stand in it."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys

import nbformat
import numpy as np
import pytest
from weaver import WeaveError, examples, notebooks

from tools import reading

CHAPTERS = {page.parent.name: page for page in (reading.ROOT / "chapters").glob("[0-9][0-9]-*/README.md")}
RUN_AGAIN = ["00-tour", "02-forward-mode", "05-jaxprs"]  # the build runs all; this shows that it is enough


def load(name: str) -> nbformat.NotebookNode:
    return nbformat.reads(notebooks.text(CHAPTERS[name]), 4)


def code_cells(book) -> list:
    return [cell for cell in book.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_notebook_has_the_chapters_examples_with_the_outputs_that_the_build_compares(name):
    cells = code_cells(load(name))[1:]
    _, _, page = examples.load(CHAPTERS[name])
    assert len(cells) == len(page)
    for cell, example in zip(cells, page):
        assert ast.parse(cell.source)
        assert shown(cell).strip() == (example.stored.code if example.stored else "").strip()


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_notebook_stands_alone(name):
    """No link into the book, no style sheet, no block that only the weaver knows."""
    book = load(name)
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    outside = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
    assert text.startswith("# ")
    assert "](../" not in outside
    assert ".md)" not in outside
    assert "\\(" not in outside
    assert "<svg" not in text
    assert "```listing" not in text
    assert notebooks.text(CHAPTERS[name]) == notebooks.text(CHAPTERS[name])


@pytest.mark.parametrize("name", RUN_AGAIN)
def test_the_cells_run_as_a_notebook_far_from_the_repository(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    namespace: dict = {"__name__": "__main__"}
    with np.printoptions():
        for cell in code_cells(load(name)):
            assert_alike(cell, examples.normalise(run(cell, namespace)).strip(), shown(cell).strip())


NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def assert_alike(cell, found, wanted):
    """Equal; if tiny ran on NumPy instead of on its stand-in, the numbers are near each other."""
    if not cell.metadata.get("live"):
        assert found == wanted, cell.source
        return
    found, wanted = (re.sub(r"np\.float64\(([^()]*)\)|array\((.*?)\)", r"\1\2", text) for text in (found, wanted))
    assert re.sub(r"[\s,]", "", NUMBER.sub("#", found)) == re.sub(r"[\s,]", "", NUMBER.sub("#", wanted)), cell.source
    np.testing.assert_allclose([float(x) for x in NUMBER.findall(found)], [float(x) for x in NUMBER.findall(wanted)], 1e-2)


def test_a_live_cell_runs_as_a_notebook(tmp_path, monkeypatch):
    page = tmp_path / "README.md"
    page.write_text("# T\n\n```python live\nimport numpy as np\nimport tiny\nx = np.asarray([1.0, 2.0])\n(tiny.sin(0.0), x)\n"
                    "```\n\n```text\n(0.0, array([1.0, 2.0]))\n```\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    namespace: dict = {"__name__": "__main__"}
    first, cell = code_cells(nbformat.reads(notebooks.text(page), 4))
    with np.printoptions():
        run(first, namespace)
        assert_alike(cell, run(cell, namespace), shown(cell))


def shown(cell) -> str:
    """The outputs of a cell as text."""
    texts = {"stream": lambda out: out.text, "error": lambda out: f"{out.ename}: {out.evalue}",
             "execute_result": lambda out: out.data["text/plain"], "display_data": lambda out: ""}
    return "".join(texts[out.output_type](out) for out in cell.outputs)


def run(cell, namespace: dict) -> str:
    """What running the cell shows: what it prints, and its last value or error."""
    tree, printed = ast.parse(cell.source), io.StringIO()
    quiet = cell.source.rstrip().endswith(";")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) and not quiet else None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, "cell", "exec"), namespace)
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if last else None
    except Exception as error:
        assert "raises-exception" in cell.metadata.get("tags", ()), error
        return f"{printed.getvalue()}{type(error).__name__}: {error}"
    return printed.getvalue() + (repr(value) if value is not None else "")


def test_figures_errors_and_hidden_cells(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("# T\n\n```python hidden\nx = 0\n```\n\n```python raises=ValueError\nprint(1)\n"
                    "raise ValueError('a')\n```\n\n```text\n1\nValueError: a\n```\n\n"
                    "```python plot=\"a line\"\ndraw\n```\n\n```python norun\nnot run\n```\n")
    book = nbformat.reads(notebooks.text(page, {"draw": "<svg></svg>"}), 4)
    _, hidden, raises, plot = code_cells(book)
    assert hidden.metadata["jupyter"]["source_hidden"]
    assert [out.output_type for out in raises.outputs] == ["stream", "error"]
    assert raises.metadata["tags"] == ["raises-exception"]
    assert plot.outputs[0].data["image/svg+xml"] == "<svg></svg>"
    assert "not run" in book.cells[-1].source


def test_a_notebook_that_is_not_valid_ends_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "SETUP", None)
    (tmp_path / "README.md").write_text("# T\n")
    with pytest.raises(WeaveError, match="valid notebook"):
        notebooks.text(tmp_path / "README.md")
