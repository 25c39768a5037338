"""Chapter 9: how do ordered effects keep their order in a compiled program?

StableHLO orders operations by their operands. So an operation with an ordered effect takes a
*token* and returns the next one. Within a function, `Body.state` holds the current token. A call of
a function with ordered effects passes the token in and out, and so do loops and branches
(`with_token`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from ...core.core import ShapedArray
from ...core.extension import Extension, register
from ...core.jaxpr import ClosedJaxpr
from ...core.lowering import Body, Value, ir_type_handlers
from ...runtime.effect_sets import is_ordered


class TokenType:
    """The abstract value of a token: it has no contents."""

    shape = ()


TOKEN: Any = TokenType()
ir_type_handlers[TokenType] = lambda aval: "!stablehlo.token"


def ordered_token(ctx: Body) -> Value:
    """The token that the next ordered effect takes. Its result becomes the next `set_token`.

    If a region has ordered effects, call this before the region is written, outside of it.
    """
    if "token" not in ctx.state:
        set_token(ctx, ctx.op("stablehlo.create_token : !stablehlo.token", TOKEN))
    return ctx.state["token"]


def set_token(ctx: Body, token: Value) -> None:
    """Make `token` the one that the next ordered effect takes."""
    ctx.state["token"] = token


class OrderedCalls(Extension):
    """Calls of functions with ordered effects take a token after the other operands, and return
    the next one after the other results."""

    def lower_call(self, ctx, jaxpr, operands, name):
        if not is_ordered(jaxpr.effects):
            return NotImplemented

        function, out_avals = ctx.module.function(
            jaxpr, name, ctx.context, (TOKEN,), inline_with_token)
        *outs, token = ctx.call_function(function, out_avals, [*operands, ordered_token(ctx)])
        set_token(ctx, token)
        return outs


def inline_with_token(ctx: Body, jaxpr: ClosedJaxpr, operands: Sequence[Value]) -> list[Value]:
    """Lower a jaxpr into a function of its own, which takes a token last and returns one last."""
    *operands, token = operands
    set_token(ctx, token)
    outs = ctx.inline(jaxpr, operands)
    return [*outs, ordered_token(ctx)]


register(OrderedCalls())


def with_token(write_op: Callable, ctx: Body, op: str, operands: Sequence[Value],
               avals: Sequence[ShapedArray], regions: Sequence) -> list[Value]:
    """Append an operation whose regions have ordered effects.

    A loop carries the token. Branches see the one outside.
    """
    outside, is_loop = ordered_token(ctx), op == "stablehlo.while"

    def threaded(number, region):
        arguments, write = region
        token = Value(ctx.fresh(), TOKEN) if is_loop else outside

        def write_with_token():
            set_token(ctx, token)
            outs = write()
            return outs if is_loop and number == 0 else [*outs, ordered_token(ctx)]

        return [*arguments, token] if is_loop else arguments, write_with_token

    *outs, token = write_op(
        ctx, op, [*operands, outside] if is_loop else operands, [*avals, TOKEN],
        *(threaded(*numbered) for numbered in enumerate(regions)))
    set_token(ctx, token)
    return outs
