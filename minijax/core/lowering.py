"""Chapter 6: how does a jaxpr become a program that XLA can compile?

    lower_jaxpr : a jaxpr (a → b)  →  the text of a StableHLO module (a → b)

Each equation is lowered by the rule of its primitive. The rule writes one line, or a few, and
returns the values that hold the results:

    { lambda a:f32[3]. let b = sin a; c = add b 1.0 in (c,) }

    func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
      %c0 = stablehlo.constant dense<1.0> : tensor<3xf32>
      %0 = stablehlo.sine %arg0 : tensor<3xf32>
      %1 = stablehlo.add %0, %c0 : tensor<3xf32>
      return %1 : tensor<3xf32>
    }

Text needs no MLIR bindings, is built faster than a tree of objects, and can be read. The rules of
the starter primitives are in `lowering_rules.py`; other primitives have theirs in their own files.
The counterpart in JAX is `jax/_src/interpreters/mlir.py`, which builds MLIR objects.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import lowering as checks
from .array import contents
from .core import Primitive, RuleTable, ShapedArray, missing_rule
from .dtypes import float0, issubdtype, storage_dtype
from .jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, live_equations

# ----------------------------------------------------------------------------------------------
# The table of rules

lowering_rules: dict[Primitive, Callable] = RuleTable()


def register_lowering(primitive: Primitive, rule: Callable) -> None:
    """Give a primitive its rule: `(ctx, *operands, **params) -> Value`.

    Operands are `Value`s, `ctx` is the function being written (a `Body`), and `ctx.avals_out`
    holds the avals of the results. With several results, the rule returns a sequence of values.
    """
    lowering_rules[primitive] = rule


# ----------------------------------------------------------------------------------------------
# Types and constants, as text

# The names of element types, by dtype. Later chapters add dtypes.
element_types = {
    "bool": "i1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
}  # fmt: skip


@functools.cache
def element_type(dtype: np.dtype) -> str:
    """`f32`, `i1`, `complex<f64>` …"""
    return element_types[storage_dtype(dtype).name]


def _array_type(aval: ShapedArray) -> str:
    checks.addressable(aval)
    return f"tensor<{''.join(f'{d}x' for d in aval.shape)}{element_type(aval.dtype)}>"


# How each class of abstract values is written. Later chapters add classes.
ir_type_handlers: dict[type, Callable[[Any], str]] = {ShapedArray: _array_type}


@functools.cache
def tensor_type(aval: ShapedArray) -> str:
    """`tensor<2x3xf32>`."""
    return ir_type_handlers[type(aval)](aval)


@functools.cache
def with_shape(aval: ShapedArray, shape: tuple[int, ...]) -> ShapedArray:
    """`aval` with another shape."""
    return ShapedArray(shape, aval.dtype, aval.weak_type)


@functools.cache
def with_dtype(aval: ShapedArray, dtype: np.dtype) -> ShapedArray:
    """`aval` with another element type."""
    return ShapedArray(aval.shape, dtype)


def stored(aval: ShapedArray) -> ShapedArray:
    """The aval that an array of this aval has inside XLA, which has fewer dtypes than we do."""
    dtype = aval.dtype
    return ShapedArray(aval.shape, storage_dtype(dtype)) if dtype.kind == "V" else aval


def stored_contents(x: Any, aval: ShapedArray) -> np.ndarray:
    """The contents of a concrete value, as XLA stores a value of type `aval`."""
    if aval.dtype == float0:  # has no contents
        return np.zeros(aval.shape, np.bool_)
    value = x if isinstance(x, np.generic) else contents(x)[1]
    return np.asarray(value, stored(aval).dtype)


def element_text(value: Any, dtype: np.dtype) -> str:
    """One element inside `dense<…>`, exact to the bit."""
    if dtype == np.bool_:
        return "true" if value else "false"
    if issubdtype(dtype, np.integer):  # also for `int4`, whose `kind` is not "i"
        return str(int(value))
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return f"({element_text(value.real, part)},{element_text(value.imag, part)})"
    return _float_text(dtype.type(value))


def _float_text(value):
    """The shortest decimal that reads back as `value`; infinities and NaNs by their bits."""
    if not np.isfinite(value):
        return f"0x{value.tobytes()[::-1].hex().upper()}"
    text = str(value)
    if type(value)(float(text)) != value:
        text = repr(float(value))
    return text if "." in text else text.replace("e", ".0e") if "e" in text else f"{text}.0"


def dense_text(value: np.ndarray) -> str:
    """The inside of `dense<…>`: nothing, one element for all, nested lists, or the bytes."""
    if not value.size:
        return ""
    flat = value.ravel()
    if value.size == 1 or flat.tobytes() == flat[:1].tobytes() * value.size:
        return element_text(flat[0], value.dtype)
    if value.dtype == np.bool_:
        return str(value.tolist()).lower()
    return f'"0x{flat.tobytes().hex().upper()}"'


# ----------------------------------------------------------------------------------------------
# Values


class Value:
    """An operand or result of a lowering rule: the name of an SSA value, and its aval."""

    __slots__ = ("name", "aval")

    name: str
    aval: ShapedArray

    def __init__(self, name: str, aval: ShapedArray):
        self.name, self.aval = name, aval

    type = property(lambda self: tensor_type(self.aval))


class Constant(Value):
    """A value known at compile time. Its line is written when a rule first asks for its name.

    Often no rule does, because it needs the constant in another shape.
    """

    __slots__ = ("ctx", "value")

    def __init__(self, ctx: Body, value: Any, aval: ShapedArray):
        self.ctx, self.value, self.aval = ctx, value, aval

    name = property(lambda self: self.ctx.constant_name(self.value, self.aval))


# ----------------------------------------------------------------------------------------------
# Functions and modules


class Body:
    """A function while it is being written: rules append their lines to it.

    Its constants stand at the head, each once, where regions inside the function can see them.
    `name` is the function's symbol and `fun_name` its name in Python. Later chapters use `context`
    (the surroundings), `state` (what lowering rules keep) and `location` (the end of each line).
    """

    location = ""

    def __init__(self, module: Module, name: str, fun_name: str, context: tuple = ()):
        self.module, self.name, self.fun_name, self.context = module, name, fun_name, context
        self.state: dict[str, Any] = {}
        self.lines: list[str] = []
        self.constants: dict[str, str] = {}  # right-hand side -> name
        self.avals_out: Sequence[ShapedArray] = ()
        self._count = 0

    def fresh(self) -> str:
        """A name that nothing else in the function has."""
        name = f"%{self._count}"
        self._count += 1
        return name

    def op(self, text: str, aval: ShapedArray) -> Value:
        """Append the operation `text`, with one result of type `aval`."""
        name = self.fresh()
        self.lines.append(f"    {name} = {text}{self.location}")
        return Value(name, aval)

    def ops(self, text: str, avals: Sequence[ShapedArray]) -> list[Value]:
        """Append an operation with any number of results."""
        if not avals:
            self.lines.append(f"    {text}{self.location}")
            return []
        name = self.fresh()
        self.lines.append(f"    {name}:{len(avals)} = {text}{self.location}")
        return [Value(f"{name}#{i}", aval) for i, aval in enumerate(avals)]

    def constant(self, value: Any, aval: ShapedArray) -> Value:
        """A value known at compile time; a scalar stands for all elements of a larger `aval`."""
        return Constant(self, value, aval)

    def constant_name(self, value: Any, aval: ShapedArray) -> str:
        """The name of a constant, whose line is written if this is its first use."""
        dense = dense_text(stored_contents(value, aval))
        text = f"stablehlo.constant dense<{dense}> : {tensor_type(aval)}"
        return self.constants.setdefault(text, f"%c{len(self.constants)}")

    def broadcast(self, x: Value, shape: tuple[int, ...],
                  dims: Sequence[int] | None = None) -> Value:
        """`x` spread over `shape`. Its dimensions become `dims`, by default the first ones."""
        aval = x.aval
        if aval.shape == shape:
            return x
        out = with_shape(aval, shape)
        if type(x) is Constant and not aval.shape:
            return Constant(self, x.value, out)
        text = ints_text(range(aval.ndim) if dims is None else dims)
        return self.op(typed_text("broadcast_in_dim", [x], out, f", dims = {text}"), out)

    def inline(self, closed: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
        """Lower the equations of a jaxpr here, one after the other; returns its results."""
        jaxpr = closed.jaxpr
        consts = [Constant(self, c, v.aval) for v, c in zip(jaxpr.constvars, closed.consts)]
        env: dict[Any, Value] = dict(zip(jaxpr.constvars + jaxpr.invars, [*consts, *operands]))

        def read(atom):
            return Constant(self, atom.val, atom.aval) if type(atom) is Literal else env[atom]

        outside = self.avals_out
        for eqn in live_equations(jaxpr, {*jaxpr.outvars}):
            self.avals_out = [v.aval for v in eqn.outvars]
            outs = self.rule_of(eqn)(self, *map(read, eqn.invars), **eqn.own_params)
            env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
        self.avals_out = outside
        return [read(atom) for atom in jaxpr.outvars]

    def rule_of(self, eqn: JaxprEqn) -> Callable:
        """The lowering rule of an equation that is about to be lowered."""
        try:
            return lowering_rules[eqn.primitive]
        except KeyError:
            raise missing_rule(eqn.primitive, "Lowering", 6) from None

    def call(self, jaxpr: ClosedJaxpr, operands: Sequence[Value], name: str) -> list[Value]:
        """Call the function that holds `jaxpr`, which is written on the first call."""
        return self.call_function(*self.module.function(jaxpr, name, self.context), operands)

    def call_function(self, callee: Body, out_avals: Sequence[ShapedArray],
                      operands: Sequence[Value]) -> list[Value]:
        """Call a function of the module."""
        names = ", ".join(x.name for x in operands)
        types = ", ".join(x.type for x in operands)
        results = ", ".join(map(tensor_type, out_avals))
        return self.ops(f"func.call @{callee.name}({names}) : ({types}) -> ({results})", out_avals)

    def text(self, arguments: Sequence[str], results: Sequence[Value], visibility: str) -> str:
        """The finished function. `arguments` are spelt `%name: type`."""
        names = ", ".join(x.name for x in results)  # can write a constant, so it must come first
        types = ", ".join(x.type for x in results)
        signature = f"@{self.name}({', '.join(arguments)}) -> ({types})"
        constants = [f"    {name} = {text}" for text, name in self.constants.items()]
        head = f"  func.func {visibility} {signature} {{"
        tail = f"    return {names} : {types}" if results else "    return"
        return "\n".join([head, *constants, *self.lines, tail, "  }"])


def declare(x: Value) -> str:
    """An argument at the head of a function: `%arg0: tensor<f32>`."""
    return f"{x.name}: {x.type}"


class Module:
    """A module while it is being written: its functions. `runtime/modules.py` has subclasses."""

    body_class = Body
    attributes = "mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32"

    def __init__(self, name: str):
        self.name = _symbol(name)
        self.functions: list[str] = []
        self._names = {"main"}
        self._called: dict[tuple, tuple[ClosedJaxpr, Body, list[ShapedArray]]] = {}

    def unique(self, name: str) -> str:
        """`name`, or the first of `name_0`, `name_1` … that is free."""
        symbol, free, n = _symbol(name), _symbol(name), 0
        while free in self._names:
            free, n = f"{symbol}_{n}", n + 1
        self._names.add(free)
        return free

    def function(self, jaxpr: ClosedJaxpr, name: str, context: tuple = (),
                 more_avals: Sequence = (), lower: Callable | None = None) -> tuple[Body, list]:
        """The private function of a jaxpr, and its result avals; written on the first call.

        `lower(body, jaxpr, arguments)` appends its lines and returns its results; without it, the
        jaxpr is inlined. The arguments are those of the jaxpr, and more of the types `more_avals`.
        """
        key = id(jaxpr), context
        if key not in self._called:
            body = self.body_class(self, self.unique(name), name, context)
            avals = [*jaxpr.in_avals, *more_avals]
            arguments = [Value(f"%arg{i}", aval) for i, aval in enumerate(avals)]
            results = (lower or self.body_class.inline)(body, jaxpr, arguments)
            self.functions.append(body.text([*map(declare, arguments)], results, "private"))
            self._called[key] = jaxpr, body, [x.aval for x in results]
        return self._called[key][1:]

    def argument(self, i: int, x: Value) -> str:
        """Argument `i` at the head of `@main`."""
        return declare(x)

    def head(self) -> list[str]:
        """The lines before the functions."""
        return [f"module @{self.name} attributes {{{self.attributes}}} {{"]

    def finish(self, main: Body, kept: tuple[int, ...]) -> LoweredModule:
        """The finished module, whose function `main` was written last."""
        return LoweredModule("\n".join([*self.head(), *reversed(self.functions), "}", ""]), kept)


def _symbol(name: str) -> str:
    """`name` with every character replaced that a bare MLIR symbol cannot contain."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name).rstrip("_") or "_"


