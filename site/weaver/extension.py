"""The Markdown extension: what becomes of a page's `listing`, `python`, `text` and `source` blocks.

It sees no more of a page than its lines, and serves any site generator that uses Python-Markdown.
Pages with listings stand one folder deep (`05-jaxprs/README.md`), so their links begin with `../`.
"""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterable
from typing import Any

from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer, TextLexer

from tools import reading

from . import WeaveError, drawings, examples, exercises, hero, listings, play, rooms, tiny
from .examples import Block, Example

AFTER_NORMALISATION, BEFORE_FENCES = 30, 25  # priorities of Python-Markdown's preprocessors


class Weave(Preprocessor):
    """Replaces the blocks that the weaver knows by HTML, and leaves the others."""

    def run(self, lines: list[str]) -> list[str]:
        found = examples.blocks(lines, PAGE)
        page = examples.examples(found, lines)
        examples.run(page, PAGE)
        examples.check(page, PAGE)
        html_of = self._rendered(found, page)
        for block in reversed(found):
            if block.first in html_of:
                stashed = self.md.htmlStash.store(html_of[block.first])
                lines[block.first - 1 : block.last] = ["", stashed, ""]
        return exercises.with_boxes(lines, self._exercise)

    def _exercise(self, number: str) -> str:
        return self.md.htmlStash.store(exercises.box(number, _stub))

    def _rendered(self, found: list[Block], page: list[Example]) -> dict[int, str]:
        """The HTML of each block that the weaver knows, by the block's first line."""
        html_of = {block.first: PLAIN[block.kind](block) for block in found if block.kind in PLAIN}
        for example in page:
            html_of[example.block.first] = _example(example)
            if example.stored:
                html_of[example.stored.first] = ""  # is shown with its example
        return html_of


PAGE = "page"
figures: dict[str, str] = {}  # those that examples drew, by their code: notebooks show them, too


class WeaverExtension(Extension):
    """To be named in the configuration of Markdown as `weaver.extension`."""

    def extendMarkdown(self, md: Any) -> None:
        md.preprocessors.register(Weave(md), "weaver", (AFTER_NORMALISATION + BEFORE_FENCES) / 2)


def makeExtension(**options: Any) -> WeaverExtension:
    """What Python-Markdown looks for."""
    return WeaverExtension(**options)


# ----------------------------------------------------------------------------------------------
# Code as HTML


