"""Chapter 16: lowering rules for arrays whose sizes are not known.

Most primitives need no other rule than their own, since it writes the sizes only in types, where
they are `?`. `ExportedBody.op` (`modules.py`) gives some operations the sizes as an operand. Here
are the rules of primitives whose own rule computes with sizes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import lax
from ..checks.primitives import any_symbolic
from ..core.core import ShapedArray
from ..core.lowering import Value, lowering_rules, tensor_type, typed_text
from ..core.primitives import lowest
from ..lax.families import lower_fun
from ..lax.gathering import gather_numbers
from ..lax.reductions import highest
from ..numpy import logaddexp
from ..random.keys import random_unwrap_p, random_wrap_p
from ..settings import enable_x64
from .dimensions import Dim, is_symbolic
from .window_rules import WINDOW_RULES


def _reshaped(ctx, x, out):
    return ctx.op(f"stablehlo.reshape {x.name} : ({x.type}) -> {tensor_type(out)}", out)


def _slice(ctx, x, *, start_indices, limit_indices, strides):
    (out,) = ctx.avals_out
    ones = strides or (1,) * len(start_indices)
    vectors = [ctx.sizes(entries) for entries in (start_indices, limit_indices, ones)]
    kinds = ", ".join([x.type] + [f"tensor<{x.aval.ndim}xi32>"] * 3)
    return ctx.op(f"stablehlo.real_dynamic_slice {x.name}, {', '.join(vectors)} : ({kinds}) -> "
                  f"{tensor_type(out)}", out)


def _dynamic_slice(ctx, x, *starts, slice_sizes):
    """From starts that are moved inside, as `dynamic_slice` moves them."""
    (out,) = ctx.avals_out
    if not any_symbolic(*slice_sizes):
        return lowering_rules[lax.dynamic_slice_p](ctx, x, *starts, slice_sizes=slice_sizes)
    room = [_scalar(ctx, n - size) for n, size in zip(x.aval.shape, slice_sizes)]
    begin = _starts_inside(ctx, *starts, *room)
    vector = tensor_type(begin.aval)
    end = ctx.op(f"stablehlo.add {begin.name}, {ctx.sizes(slice_sizes)} : {vector}", begin.aval)
    ones = ctx.sizes((1,) * x.aval.ndim)
    kinds = ", ".join([x.type] + [vector] * 3)
    return ctx.op(f"stablehlo.real_dynamic_slice {x.name}, {begin.name}, {end.name}, {ones} : "
                  f"({kinds}) -> {tensor_type(out)}", out)


def _scalar(ctx, size):
    return Value(ctx.size(size), ShapedArray((), np.int32))


@lower_fun
def _starts_inside(*starts_and_room):
    """The starts as a vector of 32-bit integers, each between 0 and the room that it has."""
    count = len(starts_and_room) // 2
    starts, room = starts_and_room[:count], starts_and_room[count:]
    starts = [lax.convert_element_type(_in_32_bits(start), np.int32) for start in starts]
    inside = [lax.clamp(np.int32(0), start, end) for start, end in zip(starts, room)]
    return lax.concatenate([lax.reshape(start, (1,)) for start in inside], 0)


def _in_32_bits(x):
    """An integer, or the nearest one that a signed integer of 32 bits can be."""
    if x.dtype.itemsize < 4 or x.dtype == np.int32:
        return x
    least, most = max(np.iinfo(x.dtype).min, -2**31), 2**31 - 1
    return lax.clamp(x.dtype.type(least), x, x.dtype.type(most))


def _gather(ctx, x, indices, *, slice_sizes, **params):
    """The usual rule for windows whose sizes are known. Others are given as an operand."""
    (out,) = ctx.avals_out
    usual = lowering_rules[lax.gather_p]
    if not any_symbolic(*slice_sizes) or params["mode"] == lax.GatherScatterMode.FILL_OR_DROP:
        return usual(ctx, x, indices, slice_sizes=slice_sizes, **params)
    numbers = gather_numbers(indices, params["dimension_numbers"])
    kinds = f"({x.type}, {indices.type}, tensor<{x.aval.ndim}xi32>) -> {tensor_type(out)}"
    return ctx.op(f'"stablehlo.dynamic_gather"({x.name}, {indices.name}, {ctx.sizes(slice_sizes)}) '
                  f"<{{dimension_numbers = {numbers}, indices_are_sorted = "
                  f"{str(params['indices_are_sorted']).lower()}}}> : {kinds}", out)


def _pad(ctx, x, value, *, padding_config):
    (out,) = ctx.avals_out
    vectors = [ctx.sizes(entries) for entries in zip(*padding_config)]
    kinds = ", ".join([x.type, value.type] + [f"tensor<{x.aval.ndim}xi32>"] * 3)
    return ctx.op(f"stablehlo.dynamic_pad {x.name}, {value.name}, {', '.join(vectors)} : "
                  f"({kinds}) -> {tensor_type(out)}", out)


def _conv_general_dilated(ctx, x, y, *, padding, **params):
    """The operand is dilated and padded first if it is not known by how much."""
    known = not any_symbolic(*(width for pair in padding for width in pair))
    rule = lowering_rules[lax.conv_general_dilated_p] if known else _convolution_of_padded
    return rule(ctx, x, y, padding=padding, **params)


@lower_fun
def _convolution_of_padded(x, y, *, padding, lhs_dilation, **params):
    config = [(0, 0, 0)] * x.ndim
    spatial = params["dimension_numbers"].lhs_spec[2:]
    for d, (low, high), step in zip(spatial, padding, lhs_dilation):
        config[d] = (low, high, step - 1)
    return lax.conv_general_dilated_p.bind(
        lax.pad(x, lax.full_like(x, 0, shape=()), config), y, padding=((0, 0),) * len(padding),
        lhs_dilation=(1,) * len(padding), **params)


def _tile(ctx, x, *, reps):
    """Each repetition is a dimension of its own, until the last reshape."""
    pairs = tuple(n for pair in zip(reps, x.aval.shape) for n in pair)
    return _reshaped(ctx, ctx.broadcast(x, pairs, range(1, len(pairs), 2)), *ctx.avals_out)


def _stack(ctx, *xs, axis):
    (out,) = ctx.avals_out
    row = out.update(shape=(*out.shape[:axis], 1, *out.shape[axis + 1:]))
    parts = [_reshaped(ctx, x, row) for x in xs]
    return ctx.op(typed_text("concatenate", parts, out, f", dim = {axis}"), out)


def _split(ctx, x, *, sizes, axis):
    start, outs, avals = 0, [], ctx.avals_out
    for size, aval in zip(sizes, avals):
        starts = tuple(start if d == axis else 0 for d in range(aval.ndim))
        limits = tuple(start + size if d == axis else n for d, n in enumerate(x.aval.shape))
        ctx.avals_out = [aval]
        outs.append(_slice(ctx, x, start_indices=starts, limit_indices=limits, strides=None))
        start = start + size
    ctx.avals_out = avals
    return outs


def _key_words(ctx, keys, **params):
    """The two words of each key. XLA infers no sizes through the usual rule's `bitcast_convert`."""
    (out,) = ctx.avals_out
    if not is_symbolic(out) or "ui64" not in keys.type:
        return lowering_rules[random_unwrap_p](ctx, keys, **params)
    with enable_x64(True):
        return _split_words(ctx, Value(keys.name, ShapedArray(keys.aval.shape, np.uint64)))


