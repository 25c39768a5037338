"""Makes a failing program smaller, as long as it fails in the same way."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator
from typing import Any


def shrink(text: str, fails: Callable[[str], bool], seconds: float = 15) -> str:
    """The smallest program found that still fails: statements and sub-expressions are left out."""
    deadline = time.monotonic() + seconds
    text = ast.unparse(ast.parse(text))
    progress = True
    while progress and time.monotonic() < deadline:
        progress = False
        for candidate in _smaller(text):
            if time.monotonic() > deadline:
                break
            if fails(candidate):
                text, progress = candidate, True
                break
    return text


def _smaller(text: str) -> Iterator[str]:
    """Programs with one thing less, the largest omissions first."""
    edits = sorted(_edits(ast.parse(text)), key=lambda edit: -edit[0])
    seen = {text}
    for _, number in edits:
        tree = ast.parse(text)
        try:
            _apply(tree, number)
            candidate = ast.unparse(ast.fix_missing_locations(tree))
        except Exception:
            continue
        if candidate not in seen and len(candidate) < len(text):
            seen.add(candidate)
            yield candidate


def _places(tree: ast.AST) -> Iterator[tuple[str, Any, str, int | None, ast.AST | None]]:
    """Every edit, in a fixed order: (what, parent, field, index, replacement)."""
    for parent in _walk(tree):
        for name, value in ast.iter_fields(parent):
            if name == "body" and isinstance(value, list):
                for i, statement in enumerate(value):
                    if len(value) > 1 and not isinstance(statement, ast.Return):
                        yield "remove", parent, name, i, statement
            if isinstance(value, list):
                for i, node in enumerate(value):
                    if isinstance(node, ast.expr):
                        for inner in _inner(node):
                            yield "replace", parent, name, i, inner
                        if isinstance(parent, (ast.Tuple, ast.List)) and len(value) > 1:
                            yield "remove", parent, name, i, node
                    if isinstance(node, ast.keyword):
                        yield "remove", parent, name, i, node
            elif isinstance(value, ast.expr) and name != "func":
                for inner in _inner(value):
                    yield "replace", parent, name, None, inner


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All that may be edited. `while_loop` stays as it is: without its count, it would never end."""
    if not (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("while_loop")):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _walk(child)


def _inner(node: ast.expr) -> Iterator[ast.expr]:
    """Expressions within an expression that may stand for it."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("jnp.array", "jnp.asarray"):
        return  # a number of Python's is another program
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
            if isinstance(child, ast.Call):
                yield from (arg for arg in child.args)
        elif isinstance(child, ast.keyword):
            yield child.value


def _edits(tree: ast.AST) -> list[tuple[int, int]]:
    """(size of what goes, number) of every edit."""
    found = []
    for number, (what, parent, name, index, node) in enumerate(_places(tree)):
        old = getattr(parent, name)
        old = old[index] if index is not None else old
        size = len(ast.unparse(old)) - (len(ast.unparse(node)) if what == "replace" and node else 0)
        found.append((size, number))
    return found


def _apply(tree: ast.AST, wanted: int) -> None:
    """Apply one edit in place."""
    for number, (what, parent, name, index, node) in enumerate(_places(tree)):
        if number == wanted:
            if what == "remove":
                del getattr(parent, name)[index]
            elif index is None:
                setattr(parent, name, node)
            else:
                getattr(parent, name)[index] = node
            return
