"""The house: what may import what, how large the core is, and no back doors between modules.

All of it is read from syntax trees. (The chapter order is import-linter's: `make lint`.)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tools.codelines import code_lines
from tools.cut import PACKAGE

FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = {path.relative_to(PACKAGE).as_posix(): path for path in FILES}

# The core in reading order, and how many lines of code each of its files may have.
# (The goal: dtypes 110, core 240, array 120, operators 110, primitives 220, forward 160, tree 270,
# batching 200, jaxpr and staging 380, lowering and jit 560, partial_eval 140, transposition 150,
# api 300, extension 40: 3,000 in all.)
MOST_IN_CORE = 7_800
MOST_IN_A_FILE = 500
BUDGETS = {
    "dtypes": 360, "core": 420, "array": 235, "operators": 350, "primitives": 600, "forward": 310,
    "tree": 335, "batching": 300, "jaxpr": 340, "staging": 350, "lowering": 325, "jit": 410,
    "partial_eval": 225, "transposition": 255, "api": 300, "extension": 120,
}  # fmt: skip
READING_ORDER = [*BUDGETS]
BESIDE_THE_CORE = ("settings", "errors", "printing")

# Thread-local values, which a module shares so that others set them for a while.
THREAD_LOCAL = {"state", "source", "given"}
# Assignments to another module's attributes that are still to go, by file.
BACK_DOORS_LEFT = {
    "core/dispatch.py": 2, "core/jit.py": 1, "core/operators.py": 1,
    "parallel/inferred_specs.py": 1, "parallel/placement.py": 5, "parallel/sharded_jit.py": 2,
    "parallel/shown.py": 1, "parallel/spmd.py": 1, "parallel/vma.py": 1, "parallel/vma_calls.py": 2,
    "runtime/devices.py": 2, "runtime/distributed.py": 1,
}  # fmt: skip


# ----------------------------------------------------------------------------------------------
# Size


def core_files() -> dict[str, int]:
    """The lines of code of each file of the core, by name."""
    return {name.removeprefix("core/").removesuffix(".py"): code_lines(path)
            for name, path in NAMES.items() if name.startswith("core/")}


def test_the_core_is_small():
    sizes = core_files()
    assert sum(sizes.values()) <= MOST_IN_CORE, sum(sizes.values())
    excess = {name: size for name, size in sizes.items() if size > BUDGETS.get(name, 500)}
    assert not excess, {name: (size, BUDGETS.get(name)) for name, size in excess.items()}


def test_no_file_is_too_much_at_once():
    sizes = {name: code_lines(path) for name, path in NAMES.items()}
    assert not {name: size for name, size in sizes.items() if size > MOST_IN_A_FILE}


# ----------------------------------------------------------------------------------------------
# Imports


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def nodes_of(path: Path) -> Iterator[ast.AST]:
    """All nodes of a file, without the imports that are for type checkers."""
    todo: list[ast.AST] = [tree_of(path)]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            todo.extend(node.orelse)
        else:
            todo.extend(ast.iter_child_nodes(node))


@cache
def imports_of(path: Path) -> set[str]:
    """What a file imports, inside functions too: `jaxlib.mlir`, `minijax.core.tree`, …

    Of `from package import name`, both `package` and `package.name`.
    """
    package = ["minijax", *path.relative_to(PACKAGE).parts[:-1]]
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            found.add(module)
            found.update(f"{module}.{alias.name}" for alias in node.names)
    return found


def importers(prefix: str) -> set[str]:
    """The files that import a module, or something below it."""
    return {name for name, path in NAMES.items()
            if any(i == prefix or i.startswith(prefix + ".") for i in imports_of(path))}


def test_imports_are_found():
    assert "runtime/client.py" in importers("jaxlib")
    assert "core/core.py" in importers("minijax.errors")


def test_only_the_runtime_imports_jaxlib():
    assert {name for name in importers("jaxlib") if not name.startswith("runtime/")} == set()


def test_nothing_imports_jax():
    assert importers("jax") == set()


@pytest.mark.parametrize("folder", ["fast", "compat"])
def test_what_is_installed_is_imported_by_the_package_alone(folder):
    """Without `fast` and `compat` the library is the same: no other module may lean on them."""
    users = {name for name in importers(f"minijax.{folder}") if not name.startswith(f"{folder}/")}
    assert users <= {"__init__.py"}


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("checks/") and "__" not in n])
def test_checks_import_what_their_module_of_the_core_may(name):
    module = name.removeprefix("checks/").removesuffix(".py")
    assert module in READING_ORDER, f"{name} checks for no module of the core"
    earlier = READING_ORDER[: READING_ORDER.index(module)]
    allowed = {"minijax", "minijax.core", "minijax.checks"}
    allowed |= {f"minijax.{beside}" for beside in BESIDE_THE_CORE}
    allowed |= {f"minijax.{folder}.{m}" for m in earlier for folder in ("core", "checks")}
    allowed |= {"minijax.core.extension"}
    ours = {i for i in imports_of(NAMES[name]) if i.partition(".")[0] == "minijax"}
    others = {i for i in ours if i not in allowed and i.rpartition(".")[0] not in allowed - {
        "minijax", "minijax.core", "minijax.checks"}}
    assert not others


# ----------------------------------------------------------------------------------------------
# No back doors: a module is extended through rule tables, registries and `Extension` alone


def imported_names(path: Path) -> set[str]:
    """The names that a file's imports bind."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in nodes_of(path) if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }


def back_doors(path: Path) -> list[str]:
    """Where a file assigns, or deletes, an attribute of something that it imported."""
    names = imported_names(path) - THREAD_LOCAL

    def imported(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in names

    def is_back_door(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return imported(node.value)
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            inner = node.value
            return isinstance(inner, ast.Attribute) and inner.attr == "__dict__" and imported(
                inner.value)
        if not isinstance(node, ast.Call) or not node.args:
            return False
        if isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
            return imported(node.args[0])
        return False

    found = [node for node in nodes_of(path) if is_back_door(node) or _updates_vars(node, names)]
    return [f"{node.lineno}: {ast.unparse(node)}" for node in found]


def _updates_vars(node: ast.AST, names: set[str]) -> bool:
    """`vars(module).update(…)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    of = node.func.value
    return (node.func.attr in ("update", "setdefault") and isinstance(of, ast.Call)
            and ast.unparse(of.func) == "vars" and len(of.args) == 1
            and isinstance(of.args[0], ast.Name) and of.args[0].id in names)


def test_no_module_assigns_attributes_of_another():
    found = {name: doors for name, path in NAMES.items() if (doors := back_doors(path))}
    more = {name: doors for name, doors in found.items()
            if len(doors) > BACK_DOORS_LEFT.get(name, 0)}
    assert not more


def test_back_doors_are_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    path = tmp_path / "module.py"
    path.write_text(
        "import other\nfrom a import B\nother.x = 1\nB.f = f\nsetattr(B, 'f', f)\n"
        "vars(other).update(x=1)\nother.__dict__['x'] = 1\ndel B.f\nmine.x = 1\nx = other.x\n"
    )
    assert [int(door.partition(":")[0]) for door in sorted(back_doors(path))] == [3, 4, 5, 6, 7, 8]
