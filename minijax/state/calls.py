"""Chapter 15: the rules of loops, branches and calls that use references.

Under a transformation, such a primitive is discharged, and what is transformed is the pure one:

    loop(ref, x)   =   out, contents = pure_loop(ref[...], x);  ref[...] = contents

So there is no other rule for loops over references than this equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.batching import WithTrace, batch_subtrace, primitive_batchers
from ..core.calls import calls
from ..core.core import Primitive, set_current_trace
from ..core.forward import jvpfun, primitive_jvps
from ..core.jaxpr import jaxprs_in_params
from ..core.partial_eval import partial_eval_rules
from ..custom_rules.vjp import custom_vjp_call_p
from ..lax.control_flow.cond import cond_p
from ..lax.control_flow.scan import scan_p
from ..lax.control_flow.while_loop import while_p
from .discharge import discharge_rules
from .primitives import TangentRef, contents_of, swap_p
from .refs import is_ref, uses_refs


def discharged(primitive: Primitive, params: dict) -> Callable:
    """The function of references and arrays that applies a primitive by its pure counterpart."""

    def fun(*args):
        refs = [x for x in args if is_ref(x)]
        outs, contents = discharge_rules[primitive](
            [*map(is_ref, args)], [*map(contents_of, args)], params)
        for ref, new in zip(refs, contents, strict=True):
            swap_p.bind(ref, new, tree=())
        return outs

    return fun


def _has_refs(params: dict) -> bool:
    return any(jaxpr.effects and uses_refs(jaxpr) for jaxpr in jaxprs_in_params(params))


def _jvp_rule(primitive: Primitive, rule: Callable) -> Callable:
    def jvp(primals, tangents, **params):
        if not _has_refs(params):
            return rule(primals, tangents, **params)
        return jvpfun(discharged(primitive, params), primals, tangents)

    return jvp


def _batching_rule(primitive: Primitive, entry: Any) -> WithTrace:
    def batch(trace, args, dims, **params):
        if not _has_refs(params):
            return entry.rule(trace, args, dims, **params)
        return batch_subtrace(discharged(primitive, params), trace.axis_data, dims, args, trace.tag)

    return WithTrace(batch, entry.always)


def _partial_eval_rule(rule: Callable) -> Callable:
    def partial_eval(trace, primitive, args, params):
        if not _has_refs(params):
            return rule(trace, primitive, args, params)
        with set_current_trace(trace):
            return discharged(primitive, params)(*args)

    return partial_eval


def _jvp_of_custom_vjp(primals, tangents, **params):
    """The rule of `custom_vjp` is a linear map of the tangents of contents."""
    return _custom_vjp_jvp(primals, [t.tangent if isinstance(t, TangentRef) else t
                                     for t in tangents], **params)


_custom_vjp_jvp = primitive_jvps[custom_vjp_call_p]
primitive_jvps[custom_vjp_call_p] = _jvp_of_custom_vjp
for p in (*calls, scan_p, while_p, cond_p):
    primitive_jvps[p] = _jvp_rule(p, primitive_jvps[p])
    primitive_batchers[p] = _batching_rule(p, primitive_batchers[p])
    partial_eval_rules[p] = _partial_eval_rule(partial_eval_rules[p])
