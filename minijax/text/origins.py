"""Where a tracer comes from, for messages: a line, a function, and the arguments it depends on."""

from collections.abc import Sequence
from typing import Any

from . import printing
from .locations import format_location


def of_batched(tracer: Any) -> str:
    """Where a tracer of `vmap` was made."""
    return (f"This BatchTracer with object id {id(tracer)} was created on line:\n"
            f"  {format_location(tracer._birthplace)}")


def of_staged(tracer: Any) -> str:
    """Where a traced value was made, and on which arguments of which function it depends."""
    info = tracer._trace.debug_info
    if info is None or not tracer._trace.valid:
        return _birthplace(tracer)
    names, constant_eqns = _dependencies(tracer, info.arg_names)
    text = f"The error occurred while tracing the function {info.func_src_info} for " \
           f"{info.traced_for}."
    if names:
        text += (" This concrete value was not available in Python because it depends on the value"
                 f"{'s' * (len(names) > 1)} of the argument{'s' * (len(names) > 1)} "
                 f"{listed(names)}.")
    elif constant_eqns:
        text += _operations(constant_eqns)
    if tracer.location is not None:
        text += f"\nIt was created on line {format_location(tracer.location)}."
    return text


def _birthplace(tracer: Any) -> str:
    """Where a traced value was made, or which argument of which function it is."""
    if tracer.location is not None:
        return f"It was created on line {format_location(tracer.location)}."
    name, info = argument_name(tracer), tracer._trace.debug_info
    if name is None or info is None:
        return ""
    return f"It is the argument {name} of {info.func_src_info}, traced for {info.traced_for}."


def argument_name(tracer: Any) -> str | None:
    """The name of the argument that a traced value is, if it is one."""
    info, invars = tracer._trace.debug_info, tracer._trace.builder.invars
    if info is None or tracer.atom not in invars or len(info.arg_names) != len(invars):
        return None
    return info.arg_names[invars.index(tracer.atom)]


def _dependencies(tracer: Any, names: Sequence[str]) -> tuple[list[str], list[Any]]:
    """Which arguments a traced value depends on, by `names`, the names of all of them; and which
    equations of constants."""
    builder, needed = tracer._trace.builder, {tracer.atom}
    eqns = []
    for eqn in reversed(builder.eqns):
        if not needed.isdisjoint(eqn.outvars):
            needed.update(v for v in eqn.invars if not hasattr(v, "val"))
            eqns.append(eqn)
    known = len(names) == len(builder.invars)
    produced = {v for eqn in eqns for v in eqn.outvars}
    return ([names[i] for i, v in enumerate(builder.invars) if known and v in needed],
            [eqn for eqn in reversed(eqns) if produced.isdisjoint(eqn.invars)])


def listed(names: Sequence[str]) -> str:
    """ "x", "x and y", "x, y, and z"."""
    *rest, last = names
    comma = "," * (len(rest) > 1)
    return f"{', '.join(rest)}{comma} and {last}" if rest else last


_SHOWN = 5  # operations


def _operations(eqns: Sequence[Any]) -> str:
    """What to say of a value that depends on no argument."""
    printer = printing.Printer(printing.PrintOptions())
    lines = [f"  operation {printing.layout(printing.run(printer.eqn(eqn)))}\n"
             f"    from line {printing.source_of(eqn)}" for eqn in eqns[:_SHOWN]]
    more = "\n\n(Additional originating lines are not shown.)" * (len(eqns) > _SHOWN)
    return (" This value became a tracer due to JAX operations on these lines:\n\n"
            + "\n\n".join(lines) + more)
