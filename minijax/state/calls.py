"""Chapter 15: the rules of loops, branches and calls that use references.

Under a transformation, such a primitive is discharged, and what is transformed is the pure one:

    loop(ref, x)   =   out, contents = pure_loop(ref[...], x);  ref[...] = contents

So there is no other rule for loops over references than this equation.
"""

from collections.abc import Callable, Sequence

from ..core.batching import BatchTracer, batch_subtrace
from ..core.core import Primitive, set_current_trace, state
from ..core.extension import Extension, register
from ..core.forward import JVPTracer, Zero, jvpfun
from ..core.jaxpr import jaxprs_in_params
from ..core.jit import jit_p
from ..core.partial_eval import JaxprTrace
from ..custom_rules.vjp import custom_vjp_call_p
from ..lax.control_flow.cond import cond_p
from ..lax.control_flow.scan import scan_p
from ..lax.control_flow.while_loop import has_own_lengths, while_p
from ..remat.primitive import remat_p
from .discharge import apply_discharged, written_operands
from .loops import condition_writes
from .primitives import contents_of, inner_type, swap_p
from .refs import MADE, is_ref, uses_refs


def _innermost(ref):
    """The reference itself: each rule of a transformation packs it anew for each operand."""
    while isinstance(ref, JVPTracer | BatchTracer):
        ref = ref.primal if isinstance(ref, JVPTracer) else ref.val
    return ref


def discharged(primitive: Primitive, params: dict) -> Callable:
    """The function of references and arrays that applies a primitive by its pure counterpart."""

    def fun(*args):
        refs = [_innermost(x) if is_ref(x) else None for x in args]
        held = {id(ref): contents_of(x) for ref, x in zip(refs, args)}
        values = [x if ref is None else held[id(ref)] for ref, x in zip(refs, args)]
        outs, contents = apply_discharged(primitive, refs, values, params)
        operands = [(x, w) for x, w in zip(args, written_operands(params, len(args))) if is_ref(x)]
        for (ref, is_written), new in zip(operands, contents, strict=True):
            if is_written:
                swap_p.bind(ref, new, tree=())
        return outs

    return fun


def _has_refs(params: dict) -> bool:
    return any(jaxpr.effects and uses_refs(jaxpr) for jaxpr in jaxprs_in_params(params))


def _makes_refs(params: dict) -> bool:
    return any(jaxpr.effects >= MADE for jaxpr in jaxprs_in_params(params))


def _keeps_refs(primitive: Primitive, params: dict) -> bool:
    """Whether linearization, partial evaluation and transposition enter with the references.

    A body that makes references is discharged. Partial evaluation would have to know in advance
    which of these references will ever hold something unknown.
    """
    return primitive in (scan_p, cond_p) and not _makes_refs(params)


def _differentiates_refs(primitive: Primitive, params: dict) -> bool:
    """Whether the JVP enters with the references. The linear part of a call can make some."""
    forward_only = (primitive is while_p and not isinstance(state.trace, JaxprTrace)
                    and not condition_writes(params))
    return primitive is jit_p or forward_only or _keeps_refs(primitive, params)


def _jvp(primitive, rule, primals, tangents, **params):
    if primitive is custom_vjp_call_p:  # the rule is a linear map of the tangents of contents
        tangents = [Zero(inner_type(t.aval)) if type(t) is Zero else contents_of(t)
                    for t in tangents]
    elif _has_refs(params) and not _differentiates_refs(primitive, params):
        return jvpfun(discharged(primitive, params), primals, tangents)
    return rule(primals, tangents, **params)


def _batches_refs(trace, primitive: Primitive, args: Sequence, dims: Sequence,
                  params: dict) -> bool:
    """Whether batching enters with the references.

    A batch of references cannot be transposed, so it must have the examples where the rule of the
    primitive puts them. If examples take different branches, each must write to its own part alone.
    """
    if primitive is while_p and condition_writes(params):
        return False
    of_refs = [(i, dim) for i, (x, dim) in enumerate(zip(args, dims))
               if dim is not None and is_ref(x)]
    if primitive is scan_p:  # the steps come first in what it runs over
        first = params["num_consts"] + params["num_carry"]
        return all(dim == (1 if i >= first else 0) for i, dim in of_refs)
    if any(dim for _, dim in of_refs):
        return primitive is while_p and not has_own_lengths(trace.axis_data, dims, params)
    return primitive in (jit_p, remat_p, while_p) or primitive is cond_p and dims[0] is None


def _batch(primitive, rule, trace, args, dims, **params):
    if _has_refs(params) and not _batches_refs(trace, primitive, args, dims, params):
        fun = discharged(primitive, params)
        return batch_subtrace(fun, trace.axis_data, dims, args, trace.tag)
    return rule(trace, args, dims, **params)


def _partial_eval(_, rule, trace, primitive, args, params):
    if not _has_refs(params) or _keeps_refs(primitive, params):
        return rule(trace, primitive, args, params)
    with set_current_trace(trace):
        return discharged(primitive, params)(*args)


def _evaluate(primitive, rule, *args, **params):
    """The condition and the body of a loop see what each other writes."""
    if primitive is while_p:
        n_cond = params["cond_nconsts"]
        of_body = {id(x) for x in args[n_cond:] if is_ref(x)}
        if condition_writes(params) or any(id(x) in of_body for x in args[:n_cond]):
            return discharged(while_p, params)(*args)
    return rule(*args, **params)


def _changes_references(primitive, rule, **params):
    return _has_refs(params) or rule(**params)


_rules = {"effects": _changes_references, "jvp": _jvp, "batching": _batch,
          "partial evaluation": _partial_eval, "evaluation": _evaluate}


class CallsWithReferences(Extension):
    """Calls that use references are discharged, where a rule is for pure ones."""

    def rule_of_call(self, kind, primitive, rule, /, *args, **params):
        own = _rules.get(kind)
        if own is None:
            return rule(*args, **params)
        return own(primitive, rule, *args, **params)


register(CallsWithReferences())
