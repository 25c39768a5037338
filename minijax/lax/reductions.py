"""Chapter 9: reductions, and positions of extremes."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence

import numpy as np

from ..checks import primitives as checks
from ..core import dtypes
from ..core.batching import defreducer
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, typeof
from ..core.evaluation import accumulate_wide
from ..core.forward import defjvp2, defjvp_zero, jvpfun, primitive_jvps
from ..core.lowering import (
    comparison_kind,
    ints_text,
    register_lowering,
    tensor_type,
    with_dtype,
    with_shape,
)
from ..core.lowering_rules import reduce_rule
from ..core.primitives import (
    ANY,
    NUMBER,
    ORDERED,
    convert,
    div,
    eq,
    full,
    make_primitive,
    mul,
    reduce_sum_p,
    reduction,
    squeeze,
)
from ..runtime.dispatch import def_numpy_or_xla, on_xla
from ..text.naming import named
from .complex_rules import emit_reduction
from .cutting import pad, slice_in_dim
from .families import BOOL_OR_INT, const_like, never_weak
from .out_shardings import bind_sharded
from .shaping import reshape
from .sizes import integers
from .sums import reduce

# ----------------------------------------------------------------------------------------------
# Reductions: one row each


def reduction_row(name: str, accepted: tuple, numpy_rule: Callable, lowering: Callable,
                  doc: str, typed: Callable = lambda rule: rule) -> tuple[Primitive, Callable]:
    """A reduction with all its rules but the derivative, and its `lax` function."""
    primitive = reduction(name, accepted, numpy_rule, typed)
    defreducer(primitive)
    register_lowering(primitive, lowering)
    return primitive, reduction_function(primitive, doc)


def reduction_function(primitive: Primitive, doc: str) -> Callable:
    """The public function of a reduction."""

    @named(primitive.name, doc=doc)
    @public
    def function(operand, axes: Sequence[int]):
        """{doc}

        Args:
          operand: an array.
          axes: the dimensions to reduce, each in bounds.

        Returns:
          an array of the same dtype, without these dimensions.

        Raises:
          TypeError: a dtype without this operation.
          ValueError: a repeated axis, or one out of bounds.
        """
        return primitive.bind(operand, axes=integers(f"{primitive}: axes", axes))

    return function


@functools.cache
def lowest(dtype: np.dtype):
    """The identity of `max`: minus infinity, or the least number, or False."""
    if dtype == bool:
        return dtype.type(False)
    if dtypes.issubdtype(dtype, np.integer):
        return dtype.type(dtypes.iinfo(dtype).min)
    return np.fmin(dtype.type(-np.inf), dtypes.finfo(dtype).min)  # a float8 may have no infinity


@functools.cache
def highest(dtype: np.dtype):
    """The identity of `min`: infinity, or the greatest number, or True."""
    if dtype == bool:
        return True
    if dtypes.issubdtype(dtype, np.integer):
        return dtype.type(dtypes.iinfo(dtype).max)
    return np.fmax(dtype.type(np.inf), dtypes.finfo(dtype).max)  # a float8 may have no infinity


def _zero(dtype):
    return dtype.type(0)


def _one(dtype):
    return dtype.type(1)


def all_ones(dtype: np.dtype):
    """What `and` leaves alone: `True`, or an integer with every bit set."""
    return True if dtype == np.bool_ else ~dtype.type(0)


def _reduce_by(ufunc: np.ufunc) -> Callable:
    """A reduction by a function of two elements, in their type."""
    return lambda x, *, axes: reduce(ufunc, x, axes)


def extreme_row(name: str, ufunc: np.ufunc, op: str, identity: Callable, doc: str) -> tuple:
    """The reduction to a maximum or minimum; `identity(dtype)` is the result for no elements."""

    def evaluate(x, *, axes):
        if x.dtype.kind == "c" and np.isnan(x).any():
            return on_xla(primitive)(x, axes=axes)  # it depends on the order in which XLA compares
        return reduce(ufunc, x, axes, initial=identity(x.dtype)) if axes else x

    def lower(ctx, x, *, axes):
        if x.aval.dtype.kind != "c" or not axes:
            return reduce_rule(op, identity)(ctx, x, axes=axes)
        init = ctx.constant(identity(x.aval.dtype), with_shape(x.aval, ()))
        return emit_reduction(ctx, op, x, init, axes)

    primitive, function = reduction_row(name, ANY, evaluate, lower, doc)
    defjvp2(primitive, _extreme_jvp)
    return primitive, function


def _extreme_jvp(t, y, x, *, axes):
    """The tangent at the extreme; the mean of the tangents where several elements share it."""
    kept = [1 if d in axes else n for d, n in enumerate(typeof(x).shape)]
    chosen = convert(eq(x, reshape(y, kept)), typeof(t).dtype)
    count = reduce_sum_p.bind(chosen, axes=axes)
    return div(reduce_sum_p.bind(mul(t, chosen), axes=axes), count)


reduce_max_p, reduce_max = extreme_row(
    "reduce_max", np.maximum, "maximum", lowest, "The maximum over `axes`; NaN if there is one.")
reduce_min_p, reduce_min = extreme_row(
    "reduce_min", np.minimum, "minimum", highest, "The minimum over `axes`; NaN if there is one.")
reduce_prod_p, reduce_prod = reduction_row(
    "reduce_prod", NUMBER, accumulate_wide(np.multiply), reduce_rule("multiply", _one),
    "The product over `axes`.")
reduce_and_p, reduce_and = reduction_row(
    "reduce_and", BOOL_OR_INT, _reduce_by(np.bitwise_and), reduce_rule("and", all_ones),
    "The conjunction over `axes`, bit by bit.", never_weak)
reduce_or_p, reduce_or = reduction_row(
    "reduce_or", BOOL_OR_INT, _reduce_by(np.bitwise_or), reduce_rule("or", _zero),
    "The disjunction over `axes`, bit by bit.", never_weak)
reduce_xor_p, reduce_xor = reduction_row(
    "reduce_xor", BOOL_OR_INT, _reduce_by(np.bitwise_xor), reduce_rule("xor", _zero),
    "The exclusive or over `axes`, bit by bit.", never_weak)

for p in (reduce_and_p, reduce_or_p, reduce_xor_p):
    defjvp_zero(p)


@public
def reduce_sum(operand, axes: Sequence[int], *, out_sharding=None):
    """The sum over `axes`.

    Args:
      operand: an array.
      axes: the dimensions to reduce, each in bounds.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    Returns:
      an array of the same dtype, without these dimensions.

    Raises:
      TypeError: a dtype without this operation.
      ValueError: a repeated axis, or one out of bounds.
    """
    axes = integers("reduce_sum: axes", axes)
    if out_sharding is not None:
        return bind_sharded(reduce_sum_p, operand, out_sharding=out_sharding, axes=axes)
    return reduce_sum_p.bind(operand, axes=axes)


def jvp_through(program: Callable) -> Callable:
    """The JVP rule of a primitive that is differentiated through a program that computes it."""

    def rule(primals, tangents, **params):
        outs, tangents_out = jvpfun(lambda x: [program(x, **params)], primals, tangents)
        return outs[0], tangents_out[0]

    return rule


def as_one_dimension(x, axes: Sequence[int]):
    """`x` with these dimensions in front, as one."""
    shape = typeof(x).shape
    others = [d for d in range(len(shape)) if d not in axes]
    size = math.prod(shape[d] for d in axes)
    return reshape(x, [size, *(shape[d] for d in others)], (*axes, *others))


def _product_by_halves(x, *, axes):
    """The product over `axes`, multiplying the first half with the second until one is left."""
    x = as_one_dimension(x, axes)
    size, *rest = typeof(x).shape
    if size == 0:
        return full(rest, const_like(x, 1))
    while (n := typeof(x).shape[0]) > 1:
        half = (n + 1) // 2
        first, second = slice_in_dim(x, 0, half), slice_in_dim(x, half, None)
        if n % 2:
            config = [(0, 1, 0)] + [(0, 0, 0)] * len(rest)
            second = pad(second, const_like(x, 1), config)
        x = mul(first, second)
    return squeeze(x, (0,))


# A tree of products has no divisions, so its derivative is also right at zeros.
primitive_jvps[reduce_prod_p] = jvp_through(_product_by_halves)


# ----------------------------------------------------------------------------------------------
# argmax and argmin


def _arg_type(name):
    def rule(x, *, axes, index_dtype):
        checks.dtype_kind(name, x, ORDERED)
        (axis,) = axes
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if x.shape[axis] < 1:
            raise ValueError("argmin and argmax require non-empty reduced dimension. Got operand "
                             f"shape {x.shape} for axis {axis} of {name}.")
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(f"index_dtype must be an integer type, but got "
                            f"{np.dtype(index_dtype).name}")
        checks.places_fit(name, x.shape[axis], np.dtype(index_dtype))
        return ShapedArray([n for d, n in enumerate(x.shape) if d not in axes], index_dtype)

    return rule


def _arg_numpy(method: str):
    def rule(x, *, axes, index_dtype):
        return getattr(x, method)(axes[0]).astype(index_dtype)

    return rule


def _lower_arg(direction: str, identity: Callable) -> Callable:
    """The place of the extremum: the first one; a NaN counts as more extreme than all else."""

    def rule(ctx, x, *, axes, index_dtype):
        (out,) = ctx.avals_out
        places = with_dtype(x.aval, out.dtype)
        place = ctx.op(f"stablehlo.iota dim = {axes[0]} : {tensor_type(places)}", places)
        init = ctx.constant(identity(x.aval.dtype), with_shape(x.aval, ()))
        start = ctx.constant(0, with_shape(place.aval, ()))
        results = [with_dtype(out, x.aval.dtype), out]
        operands = f"({x.name} init: {init.name}), ({place.name} init: {start.name})"
        types = ", ".join(v.type for v in (x, place, init, start))
        result_types = ", ".join(map(tensor_type, results))
        head = f"stablehlo.reduce{operands} across dimensions = {ints_text(axes)}"
        text = f"{head} : ({types}) -> ({result_types})\n" + _arg_reducer(direction, init, start)
        return ctx.ops(text, results)[1]

    return rule


def _arg_reducer(direction, value, index):
    """The region that keeps of two (value, index) pairs the one that comes first."""
    v, i, p = value.type, index.type, "tensor<i1>"
    kind, signed = comparison_kind(value.aval.dtype), comparison_kind(index.aval.dtype)
    return f"""\
     reducer(%v: {v}, %w: {v}) (%i: {i}, %j: {i}) {{
      %more = stablehlo.compare {direction}, %v, %w, {kind} : ({v}, {v}) -> {p}
      %nan = stablehlo.compare NE, %v, %v, {kind} : ({v}, {v}) -> {p}
      %wins = stablehlo.or %more, %nan : {p}
      %tie = stablehlo.compare EQ, %v, %w, {kind} : ({v}, {v}) -> {p}
      %before = stablehlo.compare LT, %i, %j, {signed} : ({i}, {i}) -> {p}
      %first = stablehlo.and %tie, %before : {p}
      %keep = stablehlo.or %wins, %first : {p}
      %value = stablehlo.select %wins, %v, %w : {p}, {v}
      %index = stablehlo.select %keep, %i, %j : {p}, {i}
      stablehlo.return %value, %index : {v}, {i}
    }}"""


def _in_many_short_rows(x, *, axes, index_dtype):
    """Whether XLA finds the places tens of times faster."""
    return x.size >= 2**17 and x.shape[axes[0]] < 64


argmax_p = make_primitive("argmax", _arg_type("argmax"))
argmin_p = make_primitive("argmin", _arg_type("argmin"))
def_numpy_or_xla(argmax_p, _arg_numpy("argmax"), _in_many_short_rows)
def_numpy_or_xla(argmin_p, _arg_numpy("argmin"), _in_many_short_rows)
register_lowering(argmax_p, _lower_arg("GT", lowest))
register_lowering(argmin_p, _lower_arg("LT", highest))

for p in (argmax_p, argmin_p):
    defreducer(p)
    defjvp_zero(p)


def _bind_arg(primitive, operand, axis, index_dtype):
    checks.integer_axis(axis)
    index_dtype = dtypes.canonicalize_dtype(index_dtype)
    return primitive.bind(operand, axes=(operator.index(axis),), index_dtype=index_dtype)


@public
def argmax(operand, axis: int, index_dtype):
    """The index of the first maximum (of the first NaN, if any) along `axis`.

    Args:
      operand: an array of real numbers or booleans, not empty along `axis`.
      axis: a dimension.
      index_dtype: the integer type of the result.

    Raises:
      TypeError: `index_dtype` is no integer type, or `operand` is complex.
      ValueError: an axis out of bounds, or empty.
    """
    return _bind_arg(argmax_p, operand, axis, index_dtype)


@public
def argmin(operand, axis: int, index_dtype):
    """The index of the first minimum (of the first NaN, if any) along `axis`: see `argmax`."""
    return _bind_arg(argmin_p, operand, axis, index_dtype)


