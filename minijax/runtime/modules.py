"""Chapter 6: what modules of programs say besides the operations.

* Each operation has a location, the equation that it came from, for profiles and for readers.
* Large constants are hidden arguments. Their text would be long, and XLA would fold it.
* A result takes the memory of a donated argument of its shape and dtype, if there is one.
* Calls of functions with effects can take other forms (`Extension.lower_call`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.core import ShapedArray
from ..core.extension import hooks, point
from ..core.jaxpr import ClosedJaxpr, JaxprEqn
from ..core.jit import Spec, jit_p
from ..core.lowering import (
    Body,
    LoweredModule,
    Module,
    Value,
    declare,
    stored,
    stored_contents,
    used_variables,
)
from ..text.scopes import NameStack

HOIST_BYTES = 1024  # larger constants become arguments of the program, instead of text


@point
def lower_call(self, ctx: Any, jaxpr: Any, operands: Sequence, name: str) -> Any:
    """The results of a call of `jaxpr`, a jaxpr with effects, as values of the function `ctx`
    that is being lowered; `NotImplemented` for an ordinary call."""
    return NotImplemented


@point
def jaxpr_to_lower(self, jaxpr: Any) -> Any:
    """The jaxpr that is lowered as a program: `jaxpr`, or another one of the same arguments and
    results."""
    return jaxpr


@functools.lru_cache(4096)
def _location(enclosing: str, names: tuple, primitive: str, called: str | None) -> str:
    """The end of the lines of an equation. The name of a `called` function is inside of
    transformations, and a primitive's name is not: `vmap(jit(f))`, `vmap()/sin`."""
    if called is None:
        inner = nested(str(NameStack(names)), _OPERATIONS.get(primitive, primitive))
    else:
        inner = str(NameStack((*names, f"jit({called})")))
    return f' loc("{_unquoted(nested(enclosing, inner))}")'


_OPERATIONS = {"scan": "while"}  # how primitives are called in programs


def _unquoted(name: str) -> str:
    """A name without what ends or escapes text in MLIR."""
    return re.sub(r'["\\\s]', "", name)


def nested(outer: str, inner: str) -> str:
    """One stack of names as text inside of another."""
    return f"{outer}/{inner}" if outer and inner else outer or inner


