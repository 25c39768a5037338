"""Chapter 12: numbers at equal distances, on a line or on a logarithmic scale."""

from __future__ import annotations

import numpy as np

from ..checks.sequences import size_along
from ..core import dtypes
from ..core.primitives import canonical_axis, convert
from ..lax.cutting import concatenate
from ..lax.dtypes import result_type
from ..lax.elementwise import add, div, mul, sub
from ..lax.operators import multiply, subtract, true_divide
from ..lax.rounding import floor
from ..lax.shaping import broadcast_shapes, broadcast_to, expand_dims, iota, reshape, transpose
from ._arguments import ensure_array, ensure_arrays, static_index, user_dtype
from ._constructors import empty, on_device
from ._staged import staged
from ._ufuncs import log10, power, sign


def linspace(start, stop, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype=None,
             axis: int = 0, *, device=None):
    """`num` numbers at equal distances from `start` to `stop`.

    Args:
      start, stop: scalars or arrays that broadcast.
      num: how many numbers.
      endpoint: whether `stop` is the last of them.
      retstep: whether to return `(numbers, distance)`.
      dtype: the type of the result; by default floating point.
      axis: the dimension of the result along which the numbers run.

    Raises:
      ValueError: a negative `num`.
      ConcretizationTypeError: a traced `num`.

    >>> linspace(0, 1, 3).tolist()
    [0.0, 0.5, 1.0]
    """
    num = static_index(num, "'num' argument of jnp.linspace")
    axis = static_index(axis, "'axis' argument of jnp.linspace")
    out = _linspace(start, stop, num, endpoint, retstep, dtype, axis)
    return on_device(out, device)


@staged(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = ensure_arrays("linspace", start, stop)
    dtype = _inexact_result(start, stop) if dtype is None else user_dtype(dtype, "linspace")
    working = dtypes.to_inexact_dtype(dtype)
    start, stop = convert(start, working), convert(stop, working)
    shape = broadcast_shapes(start.shape, stop.shape)
    size_along("linspace", (*shape, num), axis)
    axis %= len(shape) + 1
    delta = working.type(np.nan)
    if num > 1:
        out, delta = _interpolate(start, stop, shape, num, endpoint, axis)
    elif num == 1:
        delta = delta if endpoint else sub(stop, start)
        out = reshape(broadcast_to(start, shape), _inserted(shape, axis, 1))
    else:
        out = empty(_inserted(shape, axis, 0), dtype)
    if dtypes.issubdtype(dtype, np.integer) and not dtypes.issubdtype(out.dtype, np.integer):
        out = floor(out)
    result = convert(out, dtype)
    return (result, ensure_array("linspace", delta)) if retstep else result


def _inexact_result(start, stop):
    return dtypes.to_inexact_dtype(result_type(start, stop))


def _inserted(shape, axis, size):
    shape = list(shape)
    shape.insert(axis, size)
    return tuple(shape)


def _interpolate(start, stop, shape, num, endpoint, axis):
    """The numbers as mixtures of the two ends, and their distance; the last is exactly `stop`."""
    working, steps = start.dtype, num - 1 if endpoint else num
    start_at, stop_at = broadcast_to(start, shape), broadcast_to(stop, shape)
    delta = div(subtract(stop, start), working.type(steps))
    real = dtypes.finfo(working).dtype
    line = [steps if d == axis else 1 for d in range(len(shape) + 1)]
    step = convert(div(reshape(iota(real, steps), line), real.type(steps)), working)
    column = _inserted(shape, axis, 1)
    from_start = multiply(reshape(start_at, column), sub(working.type(1), step))
    out = add(from_start, mul(reshape(stop_at, column), step))
    if endpoint:
        axis = canonical_axis(axis, out.ndim)
        out = concatenate([out, expand_dims(stop_at, (axis,))], axis)
    return out, delta


def logspace(start, stop, num: int = 50, endpoint: bool = True, base=10.0, dtype=None,
             axis: int = 0):
    """Powers of `base` with equally distant exponents from `start` to `stop`; see `linspace`."""
    num = static_index(num, "'num' argument of jnp.logspace")
    axis = static_index(axis, "'axis' argument of jnp.logspace")
    return _logspace(start, stop, num, endpoint, base, dtype, axis)


@staged(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    dtype = _inexact_result(start, stop) if dtype is None else user_dtype(dtype, "logspace")
    working = dtypes.to_inexact_dtype(dtype)
    start, stop = (convert(x, working) for x in ensure_arrays("logspace", start, stop))
    exponents = linspace(start, stop, num, endpoint=endpoint, retstep=False, dtype=None, axis=axis)
    return convert(power(base, exponents), dtype)


def geomspace(start, stop, num: int = 50, endpoint: bool = True, dtype=None, axis: int = 0):
    """Numbers from `start` to `stop`, each the same multiple of the last; see `linspace`."""
    num = static_index(num, "'num' argument of jnp.geomspace")
    axis = static_index(axis, "'axis' argument of jnp.geomspace")
    return _geomspace(start, stop, num, endpoint, dtype, axis)


@staged(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    dtype = _inexact_result(start, stop) if dtype is None else user_dtype(dtype, "geomspace")
    working = dtypes.to_inexact_dtype(dtype)
    start, stop = (convert(x, working) for x in ensure_arrays("geomspace", start, stop))
    signs = sign(start)
    low, high = log10(true_divide(start, signs)), log10(true_divide(stop, signs))
    res = multiply(signs, logspace(low, high, num, endpoint=endpoint, base=10.0, dtype=working,
                                   axis=0))
    axis = canonical_axis(axis, res.ndim)
    return convert(transpose(res, (*range(1, axis + 1), 0, *range(axis + 1, res.ndim))), dtype)
