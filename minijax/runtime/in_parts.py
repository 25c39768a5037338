"""Chapter 6: a program of large arrays as a loop over parts of them.

XLA's CPU compiler writes most intermediate arrays of a long computation to memory, and reads them
again. If each row of the results needs only the same row of the arguments, the program can compute
a few thousand rows at a time. The intermediate arrays of so few rows stay in the processor's cache,
and the program needs no large blocks of memory.

The autotuner tries this as one of its variants, on the text of a module. It reads only text that
our own lowering writes: one operation a line. A type says which values have rows: those whose first
dimension is that of the largest argument. Operations that are in none of the tables below are
refused.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

LEAST = 2**18  # elements: smaller arrays stay in the cache anyway
PART = 20_000  # elements of a part, at most

# Operations that compute each element of the result from the same element of each operand.
_OF_ELEMENTS = re.compile(
    r"stablehlo\.(abs|add|and|atan2|cbrt|ceil|clamp|compare|complex|convert|cosine"
    r"|count_leading_zeros|divide|exponential|exponential_minus_one|floor|imag|is_finite|log"
    r"|log_plus_one|logistic|maximum|minimum|multiply|negate|not|or|popcnt|power|real"
    r"|reduce_precision|remainder|round_nearest_afz|round_nearest_even|rsqrt|select|shift_left"
    r"|shift_right_arithmetic|shift_right_logical|sign|sine|sqrt|subtract|tan|tanh|xor)"
    r"|chlo\.(acos|acosh|asin|asinh|atan|atanh|bessel_i1e|cosh|digamma|erf|erf_inv|erfc|lgamma"
    r"|next_after|polygamma|sinh|square|zeta)")
# The start of a reduction that changes nothing; `None` if any start may be used again.
_STARTS = {"add": r"dense<0(\.0)?>", "multiply": r"dense<1(\.0)?>", "maximum": None,
           "minimum": None, "and": None, "or": None}
_FUNCTION = re.compile(r"  func\.func (?:public|private) @(\w+)\((.*?)\) -> \((.*)\) \{")
_LINE = re.compile(r"    (%\w+)(?::\d+)? = ([\w.]+)[ (](.*?) : ([^:]*?)(?: loc\(.*\))?")
_REDUCTION = re.compile(
    r"%\S+ init: (%\S+)\) applies stablehlo\.(\w+) across dimensions = \[(.*)\]")
_NAME = re.compile(r"%\w+(?:#\d+)?")
_INDEX = "tensor<i32>"


class _NotByRows(Exception):
    """The program does not compute its rows one by one."""


class _Sum(NamedTuple):
    """A reduction of all rows: the operation, the name of its start, the type of its result."""

    operation: str
    start: str
    kind: str


def in_parts(text: str) -> str | None:
    """The module as a loop over parts, or `None` if it does not compute its rows one by one."""
    functions = {match[1]: match for match in _FUNCTION.finditer(text)}
    others = text.count("func.func ") != len(functions)
    if "main" not in functions or others:
        return None
    shape = max(map(_shape, _arguments(functions["main"][2]).values()), key=math.prod, default=())
    parts = _number_of_parts(shape)
    if not parts:
        return None
    try:
        return _Rewriting(text, shape[0], parts).text()
    except _NotByRows:
        return None


def _arguments(head: str) -> dict[str, str]:
    """The names and types of arguments."""
    return dict(re.findall(r"(%arg\d+): (tensor<(?:[^<>]|<[^<>]*>)*>)", head))


def _value(name: str) -> str:
    """The name without the number of a result."""
    return name.partition("#")[0]


def _shape(kind: str) -> tuple[int, ...]:
    """The shape that a type states."""
    return tuple(map(int, re.findall(r"(\d+)x", kind)))


def _number_of_parts(shape: tuple[int, ...]) -> int:
    """How many equal parts the rows are computed in; 0 if no number gives parts of a good size."""
    size = math.prod(shape)
    if not shape or size < LEAST:
        return 0
    least = -(-size // PART)
    return next((n for n in range(least, 4 * least) if shape[0] % n == 0), 0)


def _zeros(kind: str) -> str:
    """A constant of zeros."""
    element = _element(kind)
    zero = "0" if re.fullmatch(r"u?i\d+", element) else "0.0"
    zero = {"i1": "false"}.get(element, f"({zero},{zero})" if "complex" in element else zero)
    return f"stablehlo.constant dense<{zero}> : {kind}"


def _element(kind: str) -> str:
    return re.sub(r"\d+x", "", kind.removeprefix("tensor<").removesuffix(">"))


class _Rewriting:
    """The lines of a module, sorted into those before, in and after the loop."""

    def __init__(self, text: str, rows: int, parts: int):
        self.lines = text.splitlines()
        self.row_type, self.part_type = f"tensor<{rows}x", f"tensor<{rows // parts}x"
        self.parts, self.part = parts, rows // parts
        self.types: dict[str, str] = {}  # of the values with rows, by name
        self.constants: dict[str, str] = {}  # the texts of the others
        self.sums: dict[str, _Sum] = {}
        self.late: set[str] = set()  # the names of values that exist after the loop only
        self.before: list[str] = []
        self.body: list[str] = []
        self.after: list[str] = []

    def text(self) -> str:
        start = next(i for i, line in enumerate(self.lines) if " @main(" in line)
        end = self.lines.index("  }", start)
        head, *lines, result = self.lines[start:end]
        arguments = {name: kind for name, kind in _arguments(head).items() if self._has_rows(kind)}
        self.types |= arguments
        for line in lines:
            self._sort(line)
        others = self.lines[end:]
        for line in others:
            self._check_function(line)
        loop = self._loop(arguments, result)
        return "\n".join([*self.lines[:start], head, *self.before, *loop,
                          *map(self._of_part, others), ""])

    def _has_rows(self, kind):
        return kind.startswith(self.row_type)

    def _of_part(self, line):
        return line.replace(self.row_type, self.part_type)

    # What a line computes

    def _sort(self, line):
        """Put a line of the main function where it is computed."""
        name, operation, operands, types = self._parsed(line)
        names = {_value(name) for name in _NAME.findall(operands)}
        is_late = not self.late.isdisjoint(names)
        if self.row_type not in types and self.types.keys().isdisjoint(names):
            if operation == "stablehlo.constant":
                self.constants[name] = operands
            if is_late:
                self.late.add(name)
            (self.after if is_late else self.before).append(line)
            return
        if is_late:
            raise _NotByRows
        self.body.append(line)
        if operation == "stablehlo.reduce" and (total := self._sum(operands, types)):
            self.sums[name] = total
            self.late.add(name)
        else:
            self.types[name] = self._checked(operation, operands, types)

    def _parsed(self, line):
        """The name, the operation, the operands and the types of a line."""
        match = _LINE.fullmatch(line)
        if match is None:
            raise _NotByRows
        return match.groups()

    def _checked(self, operation, operands, types):
        """The type of the result of an operation on rows, if it does not mix them."""
        ins, arrow, out = types.rpartition("-> ")
        kind = out.strip("()") if arrow else types.split(", ")[-1]
        first_has_rows = self._has_rows(ins.lstrip("("))
        if operation == "stablehlo.constant":
            good = re.fullmatch(r"dense<[^\"\[]*>", operands)
        elif operation == "stablehlo.broadcast_in_dim":
            dims = operands.rpartition("dims = [")[2].rstrip("]").split(", ")
            good = dims[0] == "0" if first_has_rows else "0" not in dims or "(tensor<1x" in ins
        elif operation in ("stablehlo.reduce", "stablehlo.reshape"):
            good = first_has_rows
        else:  # a function is checked line by line
            good = operation == "func.call" or _OF_ELEMENTS.fullmatch(operation)
        if not good or ", " in kind or not self._has_rows(kind):
            raise _NotByRows
        return kind

    def _sum(self, operands, types):
        """The reduction of all rows; `None` if each row is reduced by itself."""
        match = _REDUCTION.fullmatch(operands)
        if match is None:
            raise _NotByRows
        start, operation, dims = match.groups()
        if "0" not in dims.split(", "):
            return None
        kind, known = types.rpartition("-> ")[2], self.constants.get(start)
        neutral = _STARTS.get(operation, "never")
        if known is None or self._has_rows(kind) or neutral and not re.fullmatch(neutral, known):
            raise _NotByRows
        return _Sum(operation, start, kind)

    def _check_function(self, line):
        """Refuse a line of another function that mixes rows."""
        if self.row_type not in line or line.startswith("    return "):
            return
        if match := _FUNCTION.fullmatch(line):
            if not self._has_rows(match[3]) or ", " in match[3]:
                raise _NotByRows
            return
        _, operation, operands, types = self._parsed(line)
        if operation == "stablehlo.reduce" and self._sum(operands, types):
            raise _NotByRows
        self._checked(operation, operands, types)

    # The loop

    def _loop(self, arguments, result):
        """The loop, and what comes after it. It carries the index of the part and the results."""
        match = re.fullmatch(r"    return (.*?) : (.*?)(?: loc\(.*\))?", result)
        if match is None:
            raise _NotByRows
        results = match[1].split(", ")
        kinds = {x: self.types[_value(x)] for x in results if _value(x) in self.types}
        kinds |= {x: total.kind for x, total in self.sums.items()}
        if not kinds:
            raise _NotByRows
        starts, nexts = zip(*map(self._carried, range(len(kinds)), kinds.items()))
        carried, places = [_INDEX, *kinds.values()], [*kinds]
        names = lambda stem: [f"%{stem}_{i}" for i in range(len(kinds))]
        typed = lambda stem: ", ".join(
            f"{name}: {kind}" for name, kind in zip([f"%{stem}_index", *names(stem)], carried))
        types = ", ".join(carried)
        lines = [
            "%loop_zero = stablehlo.constant dense<0> : tensor<i32>",
            f"%loop_end = stablehlo.constant dense<{self.parts}> : tensor<i32>",
            "%loop_one = stablehlo.constant dense<1> : tensor<i32>",
            f"%loop_rows = stablehlo.constant dense<{self.part}> : tensor<i32>",
            *starts,
            f'%loop:{len(carried)} = "stablehlo.while"'
            f"({', '.join(['%loop_zero', *names('loop')])}) ({{",
            f"^bb0({typed('test')}):",
            "%loop_goes = stablehlo.compare LT, %test_index, %loop_end, SIGNED : "
            "(tensor<i32>, tensor<i32>) -> tensor<i1>",
            "stablehlo.return %loop_goes : tensor<i1>", "}, {",
            f"^bb0({typed('part')}):",
            "%loop_at = stablehlo.multiply %part_index, %loop_rows : tensor<i32>",
            *(self._slice(x, kind) for x, kind in arguments.items()),
            *map(self._in_loop, self.body),
            "%next_index = stablehlo.add %part_index, %loop_one : tensor<i32>",
            *nexts,
            f"stablehlo.return {', '.join(['%next_index', *names('next')])} : {types}",
            f"}}) : ({types}) -> ({types})"]
        outside = lambda m: f"%loop#{places.index(m[0]) + 1}" if m[0] in kinds else m[0]
        after = [*self.after, f"return {match[1]} : {match[2]}"]
        lines += [_NAME.sub(outside, line) for line in after]
        return [f"    {line.strip()}" for line in lines]

    def _carried(self, i, result):
        """How a result begins, and how a part is added to it."""
        name, kind = result
        if name in self.sums:
            operation, start, _ = self.sums[name]
            return (f"%loop_{i} = stablehlo.broadcast_in_dim {start}, dims = [] : "
                    f"(tensor<{_element(kind)}>) -> {kind}",
                    f"%next_{i} = stablehlo.{operation} %part_{i}, {name} : {kind}")
        at, indices = self._where(kind)
        part = self._in_loop(name)
        return (f"%loop_{i} = {_zeros(kind)}",
                f"%next_{i} = stablehlo.dynamic_update_slice %part_{i}, {part}, {at} : "
                f"({kind}, {self._of_part(kind)}, {indices}) -> {kind}")

    def _slice(self, name, kind):
        """The part of an argument."""
        at, indices = self._where(kind)
        return (f"{name}_part = stablehlo.dynamic_slice {name}, {at}, "
                f"sizes = {[self.part, *_shape(kind)[1:]]} : "
                f"({kind}, {indices}) -> {self._of_part(kind)}")

    def _in_loop(self, line):
        """A line, with the parts of the arguments for the arguments."""
        part = lambda m: f"{m[0]}_part" if m[0] in self.types else m[0]
        return self._of_part(re.sub(r"%arg\d+", part, line))

    def _where(self, kind):
        """The indices at which a part begins, and their types."""
        others = len(_shape(kind)) - 1
        return ", ".join(["%loop_at", *["%loop_zero"] * others]), ", ".join([_INDEX] * (1 + others))
