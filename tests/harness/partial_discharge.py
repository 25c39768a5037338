"""Chapter 15: some of a jaxpr's references are discharged, and the others stay references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minijax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from minijax.core.primitives import stop_gradient_p
from minijax.core.staging import jaxpr_of, weakref_cache
from minijax.state.discharge import bind_eqn, is_ref_type, run_eqn
from minijax.state.primitives import NO_GRAD, inner_type


@weakref_cache
def discharge_some(jaxpr: ClosedJaxpr, wanted: tuple[bool, ...]) -> ClosedJaxpr:
    """A jaxpr without those references among its arguments that are `wanted`, which returns their
    contents last. The others stay arguments."""
    in_avals = [inner_type(aval) if want else aval for aval, want in zip(jaxpr.in_avals, wanted)]
    kept = {v for v, want in zip(jaxpr.jaxpr.invars, wanted) if not want and is_ref_type(v.aval)}
    return jaxpr_of(lambda *args: _run(jaxpr.jaxpr, jaxpr.consts, args, kept),
                    in_avals, jaxpr.debug_info)


def _run(jaxpr: Jaxpr, consts: Sequence, args: Sequence, kept: set[Var]) -> list:
    """`run_discharged` of a jaxpr whose references `kept` stand for themselves."""
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        values = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        refs = [v for v in eqn.invars if is_ref_type(v.aval) and v not in kept]
        stays = _stays(eqn, refs, kept)
        outs, contents = (bind_eqn(eqn, values), []) if stays else run_eqn(eqn, values)
        for v, x in zip((*eqn.outvars, *refs), (*outs, *contents), strict=True):
            ignored = is_ref_type(v.aval) and v.aval.kind == NO_GRAD
            env[v] = stop_gradient_p.bind(x) if ignored else x
    outs = [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]
    return outs + [env[v] for v in jaxpr.invars if is_ref_type(v.aval) and v not in kept]


def _stays(eqn: JaxprEqn, refs: Sequence, kept: set[Var]) -> bool:
    """Whether an equation takes references, and all of them are kept."""
    takes = any(v in kept for v in eqn.invars if type(v) is not Literal)
    if takes and refs:
        raise NotImplementedError(
            f"{eqn.primitive.name} takes references of which only some are to be discharged. "
            "Discharge them all.")
    return takes
