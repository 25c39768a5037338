"""Chapter 15: from a program with references to a pure one.

    discharge : (Ref a, b → c)  →  (a, b → c, a)

A discharged program takes the contents of each reference, and also returns the final contents. Each
variable for a reference stands for its contents at this moment. Primitives that contain jaxprs are
discharged inside: a loop carries the contents, and each branch returns them.

The counterpart in JAX is `jax/_src/state/discharge.py`.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..checks.arguments import distinct_references
from ..core.calls import calls
from ..core.core import Primitive, RuleTable, missing_rule, typeof
from ..core.forward import Zero, add_tangents
from ..core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxpr_as_fun, jaxprs_in_params
from ..core.primitives import stop_gradient_p
from ..core.staging import jaxpr_of, weakref_cache
from ..core.util import split_list
from ..custom_rules.common import Named, from_rule
from ..custom_rules.jvp import custom_jvp_call_p
from ..custom_rules.vjp import custom_vjp_call_p
from ..lax.control_flow.cond import cond_p
from ..lax.shaping import copy_p
from ..parallel.programs.shard_map_primitive import _scope_of as scope_of, inside, shard_map_p
from ..parallel.types.varying_axes import varying, varying_axes
from . import checks, primitives as prim
from .effects import places_of_operands
from .indexing import accumulate, read, write
from .primitives import inner_type
from .refs import AbstractRef, is_write, uses_refs


def is_ref_type(aval: Any) -> bool:
    """Whether this is the type of a reference."""
    return type(aval) is AbstractRef


@weakref_cache
def discharge(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The pure program of a jaxpr, which returns the contents of its references last."""
    in_avals = [inner_type(aval) for aval in jaxpr.in_avals]
    return jaxpr_of(lambda *args: run_discharged(jaxpr.jaxpr, jaxpr.consts, args),
                    in_avals, jaxpr.debug_info)


def run_discharged(jaxpr: Jaxpr, consts: Sequence, args: Sequence) -> list:
    """The results of a jaxpr, and the contents of the references among its arguments at the end.

    `args` has the contents of a reference in its place.
    """
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        values = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        refs = [v for v in eqn.invars if is_ref_type(v.aval)]
        outs, contents = run_eqn(eqn, values)
        for v, x in (*zip(eqn.outvars, outs), *zip(refs, contents, strict=True)):
            ignored = getattr(v.aval, "kind", None) == prim.NO_GRAD
            env[v] = stop_gradient_p.bind(x) if ignored else x
    outs = [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]
    return outs + [env[v] for v in jaxpr.invars if is_ref_type(v.aval)]


def written_operands(params: dict, n_args: int) -> list[bool]:
    """Which operands are references that a primitive with jaxprs writes to."""
    flags = [False] * n_args
    for jaxpr in jaxprs_in_params(params):
        written = {effect.input for effect in jaxpr.effects if is_write(effect)}
        for i, v in zip(places_of_operands(jaxpr, params, n_args), jaxpr.invars):
            flags[i] |= v in written
    return flags


def pure_function(fun: Callable, multiple_results: bool) -> Callable:
    """`fun`, a function from arrays to arrays, without the references that it makes."""

    def pure(*args, **params):
        def flat(*args):
            out = fun(*args, **params)
            return [*out] if multiple_results else [out]

        closed = jaxpr_of(flat, [*map(typeof, args)])
        if uses_refs(closed.jaxpr):
            closed = discharge(closed)
        outs = jaxpr_as_fun(closed)(*args)
        return outs if multiple_results else outs[0]

    return pure


def apply_discharged(primitive: Primitive, refs: Sequence, values: Sequence,
                     params: dict) -> tuple[Sequence, Sequence]:
    """The results of a primitive, and the new contents of the references among its operands.

    `refs` has `None` in place of other operands. Contents that are one object are those of one
    reference: its rule can see whether two operands are the same reference.
    """
    contents = {id(ref): x for ref, x in zip(refs, values) if ref is not None}
    holder = {id(x): number for number, x in contents.items()}
    apart = {number: x if holder[id(x)] == number else copy_p.bind(x)
             for number, x in contents.items()}
    values = [x if ref is None else apart[id(ref)] for ref, x in zip(refs, values)]
    return discharge_rules[primitive]([ref is not None for ref in refs], values, params)


