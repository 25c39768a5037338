"""Chapter 12: differences, integrals and powers: functions of neighbouring elements."""

import numpy as np

from ..core import dtypes
from ..lax.compile_time import dimension_or_error
from ..lax.cutting import slice_in_dim
from ..lax.elementwise import sub
from ..lax.operators import less, not_equal, subtract
from ..lax.shaping import expand_dims, iota
from ..lax.sizes import size_along
from ._arguments import (
    canonical_axis,
    constant_like,
    ensure_arraylike,
    ensure_arraylikes,
    index_tuple,
    promote_dtypes,
    promote_dtypes_inexact,
    static_index,
)
from ._arithmetic import mod, power
from ._constructors import asarray
from ._joining import concatenate
from ._running import cumsum
from ._select import _where
from ._shaping import broadcast_to, moveaxis, ravel
from ._staged import staged
from ._ufuncs import abs


@staged(static_argnames=("n", "axis"))
def diff(a, n: int = 1, axis: int = -1, prepend=None, append=None):
    """The differences of neighbours along an axis, taken `n` times.

    Args:
      a: an array.
      n: how often.
      axis: an int.
      prepend, append: arrays or scalars to put before and after `a` first.

    Raises:
      ValueError: a negative `n`, or a scalar.

    >>> diff(jnp.array([1, 4, 9])).tolist()
    [3, 5]
    """
    a, n, axis = ensure_arraylike("diff", a), static_index(n), static_index(axis)
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if a.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonical_axis(axis, a.ndim)
    row = [1 if d == axis else size for d, size in enumerate(a.shape)]
    parts = [_as_row(prepend, row), a, _as_row(append, row)]
    parts = [part for part in parts if part is not None]
    a = concatenate(parts, axis) if len(parts) > 1 else a
    later = [slice(1, None) if d == axis else slice(None) for d in range(a.ndim)]
    earlier = [slice(None, -1) if d == axis else slice(None) for d in range(a.ndim)]
    for _ in range(n):
        difference = not_equal if a.dtype == bool else subtract
        a = difference(a[tuple(later)], a[tuple(earlier)])
    return a


def _as_row(x, shape):
    """What `diff` puts before or after its array."""
    if x is None:
        return None
    x = ensure_arraylike("diff", x)
    return x if x.ndim else broadcast_to(x, tuple(shape))


@staged
def ediff1d(ary, to_end=None, to_begin=None):
    """The differences of neighbours among all elements, with `to_begin` before and `to_end` after.

    Raises:
      TypeError: arguments that are no arrays.
    """
    a = ravel(ensure_arraylike("ediff1d", ary))
    result = sub(a[1:], a[:-1])
    if to_begin is not None:
        result = concatenate((ravel(ensure_arraylike("ediff1d", to_begin).astype(a.dtype)), result))
    if to_end is not None:
        result = concatenate((result, ravel(ensure_arraylike("ediff1d", to_end).astype(a.dtype))))
    return result


