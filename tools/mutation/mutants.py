"""Mutants of source code: one changed expression each, found in the syntax tree.

A mutant is a replacement of characters, so its text shows what changed, and all other lines keep
their numbers.
"""

from __future__ import annotations

import ast
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ("forward batching transposition lowering_rules primitives partial_eval staging").split()
FILES = [
    *(ROOT / "minijax" / "core" / f"{name}.py" for name in CORE),
    *(path for room in ("lax", "custom_rules", "remat")
      for path in sorted((ROOT / "minijax" / room).rglob("*.py")) if path.name != "__init__.py"),
]


@dataclass(frozen=True)
class Mutant:
    """One change. `scope` names the function it is in; a change outside of functions has none."""

    path: str  # relative to the root
    line: int
    scope: str
    kind: str
    before: str
    after: str
    start: int  # the replaced characters of the file
    end: int
    turn: int = 1  # which one of the same changes of one function

    @property
    def key(self) -> str:
        """What names the change, also after other lines of the file have moved."""
        turn = f" ({self.turn})" if self.turn > 1 else ""
        return f"{self.path} {self.scope or '(module)'}: {self.before} -> {self.after}{turn}"

    def apply(self, text: str) -> str:
        """The file's text with the change."""
        empty = "\n" * text.count("\n", self.start, self.end)
        after = f"({self.after}{empty})" if empty and self.after != "pass" else self.after + empty
        return text[:self.start] + after + text[self.end:]


# --- what is changed into what ---

PAIRS = """add sub, mul div, sin cos, sinh cosh, exp log, expm1 log1p, lt le, gt ge, eq ne, max min,
    maximum minimum, floor ceil, real imag, and_ or_, bitwise_and bitwise_or, logical_and
    logical_or, shift_left shift_right_logical, reduce_max reduce_min, reduce_sum reduce_prod,
    argmax argmin, multiply divide, subtract add, less less_equal, greater greater_equal, any all,
    tan tanh, sqrt square, asin acos, asinh acosh, cummax cummin, cumsum cumprod, zeros ones,
    erf erfc, reduce_and reduce_or, lgamma digamma, igamma igammac, highest lowest,
    triu tril"""
SWAPS: dict[str, str] = {}
for _pair in PAIRS.replace("\n", " ").split(","):
    _one, _other = _pair.split()
    for _suffix in ("", "_p", "_"):
        SWAPS.setdefault(_one + _suffix, _other + _suffix)
        SWAPS.setdefault(_other + _suffix, _one + _suffix)

# f(x, ...) -> x: a dropped negation, conversion, unbroadcast, or movement of elements.
WRAPPERS = set("""neg conj real imag unbroadcast convert convert_element_type _convert emit_convert
    instantiate_zeros instantiate stop_gradient transpose reshape expand_dims squeeze rev abs
    broadcast_in_dim broadcast _spread broadcast_tangent reversed sorted flip copy symmetrize
    _symmetrize moveaxis swapaxes reduce_sum bdim_at_front move_bdim_to_front matchaxis sum tril
    triu _H _T vary_like square sqrt asarray tuple_delete tuple_insert clamp minimum maximum
    reduce_precision promote _promote frozenset set""".split())
# f(x, y) -> f(y, x)
ORDERED = set("""sub div rem pow atan2 lt le gt ge dot complex subtract divide matmul nextafter
    shift_left shift_right_logical merge_lists where select select_n
    concatenate max min dot_general complex_mul igamma igammac""".split())
TERMS = set("add sub mul div add_any add_tangents add_jaxvals".split())
AXES = set("axis dim bdim d dimension index_dim batch_dim split_axis in_dim out_dim".split())
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift, ast.Pow: ast.Mult,
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST, str]]:
    """The changes of one node: what kind, which node is replaced, and its new text."""
    method = _CHANGES.get(type(node))
    if method is not None:
        yield from method(node)


