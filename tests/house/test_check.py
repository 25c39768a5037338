"""`make check FILE=…` finds tests for every file of the library."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tools import check, cut, tests_of

FILES = sorted(path.relative_to(cut.ROOT).as_posix() for path in cut.PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES[::6])
def test_every_file_has_tests(path):
    found = check.whole_files(path)
    assert found and all((cut.ROOT / name).exists() for name in found)


def test_a_file_is_tested_by_what_is_named_after_it_and_by_what_reaches_it():
    path = "minijax/lax/trigonometric.py"
    assert check.whole_files(path) == ["tests/lax/test_trigonometric.py"]
    assert {test.partition("::")[0] for test in check.reaching(path)} > {"tests/lax/test_trigonometric.py"}
    assert check.reaching("minijax/lax/no_such_file.py") == []


def test_a_room_tests_what_no_test_is_named_after():
    assert "tests/lax/control_flow/test_scan.py" in check.whole_files("minijax/lax/__init__.py")
    assert check.whole_files("minijax/stages.py") == ["tests/runtime/test_stages.py", "tests/products"]


@pytest.mark.parametrize("chapter", cut.ROOMS)
def test_every_chapter_has_tests(chapter):
    assert check.whole_files(str(chapter)) == [test.as_posix() for test in tests_of.of_chapter(chapter)] != []


def test_a_case_of_each_function_comes_first():
    items = [SimpleNamespace(nodeid=name) for name in ("a[0]", "a[1]", "a[2]", "b", "c[0]", "c[1]")]
    assert [item.nodeid for item in check.in_turns(items)] == ["a[0]", "b", "c[0]", "a[2]", "c[1]", "a[1]"]


def test_the_map_has_a_test_of_each_block(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "MAP", tmp_path / "map")
    check.store({"t.py::f[x]": (1.0, frozenset({"minijax/a.py.g#1", "minijax/a.py.g#1:2"})),
                 "t.py::h": (0.1, frozenset({"minijax/a.py.g#1", "minijax/b.py.k#1"}))})
    assert check.reaching("minijax/a.py") == ["t.py::f[x]", "t.py::h"]
    assert check.reaching("minijax/b.py") == ["t.py::h"]
