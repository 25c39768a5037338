"""`jax.debug.explain`: what became of a function, and answers to questions about it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ...checks.arguments import check_callable
from ...core.array import Array
from ...core.boundary import api_boundary
from ...core.jaxpr import ClosedJaxpr
from ...core.traced import Options, TracedFunction
from ...source import fun_name
from .answers import Bad, Costs, Memory, first_bad, memory_at_peak
from .changes import Changes, Types, changes, types_of
from .costs import amount
from .page import page
from .program import Line, Program, program_of
from .provenance import recording
from .values import Seen, Summary, exhaust, replay, summary

FORMAT = 1  # the version of what `as_dict` returns


@api_boundary
def explain(fun: Callable, *args: Any, **kwargs: Any) -> Explanation:
    """What becomes of `fun(*args, **kwargs)`: its program, equation by equation.

    Args:
      fun: a function of pytrees of arrays; any composition of transformations, as `jax.grad(loss)`
        or `jax.jit(jax.vmap(f))`. It is traced once.
      *args, **kwargs: arrays or numbers, with which the program is then also executed, equation by
        equation; or `ShapeDtypeStruct`s, with which it is only traced.

    Returns:
      an `Explanation`. Printed, it shows for each equation the user's expression that it comes
      from, whether it belongs to the forward or the backward part, the rules that made it, its
      cost, and its value.

    Raises:
      what `jax.make_jaxpr(fun)` raises for these arguments.

    >>> def loss(x):
    ...     return jax.numpy.log(x).sum()
    >>> explained = jax.debug.explain(jax.grad(loss), jax.numpy.array([0.0, 1.0]))
    >>> [line.phase for line in explained.lines]
    ['forward', 'forward', 'backward', 'backward']
    >>> explained.first("inf").line.expression
    'jax.numpy.log(x)'
    """
    check_callable(fun)
    options = getattr(fun, "_options", Options())  # a jitted function may have static arguments
    traced = TracedFunction(fun, Options(options.static_argnums, options.static_argnames))
    with recording() as provenance:
        closed, _ = traced.jaxpr(args, kwargs)
    leaves = traced._call(args, kwargs).leaves
    return Explanation(fun_name(fun), closed, program_of(closed, provenance), leaves)


class Explanation:
    """A program of which each equation is explained.

    Attributes:
      jaxpr: the program, a `ClosedJaxpr`.
      lines: its equations in the order of execution, those of inner programs after their call; a
        list of `Line`s (`text`, `expression`, `file`, `line`, `phase`, `batched`, `rule`, `cost`,
        `live`, `values`).
      peak: how many bytes are alive at once, at most.
      executions: which line was executed, with summaries of its results, in order.
    """

    def __init__(self, name: str, jaxpr: ClosedJaxpr, program: Program, args: Sequence):
        self.name, self.jaxpr, self.program = name, jaxpr, program
        self.lines: list[Line] = [*program.all_lines()]
        self.peak = program.peak
        self._args = [*args]
        self.executions: list[tuple[Line, list[Summary]]] = []
        self.has_values = all(isinstance(x, Array | np.ndarray | np.generic | int | float | complex)
                              for x in self._args)
        if self.has_values:
            self._note_values()

    def _note_values(self) -> None:
        def note(seen):
            if seen.line is not None:
                now, old = [*map(summary, seen.results)], seen.line.values
                self.executions.append((seen.line, now))
                seen.line.values = [*map(Summary.joined, old, now)] if old else now

        exhaust(self.replay(), note)

    def replay(self) -> Generator[Seen, None, list]:
        """Execute the program, one equation at a time: an iterator over (line, operands, results).

        Raises:
          ValueError: the explanation was made of types, without values.
        """
        if not self.has_values:
            raise ValueError("There are no values to replay: call jax.debug.explain with arrays in "
                             "place of ShapeDtypeStructs.")
        return replay(self.program, self.jaxpr.consts, self._args)

    # ----------------------------------------------------------------------------------------
    # Questions

    def first(self, kind: str = "nan") -> Bad | None:
        """Where a NaN (or an infinity) comes from: the first one that is in a result, or else the
        first one that is made at all.

        Args:
          kind: "nan" or "inf".

        Returns:
          the answer, which prints itself; or `None` if there is no such value.

        Raises:
          ValueError: `kind` is another one, or the explanation has no values.
        """
        if kind not in ("nan", "inf"):
            raise ValueError(f'kind must be "nan" or "inf", not {kind!r}.')
        return first_bad(kind, self._args, self.replay())

    def memory(self) -> Memory:
        """What is alive where the program needs most memory, and which lines made it."""
        return memory_at_peak(self.program)

    def cost(self) -> Costs:
        """Operations and bytes by the user's line and by phase."""
        return Costs.of(self.program)

    def dtypes(self) -> Types:
        """Where precision is lost, and where 64-bit and weak types come in."""
        return types_of(self.lines)

    def compare(self, other: Explanation) -> Changes:
        """What is different in another program: after an edit, `vmap`, `checkpoint` …

        Args:
          other: the explanation of the other program.

        Returns:
          the lines that changed, that are gone, and that are new; it prints itself.

        >>> plain = jax.debug.explain(jax.numpy.sin, 1.0)
        >>> print(plain.compare(jax.debug.explain(jax.vmap(jax.numpy.sin), jax.numpy.ones(3))))
        operations 1 → 3, moved 8 B → 24 B, alive at most 8 B → 24 B
        ~ b:f32[] = sin a
          b:f32[3] = sin a    # forward:
        """
        costs = self.program.cost, other.program.cost
        return changes(self.lines, other.lines, costs, (self.peak, other.peak))

    # ----------------------------------------------------------------------------------------
    # Forms

    def as_dict(self) -> dict[str, Any]:
        """The explanation as plain data, for JSON.

        Returns:
          {"format", "name", "arguments": [types], "results": [types], "peak": bytes, "flops",
          "transcendentals", "bytes", "lines": [...]}, where each line is {"number", "call" (the
          number of the line that it is inside of, or None), "text", "primitive", "phase",
          "batched", "file", "line", "end_line", "column", "end_column", "expression", "family",
          "library", "rules": [{"kind", "primitive", "file", "line"}], "flops", "transcendentals",
          "bytes", "live", "values": [{"low", "high", "nans", "infs"}]}. `family` is equal for all
          equations that one execution of the user's expression made.
        """
        cost = self.program.cost
        return {"format": FORMAT, "name": self.name,
                "arguments": [str(aval) for aval in self.jaxpr.in_avals],
                "results": [str(aval) for aval in self.jaxpr.out_avals],
                "peak": self.peak, **cost._asdict(), "lines": [*map(_line_data, self.lines)]}

    def html(self) -> str:
        """The explanation as a page: your code, the program, StableHLO, and what XLA made of it,
        side by side. It is compiled for that."""
        return page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, which needs nothing else; returns its path."""
        path = Path(path)
        path.write_text(self.html(), encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        """What notebooks show: the page, in a frame of its own."""
        return (f'<iframe srcdoc="{escape(self.html())}" style="width:100%;height:46rem;border:0" '
                f'title="What became of {escape(self.name)}"></iframe>')

    def __str__(self) -> str:
        cost = self.program.cost
        head = (f"{self.name}: {len(self.lines)} equations, {amount(cost.flops)} operations, "
                f"{amount(cost.transcendentals)} transcendental; "
                f"at most {amount(self.peak)}B alive")
        rows: list[tuple[str, ...]] = [
            ("", "your code", "equation", "part", "rule", "operations", "alive", "value")]
        before: Any = None
        for line in self.lines:
            rows.append(_row(line, repeated=(line.line, line.expression) == before))
            before = line.line, line.expression
        return "\n".join([head, "", *_table(rows)])

    __repr__ = __str__


def _line_data(line: Line) -> dict[str, Any]:
    place = line.origin.place
    first, last, start, end = place.positions if place else (None,) * 4
    return {"number": line.number, "call": line.call and line.call.number, "text": line.text,
            "primitive": str(line.eqn.primitive), "phase": line.phase, "batched": line.batched,
            "file": line.file, "line": first, "end_line": last, "column": start, "end_column": end,
            "expression": line.expression, "family": line.origin.family,
            "library": line.library,
            "rules": [{"kind": rule.kind, "primitive": rule.primitive,
                       "file": rule.place.code.co_filename, "line": rule.place.positions[0]}
                      for rule in line.origin.rules],
            **line.cost._asdict(), "live": line.live,
            "values": [value._asdict() for value in line.values]}


def _row(line: Line, repeated: bool) -> tuple[str, ...]:
    where = "" if repeated else str(line.line or "")
    code = "" if repeated else _shortened(line.expression, 36)
    part = line.phase + (", batched" if line.batched else "")
    operations = line.cost.flops + line.cost.transcendentals
    values = "; ".join(map(str, line.values))
    return (where, code, "  " * line.depth + _shortened(line.text, 68), part, line.rule,
            amount(operations) if operations else "", amount(line.live) + "B", values)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[:width - 1] + "…"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip()
