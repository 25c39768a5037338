"""Listings: lines of the library, found by name.

A reference is `file.py:what`, the file relative to the package. `what` is one of

- `JVPTrace.process_primitive`: a definition or an assignment, with its decorators and the comments
  right above it;
- `'defjvp(lax.sin_p'`: the statement that begins so, outside of all functions;
- `defjvp .. defjvp2`: from the first of two such things to the end of the second;
- `"Tangents"`: the section under that heading, to the next heading (a heading is a comment under a
  ruler); the words up to the first `.` or `:` are enough;
- `head`: the module's docstring and imports;
- `all`: the whole file.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "minijax"
RULER = re.compile(r"# -{20,}$")


class NoSuchLines(LookupError):
    """A reference names nothing that is there."""


@dataclass(frozen=True)
class Listing:
    """Lines `first` to `last` (counted from 1, both included) of a file of the package."""

    path: str
    first: int
    last: int
    name: str

    @property
    def lines(self) -> list[str]:
        return source_lines(self.path)[self.first - 1 : self.last]

    @property
    def text(self) -> str:
        """The lines, moved to the left margin."""
        used = [line for line in self.lines if line.strip()]
        margin = min((len(line) - len(line.lstrip()) for line in used), default=0)
        return "\n".join(line[margin:] for line in self.lines)


@functools.cache
def source_lines(path: str) -> list[str]:
    """The lines of a file of the package."""
    file = PACKAGE / path
    if not file.is_file():
        raise NoSuchLines(f"there is no file minijax/{path}")
    return file.read_text().splitlines()


def find(reference: str) -> Listing:
    """The lines that a reference names.

    Raises:
      NoSuchLines: it names nothing, or more than one thing.
    """
    path, colon, what = reference.partition(":")
    what = what.strip()
    if not colon or not what:
        raise NoSuchLines(f"{reference!r} is no reference: write file.py:name")
    first, last = _extent(path, what)
    return Listing(path, first, last, what.strip('"'))


def _extent(path, what):
    lines = source_lines(path)
    if what == "all":
        return 1, len(lines)
    if what == "head":
        return 1, _end_of_head(path)
    if what.startswith('"'):
        return _section(path, what.strip('"'))
    if what.startswith("'") and what.count("'") == 2:
        return _statement(path, what.strip("'"))
    if ".." in what:
        start, end = (_extent(path, name.strip()) for name in what.split(".."))
        if end < start:
            raise NoSuchLines(f"minijax/{path}: {what!r} runs backwards")
        return start[0], end[1]
    return _definition(path, what)


# ----------------------------------------------------------------------------------------------
# Sections


def headings(path: str) -> list[tuple[int, str]]:
    """The number of each ruler's line, and the heading under it."""
    lines = source_lines(path)
    found = []
    for i, line in enumerate(lines[:-1]):
        if RULER.match(line):
            if not lines[i + 1].startswith("# "):
                raise NoSuchLines(f"minijax/{path}:{i + 1}: a ruler without a heading")
            found.append((i + 1, lines[i + 1][2:]))
    return found


def _section(path, title):
    found = headings(path)
    numbers = [i for i, (_, heading) in enumerate(found) if _names(title, heading)]
    if len(numbers) != 1:
        there = "; ".join(heading for _, heading in found) or "none"
        raise NoSuchLines(f"minijax/{path} has no one section {title!r}. Sections: {there}")
    i = numbers[0]
    end = found[i + 1][0] - 1 if i + 1 < len(found) else len(source_lines(path))
    return found[i][0] + 1, _without_blanks(path, end)


def _names(title, heading):
    return heading == title or re.split(r"[.:,;]", heading)[0] == title


def _without_blanks(path, end):
    lines = source_lines(path)
    while end > 1 and not lines[end - 1].strip():
        end -= 1
    return end


# ----------------------------------------------------------------------------------------------
# Definitions


@functools.cache
def _tree(path):
    return ast.parse("\n".join(source_lines(path)))


def _definition(path, name):
    nodes = [_tree(path)]
    for part in name.split("."):
        nodes = [child for node in nodes for child in _children(node) if _binds(child, part)]
    if not nodes:
        raise NoSuchLines(f"minijax/{path} defines no {name!r}")
    if len(nodes) > 1 and not all(map(_is_overload, nodes[:-1])):
        where = ", ".join(str(node.lineno) for node in nodes)
        raise NoSuchLines(f"minijax/{path} defines {name!r} more than once: lines {where}")
    return _start(path, nodes[0]), nodes[-1].end_lineno


def _statement(path, words):
    """The one statement of the module that begins with these words."""
    lines = source_lines(path)
    found = [node for node in _tree(path).body if lines[node.lineno - 1].startswith(words)]
    if len(found) != 1:
        raise NoSuchLines(f"minijax/{path}: {len(found)} statements begin with {words!r}")
    return _start(path, found[0]), found[0].end_lineno


def _children(node):
    """The statements of a module or class, also those under an `if`, `try` or `with`."""
    for child in getattr(node, "body", []):
        yield child
        if isinstance(child, ast.If | ast.Try | ast.With):
            yield from _children(child)


def _binds(node, name):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name == name
    if isinstance(node, ast.Assign):
        names = [part for x in node.targets for part in getattr(x, "elts", [x])]
        return any(isinstance(part, ast.Name) and part.id == name for part in names)
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    return False


def _is_overload(node):
    names = [ast.unparse(decorator) for decorator in getattr(node, "decorator_list", [])]
    return any(name.endswith(("overload", "property", ".setter")) for name in names)


def _start(path, node):
    """The first line of a definition: its decorators and the comment right above belong to it."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    while first > 1 and _is_comment(path, first - 1):
        first -= 1
    return first


def _is_comment(path, number):
    """Whether a line is a comment, and neither a ruler nor the heading under one."""
    before, line = ["", *source_lines(path)][number - 1 : number + 1]
    return line.lstrip().startswith("#") and not RULER.match(line) and not RULER.match(before)


def _end_of_head(path):
    last = 0
    for node in _tree(path).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        last = node.end_lineno
    return max(last, 1)


def starts(path: str) -> set[int]:
    """The lines that a listing can begin with."""
    nodes = [node for top in _tree(path).body for node in (top, *_children(top))]
    return {1, *(ruler + 1 for ruler, _ in headings(path)), *(_start(path, node) for node in nodes)}


# ----------------------------------------------------------------------------------------------
# What is not shown


def not_shown(path: str, listings: list[Listing]) -> list[int]:
    """The numbers of a file's lines, blank ones and headings aside, that no listing shows."""
    shown = {n for x in listings if x.path == path for n in range(x.first, x.last + 1)}
    shown.update(n for ruler, _ in headings(path) for n in (ruler, ruler + 1))
    lines = enumerate(source_lines(path), start=1)
    return [n for n, line in lines if line.strip() and n not in shown]