def _code_lines(code: str, lexer: Any) -> list[str]:
    """Each line of code as HTML of its own."""
    text = highlight(code, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")
    return _PLAIN_TOKEN.sub(r"\1", text).split("\n")


_PLAIN_TOKEN = re.compile(r'<span class="(?:n|p|w|o|mi|mf)">([^<]*)</span>')  # has no colour


PYTHON, TEXT = PythonLexer(stripnl=False, ensurenl=False), TextLexer(stripnl=False, ensurenl=False)


def _pre(lines: list[str], css: str = "") -> str:
    code = "\n".join(lines)
    return f'<div class="highlight {css}"><pre tabindex="0"><code>{code}</code></pre></div>'


def _stub(code: str) -> str:
    return _pre(_code_lines(code, PYTHON), "example")


def _numbered(lines: Iterable[str], first: int, marked: set[int]) -> str:
    """Lines with their numbers, which the style sheet counts, in the margin; some are marked."""
    mark = dict.fromkeys(marked, " class=marked")
    code = "".join(f"<i{mark.get(n, '')}>{line}</i>" for n, line in enumerate(lines, start=first))
    return ('<div class="highlight numbered" data-search-exclude><pre tabindex="0">'
            f'<code style="--first: {first - 1}">{code}</code></pre></div>')


def _listings(block: Block) -> str:
    return "\n".join(_listing(line, block) for line in block.body if line.strip())


def _listing(line: str, block: Block) -> str:
    """One reference; options after it: `mark=f,g` (definitions in it), `fold`, `title=...`."""
    reference, options = parse_listing(line)
    try:
        listing = listings.find(reference)
        marked = _marked(listing.path, options.get("mark", ""))
    except listings.NoSuchLines as error:
        raise WeaveError(f"{PAGE}:{block.first}", str(error)) from None
    # What is folded is in one colour: there is much of it, and the site is to be small.
    lines = map(html.escape, listing.text.split("\n")) if "fold" in options else (
        _code_lines(listing.text, PYTHON))
    code = _numbered(lines, listing.first, marked)
    place = f"../source/{listing.path.removesuffix('.py')}.html#L{listing.first}"
    title = html.escape(options.get("title") or f"{listing.path} · {listing.name}")
    link = f'<a href="{place}">line {listing.first}</a>'
    if "fold" in options:
        return (f'<details class="listing"><summary>{title}</summary>'
                f'<p class="place">{link}</p>{code}</details>')
    return f'<figure class="listing"><figcaption>{title} {link}</figcaption>{code}</figure>'


def parse_listing(line: str) -> tuple[str, dict[str, str]]:
    """A line of a `listing` block: the reference, and the options after two spaces."""
    reference, _, rest = line.strip().partition("  ")
    return reference, dict(word.partition("=")[::2] for word in shlex.split(rest))


def _marked(path: str, names: str) -> set[int]:
    """The numbers of the lines of some definitions in a file."""
    found = [listings.find(f"{path}:{name}") for name in names.split(",") if name]
    return {number for x in found for number in range(x.first, x.last + 1)}


def _source(block: Block) -> str:
    """A whole file under links to its sections, with an anchor wherever a listing can begin."""
    path = block.code.strip()
    links = [f'<li><a href="#L{n}">{html.escape(title)}</a></li>'
             for n, title in ((n + 1, title) for n, title in listings.headings(path))]
    sections = f'<ul class="sections">{"".join(links)}</ul>' if links else ""
    lines, starts = listings.source_lines(path), listings.starts(path)
    shown = _code_lines("\n".join(lines), PYTHON)
    code = "\n".join(f'<i id="L{n}"></i>' * (n in starts) + line
                     for n, line in enumerate(shown, start=1))
    numbers = "\n".join(map(str, range(1, len(shown) + 1)))
    return (f'{sections}<div class="file highlight" data-search-exclude>'
            f'<pre aria-hidden="true">{numbers}</pre>'
            f'<pre tabindex="0"><code>{code}</code></pre></div>')


def _example(example: Example) -> str:
    block, outcome = example.block, example.outcome
    assert outcome is not None
    if "hidden" in block.options:
        return ""
    parts = [_pre(_code_lines(block.code, PYTHON), "example")]
    if outcome.of_jax is not None:
        parts.append('<div class="beside">' + _output(outcome.text, "minijax")
                     + _output(outcome.of_jax, "JAX") + "</div>")
    elif outcome.text:
        parts.append(_output(outcome.text, "minijax and JAX" if outcome.same_in_jax else ""))
    if outcome.figure:
        figures[block.code] = outcome.figure
        label = html.escape(block.options["plot"], quote=True)
        figure = f'role="img" aria-label="{label}">{outcome.figure}</figure>'
        parts.append(f'<figure class="plot" {figure}')
    if outcome.recording is not None:
        from minijax.debugging.theatre import stage

        parts.append(stage(outcome.recording))
    css, data = "woven", ""
    if "live" in block.options:
        css, data = "woven live", f' data-chapter="{example.chapter}"'
        data += ' data-raises=""' * ("raises" in block.options)
    return f'<div class="{css}"{data} data-search-exclude>' + "\n".join(parts) + "</div>"


def _output(text: str, label: str) -> str:
    said = f'<span class="who">{label}</span>' if label else ""
    return f'<div class="output">{said}{_pre(_code_lines(text, TEXT))}</div>'


def _rooms(block: Block) -> str:
    """The map of the rooms; the block holds the chapter's number."""
    return rooms.strip(int(block.code))


def _hero(block: Block) -> str:
    return hero.block(block.body)


def _drawing(block: Block) -> str:
    return drawings.figure(block.code.strip(), f"{PAGE}:{block.first}")


def _play(block: Block) -> str:
    return play.figure(block, f"{PAGE}:{block.first}")


def _reading(block: Block) -> str:
    """How long the chapters take to read: the sum, and a table."""
    found = reading.chapters()
    total = reading.total(found)
    rows = "".join(
        f"<tr><td>{_code_in(r.title)}</td><td>{r.words:,}</td><td>{r.listing_lines:,}</td>"
        f"<td>{r.example_lines:,}</td><td>{r.minutes:.0f}</td></tr>" for r in found.values())
    return (f"<p>{total.title} take <strong>{reading.duration(total.minutes)}</strong> to read, "
            f"without the exercises: {total.words:,} words at {reading.WORDS_A_MINUTE} a minute, "
            f"and {total.listing_lines + total.example_lines:,} lines of code at "
            f"{reading.SECONDS_A_LINE} seconds a line.</p>"
            "<details><summary>Each chapter</summary><table><thead><tr><th>chapter</th>"
            "<th>words</th><th>lines of the library</th><th>lines of examples</th><th>minutes</th>"
            f"</tr></thead><tbody>{rows}</tbody></table></details>")


def _code_in(words: str) -> str:
    """A heading's words as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(words))


def _tiny(block: Block) -> str:
    """Steps of tiny: a line `1.6` for one step, `chapter 1` for all of a chapter, folded."""
    return "\n".join(_tiny_steps(line.strip()) for line in block.body if line.strip())


def _tiny_steps(line: str) -> str:
    if not line.startswith("chapter"):
        return _tiny_step(tiny.find(line))
    chapter = int(line.split()[1])
    shown = "\n".join(_tiny_step(x) for x in tiny.steps().values() if x.chapter == chapter)
    title = html.escape(f"Chapter {chapter}: {tiny.chapters()[chapter]}")
    return f'<details class="listing"><summary>{title}</summary>{shown}</details>'


def _tiny_step(step: tiny.Step) -> str:
    code = _numbered(_code_lines(step.text, PYTHON), step.first, set())
    title = tiny.with_code(f"{step.file} · {step.number} {step.title}")
    same = f'<p class="place" style="{_BELOW}">{tiny.in_the_library(step.number)}</p>'
    return (f'<figure class="listing" id="step-{step.number}"><figcaption>{title}</figcaption>'
            f"{code}{same}</figure>")


_BELOW = "border-top: 1px solid var(--book-line); border-bottom: 0"


def _tiny_map(block: Block) -> str:
    return tiny.map_table(block.body)


def _tiny_files(block: Block) -> str:
    return tiny.files_table()


PLAIN = {"listing": _listings, "source": _source, "rooms": _rooms, "reading": _reading,
         "drawing": _drawing, "hero": _hero, "play": _play, "tiny": _tiny,
         "tiny-map": _tiny_map, "tiny-files": _tiny_files}
