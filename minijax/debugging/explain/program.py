"""A program with what is known of each of its equations: where from, by which rules, at what cost.
"""

from __future__ import annotations

import linecache
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ...core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, live_equations
from ...source import is_library_file
from ...text.locations import short_path
from ...text.printing import Printer, PrintOptions, layout, named_printer_for, run
from .costs import Cost, can_be_in_place, cost_of, size_in_bytes
from .provenance import Origin, Place, Provenance
from .values import Summary


class Line:
    """One equation of the program.

    `number` is its place in the order of execution, `call` the line that it is inside of, if any,
    and `inner` are the programs that it calls. `phase` is "forward", "tangent" or "backward",
    `batched` says whether `vmap` changed it, and `dead` that no result depends on it. XLA keeps no
    result of a line that is `fused`; that of one that is `in_place` takes the memory of an operand.

    `cost` is that of all that it does, `live` the bytes of the values that are alive after it, and
    `transient` those that it needs besides what is alive before it. `values` summarise its results,
    once they are known.
    """

    def __init__(self, eqn: JaxprEqn, origin: Origin, call: Line | None, text: str):
        self.eqn, self.origin, self.call, self.text = eqn, origin, call, text
        self.number = 0
        self.inner: list[Program] = []
        self.cost = Cost()
        self.live = self.transient = 0
        self.dead = self.fused = self.in_place = False
        self.values: list[Summary] = []

    phase = "forward"

    @property
    def batched(self) -> bool:
        return any(rule.kind == "batching" for rule in self.origin.rules)

    @property
    def depth(self) -> int:
        return 0 if self.call is None else self.call.depth + 1

    @property
    def expression(self) -> str:
        """The user's expression that the equation belongs to, on one line; "" if it is unknown."""
        return expression_at(self.origin.place)

    @property
    def line(self) -> int | None:
        """The number of the user's line."""
        place = self.origin.place
        return place and place.positions[0]

    @property
    def file(self) -> str:
        """The user's file, relative to the working directory if it is inside."""
        place = self.origin.place
        return short_path(place.code.co_filename) if place else ""

    @property
    def library(self) -> str:
        """Where a library that the user's expression called applied the operation; "" if none."""
        place = self.origin.library
        return f"{short_path(place.code.co_filename)}:{place.positions[0]}" if place else ""

    @property
    def rule(self) -> str:
        """The rules that made the equation, the last one first."""
        return ", of ".join(f"{rule.kind} of {rule.primitive}"
                            for rule in reversed(self.origin.rules))


class Program:
    """A jaxpr as lines, with the bytes that are alive at its peak.

    `lifetimes` says of each value that is kept the last of the `live_lines` that needs it.
    """

    def __init__(self, jaxpr: Jaxpr, lines: list[Line]):
        self.jaxpr, self.lines = jaxpr, lines
        live = {*map(id, live_equations(jaxpr, {*jaxpr.outvars}))}
        for line in lines:
            line.dead = id(line.eqn) not in live
        self.live_lines = [line for line in lines if not line.dead]
        self.lifetimes = _lifetimes(jaxpr, self.live_lines)
        self.peak = _note_memory(self)

    @property
    def cost(self) -> Cost:
        """The cost of what the results depend on: the rest is left out of a compiled program."""
        return sum((line.cost for line in self.lines if not line.dead), Cost())

    def all_lines(self) -> Iterator[Line]:
        """The lines, and after each one those of the programs that it calls."""
        for line in self.lines:
            yield line
            for program in line.inner:
                yield from program.all_lines()


def expression_at(place: Place | None) -> str:
    """The text of an expression in the user's code, on one line."""
    if place is None:
        return ""
    first, last, start, end = place.positions
    lines = [linecache.getline(place.code.co_filename, n) for n in range(first, last + 1)]
    if not all(lines):
        return ""
    lines[-1] = lines[-1].encode()[:end].decode()  # columns count bytes of UTF-8
    lines[0] = lines[0].encode()[start:].decode()
    return " ".join(" ".join(lines).split())


def program_of(closed: ClosedJaxpr, provenance: Provenance) -> Program:
    """The program of a jaxpr that was traced while `provenance` was recorded."""
    printer = named_printer_for(closed.jaxpr, PrintOptions())
    program = _lines_of(closed.jaxpr, provenance, printer, None)
    for number, line in enumerate(program.all_lines()):
        line.number = number
    _note_phases(program)
    return program


def _lines_of(jaxpr: Jaxpr, provenance: Provenance, printer: Printer, call: Line | None) -> Program:
    inherited = call.origin if call and _is_of_library(jaxpr) else None
    lines = []
    for eqn in jaxpr.eqns:
        origin = provenance[eqn]
        if inherited is not None:  # traced once for all calls: the user's line is that of this one
            origin = origin._replace(place=inherited.place, family=inherited.family)
        line = Line(eqn, origin, call, _text_of(eqn, printer))
        line.inner = [_lines_of(inner, provenance, printer, line) for inner in eqn._jaxprs()]
        line.cost = _cost_of(line)
        lines.append(line)
    return Program(jaxpr, lines)


