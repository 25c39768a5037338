"""The computation graph of a run: values, the operations that gave them, and their cotangents.

A node is a value: of the lowest trace, which computes or stages it, or of a linear program that a
partial evaluation writes down. Its lane is *primal*, or *tangent* if it depends on a
tangent. A primal that a tangent's operation needs is a *residual*. What the backward pass computes
appears as the cotangents of nodes. It makes nodes only inside another transformation, which works
on it: those are in the lane *cotangent*.

Values are known by identity, so two operands that are the same object are the same node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.batching import BatchTracer
from ...core.core import Tracer
from ...core.forward import JVPTracer, Zero
from ...core.jaxpr import Literal, Var
from ...core.partial_eval import JaxprTracer
from ...core.staging import DynamicJaxprTracer
from .boxes import Names, describe, short

MOST_NODES = 60


@dataclass
class Node:
    """A value. `at` is the number of the event that it appears with."""

    number: int
    at: int
    label: str  # the primitive's name; empty for an input
    value: str
    lane: str
    operands: list[Node] = field(default_factory=list)
    cotangents: list[tuple[int, str, int | None]] = field(default_factory=list)
    """When it came, the text to show from then on, and the node that it came from."""

    @property
    def residuals(self) -> list[Node]:
        """The primals that this tangent's operation needs."""
        return [x for x in self.operands if x.lane != "tangent"] if self.lane == "tangent" else []


class Graph:
    """The graph, which the recorder tells what happens."""

    def __init__(self, names: Names):
        self.nodes: list[Node] = []
        self.left_out = 0
        self._names = names
        self._of: dict[int, Node] = {}  # by the value's id
        self._sums: dict[int, list] = {}  # by the node's number: the cotangent, and what to add
        self._alive: list[Any] = []  # values whose ids are in use

    def boxes(self, at: int, args: Sequence) -> None:
        """Operands of a transformation: their primals and tangents are inputs, if they are new."""
        for x in args:
            if isinstance(x, Tracer):
                for leaf, lane in _leaves(x):
                    self._node_of(at, leaf, lane)

    def computed(self, at: int, primitive: Any, args: Sequence, outs: Sequence,
                 backwards: bool = False) -> None:
        """The lowest trace has applied a primitive, perhaps on the way back."""
        operands = [self._node_of(at, leaf, lane) for x in args for leaf, lane in _leaves(x)]
        self._add(at, str(primitive), operands, outs, "cotangent" if backwards else None)

    def equation(self, at: int, eqn: Any, builder: Any) -> None:
        """A partial evaluation has written an equation down."""
        constants = dict(builder._constants.values())
        operands = []
        for atom in eqn.invars:
            if isinstance(atom, Literal):
                operands.append(self._of.get(id(atom.val)))
            elif atom in constants:
                operands += [self._of.get(id(leaf)) for leaf, _ in _leaves(constants[atom])]
            else:
                operands.append(self._node_of(at, atom, "tangent"))
        self._add(at, str(eqn.primitive), operands, eqn.outvars, "tangent")

    def seed(self, at: int, eqn: Any, cts: Sequence) -> None:
        """The backward pass comes to an equation with these cotangents of its results."""
        for var, ct in zip(eqn.outvars, cts, strict=True):
            node = self._of.get(id(var))
            if node and not node.cotangents and type(ct) is not Zero:
                self._receive(at, node, ct, None)

    def cotangents(self, at: int, eqn: Any, cts: Sequence) -> list[str]:
        """The transpose rule of an equation has given cotangents; which variable got which."""
        sources = [self._of[id(var)] for var in eqn.outvars if id(var) in self._of]
        said = []
        for atom, ct in zip(eqn.invars, cts, strict=True):
            if ct is None or type(ct) is Zero or isinstance(atom, Literal):
                continue
            said.append(f"{self._text(ct)} for {self._names[atom]}")
            node = self._of.get(id(atom))
            if node:
                self._receive(at, node, ct, sources[0].number if sources else None)
        return said

    def is_sum(self, args: Sequence) -> bool:
        """Whether these are two cotangents of one node, which are about to be added."""
        return any(_are_next(args, sums) for sums in self._sums.values())

    def added(self, at: int, args: Sequence, out: Any) -> None:
        """Two cotangents of a node have been added."""
        for number, sums in self._sums.items():
            if _are_next(args, sums):
                node = self.nodes[number]
                before = node.cotangents[-1][1]
                sums[:2] = [self._keep(out)]
                text = self._sum_text(sums) if len(sums) > 1 else f"{before} = {self._text(out)}"
                node.cotangents.append((at, text, None))
                return

    # ------------------------------------------------------------------------------------------

    def _receive(self, at, node, ct, source):
        sums = self._sums.setdefault(node.number, [])
        sums.append(self._keep(ct))
        node.cotangents.append((at, self._sum_text(sums), source))

    def _sum_text(self, terms):
        first, *rest = map(self._text, terms)
        return " + ".join([first, *map(_in_brackets, rest)])

    def _add(self, at, label, operands, outs, lane=None):
        known = list({x.number: x for x in operands if x}.values())
        lane = lane or ("tangent" if any(x.lane == "tangent" for x in known) else "primal")
        if len(self.nodes) >= MOST_NODES:
            self.left_out += 1
            return
        leaves = [leaf for out in outs for leaf, _ in _leaves(out)]
        text = ", ".join(self._text(out) for out in outs)
        node = Node(len(self.nodes), at, label, text, lane, known)
        self.nodes.append(node)
        for leaf in leaves:
            self._of[id(self._keep(leaf))] = node

    def _node_of(self, at, leaf, lane):
        """The node of a value; an input, if it is new."""
        if id(leaf) not in self._of and len(self.nodes) < MOST_NODES:
            node = Node(len(self.nodes), at, "", self._text(leaf), lane)
            self.nodes.append(node)
            self._of[id(self._keep(leaf))] = node
        return self._of.get(id(leaf))

    def _keep(self, x):
        self._alive.append(x)
        return x

    def _text(self, x):
        if isinstance(x, Var):
            return f"{self._names[x]}:{x.aval.str_short(short_dtypes=True)}"
        return short(describe(x, self._names))


def _are_next(args, sums):
    return len(args) == 2 <= len(sums) and all(a is b for a, b in zip(args, sums, strict=False))


def _in_brackets(text):
    return f"({text})" if text.startswith("-") else text


def _leaves(x: Any, lane: str = "primal") -> Iterator[tuple[Any, str]]:
    """The values inside a value's boxes, with their lanes."""
    if isinstance(x, JVPTracer):
        yield from _leaves(x.primal, lane)
        yield from _leaves(x.tangent, "tangent")
    elif isinstance(x, BatchTracer):
        yield from _leaves(x.val, lane)
    elif isinstance(x, JaxprTracer):
        yield x.atom, "tangent"
    elif isinstance(x, DynamicJaxprTracer):
        if not isinstance(x.atom, Literal):
            yield x.atom, lane
    elif type(x) is not Zero and not isinstance(x, Tracer):
        yield x, lane