def _call(node: ast.Call):
    name = _name(node.func)
    args = [ast.unparse(x) for x in node.args]
    if not args or any(isinstance(x, ast.Starred) for x in node.args[:2]):
        return
    if name in WRAPPERS:
        yield "dropped call", node, args[0]
    if name == "astype" and isinstance(node.func, ast.Attribute):
        yield "dropped conversion", node, ast.unparse(node.func.value)
    if len(args) > 1 and name in TERMS:
        yield "dropped term", node, args[0]
        yield "dropped term", node, args[1]
    if name.removesuffix("_p") in ORDERED and len(args) > 1:
        yield "swapped operands", node, _with_args(node, args, -1, -2)
    if name == "bind" and _name(getattr(node.func, "value", node)).removesuffix("_p") in ORDERED:
        yield "swapped operands", node, _with_args(node, args, 0, min(1, len(args) - 1))
    if name == "Zero" or name == "from_primal_value":
        yield "zeros for Zero", node, f"instantiate_zeros({ast.unparse(node)})"


def _with_args(node: ast.Call, args: list, i: int, j: int) -> str:
    args = list(args)
    args[i], args[j] = args[j], args[i]
    keywords = [f"{k.arg}={ast.unparse(k.value)}" if k.arg else f"**{ast.unparse(k.value)}"
                for k in node.keywords]
    return f"{ast.unparse(node.func)}({', '.join(args + keywords)})"


def _swapped_name(node: ast.Name | ast.Attribute):
    name = _name(node)
    if name in SWAPS and isinstance(node.ctx, ast.Load):
        text = ast.unparse(node)
        yield "swapped primitive", node, text[: len(text) - len(name)] + SWAPS[name]
    if isinstance(node, ast.Name) and name in AXES and isinstance(node.ctx, ast.Load):
        yield "wrong axis", node, f"({name} + 1)"


def _constant(node: ast.Constant):
    if node.value is True or node.value is False:
        yield "inverted flag", node, str(not node.value)
    elif type(node.value) is int:
        yield "off by one", node, str(node.value + 1)
    elif type(node.value) is float:
        yield "other coefficient", node, repr(node.value * 2 if node.value else 1.0)


def _binop(node: ast.BinOp):
    left, right = f"({ast.unparse(node.left)})", f"({ast.unparse(node.right)})"
    if isinstance(node.left, (ast.Tuple, ast.List)) or any(
            isinstance(getattr(part, "value", None), str) for part in ast.walk(node)):
        return  # a sequence, of which each change is a TypeError; or a text
    if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr)):
        yield "dropped term", node, left
        yield "dropped term", node, right
    if isinstance(node.op, (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)):
        yield "swapped operands", node, ast.unparse(ast.BinOp(node.right, node.op, node.left))
    if type(node.op) in OPERATORS:
        op = OPERATORS[type(node.op)]()
        yield "swapped operator", node, ast.unparse(ast.BinOp(node.left, op, node.right))


def _unaryop(node: ast.UnaryOp):
    if isinstance(node.op, ast.USub):
        yield "sign", node, ast.unparse(node.operand)
    if isinstance(node.op, ast.Not):
        yield "inverted condition", node, ast.unparse(node.operand)


def _compare(node: ast.Compare):
    if len(node.ops) == 1:
        op = COMPARISONS[type(node.ops[0])]()
        yield "comparison", node, ast.unparse(ast.Compare(node.left, [op], node.comparators))


def _boolop(node: ast.BoolOp):
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "and for or", node, ast.unparse(ast.BoolOp(other, node.values))
    for i in range(len(node.values)):
        rest = node.values[:i] + node.values[i + 1:]
        text = ast.unparse(rest[0]) if len(rest) == 1 else ast.unparse(ast.BoolOp(node.op, rest))
        yield "dropped condition", node, text


def _condition(node: ast.If | ast.IfExp):
    yield "inverted condition", node.test, f"not ({ast.unparse(node.test)})"


def _comprehension(node: ast.comprehension):
    for test in node.ifs:
        yield "inverted condition", test, f"not ({ast.unparse(test)})"


def _assign(node: ast.Assign):
    """x = f(x): dropped."""
    if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.value)):
            yield "dropped statement", node.value, name


def _augmented(node: ast.AugAssign):
    yield "dropped statement", node, "pass"


_CHANGES = {
    ast.Call: _call, ast.Name: _swapped_name, ast.Attribute: _swapped_name,
    ast.Constant: _constant, ast.BinOp: _binop, ast.UnaryOp: _unaryop, ast.Compare: _compare,
    ast.BoolOp: _boolop, ast.If: _condition, ast.IfExp: _condition,
    ast.comprehension: _comprehension, ast.Assign: _assign, ast.AugAssign: _augmented,
}  # fmt: skip


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


