"""An explanation as a page: one HTML file that needs nothing else."""

from __future__ import annotations

import html
import json
import linecache
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...text.locations import short_path
from .compiled import compiled_texts
from .program import Line, expression_at
from .provenance import Place, Rule

if TYPE_CHECKING:
    from .explanation import Explanation

HERE = Path(__file__).parent
MOST_STEPS = 5000  # executions of lines that the slider goes through


def page(explanation: Explanation) -> str:
    """The HTML of the page."""
    data = json.dumps(_data(explanation), separators=(",", ":")).replace("<", "\\u003c")
    style, script = ((HERE / name).read_text() for name in ("page.css", "page.js"))
    title = html.escape(f"What became of {explanation.name}")
    return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>{style}</style></head>"
            f'<body><main><h1>{title}</h1><div id="explanation">'
            f"<noscript>This page needs scripts, which it has with it.</noscript></div></main>"
            f'<script type="application/json" id="data">{data}</script>'
            f"<script>{script}</script></body></html>\n")


def _data(explanation: Explanation) -> dict[str, Any]:
    lines = explanation.lines
    places = _numbered(line.origin.place for line in lines if line.origin.place)
    rules = _numbered(rule for line in lines for rule in line.origin.rules)
    memory = explanation.memory()
    return {"name": explanation.name, "peak": explanation.peak,
            "at": memory.line and memory.line.number,
            "held": [_held(held) for held in memory.held],
            "places": [(expression_at(place),
                        f"{short_path(place.code.co_filename)}:{place.positions[0]}",
                        _around(place, [*places])) for place in places],
            "rules": [f"{rule.kind} of {rule.primitive} ("
                      f"{_in_package(rule.place.code.co_filename)}:{rule.place.positions[0]})"
                      for rule in rules],
            "source": _source([*places]), "lines": [_line(line, places, rules) for line in lines],
            "steps": _steps(explanation), **compiled_texts(explanation.jaxpr)}


def _numbered(things: Iterable) -> dict[Any, int]:
    return {thing: i for i, thing in enumerate(dict.fromkeys(things))}


def _line(line: Line, places: dict[Place, int], rules: dict[Rule, int]) -> dict[str, Any]:
    """What the page shows of a line, without what says nothing."""
    place = line.origin.place
    facts = {"text": line.text, "depth": line.depth, "phase": line.phase, "batched": line.batched,
             "dead": line.dead, "flops": line.cost.flops + line.cost.transcendentals,
             "bytes": line.cost.bytes, "live": line.live, "values": [*map(str, line.values)],
             "loop": line.eqn.params.get("length"), "calls": bool(line.inner),
             "library": line.library,
             "rules": [rules[rule] for rule in line.origin.rules]}
    return {"place": -1 if place is None else places[place],
            **{name: fact for name, fact in facts.items() if fact}}


def _in_package(filename: str) -> str:
    package = str(HERE.parents[1])
    return filename.removeprefix(package).lstrip("/\\") if filename.startswith(package) else (
        short_path(filename))


def _held(held: Any) -> dict[str, Any]:
    return {"bytes": held.bytes, "type": held.type,
            "made": held.made_by and held.made_by.number,
            "wanted": held.wanted_by and held.wanted_by.number}


def _steps(explanation: Explanation) -> list[list]:
    """The executions in order: the number of the line, and, if it is executed more than once, its
    values as text."""
    if not explanation.has_values:
        return []
    often = Counter(line.number for line, _ in explanation.executions)
    return [[line.number, [*map(str, values)]] if often[line.number] > 1 else [line.number]
            for line, values in explanation.executions[:MOST_STEPS]]


# ----------------------------------------------------------------------------------------------
# The source: the functions that the equations come from, cut where an expression begins or ends


def _source(places: list[Place]) -> list[dict[str, Any]]:
    """The files: {"file", "lines": [[number, [[text, place], …]], …]}. A piece of text has the
    number of the smallest expression that it is in, or -1."""
    shown: defaultdict[str, set[int]] = defaultdict(set)
    for place in places:
        first, last = place.code.co_firstlineno, place.positions[1]
        numbers = [n for *_, n in place.code.co_lines() if n]
        if place.code.co_name == "<module>":
            first, numbers = place.positions[0], []
        shown[place.code.co_filename] |= {*range(first, max([last, *numbers]) + 1)}
    return [{"file": short_path(file), "lines": [
        [n, _pieces(file, n, places)] for n in sorted(wanted)]} for file, wanted in shown.items()]


def _extent(place: Place) -> tuple[tuple[int, int], tuple[int, int]]:
    first, last, start, end = place.positions
    return (first, start), (last, end)


def _around(place: Place, places: list[Place]) -> list[int]:
    """The numbers of the expressions that an expression is part of."""
    first, last = _extent(place)
    return [i for i, other in enumerate(places)
            if other.code.co_filename == place.code.co_filename and other != place
            and _extent(other)[0] <= first and last <= _extent(other)[1]]


def _pieces(file: str, number: int, places: list[Place]) -> list[tuple[str, int]]:
    text = linecache.getline(file, number).rstrip("\n")
    spans = []  # (start, end, place) of expressions on this line, the larger ones first
    for i, place in enumerate(places):
        first, last, start, end = place.positions
        if place.code.co_filename == file and first <= number <= last:
            spans.append((_column(text, start) if number == first else 0,
                          _column(text, end) if number == last else len(text), i))
    spans.sort(key=lambda span: (places[span[2]].positions[0] - places[span[2]].positions[1],
                                 span[0] - span[1]))
    owner = [-1] * len(text)
    for start, end, i in spans:
        owner[start:end] = [i] * (min(end, len(text)) - start)
    pieces: list[tuple[str, int]] = []
    for character, i in zip(text, owner, strict=True):
        if pieces and pieces[-1][1] == i:
            pieces[-1] = pieces[-1][0] + character, i
        else:
            pieces.append((character, i))
    return pieces


def _column(text: str, offset: int) -> int:
    """A column in characters; Python counts bytes of UTF-8."""
    return len(text.encode()[:offset].decode(errors="ignore"))
