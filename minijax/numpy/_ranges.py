"""Chapter 12: numbers at equal distances, on a line or on a logarithmic scale."""

import functools

import numpy as np

from ..core import dtypes
from ..core.array import Array, quiet
from ..core.boundary import public
from ..core.core import ShapedArray, eval_trace, state
from ..core.primitives import canonical_axis, convert
from ..lax.compile_time import dimension_or_error
from ..lax.cutting import concatenate
from ..lax.dtypes import result_type
from ..lax.elementwise import add, div, mul, sub
from ..lax.operators import multiply, subtract, true_divide
from ..lax.rounding import floor
from ..lax.shaping import broadcast_shapes, broadcast_to, expand_dims, iota, reshape, transpose
from ..lax.sizes import size_along
from ..settings import enable_x64
from ._arguments import ensure_arraylike, ensure_arraylikes, static_index, user_dtype
from ._arithmetic import power
from ._constructors import converted_on, empty, on_device
from ._staged import staged
from ._ufuncs import log10, sign

MANY = 2**16  # numbers from which on XLA computes them


@public
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
    num = dimension_or_error(num, "'num' argument of jnp.linspace")
    axis = static_index(axis, "'axis' argument of jnp.linspace")
    exact = dtype is None or user_dtype(dtype, "linspace") == np.float32
    if state.trace is eval_trace and num >= MANY:
        out = _linspace_of_many(start, stop, num, endpoint, retstep, dtype, axis)
        return converted_on(out, device)
    if num > 1 and exact and not retstep and axis in (0, -1) and state.trace is eval_trace:
        ends = _float32(start), _float32(stop)
        if None not in ends:
            numbers = quiet.run(_between, *ends, num, endpoint)
            return on_device(Array(numbers, ShapedArray(numbers.shape, numbers.dtype)), device)
    out = _linspace(start, stop, num, endpoint, retstep, dtype, axis)
    return converted_on(out, device)


def _float32(x):
    """The value of a scalar of this type, or of a Python number that becomes one; else None."""
    if type(x) is Array and x.aval.shape == () and x.aval.dtype == np.float32:
        return np.asarray(x)[()]
    if type(x) is float or type(x) is int and -2**31 <= x < 2**31:
        return None if enable_x64.value else x
    return None


def _between(start, stop, num, endpoint):
    """The numbers of `_interpolate`, rounded as XLA rounds them when both ends are scalars.

    XLA divides once, `stop / steps`, and multiplies that, so that a histogram from 0 to 25 has an
    edge at 15 and not at 15.000001. It rounds `a * b + c` once, which 64 bits imitate.
    """
    start, stop, steps = map(np.float32, (start, stop, num - 1 if endpoint else num))
    place, part = np.arange(num, dtype=np.float64), np.float32(1) / steps
    rest = (1 - place * part).astype(np.float32)
    out = (place * (stop * part) + start * rest).astype(np.float32)
    if endpoint:
        out[-1] = stop
    return out


@staged(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = ensure_arraylikes("linspace", start, stop)
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
    return (result, ensure_arraylike("linspace", delta)) if retstep else result


_linspace_of_many = staged(
    _linspace.__wrapped__, static_argnames=("num", "endpoint", "retstep", "dtype", "axis"),
    eager=False)


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


@public
def logspace(start, stop, num: int = 50, endpoint: bool = True, base=10.0, dtype=None,
             axis: int = 0):
    """Powers of `base` with equally distant exponents from `start` to `stop`; see `linspace`."""
    num = dimension_or_error(num, "'num' argument of jnp.logspace")
    axis = static_index(axis, "'axis' argument of jnp.logspace")
    return _of_ends(_logspace, start, stop, base)(
        start, stop, num, endpoint, base, user_dtype(dtype, "logspace"), axis)


@staged(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    dtype = _inexact_result(start, stop) if dtype is None else dtype
    working = dtypes.to_inexact_dtype(dtype)
    start, stop = (convert(x, working) for x in ensure_arraylikes("logspace", start, stop))
    exponents = linspace(start, stop, num, endpoint=endpoint, retstep=False, dtype=None, axis=axis)
    return convert(power(base, exponents), dtype)


@public
def geomspace(start, stop, num: int = 50, endpoint: bool = True, dtype=None, axis: int = 0):
    """Numbers from `start` to `stop`, each the same multiple of the last; see `linspace`."""
    num = dimension_or_error(num, "'num' argument of jnp.geomspace")
    axis = static_index(axis, "'axis' argument of jnp.geomspace")
    return _of_ends(_geomspace, start, stop)(
        start, stop, num, endpoint, user_dtype(dtype, "geomspace"), axis)


@staged(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    dtype = _inexact_result(start, stop) if dtype is None else dtype
    working = dtypes.to_inexact_dtype(dtype)
    start, stop = (convert(x, working) for x in ensure_arraylikes("geomspace", start, stop))
    signs = sign(start)
    low, high = log10(true_divide(start, signs)), log10(true_divide(stop, signs))
    res = multiply(signs, logspace(low, high, num, endpoint=endpoint, base=10.0, dtype=working,
                                   axis=0))
    axis = canonical_axis(axis, res.ndim)
    return convert(transpose(res, (*range(1, axis + 1), 0, *range(axis + 1, res.ndim))), dtype)


def _of_ends(function, *ends):
    """A function above. It is compiled if all `ends` are scalars; of others, ranks may be warned
    of in each call."""
    return function if any(map(np.ndim, ends)) else _compiled(function)


@functools.cache
def _compiled(function):
    names = ("num", "endpoint", "dtype", "axis")
    return staged(function.__wrapped__, static_argnames=names, eager=False)
