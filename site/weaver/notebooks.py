"""Chapters as notebooks: text, drawings, listings, examples, and the outputs that they had.

An example's output is the one that is stored in the chapter. The build runs the examples and
compares, so the notebook is executed without being run a second time.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode, v4

from . import WeaveError, drawings, examples, listings, play, tiny
from .examples import Block, Example
from .extension import parse_listing

SETUP = """\
# What this notebook needs: pip install "minijax[tour]"
import numpy as np

from minijax.cli.book import chapters  # where the chapters' own files are

np.set_printoptions(precision=4, suppress=True, linewidth=80)
chapters();"""
SETUP_OF_TINY = """

import sys

sys.path.insert(0, str(chapters() / "tiny"))"""
# What the book's style sheets define, for drawings that stand alone.
COLOURS = {"currentColor": "#444", "--md-default-bg-color": "#fff",
           "--md-accent-fg-color": "#c2410c", "--book-mark": "#fdf3d8", "--book-line": "#b08a2e",
           "--book-faint": "#666",
           "--md-code-font": "monospace", "--md-text-font": "sans-serif"}


def name(page: Path) -> str:
    """The file name of a chapter's notebook."""
    return f"{page.parent.name}.ipynb"


def text(page: Path, figures: Mapping[str, str] | None = None) -> str:
    """The notebook of a chapter, as the text of its file.

    Args:
      figures: the figures that examples drew, as SVG, by the examples' code.

    Raises:
      WeaveError: the notebook would not be valid.
    """
    try:
        book = notebook(page, figures or {})
        nbformat.validate(book)
    except nbformat.ValidationError as error:
        raise WeaveError(str(page), f"is no valid notebook: {error}") from error
    return nbformat.writes(book) + "\n"


