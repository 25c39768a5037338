"""Chapter 5: what jaxprs refuse, and notes on equations that fail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..text import printing

if TYPE_CHECKING:
    from ..core.jaxpr import Jaxpr, JaxprEqn

# ----------------------------------------------------------------------------------------------
# Arguments.


def eqn_context(given: Any, ours: Any) -> None:
    """Raise `TypeError` for a context of evaluation that is not our (empty) one."""
    if given is not None and given is not ours:
        raise TypeError(f"`ctx` must be `None` or the `ctx` of an equation, got {given!r}. minijax "
                        "evaluates equations under the settings of the moment.")


def replacements(changes: dict[str, Any], record: Any) -> None:
    """Raise `ValueError` for names that are not attributes of a jaxpr, and `TypeError` for the
    context of another equation."""
    if "eqns" in record.__slots__ and (unknown := changes.keys() - {*record.__slots__}):
        wrong = {name: value for name, value in changes.items() if name in unknown}
        raise ValueError(f"Unknown keyword arguments: {wrong}; a jaxpr has {record.__slots__}")
    if hasattr(record, "ctx"):
        eqn_context(changes.get("ctx"), record.ctx)


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


# ----------------------------------------------------------------------------------------------
# Effects.


def check_allowed(effects: frozenset, allowed: Any, where: str) -> None:
    """Raise `NotImplementedError` if an effect is not allowed at this place."""
    if effects and (disallowed := allowed.filter_not_in(effects)):
        raise NotImplementedError(f"Effects not supported in {where}: {disallowed}")


def can_happen_for_all(chosen: Iterable[Any], where: str) -> None:
    """Raise `NotImplementedError` if there are effects that may only happen for the examples which
    choose them."""
    if chosen:
        raise NotImplementedError(
            f"IO effect not supported in vmap-of-{where}. {', '.join(sorted(map(str, chosen)))} "
            "would happen for all examples, also for those whose predicate says no. Call the "
            "function for each example, with `jax.lax.map`.")


def number_of_values(jaxpr, consts: Sequence, args: Sequence) -> None:
    """Raise `ValueError` unless there is one value for each constvar and each invar."""
    for kind, variables, values in (("constvars", jaxpr.constvars, consts),
                                    ("invars", jaxpr.invars, args)):
        if len(variables) != len(values):
            raise ValueError(f"The {kind} of the jaxpr and the values given for them have "
                             f"different lengths: {len(variables)} and {len(values)}")
