"""What chapters 11 to 13 say about the whole library, and no example prints."""

from __future__ import annotations

import ast
from pathlib import Path

from tools import atlas
from tools.cut import PACKAGE

LAX = PACKAGE / "lax"


def _calls(folder: Path, *names: str) -> list[ast.Call]:
    trees = (ast.parse(path.read_text()) for path in folder.rglob("*.py"))
    return [node for tree in trees for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names]


def test_chapter_11_the_size_of_the_table():
    """More than two hundred primitives; fewer than half of them have a transpose rule."""
    primitives, columns = atlas.primitives(), atlas.columns()
    assert len(primitives) > 200
    assert 2 * sum(map(columns["transpose"], primitives)) < len(primitives)


def test_chapter_11_a_row_is_four_lines():
    """About forty primitives cost four lines each."""
    rows = _calls(LAX, "unary_row", "binary_row")
    lengths = [row.end_lineno - row.lineno + 1 for row in rows]
    assert 30 <= len(rows) <= 50
    assert sum(lengths) / len(lengths) <= 4.5


def test_chapter_12_numpy_defines_no_primitive():
    makers = ("Primitive", "make_primitive", "unary_row", "binary_row", "linear_algebra_primitive")
    assert not _calls(PACKAGE / "numpy", *makers)
    assert _calls(LAX, *makers)
