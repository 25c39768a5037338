"""`python -m weaver update` stores what the chapters' examples print now; `check` compares."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import WeaveError, examples

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


def pages() -> list[Path]:
    """All pages of the book, in order."""
    return sorted(CHAPTERS.glob("**/*.md"))


def check(path: Path) -> None:
    """Run a page's examples and compare their outputs with what is stored."""
    _, _, page = examples.load(path)
    examples.run(page, str(path))
    examples.check(page, str(path))


def update(path: Path) -> None:
    """Run a page's examples and store their outputs."""
    lines, _, page = examples.load(path)
    examples.run(page, str(path))
    text = "\n".join(examples.updated(lines, page)) + "\n"
    if text != path.read_text():
        path.write_text(text)
        print(f"updated {path}")


def main() -> int:
    """The command line; returns the number of pages that are wrong."""
    parser = argparse.ArgumentParser(prog="weaver", description=__doc__)
    parser.add_argument("command", choices=["check", "update"])
    parser.add_argument("pages", nargs="*", type=Path, help="default: all")
    arguments = parser.parse_args()
    command, wrong = {"check": check, "update": update}[arguments.command], 0
    for path in arguments.pages or pages():
        try:
            command(path)
        except WeaveError as error:
            print(error, file=sys.stderr)
            wrong += 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