class ProgramBody(Body):
    """A function of a program.

    Its large constants, `hoisted`, are hidden arguments: callers pass them after the others.
    """

    module: ProgramModule

    def __init__(self, module: Module, name: str, fun_name: str, context: tuple = ()):
        super().__init__(module, name, fun_name, context)
        # The scopes around an equation that is written in place are those of the function and of
        # the equations that it is inside of; `names` are the current equation's own.
        self.enclosing = f"jit({fun_name})" if name == "main" else ""
        self.names: tuple = ()
        self.hoisted: dict[int, Value] = {}  # id of the array (kept by the module) -> argument
        self.is_empty_program = name == "main"

    @property
    def scope(self) -> str:
        """The scopes of the current equation."""
        return nested(self.enclosing, str(NameStack(self.names)))

    def inline(self, closed: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
        outside = self.location, self.enclosing, self.names
        self.enclosing, self.names = nested(self.scope, self.state.pop("scope", "")), ()
        if self.is_empty_program:
            self.is_empty_program = False
            for jaxpr_to_lower in hooks.jaxpr_to_lower:
                closed = jaxpr_to_lower(closed)
        outs = super().inline(closed, operands)
        self.location, self.enclosing, self.names = outside
        return outs

    def rule_of(self, eqn: JaxprEqn) -> Callable:
        self.location = ""
        if self.module.locations:
            self.names = eqn.source_info.names if eqn.source_info else ()
            called = eqn.own_params["name"] if eqn.primitive is jit_p else None
            self.location = _location(self.enclosing, self.names, eqn.primitive.name, called)
        return super().rule_of(eqn)

    def constant_name(self, value: Any, aval: ShapedArray) -> str:
        large = aval.shape and aval.size * stored(aval).dtype.itemsize > HOIST_BYTES
        if large and stored_contents(value, aval).shape == aval.shape:
            return self._hoist(value, aval).name
        return super().constant_name(value, aval)

    def _hoist(self, value, aval):
        """The hidden argument that stands for a large constant."""
        if id(value) not in self.hoisted:
            self.module.hoisted.setdefault(id(value), (value, aval))
            self.hoisted[id(value)] = Value(f"%hoisted{len(self.hoisted)}", aval)
        return self.hoisted[id(value)]

    def hidden_operands(self, callee: ProgramBody) -> list[Value]:
        """The large constants that a call of `callee` must pass."""
        return [self._hoist(*self.module.hoisted[key]) for key in callee.hoisted]

    def call(self, jaxpr: ClosedJaxpr, operands: Sequence[Value], name: str) -> list[Value]:
        for lower_call in hooks.lower_call if jaxpr.effects else ():
            outs = lower_call(self, jaxpr, operands, name)
            if outs is not NotImplemented:
                return outs
        return super().call(jaxpr, operands, name)

    def call_function(self, callee: Body, out_avals: Sequence[ShapedArray],
                      operands: Sequence[Value]) -> list[Value]:
        assert isinstance(callee, ProgramBody)
        operands = [*operands, *self.hidden_operands(callee)]
        return super().call_function(callee, out_avals, operands)

    def text(self, arguments: Sequence[str], results: Sequence[Value], visibility: str) -> str:
        for x in results:
            x.name  # noqa: B018  (a constant is written, or hoisted, when its name is read)
        hidden = map(declare, self.hoisted.values())
        return super().text([*arguments, *hidden], results, visibility)


class ProgramModule(Module):
    """A module of a program.

    `hoisted` has the large constants of all functions. `for_compiler` holds keyword arguments for
    the compiler, which come from lowering rules. If `locations`, operations have them.
    """

    body_class = ProgramBody
    region_class = ProgramBody  # of regions that see no values from outside of them
    donated: tuple[int, ...] = ()

    def __init__(self, name: str, locations: bool = True):
        super().__init__(name)
        self.locations = locations
        self.hoisted: dict[int, tuple[Any, ShapedArray]] = {}
        self.for_compiler: dict[str, Any] = {}

    def argument(self, i: int, x: Value) -> str:
        attributes = ", ".join(self.argument_attributes(i))
        return f"{declare(x)} {{{attributes}}}" if attributes else declare(x)

    def argument_attributes(self, i: int) -> list[str]:
        """What the module says of argument `i` besides its type."""
        return []

    def finish(self, main: Body, kept: tuple[int, ...]) -> LoweredModule:
        assert isinstance(main, ProgramBody)
        hoisted = tuple(self.hoisted[key] for key in main.hoisted)
        return super().finish(main, kept)._replace(
            hoisted=hoisted, donated=self.donated, for_compiler=self.for_compiler)


class Asked(NamedTuple):
    """What else a program depends on: `Spec.more`."""

    donated_invars: tuple[bool, ...] = ()
    placement: Any = None  # for arguments on several devices (chapter 14)


_NOTHING_ASKED = Asked()


def asked(spec: Spec) -> Asked:
    """What was asked of a program, beyond what the core reads."""
    return spec.more or _NOTHING_ASKED


class DonatingModule(ProgramModule):
    """A module in which results take the memory of donated arguments.

    `aliases` maps such an argument to its result. The arguments `not_donated` were offered too, but
    no result has their type.
    """

    def __init__(self, jaxpr: ClosedJaxpr, spec: Spec):
        super().__init__(f"jit_{spec.name}")
        used = used_variables(jaxpr.jaxpr)
        donated_invars = asked(spec).donated_invars
        offered = [i for i, (v, donated) in enumerate(zip(jaxpr.jaxpr.invars, donated_invars))
                   if donated and (spec.keep_unused or v in used)]
        self.aliases = match_donations(offered, jaxpr.in_avals, jaxpr.out_avals)
        self.donated = tuple(self.aliases)
        self.not_donated = tuple(i for i in offered if i not in self.aliases)

    def argument_attributes(self, i: int) -> list[str]:
        return [f"tf.aliasing_output = {self.aliases[i]} : i32"] if i in self.aliases else []


def match_donations(offered, in_avals, out_avals) -> dict[int, int]:
    """Pair donated arguments with results of the same shape and dtype, first come first served."""
    free: dict[tuple, list[int]] = {}
    for number, aval in enumerate(out_avals):
        free.setdefault((aval.shape, aval.dtype), []).append(number)
    aliases = {}
    for i in offered:
        if partners := free.get((in_avals[i].shape, in_avals[i].dtype)):
            aliases[i] = partners.pop(0)
    return aliases
