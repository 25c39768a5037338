"""How long the chapters take to read: `python -m tools.reading`.

Counted are the words of a chapter's main page, and its lines of code: those of its open listings
and of its examples. Folded listings, outputs and exercises are not counted. A reader is taken to
read 220 words a minute, and to need 8 seconds for a line of code.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORDS_A_MINUTE = 220
SECONDS_A_LINE = 8
MAIN_CHAPTERS = range(11)  # the chapters of which the home page gives the sum


class Reading(NamedTuple):
    """What there is to read in a chapter."""

    title: str
    words: int
    listing_lines: int
    example_lines: int

    @property
    def minutes(self) -> float:
        """The time that it takes."""
        lines = self.listing_lines + self.example_lines
        return self.words / WORDS_A_MINUTE + lines * SECONDS_A_LINE / 60


def chapters() -> dict[int, Reading]:
    """What there is to read in each chapter, by its number."""
    pages = sorted((ROOT / "chapters").glob("[0-9][0-9]-*/README.md"))
    return {int(page.parent.name[:2]): measure(page) for page in pages}


def measure(page: Path) -> Reading:
    """What there is to read on a page, up to its exercises."""
    from weaver import examples, listings, tiny
    from weaver.extension import parse_listing

    text = re.split(r"^## Exercises$", page.read_text(), maxsplit=1, flags=re.MULTILINE)[0]
    lines = text.splitlines()
    listed = shown = 0
    for block in reversed(examples.blocks(lines, str(page))):
        if block.kind == "listing":
            references = [parse_listing(line) for line in block.body if line.strip()]
            listed += sum(len(listings.find(reference).lines)
                          for reference, options in references if "fold" not in options)
        elif block.kind == "tiny":
            listed += sum(len(tiny.find(number.strip()).text.splitlines())
                          for number in block.body if number.strip() and number[0].isdigit())
        elif block.kind not in NOT_CODE and "hidden" not in block.options:
            shown += sum(bool(line.strip()) for line in block.body)
        del lines[block.first - 1 : block.last]
    prose = "\n".join(lines)
    return Reading(_title(text), _words(prose), listed, shown)


NOT_CODE = {"text", "source", "rooms", "reading", "drawing", "play"}


def _title(text):
    return next(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))


def _words(prose):
    """The number of words, without drawings, tags, and the targets of links."""
    prose = re.sub(r"<svg.*?</svg>|<[^>]+>|\]\([^)]*\)", " ", prose, flags=re.DOTALL)
    return len(re.findall(r"[^\W_][\w'’.-]*", prose))


def total(found: dict[int, Reading]) -> Reading:
    """The sum over the main chapters."""
    main = [reading for number, reading in found.items() if number in MAIN_CHAPTERS]
    counts = [sum(column) for column in zip(*(reading[1:] for reading in main))]
    return Reading(f"Chapters {MAIN_CHAPTERS[0]}–{MAIN_CHAPTERS[-1]}", *counts)


def duration(minutes: float) -> str:
    """In minutes, or from two hours on in hours."""
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"


def main() -> int:
    """Print a line for each chapter, and the sum."""
    sys.path.insert(0, str(ROOT / "site"))
    found = chapters()
    print(f"{'':50} {'words':>7} {'listing':>8} {'example':>8}  minutes")
    for reading in (*found.values(), total(found)):
        print(f"{reading.title[:50]:50} {reading.words:7,} {reading.listing_lines:8,} "
              f"{reading.example_lines:8,} {reading.minutes:8.0f}")
    print(f"(at {WORDS_A_MINUTE} words a minute, and {SECONDS_A_LINE} seconds a line of code; "
          "without folded listings and exercises)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
