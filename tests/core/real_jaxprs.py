"""Real JAX's jaxprs, as text and as our data types, without what minijax leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np

from minijax import core
from minijax.core import jaxpr
from tests.oracle import jax

jex = jax.extend.core

SHARDING = {"sharding", "out_sharding"}
OF_JIT = {
    *("in_shardings", "out_shardings", "in_layouts", "out_layouts"),
    *("ctx_mesh", "compiler_options_kvs"),
}


def plain(value: Any) -> Any:
    """A parameter with `int`s for the NumPy integers that JAX sometimes leaves there."""
    if isinstance(value, np.integer):
        return int(value)
    return type(value)(map(plain, value)) if type(value) in (tuple, list) else value


def jax_text(closed: Any, **options: Any) -> str:
    """JAX's text of a jaxpr; if all parameters are asked for, then without those of shardings."""
    left_out = set() if options.get("custom_pp_eqn_rules", True) else SHARDING
    return _Plain(left_out)(closed).pretty_print(**{"use_color": False} | options)


class _Rebuilt:
    """A copy of a jaxpr in which jaxprs that were one object still are."""

    def __init__(self) -> None:
        self.done: dict[Any, Any] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self, value)) if any(map(_is_jaxpr, value)) else plain(value)
        if not _is_jaxpr(value):
            return plain(value)
        if value not in self.done:
            self.done[value] = self.rebuild(value)
        return self.done[value]

    def params(self, eqn: Any, left_out: set[str]) -> dict[str, Any]:
        return {k: self(v) for k, v in eqn.params.items() if k not in left_out}


def _is_jaxpr(value: Any) -> bool:
    return isinstance(value, jex.Jaxpr | jex.ClosedJaxpr)


class _Plain(_Rebuilt):
    """With `int`s in its parameters, and without some of them."""

    def __init__(self, left_out: set[str]) -> None:
        super().__init__()
        self.left_out = left_out

    def rebuild(self, real: Any) -> Any:
        if isinstance(real, jex.ClosedJaxpr):
            return real.replace(jaxpr=self(real.jaxpr))
        eqns = [eqn.replace(params=self.params(eqn, self.left_out)) for eqn in real.eqns]
        return real.replace(eqns=eqns)


class _Converted(_Rebuilt):
    """Into our data types; the primitives stay JAX's."""

    def __init__(self) -> None:
        super().__init__()
        self.atoms: dict[int, jaxpr.Atom] = {}

    def rebuild(self, real: Any) -> Any:
        if isinstance(real, jex.ClosedJaxpr):
            return jaxpr.ClosedJaxpr(self(real.jaxpr), real.consts)
        constvars, invars = self.all(real.constvars), self.all(real.invars)
        eqns = [self.eqn(eqn) for eqn in real.eqns]
        return jaxpr.Jaxpr(constvars, invars, self.all(real.outvars), eqns)

    def eqn(self, eqn: Any) -> jaxpr.JaxprEqn:
        left_out = SHARDING | OF_JIT
        left_out |= {name for name in ("accuracy", "out_dtype") if eqn.params.get(name) is None}
        params = self.params(eqn, left_out)
        return jaxpr.JaxprEqn(eqn.primitive, self.all(eqn.invars), self.all(eqn.outvars), params,
                              effects=jaxpr.no_effects)

    def all(self, atoms: Any) -> list[Any]:
        return [self.atoms.setdefault(id(a), self.atom(a)) for a in atoms]

    def atom(self, real: Any) -> jaxpr.Atom:
        aval = core.ShapedArray(real.aval.shape, real.aval.dtype, real.aval.weak_type)
        if isinstance(real, jex.Literal):
            return jaxpr.Literal(np.asarray(real.val)[()], aval)
        kind = jaxpr.DropVar if isinstance(real, jex.DropVar) else jaxpr.Var
        return kind(aval)


def converted(closed: Any) -> jaxpr.ClosedJaxpr:
    """A real closed jaxpr as ours."""
    return _Converted()(closed)


def both_texts(f: Any, *args: Any, **options: Any) -> tuple[str, str]:
    """A function's jaxpr as text: ours, and JAX's."""
    real = jax.make_jaxpr(f)(*args)
    return converted(real).pretty_print(**options), jax_text(real, **options)
