"""Chapter 12: sums, extremes, means and their kin."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import ArrayMethods, Primitive, state, typeof
from ..core.primitives import div, reduce_sum_p
from ..lax import bitwise, complex_numbers, elementwise as lax, reductions as red
from ..lax.dtypes import (
    default_int_dtype,
    default_uint_dtype,
    itemsize_bits,
    supports_inf,
    to_floating_dtype,
)
from ..lax.reductions import reduce_max_p
from ..lax.shaping import broadcast_to, expand_dims, full, reshape
from ..settings import enable_x64
from ..text.naming import renamed
from ._arguments import (
    canonical_axis,
    check_mask,
    check_no_out,
    complex_input,
    constant_like,
    convert,
    ensure_arraylike,
    ensure_arraylikes,
    optional_axes,
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    promote_shapes,
    to_bool,
    user_dtype,
)
from ._select import _where
from ._staged import staged

_F16 = (np.dtype("float16"), np.dtype(dtypes.bfloat16))


# ----------------------------------------------------------------------------------------------
# The scheme of all reductions


class Reduction(NamedTuple):
    """A row of the table: how a reduction combines elements, and what it starts from."""

    name: str
    primitive: Primitive
    combine: Callable
    start: Any  # the neutral element
    prepare: Callable | None = None  # a conversion that comes before the promotion to `dtype`
    on_bools: tuple[Primitive, Callable] | None = None
    may_be_empty: bool = True


def _to_numeric(x):
    return promote_dtypes_numeric(x)[0]


def _to_bool(x):
    """Elementwise: is `x` other than zero? A complex number is if any part is, as in NumPy."""
    return to_bool(x) if complex_input(x) else convert(x, np.dtype(bool))


SUM = Reduction("sum", reduce_sum_p, lax.add, 0, _to_numeric, (red.reduce_or_p, bitwise.bitwise_or))
PROD = Reduction("prod", red.reduce_prod_p, lax.mul, 1, _to_numeric,
                 (red.reduce_and_p, bitwise.bitwise_and))
MAX = Reduction("max", reduce_max_p, lax.max, -np.inf, may_be_empty=False)
MIN = Reduction("min", red.reduce_min_p, lax.min, np.inf, may_be_empty=False)
ALL = Reduction("all", red.reduce_and_p, bitwise.bitwise_and, 1, _to_bool)
ANY = Reduction("any", red.reduce_or_p, bitwise.bitwise_or, 0, _to_bool)


def _reduce(kind: Reduction, a, axis, keepdims=False, dtype=None, out=None, initial=None,
            where=None, widen_half=False, promote_integers=False):
    """The general reduction: convert, mask, reduce, combine with `initial`, convert back."""
    check_no_out(kind.name, out)
    a = ensure_arraylike(kind.name, a)
    where = check_mask(kind.name, where)
    if initial is None and where is not None and not kind.may_be_empty:
        raise ValueError(f"reduction operation {kind.name} does not have an identity, so to use "
                         "a where mask one has to specify 'initial'")
    a = kind.prepare(a) if kind.prepare else a
    axes = canonical_axes(axis, a.ndim)
    if initial is None and not kind.may_be_empty and not all_sizes(a.shape, axes):
        raise ValueError(f"zero-size array to reduction operation {kind.name} which has no "
                         "identity; give `initial`, the value for no elements.")
    dtype = user_dtype(dtype, kind.name) or dtypes.canonicalize_dtype(
        wide_integer(a.dtype) if promote_integers else a.dtype, allow_extended_dtype=True)
    a = convert(a, np.dtype("float32") if widen_half and dtype in _F16 else dtype)
    primitive, combine = kind.primitive, kind.combine
    if a.dtype == bool and kind.on_bools:
        primitive, combine = kind.on_bools
    if where is not None:
        a = _where(where, a, start_value(kind.start, a.dtype))
    result = primitive.bind(a, axes=axes)
    if initial is not None:
        result = combine(_initial_value(initial, a.dtype), result)
    if keepdims:
        result = expand_dims(result, axes)
    return convert(result, dtype)


def canonical_axes(axis, ndim: int) -> tuple[int, ...]:
    """The axes of a reduction, counted from the front; all of them for `None`.

    Raises:
      ValueError: an axis out of bounds, or a repeated one.
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(canonical_axis(d, ndim) for d in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes


def all_sizes(shape, axes) -> bool:
    """Whether there is something to reduce along each of the axes."""
    return 0 not in [shape[d] for d in axes]


def wide_integer(dtype):
    """NumPy sums booleans and small integers in the default integer type."""
    if dtype == bool:
        return default_int_dtype()
    for family, wide in ((np.unsignedinteger, default_uint_dtype()),
                         (np.integer, default_int_dtype())):
        if dtypes.issubdtype(dtype, family):
            return wide if itemsize_bits(dtype) < itemsize_bits(wide) else dtype
    return dtype


def start_value(start, dtype):
    """The neutral element in a dtype; infinity is the end of the range of an integer type."""
    if dtype == bool:
        return np.bool_(start > 0)
    if np.isinf(start) and not supports_inf(dtype):
        integer = dtypes.issubdtype(dtype, np.integer)
        info = dtypes.iinfo(dtype) if integer else dtypes.finfo(dtype)
        start = info.min if start < 0 else info.max
    return np.array(start).astype(dtype)[()]  # -1, all bits, of an unsigned dtype as well


def _initial_value(initial, dtype):
    value = convert(initial, dtype)
    if value.ndim:
        raise ValueError(f"initial value must be a scalar. Got array of shape {value.shape}")
    return value


# ----------------------------------------------------------------------------------------------
# The reductions themselves


def _plain_axes(a, axis) -> tuple[int, ...] | None:
    """The axes, if the reduction is the bare primitive: of strong 32 or 64 bit floats."""
    aval = a.aval if isinstance(a, ArrayMethods) else None
    if aval is None or aval.weak_type or aval.dtype.kind != "f" or aval.dtype.itemsize == 2 \
            or 0 in aval.shape or aval.dtype.itemsize == 8 and not enable_x64.value:
        return None
    return _axes_of(aval, axis)


def _axes_of(aval, axis) -> tuple[int, ...] | None:
    if axis is None:
        return tuple(range(aval.ndim))
    return (axis % aval.ndim,) if type(axis) is int and -aval.ndim <= axis < aval.ndim else None


@public
def sum(a, axis=None, dtype=None, out=None, keepdims: bool = False, initial=None, where=None,
        promote_integers: bool = True):
    """The sum of the elements.

    Args:
      a: an array.
      axis: an int or ints, the dimensions to reduce; by default all.
      dtype: the type to sum in; by default that of `a`, or the default integer for small ones.
      out: must be `None`.
      keepdims: whether the reduced dimensions remain, with size 1.
      initial: a scalar that is added.
      where: a boolean array that broadcasts to `a`: what to take.
      promote_integers: whether to widen small integers.

    Raises:
      ValueError: an axis that is repeated or out of bounds.
      TypeError: `a` is no array.
      NotImplementedError: an `out`.

    >>> sum(jnp.arange(4)), sum(jnp.ones((2, 3)), axis=1).tolist()
    (Array(6, dtype=int32), [3.0, 3.0])
    """
    if dtype is out is initial is where is None and not keepdims:
        axes = _plain_axes(a, axis)
        if axes is not None:
            return state.trace.process_primitive(reduce_sum_p, (a,), {"axes": axes})
    return _sum(a, axis, dtype, out, keepdims, initial, where, promote_integers)


def _sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None,
         promote_integers=True):
    return _reduce(SUM, a, optional_axes(axis), keepdims, dtype, out, initial, where,
                   dtype is None, promote_integers)


