"""Chapter 16: random keys at the border of an exported module: they go in and out as their words.

Inside of our programs, a key is one number of the size of its words. JAX's modules have the words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.core import ShapedArray
from ..core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ..core.lowering import Body, Value
from ..core.staging import trace_to_jaxpr
from ..random.keys import KeyTy, unwrap, wrap


def words_type(aval: ShapedArray) -> ShapedArray:
    """The type of the words of keys; any other type as it is."""
    if not isinstance(aval.dtype, KeyTy):
        return aval
    return ShapedArray((*aval.shape, *aval.dtype._impl.key_shape), np.dtype(np.uint32))


def on_words(jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """A jaxpr that takes and returns words in the place of keys."""
    avals, fun = [*map(words_type, jaxpr.in_avals)], jaxpr_as_fun(jaxpr)
    if avals == [*jaxpr.in_avals] and [*map(words_type, jaxpr.out_avals)] == [*jaxpr.out_avals]:
        return jaxpr

    def fun_on_words(*args):
        outs = fun(*(as_keys(x, aval) for x, aval in zip(args, jaxpr.in_avals)))
        return [as_words(x, aval) for x, aval in zip(outs, jaxpr.out_avals)]

    return trace_to_jaxpr(fun_on_words, avals)


def as_keys(x, aval: ShapedArray):
    """The keys of these words, if `aval` is a type of keys."""
    return wrap(x, aval.dtype._impl) if isinstance(aval.dtype, KeyTy) else x


def as_words(x, aval: ShapedArray):
    """The words of an array of type `aval`, if that is a type of keys."""
    return unwrap(x) if isinstance(aval.dtype, KeyTy) else x


def lower_as_words(ctx: Body, operands: Sequence[Value]) -> list[Value]:
    """Operands of a lowering rule, the keys among them as words."""
    return [_lowered(ctx, as_words, x, x.aval, x.aval) for x in operands]


def lower_as_keys(ctx: Body, results: Sequence[Value], avals: Sequence[ShapedArray]) -> list[Value]:
    """Words as values of the types `avals`."""
    return [_lowered(ctx, as_keys, x, x.aval, aval) for x, aval in zip(results, avals)]


def _lowered(ctx, convert, x, aval, key_aval):
    if not isinstance(key_aval.dtype, KeyTy):
        return x
    return ctx.inline(trace_to_jaxpr(lambda x: [convert(x, key_aval)], (aval,)), [x])[0]
