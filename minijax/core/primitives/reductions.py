"""Chapter 1: reductions, positions of extremes, and cumulative operations."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence

import numpy as np

from .. import dtypes
from ..array import def_numpy
from ..core import ShapedArray, typeof
from .shape_rules import (
    ANY,
    BOOL_OR_INT,
    INEXACT,
    NUMBER,
    ORDERED,
    canonical_axis,
    check_dtype,
    check_numeric,
    make_primitive,
)

# ----------------------------------------------------------------------------------------------
# Reductions: one row each.


def _reduced_shape(shape, axes):
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def _check_axes(x, axes):
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
    if any(not 0 <= axis < x.ndim for axis in axes):
        raise ValueError(f"reduction axes {axes} contains out-of-bounds indices for "
                         f"{x.str_short(short_dtypes=False)}.")


def _reduction(name, accepted, numpy_rule, doc):
    """A row of the table of reductions: the primitive and its `lax` function."""

    def shape_rule(x, *, axes):
        check_dtype(f"reduce_{name}", x, accepted)
        check_numeric(f"reduce_{name}", x)
        _check_axes(x, axes)
        return ShapedArray(_reduced_shape(x.shape, axes), x.dtype, x.weak_type)

    def function(operand, axes: Sequence[int]):
        return primitive.bind(operand, axes=tuple(map(operator.index, axes)))

    primitive = make_primitive(f"reduce_{name}", shape_rule)
    def_numpy(primitive, numpy_rule)
    function.__name__ = function.__qualname__ = f"reduce_{name}"
    function.__doc__ = (
        f"{doc}\n\nArgs:\n  operand: an array.\n  axes: the dimensions to reduce, each in bounds."
        "\n\nReturns:\n  an array of the same dtype, without these dimensions.\n\n"
        "Raises:\n  TypeError: a dtype without this operation.\n"
        "  ValueError: a repeated axis, or one out of bounds.\n"
    )
    return primitive, function


def _accumulate_wide(ufunc):
    """Reduce half precision in single, as XLA does, and keep the dtype otherwise."""

    def rule(x, *, axes):
        narrow = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        out = ufunc.reduce(x.astype(np.float32) if narrow else x, axis=axes,
                           dtype=np.float32 if narrow else x.dtype)
        return out.astype(x.dtype) if narrow else out

    return rule


def _extreme(ufunc, end):
    """Reduce by maximum or minimum, from the end of the type's range."""

    def rule(x, *, axes):
        return ufunc.reduce(x, axis=axes, initial=end(x.dtype)) if axes else x

    return rule


def lowest(dtype) -> object:
    """The identity of `max`: minus infinity, or the least integer, or False."""
    if dtype == bool:
        return False
    if dtypes.issubdtype(dtype, np.integer):
        return dtype.type(dtypes.iinfo(dtype).min)
    return dtype.type(-np.inf)


def highest(dtype) -> object:
    """The identity of `min`: infinity, or the greatest integer, or True."""
    if dtype == bool:
        return True
    if dtypes.issubdtype(dtype, np.integer):
        return dtype.type(dtypes.iinfo(dtype).max)
    return dtype.type(np.inf)


def _plain(ufunc):
    return lambda x, *, axes: ufunc.reduce(x, axis=axes)


reduce_sum_p, _ = _reduction("sum", NUMBER, _accumulate_wide(np.add), "The sum over `axes`.")
reduce_prod_p, reduce_prod = _reduction("prod", NUMBER, _accumulate_wide(np.multiply),
                                        "The product over `axes`.")
reduce_max_p, reduce_max = _reduction("max", ANY, _extreme(np.maximum, lowest),
                                      "The maximum over `axes`; NaN if there is one.")
reduce_min_p, reduce_min = _reduction("min", ANY, _extreme(np.minimum, highest),
                                      "The minimum over `axes`; NaN if there is one.")
reduce_and_p, reduce_and = _reduction("and", BOOL_OR_INT, _plain(np.bitwise_and),
                                      "The conjunction over `axes`, bit by bit.")
reduce_or_p, reduce_or = _reduction("or", BOOL_OR_INT, _plain(np.bitwise_or),
                                    "The disjunction over `axes`, bit by bit.")
reduce_xor_p, reduce_xor = _reduction("xor", BOOL_OR_INT, _plain(np.bitwise_xor),
                                      "The exclusive or over `axes`, bit by bit.")


