"""Which files of tests are about which part of the library.

The tests mirror the rooms. `tests/lax/test_trigonometric.py` tests `minijax/lax/trigonometric.py`,
and so does `tests/lax/test_trigonometric_edges.py`, if there is no file `trigonometric_edges.py`.
"""

from __future__ import annotations

import functools
from pathlib import Path

from tools import cut

TESTS = cut.ROOT / "tests"
# These folders are no rooms: what they have cuts across all of them.
ACROSS = ("benchmarks", "book", "browser", "edges", "endurance", "errors", "fuzz", "harness",
          "history", "house", "laws", "oracle", "products", "public", "users")


@functools.cache
def test_files() -> list[Path]:
    """All files of tests in the folders of rooms, relative to the root."""
    return [path.relative_to(cut.ROOT) for path in sorted(TESTS.rglob("test_*.py"))
            if path.relative_to(TESTS).parts[0] not in ACROSS]


@functools.cache
def tested(test: Path) -> Path | None:
    """The file or the room that a file of tests is named after, relative to the package."""
    folder = cut.PACKAGE.joinpath(*test.parent.parts[1:])
    if not folder.is_dir():
        return None
    words = test.stem.removeprefix("test_").split("_")
    known = {folder.name.lstrip("_"): folder} | {
        path.stem.lstrip("_"): path for path in folder.iterdir()
        if path.is_dir() or path.suffix == ".py"}
    for end in range(len(words), 0, -1):
        if found := known.get("_".join(words[:end])):
            return found.relative_to(cut.PACKAGE)
    return None


@functools.cache
def _chapters() -> dict[Path, int]:
    """The chapter of each file of the library that is no facade, and of each folder: its last."""
    found: dict[Path, int] = {}
    for chapter, rooms in cut.ROOMS.items():
        for path in (path for room in rooms for path in cut.sources(room)):
            found[path] = chapter
            for folder in path.parents:
                found[folder] = chapter
    return found


def chapter_of(test: Path) -> int:
    """The chapter whose rooms a file of tests is about."""
    place, chapters = tested(test), _chapters()
    if place not in chapters:  # a facade, or a file of tests that is named after no other
        place = Path(*test.parent.parts[1:])
    return chapters.get(place, max(cut.ROOMS))


def of_chapter(chapter: int) -> list[Path]:
    """The files of tests of a chapter's rooms."""
    return [test for test in test_files() if chapter_of(test) == chapter]
