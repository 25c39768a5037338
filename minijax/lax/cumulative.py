"""Chapter 9: cumulative operations: every prefix of an array, reduced."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable

import numpy as np

from ..checks import primitives as checks
from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import typeof
from ..core.forward import deflinear_jvp, primitive_jvps
from ..core.lowering import (
    Body,
    Value,
    compare,
    emit,
    nary_rule,
    register_lowering,
    with_shape,
)
from ..core.primitives import (
    NUMBER,
    add,
    exp,
    full_like,
    log,
    make_primitive,
    mul,
    sub,
)
from ..core.transposition import deftranspose
from ..runtime.dispatch import def_numpy_or_xla
from ..text.naming import named
from .complex_numbers import has_nan
from .conversions import in_bytes
from .cutting import concatenate, pad, slice_in_dim
from .elementwise import max, min
from .families import FLOAT, const_like, emit_region
from .reductions import highest, jvp_through, lowest
from .rounding import is_finite
from .selection import emit_select, select
from .shaping import rev

# ----------------------------------------------------------------------------------------------
# Rows of the table


def cumulative_row(name: str, accepted: tuple, numpy_rule: Callable, lowering: Callable, doc: str,
                   by_xla: Callable = lambda x, **params: False):
    """A cumulative primitive with all its rules but the derivative, and its `lax` function."""

    def type_rule(x, *, axis, reverse):
        checks.dtype_kind(name, x, accepted)
        if not 0 <= axis < x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        return x

    def evaluate(x, *, axis, reverse):
        if reverse:
            return np.flip(numpy_rule(np.flip(x, axis), axis), axis)
        return numpy_rule(x, axis)

    @named(name, doc=doc)
    @public
    def function(operand, axis: int = 0, reverse: bool = False):
        """{doc}

        Args:
          operand: an array.
          axis: a dimension, not negative.
          reverse: whether to start from the end.

        Returns:
          an array of the same type.

        Raises:
          ValueError: an axis out of bounds.
          TypeError: a dtype without it.
        """
        checks.integer_axis(axis)
        return primitive.bind(operand, axis=operator.index(axis), reverse=bool(reverse))

    def batch(args, dims, *, axis, reverse):
        (bdim,) = dims
        return primitive.bind(args[0], axis=axis + (axis >= bdim), reverse=reverse), bdim

    primitive = make_primitive(name, type_rule)
    def_numpy_or_xla(primitive, evaluate, by_xla)
    primitive_batchers[primitive] = batch
    register_lowering(primitive, lowering)
    return primitive, function


_SHORT = 1024  # NumPy's running sums of so many are good enough, and faster
_TILE = 16  # elements of which XLA makes one running sum


def _running(ufunc):
    return lambda x, axis: _accumulate(ufunc, in_bytes(x), axis)


def _accumulate(ufunc: np.ufunc, x: np.ndarray, axis: int) -> np.ndarray:
    """All running sums or products along a dimension, as `ufunc.accumulate`, with smaller errors.

    NumPy adds one number after the other, and the errors grow with their number. Long running
    results of floats have XLA's bits: those of tiles, combined with those of all the tiles before.
    """
    if x.dtype.kind in "iu" or x.shape[axis] <= _SHORT:
        return ufunc.accumulate(x, axis, x.dtype)
    rows = x.reshape(math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1:]))
    return _accumulate_tiles(ufunc, rows).reshape(x.shape)


def _accumulate_tiles(ufunc: np.ufunc, x: np.ndarray) -> np.ndarray:
    """The running results along the middle one of three dimensions."""
    before, n, after = x.shape
    if n <= _TILE:
        return ufunc.accumulate(x, 1, x.dtype)
    tiles = -(-n // _TILE)
    out = np.full((before, tiles, _TILE, after), ufunc.identity, x.dtype)
    flat = out.reshape(before, tiles * _TILE, after)
    flat[:, :n] = x
    for i in range(1, _TILE):
        ufunc(out[:, :, i - 1], out[:, :, i], out=out[:, :, i])
    before_each = _accumulate_tiles(ufunc, out[:, :, -1])[:, :-1, None]
    ufunc(out[:, 1:], before_each, out=out[:, 1:])
    return flat[:, :n]


def _extremes(ufunc):
    return lambda x, axis: ufunc.accumulate(in_bytes(x), axis)


def _from_zero(rule):
    """The rule as XLA computes it: it begins with 0, and 0 + -0 is 0."""
    def running_sum(x, axis):
        out = rule(x, axis)
        return out if out.dtype.kind in "iu" else out + out.dtype.type(0)

    return running_sum


def _log_of_running_sum(x, axis):
    return np.logaddexp.accumulate(x, axis, x.dtype)


# ----------------------------------------------------------------------------------------------
# Lowering


def _lower_cumulative(scalar_rule: Callable, identity: Callable) -> Callable:
    """Prefix reductions: windows that reach from the beginning (or the end) to each element."""

    def rule(ctx, x, *, axis, reverse):
        if 0 in x.aval.shape:
            return x
        n, ndim = x.aval.shape[axis], x.aval.ndim
        window = [n if d == axis else 1 for d in range(ndim)]
        edge = [0, n - 1] if reverse else [n - 1, 0]
        padding = [edge if d == axis else [0, 0] for d in range(ndim)]
        return emit_reduce_window(ctx, scalar_rule, identity(x.aval.dtype), x, window, padding)

    return rule


def emit_reduce_window(ctx: Body, scalar_rule, identity, x: Value, window, padding) -> Value:
    """Append the reduction of every window of `x` by `scalar_rule`, as many as `x` has elements."""
    init = ctx.constant(identity, with_shape(x.aval, ()))
    ndim = x.aval.ndim
    options = (
        f"padding = dense<{padding}> : tensor<{ndim}x2xi64>, "
        f"window_dimensions = array<i64: {', '.join(map(str, window))}>"
    )
    names, lines = emit_region(ctx, scalar_rule, [init.aval] * 2)
    return ctx.op("\n".join([
        f'"stablehlo.reduce_window"({x.name}, {init.name}) <{{{options}}}> ({{',
        f"    ^bb0({names}):",
        *lines,
        f"    }}) : ({x.type}, {init.type}) -> {x.type}",
    ]), x.aval)  # fmt: skip


def _lower_logaddexp(ctx, x, y):
    """log(exp(x) + exp(y)) without overflow; where the difference is NaN (infinities), x + y."""
    difference = emit(ctx, "subtract", x, y)
    distance = emit(ctx, "negate", emit(ctx, "abs", difference))
    rest = emit(ctx, "log_plus_one", emit(ctx, "exponential", distance))
    smooth = emit(ctx, "add", emit(ctx, "maximum", x, y), rest)
    undefined = compare(ctx, "NE", difference, difference)
    return emit_select(ctx, undefined, emit(ctx, "add", x, y), smooth)


_maximum, _minimum = nary_rule("maximum"), nary_rule("minimum")


# ----------------------------------------------------------------------------------------------
# The table

cumsum_p, cumsum = cumulative_row(
    "cumsum", NUMBER, _from_zero(_running(np.add)),
    _lower_cumulative(nary_rule("add"), lambda dtype: dtype.type(0)), "The running sum.")
cumprod_p, cumprod = cumulative_row(
    "cumprod", NUMBER, _running(np.multiply),
    _lower_cumulative(nary_rule("multiply"), lambda dtype: dtype.type(1)), "The running product.")
cummax_p, cummax = cumulative_row(
    "cummax", NUMBER, _extremes(np.maximum), _lower_cumulative(_maximum, lowest),
    "The running maximum.", lambda x, **params: has_nan(x))
cummin_p, cummin = cumulative_row(
    "cummin", NUMBER, _extremes(np.minimum), _lower_cumulative(_minimum, highest),
    "The running minimum.", lambda x, **params: has_nan(x))
cumlogsumexp_p, cumlogsumexp = cumulative_row(
    "cumlogsumexp", FLOAT, _from_zero(_log_of_running_sum),
    _lower_cumulative(_lower_logaddexp, lowest), "The running log of the sum of exponentials.")


# ----------------------------------------------------------------------------------------------
# Derivatives. Running products and extremes are differentiated through a program that computes
# them: a tree of pairwise operations. It has no divisions, so it is also right at zeros.


def running(combine: Callable, x, axis: int, reverse: bool):
    """All prefixes of an associative operation, in a logarithmic number of steps.

    Neighbours are combined into pairs; the prefixes of those are every second prefix, and one
    more step fills in the others (Blelloch, "Prefix sums and their applications", 1990).
    """
    if reverse:
        x = rev(x, (axis,))
    out = _running_forwards(combine, x, axis)
    return rev(out, (axis,)) if reverse else out


def _running_forwards(combine, x, axis):
    n = typeof(x).shape[axis]
    if n < 2:
        return x
    take = functools.partial(slice_in_dim, axis=axis)
    pairs = combine(take(x, 0, -1, stride=2), take(x, 1, None, stride=2))
    odd = _running_forwards(combine, pairs, axis)
    rest = take(odd, 0, -1) if n % 2 == 0 else odd
    even = combine(rest, take(x, 2, None, stride=2))
    even = concatenate([take(x, 0, 1), even], axis)
    return add(_spread(even, axis, 0, n), _spread(odd, axis, 1, n))


def _spread(x, axis, first, n):
    """The elements at every second place from `first`, zeros between, `n` places in all."""
    size = typeof(x).shape[axis]
    config = [(0, 0, 0)] * typeof(x).ndim
    config[axis] = (first, n - (first + 2 * size - 1), 1)
    return pad(x, const_like(x, 0), config)


def _log_add_exp(x, y):
    """log(exp(x) + exp(y)) without overflow."""
    larger = max(x, y)
    safe = select(is_finite(larger), larger, full_like(larger, 0))
    return add(log(add(exp(sub(x, safe)), exp(sub(y, safe)))), safe)


deflinear_jvp(cumsum_p)
deftranspose(cumsum_p, lambda ct, x, *, axis, reverse: cumsum(ct, axis, not reverse))
for p, combine in ((cumprod_p, mul), (cummax_p, max), (cummin_p, min),
                   (cumlogsumexp_p, _log_add_exp)):
    primitive_jvps[p] = jvp_through(functools.partial(running, combine))
