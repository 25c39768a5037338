"""Writes random programs, each from a seed.

A program is text. It defines inputs `x0`, `x1`, …, a function `f` of them, and `result`, which is
what `f` returns under up to three transformations. The writer keeps programs well-typed by running
each statement in minijax before it writes the next one, so that it knows every value's type. A
statement that is refused is left out of the program; JAX must refuse it, too.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz import operations

SHAPES = [(), (3,), (2, 3), (0,), (3, 1), (2, 2), (1,), (2,), (2, 2, 3), (0, 3)]
SHAPE_WEIGHTS = [8, 10, 9, 2, 3, 6, 2, 2, 2, 1]
FLOATS = ["float32"] * 14 + ["float16", "bfloat16"]
INTEGERS = ["int32"] * 8 + ["int8", "uint8", "uint32", "int16"]
CLASSES = {"F": "f", "C": "c", "Z": "fc", "I": "iu", "B": "b", "R": "fiu", "N": "fciu",
           "L": "iub", "A": "fciub"}  # fmt: skip
OPERAND = re.compile(r"\$([FCZIBRNLA])([01vmsn~=']*)(!?)(?=(\.|\[)?)")
PARAMETER = re.compile(r"@([a-z]+)")
CHOICE = re.compile(r"\{([^{}]*\|[^{}]*|iota|expn)\}")
FOCUS = os.environ.get("FUZZ_FOCUS", "")  # a table, or a block without its article
TAILS = 5  # programs for each function
LARGEST = 1e4  # larger values are seldom kept: they drown what is computed after them

PRELUDE = '''\
import jax
import jax.numpy as jnp
import jax.scipy
from jax.experimental import sparse
import numpy as np
from jax import lax

P = jax.P


def inexact(x):
    return jnp.issubdtype(x.dtype, jnp.inexact)


def total(tree):
    leaves = [x for x in jax.tree_util.tree_leaves(tree) if hasattr(x, "dtype") and inexact(x)]
    return sum((jnp.sum(jnp.real(x)) for x in leaves), 0.0)


def tangents(tree):
    def tangent(x):
        if hasattr(x, "dtype") and not inexact(x):
            return np.zeros(x.shape, jax.dtypes.float0)
        return x * 0.5 + 1
    return jax.tree_util.tree_map(tangent, tree)


def pullback(f, *args):
    out, back = jax.vjp(f, *args)
    return out, back(tangents(out))


def linearized(f, *args):
    out, f_jvp = jax.linearize(f, *args)
    return out, f_jvp(*tangents(args))


def like(v, a):
    v = jnp.sum(jnp.abs(v)) if v.dtype == bool else jnp.sum(jnp.real(v))
    return jnp.where(v > 1, a, -a) + (v * 0.1).astype(a.dtype)


def posdef(a):
    return jnp.matmul(a, jnp.conj(a.mT)) + 2 * jnp.eye(a.shape[-1], dtype=a.dtype)
'''


class Unusable(Exception):
    """There is no operand of the kind that a row asks for."""


def kind_of(x: Any) -> str:
    """The class of a value's dtype: f, c, i, u, b; or `?` for what is no plain array."""
    dtype = getattr(x, "dtype", None)
    if dtype is None or not hasattr(x, "shape") or hasattr(x, "nse"):
        return "?"
    name = getattr(dtype, "name", str(dtype))
    if name.startswith(("bfloat", "float")):
        return "f" if getattr(dtype, "fields", None) is None else "?"
    kind = getattr(dtype, "kind", "V")
    return kind if kind in "fciub" else "?"


@dataclass
class Statement:
    """One assignment, or a function's definition; `name` is what it defines."""

    name: str
    lines: list[str]

    @property
    def text(self) -> str:
        """The statement's lines, as one text."""
        return "\n".join(self.lines)


@dataclass
class Program:
    """Inputs, the body of `f`, what it returns, and the call of the transformed `f`."""

    seed: str
    inputs: list[str]
    body: list[str]
    returned: str
    tail: list[str]
    x64: bool = False

    @property
    def text(self) -> str:
        """The program's own source, without the prelude."""
        params = ", ".join(line.split(" = ")[0] for line in self.inputs if line.startswith("x"))
        body = [f"    {line}" for line in [*self.body, f"return {self.returned}"]]
        return "\n".join([*self.inputs, f"def f({params}):", *body, *self.tail]) + "\n"


