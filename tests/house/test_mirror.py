"""The tests mirror the rooms: who reads a file of the library finds its tests by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import cut, tests_of

# Files of tests that are about a room as a whole, and are not named after it.
WHOLE_ROOM = {
    "compat": "absl_flags",
    "core": "engine",
    "numpy": """calls complex complex_order double_precision large_arrays large_integers masks memory
        properties small_differences standard wide_arrays_outside""",
}


def test_each_folder_is_a_room_or_cuts_across():
    folders = {path.name for path in tests_of.TESTS.iterdir()
               if path.is_dir() and path.name != "__pycache__"}
    rooms = {path.name for path in cut.PACKAGE.iterdir() if path.is_dir()}
    assert folders - rooms == set(tests_of.ACROSS)


def test_each_file_is_named_after_what_it_tests():
    nameless = {test.as_posix() for test in tests_of.test_files() if tests_of.tested(test) is None}
    assert nameless == {f"tests/{room}/test_{name}.py"
                        for room, names in WHOLE_ROOM.items() for name in names.split()}


def test_nothing_lies_loose():
    assert not list(tests_of.TESTS.glob("test_*.py"))


@pytest.mark.parametrize("test, file, chapter", [
    ("tests/lax/test_trigonometric.py", "lax/trigonometric.py", 11),
    ("tests/lax/control_flow/test_scan.py", "lax/control_flow/scan.py", 9),
    ("tests/lax/test_indexing_texts.py", "lax/indexing.py", 9),
    ("tests/numpy/test_editing.py", "numpy/_editing.py", 12),
    ("tests/lax/linalg/test_linalg.py", "lax/linalg", 11),
    ("tests/core/test_batching_rules.py", "core/batching.py", 4),
])
def test_a_chapters_tests_are_found_by_their_names(test, file, chapter):
    path = Path(test)
    assert tests_of.tested(path).as_posix() == file
    assert path in tests_of.of_chapter(chapter)
