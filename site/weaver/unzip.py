"""The *unzip spread*: x · sin x, its JVP, the two halves of the JVP, and the transposed half.

Each equation has one row in all columns, so the reader sees where it goes.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple


class Row(NamedTuple):
    """An equation of the JVP. If it is linear in ẋ, `transposed` is what the transpose does."""

    text: str
    in_f: bool = False
    transposed: str = ""


BAR = "\N{COMBINING MACRON}"  # a cotangent; drawn as a line, because fonts place it badly
ROWS = [
    Row("s = sin x", in_f=True),
    Row("c = cos x"),
    Row("ṡ = ẋ · c", transposed=f"x{BAR} += s{BAR} · c"),
    Row("y = x · s", in_f=True),
    Row("p = ẋ · s", transposed=f"x{BAR} += p{BAR} · s"),
    Row("q = x · ṡ", transposed=f"s{BAR} = x · q{BAR}"),
    Row("ẏ = p + q", transposed=f"p{BAR} = q{BAR} = y{BAR}"),
]
RESIDUALS = [(-1, 5), (0, 4), (1, 2)]  # from the row of x, s or c to the linear row that reads it


class Column(NamedTuple):
    """A column: its title, its first and its last line, and what it is, in words."""

    title: str
    first: str
    last: str
    words: str


COLUMNS = {
    "f": Column("f", "x", "y", "the function: s = sin x, y = x s"),
    "jvp": Column("its JVP", "x, ẋ", "y, ẏ", "its JVP, seven equations: the two of the function, "
                  "c = cos x, and four for the tangents"),
    "known": Column("known", "x", "y", "the known equations, in the same rows: s, c and y"),
    "linear": Column("linear", "ẋ", "ẏ", "the linear equations, in the same rows: the four for the "
                     "tangents. Arrows bring x, s and c to them"),
    "transposed": Column("transposed", f"x{BAR}", f"y{BAR}", "the transposed equations, beside the "
                         "linear ones, read from the bottom to the top: from y bar to x bar"),
}
TOP, STEP, WIDTH = 72, 30, 98  # of the rows; the width of a column
GAPS = {"linear": 46}  # before a column; the residuals pass here


# The drawings by their names. Their ids begin with the name, so that a page can have several.
DRAWINGS = {"unzip": ("f", "jvp", "known", "linear"),
            "unzip-transposed": ("known", "linear", "transposed")}


def svg(drawing: str) -> str:
    """The drawing of this name. Each column is a part that can be shown by itself."""
    names, places, x = DRAWINGS[drawing], {}, 4
    for name in names:
        x += GAPS.get(name, 16) * bool(places)
        places[name] = x
        x += WIDTH
    parts = []
    for step, (name, place) in enumerate(places.items(), start=1):
        parts += [f'<g class="drawing-step" data-step="{step}" id="{drawing}-{name}">',
                  *_column(name, place)]
        if name == "linear":
            parts += _residuals(places["known"] + WIDTH, place, f"{drawing}-tip")
        parts.append("</g>")
    words = ". ".join(f"Column {i}: {COLUMNS[name].words}" for i, name in enumerate(names, start=1))
    size = f"{x + 4} {TOP + STEP * (len(ROWS) + 1) + 4}"
    tip = (f'<defs><marker id="{drawing}-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
           'markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--book-faint)"/>'
           "</marker></defs>")
    return (f'<svg viewBox="0 0 {size}" role="img" font-size="14" fill="currentColor" '
            f'style="max-width:{x * 0.07:.0f}rem;width:100%" aria-label="{html.escape(words)}.">'
            f'{tip}{"".join(parts)}</svg>')


_KNOWN = 'fill="var(--book-mark)" stroke="var(--book-line)"'
_LINEAR = 'fill="none" stroke="var(--md-accent-fg-color)" stroke-dasharray="5 4"'
_BACK = ('fill="var(--md-accent-fg-color)" fill-opacity=".16" stroke="var(--md-accent-fg-color)"')


def _column(name, x):
    column, middle = COLUMNS[name], x + WIDTH / 2
    arrow = "↑" if name == "transposed" else "↓"
    yield _text(middle, 16, f"{column.title} {arrow}", "var(--md-text-font)")
    yield _text(middle, _height(-1), column.first)
    yield _text(middle, _height(len(ROWS)), column.last)
    for i, row in enumerate(ROWS):
        style, text = _cell(name, row)
        if text:
            yield (f'<rect x="{x}" y="{_height(i) - 18}" width="{WIDTH}" height="26" rx="4" '
                   f'stroke-width="1.3" {style}/>')
            yield _text(middle, _height(i), text)


def _cell(name, row):
    """How an equation is drawn in a column, and its text there; "" if it is not in the column."""
    if name == "transposed":
        return _BACK, row.transposed
    style, half = (_LINEAR, "linear") if row.transposed else (_KNOWN, "known")
    return style, row.text if name in (half, "jvp") or (name == "f" and row.in_f) else ""


def _height(row):
    return TOP + STEP * row


def _text(x, y, words, font="var(--md-code-font)"):
    drawn = re.sub(rf"(\w){BAR}", r'<tspan text-decoration="overline">\1</tspan>', words)
    return f'<text x="{x}" y="{y}" text-anchor="middle" font-family="{font}">{drawn}</text>'


def _residuals(left, right, tip):
    """Arrows from known values to the linear equations that read them."""
    for i, (source, target) in enumerate(RESIDUALS):
        start = left - (WIDTH / 2 - 10 if source < 0 else 0)  # x stands in no cell
        turn = left + 10 + 11 * i
        yield (f'<path d="M{start} {_height(source) - 5}H{turn}V{_height(target) - 5}H{right - 2}" '
               'fill="none" stroke="var(--book-faint)" stroke-width="1.3" '
               f'marker-end="url(#{tip})"/>')
