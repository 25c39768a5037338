"""minijax cut at each chapter imports, and passes that chapter's tests."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tools import cut

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("chapter", range(1, cut.LAST + 1))
def test_cut(chapter, tmp_path):
    """A sample of the chapter's tests: all of them run against the whole package anyway."""
    folder = cut.cut(chapter, tmp_path)
    assert cut.import_all(folder) == 0
    assert cut.test(folder, range(chapter, chapter + 1), "-x", "--sample", "25") == 0


def test_a_cut_facade_ends_where_the_chapter_ends():
    text = "a\n# chapter 1\nb\n# chapter 3: trees\nc\n# chapter 2\nd\n"
    assert cut.cut_facade(text, 1) == "a\n# chapter 1\nb\n"
    assert cut.cut_facade(text, 2) == "a\n# chapter 1\nb\n# chapter 2\nd\n"
    assert cut.cut_facade(text, 3) == text


def test_the_rooms_are_those_of_the_import_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    rooms = [{name.strip(" ()\n") for name in layer.split(":")} for layer in reversed(layers)]
    merged = [*rooms[:-2], rooms[-2] | rooms[-1]]  # the command line and __main__ are one room
    assert merged == [set(names) for names in cut.ROOMS.values()]
