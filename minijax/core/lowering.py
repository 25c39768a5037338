"""Chapter 6: from jaxprs to StableHLO, the language that XLA compiles.

A jaxpr becomes the text of a module. Each equation is lowered by the rule of its primitive, which
writes a line or a few and says which values hold the results:

    { lambda a:f32[3]. let b = sin a; c = add b 1.0 in (c,) }

    func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
      %c0 = stablehlo.constant dense<1.0> : tensor<3xf32>
      %0 = stablehlo.sine %arg0 : tensor<3xf32>
      %1 = stablehlo.add %0, %c0 : tensor<3xf32>
      return %1 : tensor<3xf32>
    }

Text needs no MLIR bindings, is quicker to build than a tree of objects, and can be read. This file
holds the machinery; the rules are in `lowering_rules.py`, except those of primitives that have a
file to themselves.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .core import Primitive, ShapedArray, missing_rule
from .dtypes import ExtendedDType, float0, storage_dtype
from .effects import is_ordered, lowerable_effects, ordered_effects
from .jaxpr import ClosedJaxpr, Jaxpr, Literal
from .staging import trace_to_jaxpr

# ----------------------------------------------------------------------------------------------
# The table of rules.

lowering_rules: dict[Primitive, Callable] = {}


def register_lowering(primitive: Primitive, rule: Callable) -> None:
    """Give a primitive its rule: `(ctx, *operands, **params) -> Value`.

    Operands are `Value`s, `ctx` the function being written (`Body`), `ctx.avals_out` the types of
    the results. A primitive with several results returns a sequence of values.
    """
    lowering_rules[primitive] = rule


def lower_fun(fun: Callable, multiple_results: bool = False) -> Callable:
    """A rule made of a function on arrays: its jaxpr is lowered in place of the primitive."""

    def rule(ctx, *operands, **params):
        in_avals = tuple(x.aval.update(vma=()) for x in operands)  # here all are alike
        jaxpr = trace_to_jaxpr(lambda *xs: _as_list(fun(*xs, **params), multiple_results), in_avals)
        outs = ctx.inline(jaxpr, operands)
        return outs if multiple_results else outs[0]

    return rule


def _as_list(out, multiple_results):
    return list(out) if multiple_results else [out]


# ----------------------------------------------------------------------------------------------
# Types and constants, as text.

_ELEMENT_TYPES = {
    "bool": "i1",
    "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint4": "ui4", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU",
}  # fmt: skip


@functools.cache
def element_type(dtype: np.dtype) -> str:
    """`f32`, `i1`, `complex<f64>` … (`float0` has no contents: any type serves)."""
    return _ELEMENT_TYPES[storage_dtype(dtype).name]


class _TokenType:
    """The type of the value that is passed from one ordered effect to the next: no array."""

    shape = ()


TOKEN: Any = _TokenType()


@functools.cache
def tensor_type(aval: ShapedArray) -> str:
    """`tensor<2x3xf32>`."""
    if aval is TOKEN:
        return "!stablehlo.token"
    return f"tensor<{''.join(f'{d}x' for d in aval.shape)}{element_type(aval.dtype)}>"


@functools.cache
def with_shape(aval: ShapedArray, shape: tuple[int, ...]) -> ShapedArray:
    """`aval` with another shape."""
    return ShapedArray(shape, aval.dtype, aval.weak_type)


@functools.cache
def with_dtype(aval: ShapedArray, dtype: np.dtype) -> ShapedArray:
    """`aval` with another element type."""
    return ShapedArray(aval.shape, dtype)


def element_text(value: Any, dtype: np.dtype) -> str:
    """One element inside `dense<…>`, exact to the bit."""
    if dtype == np.bool_:
        return "true" if value else "false"
    if dtype.kind in "iu":
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
# Values and function bodies.


class Value:
    """What a rule is handed and hands back: the name of an SSA value, and its type."""

    __slots__ = ("name", "aval")

    name: str
    aval: ShapedArray

    def __init__(self, name: str, aval: ShapedArray):
        self.name, self.aval = name, aval

    @property
    def type(self) -> str:
        return tensor_type(self.aval)


class Constant(Value):
    """A value known now. Its line is written when its name is first asked for: often it never
    is, because a rule wants the constant in another shape."""

    __slots__ = ("ctx", "value")

    def __init__(self, ctx: Body, value: Any, aval: ShapedArray):
        self.ctx, self.value, self.aval = ctx, value, aval

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.ctx.constant_name(self.value, self.aval)


HOIST_BYTES = 1024  # constants larger than this are handed over as arguments, not spelt out


class Body:
    """A function while it is being written: rules append their lines to it.

    Constants stand at its head, each once, where regions inside it can see them too. Large ones
    become hidden arguments (`hoisted`), which callers have to pass on.
    """

    def __init__(self, module: Module, name: str, function_name: str, manual: tuple = (None, ())):
        self.module = module
        self.name = name
        self.mesh, self.manual_axes = manual  # chapter 14: of the `shard_map` around
        self.scope = "jit(" + re.sub(r'["\\\s]', "", function_name) + ")"
        self.lines: list[str] = []
        self.constants: dict[str, str] = {}  # right-hand side -> name
        self.hoisted: dict[int, Value] = {}  # id of the array (kept by the module) -> argument
        self.avals_out: Sequence[ShapedArray] = ()
        self.location = ""
        self.token: Value | None = None  # of the last ordered effect
        self._count = 0

    def fresh(self) -> str:
        """A name that nothing else in the function has."""
        name = f"%{self._count}"
        self._count += 1
        return name

    def op(self, text: str, aval: ShapedArray) -> Value:
        """Append the operation `text`, with one result of type `aval`."""
        name = f"%{self._count}"
        self._count += 1
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
        """A value known now; a scalar stands for all elements of a larger `aval`."""
        return Constant(self, value, aval)

    def constant_name(self, value, aval) -> str:
        """The name of a constant, whose line is written if this is its first use."""
        if isinstance(aval.dtype, ExtendedDType):
            value = value._numpy() if hasattr(value, "_numpy") else value
            aval = ShapedArray(aval.shape, aval.dtype.storage)
        if aval.dtype == float0:
            dense = "false"
        elif isinstance(value, (bool, int, float, complex, np.generic)):
            dense = element_text(value, aval.dtype)
        else:
            array = np.asarray(value, aval.dtype)
            if array.nbytes > HOIST_BYTES and array.shape == aval.shape:
                return self._hoist(value, aval).name
            dense = dense_text(array)
        text = f"stablehlo.constant dense<{dense}> : {tensor_type(aval)}"
        return self.constants.setdefault(text, f"%c{len(self.constants)}")

    def _hoist(self, value, aval):
        """The hidden argument that stands for a large constant."""
        if id(value) not in self.hoisted:
            self.module.hoisted.setdefault(id(value), (value, aval))
            self.hoisted[id(value)] = Value(f"%hoisted{len(self.hoisted)}", aval)
        return self.hoisted[id(value)]

    def broadcast(self, x: Value, shape: tuple[int, ...]) -> Value:
        """`x` spread over `shape`: it has that shape, or rank 0, or dimensions of size 1."""
        aval = x.aval
        if aval.shape == shape:
            return x
        out = with_shape(aval, shape)
        if type(x) is Constant and not aval.shape:
            return Constant(self, x.value, out)
        dims = list(range(aval.ndim))
        text = f"stablehlo.broadcast_in_dim {x.name}, dims = {dims}"
        return self.op(f"{text} : ({tensor_type(aval)}) -> {tensor_type(out)}", out)

    def inline(self, jaxpr: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
        """Lower the equations of `jaxpr` here; returns its results."""
        saved = self.avals_out, self.location
        outs = _lower_equations(self, jaxpr, live_equations(jaxpr.jaxpr), operands)
        self.avals_out, self.location = saved
        return outs

    def call(self, jaxpr: ClosedJaxpr, operands: Sequence[Value], name: str) -> list[Value]:
        """Call the function that holds `jaxpr`, which is written on the first call."""
        function, outs = self.module.function(jaxpr, name, (self.mesh, self.manual_axes))
        hidden = [self._hoist(*self.module.hoisted[key]) for key in function.hoisted]
        if is_ordered(jaxpr.effects):
            *results, self.token = self._call(
                function, [*operands, self.ordered_token(), *hidden], [*outs, TOKEN])
            return results
        return self._call(function, [*operands, *hidden], outs)

    def _call(self, function, values, outs):
        names = ", ".join(x.name for x in values)
        types = ", ".join(x.type for x in values)
        results = ", ".join(map(tensor_type, outs))
        return self.ops(f"func.call @{function.name}({names}) : ({types}) -> ({results})", outs)

    def ordered_token(self) -> Value:
        """The token that the next ordered effect has to take. (Its result is to become `token`.)

        To be called outside of a region before it is written, if the region has ordered effects.
        """
        if self.token is None:
            self.token = self.op("stablehlo.create_token : !stablehlo.token", TOKEN)
        return self.token

    def text(self, arguments: Sequence[str], results: Sequence[Value], visibility: str) -> str:
        """The finished function. `arguments` are spelt `%name: type`."""
        names = ", ".join(x.name for x in results)  # may write a constant: before those are listed
        arguments = [*arguments, *(f"{x.name}: {x.type}" for x in self.hoisted.values())]
        types = ", ".join(x.type for x in results)
        signature = f"@{self.name}({', '.join(arguments)}) -> ({types})"
        constants = [f"    {name} = {text}" for text, name in self.constants.items()]
        head = f"  func.func {visibility} {signature} {{"
        tail = f"    return {names} : {types}" if results else "    return"
        return "\n".join([head, *constants, *self.lines, tail, "  }"])


class Module:
    """A module while it is being written: its functions, and the constants they had hoisted."""

    def __init__(self, name: str, locations: bool = False, devices: Sequence = ()):
        self.name = _symbol(name)
        self.locations = locations
        self.devices = devices  # those that run it, if there are several
        self.symbols: dict[str, str] = {}  # what is declared at the head -> its name
        self.functions: list[str] = []
        self.hoisted: dict[int, tuple[Any, ShapedArray]] = {}
        self.callbacks: list[Callable] = []  # the Python functions that it calls, by number
        self._names = {"main"}
        self._called: dict[tuple, tuple[ClosedJaxpr, Body, list[ShapedArray]]] = {}

    def unique(self, name: str) -> str:
        """`name`, or the first of `name_0`, `name_1` … that is free."""
        symbol, free, n = _symbol(name), _symbol(name), 0
        while free in self._names:
            free, n = f"{symbol}_{n}", n + 1
        self._names.add(free)
        return free

    def add_callback(self, function: Callable) -> int:
        """The number of a Python function that the program calls (chapter 15)."""
        self.callbacks.append(function)
        return len(self.callbacks) - 1

    def function(
        self, jaxpr: ClosedJaxpr, name: str, manual: tuple = (None, ())
    ) -> tuple[Body, list[ShapedArray]]:
        """The private function of a jaxpr, and its result types; written on the first call."""
        key = id(jaxpr), manual
        if key not in self._called:
            body = Body(self, self.unique(name), name, manual)
            arguments = [Value(f"%arg{i}", v.aval) for i, v in enumerate(jaxpr.jaxpr.invars)]
            if is_ordered(jaxpr.effects):
                body.token = Value("%token", TOKEN)
            tokens = [] if body.token is None else [body.token]
            results = _lower_equations(body, jaxpr, live_equations(jaxpr.jaxpr), arguments)
            heads = [f"{x.name}: {x.type}" for x in arguments + tokens]
            tokens = [] if body.token is None else [body.token]
            self.functions.append(body.text(heads, results + tokens, "private"))
            self._called[key] = jaxpr, body, [x.aval for x in results]
        return self._called[key][1:]

    def declare(self, name: str, text: str) -> str:
        """The symbol of what is declared as `text`, once, at the head of the module."""
        if text not in self.symbols:
            self.symbols[text] = self.unique(name)
        return self.symbols[text]

    def text(self) -> str:
        """The finished module."""
        attributes = (f"mhlo.num_partitions = {max(1, len(self.devices))} : i32, "
                      "mhlo.num_replicas = 1 : i32")
        head = f"module @{self.name} attributes {{{attributes}}} {{"
        symbols = [f"  {text.replace('@', '@' + name, 1)}" for text, name in self.symbols.items()]
        return "\n".join([head, *symbols, *reversed(self.functions), "}", ""])


def _symbol(name: str) -> str:
    """`name` with every character that MLIR would not have in a bare symbol replaced."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name).rstrip("_") or "_"