def run_eqn(eqn: JaxprEqn, values: Sequence) -> tuple[Sequence, Sequence]:
    """The results of an equation, and the new contents of the references among its operands."""
    refs = [v if is_ref_type(v.aval) else None for v in eqn.invars]
    n_cond = eqn.own_params.get("cond_nconsts", 0)  # a condition may take the same ones
    changed = eqn.invars[n_cond:]
    distinct_references([v.aval for v in changed], eqn.primitive.name, changed)
    if any(refs) or uses_refs(eqn):
        if eqn.primitive not in discharge_rules:
            raise missing_rule(eqn.primitive, "Discharge of references", 15)
        return apply_discharged(eqn.primitive, refs, values, eqn.own_params)
    return bind_eqn(eqn, values), []


def bind_eqn(eqn: JaxprEqn, values: Sequence) -> Sequence:
    """The results of an equation as it is."""
    outs = eqn.primitive.bind(*values, **eqn.own_params)
    return outs if eqn.primitive.multiple_results else [outs]


# primitive -> (is_ref, values, params) -> (results, new contents of the references). `is_ref` says
# which operands are references. In `values`, their contents stand in their places.
discharge_rules: dict[Primitive, Callable] = RuleTable()

# ----------------------------------------------------------------------------------------------
# The primitives on references


def _discharge_get(is_ref, values, params):
    x, *operands = values
    return [read(x, params["tree"], operands)], [x]


def _discharge_swap(is_ref, values, params):
    (x, value, *operands), tree = values, params["tree"]
    return [read(x, tree, operands)], [write(x, tree, operands, value)]


def _discharge_addupdate(is_ref, values, params):
    x, value, *operands = values
    return [], [accumulate(x, params["tree"], operands, value)]


discharge_rules.update({
    prim.new_ref_p: lambda is_ref, values, params: (values, []),
    prim.get_p: _discharge_get,
    prim.swap_p: _discharge_swap,
    prim.addupdate_p: _discharge_addupdate,
    prim.freeze_p: lambda is_ref, values, params: (values, values),
})

# ----------------------------------------------------------------------------------------------
# Calls and branches (the loops are in `loops.py`)


def split_results(outs: Sequence, is_ref: Sequence[bool]) -> list[list]:
    """The results, and the contents that stand after them."""
    return split_list(outs, [len(outs) - sum(is_ref)])


def _discharge_call(call):
    """The call of the discharged jaxpr, which has more results."""

    def rule(is_ref, values, params):
        jaxpr = discharge(params[call.jaxpr_param])
        n_outs = len(jaxpr.outvars) - sum(is_ref)
        in_sources, out_sources = range(len(values)), [*range(n_outs), *[None] * sum(is_ref)]
        with call.inside(params):
            outs = call.primitive.bind(*values, **call.params(
                params, jaxpr, in_sources, out_sources))
        outs, contents = split_results(outs, is_ref)
        refs = [pair for pair, ref in zip(zip(jaxpr.jaxpr.invars, values), is_ref) if ref]
        return outs, [x if out is v else new  # unchanged, and of the type that it has here
                      for (v, x), out, new in zip(refs, jaxpr.jaxpr.outvars[n_outs:], contents)]

    return rule


def _discharge_custom_jvp(is_ref, values, params):
    """The call of the discharged function, with its rule. A function that takes references has
    another signature than its rule; it is only evaluated, and cannot be differentiated any more."""
    changes: dict[str, Any] = {"call_jaxpr": discharge(params["call_jaxpr"])}
    if any(is_ref):
        changes["jvp_jaxpr_fun"] = Named(_refuse_rule, params["jvp_jaxpr_fun"].name)
    return split_results(custom_jvp_call_p.bind(*values, **params | changes), is_ref)


