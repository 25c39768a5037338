"""Count lines of code: without blank lines, comments and docstrings.

`python -m tools.codelines minijax/core` prints a line for each file, and the total.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
           tokenize.ENDMARKER, tokenize.ENCODING}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(path: Path) -> int:
    """The number of lines of a file with code on them."""
    return code_lines_of_text(path.read_text())


def code_lines_of_text(source: str) -> int:
    """The number of lines of a program with code on them."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstring_lines(source))


def docstring_lines(source: str) -> set[int]:
    """The lines of the docstrings of a module, its classes and its functions."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def main(arguments: list[str]) -> None:
    """Print the count of each file below the paths, and the total."""
    total = 0
    for root in map(Path, arguments or ["minijax"]):
        for path in [root] if root.is_file() else sorted(root.rglob("*.py")):
            total += (count := code_lines(path))
            print(f"{count:6} {path}")
    print(f"{total:6} in all")


if __name__ == "__main__":
    main(sys.argv[1:])
