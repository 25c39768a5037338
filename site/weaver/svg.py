"""A drawing in SVG, in the colours of the page, whose parts can be shown one after another."""

from __future__ import annotations

import re
from collections.abc import Callable

BAR = re.compile("(\\w)\N{COMBINING MACRON}")  # drawn as a line, because fonts place it badly
STYLE = """\
.ID path,.ID rect,.ID circle{fill:none;stroke:currentColor;stroke-width:1.5}
.ID text{fill:currentColor;font:14px var(--md-text-font)}
.ID .number{font-family:var(--md-code-font)}
.ID path.linear,.ID rect.linear,.ID rect.stack,.ID circle.linear{stroke:var(--md-accent-fg-color)}
.ID text.linear{fill:var(--md-accent-fg-color)}
.ID rect.linear{stroke-dasharray:5 4}
.ID rect.marked{stroke:var(--md-accent-fg-color);stroke-width:2.5}"""


class Drawing:
    """Lines of SVG. `name` stands before its ids, so that a page can have several drawings.

    What has the class `linear` is drawn in the colour of tangents and cotangents.
    """

    def __init__(self, name: str):
        self.name = name
        self.lines: list[str] = []
        self.step = 0

    def text(self, x: float, y: float, words: object, css: str = "",
             anchor: str = "middle") -> None:
        drawn = BAR.sub(r'<tspan text-decoration="overline">\1</tspan>', str(words))
        self.lines.append(
            f'<text x="{x:g}" y="{y:g}" class="{css}" text-anchor="{anchor}">{drawn}</text>')

    def arrow(self, *points: float, css: str = "") -> None:
        """Through the points x1, y1, x2, y2 …; the last one is its tip."""
        pairs = [f"{x:g} {y:g}" for x, y in zip(points[::2], points[1::2])]
        self.lines.append(
            f'<path class="{css}" d="M{"L".join(pairs)}" marker-end="url(#{self.name}-tip)"/>')

    def box(self, x: float, y: float, width: float, height: float, css: str = "") -> None:
        self.lines.append(f'<rect class="{css}" x="{x:g}" y="{y:g}" width="{width:g}" '
                          f'height="{height:g}" rx="6"/>')

    def circle(self, x: float, y: float, radius: float, css: str = "") -> None:
        self.lines.append(f'<circle class="{css}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')

    def part(self, name: str, draw: Callable[[], None]) -> None:
        """What `draw` draws belongs together, and is the next step of the explanation."""
        self.step += 1
        self.lines.append(
            f'<g class="drawing-step" data-step="{self.step}" id="{self.name}-{name}">')
        draw()
        self.lines.append("</g>")

    def svg(self, width: int, height: int, label: str) -> str:
        """The whole. `label` is for those who do not see it."""
        tip = (f'<defs><marker id="{self.name}-tip" viewBox="0 0 8 8" refX="7" refY="4" '
               'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" '
               'style="fill:context-stroke;stroke:none"/></marker></defs>')
        style = "<style>" + STYLE.replace("ID", self.name).replace("\n", "") + "</style>"
        return (f'<svg class="{self.name}" viewBox="0 0 {width} {height}" role="img" '
                f'aria-label="{label}" style="max-width:{width * 0.057:.0f}rem;width:100%">'
                f'{style}{tip}{"".join(self.lines)}</svg>')