@staged(static_argnames=("axis", "edge_order"), eager=False)
def gradient(f, *varargs, axis=None, edge_order: int | None = None):
    """The derivative by central differences (one-sided at the ends), for each axis.

    Args:
      f: an array.
      *varargs: the distance of the samples: one number, or a number or vector an axis.
      axis: an int or ints; by default all axes.

    Returns:
      an array like `f`, or a list of them, one an axis.

    Raises:
      ValueError: fewer than two samples, or distances of a wrong shape.
      TypeError: a wrong number of distances.
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    a, *spacing = promote_dtypes_inexact(*ensure_arraylikes("gradient", f, *varargs))
    axes = range(a.ndim) if axis is None else [canonical_axis(d, a.ndim) for d in index_tuple(axis)]
    if not len(axes):
        return []
    if any(a.shape[d] < 2 for d in axes):
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least 2 "
                         "elements are required.")
    if len(spacing) not in (0, 1, len(axes)):
        raise TypeError(f"Invalid number of spacing arguments {len(spacing)} for {axis=}: give "
                        "one, or one for each axis.")
    steps = (spacing or [1.0]) * (1 if len(spacing) == len(axes) else len(axes))
    out = [_gradient_along(a, h, d) for d, h in zip(axes, steps)]
    return out[0] if len(out) == 1 else out


def _gradient_along(a, h, axis):
    def part(x, start, stop):
        return slice_in_dim(x, start, stop, axis=axis)

    low, high = part(a, 1, 2) - part(a, 0, 1), part(a, -1, None) - part(a, -2, -1)
    if np.ndim(h) == 0:
        inner = (part(a, 2, None) - part(a, None, -2)) * 0.5 / h
        high = high / h
        return concatenate((low / h, inner, high), axis)
    if np.ndim(h) > 1:
        raise ValueError("Spacing arrays must be 1D arrays or scalars.")
    if len(h) != a.shape[axis]:
        raise ValueError("Spacing arrays must have the same length as the dimension along which "
                         f"the gradient is calculated, {a.shape[axis]}; got {len(h)}.")
    x = h.reshape([-1 if d == axis else 1 for d in range(a.ndim)])
    low = low / (part(x, 1, 2) - part(x, 0, 1))
    high = high / (part(x, -1, None) - part(x, -2, -1))
    before, after = part(x, 1, -1) - part(x, 0, -2), part(x, 2, None) - part(x, 1, -1)
    weights = (-after / (before * (before + after)), (after - before) / (before * after),
               before / (after * (before + after)))
    inner = (weights[0] * part(a, 0, -2) + weights[1] * part(a, 1, -1)
             + weights[2] * part(a, 2, None))
    return concatenate((low, inner, high), axis)


@staged(static_argnames=("axis",), eager=False)
def trapezoid(y, x=None, dx=1.0, axis: int = -1):
    """The integral by the trapezoidal rule.

    Args:
      y: the samples.
      x: where they were taken; by default at distances `dx`.
      axis: the dimension to integrate over.
    """
    if x is None:
        (y,) = promote_dtypes_inexact(ensure_arraylike("trapezoid", y))
        step = asarray(dx)
        if step.ndim:
            step = moveaxis(expand_dims(step, range(y.ndim - step.ndim)), axis, -1)
    else:
        y, x = promote_dtypes_inexact(*ensure_arraylikes("trapezoid", y, x))
        step = diff(x) if x.ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1)
    if step.ndim == 0 or step.shape[-1] == 1:
        step = step[..., 0] if step.ndim else step
        return step * (y.sum(-1) - 0.5 * (y[..., 0] + y[..., -1]))
    return 0.5 * (step * (y[..., 1:] + y[..., :-1])).sum(-1)


@staged(static_argnames=("axis",), eager=False)
def unwrap(p, discont=None, axis: int = -1, period=2 * np.pi):
    """`p` with jumps of more than half a period between neighbours taken out.

    Args:
      p: phases.
      discont: the least jump to take out; by default half a period.
      axis: the dimension along which neighbours are compared.
      period: the period of the phases.

    Raises:
      ValueError: `p` is complex.
    """
    p, period = promote_dtypes(ensure_arraylike("unwrap", p), period)
    if p.dtype.kind == "c":
        raise ValueError("jnp.unwrap does not support complex inputs.")
    if size_along("unwrap", p.shape, axis) == 0:
        return p
    discont = period / 2 if discont is None else discont
    half = period // 2 if dtypes.issubdtype(p.dtype, np.integer) else period / 2
    step = diff(p, axis=axis)
    wrapped = mod(step + half, period) - half
    wrapped = _where((wrapped == -half) & (step > 0), half, wrapped)
    correction = _where(less(abs(step), discont), 0, wrapped - step)
    first = slice_in_dim(p, 0, 1, axis=axis)
    rest = slice_in_dim(p, 1, None, axis=axis) + cumsum(correction, axis=axis)
    return concatenate((first, rest), axis)


@staged(static_argnames=("N", "increasing"), eager=False)
def vander(x, N: int | None = None, increasing: bool = False):
    """The matrix of the powers of the elements of a vector, falling from `N - 1` to 0.

    Raises:
      ValueError: `x` is no vector, or `N` negative.
    """
    x = ensure_arraylike("vander", x)
    if x.ndim != 1:
        raise ValueError(f"vander: x must be a one-dimensional array, got shape {x.shape}.")
    columns = x.shape[0] if N is None else dimension_or_error(N)
    if columns < 0:
        raise ValueError(f"vander: N must be nonnegative, got {columns}.")
    exponents = iota(x.dtype, columns)
    if not increasing:
        exponents = sub(constant_like(exponents, columns - 1), exponents)
    return power(expand_dims(x, (1,)), expand_dims(exponents, (0,)))
