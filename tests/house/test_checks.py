"""Checks are statements: nothing in `core/` needs what a check returns, and no modules import in a circle.

Everything but the last test is read from syntax trees.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.test_house import nodes_of, tree_of
from tools.cut import PACKAGE

FILES = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
         for path in sorted(PACKAGE.rglob("*.py"))}
CORE = [name for name in FILES if name.startswith("minijax.core.")]
CHECKS = [name for name in FILES if name.startswith("minijax.checks.")]


def imported(module: str) -> Iterator[tuple[str, str]]:
    """The modules that a module imports, also within functions, and the names that it gives them or their parts."""
    package = FILES[module].relative_to(PACKAGE.parent).parts[:-1]
    for node in nodes_of(FILES[module]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield (whole if whole in FILES else base), alias.asname or alias.name


# ----------------------------------------------------------------------------------------------
# Statements


@pytest.mark.parametrize("module", CORE)
def test_each_use_of_checks_is_a_statement_of_its_own(module):
    names = {name for target, name in imported(module) if target in CHECKS}
    statements = [node.value.func for node in ast.walk(tree_of(FILES[module]))
                  if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    called = {id(part) for function in statements for part in ast.walk(function)}
    others = [f"{FILES[module].name}:{node.lineno}: {node.id}" for node in ast.walk(tree_of(FILES[module]))
              if isinstance(node, ast.Name) and node.id in names and id(node) not in called]
    assert not others


@pytest.mark.parametrize("module", CHECKS)
def test_a_check_returns_nothing(module):
    """It returns, raises or warns. A name with an underscore is a part of a check."""
    functions = [node for node in tree_of(FILES[module]).body
                 if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    wrong = [node.name for node in functions
             if node.returns is None or ast.unparse(node.returns) not in ("None", "NoReturn")]
    assert not wrong


@pytest.mark.parametrize("module", CHECKS)
def test_checks_hold_words_and_functions(module):
    """No classes, and no tables that others can enter something in."""
    classes = [node.name for node in tree_of(FILES[module]).body if isinstance(node, ast.ClassDef)]
    assigned = [node for node in tree_of(FILES[module]).body if isinstance(node, ast.Assign | ast.AnnAssign)]
    tables = [ast.unparse(target) for node in assigned if node.value is not None
              and ast.unparse(node.value) in ("{}", "[]", "set()", "dict()", "list()")
              for target in (node.targets if isinstance(node, ast.Assign) else [node.target])]
    assert not [name for name in classes + tables if not name.startswith("_")]


# What a check needs of the core it gets as an argument. `dtypes` stands before all; the transformations in
# `core/api.py` may ask about everything that they are made of, and the type-checker reads jaxprs.
MAY_IMPORT = {"api": "api_util core tree", "typecheck": "core jaxpr"}


@pytest.mark.parametrize("module", CHECKS)
def test_a_check_imports_no_more_of_the_core(module):
    of_core = {target.removeprefix("minijax.core.") for target, _ in imported(module) if target in CORE}
    allowed = MAY_IMPORT.get(module.rpartition(".")[2], "").split()
    assert of_core <= {"dtypes", *allowed}


# ----------------------------------------------------------------------------------------------
# Circles


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of two or more modules that all import each other, directly or not (Tarjan)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for target in sorted(graph[module]):
            if target not in number:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], number[target])
        if lowest[module] == number[module]:
            members = set(stack[stack.index(module):])
            del stack[stack.index(module):]
            if len(members) > 1:
                found.append(members)

    for module in graph:
        if module not in number:
            visit(module)
    return found


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]


@pytest.mark.long
def test_no_modules_import_in_a_circle():
    graph = {module: {target for target, _ in imported(module)} & FILES.keys() - {module} for module in FILES}
    assert [sorted(circle) for circle in circles(graph)] == []