# --- all mutants of a file ---


class _Finder(ast.NodeVisitor):
    """Visits the rules of a file, and leaves out messages, types, docstrings and checks."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.scope: list[str] = []
        self.names: set[str] = set()
        self.found: list[Mutant] = []

    def visit(self, node: ast.AST) -> None:
        for kind, replaced, new in changes(node):
            self.add(kind, replaced, new)
        super().visit(node)

    def add(self, kind: str, node: ast.AST, new: str) -> None:
        start = self.place(node.lineno, node.col_offset)
        end = self.place(node.end_lineno, node.end_col_offset)
        old = self.text[start:end]
        if kind in ("swapped primitive", "zeros for Zero") and not self.exists(node, new):
            return
        if " ".join(old.split()) == " ".join(new.split()) or '"""' in old:
            return
        if new != "pass" and not new.replace("_", "").replace(".", "").isalnum():
            new = f"({new})"
        self.found.append(Mutant(self.path, node.lineno, ".".join(self.scope), kind,
                                 " ".join(old.split()), new, start, end))

    def place(self, line: int, column: int) -> int:
        """The number of characters before a position whose column counts bytes."""
        start = self.starts[line - 1]
        return start + len(self.text[start:].encode()[:column].decode())

    def exists(self, node: ast.AST, new: str) -> bool:
        """Whether the file can use the new name. (A NameError is caught by any test.)"""
        name = new.partition("(")[0].partition(".")[0]
        if isinstance(node, ast.Attribute):
            return True
        return name in self.names or name in ("any", "all", "max", "min")

    def visit_Module(self, node: ast.Module) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.alias):
                self.names.add(part.asname or part.name)
            elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                self.names.add(part.name)
        for statement in node.body:
            for target in getattr(statement, "targets", ()):
                self.names.update(n.id for n in ast.walk(target) if isinstance(n, ast.Name))
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in ("__repr__", "__str__", "__hash__", "__reduce__"):
            return
        self.scope.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.scope.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.scope.append("<lambda>")
        self.visit(node.body)
        self.scope.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.append(node.name)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                self.visit(statement)
        self.scope.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and self.scope:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING" or all(
                isinstance(s, ast.Raise) for s in node.body):
            for statement in node.orelse:
                self.visit(statement)
        else:
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant) and not _is_check(node.value):
            self.generic_visit(node)

    def leave_out(self, node: ast.AST) -> None:
        """A message, or an import."""

    visit_Raise = visit_Assert = visit_JoinedStr = visit_Import = visit_ImportFrom = leave_out


def _is_check(node: ast.AST) -> bool:
    """Whether a call refuses bad input: those are the business of tests/errors/bad_input."""
    return isinstance(node, ast.Call) and any(
        word in ast.unparse(node.func) for word in ("check", "warn", "record_", "require"))


def mutants_of(path: Path) -> list[Mutant]:
    """All mutants of a file."""
    text = path.read_text()
    finder = _Finder(str(path.relative_to(ROOT)), text)
    finder.visit(ast.parse(text))
    turns = Counter[str]()
    numbered = []
    for mutant in dict.fromkeys(finder.found):
        turns[mutant.key] += 1
        numbered.append(replace(mutant, turn=turns[mutant.key]))
    return numbered


def sample(number: int, seed: int, only: str = "") -> list[Mutant]:
    """Mutants chosen at random, at most one for each kind in a function."""
    found = [m for path in FILES if only in str(path) for m in mutants_of(path)]
    random.Random(seed).shuffle(found)
    chosen: dict[tuple, Mutant] = {}
    for mutant in found:
        chosen.setdefault((mutant.path, mutant.scope, mutant.kind), mutant)
    programs = (m for m in chosen.values() if _is_program(m))
    return list(itertools.islice(programs, number))


def _is_program(mutant: Mutant) -> bool:
    try:
        compile(mutant.apply((ROOT / mutant.path).read_text()), mutant.path, "exec")
    except SyntaxError:
        return False
    return True
