"""The map of the library's rooms, with the one that a chapter is about marked."""

from __future__ import annotations

import html

from tools.cut import ROOMS, ROOT

TITLES = {
    1: "values, traces", 2: "jvp", 3: "pytrees", 4: "vmap", 5: "jaxprs", 6: "jit", 7: "linearize",
    8: "grad", 9: "loops", 10: "own rules", 11: "families", 12: "numpy", 13: "random",
    14: "devices", 15: "debugging", 16: "models",
}


def strip(current: int) -> str:
    """Chapters in their order, which is the order of imports; `current` is the reader's place."""
    folders = {int(path.name[:2]): path.name for path in ROOT.glob("chapters/[0-9][0-9]-*")}
    items = []
    for number in ROOMS:
        name = f"<b>{number}</b> {html.escape(TITLES[number])}"
        link = f'<a href="../{folders[number]}/index.html">{name}</a>' if number in folders else (
            f"<span>{name}</span>")
        mark = ' aria-current="page"' if number == current else ""
        items.append(f"<li{mark}>{link}</li>")
    label = "You are here: the rooms of the library, in the order of import"
    return f'<nav class="rooms" aria-label="{label}"><ol>{"".join(items)}</ol></nav>'
