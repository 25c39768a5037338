"""Chapter 10: the primitive of `checkpoint`. Its name is JAX's, `remat2`.

    jaxpr           the function
    policy          a policy (`policies.py`); `None` saves nothing
    prevent_cse     whether XLA must not merge the recomputation with the forward pass; a bool, or
                    one for each operand
    differentiated  whether this call belongs to the backward pass

Most rules are those of every call of a jaxpr. The rule for partial evaluation makes the difference.
It computes now what depends on known operands alone, outside of the call, and leaves a call of the
unknown part. That call computes the residuals again, from the known operands and from the values
that the policy let us save.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..checks.jaxpr import check_allowed
from ..core import dtypes
from ..core.calls import around, call_rules, calls
from ..core.core import Primitive, typeof
from ..core.forward import Zero
from ..core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun
from ..core.lowering import register_lowering
from ..core.partial_eval import (
    dce_closed,
    default_partial_eval,
    partial_eval_jaxpr,
    partial_eval_rules,
    without_dead_code,
)
from ..core.primitives import ensure_array
from ..core.staging import jaxpr_of, weakref_cache
from ..core.transposition import (
    UndefinedPrimal,
    primitive_transposes,
    project_accums,
    transpose_jaxpr,
)
from ..core.util import merge_lists, partition_list, split_list
from ..lax.control_flow.common import traced_constants_apart
from ..lax.families import inline_in_scope
from ..lax.fewer_bits import bits_of, reduce_precision_p
from ..runtime.effect_sets import remat_allowed_effects
from ..source import named
from .barrier import barrier
from .choice import choose_saved
from .origins import log_saved
from .policies import nothing_saveable


class _Checkpoint(Primitive):
    """The primitive. Tracers among the constants of a transformed function become operands."""

    def bind(self, *args, jaxpr, prevent_cse, **params):
        jaxpr, consts = traced_constants_apart(jaxpr)
        if not isinstance(prevent_cse, bool):
            prevent_cse = (True,) * len(consts) + prevent_cse
        return super().bind(*consts, *args, jaxpr=jaxpr, prevent_cse=prevent_cse, **params)


remat_p = _Checkpoint("remat2", multiple_results=True, memoize_avals=False)


@remat_p.def_impl
def _evaluate(*args, jaxpr, **params):
    return [*map(ensure_array, jaxpr_as_fun(jaxpr)(*args))]


remat_p.def_abstract_eval(lambda *avals, jaxpr, **params: jaxpr.out_avals)


def _flags(prevent_cse, like: Sequence) -> tuple[bool, ...]:
    return (prevent_cse,) * len(like) if isinstance(prevent_cse, bool) else prevent_cse


def _prevent_cse(params, in_sources, out_sources, shared) -> dict:
    """An operand keeps its flag. Tangents, residuals and cotangents are guarded."""
    flags = params["prevent_cse"]
    if isinstance(flags, bool):
        return {}
    is_new = [i is None or i < 0 or i in in_sources[:place] for place, i in enumerate(in_sources)]
    return {"prevent_cse": tuple(new or flags[i] for i, new in zip(in_sources, is_new))}


def _lower(ctx, *operands, jaxpr, prevent_cse, differentiated, policy):
    """Write the equations in place. In the backward pass they come after a barrier, across which
    XLA does not search for work that is done twice."""
    flags = _flags(prevent_cse, operands)
    if differentiated and any(flags):
        free, guarded = partition_list(flags, operands)
        operands = merge_lists(flags, free, barrier(ctx, guarded))
    return inline_in_scope(ctx, "checkpoint", jaxpr, operands)


call_rules(remat_p, "jaxpr", _prevent_cse, own_rules=(partial_eval_rules, primitive_transposes))
register_lowering(remat_p, _lower)

def _transpose(cts, *operands, jaxpr, **params):
    """The call of the transposed jaxpr. A cotangent is as weakly typed there as its result is, as
    in JAX, even if the cotangent of this call is not."""
    kinds, values, in_avals = project_accums(jaxpr, operands)
    ct_avals = tuple(None if type(ct) is Zero else typeof(ct).update(weak_type=v.aval.weak_type)
                     for ct, v in zip(cts, jaxpr.outvars))
    transposed, nonzero_out = transpose_jaxpr(jaxpr, kinds, in_avals, ct_avals)
    linear = [kind is UndefinedPrimal for kind in kinds]
    known, unknown = partition_list(linear, range(len(operands)))
    nonzero_cts = [ct for ct in cts if type(ct) is not Zero]
    outs = iter(remat_p.bind(*values, *nonzero_cts, **calls[remat_p].params(
        params, transposed, [*known, *[None] * len(nonzero_cts)], [None] * sum(nonzero_out))))
    results = [next(outs) if nonzero else Zero(operands[i].aval)
               for i, nonzero in zip(unknown, nonzero_out)]
    return merge_lists(linear, [None] * len(known), results)


primitive_transposes[remat_p] = _transpose

# ----------------------------------------------------------------------------------------------
# Partial evaluation


class _Split(NamedTuple):
    known: ClosedJaxpr  # known arguments -> known results, saved values
    again: ClosedJaxpr  # saved values, arguments used again -> unknown results
    out_unknowns: tuple[bool, ...]
    used_again: list[bool]  # for each argument, whether `again` takes it
    n_saved: int


def _partial_eval(trace, primitive, args, params):
    policy = params["policy"] or nothing_saveable
    check_allowed(params["jaxpr"].effects, remat_allowed_effects,
                  "partial-eval of `checkpoint`/`remat`")
    split = _split(params["jaxpr"], tuple(map(trace.is_unknown, args)), policy)
    known_args = [x for x in args if not trace.is_unknown(x)]
    outs = jaxpr_as_fun(split.known)(*known_args)
    known_outs, saved = split_list(outs, [len(outs) - split.n_saved])
    unknown_outs: list = []
    if any(split.out_unknowns) or split.again.effects:
        operands = [*saved, *partition_list(split.used_again, args)[1]]
        used = partition_list(split.used_again, range(len(args)))[1]
        again = calls[remat_p].params(params, split.again, [*[None] * len(saved), *used], ())
        again["differentiated"] = True
        log_saved(split.known, split.again, split.n_saved, [not trace.is_unknown(args[i])
                                                            for i in used])
        unknown_outs = default_partial_eval(trace, remat_p, operands, again)
    return merge_lists(split.out_unknowns, [*map(ensure_array, known_outs)], unknown_outs)


partial_eval_rules[remat_p] = around("partial evaluation", remat_p, _partial_eval)


@weakref_cache
def _split(jaxpr: ClosedJaxpr, unknowns: tuple, policy: Callable) -> _Split:
    """Split as if all residuals were saved. Then let the policy choose among them."""
    split = partial_eval_jaxpr(jaxpr, unknowns, (False,) * len(jaxpr.outvars))
    known, out_unknowns = split.known, split.out_unknowns
    known_outs, residuals = split_list(known.outvars, [out_unknowns.count(False)])
    eqns, saved, eqns_again = choose_saved(known.jaxpr, residuals, policy)
    recompute = ClosedJaxpr(known.jaxpr.replace(
        invars=[*saved, *known.invars], outvars=residuals, eqns=eqns_again), known.consts)

    def again(*args):
        saved_values, all_args = split_list(args, [len(saved)])
        known_args, unknown_args = partition_list(unknowns, all_args)
        computed = named("rematted_computation", jaxpr_as_fun(recompute))(
            *saved_values, *known_args)
        return jaxpr_as_fun(split.unknown)(*split.residuals(computed, known_args), *unknown_args)

    again_jaxpr = jaxpr_of(again, [*(v.aval for v in saved), *jaxpr.in_avals], jaxpr.debug_info)
    again_jaxpr, used = dce_closed(again_jaxpr, (True,) * len(again_jaxpr.outvars))
    saved_used, args_used = split_list(used, [len(saved)])
    saved = partition_list(saved_used, saved)[1]
    known = ClosedJaxpr(known.jaxpr.replace(outvars=[*known_outs, *saved], eqns=eqns), known.consts)
    known = without_dead_code(known)
    known = ClosedJaxpr(known.jaxpr.replace(eqns=_rounded(known.jaxpr, saved)), known.consts)
    return _Split(known, again_jaxpr, out_unknowns, args_used, len(saved))


def _rounded(jaxpr: Jaxpr, saved: Sequence[Var]) -> list[JaxprEqn]:
    """The equations of a jaxpr. Floats that are saved, and used again, are rounded to their type.

    XLA may keep more bits of a number while it is in use. What is saved has none of them, and both
    passes are to compute with one number.
    """
    used = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is not Literal}
    used.intersection_update(saved)
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        exact = {v: Var(v.aval) for v in eqn.outvars
                 if v in used and dtypes.issubdtype(v.aval.dtype, np.floating)}
        eqns.append(eqn.replace(outvars=[exact.get(v, v) for v in eqn.outvars]))
        eqns += [JaxprEqn(reduce_precision_p, [x], [v], bits_of(v.aval.dtype), eqn.source_info)
                 for v, x in exact.items()]
    return eqns