def _is_of_library(jaxpr: Jaxpr) -> bool:
    filename = jaxpr.debug_info and jaxpr.debug_info.func_filename
    return bool(filename) and is_library_file(filename)


def _text_of(eqn: JaxprEqn, printer: Printer) -> str:
    """The equation as jaxprs print it, without the jaxprs among its parameters."""
    if not any(eqn._jaxprs()):
        return " ".join(layout(run(printer.eqn(eqn)), width=10**6).split())
    name = f"[{eqn.params['name']}]" if "name" in eqn.params else ""
    results = layout(printer.vars(eqn.outvars, binders=True), width=10**6)
    operands = layout(printer.vars(eqn.invars), width=10**6)
    return f"{results} = {eqn.primitive}{name} {operands}".strip()


def _cost_of(line: Line) -> Cost:
    """The cost of an equation: of all iterations of a loop whose length is known, of one iteration
    of another loop, and of the most expensive branch."""
    if not line.inner:
        return cost_of(line.eqn)
    costs = [program.cost for program in line.inner]
    if line.eqn.primitive.name == "cond":
        return max(costs)
    return sum(costs, Cost()) * line.eqn.params.get("length", 1)


# ----------------------------------------------------------------------------------------------
# Phases


def _note_phases(program: Program) -> None:
    """A rule for derivatives first applies the primitive itself; what else it makes is for the
    tangent, now or (if it is transposed) backwards. `add_any` only ever adds tangents."""
    applied: set[tuple] = set()  # the primitives that were applied to primals
    for line in program.all_lines():
        rules, name = line.origin.rules, str(line.eqn.primitive)
        if any(rule.kind == "transpose" for rule in rules):
            line.phase = "backward"
            continue
        jvps = [i for i, rule in enumerate(rules) if rule.kind == "jvp"]
        key = line.call, line.origin.family, rules[:jvps[-1]] if jvps else rules, name
        differs = bool(jvps) and (name != rules[jvps[-1]].primitive or key in applied)
        line.phase = "tangent" if differs or name == "add_any" else "forward"
        applied.add(key)


# ----------------------------------------------------------------------------------------------
# Memory


def _note_memory(program: Program) -> int:
    """Set `live` of the lines; returns the peak. Arguments stay alive, as the caller has them."""
    jaxpr, last = program.jaxpr, program.lifetimes
    held = {*jaxpr.constvars, *jaxpr.invars}
    alive = peak = sum(size_in_bytes(v.aval) for v in held)
    ending: defaultdict[int, list[Var]] = defaultdict(list)
    for v, end in last.items():
        ending[end].append(v)
    for i, line in enumerate(program.live_lines):
        inside = max((inner.peak - _bytes_of_arguments(inner) for inner in line.inner), default=0)
        for inner in line.inner:  # what is alive around the call is alive in it, too
            for inner_line in inner.all_lines():
                inner_line.live += alive - _bytes_of_arguments(inner)
        dying = [v for v in ending[i] if v not in held]
        made = 0 if line.fused else sum(size_in_bytes(v.aval) for v in line.eqn.outvars)
        line.in_place = can_be_in_place(line.eqn) and any(
            size_in_bytes(v.aval) == made for v in dying)
        line.transient = 0 if line.in_place else max(made, inside)
        peak = max(peak, alive + line.transient)
        alive += sum(size_in_bytes(v.aval) for v in line.eqn.outvars if v in last and last[v] > i)
        alive -= sum(size_in_bytes(v.aval) for v in dying if v not in line.eqn.outvars)
        line.live = alive
    return peak


def _lifetimes(jaxpr: Jaxpr, lines: list[Line]) -> dict[Var, int]:
    """For each value that is kept, the position of the last line that needs it.

    XLA does not keep the result of an elementwise operation that only others of these read: it is
    computed again, or at once, where they are. So they need its operands. (A function like `exp` is
    not computed twice.)
    """
    last: dict[Var, int] = {v: len(lines) for v in _variables(jaxpr.outvars)}
    readers: defaultdict[Var, list[Line]] = defaultdict(list)
    for i, line in reversed([*enumerate(lines)]):
        needed = i
        if can_be_in_place(line.eqn):
            (out,) = line.eqn.outvars
            others = readers[out]
            line.fused = last.get(out, 0) < len(lines) and all(
                can_be_in_place(other.eqn) for other in others) and (
                len(others) == 1 or not line.cost.transcendentals)
            needed = last.pop(out, i) if line.fused else i
        for v in _variables(line.eqn.invars):
            last[v] = max(last.get(v, 0), needed)
            readers[v].append(line)
    return last


def _bytes_of_arguments(program: Program) -> int:
    return sum(size_in_bytes(v.aval) for v in (*program.jaxpr.constvars, *program.jaxpr.invars))


def _variables(atoms: Any) -> list:
    return [v for v in atoms if type(v) is not Literal]