# ----------------------------------------------------------------------------------------------
# Whole programs


class LoweredModule(NamedTuple):
    """The text of the module of the function `fun_name`, and how to call it.

    Its arguments are those arguments of the jaxpr whose numbers are in `kept`, then the arrays
    `hoisted`. Results take the memory of the arguments in `donated`. The compiler gets the keyword
    arguments `for_compiler`.
    """

    text: str
    kept: tuple[int, ...]
    hoisted: tuple[tuple[Any, ShapedArray], ...] = ()
    donated: tuple[int, ...] = ()
    for_compiler: dict[str, Any] = {}
    fun_name: str = ""


def lower_jaxpr(jaxpr: ClosedJaxpr, name: str, keep_unused: bool = False,
                module: Module | None = None) -> LoweredModule:
    """Lower a jaxpr to a module whose public function is `@main`.

    `name` is the function's; the module is called `jit_<name>` unless an empty `module` is given.
    With `keep_unused`, arguments that no equation reads are passed too.
    """
    checks.effects(jaxpr)
    module = module or Module(f"jit_{name}")
    body = module.body_class(module, "main", name)
    invars = jaxpr.jaxpr.invars
    used = set(invars) if keep_unused else used_variables(jaxpr.jaxpr)
    kept = tuple(i for i, v in enumerate(invars) if v in used)
    arguments = {i: Value(f"%arg{n}", invars[i].aval) for n, i in enumerate(kept)}
    unread = Value("%unread", ShapedArray((), np.dtype(bool)))  # for arguments that are not kept
    results = body.inline(jaxpr, [arguments.get(i, unread) for i in range(len(invars))])
    heads = [module.argument(i, x) for i, x in arguments.items()]
    module.functions.append(body.text(heads, results, "public"))
    return module.finish(body, kept)._replace(fun_name=name)