def reduce_sum(operand, axes: Sequence[int], *, out_sharding=None):
    """The sum over `axes`.

    Args:
      operand: an array.
      axes: the dimensions to reduce, each in bounds.
      out_sharding: ignored; `reshard` moves the result (chapter 14).

    Returns:
      an array of the same dtype, without these dimensions.

    Raises:
      TypeError: a dtype without this operation.
      ValueError: a repeated axis, or one out of bounds.
    """
    return reduce_sum_p.bind(operand, axes=tuple(map(operator.index, axes)))


# ----------------------------------------------------------------------------------------------
# argmax and argmin


def _arg_shape(name):
    def rule(x, *, axes, index_dtype):
        check_dtype(name, x, ORDERED)
        (axis,) = axes
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if x.shape[axis] < 1:
            raise ValueError(f"{name} is undefined for empty arrays: operand shape {x.shape}, "
                             f"axis {axis}")
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(f"index_dtype must be an integer type, but got "
                            f"{np.dtype(index_dtype).name}")
        return ShapedArray(_reduced_shape(x.shape, axes), index_dtype)

    return rule


def _arg_numpy(method: str):
    def rule(x, *, axes, index_dtype):
        return getattr(x, method)(axes[0]).astype(index_dtype)

    return rule


argmax_p = make_primitive("argmax", _arg_shape("argmax"))
argmin_p = make_primitive("argmin", _arg_shape("argmin"))
def_numpy(argmax_p, _arg_numpy("argmax"))
def_numpy(argmin_p, _arg_numpy("argmin"))


def _bind_arg(primitive, operand, axis, index_dtype):
    index_dtype = dtypes.canonicalize_dtype(index_dtype)
    axis = canonical_axis(axis, typeof(operand).ndim)
    return primitive.bind(operand, axes=(axis,), index_dtype=index_dtype)


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


def argmin(operand, axis: int, index_dtype):
    """The index of the first minimum (of the first NaN, if any) along `axis`: see `argmax`."""
    return _bind_arg(argmin_p, operand, axis, index_dtype)


# ----------------------------------------------------------------------------------------------
# Cumulative operations


def _cumulative(name, accepted, numpy_rule, doc):
    """A row of the table of cumulative operations: the primitive and its `lax` function."""

    def shape_rule(x, *, axis, reverse):
        check_dtype(name, x, accepted)
        if not 0 <= axis < x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        return x

    def evaluate(x, *, axis, reverse):
        if reverse:
            return np.flip(numpy_rule(np.flip(x, axis), axis), axis)
        return numpy_rule(x, axis)

    def function(operand, axis: int = 0, reverse: bool = False):
        return primitive.bind(operand, axis=operator.index(axis), reverse=bool(reverse))

    primitive = make_primitive(name, shape_rule)
    def_numpy(primitive, evaluate)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\nArgs:\n  operand: an array.\n  axis: a dimension, not negative.\n"
        "  reverse: whether to start from the end.\n\nReturns:\n  an array of the same type.\n\n"
        "Raises:\n  ValueError: an axis out of bounds.\n  TypeError: a dtype without it.\n"
    )
    return primitive, function


def _accumulate(ufunc):
    return lambda x, axis: ufunc.accumulate(x, axis=axis, dtype=x.dtype)


cumsum_p, cumsum = _cumulative("cumsum", NUMBER, _accumulate(np.add), "The running sum.")
cumprod_p, cumprod = _cumulative("cumprod", NUMBER, _accumulate(np.multiply),
                                 "The running product.")
cummax_p, cummax = _cumulative("cummax", NUMBER, _accumulate(np.maximum), "The running maximum.")
cummin_p, cummin = _cumulative("cummin", NUMBER, _accumulate(np.minimum), "The running minimum.")


def _log_of_running_sum(x, axis):
    if x.dtype.kind != "c" or not x.size:
        return np.logaddexp.accumulate(x, axis, x.dtype)
    rows = itertools.accumulate(np.moveaxis(x, axis, 0), _complex_logaddexp)
    return np.stack([*rows], axis)


def _complex_logaddexp(x, y):
    """log(exp(x) + exp(y)): scaled by the larger real part, which overflows nowhere."""
    larger = np.maximum(x.real, y.real)
    shift = np.where(np.isfinite(larger), larger, 0)
    return (np.log(np.exp(x - shift) + np.exp(y - shift)) + shift).astype(x.dtype)


cumlogsumexp_p, cumlogsumexp = _cumulative("cumlogsumexp", INEXACT, _log_of_running_sum,
                                           "The running log of the sum of exponentials.")
