"""Answers to questions about a program. Each prints itself, with places as `file.py:LINE`."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from .costs import Cost, amount, size_in_bytes
from .program import Line, Program
from .values import Seen, exhaust, summary


def place_text(line: Line) -> str:
    """`file.py:12`, or what is known."""
    return f"{line.file}:{line.line}" if line.file else "an unknown place"


class Answer:
    """An answer shows itself as the text that it prints."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Bad(Answer):
    """Where the first NaN (or infinity) came from that is in a result, or else the first of all.

    Attributes:
      kind: "nan" or "inf".
      line: the equation that made it of operands that have none, or `None` if `argument` has it.
      index: where it is in the result of the equation, or in the argument.
      operands: the operands' elements at this index; `None` for operands of another shape.
      argument: the number of the argument, among its leaves, or `None`.
      reaches: whether it is in a result of the program.
      cause: where the infinity came from of which a NaN was made, if there was one.
    """

    kind: str
    line: Line | None
    index: tuple[int, ...]
    operands: list
    argument: int | None = None
    reaches: bool = True
    cause: Bad | None = None

    def __str__(self) -> str:
        name = "NaN" if self.kind == "nan" else "infinity"
        where = f" at index {list(self.index)}" if self.index else ""
        if self.line is None:
            return f"Argument {self.argument} has the first {name}{where}."
        text = (f"The first {name} is made{where} by {self._made()}\nIt comes from "
                f"`{self.line.expression}` at {place_text(self.line)}.")
        return "\n".join([text, *self._hints()])

    def _made(self) -> str:
        line = self.line
        assert line is not None
        operands = ", ".join("…" if x is None else f"{x:.6g}" for x in self.operands)
        how = f", by {line.rule}" if line.rule else ""
        return f"`{line.eqn.primitive}({operands})`, in the {line.phase} part{how}."

    def _hints(self) -> Iterator[str]:
        """Where an infinity came from, and what usually helps."""
        cause = self.cause
        if cause is not None and cause.line is not self.line and cause.line is not None:
            yield (f"The infinity is made by {cause._made()} It comes from "
                   f"`{cause.line.expression}` at {place_text(cause.line)}.")
        if not self.reaches:
            yield ("But no result of the program has one: none depends on it, or what was "
                   "made of it was not chosen.")
        elif self.line is not None and self.line.phase == "backward":
            yield "The derivative is infinite there, or 0/0, and 0·∞ is NaN."
            yield ("If a `where` chooses another branch, give the function a safe argument: "
                   "`where(ok, f(where(ok, x, 1.0)), …)`.")


def first_bad(kind: str, args: Sequence, executions: Generator[Seen, None, list]) -> Bad | None:
    """The answer to `Explanation.first`. Bad values are followed from where they were made."""
    of_kind = {"nan": _Origins("nan"), "inf": _Origins("inf")}
    for origins in of_kind.values():
        origins.start(args)

    def follow(seen):
        of_kind["inf"].follow(seen)
        of_kind["nan"].follow(seen, of_kind["inf"])

    results = exhaust(executions, follow)
    found = of_kind[kind].made
    reaching = [found[id(x)] for x in results if id(x) in found]
    if reaching:
        return min(reaching, key=itemgetter(0))[1]
    first = min(found.values(), key=itemgetter(0), default=None)
    return first and replace(first[1], reaches=False)


class _Origins:
    """Where the bad values of one kind came from: by `id`, the number of the execution, and it."""

    def __init__(self, kind: str):
        self.kind = kind
        self.made: dict[int, tuple[int, Bad]] = {}
        self.alive: list[Any] = []  # so that no id comes twice
        self.number = 0

    def start(self, args: Sequence) -> None:
        self.alive += args
        for number, x in enumerate(args):
            if _has(self.kind, x):
                bad = Bad(self.kind, None, _index(self.kind, x), [], number)
                self.made[id(x)] = number - len(args), bad

    def of(self, values: Sequence) -> tuple[int, Bad] | None:
        """The earliest origin of these values."""
        return min((self.made[id(x)] for x in values if id(x) in self.made),
                   key=itemgetter(0), default=None)

    def follow(self, seen: Seen, infinities: _Origins | None = None) -> None:
        """An execution makes its bad results of operands that are bad, or itself."""
        self.number += 1
        before = self.of(seen.operands)
        for result in seen.results:
            if id(result) not in self.made and _has(self.kind, result):
                self.alive.append(result)
                self.made[id(result)] = before or (
                    self.number, self.new(seen, result, infinities))

    def new(self, seen: Seen, result: Any, infinities: _Origins | None) -> Bad:
        index = _index(self.kind, result)
        elements = [_element(x, result, index) for x in seen.operands]
        _, cause = (infinities and infinities.of(seen.operands)) or (0, None)
        return Bad(self.kind, seen.line, index, elements, cause=cause)


