"""Explanations to play with: a block `play NAME`, whose text is the caption.

Each is a picture, complete without scripts, and data for `play.js`. The numbers in it are computed
by the library when the book is built. A part of a picture can have

- `data-show="2-4,6-"`: the steps in which it is there;
- `data-lit="3"`: the steps in which it is lit;
- `data-go="3"`: a click on it leads to this step.

What is shown in some steps only, in place of something else, has the class `pl-then`. It is not in
the picture that stands there without scripts.
"""

from __future__ import annotations

import html
from collections.abc import Callable

from .. import WeaveError
from ..examples import Block
from . import batch, jacobian, lowered, ribbon, tangent, unzip
from .steps import Explanation, stepped

PLAYS: dict[str, Callable[[], Explanation]] = {
    "batch-axis": batch.explanation,
    "jacobian": jacobian.explanation,
    "lowering": lowered.explanation,
    "scan-ribbon": ribbon.explanation,
    "tangent-arrow": tangent.explanation,
    "unzip": unzip.explanation,
}


def figure(block: Block, where: str) -> str:
    """An explanation as a figure of a page.

    Raises:
      WeaveError: there is no explanation of this name.
    """
    (name,) = block.options or [""]
    if name not in PLAYS:
        raise WeaveError(where, f"there is no explanation {name!r}; there are {', '.join(PLAYS)}")
    return stepped(PLAYS[name](), name, html.escape(_caption(block)))


def sentences(block: Block) -> list[str]:
    """An explanation as lines of Markdown, where nothing can be played with."""
    (name,) = block.options
    return ["", _caption(block), "", *(f"1. {step.say}" for step in PLAYS[name]().steps), ""]


def _caption(block):
    return " ".join(" ".join(block.body).split())
