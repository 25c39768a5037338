"""The house: what may import what, how large the core is, and whether pages give its true size.

All of it is read from files. (The chapter order is import-linter's: `make lint`.)
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from inspect import isfunction
from pathlib import Path

import pytest

import minijax.numpy
from minijax.core.core import Primitive
from tests.history.outcome import sources as sources_of_history
from tools import atlas
from tools.codelines import code_lines, code_lines_of_text
from tools.cut import FACADES, PACKAGE, READING_ORDER, engine_files, sources
from tools.reading import ROOT, SECONDS_A_LINE, chapters, total

FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = {path.relative_to(PACKAGE).as_posix(): path for path in FILES}

# How many lines of code the engine may have, with what it needs to run, one of its files, and any
# file. The aim for all that the engine needs is 3,500.
MOST_IN_CORE = 3_385
MOST_FOR_THE_ENGINE = 3_745
MOST_IN_A_FILE_OF_CORE = 330
MOST_IN_A_FILE = 500
# What every other file of the core may use, and is read last.
FOR_ALL = {"util", "boundary", "placements", "extension", "dtypes"}
BESIDE_THE_CORE = ("settings", "errors", "source", "text", "compat")


# ----------------------------------------------------------------------------------------------
# Size


@cache
def core_files() -> dict[str, int]:
    """The lines of code of each file of the core, by name."""
    return {name.removeprefix("core/").removesuffix(".py"): code_lines(path)
            for name, path in NAMES.items() if name.startswith("core/")}


@cache
def engine_lines() -> int:
    """The lines of code of all that is cut out with the core."""
    return sum(map(code_lines_of_text, engine_files().values()))


def core_lines() -> int:
    return sum(core_files().values())


@cache
def library_lines() -> int:
    return sum(map(code_lines, FILES))


def engine_primitives() -> int:
    """The primitives of the core."""
    modules = [importlib.import_module(f"minijax.core.{name}") for name in READING_ORDER]
    return len({v for module in modules for v in vars(module).values() if isinstance(v, Primitive)})


def test_the_core_is_small():
    assert engine_lines() <= MOST_FOR_THE_ENGINE
    assert core_lines() <= MOST_IN_CORE
    assert not {name: size for name, size in core_files().items() if size > MOST_IN_A_FILE_OF_CORE}


def tiny_lines(name: str) -> int:
    return code_lines(ROOT / "chapters" / "tiny" / name)


def hundreds_of_programs() -> int:
    return round(len(sources_of_history()), -2)


# page -> the words around numbers -> what counts each of them
SAID: dict[str, dict[str, tuple[Callable[[], float], ...]]] = {
    "README.md": {
        r"about ([\d,]+) lines(?: of code)?, ([\d,]+) with": (core_lines, engine_lines),
        r"what it needs to run \| ([\d.]+) hours": (lambda: core_lines() * SECONDS_A_LINE / 3600,),
        r"about ([\d,]+) lines of code \| look things up": (library_lines,),
        r"chapters 0–10: ([\d.]+) hours": (lambda: total(chapters()).minutes / 60,),
        r"tiny: (\d+) lines of code": (lambda: tiny_lines("tiny.py"),),
        r"in one file of (\d+) lines": (lambda: tiny_lines("tiny.py"),),
        r"the engine: about (\d+) primitives": (lambda: round(engine_primitives(), -1),),
    },
    "CONTRIBUTING.md": {
        r"about ([\d,]+) lines(?: of code)?, ([\d,]+) with": (core_lines, engine_lines),
        r"each of (\d+) programs": (hundreds_of_programs,),
    },
    "tests/README.md": {r"each of (\d+) programs": (hundreds_of_programs,)},
    "Makefile": {r"each of (\d+) programs": (hundreds_of_programs,)},
    "chapters/index.md": {r"one file with (\d+) lines of code": (lambda: tiny_lines("tiny.py"),)},
    "chapters/tiny/README.md": {
        r"the whole idea in (\d+) lines": (lambda: tiny_lines("tiny.py"),),
        r"it has (\d+) lines of code": (lambda: tiny_lines("tiny.py"),),
        r"a second file of (\d+) lines": (lambda: tiny_lines("tiny_loops.py"),),
    },
}


@pytest.mark.parametrize(("page", "words"), [(page, words) for page in SAID for words in SAID[page]])
def test_the_numbers_on_a_page_are_true(page, words):
    """Within a twentieth: they are rounded, and a small change of the library need not change them."""
    text = " ".join((ROOT / page).read_text().split())
    found = list(re.finditer(words, text))
    assert found, f"{page} does not say this"
    for said in found:
        for number, count in zip(said.groups(), SAID[page][words], strict=True):
            assert float(number.replace(",", "")) == pytest.approx(count(), rel=0.05), said[0]


def test_the_numbers_that_chapters_give_in_words_are_true():
    chapter_11, chapter_12 = [" ".join((ROOT / "chapters" / name / "README.md").read_text().split())
                              for name in ("11-new-primitives", "12-numpy")]
    rows = [line for path in FILES if path.parent.name == "lax" for line in path.read_text().split("\n")
            if re.search(r"= (unary|binary)_row\(", line)]
    functions = [name for name in dir(minijax.numpy) if isfunction(getattr(minijax.numpy, name))]
    assert "more than two hundred primitives" in chapter_11 and len(atlas.primitives()) > 200
    assert "About forty primitives in `lax/`" in chapter_11 and len(rows) == pytest.approx(40, rel=0.15)
    assert "more than three hundred functions" in chapter_12 and len(functions) > 300


def test_the_map_lists_the_core_in_reading_order():
    text = (PACKAGE / "README.md").read_text().partition("## The core, file by file")[2]
    listed = [name for row in text.splitlines() if row.startswith("| `")
              for name in re.findall(r"`(\w+)\.py`", row.split("|")[1])]
    assert listed == [*READING_ORDER]
    assert {*listed} == core_files().keys() - {"__init__"}


def test_no_file_is_too_much_at_once():
    sizes = {name: code_lines(path) for name, path in NAMES.items()}
    assert not {name: size for name, size in sizes.items() if size > MOST_IN_A_FILE}


# ----------------------------------------------------------------------------------------------
# Names


def test_no_two_classes_have_one_name():
    places: dict[str, list[str]] = {}
    for name, path in NAMES.items():
        if name.startswith(("core/", "runtime/", "parallel/")):
            for node in ast.walk(tree_of(path)):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(f"{name}:{node.lineno}")
    assert not {name: where for name, where in places.items() if len(where) > 1}


def test_files_at_the_top_define_nothing():
    """They re-export, but for three: whatever else there is stands in a room."""
    defined = {name: node.name for name, path in NAMES.items() if "/" not in name
               and name not in ("settings.py", "errors.py", "source.py")
               for node in tree_of(path).body
               if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name != "__dir__"}
    assert not defined


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
    assert "core/core.py" in importers("minijax.core.avals")


def test_only_the_runtime_imports_jaxlib():
    assert {name for name in importers("jaxlib") if not name.startswith("runtime/")} == set()


def test_nothing_imports_jax():
    assert importers("jax") == set()


def test_older_names_are_imported_by_facades_alone():
    served = {f"minijax.compat.{name}" for name in ("absent", "alias", "first_use", "optional")}
    modules = {i for path in FILES for i in imports_of(path) if i.startswith("minijax.compat.")
               and (PACKAGE.parent / f"{i.replace('.', '/')}.py").exists()} - served
    users = {name for module in modules for name in importers(module)
             if not name.startswith("compat/")}
    facades = {str(path) for facade in FACADES for path in sources(facade)}
    assert users <= facades, users - facades


# Modules of checks whose questions another file than the core's of this name asks.
ASKED_ELSEWHERE = {"advice": "core", "arguments": "tree", "remat": "api", "sequences": "tree",
                   "typecheck": "staging",
                   "tracebacks": "core"}


@pytest.mark.parametrize("name", [n for n in NAMES if n.startswith("checks/") and "__" not in n])
def test_checks_import_what_their_module_of_the_core_may(name):
    module = name.removeprefix("checks/").removesuffix(".py")
    module = ASKED_ELSEWHERE.get(module, module)
    assert module in READING_ORDER, f"{name} checks for no module of the core"
    known = {*READING_ORDER[: READING_ORDER.index(module) + 1], *ASKED_ELSEWHERE, *FOR_ALL}
    later = {f"minijax.{folder}.{m}" for m in {*READING_ORDER} - known
             for folder in ("core", "checks")}
    ours = {i for i in imports_of(NAMES[name]) if i.startswith("minijax.")}
    rooms = {i.split(".")[1] for i in ours}
    assert rooms <= {"core", "checks", "pytree", "runtime", *BESIDE_THE_CORE}  # `pytree` has the names of places
    assert not {i for i in ours if any(i == m or i.startswith(m + ".") for m in later)}