# ----------------------------------------------------------------------------------------------
# Equations.


def _lower_equations(
    ctx: Body, closed: ClosedJaxpr, equations: Sequence, operands: Sequence[Value]
) -> list[Value]:
    """Lower the live `equations` of a jaxpr into `ctx`, one after the other: no recursion."""
    jaxpr = closed.jaxpr
    env: dict[Any, Value] = {
        v: Constant(ctx, c, v.aval) for v, c in zip(jaxpr.constvars, closed.consts)
    }
    env.update(zip(jaxpr.invars, operands))

    def read(atom):
        return Constant(ctx, atom.val, atom.aval) if type(atom) is Literal else env[atom]

    locations = ctx.module.locations
    for eqn in equations:
        primitive, outvars = eqn.primitive, eqn.outvars
        if locations:
            stack = eqn.source_info.name_stack if eqn.source_info else ""
            scope = f"{ctx.scope}/{stack}" if stack else ctx.scope
            ctx.location = f' loc("{scope}/{primitive.name}")'
        ctx.avals_out = [v.aval for v in outvars]
        try:
            rule = lowering_rules[primitive]
        except KeyError:
            raise missing_rule(primitive, "Lowering", 6) from None
        outs = rule(ctx, *map(read, eqn.invars), **eqn.params)
        if primitive.multiple_results:
            env.update(zip(outvars, outs))
        else:
            env[outvars[0]] = outs
    return [read(atom) for atom in jaxpr.outvars]


