"""Chapter 6: notes for the compiler, which become frontend attributes of operations.

A context of notes adds a `Note` to the names of the scopes around (`source.source`), so that
equations keep it through all transformations. Lowering marks the lines of the operations that make
an equation's results, and `frontend_attributes.py` writes attributes in the places of the marks.
Traces depend on the context: its notes are one of the `traced_settings`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from typing import Any

from .. import settings
from ..source import Note, source

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
# Marks: the attributes of a line that is not finished, at its end

MARK = "\0"  # in no text of MLIR


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


@functools.lru_cache(4096)
def mark_of(names: tuple) -> str:
    """What an equation's lines end with, by the names around it; empty without notes."""
    attributes = attributes_of(names)
    return mark(attributes) if attributes else ""


def mark(attributes: Mapping[str, str]) -> str:
    """These attributes at the end of a line."""
    import json  # wanted by few

    return MARK + json.dumps(attributes).replace("%", "\\u0025")  # values may be renamed
