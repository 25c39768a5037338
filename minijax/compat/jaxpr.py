"""JAX's names for parts of jaxprs that carry no idea of their own."""

from collections.abc import Callable, Iterator
from typing import Any

from ..checks import jaxpr as checks
from ..core import later
from ..core.core import Primitive, ShapedArray
from ..core.jaxpr import Atom, ClosedJaxpr, EqnContext, Jaxpr, JaxprEqn, Var
from ..source import SourceInfo
from ..text.locations import new_source_info
from .absent import with_absent_names


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
    checks.eqn_context(ctx, JaxprEqn.ctx)
    source_info = source_info or new_source_info()
    return JaxprEqn(primitive, invars, outvars, params, source_info, effects)


def subjaxprs(jaxpr: Jaxpr | ClosedJaxpr) -> Iterator[Jaxpr]:
    """The jaxprs in the parameters of a jaxpr's equations, one level deep."""
    for eqn in jaxpr.eqns:
        yield from eqn._jaxprs()


_absent = with_absent_names("minijax.core")
later.update(gensym=gensym, new_jaxpr_eqn=new_jaxpr_eqn,
             **{name: _absent(name) for name in ("JaxprPpContext", "JaxprPpSettings")})
