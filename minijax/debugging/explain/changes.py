"""Answers about types, and about two programs side by side."""

import ast
import difflib
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import dtypes
from .answers import Answer, place_text
from .costs import Cost, amount
from .program import Line


@dataclass(frozen=True, repr=False)
class Types(Answer):
    """Where types changed: the lines that lose precision, that make 64-bit values of others, and
    that make weakly typed values of others."""

    narrowed: list[Line]
    wide: list[Line]
    weak: list[Line]

    def __str__(self) -> str:
        told = [(self.narrowed, "precision is lost"), (self.wide, "a 64-bit type comes in"),
                (self.weak, "a weak type comes in")]
        rows = [f"{what}: `{line.text}`, from `{line.expression}` at {place_text(line)}"
                for lines, what in told for line in lines]
        return "\n".join(rows) or "No precision is lost; no 64-bit and no weak types come in."


def types_of(lines: Sequence[Line]) -> Types:
    plain = [line for line in lines if not line.inner]
    return Types([line for line in plain if _narrows(line)],
                 [line for line in plain if _brings_in(line, _is_wide)],
                 [line for line in plain if _brings_in(line, lambda aval: aval.weak_type)])


def _is_wide(aval: Any) -> bool:
    dtype = aval.dtype
    bits = 128 if dtype.kind == "c" else 64
    return dtypes.issubdtype(dtype, np.number) and dtype.itemsize * 8 >= bits


def _brings_in(line: Line, has: Any) -> bool:
    avals = [[v.aval for v in atoms if isinstance(getattr(v.aval, "dtype", None), np.dtype)]
             for atoms in (line.eqn.invars, line.eqn.outvars)]
    return any(map(has, avals[1])) and not any(map(has, avals[0]))


def _narrows(line: Line) -> bool:
    """Whether a conversion can lose digits: to fewer bits, or from a float to an integer."""
    if line.eqn.primitive.name not in ("convert_element_type", "reduce_precision"):
        return False
    old, new = line.eqn.invars[0].aval.dtype, line.eqn.outvars[0].aval.dtype
    if line.eqn.primitive.name == "reduce_precision" or old == np.bool_:
        return old != np.bool_
    is_float = [dtypes.issubdtype(dtype, np.inexact) for dtype in (old, new)]
    return new.itemsize < old.itemsize or is_float == [True, False]


# ----------------------------------------------------------------------------------------------
# Two programs


@dataclass(frozen=True, repr=False)
class Changes(Answer):
    """How a program differs from another one. Lines belong together that apply the same primitive
    for the same operation of the user's, in the same part and order.

    Attributes:
      changed: pairs (line, line of the other) of other types or costs.
      gone: lines that the other program has not.
      new: lines that only the other program has.
      costs: the total cost of each program.
      peaks: the bytes alive at the peak of each.
    """

    changed: list[tuple[Line, Line]]
    gone: list[Line]
    new: list[Line]
    costs: tuple[Cost, Cost]
    peaks: tuple[int, int]

    def __str__(self) -> str:
        old, new = self.costs
        rows = [f"operations {_from_to(sum(old[:2]), sum(new[:2]), '')}, moved "
                f"{_from_to(old.bytes, new.bytes, 'B')}, alive at most "
                f"{_from_to(*self.peaks, 'B')}"]
        marked = [(other.number, [f"~ {line.text}", f"  {other.text}"], other)
                  for line, other in self.changed]
        marked += [(line.number, [f"- {line.text}"], line) for line in self.gone]
        marked += [(line.number, [f"+ {line.text}"], line) for line in self.new]
        for _, texts, line in sorted(marked, key=lambda row: row[0]):
            rows += [*texts[:-1], f"{texts[-1]}    # {line.phase}: {line.expression}"]
        return "\n".join(rows)


def _from_to(old: int, new: int, unit: str) -> str:
    a, b = (f"{amount(n)}{unit}".strip() for n in (old, new))
    return a if a == b else f"{a} → {b}"


def changes(lines: Sequence[Line], others: Sequence[Line], costs: tuple[Cost, Cost],
            peaks: tuple[int, int]) -> Changes:
    found = Changes([], [], [], costs, peaks)
    matcher = difflib.SequenceMatcher(a=[*map(_key, lines)], b=[*map(_key, others)], autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            pairs = zip(lines[a:b], others[c:d], strict=True)
            found.changed.extend((x, y) for x, y in pairs if _facts(x) != _facts(y))
        else:
            found.gone.extend(lines[a:b])
            found.new.extend(others[c:d])
    return found


def _key(line: Line) -> tuple[str, str, str]:
    """What a line must share with its partner in the other program."""
    return line.eqn.primitive.name, line.phase, _operation(line.expression)


@functools.lru_cache(4096)
def _operation(expression: str) -> str:
    """What an expression does, without its operands, which may have been edited: the function that
    it calls, or the kind of operator."""
    try:
        node = ast.parse(expression, mode="eval").body
    except SyntaxError:  # not a whole expression
        return expression
    if isinstance(node, ast.Call):
        return ast.unparse(node.func)
    return type(getattr(node, "op", node)).__name__


def _facts(line: Line) -> tuple:
    return [str(v.aval) for v in line.eqn.outvars], line.cost