def used_variables(jaxpr: Jaxpr) -> set:
    """The variables that a live equation reads, or that are results (and literals)."""
    live: set = {*jaxpr.outvars}
    live_equations(jaxpr, live)
    return live


# ----------------------------------------------------------------------------------------------
# What rules are made of. Most primitives have an operation of the same meaning.


def ints_text(values: Sequence[int]) -> str:
    """`[1, 2]`, also of NumPy integers."""
    return str([int(v) for v in values])


def typed_text(op: str, operands: Sequence[Value], out: ShapedArray, options: str = "") -> str:
    """The text of an operation that spells the types of all operands."""
    names = ", ".join(x.name for x in operands)
    types = ", ".join(x.type for x in operands)
    return f"stablehlo.{op} {names}{options} : ({types}) -> {tensor_type(out)}"


# An operation -> its rule for complex numbers, if XLA has no such operation on them, or one that
# loses digits (chapter 9).
complex_ops: dict[Any, Callable] = {}


def nary_rule(op: str) -> Callable:
    """The rule of an operation whose operands and result have one type; scalars are spread."""

    def rule(ctx: Body, *operands: Value, **params) -> Value:
        (out,) = ctx.avals_out
        if out.dtype.kind == "c" and op in complex_ops:
            return complex_ops[op](ctx, *operands)
        shape = out.shape
        names = [x.name if x.aval.shape == shape else ctx.broadcast(x, shape).name
                 for x in operands]
        return ctx.op(f"stablehlo.{op} {', '.join(names)} : {tensor_type(out)}", out)

    return rule


