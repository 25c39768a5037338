"""Chapter 11: reduction of the windows that slide over an array: pooling.

`reduce_window` takes any function, and several arrays. Sums, maxima and minima have primitives of
their own, for they have derivatives: a sum's transpose is again a sum over windows, of the
cotangent; those of maxima and minima are in `pooling_derivatives.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from ..core.array import Array
from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, typeof
from ..core.forward import Zero, deflinear_jvp, instantiate_zeros, primitive_jvps
from ..core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ..core.lowering import Constant, register_lowering, with_shape
from ..core.primitives import constant, make_primitive
from ..core.staging import jaxpr_of, jvp_jaxpr, weakref_cache
from ..core.transposition import deftranspose
from ..core.tree import tree_flatten
from ..core.util import split_list
from ..runtime.dispatch import apply_primitive
from ..runtime.jit import jit
from . import elementwise as prim, reductions
from .control_flow.common import op_with_regions
from .cutting import pad
from .families import all_at_front
from .reducing import (
    check_trees,
    combining_region,
    int_array,
    known_scalar,
    pads_text,
    reducer_jaxpr,
)
from .reductions import lowest
from .sizes import integers
from .sliding import dilated_shape, pads_of_transpose, padtype_to_pads, places

# ----------------------------------------------------------------------------------------------
# Windows


class Windows(NamedTuple):
    """The parameters of all these primitives, a tuple with an entry for each dimension."""

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    def with_dimension(self, at: int) -> Windows:
        """The same, for arrays with one dimension more, along which nothing is reduced."""
        neutral: Any = Windows((1,), (1,), ((0, 0),), (1,), (1,))
        entries: Any = [(*old[:at], *new, *old[at:]) for old, new in zip(self, neutral)]
        return Windows(*entries)


def check_sizes(name: str, what: str, sizes, least: int) -> None:
    """Raise `TypeError` unless `sizes` are integers that are not less than `least`."""
    if not all(isinstance(n, (int, np.integer)) for n in sizes):
        raise TypeError(f"{name} {what} must have every element be an integer, got {sizes}.")
    if any(n < least for n in sizes):
        raise TypeError(f"{name} {what} must have every element be at least {least}, got {sizes}.")


def windows_shape(operand: ShapedArray, windows: Windows) -> tuple[int, ...]:
    """How many windows there are in each dimension.

    Raises:
      TypeError: sizes that do not fit.
    """
    dimensions, strides, padding, base_dilation, window_dilation = windows
    for what, sizes, least in (("window_dimensions", dimensions, 1), ("window_strides", strides, 1),
                               ("base_dilation", base_dilation, 0),
                               ("window_dilation", window_dilation, 0)):
        check_sizes("reduce_window", what, sizes, least)
        if len(sizes) != operand.ndim:
            raise TypeError(f"reduce_window got {what} {sizes} for an operand of shape "
                            f"{operand.shape}: one for each dimension is needed.")
    if len(padding) != operand.ndim:
        raise ValueError(f"reduce_window got padding {padding} for an operand of shape "
                         f"{operand.shape}: a pair for each dimension is needed.")
    if not all(isinstance(n, (int, np.integer)) for pair in padding for n in pair):
        raise TypeError(f"reduce_window padding must be pairs of integers, got {padding}.")
    return reduce_window_shape_tuple(operand.shape, dimensions, strides, padding, base_dilation,
                                     window_dilation)


def reduce_window_shape_tuple(operand_shape, window_dimensions, window_strides, padding,
                              base_dilation=None, window_dilation=None):
    """The shape of a `reduce_window`; the arguments are its.

    >>> lax.reduce_window_shape_tuple((8, 9), (2, 3), (2, 1), [(0, 0), (1, 1)])
    (4, 9)
    """
    if base_dilation is not None:
        operand_shape = dilated_shape(operand_shape, base_dilation)
    if window_dilation is not None:
        window_dimensions = dilated_shape(window_dimensions, window_dilation)
    padded = [n + low + high for n, (low, high) in zip(operand_shape, padding)]
    return tuple(map(places, padded, window_dimensions, window_strides))


def emit_windows(ctx, operands, inits, avals, jaxpr: ClosedJaxpr, windows: Windows):
    """Append the reduction of windows by a jaxpr."""
    pads = pads_text(windows.padding)
    attributes = ", ".join([
        f"base_dilations = {int_array(windows.base_dilation)}",
        f"padding = {pads} : tensor<{len(windows.padding)}x2xi64>",
        f"window_dilations = {int_array(windows.window_dilation)}",
        f"window_dimensions = {int_array(windows.window_dimensions)}",
        f"window_strides = {int_array(windows.window_strides)}"])
    return op_with_regions(ctx, "stablehlo.reduce_window", [*operands, *inits], avals,
                           combining_region(ctx, jaxpr), attributes=attributes)


# ----------------------------------------------------------------------------------------------
# Any function


def _types(*avals, jaxpr, consts, **windows):
    operands, inits = split_list(avals, [len(avals) // 2])
    if any(x.dtype != init.dtype for x, init in zip(operands, inits)):
        raise TypeError("reduce_window got inconsistent dtypes for operands and initial values: "
                        f"{[x.dtype.name for x in operands]} and {[x.dtype.name for x in inits]}.")
    if any(init.shape for init in inits):
        raise TypeError("reduce_window expected init_values to be scalars but init_values have "
                        f"shapes {[init.shape for init in inits]}.")
    shape = windows_shape(operands[0], Windows(**windows))
    return [ShapedArray(shape, x.dtype) for x in operands]


def _evaluate(*args, **params):
    if params["consts"]:  # arrays, by which no compiled program could be found again
        return jit(functools.partial(reduce_window_p.bind, **params))(*args)
    return apply_primitive(reduce_window_p, *args, **params)


def _lower_reduce_window(ctx, *args, jaxpr, consts, **windows):
    operands, inits = split_list(args, [len(args) // 2])
    closed = ClosedJaxpr(jaxpr, consts)
    return emit_windows(ctx, operands, inits, ctx.avals_out, closed, Windows(**windows))


def _reduce_window_jvp(primals, tangents, *, jaxpr, consts, **windows):
    """Reduce operands and tangents together, by the derivative of the function."""
    count = len(primals) // 2
    operands, inits = split_list(primals, [count])
    operand_tangents, init_tangents = split_list(tangents, [count])
    if any(type(t) is not Zero for t in init_tangents):
        raise TypeError("reduce_window has no derivative in its initial values.")
    derivative, _ = jvp_jaxpr(ClosedJaxpr(jaxpr, consts), (True,) * (2 * count), (True,) * count)

    def combine(x, y):
        (x, x_dot), (y, y_dot) = split_list(x, [count]), split_list(y, [count])
        return jaxpr_as_fun(derivative)(*x, *y, *x_dot, *y_dot)

    outs = reduce_window(
        [*operands, *map(instantiate_zeros, operand_tangents)],
        [*inits, *map(instantiate_zeros, init_tangents)], combine, **windows)
    return outs[:count], outs[count:]


def _reduce_window_batching(args, dims, *, jaxpr, consts, **windows):
    count = len(args) // 2
    if any(d is not None for d in dims[count:]):
        raise NotImplementedError("reduce_window cannot be batched in its initial values.")
    operands = all_at_front(args[:count], dims)
    outs = reduce_window_p.bind(*operands, *args[count:], jaxpr=jaxpr, consts=consts,
                                **Windows(**windows).with_dimension(0)._asdict())
    return outs, [0] * count


reduce_window_p = Primitive("reduce_window", multiple_results=True)
reduce_window_p.def_abstract_eval(_types)
reduce_window_p.def_impl(_evaluate)
primitive_jvps[reduce_window_p] = _reduce_window_jvp
primitive_batchers[reduce_window_p] = _reduce_window_batching
register_lowering(reduce_window_p, _lower_reduce_window)


@public
def reduce_window(operand, init_value, computation: Callable, window_dimensions: Sequence[int],
                  window_strides: Sequence[int] | None = None,
                  padding: str | Sequence[tuple[int, int]] = "VALID",
                  base_dilation: Sequence[int] | None = None,
                  window_dilation: Sequence[int] | None = None):
    """An associative function reduces each of the windows that slide over an array.

    Args:
      operand: an array, or a tree of arrays of one shape, which are reduced together.
      init_value: the identity of `computation`: a scalar for each array, of its dtype.
      computation: a function of two trees of scalars like `init_value`, which returns one. For
        `lax.add`, `lax.max` and `lax.min` there are reverse derivatives, for others not.
      window_dimensions: the sizes of a window, one for each dimension of the array.
      window_strides: the distances between windows; by default 1.
      padding: "VALID", "SAME" or "SAME_LOWER" (see `padtype_to_pads`), or pairs `(low, high)`: how
        much of `init_value` to add at the ends; negative, what to cut off.
      base_dilation, window_dilation: factors by which the elements of the array, or of a window,
        are drawn apart; by default 1.

    Returns:
      a tree like `operand`, of arrays with an element for each window.

    Raises:
      ValueError: no operand; trees that differ.
      TypeError: initial values of another dtype, or no scalars; sizes that do not fit.
      RuntimeError: an unknown name of padding.
      NotImplementedError: `computation` closes over traced values.

    >>> lax.reduce_window(jnp.arange(6.0), 0.0, lax.add, (2,), (2,))
    Array([1., 5., 9.], dtype=float32)
    """
    operands, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    check_trees(tree, init_tree)
    if not operands:
        raise ValueError("reduce_window must have at least one operand.")
    window_dimensions = integers("reduce_window: window_dimensions", window_dimensions)
    ones = (1,) * len(window_dimensions)
    dilation = ones if window_dilation is None else tuple(window_dilation)
    if isinstance(padding, str):
        sizes = dilated_shape(window_dimensions, dilation)
        padding = padtype_to_pads(typeof(operands[0]).shape, sizes, window_strides or (), padding)
    pads = tuple((low, high) for low, high in padding)
    windows = Windows(window_dimensions, tuple(window_strides or ones), pads,
                      ones if base_dilation is None else tuple(base_dilation), dilation)._asdict()
    known = _known_primitive(computation, inits)
    if known is not None:
        return known.bind(*operands, **windows)
    closed, out_tree = reducer_jaxpr("reduce_window", computation, tree, tuple(map(typeof, inits)))
    outs = reduce_window_p.bind(*operands, *inits, jaxpr=closed.jaxpr, consts=tuple(closed.consts),
                                **windows)
    return out_tree.unflatten(outs)


def _known_primitive(computation, inits) -> Primitive | None:
    """The primitive for this function, if it has one, and the initial value is its identity."""
    if len(inits) != 1 or computation not in _KNOWN or (value := known_scalar(inits[0])) is None:
        return None
    primitive, identity = _KNOWN[computation]
    return primitive if value == identity(typeof(inits[0]).dtype) else None


# ----------------------------------------------------------------------------------------------
# Sums, maxima, minima


@weakref_cache
def _scalar_jaxpr(combine: Callable, dtype: np.dtype) -> ClosedJaxpr:
    aval = ShapedArray((), dtype)
    return jaxpr_of(lambda x, y: [combine(x, y)], (aval, aval))


def _row(name: str, combine: Callable, identity: Callable) -> Primitive:
    """A primitive that reduces windows by this function."""

    def shape_rule(x, **windows):
        if combine is prim.add and not dtypes.issubdtype(x.dtype, np.number):
            raise TypeError(f"reduce_window_sum does not accept dtype {x.dtype.name}: numbers only")
        return ShapedArray(windows_shape(x, Windows(**windows)), x.dtype, x.weak_type)

    def lower(ctx, x, **windows):
        dtype = x.aval.dtype
        init = Constant(ctx, identity(dtype), with_shape(x.aval, ()))
        jaxpr = _scalar_jaxpr(combine, dtype)
        return emit_windows(ctx, [x], [init], ctx.avals_out, jaxpr, Windows(**windows))[0]

    def batch(args, dims, **windows):
        (x,), (bdim,) = args, dims
        return primitive.bind(x, **Windows(**windows).with_dimension(bdim)._asdict()), bdim

    primitive = make_primitive(name, shape_rule)
    primitive.def_impl(functools.partial(apply_primitive, primitive))
    primitive_batchers[primitive] = batch
    register_lowering(primitive, lower)
    return primitive


reduce_window_sum_p = _row("reduce_window_sum", prim.add, lambda dtype: 0)
reduce_window_max_p = _row("reduce_window_max", prim.max, lowest)
reduce_window_min_p = _row("reduce_window_min", prim.min, reductions.highest)

_KNOWN: dict[Callable, tuple[Primitive, Callable]] = {
    prim.add: (reduce_window_sum_p, lambda dtype: 0),
    prim.max: (reduce_window_max_p, lowest),
    prim.min: (reduce_window_min_p, reductions.highest),
}


def _sum_transpose(ct, x, **params) -> Array:
    """At each element, the sum of the cotangents of the windows that it was in."""
    sizes, strides, padding, base_dilation, window_dilation = Windows(**params)
    pads = pads_of_transpose(x.aval.shape, sizes, strides, typeof(ct).shape, padding, base_dilation,
                             window_dilation)
    config = [(low, high, stride - 1) for (low, high), stride in zip(pads, strides)]
    padded = pad(ct, constant(0, typeof(ct).dtype, typeof(ct).weak_type), config)
    ones = (1,) * len(sizes)
    windows = Windows(sizes, base_dilation, ((0, 0),) * len(sizes), ones, window_dilation)
    return reduce_window_sum_p.bind(padded, **windows._asdict())


deflinear_jvp(reduce_window_sum_p)
deftranspose(reduce_window_sum_p, _sum_transpose)
