"""Chapter 6: notes for the compiler, which become frontend attributes of operations.

A context of notes adds a `Note` to the names of the scopes around (`errors.source`), so that
equations keep it through all transformations. Lowering writes it on the operations that make an
equation's results. Traces depend on the context: its notes are one of the `traced_settings`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import settings
from ..core.lowering import Body, Constant, Value
from ..errors import Note, source

# ----------------------------------------------------------------------------------------------
# The notes around an operation

COMPUTE_TYPE = None  # the key of the note that says where to compute; all others are strings
COMPUTE_TYPES = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}

_notes = settings.State("", None, lambda value: value, "What functions are traced with.")
settings.traced_settings.append(_notes)


@functools.lru_cache(4096)
def noted(names: tuple) -> Note:
    """The notes among the names of scopes, in one: inner ones win, and `None` takes one away."""
    said: dict[Any, Any] = {}
    for name in names:
        if type(name) is Note:
            said.update(name)
    return Note((key, value) for key, value in said.items() if value is not None)


class noting(contextlib.ContextDecorator):
    """A context in which operations have a note, besides those of the contexts around it."""

    def __init__(self, note: Mapping):
        self._note = Note(note.items())
        self._left: list[tuple] = []  # a stack, as the context may be entered again inside

    def __enter__(self) -> None:
        inside = noted((*source.notes, self._note))
        override = settings.Override(_notes, inside or None)
        override.__enter__()
        self._left.append((source.names, source.notes, override))
        source.names = (*source.names, self._note)
        source.notes = (inside,) if inside else ()

    def __exit__(self, *error: Any) -> None:
        source.names, source.notes, override = self._left.pop()
        override.__exit__(*error)


# ----------------------------------------------------------------------------------------------
# Frontend attributes in the text of a program


def attribute_value(value: Any) -> str:
    """The text of a value: `true` for `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def compute_attributes(compute_type: str) -> dict[str, str]:
    """The attributes that say where to compute."""
    if compute_type.startswith("gpu_stream:"):
        stream = compute_type.split(":", 1)[1]
        return {"_xla_stream_annotation": stream, "inlineable": "false"}
    return {"_xla_compute_type": COMPUTE_TYPES[compute_type]}


@functools.lru_cache(4096)
def attributes_of(names: tuple) -> dict[str, str]:
    """The attributes of the operations of an equation, by the names around it."""
    said = dict(noted(names))
    compute_type = said.pop(COMPUTE_TYPE, None)
    where = compute_attributes(compute_type) if compute_type else {}
    return {**said, **where}


# ----------------------------------------------------------------------------------------------
# Marks: the attributes of a line that is not finished, at its end

_MARK = "\0"  # in no text of MLIR


@functools.lru_cache(4096)
def mark_of(names: tuple) -> str:
    """What an equation's lines end with, by the names around it; empty without notes."""
    attributes = attributes_of(names)
    return _mark(attributes) if attributes else ""


def _mark(attributes: Mapping[str, str]) -> str:
    return _MARK + json.dumps(attributes).replace("%", "\\u0025")  # values may be renamed


def annotate(ctx: Body, x: Value, attributes: Mapping[str, str]) -> None:
    """Mark the operation that makes a value, if that is in the lines of the function. The
    attributes that it has already stay."""
    place = None if type(x) is Constant else _line_of(ctx.lines, x.name.split("#")[0])
    if place is not None and attributes:
        text, _, present = ctx.lines[place].rpartition(_MARK)
        if not text or "\n" in present:
            text, present = ctx.lines[place], "{}"
        ctx.lines[place] = text + _mark({**attributes, **json.loads(present)})


def _line_of(lines: Sequence[str], name: str) -> int | None:
    """The line that ends the operation that makes a value, after its regions."""
    heads = f"    {name} = ", f"    {name}:"
    opened = next((i for i in reversed(range(len(lines))) if lines[i].startswith(heads)), None)
    if opened is None or not lines[opened].endswith("({"):
        return opened
    depth = 0
    for i in range(opened, len(lines)):
        if "\n" not in lines[i]:
            depth += lines[i].endswith("({") - lines[i].startswith("    })")
        if not depth:
            return i
    return None


def finished(text: str) -> str:
    """The text of a function, with attributes in the place of marks."""
    if _MARK not in text:
        return text
    lines = text.split("\n")
    for i, marked in enumerate(lines):
        lines[i], mark, attributes = marked.partition(_MARK)
        if mark:
            place = _head(lines, i)
            lines[place] = _annotated_line(lines[place], json.loads(attributes))
    return "\n".join(lines)


def _head(lines: Sequence[str], end: int) -> int:
    """The line with the types of the operation that ends here."""
    if not re.match(r" *}($| loc)", lines[end]):
        return end
    return next(i for i in range(end, -1, -1) if lines[i + 1].startswith("     reducer("))


_QUOTED = r'"(?:[^"\\]|\\.)*"'
_FRONTEND = "mhlo.frontend_attributes = {"
_OTHERWISE = re.compile(r"stablehlo\.constant |^ *} ")  # no attributes before the types
_ATTRIBUTES_FIRST = re.compile(r"stablehlo\.optimization_barrier\b")
_OPENING, _CLOSING = "([{", ")]}"


def _annotated_line(line: str, attributes: Mapping[str, str]) -> str:
    """A line with an operation's types: the attributes stand before them."""
    masked = re.sub(_QUOTED, lambda found: '"' + "_" * (len(found[0]) - 2) + '"', line)
    masked = re.sub(r' loc\("_*"\)$', "", masked)
    end = _last_outside(masked, " : ")
    if (found := _ATTRIBUTES_FIRST.search(masked)) is not None:
        end = found.end()
    if end is None or _OTHERWISE.search(masked):
        return line
    start = _attributes_start(masked[:end])
    if start is None:
        return f"{line[:end]} {{{_FRONTEND}{_items(attributes)}}}}}{line[end:]}"
    place = masked.find(_FRONTEND, start, end)
    if place < 0:
        separator = ", " if line[start + 1:end - 1].strip() else ""
        items = f"{separator}{_FRONTEND}{_items(attributes)}}}"
        return f"{line[:end - 1]}{items}{line[end - 1:]}"
    place += len(_FRONTEND)
    stop = masked.index("}", place)
    present = dict(re.findall(f"({_QUOTED}) = ({_QUOTED})", line[place:stop]))
    return f"{line[:place]}{_items(attributes, present)}{line[stop:]}"


def _items(attributes: Mapping[str, str], present: Mapping[str, str] = {}) -> str:
    items = {quoted(key): quoted(value) for key, value in attributes.items()}
    return ", ".join(f"{key} = {value}" for key, value in {**items, **present}.items())


def quoted(value: str | bytes) -> str:
    """A string in MLIR's language."""
    raw = value.encode() if isinstance(value, str) else value
    return '"' + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}"
                         for c in raw) + '"'


def _last_outside(masked: str, mark: str) -> int | None:
    """Where `mark` stands last outside of all brackets."""
    depth = 0
    for i in range(len(masked) - 1, -1, -1):
        depth += (masked[i] in _CLOSING) - (masked[i] in _OPENING)
        if not depth and masked.startswith(mark, i):
            return i
    return None


def _attributes_start(masked: str) -> int | None:
    """Where the dictionary of attributes at the end of a line begins, if there is one."""
    if not masked.endswith("}"):
        return None
    depth = 0
    for i in range(len(masked) - 1, -1, -1):
        depth += (masked[i] in _CLOSING) - (masked[i] in _OPENING)
        if not depth:
            return None if masked[:i].endswith("= ") else i
    return None
