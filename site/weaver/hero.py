"""The opening of the home page: what the book is, and the backward sweep of `grad`, drawn.

The drawing plays once. At its end, without scripts, on paper, and for readers who ask for less
motion, all of it is there.
"""

from __future__ import annotations

import html
import math

from tools import reading

X = 3.0
SECONDS = 5.0


def values(x: float) -> dict[str, float]:
    """The numbers of the drawing: y = x · s with s = sin x, and the cotangents from y back to x."""
    s = math.sin(x)
    at_product = {"s_bar": x, "x_direct": s}
    return {"x": x, "s": s, "c": math.cos(x), "y": x * s, **at_product,
            "x_through": math.cos(x) * x, "x_bar": s + math.cos(x) * x}


def block(lines: list[str]) -> str:
    """The opening: the lines of the block are the title, a sentence, and links `words | target`."""
    title, sentence, *links = [html.escape(line) for line in lines if line.strip()]
    buttons = "".join('<a class="hero-button" href="{1}">{0}</a>'.format(
        *(part.strip() for part in link.split("|"))) for link in links)
    total = reading.total(reading.chapters())
    return (f'<div class="hero"><div class="hero-words"><h1>{title}</h1>'
            f'<p class="hero-sentence">{sentence}</p>'
            '<pre class="hero-install" tabindex="0"><code>pip install minijax</code></pre>'
            f'<p class="hero-buttons">{buttons}</p>'
            f'<p class="hero-time">{total.title}: {reading.duration(total.minutes)} of reading. '
            "The code runs in the page.</p></div>"
            f'<figure class="hero-drawing">{drawing()}<figcaption>'
            "<code>grad</code> of <code>x · sin x</code> at 3: forwards, and back. "
            '<button type="button" class="hero-again" hidden>Play again</button></figcaption>'
            "</figure></div>")


# ----------------------------------------------------------------------------------------------
# The drawing

NODES = {"x": (70, 150), "sin": (230, 70), "mul": (400, 150), "y": (545, 150)}


def drawing() -> str:
    """The graph of x · sin x, with its values and its cotangents, as SVG."""
    v = {name: f"{value:.4g}" for name, value in values(X).items()}
    forward = [_node("x", "x"), _edge("x", "sin"), _node("sin", "sin"), _edge("sin", "mul"),
               _edge("x", "mul"), _node("mul", "×"), _edge("mul", "y"), _node("y", "y")]
    known = [_text(70, 205, f"x = {v['x']}"), _text(230, 30, f"s = {v['s']}"),
             _text(545, 205, f"y = {v['y']}")]
    back = [
        [_text(475, 118, "ȳ = 1", "back"), _back("y", "mul")],
        [_text(345, 76, f"s̄ = {v['s_bar']}", "back"), _back("mul", "sin")],
        [_text(235, 182, f"+ {v['x_direct']}", "back"), _back("mul", "x")],
        [_text(118, 76, f"{v['x_through']}", "back"), _back("sin", "x")],
        [_text(70, 232, f"x̄ = {v['x_bar']}", "back result")],
    ]
    steps = [[*forward[:1], known[0]], forward[1:3] + [known[1]], forward[3:6],
             forward[6:] + [known[2]], *back]
    parts = "".join(f'<g class="hero-step" style="--at:{i * SECONDS / len(steps):.2f}s">'
                    f'{"".join(step)}</g>' for i, step in enumerate(steps))
    label = (f"The graph of y = x times sin x at x = {v['x']}: values flow from x through sin and "
             f"the product to y = {v['y']}. Cotangents flow back: 1 at y, {v['s_bar']} at sin x, "
             f"and at x the sum of {v['x_direct']} and {v['x_through']}, which is {v['x_bar']}.")
    tips = "".join(
        f'<marker id="hero-{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" style="fill:{colour}"/></marker>'
        for name, colour in (("tip", "var(--book-faint)"), ("back", "var(--md-accent-fg-color)")))
    return (f'<svg viewBox="0 0 600 245" role="img" aria-label="{html.escape(label)}">'
            f"<defs>{tips}</defs>{parts}</svg>")


def _node(name, words):
    x, y = NODES[name]
    return (f'<circle cx="{x}" cy="{y}" r="24"/>'
            f'<text x="{x}" y="{y + 6}" class="hero-name">{words}</text>')


def _text(x, y, words, css=""):
    return f'<text x="{x}" y="{y}" class="{css}">{words}</text>'


def _edge(start, end):
    return _line(start, end, -7, "tip")


def _back(start, end):
    return _line(start, end, -7, "back")


def _line(start, end, aside, tip):
    """From circle to circle, a little to the left of the way, so that the way back has room."""
    (x1, y1), (x2, y2) = NODES[start], NODES[end]
    length = math.hypot(x2 - x1, y2 - y1)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    x1, y1, x2, y2 = x1 + 29 * dx, y1 + 29 * dy, x2 - 29 * dx, y2 - 29 * dy
    sx, sy = -aside * dy, aside * dx
    return (f'<path class="{tip}" d="M{x1 + sx:.1f} {y1 + sy:.1f}L{x2 + sx:.1f} {y2 + sy:.1f}" '
            f'marker-end="url(#hero-{tip})"/>')