class Writer:
    """Writes one function's programs. `execute(name, statement, top)` runs a statement.

    `values` is the namespace in which the statements have been run.
    """

    def __init__(self, seed: str, values: dict[str, Any],
                 execute: Callable[[str, str, bool], bool], x64: bool = False) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.values = values
        self.execute = execute
        self.x64 = x64
        self.inputs: list[str] = []
        self.scope: list[str] = []  # names in reach, oldest first
        self.count = 0
        self.depth = 0
        self.axis: tuple[str, int] | None = None  # the named axis in force, and its size
        self.stand_ins: dict[str, str] = {}  # what has the type of a collective, without an axis

    # --- values ---

    def fresh(self, letter: str) -> str:
        """A new name."""
        self.count += 1
        return f"{letter}{self.count}"

    def literal_array(self, kind: str, shape: tuple[int, ...]) -> str:
        """The text of an array with random elements."""
        pick = self.random
        if kind == "f":
            dtype = pick.choice(FLOATS)
            numbers = [pick.choice([round(pick.uniform(-2, 2), 2), pick.choice([0.0, 1.0, -1.0, 0.5, 2.0])])
                       for _ in range(int(np.prod(shape)))]
        elif kind == "c":
            dtype = "complex64"
            numbers = [complex(round(pick.uniform(-1, 1), 2), round(pick.uniform(-1, 1), 2))
                       for _ in range(int(np.prod(shape)))]
        elif kind == "b":
            dtype = "bool"
            numbers = [pick.random() < 0.5 for _ in range(int(np.prod(shape)))]
        else:
            dtype = pick.choice(INTEGERS)
            low = 0 if dtype.startswith("u") else -3
            numbers = [pick.randint(low, 4) for _ in range(int(np.prod(shape)))]
        if self.x64:
            dtype = {"float32": "float64", "int32": "int64", "complex64": "complex128",
                     "uint32": "uint64"}.get(dtype, dtype)
        if shape == () and pick.random() < 0.3 and dtype in ("float32", "float64", "int32", "int64", "complex64"):
            return f"jnp.asarray({numbers[0]!r})"  # weakly typed
        nested = np.array(numbers, dtype=object).reshape(shape).tolist()
        if 0 in shape:
            return f"jnp.zeros({shape}, '{dtype}')"
        return f"jnp.array({nested!r}, '{dtype}')"

    def new_input(self, kinds: str, condition: Callable[[tuple], bool] = lambda shape: True) -> str:
        """Write a new input of one of the kinds, whose shape satisfies a condition."""
        shapes = [(s, w) for s, w in zip(SHAPES, SHAPE_WEIGHTS, strict=True) if condition(s)]
        if not shapes:
            raise Unusable
        shape = self.random.choices(*zip(*shapes, strict=True))[0]
        kind = self.random.choice("fffffc" if kinds == "fc" else kinds)
        name = f"x{len(self.inputs)}"
        line = f"{name} = {self.literal_array(kind, shape)}"
        if not self.execute(name, line, True):
            raise Unusable
        self.inputs.append(line)
        self.scope.insert(0, name)
        return name

    def matching(self, kinds: str, condition: Callable[[Any], bool]) -> list[str]:
        """The names in reach of values of these kinds that satisfy a condition."""
        return [name for name in self.scope
                if kind_of(self.values[name]) in kinds and condition(self.values[name])]

    # --- operands ---

    def operand(self, letter: str, conditions: str, first: Any) -> str:
        """A name, or a literal, for an operand of a row."""
        kinds = CLASSES[letter]

        def fits(x: Any) -> bool:
            shape = tuple(x.shape)
            return (
                ("0" not in conditions or shape == ())
                and ("1" not in conditions or len(shape) >= 1)
                and ("v" not in conditions or len(shape) == 1)
                and ("m" not in conditions or len(shape) >= 2)
                and ("s" not in conditions or (len(shape) == 2 and shape[-1] == shape[-2] > 0))
                and ("n" not in conditions or 0 not in shape)
                and ("~" not in conditions or first is None or compatible(shape, first.shape))
                and ("=" not in conditions or first is None
                     or (shape == tuple(first.shape) and x.dtype == first.dtype))
                and ("'" not in conditions or first is None or x.dtype == first.dtype)
            )

        if "~" in conditions and self.random.random() < 0.25:
            return self.literal(kinds)
        names = self.matching(kinds, fits)
        if names and (self.random.random() < 0.9 or self.depth):
            # later values are likelier, so that programs grow deep
            weights = [1 + 3 * i / len(names) for i in range(len(names))]
            return self.random.choices(names, weights)[0]
        if self.depth or len(self.inputs) > 4 or "=" in conditions or "'" in conditions:
            if names:
                return self.random.choice(names)
            raise Unusable
        return self.new_input(kinds, lambda shape: fits(_Shaped(shape)))

    def literal(self, kinds: str) -> str:
        """A Python number of one of the kinds, or sometimes NumPy's."""
        kind = self.random.choice([k for k in kinds if k != "u"])
        text = {"f": ["2.0", "0.5", "-1.5", "0.0", "1.0"], "i": ["1", "2", "-1", "0", "3"],
                "c": ["1j", "(1+2j)"], "b": ["True", "False"]}[kind]  # fmt: skip
        chosen = self.random.choice(text)
        if kind == "f" and self.random.random() < 0.1:
            return f"np.float32({chosen})"
        if kind == "i" and self.random.random() < 0.1:
            return f"np.{self.random.choice(['int8', 'int32'])}({chosen})"
        return chosen

    # --- rows ---

    def fill(self, row: str) -> str:
        """A row's text, with operands and parameters chosen."""
        while match := CHOICE.search(row):
            row = row[: match.start()] + self.random.choice(match[1].split("|")) + row[match.end():]
        first: list[Any] = []
        by_letter: dict[str, str] = {}

        def name(match: re.Match) -> str:
            letter, conditions, again, follows = match.groups()
            if again or (follows and letter in by_letter and not conditions):
                return by_letter[letter]
            chosen = self.operand(letter, conditions, first[0] if first else None)
            by_letter.setdefault(letter, chosen)
            if not first:
                first.append(self.values.get(chosen, _Shaped(())))
            return f"({chosen})" if chosen.startswith("-") else chosen

        row = OPERAND.sub(name, row)
        subject = first[0] if first else _Shaped(())
        return PARAMETER.sub(lambda match: self.parameter(match[1], subject), row)

    def parameter(self, name: str, x: Any) -> str:
        """The text of a row's parameter, which may depend on the first operand."""
        pick, shape = self.random, tuple(x.shape)
        ndim = len(shape)
        axis = pick.randrange(-ndim, ndim) if ndim else 0
        if name == "axis":
            return str(axis)
        if name == "paxis":
            return str(axis % ndim if ndim else 0)
        if name == "axisornone":
            return pick.choice(["None", str(axis)]) if ndim else "None"
        if name == "axes":
            several = tuple(pick.sample(range(ndim), pick.randint(0, ndim)))
            return pick.choice(["None", str(axis) if ndim else "None", repr(several)])
        if name == "bool":
            return pick.choice(["True", "False"])
        if name in ("int", "pos", "n", "pad"):
            low, high = {"int": (-2, 2), "pos": (0, 2), "n": (1, 3), "pad": (-1, 2)}[name]
            return str(pick.randint(low, high))
        if name == "literal":
            return self.literal("fib" if kind_of(x) != "b" else "b")
        if name in ("dtype", "fdtype", "rdtype"):
            floats = ["float32", "float16", "bfloat16"] + ["float64"] * self.x64
            others = ["int32", "int8", "uint8"] + ["complex64", "bool"] * (name == "dtype")
            return repr(pick.choice(floats if name == "fdtype" else floats + others))
        if name == "shape":
            return self.new_shape(shape)
        if name == "bshape":
            return repr(pick.choice([(2, *shape), shape, (1, *shape)]))
        if name == "perm":
            return repr(tuple(pick.sample(range(ndim), ndim)))
        if name == "key":
            return f"jax.random.{pick.choice(['key', 'PRNGKey'])}({pick.randint(0, 2)})"
        if name == "slice":
            return pick.choice([":1", "1:", "::-1", "::2", "..., None", "-2:", ":0"])
        if name == "index":
            choices = ["0", "-1", ":1", "1:", "::-1", "..., 0", "None, 0", "[0, -1]",
                       "np.array([0])", "jnp.array(0)", "..., :1"]  # fmt: skip
            choices += [":, 0", ":, ::-1", "0, -1", "..., None, 0", ":, [0, 0]"] * (ndim >= 2)
            return pick.choice(choices)
        raise KeyError(name)

    def new_shape(self, shape: tuple[int, ...]) -> str:
        """A shape of the same number of elements."""
        size = int(np.prod(shape))
        choices = [(-1,), (1, -1), shape[::-1], (size,), (*shape, 1), (1, *shape)]
        return repr(self.random.choice(choices if size else [(0,), (0, 2), shape]))

    # --- statements ---

    def statement(self, into: list[str]) -> None:
        """Write one statement that JAX accepts, and append it to the lines."""
        from tests.fuzz.blocks import BLOCKS

        focused = f"a_{FOCUS}" if FOCUS and FOCUS not in operations.TABLES else ""
        for _ in range(8):
            name = self.fresh("y")
            mark = len(into)
            try:
                if self.depth < 2 and self.random.random() < (0.3 if focused else 0.14):
                    names = [*BLOCKS]
                    weights = [w * (operations.FOCUSED if block.__name__ == focused else 1)
                               for block, w in BLOCKS.items()]
                    text = self.random.choices(names, weights)[0](self, into)
                elif self.axis and self.random.random() < 0.3:
                    text = self.collective()
                else:
                    text = self.fill(self.random.choices(*ROWS)[0])
            except Unusable:
                del into[mark:]
                continue
            line = f"{name} = {text}"
            if self.accepted(name, f"{name} = {self.stand_ins.get(text, text)}"):
                into.append(line)
                self.scope.append(name)
                return
            del into[mark:]
        raise Unusable

    def accepted(self, name: str, line: str) -> bool:
        """Run a statement, and decide whether the program is better with it."""
        if not self.execute(name, line, self.depth == 0):
            return False
        value = self.values[name]
        if kind_of(value) == "?" and not isinstance(value, (tuple, list)):
            return self.random.random() < 0.3
        return self.random.random() < 0.05 or tame(value)

    def collective(self) -> str:
        """An operation over the named axis, and what stands for it while types are found out."""
        axis, size = self.axis or ("i", 1)
        names = self.matching("fciu", lambda x: True)
        if not names:
            raise Unusable
        x = self.random.choice(names)
        same = f"{x} * 1"
        shift = [(i, (i + 1) % size) for i in range(size)]
        text, stand_in = self.random.choice([
            (f"lax.psum({x}, '{axis}')", same),
            (f"lax.pmean({x}, '{axis}')", f"{x} / 1"),
            (f"lax.pmax({x}, '{axis}')", same),
            (f"lax.pmin({x}, '{axis}')", same),
            (f"lax.ppermute({x}, '{axis}', {shift})", same),
            (f"lax.pshuffle({x}, '{axis}', {list(range(size))[::-1]})", same),
            (f"{x} * lax.axis_index('{axis}')", f"{x} * jnp.int32(1)"),
            (f"lax.psum(1, '{axis}') * {x}", same),
        ])  # fmt: skip
        self.stand_ins[text] = stand_in
        return text

    # --- functions within the program ---

    def function(self, params: dict[str, Any], into: list[str], goal: Callable[[str], str] | None,
                 size: int = 3, axis: tuple[str, int] | None = None, closed: float = 0.5) -> str:
        """Write a nested function, whose parameters stand for the given values; return its name.

        `goal` gives the returned expression for the name of the last value; without it the
        function returns that value. The body may use what is in reach outside.
        """
        name = self.fresh("g")
        outer, outer_axis = list(self.scope), self.axis
        self.depth += 1
        self.axis = axis or outer_axis
        closures = [n for n in self.scope if self.random.random() < closed]
        self.scope = closures
        saved = {p: self.values.get(p) for p in params}
        self.values.update(params)
        self.scope += list(params) * 2
        body: list[str] = []
        try:
            for _ in range(self.random.randint(1, size)):
                self.statement(body)
            last = self.scope[-1]
            arrays = [n for n in self.scope if kind_of(self.values[n]) != "?"]
            if goal is not None:
                last = goal(arrays[-1])
            into.append(f"def {name}({', '.join(params)}):")
            into.extend(f"    {line}" for line in body)
            into.append(f"    return {last}")
        finally:
            self.depth -= 1
            self.scope, self.axis = outer, outer_axis
            self.values.update(saved)
        start = max(i for i, line in enumerate(into) if line.startswith(f"def {name}("))
        if not self.execute(name, "\n".join(into[start:]), self.depth == 0):
            raise Unusable
        return name

    # --- the program ---

    def programs(self) -> list[Program]:
        """Write a function, and several programs that transform it in different ways."""
        from tests.fuzz.transformations import transform

        self.new_input("f")
        for _ in range(self.random.randint(0, 2)):
            self.new_input("fffcib")
        body: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            with contextlib.suppress(Unusable):
                self.statement(body)
        results = [n for n in self.scope if n.startswith("y")] or ["x0"]
        returned = results[-1]
        if len(results) > 1 and self.random.random() < 0.5:
            shape = self.random.choice(["({}, {})", "{{'a': {}, 'b': {}}}"])
            returned = shape.format(returned, self.random.choice(results[:-1]))
        inputs = list(self.inputs)
        return [Program(f"{self.seed}/{i}", inputs, body, returned, transform(self), self.x64)
                for i in range(TAILS)]


class _Shaped:
    """A shape that poses as an array."""

    dtype = np.dtype("float32")

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.ndim = len(shape)


def compatible(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether two shapes broadcast."""
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


def tame(value: Any) -> bool:
    """Whether all numbers are finite and not too large."""
    if isinstance(value, (tuple, list)):
        return all(tame(v) for v in value)
    if kind_of(value) not in "fc":
        return True
    numbers = np.asarray(value).astype(complex if kind_of(value) == "c" else float)
    return bool(np.all(np.isfinite(numbers)) and np.all(np.abs(numbers) < LARGEST)
                and numbers.size <= 64)


ROWS = tuple(zip(*operations.rows(FOCUS), strict=True))