@public
def prod(a, axis=None, dtype=None, out=None, keepdims: bool = False, initial=None, where=None,
         promote_integers: bool = True):
    """The product of the elements; arguments as for `sum`."""
    return _reduce(PROD, a, optional_axes(axis), keepdims, dtype, out, initial, where,
                   dtype is None, promote_integers)


@public
def max(a, axis=None, out=None, keepdims: bool = False, initial=None, where=None):
    """The greatest element; NaN if there is one. Arguments as for `sum`.

    Raises:
      ValueError: nothing to reduce and no `initial`, or a `where` without an `initial`.
    """
    if out is initial is where is None and not keepdims:
        axes = _plain_axes(a, axis)
        if axes is not None:
            return state.trace.process_primitive(reduce_max_p, (a,), {"axes": axes})
    return _max(a, axis, out, keepdims, initial, where)


def _max(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    return _reduce(MAX, a, optional_axes(axis), keepdims, None, out, initial, where)


@public
def min(a, axis=None, out=None, keepdims: bool = False, initial=None, where=None):
    """The least element; NaN if there is one. Arguments and errors as for `max`."""
    if out is initial is where is None and not keepdims:
        axes = _plain_axes(a, axis)
        if axes is not None:
            return state.trace.process_primitive(red.reduce_min_p, (a,), {"axes": axes})
    return _min(a, axis, out, keepdims, initial, where)


def _min(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    return _reduce(MIN, a, optional_axes(axis), keepdims, None, out, initial, where)


amax, amin = renamed(max, "amax"), renamed(min, "amin")


def _unnamed(name: str, axis):
    if isinstance(axis, str):
        raise NotImplementedError(f"jnp.{name} reduces an array's own dimensions, got "
                                  f"axis={axis!r}. Over a named axis, use lax.pmin or lax.pmax.")
    return optional_axes(axis)


@public
def all(a, axis=None, out=None, keepdims: bool = False, *, where=None):
    """Whether all elements are true (not zero); arguments as for `sum`."""
    return _reduce(ALL, a, _unnamed("all", axis), keepdims, None, out, None, where)


@public
def any(a, axis=None, out=None, keepdims: bool = False, *, where=None):
    """Whether some element is true (not zero); arguments as for `sum`."""
    return _reduce(ANY, a, _unnamed("any", axis), keepdims, None, out, None, where)


@public
def mean(a, axis=None, dtype=None, out=None, keepdims: bool = False, *, where=None):
    """The arithmetic mean; arguments as for `sum`. Of integers it is a float.

    >>> mean(jnp.array([1, 2, 4]))
    Array(2.3333333, dtype=float32)
    """
    if dtype is out is where is None:
        axes = _plain_axes(a, axis)
        if axes is not None:
            count = a.aval.dtype.type(math.prod([a.aval.shape[d] for d in axes]))
            total = reduce_sum_p.bind(a, axes=axes)
            return div(expand_dims(total, axes) if keepdims else total, count)
    axis = optional_axes(axis)
    a, where = ensure_arraylike("mean", a), check_mask("mean", where)
    check_no_out("mean", out)
    result = (dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(a.dtype)) if dtype is None
              else user_dtype(dtype, "mean"))
    working = np.dtype("float32") if dtype is None and result in _F16 else result
    count = _count(a, axis, keepdims, where, working)
    total = sum(a, axis, working, keepdims=keepdims, where=where)
    return convert(lax.div(total, count), result)


def _count(a, axis, keepdims, where, dtype):
    """How many elements a reduction sees, as a scalar or (under a mask) an array."""
    if where is None:
        axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        if not {*axes} <= {*range(-a.ndim, a.ndim)}:
            raise IndexError(f"axis {axis} is out of bounds for an array of dimension {a.ndim}")
        return dtype.type(math.prod(a.shape[d] for d in axes))
    return sum(broadcast_to(where, a.shape), axis, dtype, keepdims=keepdims)


@public
def average(a, axis=None, weights=None, returned: bool = False, keepdims: bool = False):
    """The weighted mean.

    Args:
      a, axis, keepdims: as for `sum`.
      weights: an array of the shape of `a`, or of its sizes along `axis`; by default ones.
      returned: whether to return also the sum of the weights.

    Raises:
      ValueError: weights that do not fit.
    """
    axis = optional_axes(axis)
    if axis is not None:
        canonical_axes(axis, np.ndim(a))
    if weights is None:
        (a,) = promote_dtypes_inexact(ensure_arraylike("average", a))
        avg = mean(a, axis, keepdims=keepdims)
        count = math.prod(a.shape[d] for d in canonical_axes(axis, a.ndim))
        total = full((), count, avg.dtype) if returned else None
    else:
        a, weights = promote_dtypes_inexact(*ensure_arraylikes("average", a, weights))
        weights = _fit_weights(a, axis, weights)
        total = sum(weights, axis, keepdims=keepdims)
        avg = lax.div(sum(lax.mul(*promote_shapes("multiply", a, weights)), axis,
                          keepdims=keepdims), total)
    return (avg, broadcast_to(total, avg.shape)) if returned else avg


def _fit_weights(a, axis, weights):
    if a.shape == weights.shape:
        return weights
    if axis is None:
        raise ValueError("Axis must be specified when shapes of a and weights differ: they are "
                         f"{a.shape} and {weights.shape}.")
    axes = canonical_axes(axis, a.ndim)
    if weights.shape != tuple(a.shape[d] for d in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified "
                         f"axis: got {weights.shape} for {a.shape} and axis={axis}.")
    shape = [n if d in axes else 1 for d, n in enumerate(a.shape)]
    return reshape(weights, shape, tuple(map(int, np.argsort(axes))))


# Variance and standard deviation


@public
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims: bool = False, *, where=None,
        mean=None, correction=None):
    """The variance: the mean square of the distance from the mean.

    Args:
      a, axis, dtype, out, keepdims, where: as for `mean`.
      ddof, correction: the divisor is the number of elements less this (one name or the other).
      mean: the mean, if it is known (with the reduced dimensions kept).

    Raises:
      ValueError: both `ddof` and `correction`.
    """
    return _var(ensure_arraylike("var", a), axis=optional_axes(axis),
                dtype=user_dtype(dtype, "var"), out=out, keepdims=keepdims, where=where,
                correction=_correction(ddof, correction), a_mean=mean)


