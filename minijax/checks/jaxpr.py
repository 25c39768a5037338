"""What `core/jaxpr.py` refuses, and the notes on equations that fail.

The type checker of jaxprs is in `checks/staging.py`, because it needs the classes of `jaxpr.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import printing

if TYPE_CHECKING:
    from ..core.jaxpr import Jaxpr, JaxprEqn

# ----------------------------------------------------------------------------------------------
# Arguments.


def eqn_context(given: Any, ours: Any) -> None:
    """Raise `TypeError` for a context of evaluation that is not our (empty) one."""
    if given is not None and given is not ours:
        raise TypeError(f"`ctx` must be `None` or the `ctx` of an equation, got {given!r}. minijax "
                        "evaluates equations under the settings of the moment.")


def jaxpr_fields(changes: dict[str, Any], fields: Sequence[str]) -> None:
    """Raise `ValueError` for names that are not attributes of a jaxpr."""
    if unknown := {name: value for name, value in changes.items() if name not in fields}:
        raise ValueError(f"Unknown keyword arguments: {unknown}; a jaxpr has {tuple(fields)}")


def closed_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
    """Raise `ValueError` unless there is a constant for each constvar."""
    if len(consts) != len(jaxpr.constvars):
        raise ValueError(f"a jaxpr with {len(jaxpr.constvars)} constvars cannot be closed by "
                         f"{len(consts)} constants")


# ----------------------------------------------------------------------------------------------
# Notes.

_NOTE = "This happened in the jaxpr equation "


def note_equation(error: Exception, eqn: JaxprEqn) -> None:
    """Add a note that says which equation failed, unless an inner equation is noted already."""
    if not any(note.startswith(_NOTE) for note in getattr(error, "__notes__", ())):
        text, *more = str(eqn).split("\n")
        error.add_note(f"{_NOTE}`{text}{' …' if more else ''}` from {printing.source_of(eqn)}")