def _refuse_rule(*args, **kwargs):
    raise NotImplementedError(
        "A function with a custom_jvp rule that uses references from outside cannot be "
        "differentiated inside of a jitted function or a loop. Make the reference inside of it.")


def _discharge_custom_vjp(is_ref, values, params):
    """The call of the discharged function, with both parts of its rule discharged."""
    changes: dict[str, Any] = {"call_jaxpr": discharge(params["call_jaxpr"])}
    if any(is_ref):
        changes |= _rules_on_contents(is_ref, **params)
    return split_results(custom_vjp_call_p.bind(*values, **params | changes), is_ref)


def _rules_on_contents(is_ref, *, call_jaxpr, fwd_jaxpr_thunk, bwd, out_trees, **params):
    """`fwd` and `bwd` of a function of references, as rules of the discharged function.

    The map from old to new contents is the identity for `bwd`. So the cotangent of the old ones is
    that of the new ones, and what `bwd` returns for the reference is added to it. A function
    without results has no cotangents for `bwd`, which is not called then.
    """
    n_refs, ref_avals = sum(is_ref), [a for a, ref in zip(call_jaxpr.in_avals, is_ref) if ref]

    def pure_fwd(perturbed, *leaves):
        refs = iter(ref_avals)
        avals = [next(refs) if ref else typeof(x) for x, ref in zip(leaves, is_ref)]
        program = jaxpr_of(functools.partial(fwd_jaxpr_thunk, perturbed), avals,
                           call_jaxpr.jaxpr.debug_info)
        checks.no_residual_references(program.out_avals[:out_trees()[1].num_leaves], is_ref_type)
        return jaxpr_as_fun(discharge(program))(*leaves)

    def pure_bwd(*leaves):
        zeros = [Zero(inner_type(aval).to_cotangent_aval()) for aval in call_jaxpr.in_avals]
        cts = bwd(*leaves[:-n_refs]) if call_jaxpr.out_avals else zeros
        of_contents = iter(leaves[-n_refs:])
        return [add_tangents(from_rule(next(of_contents)), from_rule(ct)) if ref else ct
                for ct, ref in zip(cts, is_ref)]

    return {"fwd_jaxpr_thunk": Named(pure_fwd, fwd_jaxpr_thunk.name),
            "bwd": Named(pure_bwd, bwd.name)}


def _discharge_cond(is_ref, values, params):
    """Each branch returns the contents."""
    branches = tuple(map(discharge, params["branches"]))
    return split_results(cond_p.bind(*values, **params | {"branches": branches}), is_ref)


def _discharge_shard_map(is_ref, values, params):
    """Each device returns its part of the contents, which are put together as they were cut.

    Raises:
      ValueError: the parts of different devices may differ where the specs say that they agree.
    """
    jaxpr, rest = params["jaxpr"], {k: v for k, v in params.items() if k != "jaxpr"}
    specs = [spec for spec, ref in zip(params["in_specs"], is_ref) if ref]
    n_outs, scope = len(jaxpr.out_avals), scope_of(params)

    def body(*args):
        outs = run_discharged(jaxpr.jaxpr, jaxpr.consts, args)
        return outs[:n_outs] + [varying(x, spec.all_axes())
                                for x, spec in zip(outs[n_outs:], specs)]

    with inside(scope):
        pure = jaxpr_of(body, [*map(inner_type, jaxpr.in_avals)], jaxpr.jaxpr.debug_info)
    rest["out_specs"] = (*params["out_specs"], *specs)
    for spec, aval in zip(rest["out_specs"], pure.out_avals):
        checks.contents_agree(spec, aval, varying_axes(aval), scope.check_vma)
    return split_results(shard_map_p.bind(*values, jaxpr=pure, **rest), is_ref)


discharge_rules.update({primitive: _discharge_call(call) for primitive, call in calls.items()
                        if primitive is not shard_map_p})
discharge_rules.update({
    shard_map_p: _discharge_shard_map,
    cond_p: _discharge_cond,
    custom_jvp_call_p: _discharge_custom_jvp,
    custom_vjp_call_p: _discharge_custom_vjp,
})
