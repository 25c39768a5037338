"""A faster path for calls that look like the ones before: code that expects just such a call.

`jit.py` describes a call by a key, and looks up the program. Where the same program was found
several times in a row, a Python function is written for it, without loops and without a key. For
`f(x, {"w": w})` it reads, with the names of types and values filled in:

    def repeated(args, kwargs):
        try:
            if common != number and context() != number or kwargs: return DIFFERENT
            [a0, a1] = args
            if type(a0) is not Array or a0.placed_type is not t0: return DIFFERENT
            b0 = a0._buffer
            if b0 is None: b0 = own(a0, aval0)
            if type(a1) is not dict or len(a1) != 1: return DIFFERENT
            ...
        except Exception: return DIFFERENT
        out = new(Array)  # as `Array(None, t2, …)`, in two thirds of the time
        [out._buffer] = execute([b0, b1]).consume_with_handlers(handlers)
        out.aval, out._host = t2, None
        return out

Whatever is `DIFFERENT` goes the way of `jit.py`, which also raises what there is to raise.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import settings
from ..core.array import Array
from ..core.tree import DICT, LIST, NAMEDTUPLE, NONE_TYPE, TUPLE, node_type_of
from ..runtime.jit import array_classes
from ..settings import trace_context

DIFFERENT = object()  # the call is not the expected one
_MOST_LEAVES = 200  # the time to write a function grows with them
_PLAIN = {int, bool, str, float, type(None)}


class Unwritable(Exception):
    """No function is written for such a call."""


class _Writer:
    """Collects the lines that check a value, and the values which they mention."""

    def __init__(self, own: Callable):
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"DIFFERENT": DIFFERENT, "own": own, "ndarray": np.ndarray}
        self.leaves: list[tuple[str, Any]] = []  # the name and the value of each
        self._numbers = itertools.count()

    def name(self) -> str:
        return f"v{next(self._numbers)}"

    def known(self, value: Any) -> str:
        """A name for a value of which the function is to know."""
        self.scope[name := self.name()] = value
        return name

    def refuse(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return DIFFERENT")

    def same(self, name: str, value: Any) -> None:
        """Check a value that is no array: a static argument, or the data of a node."""
        expected, kind = self.known(value), type(value)
        if kind in _PLAIN or kind is tuple and all(type(x) in _PLAIN for x in value):
            self.refuse(f"type({name}) is not {self.known(kind)} or {name} != {expected}")
        elif isinstance(value, np.dtype):
            self.refuse(f"{name} is not {expected}")  # an equal one is for a key to find
        elif kind.__eq__ is object.__eq__ and (
                kind.__hash__ is object.__hash__ or isinstance(value, enum.Enum)):
            self.refuse(f"{name} is not {expected}")
        else:  # equal to what it was, and with the same hash? That is for a key to find out
            raise Unwritable

    def parts(self, name: str, values: Sequence) -> list[str]:
        """Names for the elements of an iterable, whose number is checked."""
        names = [self.name() for _ in values]
        self.lines.append(f"[{', '.join(names)}] = {name}" if names else f"[] = {name}")
        return names

    def node(self, name: str, value: Any) -> None:
        """Check a tree, from the root."""
        node_type = node_type_of(value)
        if node_type is None:
            self.leaves.append((name, value))
        elif node_type is NONE_TYPE:
            self.refuse(f"{name} is not None")
        else:
            self.refuse(f"type({name}) is not {self.known(type(value))}")
            children = self._children(name, value, node_type)
            for child, x in children:
                self.node(child, x)

    def _children(self, name: str, value: Any, node_type: Any) -> Iterable[tuple[str, Any]]:
        if node_type in (TUPLE, LIST, NAMEDTUPLE):
            return [*zip(self.parts(name, value), value)]
        if node_type is DICT:
            return self._items(name, value)
        if fields := getattr(node_type, "fields", None):
            if not all(field.isidentifier() for part in fields for field in part):
                raise Unwritable
            children, others = ([(self.name(), field) for field in part] for part in fields)
            self.lines += [f"{child} = {name}.{field}" for child, field in [*children, *others]]
            for other, field in others:
                self.same(other, getattr(value, field))
            return [(child, getattr(value, field)) for child, field in children]
        xs, aux = node_type.flatten(value)
        xs, own, theirs = [*xs], self.name(), self.name()
        self.lines.append(f"{own}, {theirs} = {self.known(node_type.flatten)}({name})")
        self.same(theirs, aux)
        return [*zip(self.parts(own, xs), xs)]

    def _items(self, name: str, value: dict) -> list[tuple[str, Any]]:
        if not all(type(key) is str for key in value):
            raise Unwritable
        self.refuse(f"len({name}) != {len(value)}")
        items = [(self.name(), key) for key in sorted(value)]
        self.lines += [f"{child} = {name}[{key!r}]" for child, key in items]
        return [(child, value[key]) for child, key in items]

    def leaf(self, name: str, value: Any, aval: Any, kept: bool) -> str:
        """Check a leaf, and get its buffer if the program takes it."""
        kind, buffer = type(value), f"b{name}"
        is_array = kind in array_classes
        different = f"type({name}) is not {self.known(kind)}"
        if is_array:
            different += f" or {name}.placed_type is not {self.known(value.placed_type)}"
        elif kind is np.ndarray:
            shape, dtype = self.known(value.shape), self.known(value.dtype)
            different += f" or {name}.shape != {shape} or {name}.dtype != {dtype}"
        self.refuse(different)
        if kept:
            made = f"own({name}, {self.known(aval)})"
            if not is_array:
                self.lines.append(f"{buffer} = {made}")
            else:
                self.lines.append(f"{buffer} = {name}._buffer")
                self.lines.append(f"if {buffer} is None: " + (
                    f"{buffer} = {made}" if kind is Array else "return DIFFERENT"))
        return buffer


def arguments(writer: _Writer, args: tuple, kwargs: dict, plan: Any) -> None:
    """Check how many arguments there are, and take them apart: the static ones, and the trees."""
    number, context = trace_context(), writer.known(trace_context)
    common = f"{writer.known(settings)}.common_context"
    named = f"len(kwargs) != {len(kwargs)}" if kwargs else "kwargs"
    writer.refuse(f"{common} != {number} and {context}() != {number} or {named}")
    names, values = writer.parts("args", args), [*args, *kwargs.values()]
    for name in kwargs:
        names.append(writer.name())
        writer.lines.append(f"{names[-1]} = kwargs[{name!r}]")
    for i in plan.static if plan else ():
        writer.same(names[i], values[i])
    if plan:
        names, values = plan.traced(names), plan.traced(values)
    for name, value in zip(names, values):
        writer.node(name, value)


def repeated(entry: Any, args: tuple, kwargs: dict, plan: Any, leaves: Sequence) -> Callable:
    """A function of `args` and `kwargs` that runs a program, or returns `DIFFERENT`.

    Args:
      entry: the program, as `jit.py` keeps it.
      args, kwargs, plan, leaves: a call that the program was found for, and how it is taken apart.

    Raises:
      Unwritable: the arguments are of a kind whose sameness only a key can tell.
    """
    program, writer = entry.program, _Writer(entry.own)
    if entry.execute is None or len(leaves) > _MOST_LEAVES:
        raise Unwritable
    arguments(writer, args, kwargs, plan)
    if [*map(id, leaves)] != [id(x) for _, x in writer.leaves]:
        raise Unwritable
    kept = range(len(leaves)) if entry.takes_all else program.kept
    buffers = [writer.leaf(*leaf, aval, i in kept)
               for i, (leaf, aval) in enumerate(zip(writer.leaves, program.in_avals))]
    taken = [buffers[i] for i in kept]
    if not entry.takes_all:
        taken += map(writer.known, program.constants)
    known, checks = writer.known, writer.lines
    run = (f"{known(entry.execute)}([{', '.join(taken)}])"
           f".consume_with_handlers({known(entry.handlers)})")
    given_away = [f"{writer.leaves[i][0]}.delete()" for i in entry.donated
                  if type(writer.leaves[i][1]) is Array]
    lines = ["try:", *("    " + line for line in checks), "except Exception: return DIFFERENT",
             *_run(entry, run, known, given_away)]
    # With a file of this package, the line of the user's that makes the call is found.
    exec(compile("\n    ".join(["def run(args, kwargs):", *lines]), __file__, "exec"),
         writer.scope)
    return writer.scope.pop("run")  # else they would refer to each other


def _run(entry: Any, run: str, known: Callable, given_away: list[str]) -> list[str]:
    """The lines that run the program and return its results."""
    if entry.unflatten is None and entry.array_class is Array:
        return [f"out = {known(object.__new__)}({known(Array)})", f"[out._buffer] = {run}",
                *given_away, f"out.aval, out._host = {known(entry.out_types[0])}, None",
                "return out"]
    return [f"outs = {run}", *given_away, f"return {_returned(entry, known)}"]


def _returned(entry: Any, known: Callable) -> str:
    """The expression for what the call returns."""
    array_class = known(entry.array_class)
    if entry.unflatten is None:
        return f"{array_class}(None, {known(entry.out_types[0])}, outs[0])"
    if entry.unflatten is tuple:
        made = [f"{array_class}(None, {known(place)}, outs[{i}]), "
                for i, place in enumerate(entry.out_types)]
        return f"({''.join(made)})"
    types, nones = known(entry.out_types), known(itertools.repeat(None))
    return f"{known(entry.unflatten)}([*{known(map)}({array_class}, {nones}, {types}, outs)])"