def notebook(page: Path, figures: Mapping[str, str]) -> NotebookNode:
    """The notebook of a chapter."""
    lines, found, page_examples = examples.load(page)
    by_line = {example.block.first: example for example in page_examples}
    stored = {example.stored.first for example in page_examples if example.stored}
    is_live = any("live" in example.block.options for example in page_examples)
    setup = v4.new_code_cell(SETUP + SETUP_OF_TINY if is_live else SETUP)
    cells, prose, number, at = [setup], [], 0, 0
    for block in found:
        prose += lines[at : block.first - 1]
        at = block.last
        if block.first in by_line:
            cells += _prose(prose)
            number += 1
            cells.append(_code(by_line[block.first], number, figures))
            prose = []
        elif block.first not in stored:
            prose += _block(block)
    cells += _prose(prose + lines[at:])
    cells.insert(0, cells.pop(1))  # the title stands above the set-up
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"  # the same at each build
    return v4.new_notebook(cells=cells, metadata={
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"}})


# ----------------------------------------------------------------------------------------------
# Text


def _prose(lines: list[str]) -> Iterator[NotebookNode]:
    """A cell with this text, and its drawings attached. No cell for no text."""
    source = "\n".join(lines).strip()
    attachments: dict[str, dict] = {}

    def attach(drawing):
        svg = re.search(r"<svg.*</svg>", drawing[0], re.DOTALL)[0]
        file, label = f"drawing-{len(attachments) + 1}.svg", re.search(r'aria-label="([^"]*)"', svg)
        content = base64.b64encode(_alone(svg).encode()).decode()
        attachments[file] = {"image/svg+xml": content}
        return f"![{label[1] if label else ''}](attachment:{file})"

    drawing = r"<figure[^>]*>\s*<svg.*?</figure>|<svg.*?</svg>"
    source = re.sub(drawing, attach, source, flags=re.DOTALL)
    source = _outside_of_code(source)
    if source:
        cell = v4.new_markdown_cell(source)
        if attachments:
            cell["attachments"] = attachments
        yield cell


def _alone(svg):
    """A drawing that needs no style sheet."""
    for variable, value in COLOURS.items():
        svg = svg.replace(f"var({variable})", value).replace(variable, value)
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups()
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    return re.sub(r'^<svg(?: xmlns="[^"]*")?', head, re.sub(r' style="[^"]*"', "", svg, count=1))


_FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)


def _outside_of_code(source):
    """Formulas as notebooks write them; of links within the book, the words only."""
    link = re.compile(r"(?<!!)\[((?:`[^`]*`|[^\[\]])*)\]\((?!https?:|#)[^)]*\)")
    source = _between(_FENCED, lambda part: link.sub(r"\1", part), source)
    return _between(_CODE, _formulas, source)


def _formulas(part):
    part = re.sub(r"\\\((.+?)\\\)", r"$\1$", part, flags=re.DOTALL)
    part = re.sub(r"\\\[(.+?)\\\]", r"$$\1$$", part, flags=re.DOTALL)
    return re.sub(r'<div class="note"[^>]*>(.*?)</div>', r"> \1", part, flags=re.DOTALL)


def _between(code, change, source):
    """The text with what stands between pieces of code changed."""
    parts = code.split(source)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


def _block(block: Block) -> list[str]:
    """A block that is not run, as lines of Markdown."""
    if block.kind == "rooms":
        return []
    if block.kind == "listing":
        return [line for words in block.body if words.strip() for line in _listing(words)]
    if block.kind == "drawing":
        return [drawings.figure(block.code.strip(), str(block.first))]
    if block.kind == "play":
        return play.sentences(block)
    if block.kind == "tiny":
        return [line for words in block.body if words.strip() for line in _step(words.strip())]
    return [f"```{block.kind}", *block.body, "```"]


def _step(number):
    """A step of tiny, which is not run: its cells would need the file, or all steps before. Of all
    steps of a chapter, which are folded, only where they are."""
    if number.startswith("chapter"):
        return [f"- `tiny.py`, the steps of {number}"]
    step = tiny.find(number)
    title = f"`{step.file}`, step {number}: {step.title}"
    return ["", f"{title}:", "", "```python", *step.text.split("\n"), "```", ""]


def _listing(line):
    """Lines of the library; of folded ones only where they are."""
    reference, options = parse_listing(line)
    listing = listings.find(reference)
    place = f"`minijax/{listing.path}`, lines {listing.first} to {listing.last}"
    if "fold" in options:
        return [f"- {options.get('title') or listing.name}: {place}"]
    return ["", f"{place}:", "", "```python", *listing.text.split("\n"), "```", ""]


# ----------------------------------------------------------------------------------------------
# Code


def _code(example: Example, number: int, figures: Mapping[str, str]) -> NotebookNode:
    """An example with its output."""
    code, options = example.block.code, example.block.options
    cell = v4.new_code_cell(re.sub(r'"chapters/([^"]+)"', r'str(chapters() / "\1")', code),
                            execution_count=number, outputs=[*_outputs(example, figures, number)])
    if "hidden" in options:
        cell.metadata["jupyter"] = {"source_hidden": True}
    if "live" in options:
        cell.metadata["live"] = True  # numbers and arrays look a little different on NumPy
    if "raises" in options:
        cell.metadata["tags"] = ["raises-exception"]
    return cell


def _outputs(example, figures, number):
    shown = example.stored.code if example.stored else ""
    error = example.block.options.get("raises")
    if error:
        printed, message = re.split(rf"^{error}: ?", shown, maxsplit=1, flags=re.MULTILINE)
        if printed:
            yield v4.new_output("stream", text=printed)
        yield v4.new_output("error", ename=error, evalue=message, traceback=[f"{error}: {message}"])
    elif shown and "print(" in example.block.code:
        yield v4.new_output("stream", text=shown + "\n")
    elif shown:
        yield v4.new_output("execute_result", data={"text/plain": shown}, execution_count=number)
    if example.block.code in figures:
        yield v4.new_output("display_data", data={"image/svg+xml": figures[example.block.code]})
