"""Chapter 6: frontend attributes in the text of a program, in the places of marks (`notes.py`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ..core.lowering import Body, Constant, Value
from .notes import MARK, mark


def annotate(ctx: Body, x: Value, attributes: Mapping[str, str]) -> None:
    """Mark the operation that makes a value, if that is in the lines of the function. The
    attributes that it has already stay."""
    place = None if type(x) is Constant else _line_of(ctx.lines, x.name.split("#")[0])
    if place is not None and attributes:
        text, _, present = ctx.lines[place].rpartition(MARK)
        if not text or "\n" in present:
            text, present = ctx.lines[place], "{}"
        ctx.lines[place] = text + mark({**attributes, **json.loads(present)})


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
    lines = text.split("\n")
    for i, marked in enumerate(lines):
        lines[i], mark, attributes = marked.partition(MARK)
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
