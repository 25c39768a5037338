"""The HTML of an explanation, and the parts of its pictures."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Step:
    """A sentence, and the name of the chapter of the explanation that it begins, if it does."""

    say: str
    mark: str = ""


@dataclass
class Explanation:
    """A picture and its steps. `data` is for a player of this explanation's own."""

    title: str
    picture: str
    steps: list[Step]
    data: dict[str, Any] = field(default_factory=dict)
    controls: str = ""  # HTML, which scripts fill with life


def stepped(what: Explanation, name: str, caption: str) -> str:
    """The figure. Without scripts it is the picture and the list of sentences."""
    data = {"steps": [[step.say, step.mark] for step in what.steps], **what.data}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    sentences = "".join(f"<li>{html.escape(step.say)}</li>" for step in what.steps)
    title = html.escape(what.title, quote=True)
    return (f'<div class="play" data-play="{name}" data-search-exclude role="group" '
            f'aria-label="{title}"><script type="application/json">{text}</script>'
            f'<p class="pl-title">{title}</p>'
            f'<div class="pl-picture" role="group" aria-label="the picture" tabindex="0">'
            f"{what.picture}</div>{what.controls}"
            + f'<ol class="pl-list">{sentences}</ol>' * bool(what.steps)
            + f'<p class="pl-caption">{caption}</p>' * bool(caption) + "</div>")


def number(x: Any) -> str:
    """A number as the pictures show it, to four digits, with a true minus sign."""
    return f"{float(x):.4g}".replace("-", "−")


class Picture:
    """SVG, part by part."""

    def __init__(self, width: float, height: float, label: str):
        self.width, self.height, self.label = width, height, label
        self.parts: list[str] = []

    def add(self, tag: str, css: str = "", text: object = None, show: str = "", lit: str = "",
            **attributes: Any) -> None:
        """One element; `_` in an attribute's name stands for `-`."""
        named = {"class": css, "data-show": show, "data-lit": lit} | {
            key.replace("_", "-"): f"{x:g}" if isinstance(x, float) else x
            for key, x in attributes.items()}
        said = " ".join(f'{key}="{x}"' for key, x in named.items() if x != "")
        inside = "" if text is None else html.escape(str(text))
        self.parts.append(f"<{tag} {said}>{inside}</{tag}>")

    def text(self, x: float, y: float, words: object, css: str = "", **more: Any) -> None:
        self.add("text", css, words, x=x, y=y, **more)

    def rect(self, x: float, y: float, width: float, height: float, css: str = "",
             **more: Any) -> None:
        self.add("rect", css, x=x, y=y, width=width, height=height, rx=3, **more)

    def path(self, d: str, css: str = "", **more: Any) -> None:
        self.add("path", css, d=d, **more)

    def svg(self) -> str:
        label = html.escape(self.label, quote=True)
        width, height = f"{self.width:g}", f"{self.height:g}"
        return (f'<svg role="img" aria-label="{label}" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}">{"".join(self.parts)}</svg>')
