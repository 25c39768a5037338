"""Chapter 6: how do transformations enter a function that a primitive calls?

`jit`, `checkpoint` and their like hold a jaxpr among their parameters. To transform such a call,
transform the jaxpr and call the result:

    jvp  : call[f]  →  call[jvp f]
    vmap : call[f]  →  call[vmap f]

`call_rules` gives a primitive its rules for all transformations of this kind. A transformation
states its rule once, with `rule_for_calls`: chapter 7 adds partial evaluation and the elimination
of dead code, chapter 8 transposition.

JAX writes these rules once for each primitive: `jax/_src/pjit.py`, `jax/_src/ad_checkpoint.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from .batching import WithTrace, primitive_batchers
from .core import Primitive
from .extension import hooks
from .forward import Zero, primitive_jvps
from .jaxpr import ClosedJaxpr
from .staging import batch_jaxpr, jvp_jaxpr
from .util import merge_lists, partition_list


class JaxprCall(NamedTuple):
    """How a primitive calls a jaxpr.

    `by_operand` is for parameters that have an entry for each operand or result:
    `(params, in_sources, out_sources, shared) -> the changed parameters` of a transformed call.
    There is a source for each operand (or result) of the new call. It says what that one was in the
    old call:

        i      the operand (or result) at position `i`, or its tangent
        ~i     an operand is the cotangent of result `i`, a result that of operand `i`
        None   a residual

    If the operands are `shared`, other equations also read them.

    `inside` returns the context in which the jaxpr is transformed.
    """

    primitive: Primitive
    jaxpr_param: str
    by_operand: Callable[..., dict]
    inside: Callable[[dict], AbstractContextManager]

    def params(self, params: dict, jaxpr: ClosedJaxpr, in_sources: Sequence[int | None],
               out_sources: Sequence[int | None], shared: bool = False) -> dict:
        """The parameters for a call of the transformed `jaxpr`."""
        params = params | self.by_operand(params, in_sources, out_sources, shared)
        return params | {self.jaxpr_param: jaxpr}


def around(kind: str, primitive: Primitive, rule: Callable) -> Callable:
    """A rule of a primitive that calls a jaxpr, around which extensions can put others."""
    def outermost(*args, **params):
        inner = rule
        for rule_of_call in hooks.rule_of_call:
            inner = partial(rule_of_call, kind, primitive, inner)
        return inner(*args, **params)

    return outermost


def batcher(primitive: Primitive, rule: Callable) -> WithTrace:
    """The batching rule of a primitive that calls a jaxpr. If no argument is batched, it runs only
    if the axis has a name, or if an extension says that the jaxpr may change values of the trace.
    """
    inner, concerns_trace = around("batching", primitive, rule), around(
        "effects", primitive, lambda **params: False)

    def batch(trace, args, dims, **params):
        if trace.axis_data.name is None and dims.count(None) == len(dims) and not (
                concerns_trace(**params)):
            outs = primitive.bind(*args, **params)
            return outs, [None] * len(outs)
        return inner(trace, args, dims, **params)

    return WithTrace(batch, always=True)


calls: dict[Primitive, JaxprCall] = {}
_rules: list[tuple[dict, Callable]] = []  # tables, and from a call to its entry there


def call_rules(primitive: Primitive, jaxpr_param: str,
               by_operand: Callable[..., dict] = lambda *sources: {},
               inside: Callable[[dict], Any] = lambda params: nullcontext(),
               own_rules: Sequence[dict] = ()) -> None:
    """Give a primitive that calls a jaxpr its rule for each transformation.

    It has rules of its own in the tables `own_rules`.
    """
    call = calls[primitive] = JaxprCall(primitive, jaxpr_param, by_operand, inside)
    for table, entry in _rules:
        if not any(table is own for own in own_rules):
            table[primitive] = entry(call)


def rule_for_calls(table: dict, wrapper: Callable = lambda primitive, rule: rule) -> Callable:
    """Decorator: enter `rule(call, …)` in a table, for all primitives that call a jaxpr. The entry
    is `wrapper(primitive, rule)`."""
    def register(rule):
        def entry(call):
            return wrapper(call.primitive, partial(rule, call))

        _rules.append((table, entry))
        table.update({primitive: entry(call) for primitive, call in calls.items()})
        return rule

    return register


@rule_for_calls(primitive_jvps, partial(around, "jvp"))
def _jvp_of_call(call: JaxprCall, primals, tangents, **params):
    """The call of the jaxpr's JVP. A tangent that is zero is neither operand nor result."""
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    with call.inside(params):
        jaxpr = params[call.jaxpr_param]
        jaxpr, nonzeros_out = jvp_jaxpr(jaxpr, nonzeros, (False,) * len(jaxpr.outvars))
    outs = call.primitive.bind(*primals, *partition_list(nonzeros, tangents)[1], **call.params(
        params, jaxpr, _with_tangents(nonzeros), _with_tangents(nonzeros_out)))
    return with_zero_tangents(outs, nonzeros_out)


def with_zero_tangents(outs: Sequence, nonzeros: Sequence[bool]) -> tuple[Sequence, list]:
    """Primals and tangents from the results of a `jvp_jaxpr`, which has the nonzero ones only."""
    primals_out, tangents_out = outs[:len(nonzeros)], outs[len(nonzeros):]
    zeros = map(Zero.from_primal_value, partition_list(nonzeros, primals_out)[0])
    return primals_out, merge_lists(nonzeros, zeros, tangents_out)


def _with_tangents(nonzeros) -> list[int]:
    """The sources of primals and their nonzero tangents."""
    return [*range(len(nonzeros)), *partition_list(nonzeros, range(len(nonzeros)))[1]]


@rule_for_calls(primitive_batchers, batcher)
def _batch_of_call(call: JaxprCall, trace, args, dims, **params):
    """The call of the batched jaxpr."""
    with call.inside(params):
        jaxpr, out_dims = batch_jaxpr(params[call.jaxpr_param], trace.axis_data, tuple(dims))
    params = call.params(params, jaxpr, range(len(dims)), range(len(out_dims)))
    return call.primitive.bind(*args, **params), out_dims
