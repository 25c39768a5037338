"""The repository itself: the README's example, the size of the rooms, and a few house rules."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tomllib
from contextlib import redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
NAMES = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.splitlines()
FILES = [ROOT / name for name in NAMES if (ROOT / name).is_file()]
PYTHON_FILES = [path for path in FILES if path.suffix == ".py"]


def test_the_readme_example_prints_what_the_readme_says():
    found = re.search(r"```python\n(.*?)```\n+[^`]*?```text\n(.*?)```", README, re.DOTALL)
    program, output = found.groups()
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {})
    assert printed.getvalue() == output
    assert len([line for line in program.splitlines() if line]) <= 12


def test_the_readme_points_to_files_that_exist():
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link


def test_no_file_of_the_library_or_the_book_is_longer_than_700_lines():
    readable = [path for path in PYTHON_FILES if ROOT / "tests" not in path.parents]
    readable.remove(ROOT / "chapters/tiny/tiny.py")  # has a limit of its own: 400 lines of code
    assert {path.name for path in readable if len(path.read_text().splitlines()) > 700} == set()


def test_nothing_is_left_undone():
    """No marks of unfinished work, and no test that is told to fail or not to run."""
    words = ["TO" + "DO", "FIX" + "ME", "pytest.mark." + "xfail", "pytest.mark." + "skip"]
    for path in PYTHON_FILES:
        text = path.read_text()
        assert not [word for word in words if word in text], path


@pytest.mark.long
def test_parameters_of_tests_have_an_order():
    """Each worker must collect the same tests in the same order, and a set has another one in each."""
    for path in PYTHON_FILES:
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "parametrize":
                assert not _is_set(call.args[1]), f"{path}:{call.lineno}"


def _is_set(node: ast.expr) -> bool:
    """Whether an expression is a set, as far as one can see."""
    if isinstance(node, ast.BinOp):
        return _is_set(node.left) or ast.unparse(node.left).endswith(".keys()")
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func) in ("set", "frozenset")
    return is_call or isinstance(node, (ast.Set, ast.SetComp))


def test_nothing_names_a_machine():
    """No paths of the machine it was written on, no address of a package index."""
    marks = ["/" + "home/", "/" + "root/", "/" + "tmp/", "/" + "work/", "index-" + "url"]
    for path in FILES:
        if path.suffix in {".py", ".md", ".toml", ".yml", ""} and path.name != "LICENSE":
            text = path.read_text()
            assert not [mark for mark in marks if mark in text], path


def test_every_dependency_has_its_reason():
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    project = tomllib.loads("\n".join(lines))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in {requirement for group in groups for requirement in group}:
        number = next(n for n, line in enumerate(lines) if f'"{requirement}"' in line)
        explained = "#" in lines[number] or "#" in lines[number - 1] or "#" in lines[number - 2]
        assert explained or requirement.startswith("minijax["), requirement


def test_the_version_is_one():
    import minijax

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert minijax.__version__ == project["version"]