@public
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims: bool = False, *, where=None,
        mean=None, correction=None):
    """The standard deviation, the square root of `var`, with the same arguments."""
    return _std(ensure_arraylike("std", a), axis=optional_axes(axis),
                dtype=user_dtype(dtype, "std"), out=out, keepdims=keepdims, where=where,
                correction=_correction(ddof, correction), mean=mean)


def _correction(ddof, correction):
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@staged(static_argnames=("axis", "dtype", "keepdims"), eager=False)
def _var(a, *, axis=None, dtype=None, out=None, correction=0, keepdims=False, where=None,
         a_mean=None):
    where = check_mask("var", where)
    check_no_out("var", out)
    working, dtype = var_dtypes(typeof(a).dtype, dtype)
    a = convert(a, working)
    if a_mean is None:
        a_mean = mean(a, axis, working, keepdims=True, where=where)
    else:
        a_mean = convert(ensure_arraylike("var", a_mean), working)
    centered = lax.sub(*promote_shapes("subtract", a, a_mean))
    centered = (complex_numbers.real(lax.mul(centered, complex_numbers.conj(centered)))
                if working.kind == "c" else lax.square(centered))
    working = centered.dtype
    count = _count(a, axis, keepdims, where, working)
    count = lax.sub(count, convert(correction, working))
    total = sum(centered, axis, working, keepdims=keepdims, where=where)
    result = convert(lax.div(total, count), dtype)
    return _where(lax.gt(count, constant_like(count, 0)), result, np.nan)


