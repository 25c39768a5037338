"""From events to steps: which events are folded into another at first, and where chapters begin.

An event at a greater depth than the one before it happens inside that one. A folded event is one
step together with everything inside it, and with its result. If there are more than `MOST_STEPS`
steps with all events folded, the player puts the rest into the last of these.
"""

from collections.abc import Collection, Iterator
from typing import Any

MOST_STEPS = 25  # shown at first
MOST_MARKS = 8
LABELS = {"JVPTrace": "forwards", "BatchTrace": "as a batch", "DynamicJaxprTrace": "tracing",
          "JaxprTrace": "known and unknown", "EvalTrace": "computing"}


def visible(events: list[dict[str, Any]], opened: Collection[int]) -> list[int]:
    """The numbers of the events that begin a step, if these events are open."""
    found, i = [], 0
    while i < len(events):
        found.append(i)
        after = _end(events, i)
        i = i + 1 if i in opened and after > i + 1 else _with_result(events, i, after)
    return found


def _end(events, i):
    """The number after the last event inside event `i`."""
    j = i + 1
    while j < len(events) and events[j]["depth"] > events[i]["depth"]:
        j += 1
    return j


def _with_result(events, i, after):
    return after + 1 if after < len(events) and events[after].get("of") == i else after


def opened_at_first(events: list[dict[str, Any]], most: int = MOST_STEPS) -> list[int]:
    """The events that are open at first: level by level, as long as there are few steps.

    A sub-program, which is traced while another trace waits, is folded at first.
    """
    opened: set[int] = set()
    for level in range(1 + max((e["depth"] for e in events), default=0)):
        inside = [i for i in visible(events, opened) if events[i]["depth"] == level
                  and _end(events, i) > i + 1 and not events[i].get("sub")]
        for i in inside:
            if len(visible(events, opened | {i})) > most:
                return sorted(opened)
            opened.add(i)
    return sorted(opened)


def marks(events: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """The chapters of a run: the number of the event that each begins with, and its name."""
    found: list[tuple[int, str]] = []
    for at, label in _phases(events):
        if not found or found[-1][1] != label:
            found.append((at, label))
    return found[:MOST_MARKS]


def _phases(events: list[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    start, backwards = None, False
    for i, event in enumerate(events):
        if event["depth"]:
            continue
        if event["kind"] == "begin" and not event.get("sub"):
            start, backwards = i if start is None else start, False
        label = _label(event, backwards)
        if label and not (start is not None and event.get("sub")):  # part of what begins
            backwards = label == "backwards"
            yield i if start is None else start, label
            start = None


def _label(event: dict[str, Any], backwards: bool) -> str | None:
    kind = event["kind"]
    if kind == "transpose":
        return "backwards"
    if kind == "compile":
        return "compiling"
    if kind == "begin" and event.get("sub"):
        return "a sub-program"
    if kind != "process" or (backwards and event["primitive"] == "add_any"):
        return None
    return LABELS.get(event["traces"][-1].split()[0], "computing")