def live_equations(jaxpr: Jaxpr) -> list:
    """The equations that a result depends on, or that have effects, in order."""
    needed = set(jaxpr.outvars)
    live = []
    for eqn in reversed(jaxpr.eqns):
        if not needed.isdisjoint(eqn.outvars) or eqn.effects:
            needed.update(eqn.invars)
            live.append(eqn)
    return live[::-1]


# ----------------------------------------------------------------------------------------------
# Whole programs.


@dataclass(frozen=True)
class LoweredModule:
    """The text of a module, and how to call it.

    Its arguments are those of the jaxpr numbered in `kept`, then the arrays `hoisted`. A result
    takes the memory of the arguments numbered in `donated`; for those in `not_donated`, which were
    offered too, there is none of their type. The program calls the Python functions `callbacks`.
    """

    text: str
    kept: tuple[int, ...]
    hoisted: tuple[tuple[Any, ShapedArray], ...]
    donated: tuple[int, ...]
    not_donated: tuple[int, ...]
    callbacks: tuple[Callable, ...] = ()
    effects: frozenset = frozenset()


def lower_jaxpr(jaxpr: ClosedJaxpr, name: str, donated: Sequence[bool] = (),
                keep_unused: bool = False, locations: bool = False, devices: Sequence = (),
                attributes: Callable | None = None) -> LoweredModule:
    """Lower a jaxpr to a module whose public function is `@main`.

    Args:
      jaxpr: the program.
      name: of the function; the module is called `jit_<name>`.
      donated: for each argument whether its memory may be reused for a result.
      keep_unused: pass also the arguments that no equation reads.
      locations: note at each operation which equation it came from.
      devices: those that run it, if there are several: XLA makes a program for each.
      attributes: chapter 14 says with it how the arguments lie on them: a function of the module
        and the number of an argument.

    Raises:
      NotImplementedError: a primitive has no lowering rule; it names it.
      ValueError: there is an effect that XLA cannot have.
    """
    if unknown := lowerable_effects.filter_not_in(jaxpr.effects):
        raise ValueError(f"Cannot lower jaxpr with effects: {unknown}")
    if devices and (ordered := ordered_effects.filter_in(jaxpr.effects)):
        raise ValueError(f"Several devices cannot have effects in order: {ordered}")
    module = Module(f"jit_{name}", locations, devices)
    body = Body(module, "main", name)
    invars, outvars = jaxpr.jaxpr.invars, jaxpr.jaxpr.outvars
    equations = live_equations(jaxpr.jaxpr)
    used = set(invars) if keep_unused else used_variables(jaxpr.jaxpr, equations)
    kept = tuple(i for i, v in enumerate(invars) if v in used)
    arguments = {i: Value(f"%arg{n}", invars[i].aval) for n, i in enumerate(kept)}
    unread = Value("%unread", ShapedArray((), np.bool_))
    results = _lower_equations(
        body, jaxpr, equations, [arguments.get(i, unread) for i in range(len(invars))]
    )
    offered = [i for i in kept if donated and donated[i]]
    aliases = match_donations(offered, invars, [v.aval for v in outvars])
    notes = {i: [f"tf.aliasing_output = {alias} : i32"] for i, alias in aliases.items()}
    if attributes:
        for i in kept:
            notes.setdefault(i, []).extend(attributes(module, i))
    heads = [_argument_head(x, notes.get(i)) for i, x in arguments.items()]
    module.functions.append(body.text(heads, results, "public"))
    hoisted = tuple(module.hoisted[key] for key in body.hoisted)
    not_donated = tuple(i for i in offered if i not in aliases)
    return LoweredModule(module.text(), kept, hoisted, tuple(aliases), not_donated,
                         tuple(module.callbacks), jaxpr.effects)


def _argument_head(x: Value, notes: list[str] | None) -> str:
    """An argument of `@main`, with attributes, as which result may take its memory."""
    return f"{x.name}: {x.type}" + (f" {{{', '.join(notes)}}}" if notes else "")


def used_variables(jaxpr: Jaxpr, equations: Sequence) -> set:
    """The variables that one of the `equations` reads, or that are results (and literals)."""
    return set(jaxpr.outvars).union(*(eqn.invars for eqn in equations))


def match_donations(offered, invars, out_avals) -> dict[int, int]:
    """Pair donated arguments with results of the same shape and dtype, first come first served."""
    free: dict[tuple, list[int]] = {}
    for number, aval in enumerate(out_avals):
        free.setdefault((aval.shape, aval.dtype), []).append(number)
    aliases = {}
    for i in offered:
        if partners := free.get((invars[i].aval.shape, invars[i].aval.dtype)):
            aliases[i] = partners.pop(0)
    return aliases
