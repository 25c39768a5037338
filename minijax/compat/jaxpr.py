"""JAX's names for parts of jaxprs that carry no idea of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..checks import jaxpr as checks
from ..core import later
from ..core.core import Primitive, ShapedArray, install_methods
from ..core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from ..core.tree import _HashableCallableShim
from ..printing import Printer, PrintOptions, source_of
from ..source import SourceInfo, new_source_info


class EqnContext:
    """The settings under which an equation is evaluated. There are no such settings in minijax:
    notes for the compiler are in an equation's `source_info`."""

    __slots__ = ()
    manager = contextlib.nullcontext()
    compute_type = xla_metadata = None
    threefry_partitionable, remove_size_one_mesh_axis = True, False


def gensym() -> Callable[[ShapedArray], Var]:
    """A function that makes fresh variables.

    >>> newvar = gensym()
    >>> newvar(jax.typeof(1.0)) == newvar(jax.typeof(1.0))
    False
    """
    return Var


def new_jaxpr_eqn(invars: list[Atom], outvars: list[Var], primitive: Primitive,
                  params: dict[str, Any], effects: frozenset | None = None,
                  source_info: SourceInfo | None = None, ctx: EqnContext | None = None) -> JaxprEqn:
    """An equation, with JAX's order of arguments. By default it comes from the caller's line.

    >>> x, y = Var(jax.typeof(1.0)), Var(jax.typeof(1.0))
    >>> new_jaxpr_eqn([x], [y], jax.lax.sin_p, {})
    a:f32[] = sin b
    """
    checks.eqn_context(ctx, no_context)
    source_info = source_info or new_source_info()
    return JaxprEqn(primitive, invars, outvars, params, source_info, effects)


def subjaxprs(jaxpr: Jaxpr | ClosedJaxpr) -> Iterator[Jaxpr]:
    """The jaxprs in the parameters of a jaxpr's equations, one level deep."""
    for eqn in jaxpr.eqns:
        yield from eqn._jaxprs()


def map_jaxpr(self: ClosedJaxpr, f: Callable[[Jaxpr], Jaxpr]) -> ClosedJaxpr:
    """`f` of the jaxpr, closed by the same constants."""
    return ClosedJaxpr(f(self.jaxpr), self.consts)


def hash_of_literal(self: Literal) -> int | None:
    """A hash of the value, or `None` if the value has none. (Literals hash by identity.)"""
    return None if np.shape(self.val) else hash((np.asarray(self.val).item(), self.aval))


class JaxprPpSettings(NamedTuple):
    """What the text of a jaxpr shows."""

    print_shapes: bool = True
    source_info: bool = False
    name_stack: bool = False
    custom_pp_eqn_rules: bool = True
    print_effects: bool = False

    def options(self) -> PrintOptions:
        """The same, in the words of our printer."""
        note = source_of if self.source_info else lambda eqn: None
        return PrintOptions(self.print_shapes, self.name_stack, self.custom_pp_eqn_rules, note,
                            self.print_effects)


class JaxprPpContext(Printer):
    """The names of the variables in a text. A variable gets its name when it is first printed."""

    def __init__(self, var_names: Mapping[Var, str] | None = None):
        super().__init__(PrintOptions())
        self.var_names.update(var_names or {})


def _private(name: str) -> property:
    """The attribute `name` under JAX's private name for it, which tests of jaxprs write to."""
    return property(attrgetter(name), lambda self, value: setattr(self, name, value))


def equals_function(self: _HashableCallableShim, other: object) -> bool:
    """Whether the callable is the other one, which may be hidden in the same way."""
    return self.fun == (other.fun if isinstance(other, _HashableCallableShim) else other)


no_context = EqnContext()
literals = property(attrgetter("consts"), doc="Another name of `consts`.")
install_methods({"ctx": no_context}, JaxprEqn)
install_methods({"hash": property(hash_of_literal)}, Literal)
install_methods({"literals": literals, "map_jaxpr": map_jaxpr}, ClosedJaxpr)
install_methods({"args": property(lambda self: self.fun.args), "__eq__": equals_function,
                 "__hash__": lambda self: hash(self.fun)}, _HashableCallableShim)
install_methods({f"_{name}": _private(name) for name in Jaxpr.__slots__}, Jaxpr)
later.update(gensym=gensym, new_jaxpr_eqn=new_jaxpr_eqn, JaxprPpContext=JaxprPpContext,
             JaxprPpSettings=JaxprPpSettings)