def var_dtypes(a_dtype, dtype):
    """The dtypes to compute the variance in, and to return it in."""
    a_dtype = dtypes.canonicalize_dtype(a_dtype)
    if dtype is not None:
        if a_dtype.kind == "c" and dtype.kind != "c":
            raise ValueError("jax.numpy.var does not yet support real dtype parameters when "
                             "computing the variance of an array of complex values.")
        working = dtype
    elif not dtypes.issubdtype(a_dtype, np.inexact):
        working = dtype = dtypes.to_inexact_dtype(a_dtype)
    else:
        working, dtype = a_dtype, to_floating_dtype(a_dtype)
    return (np.dtype("float32") if working in _F16 else working), dtype


@staged(static_argnames=("axis", "dtype", "keepdims"), eager=False)
def _std(a, *, axis=None, dtype=None, out=None, correction=0, keepdims=False, where=None,
         mean=None):
    where = check_mask("std", where)
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    check_no_out("std", out)
    return lax.sqrt(var(a, axis, dtype, correction=correction, keepdims=keepdims, where=where,
                        mean=mean))


@public
def ptp(a, axis=None, out=None, keepdims: bool = False):
    """The greatest element less the least; arguments as for `max`."""
    return _ptp(ensure_arraylike("ptp", a), optional_axes(axis), out, keepdims)


@staged(static_argnames=("axis", "keepdims"))
def _ptp(a, axis=None, out=None, keepdims=False):
    check_no_out("ptp", out)
    return lax.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


@staged(static_argnames=("axis", "keepdims"))
def count_nonzero(a, axis=None, keepdims: bool = False):
    """The number of elements other than zero; arguments as for `sum`."""
    a = ensure_arraylike("count_nonzero", a)
    nonzero = lax.ne(a, constant_like(a, 0))
    return sum(nonzero, axis, default_int_dtype(), keepdims=keepdims)
