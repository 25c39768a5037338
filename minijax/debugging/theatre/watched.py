"""Which functions the recorder watches: they are known by their code objects."""

import functools
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from ...core import (
    array,
    batching,
    evaluation,
    forward,
    lowering,
    primitives,
    staging,
    transposition,
)
from ...core.core import Trace
from ...core.partial_eval import partial_eval_rules

_OPERATIONS = {array.__name__, evaluation.__name__, primitives.__name__}  # no rules are made here


def watched_codes() -> dict[CodeType, tuple[str, str]]:
    """For each code object the name of its watcher, and for a rule the kind of rule."""
    watched: dict[CodeType, tuple[str, str]] = {}
    for kind, table in rule_tables().items():
        for rule in table.values():
            watched.update((code, ("rule", kind)) for code in _codes(rule))
    for trace_type in _subclasses(Trace):
        if "process_primitive" in vars(trace_type):
            watched[trace_type.process_primitive.__code__] = "process", ""
        if "__init__" in vars(trace_type) and trace_type is not Trace:
            watched[trace_type.__init__.__code__] = "begin", ""  # type: ignore[misc]
    watched[Trace.invalidate.__code__] = "end", ""
    watched[staging.JaxprBuilder.add_eqn.__code__] = "equation", ""
    watched[transposition._transpose_eqn.__code__] = "transpose", ""
    watched[lowering.lower_jaxpr.__code__] = "compile", ""
    return watched


def rule_tables() -> dict[str, dict]:
    """The tables of rules, by the name that a step gives to their rules."""
    return {"jvp": forward.primitive_jvps, "batching": batching.primitive_batchers,
            "transpose": transposition.primitive_transposes,
            "partial evaluation": partial_eval_rules}


def _subclasses(cls: Any) -> Iterator[Any]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _codes(rule: Any) -> list[CodeType]:
    """The code that an author of rules wrote: not of `defjvp`'s wrapper, but of what it wraps."""
    if type(rule) in (tuple, list):
        return [code for part in rule for code in _codes(part)]
    if isinstance(rule, functools.partial):
        return _codes(rule.args) or _codes(rule.func)
    if not isinstance(rule, FunctionType) or rule.__module__ in _OPERATIONS:
        return []  # an operation, not a rule
    wrapped = [cell.cell_contents for cell in rule.__closure__ or ()]
    return _codes([*wrapped, *(rule.__kwdefaults__ or {}).values()]) or [rule.__code__]
