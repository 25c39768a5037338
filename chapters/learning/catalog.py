"""Where the exercises are: chapters, their files, and the reader's answers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from . import checking
from .checking import Exercise

CHAPTERS = Path(__file__).resolve().parents[1]


def chapter_folders() -> dict[int, Path]:
    """The folders of the chapters that have exercises, by number."""
    folders = sorted(path.parent for path in CHAPTERS.glob("[0-9][0-9]-*/checks.py"))
    return {int(folder.name[:2]): folder for folder in folders}


def exercises(chapter: int | None = None) -> dict[str, Exercise]:
    """The exercises of a chapter, or of all, by number."""
    for number, folder in chapter_folders().items():
        if chapter in (None, number):
            load(folder / "checks.py")
    wanted = sorted(checking.registered.values(), key=lambda e: [*map(int, e.number.split("."))])
    return {e.number: e for e in wanted if chapter in (None, chapter_of(e.number))}


def chapter_of(number: str) -> int:
    """The chapter that an exercise belongs to."""
    return int(number.partition(".")[0])


def stubs(number: str) -> Path:
    """The file with the chapter's stubs, which the reader fills in."""
    return chapter_folders()[chapter_of(number)] / "exercises.py"


def readers_file(number: str) -> str:
    """The name of the reader's own copy of that file: `ch02_forward_mode.py`."""
    return f"ch{chapter_folders()[chapter_of(number)].name.replace('-', '_')}.py"


def is_installed() -> bool:
    """Whether the chapters are part of an installed package, not of a checkout."""
    return not (CHAPTERS.parent / "pyproject.toml").is_file()


def solutions(number: str) -> Path:
    """The file with the chapter's solutions."""
    return chapter_folders()[chapter_of(number)] / "solutions.py"


def load(path: Path) -> ModuleType:
    """Run a file as a module of its own."""
    if str(CHAPTERS / "tiny") not in sys.path:
        sys.path.append(str(CHAPTERS / "tiny"))  # some exercises are about tiny
    name = f"learning_{path.parent.name.replace('-', '_')}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
