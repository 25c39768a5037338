"""Drawings that are computed when the book is built: a `drawing` block holds the name of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from . import WeaveError, linear, recomputing, ribbon, unzip

DRAWINGS: dict[str, Callable[[], str]] = {
    "jacobian": linear.jacobian, "transpose": linear.transpose,
    "checkpoint": recomputing.checkpoint,
    **{name: partial(unzip.svg, name) for name in unzip.DRAWINGS},
    **{f"ribbon {name}": partial(ribbon.svg, name) for name in ribbon.DRAWINGS}}


def figure(name: str, where: str) -> str:
    """A drawing as a figure of a page.

    Raises:
      WeaveError: there is no drawing of this name.
    """
    if name not in DRAWINGS:
        raise WeaveError(where, f"there is no drawing {name!r}; there are {', '.join(DRAWINGS)}")
    return f'<figure class="drawing">{DRAWINGS[name]()}</figure>'
