"""Chapter 15: how equations on references print.

    b:f32[] <- a[0]        a[0] <- c        d:f32[], a[0] <- a[0], c        a[0] += c

The counterparts in JAX are the printing rules of `jax/_src/state/primitives.py`.
"""

import builtins
from collections.abc import Iterator, Sequence

from ..lax.dynamic_slices import Slice
from ..text.documents import AnyDoc, Concat, Text
from ..text.printing import pp_eqn_rules
from .indexing import Indices, selections


def _slice_text(entry: builtins.slice, size: int) -> str:
    """`:`, `1:`, `:2`, `::2`"""
    start = str(entry.start) if entry.start else ""
    stop = str(entry.stop) if entry.stop != size else ""
    return f"{start}:{stop}" + f":{entry.step}" * (entry.step != 1)


def _entry_text(entry, size: int, names: Iterator[str]) -> str:
    """`1:`, or with the name of an operand: `b`, `b:b+2`."""
    if isinstance(entry, builtins.slice):
        return _slice_text(entry, size)
    name = next(names)
    if not isinstance(entry, Slice):
        return name
    return f"{name}:{name}+{entry.size}" + f":{entry.stride}" * (entry.stride != 1)


def _selected(printer, ref, operands: Sequence, tree: Indices) -> AnyDoc:
    """`a[0,:]`"""
    steps = selections(tree, [x.aval for x in operands], ref.aval.shape)
    names = (str(x.pretty_print(printer, print_dtype=False)) for x in operands)
    text = "" if tree else "[...]"
    for index, step in zip(tree, steps):
        text += f"[{','.join(_entry_text(e, n, names) for e, n in zip(index, step.shape))}]"
    return Concat([printer.atom(ref), text])


def _arrow(printer, eqn) -> AnyDoc:
    return Text(" <- ", note=printer.options.note(eqn))


def _print_get(printer, eqn) -> AnyDoc:
    ref, *operands = eqn.invars
    out = printer.vars(eqn.outvars, binders=True)
    return Concat([out, _arrow(printer, eqn), _selected(printer, ref, operands, **eqn.own_params)])


def _print_swap(printer, eqn) -> AnyDoc:
    ref, value, *operands = eqn.invars
    part = _selected(printer, ref, operands, **eqn.own_params)
    if printer.var_names.get(eqn.outvars[0]) == "_":
        return Concat([part, _arrow(printer, eqn), printer.atom(value)])
    out = printer.vars(eqn.outvars, binders=True)
    return Concat([out, ", ", part, _arrow(printer, eqn), part, ", ", printer.atom(value)])


def _print_addupdate(printer, eqn) -> AnyDoc:
    ref, value, *operands = eqn.invars
    part = _selected(printer, ref, operands, **eqn.own_params)
    return Concat([part, Text(" += ", note=printer.options.note(eqn)), printer.atom(value)])


pp_eqn_rules.update({"get": _print_get, "swap": _print_swap, "addupdate": _print_addupdate})
