"""Chapter 6: what the options of `jax.jit` change where a call is an equation, or a program.
"""

from __future__ import annotations

from itertools import compress

from ..checks import jit as checks
from ..core.extension import Extension, register
from ..core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, eval_jaxpr
from ..core.jit import jit_p
from ..core.lowering import used_variables
from ..core.staging import staging_rules, weakref_cache
from ..source import SourceInfo, user_location
from .modules import Asked, DonatingModule, ProgramModule, asked


class _Unspecified:
    """The default of `in_shardings` and `out_shardings`."""

    def __repr__(self):
        return "UnspecifiedValue"


UNSPECIFIED = _Unspecified()

OF_OPERANDS = ("donated_invars", "in_shardings")  # parameters with an entry for each operand

# ----------------------------------------------------------------------------------------------
# Rules of the primitive


def _evaluate(rule, *args, donated_invars=(), inline=False, ctx_mesh=None, placement=None,
              **params):
    """The mesh of the context is for readers of jaxprs. The program runs where its arguments lie,
    and where its own equations say."""
    return rule(*args, more=Asked(donated_invars, placement), **params)


def _stage(trace, args, params):
    """One equation. If the user asked for `inline`, and for no shardings, the equations of the
    function."""
    checks.options_of_whole_programs(params)
    if params.get("inline") and "in_shardings" not in params:
        return eval_jaxpr(_called_here(params["jaxpr"].jaxpr), params["jaxpr"].consts, *args)
    return trace.default_process_primitive(jit_p, args, params)


@weakref_cache
def passing_what_is_read(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr whose calls of jitted functions pass them only what they read."""
    eqns = [_without_unread(eqn) if eqn.primitive is jit_p else eqn for eqn in jaxpr.jaxpr.eqns]
    return ClosedJaxpr(jaxpr.jaxpr.replace(eqns=eqns), jaxpr.consts)


def _without_unread(eqn: JaxprEqn) -> JaxprEqn:
    """The call of a jitted function without the operands that the function does not read."""
    inner = passing_what_is_read(eqn.own_params["jaxpr"])
    used = used_variables(inner.jaxpr)
    read = [v in used for v in inner.jaxpr.invars]
    inner = ClosedJaxpr(inner.jaxpr.replace(invars=[*compress(inner.jaxpr.invars, read)]),
                        inner.consts)
    params = {name: tuple(compress(eqn.own_params[name], read)) for name in OF_OPERANDS
              if name in eqn.own_params}
    return eqn.replace(invars=[*compress(eqn.invars, read)],
                       params=eqn.own_params | params | {"jaxpr": inner})


def _called_here(jaxpr: Jaxpr) -> Jaxpr:
    """The same jaxpr, whose equations come from the line that is running now."""
    location = user_location()
    return jaxpr.replace(eqns=[
        eqn.replace(source_info=SourceInfo(location, eqn.source_info.names))
        if eqn.source_info else eqn for eqn in jaxpr.eqns])


staging_rules[jit_p] = _stage


def _by_operand(rule, params, in_sources, out_sources, shared) -> dict:
    """An operand of a transformed call is donated if the operand that it comes from is donated. If
    the call is split, nothing is, because the other part may need the buffer.

    Tangents and cotangents have the shardings of their primals.
    """
    old = params.get("donated_invars")
    if old is None:  # the core's own `jit` made the call
        return {}
    changed = {"donated_invars": tuple(
        not shared and i is not None and i >= 0 and old[i] for i in in_sources)}
    if "in_shardings" in params:
        ins, outs = params["in_shardings"], params["out_shardings"]
        changed["in_shardings"] = _from_sources(in_sources, ins, outs)
        changed["out_shardings"] = _from_sources(out_sources, outs, ins)
    return changed


def _from_sources(sources, own, others) -> tuple:
    """An entry for each source; those of cotangents are among the `others`."""
    return tuple(UNSPECIFIED if i is None else own[i] if i >= 0 else others[~i] for i in sources)


_rules = {"evaluation": _evaluate, "operands": _by_operand}

# ----------------------------------------------------------------------------------------------
# The extension


class JitOptions(Extension):
    """Jitted functions take all options of `jax.jit`."""

    def rule_of_call(self, kind, primitive, rule, /, *args, **params):
        own = _rules.get(kind) if primitive is jit_p else None
        return rule(*args, **params) if own is None else own(rule, *args, **params)

    def program_module(self, module, jaxpr, spec):
        if not any(asked(spec).donated_invars):
            return ProgramModule(f"jit_{spec.name}")
        module = DonatingModule(jaxpr, spec)
        checks.donations(jaxpr, module.not_donated)
        return module


register(JitOptions())
