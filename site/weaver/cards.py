"""Social cards: the picture that other sites show beside a link to a page."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from pathlib import Path

from . import listings

CHAPTERS = listings.PACKAGE.parent / "chapters"
INK, FAINT, PAPER, ACCENT = "#22303c", "#626673", "#fdfcf9", "#a0461a"
WIDTH, HEIGHT = 1200, 630


def cards() -> Iterator[tuple[str, bytes]]:
    """Of the home page and of each chapter: the name of its card, and the card as PNG."""
    yield "index", card("JAX, rebuilt small enough to be read", "minijax")
    for page in sorted(CHAPTERS.glob("*/README.md")):
        yield page.parent.name, card(_title(page), "minijax · how JAX works")


def _title(page: Path) -> str:
    lines = page.read_text().splitlines()
    return next(line[2:] for line in lines if line.startswith("# ")).replace("`", "")


def card(title: str, above: str) -> bytes:
    """A card: the title, and the graph of x · sin x with its way back."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=PAPER)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(0, HEIGHT)
    axes.axis("off")
    axes.text(70, 535, above, size=22, color=FAINT, family="serif")
    words = "\n".join(textwrap.wrap(title[0].upper() + title[1:], 30))
    axes.text(70, 490, words, size=44, color=INK, family="serif", va="top", weight="bold")
    _graph(axes)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


def _graph(axes):
    places = {"x": (640, 110), "sin": (810, 240), "×": (980, 110), "y": (1120, 110)}
    for start, end in (("x", "sin"), ("sin", "×"), ("x", "×"), ("×", "y")):
        for one, other, colour, aside in ((start, end, FAINT, 9), (end, start, ACCENT, 9)):
            (x1, y1), (x2, y2) = places[one], places[other]
            length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
            dx, dy = (x2 - x1) / length, (y2 - y1) / length
            ends = [(x - s * dx - aside * dy, y - s * dy + aside * dx)
                    for x, y, s in ((x2, y2, 38), (x1, y1, -38))]
            axes.annotate("", ends[0], ends[1],
                          arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2})
    for name, (x, y) in places.items():
        axes.plot([x], [y], "o", ms=42, mfc="#f4f2ec", mec=INK, mew=1.5)
        axes.text(x, y, name, size=20, ha="center", va="center", style="italic", family="serif")
