"""tiny on the site: its steps as listings, the map of its steps, and the files to download.

A step stands under a comment `# ---- 1.6 title`, and a chapter under `# ==== chapter 1: title`.
"""

from __future__ import annotations

import functools
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.codelines import docstring_lines

from . import listings

FOLDER = listings.PACKAGE.parent / "chapters/tiny"
FILES = ("tiny.py", "tiny_loops.py")
MARK = re.compile(r"# (====|----) (?:chapter )?([\d.]+):? (.*)")


@dataclass(frozen=True)
class Step:
    """Lines `first` to `last` (counted from 1, both included) of a file of tiny."""

    file: str
    number: str
    title: str
    first: int
    last: int

    @property
    def text(self) -> str:
        return "\n".join(_lines(self.file)[self.first - 1 : self.last])

    @property
    def chapter(self) -> int:
        return int(self.number.split(".")[0])


@functools.cache
def _lines(file: str) -> list[str]:
    return (FOLDER / file).read_text().splitlines()


@functools.cache
def steps() -> dict[str, Step]:
    """The steps by their numbers, in order."""
    return {step.number: step for file in FILES for step in _steps(file)}


def _steps(file: str) -> Iterator[Step]:
    lines = _lines(file)
    marks = [(i, match) for i, line in enumerate(lines, start=1) if (match := MARK.match(line))]
    for (i, match), (end, _) in zip(marks, [*marks[1:], (len(lines) + 1, None)]):
        if match[1] == "----":
            used = [n for n in range(i + 1, end) if lines[n - 1].strip()]
            yield Step(file, match[2], match[3], used[0], used[-1])


def find(number: str) -> Step:
    """The step with this number.

    Raises:
      NoSuchLines: there is none.
    """
    if number not in steps():
        raise listings.NoSuchLines(f"tiny has no step {number!r}")
    return steps()[number]


def chapters() -> dict[int, str]:
    """The chapters that tiny has a part for, and their titles."""
    found = [match for file in FILES for line in _lines(file) if (match := MARK.match(line))]
    return {int(match[2]): match[3] for match in found if match[1] == "===="}


# ----------------------------------------------------------------------------------------------
# The files


def source_until(chapter: int) -> str:
    """tiny as it stands at the end of a chapter."""
    lines = _lines("tiny.py")
    ends = [i for i, line in enumerate(lines) if line.startswith(f"# ==== chapter {chapter + 1}:")]
    return "\n".join(lines[: ends[0]] if ends else lines).rstrip() + "\n"


def downloads() -> Iterator[tuple[str, str]]:
    """The files that the site offers: where each is to stand, and its text."""
    for chapter in range(1, 9):
        yield f"tiny/after-chapter-{chapter}/tiny.py", source_until(chapter)
    yield "tiny/after-chapter-9/tiny_loops.py", (FOLDER / "tiny_loops.py").read_text()
    yield "tiny/stand-in/numpy.py", (FOLDER / "numpy_stand_in.py").read_text()


def files_table() -> str:
    """A row for each chapter: what it adds, and the file as it stands then."""
    rows = []
    for uri, text in downloads():
        if match := re.match(r"tiny/after-chapter-(\d)/(.*)", uri):
            number, name = int(match[1]), match[2]
            link = f'<a href="{uri.removeprefix("tiny/")}" download="{name}">{name}</a>'
            rows.append(f"<tr><td>{number}</td><td>{html.escape(chapters()[number])}</td>"
                        f"<td>{_code_lines(text)}</td><td>{link}</td></tr>")
    return _table("Chapter", "What it adds", "Lines of code", "The file after it", rows=rows)


def _code_lines(text: str) -> int:
    """Lines with code: neither blank, nor comments, nor docstrings."""
    used = {i for i, line in enumerate(text.splitlines(), start=1)
            if line.strip() and not line.lstrip().startswith("#")}
    return len(used - docstring_lines(text))


# ----------------------------------------------------------------------------------------------
# The map


def map_table(lines: list[str]) -> str:
    """A row for each line `step | reference to the library | what is different there, and why`."""
    rows = []
    for number, (link, words) in _counterparts(lines).items():
        title = with_code(find(number).title)
        rows.append(f'<tr><td><a href="#step-{number}">{number}</a> {title}</td>'
                    f"<td>{link}</td><td>{words}</td></tr>")
    return _table("Step", "The same in the library", "What is different there, and why", rows=rows)


def in_the_library(number: str) -> str:
    """What the map says of a step, as HTML."""
    link, words = _map_of_the_page()[number]
    return f"{link} <b>In the library</b> · {words}"


@functools.cache
def _map_of_the_page() -> dict[str, tuple[str, str]]:
    page = (FOLDER / "README.md").read_text()
    rows = re.search(r"^```tiny-map\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return _counterparts(rows[1].splitlines() if rows else [])


def _counterparts(lines: list[str]) -> dict[str, tuple[str, str]]:
    """By the step's number: a link to the library, and what is different there; both as HTML."""
    parts = [[part.strip() for part in line.split("|", 2)] for line in lines if line.strip()]
    return {number: (_link(listings.find(reference)), with_code(words))
            for number, reference, words in parts}


def _link(there: listings.Listing) -> str:
    place = f"../source/{there.path.removesuffix('.py')}.html#L{there.first}"
    name = there.name.split(" .. ")[0].strip("'\"")
    return f'<a href="{place}"><code>{html.escape(name)}</code></a>'


def with_code(words: str) -> str:
    """Words with code between backquotes, as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(words, quote=False))


def _table(*heads: str, rows: list[str]) -> str:
    head = "".join(f"<th>{head}</th>" for head in heads)
    return (f'<div class="md-typeset__scrollwrap"><table><thead><tr>{head}</tr></thead>'
            f'<tbody>{"".join(rows)}</tbody></table></div>')