def _has(kind: str, x: Any) -> bool:
    found = summary(x)
    return bool(found.nans if kind == "nan" else found.infs)


def _index(kind: str, x: Any) -> tuple[int, ...]:
    """Where the first bad element is."""
    a = np.asarray(x)
    a = a if a.dtype.kind in "fc" else a.astype(np.float32)
    is_bad = np.isnan if kind == "nan" else np.isinf
    return tuple(map(int, np.argwhere(is_bad(a))[0]))


def _element(x: Any, result: Any, index: tuple[int, ...]) -> Any:
    a = np.asarray(x)
    if a.ndim == 0:
        return a.item()
    return a[index].item() if a.shape == result.shape else None


# ----------------------------------------------------------------------------------------------
# Memory


class Held(NamedTuple):
    """A value that is alive at the peak: its size, the line that made it (`None` for an argument or
    a constant), and the last line that reads it (`None` for a result)."""

    bytes: int
    made_by: Line | None
    wanted_by: Line | None
    type: str


@dataclass(frozen=True, repr=False)
class Memory(Answer):
    """What is alive where the program needs most memory: `peak` bytes, while `line` is executed."""

    peak: int
    line: Line | None
    held: list[Held]

    def __str__(self) -> str:
        at = f" at {place_text(self.line)}, `{self.line.expression}`" if self.line else ""
        rows = [f"At most {amount(self.peak)}B are alive,{at}:"]
        for held in self.held:
            made = "an argument or a constant" if held.made_by is None else (
                f"`{held.made_by.expression}` at {place_text(held.made_by)}, {held.made_by.phase}")
            wanted = "" if held.wanted_by is None else (
                f"; last read by the {held.wanted_by.phase} part of "
                f"`{held.wanted_by.expression}`" + (
                    f" ({held.wanted_by.rule})" if held.wanted_by.rule else ""))
            rows.append(f"  {amount(held.bytes)}B  {held.type}  {made}{wanted}")
        return "\n".join(rows)


def memory_at_peak(program: Program) -> Memory:
    """The values that are alive at the peak of a program, the largest first."""
    jaxpr, lines, last = program.jaxpr, program.live_lines, program.lifetimes
    if not lines:
        return Memory(program.peak, None, [])
    before = [_bytes(jaxpr.constvars + jaxpr.invars), *(line.live for line in lines)]
    at = max(range(len(lines)), key=lambda i: before[i] + lines[i].transient)
    maker = {v: line for line in lines for v in line.eqn.outvars}
    made = [v for line in lines[:at] if not line.fused for v in line.eqn.outvars]
    alive = [*jaxpr.constvars, *jaxpr.invars, *(v for v in made if last.get(v, -1) >= at),
             *([] if lines[at].in_place else lines[at].eqn.outvars)]
    held = [Held(size_in_bytes(v.aval), maker.get(v), _at(lines, last.get(v, len(lines))),
                 v.aval.str_short(short_dtypes=True)) for v in alive]
    return Memory(program.peak, lines[at], sorted(held, key=lambda h: -h.bytes))


def _at(lines: list[Line], i: int) -> Line | None:
    return lines[i] if i < len(lines) else None


def _bytes(atoms: Sequence) -> int:
    return sum(size_in_bytes(v.aval) for v in atoms)


# ----------------------------------------------------------------------------------------------
# Costs


@dataclass(frozen=True, repr=False)
class Costs(Answer):
    """Costs by the user's expression (its file, line and text) and by phase."""

    total: Cost
    by_line: dict[tuple[str, int | None], Cost]
    by_phase: dict[str, Cost]

    @staticmethod
    def of(program: Program) -> Costs:
        by_line: dict[tuple[str, int | None], Cost] = {}
        by_phase: dict[str, Cost] = {}
        for line, times in _executions(program, 1):
            cost = line.cost * times
            by_line[line.file, line.line] = by_line.get((line.file, line.line), Cost()) + cost
            by_phase[line.phase] = by_phase.get(line.phase, Cost()) + cost
        return Costs(program.cost, by_line, by_phase)

    def __str__(self) -> str:
        def row(name, cost):
            return (f"  {name:<32} {amount(cost.flops):>8} operations  "
                    f"{amount(cost.transcendentals):>8} transcendental  {amount(cost.bytes):>8}B")

        dearest = sorted(self.by_line.items(), key=lambda item: -sum(item[1][:2]))
        return "\n".join([row("in all", self.total), "by part:",
                          *(row(phase, cost) for phase, cost in self.by_phase.items()), "by line:",
                          *(row(f"{file}:{line}", cost) for (file, line), cost in dearest)])


def _executions(program: Program, times: int) -> Iterator[tuple[Line, int]]:
    """The live lines that call no program, with how often each is executed."""
    for line in program.lines:
        if line.dead:
            continue
        if not line.inner:
            yield line, times
        for inner in line.inner:
            yield from _executions(inner, times * line.eqn.params.get("length", 1))