def cast_rule(op: str) -> Callable:
    """The rule of a unary operation with a result of another type."""

    def rule(ctx: Body, x: Value, **params) -> Value:
        (out,) = ctx.avals_out
        return ctx.op(typed_text(op, [x], out), out)

    return rule


def emit(ctx: Body, op: str, *operands: Value, out: ShapedArray | None = None) -> Value:
    """Append an elementwise operation on operands of one shape. By default, the result has the
    type of the first operand.
    """
    out = operands[0].aval if out is None else out
    names = ", ".join(x.name for x in operands)
    return ctx.op(f"stablehlo.{op} {names} : {tensor_type(out)}", out)


def comparison_kind(dtype: np.dtype) -> str:
    """How elements of this type are compared."""
    is_a = functools.partial(issubdtype, storage_dtype(dtype))
    return "SIGNED" if is_a(np.signedinteger) else "FLOAT" if is_a(np.inexact) else "UNSIGNED"


def compare(ctx: Body, direction: str, x: Value, y: Value) -> Value:
    """Append a comparison of operands of one type; `direction` is EQ, NE, LT, LE, GT or GE."""
    out = with_dtype(x.aval, np.dtype(bool))
    kind = comparison_kind(x.aval.dtype)
    types = f"({x.type}, {x.type}) -> {tensor_type(out)}"
    return ctx.op(f"stablehlo.compare {direction}, {x.name}, {y.name}, {kind} : {types}", out)


def convert(ctx: Body, x: Value, dtype: np.dtype) -> Value:
    """Append a conversion. The conversion to booleans compares each element with zero."""
    if dtype == np.bool_ and x.aval.dtype != np.bool_:
        return compare(ctx, "NE", x, ctx.constant(0, x.aval))
    out = with_dtype(x.aval, dtype)
    return ctx.op(typed_text("convert", [x], out), out)


def emit_cast(ctx: Body, op: str, x: Value, dtype: np.dtype) -> Value:
    """Append a unary operation with a result of element type `dtype`."""
    out = with_dtype(x.aval, dtype)
    return ctx.op(typed_text(op, [x], out), out)