def _keys_of_words(ctx, words, **params):
    (out,) = ctx.avals_out
    if not is_symbolic(out) or "ui64" not in tensor_type(out):
        return lowering_rules[random_wrap_p](ctx, words, **params)
    with enable_x64(True):
        return Value(_joined_words(ctx, words).name, out)


_HALF = np.uint64(32)
_split_words = lower_fun(lambda x: lax.concatenate(
    [lax.expand_dims(lax.convert_element_type(word, np.uint32), (x.ndim,))
     for word in (x, lax.shift_right_logical(x, lax.full_like(x, _HALF)))], x.ndim))


@lower_fun
def _joined_words(words):
    low, high = (lax.convert_element_type(lax.index_in_dim(words, i, -1, keepdims=False),
                                          np.uint64) for i in (0, 1))
    return lax.bitwise_or(low, lax.shift_left(high, lax.full_like(high, _HALF)))


def _running(primitive, combine, start):
    """A loop over the elements. The windows of the usual rule are padded by a known number."""

    def program(x, *, axis, reverse):
        order = (axis, *(d for d in range(x.ndim) if d != axis))
        rows = lax.transpose(x, order)
        first = lax.full(rows.shape[1:], start(x.dtype), x.dtype)
        step = lambda total, row: (combine(total, row),) * 2
        _, totals = lax.scan(step, first, rows, reverse=reverse)
        return lax.transpose(totals, tuple(map(order.index, range(x.ndim))))

    loop, usual = lower_fun(program), lowering_rules[primitive]

    def rule(ctx, x, *, axis, reverse):
        known = not isinstance(x.aval.shape[axis], Dim)
        return (usual if known else loop)(ctx, x, axis=axis, reverse=reverse)

    return rule


DYNAMIC_RULES: dict[str, Callable] = {
    **WINDOW_RULES,
    "random_unwrap": _key_words, "random_wrap": _keys_of_words,
    "conv_general_dilated": _conv_general_dilated,
    "slice": _slice, "dynamic_slice": _dynamic_slice, "gather": _gather, "pad": _pad,
    "stack": _stack, "split": _split, "tile": _tile,
    "cumsum": _running(lax.cumsum_p, lax.add, lambda dtype: 0),
    "cumprod": _running(lax.cumprod_p, lax.mul, lambda dtype: 1),
    "cummax": _running(lax.cummax_p, lax.max, lowest),
    "cummin": _running(lax.cummin_p, lax.min, highest),
    "cumlogsumexp": _running(lax.cumlogsumexp_p, logaddexp, lambda dtype: -np.inf)}
