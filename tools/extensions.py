"""The points at which later rooms change what earlier ones do. `python -m tools.extensions` prints
two tables: the points of `Extension`, and the questions of `Placements`.

Both are read from the code: who declares a point, who asks, who answers, and what happens if no
extension is registered.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "minijax"
MOST = 25  # points in the whole library


class Place(NamedTuple):
    """A line of the library."""

    path: str  # from the package on
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Row(NamedTuple):
    """A point, or a question."""

    name: str
    declared: Place
    text: str  # its docstring
    default: str  # what is returned without extensions, as code; "" for nothing
    asked: list[Place]
    answered: dict[str, Place]  # by class, or by function


@functools.cache
def modules() -> dict[str, ast.Module]:
    """The syntax trees of the library's files."""
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text())
            for path in sorted(PACKAGE.rglob("*.py"))}


def points() -> list[Row]:
    """The points of `Extension`: its methods, and the functions decorated by `point`."""
    declared = [*_methods("core/extension.py", "Extension"), *_declared_elsewhere()]
    return _rows(declared, "hooks", "Extension")


def questions() -> list[Row]:
    """The questions of `Placements` and of `AllPlacements`: their methods."""
    declared = [*_methods("core/placements.py", "Placements"),
                *_methods("runtime/placements.py", "AllPlacements")]
    return _rows(declared, "placements()", "AllPlacements")


def _rows(declared, asked_through, base) -> list[Row]:
    members = [*overriding(base)]
    return [Row(node.name, Place(path, node.lineno), ast.get_docstring(node) or "", _default(node),
                sorted(asks().get(f"{asked_through}.{node.name}", ())),
                {who: Place(where, at) for where, cls, member, name in members
                 if name == node.name for who, at in _answering(where, cls, member)})
            for path, node in declared]


@functools.cache
def asks() -> dict[str, set[Place]]:
    """Where the library says `hooks.name` and `placements().name`."""
    found: dict[str, set[Place]] = {}
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Call):
                text = ast.unparse(node) if _name_of(node.value) in ("hooks", "placements") else ""
                found.setdefault(text, set()).add(Place(path, node.lineno))
    return found


def _name_of(node: ast.expr) -> str:
    function = node.func if isinstance(node, ast.Call) else node
    return function.id if isinstance(function, ast.Name) else ""


def _default(function) -> str:
    last = function.body[-1]
    if isinstance(last, ast.Return) and last.value:
        return ast.unparse(last.value)
    return "raise NotImplementedError" if isinstance(last, ast.Raise) else ""


def _methods(path: str, cls: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in modules()[path].body:
        if isinstance(node, ast.ClassDef) and node.name == cls:
            yield from ((path, member) for member in node.body
                        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"))


def _declared_elsewhere() -> Iterator[tuple[str, ast.FunctionDef]]:
    for path, tree in modules().items():
        yield from ((path, node) for node in tree.body if isinstance(node, ast.FunctionDef)
                    and "point" in map(ast.unparse, node.decorator_list))


def overriding(base: str) -> Iterator[tuple[str, str, ast.stmt, str]]:
    """The members of the classes that derive from `base`: file, class, statement, name."""
    classes = [(path, node, {*map(ast.unparse, node.bases)}) for path, tree in modules().items()
               for node in tree.body if isinstance(node, ast.ClassDef)]
    names, before = {base}, 0
    while len(names) > before:
        before = len(names)
        names |= {cls.name for _, cls, bases in classes if names & bases}
    for path, cls, bases in classes:
        if names & bases:
            for member in cls.body:
                if isinstance(member, ast.FunctionDef):
                    yield path, cls.name, member, member.name
                elif isinstance(member, ast.Assign):
                    yield path, cls.name, member, ast.unparse(member.targets[0])


def _answering(path: str, cls: str, member: ast.stmt) -> Iterator[tuple[str, int]]:
    """Who answers: the function in `name = staticmethod(function)`, or else the class."""
    value = member.value if isinstance(member, ast.Assign) else None
    is_function = isinstance(value, ast.Call) and ast.unparse(value.func) == "staticmethod"
    yield ast.unparse(value.args[0]) if is_function else cls, member.lineno  # type: ignore


def page(link: Callable[[Place], str] = "`{}`".format) -> str:
    """Both tables, as Markdown. `link` makes the text of a place."""
    return "\n".join([
        "## The points of `Extension`", "", *_table(points(), link), "",
        "## The questions of `Placements`", "", *_table(questions(), link)])


def _table(rows: list[Row], link: Callable[[Place], str]) -> Iterator[str]:
    yield "| name | what it is | without extensions | asked in | answered by |"
    yield "|---|---|---|---|---|"
    for row in rows:
        text = " ".join(row.text.split()).replace("|", "\\|")
        asked = "<br>".join(map(link, row.asked))
        answered = "<br>".join(f"`{who}`, {link(place)}" for who, place in row.answered.items())
        default = f"`{row.default}`" if row.default else "nothing"
        yield f"| `{row.name}` | {text} | {default} | {asked} | {answered} |"


if __name__ == "__main__":
    print(page())
    print(f"\n{len(points())} points, {len(questions())} questions")
