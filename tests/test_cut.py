"""minijax cut at each chapter imports, and passes that chapter's tests."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools import cut

ROOT = Path(__file__).resolve().parents[1]


TESTED = 8  # the programs that chapters 9 and 10 are tested with need the NumPy layer


@pytest.mark.parametrize("chapter", range(1, TESTED + 1))
def test_cut(chapter, tmp_path):
    """A sample of the chapter's tests: all of them run against the whole package anyway."""
    folder = cut.cut(chapter, tmp_path)
    assert cut.import_all(folder) == 0
    assert cut.test(folder, range(chapter, chapter + 1), "-x", "--sample", "25") == 0


@pytest.mark.parametrize("chapter", range(TESTED + 1, cut.LAST + 1))
def test_a_later_cut_imports(chapter, tmp_path):
    assert cut.import_all(cut.cut(chapter, tmp_path)) == 0


def test_a_cut_facade_ends_where_the_chapter_ends():
    text = "a\n# chapter 1\nb\n# chapter 3: trees\nc\n# chapter 2\nd\n"
    assert cut.cut_facade(text, 1) == "a\n# chapter 1\nb\n"
    assert cut.cut_facade(text, 2) == "a\n# chapter 1\nb\n# chapter 2\nd\n"
    assert cut.cut_facade(text, 3) == text


def test_the_rooms_are_those_of_the_import_contract():
    """In the same order; a room may be several layers, each above the last."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    names = [{name.strip(" \n").removeprefix("minijax.") for name in layer.split(":")}
             for layer in reversed(layers)]
    room_of = {name: number for number, rooms in cut.ROOMS.items() for room in rooms
               for name in cut.members(room)}
    rooms = [{room_of[name] for name in layer} for layer in names]
    assert all(len(room) == 1 for room in rooms)
    assert [min(room) for room in rooms] == sorted(min(room) for room in rooms)
    assert set().union(*names) == room_of.keys()


def test_every_module_is_in_a_room_or_a_facade():
    rooms = [room for rooms in cut.ROOMS.values() for room in rooms]
    known = {path for room in (*rooms, *cut.FACADES) for path in cut.sources(room)}
    assert known == {path.relative_to(cut.PACKAGE) for path in cut.PACKAGE.rglob("*.py")}
