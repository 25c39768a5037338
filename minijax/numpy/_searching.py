"""Chapter 12: where numbers fit into a sorted array, and what lies between its elements; where an
array has its extremes.

The first are compiled as a whole, also when nothing is traced: as one program they are
quicker than as many operations.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np

from ..checks.primitives import integer_axis, places_fit
from ..core.api import vmap
from ..core.avals import vary_like
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import convert
from ..lax import bitwise, complex_numbers, elementwise as lax, reductions as red
from ..lax.bits import eq_to_p, le_to_p, lt_to_p
from ..lax.control_flow.scan import scan
from ..lax.cutting import concatenate
from ..lax.dtypes import check_and_canonicalize_user_dtype, default_int_dtype
from ..lax.selection import select
from ..lax.shaping import expand_dims, full_like, iota, reshape
from ..lax.sizes import size_along
from ..lax.sorting import sort_key_val
from ..lax.windows import index_dtype
from ..runtime.jit import jit
from ..text.naming import named
from ._arguments import (
    canonical_axis,
    check_no_out,
    complex_input,
    constant_like,
    ensure_arraylike,
    ensure_arraylikes,
    is_integer,
    promote_dtypes,
    promote_dtypes_inexact,
)
from ._constructors import zeros_like
from ._reductions import sum
from ._select import _where
from ._shaping import ravel
from ._special import clip
from ._ufuncs import abs


@functools.partial(jit, static_argnames=("side", "method"))
def searchsorted(a, v, side: str = "left", sorter=None, *, method: str = "scan"):
    """Where to put numbers into a sorted vector, that it stays sorted.

    Args:
      a: a vector, sorted with NaN last.
      v: an array of any shape.
      side: of elements that are equal, before the first ("left") or behind the last ("right").
      sorter: indices that sort `a`, if it is not sorted.
      method: "scan" halves the vector in a loop, "scan_unrolled" without one, "sort" sorts `a` and
        `v` together, "compare_all" compares each with each: which is fastest depends on the sizes
        and the device.

    Returns:
      integers of the shape of `v`.

    Raises:
      ValueError: `a` is no vector, an unknown side or method.

    >>> searchsorted(jnp.array([1, 2, 2, 3]), jnp.array([2, 9])).tolist()
    [1, 4]
    """
    if sorter is None:
        a, v = ensure_arraylikes("searchsorted", a, v)
    else:
        a, v, sorter = ensure_arraylikes("searchsorted", a, v, sorter)
    if a.ndim != 1:
        raise ValueError(f"searchsorted: a must be a vector, got an array of shape {a.shape}")
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is an invalid value for keyword 'side': 'left' or 'right'")
    if method not in _METHODS:
        raise ValueError(f"{method!r} is an invalid value for keyword 'method': one of "
                         f"{list(_METHODS)}")
    a, v = promote_dtypes(a, v)
    if 0 in a.shape:
        return zeros_like(v, np.int32)
    places = index_dtype(a.shape)
    places_fit("searchsorted", a.size, check_and_canonicalize_user_dtype(places, "searchsorted"))
    a = a if sorter is None else a[sorter]
    return _METHODS[method](a, v, side)


@functools.partial(jit, static_argnames=("side", "unrolled"))
def _searchsorted_scan_impl(a, v, side: str, unrolled: bool = False):
    """The place is between two bounds; each step looks at the element in the middle."""
    if v.ndim:
        one = functools.partial(_searchsorted_scan_impl, side=side, unrolled=unrolled)
        return vmap(one, (None, 0))(a, v)

    def step(bounds, _):
        low, high = bounds
        middle = low + (high - low) // 2
        go_left = _in_order(v, a[middle], or_equal=side == "left")
        return (select(go_left, low, middle), select(go_left, middle, high)), ()

    (n,), dtype = a.shape, index_dtype(a.shape)
    unsigned, steps = np.dtype(f"u{dtype}").type, int(n).bit_length()
    bounds = tuple([vary_like(vary_like(bound, typeof(v)), typeof(a))
                    for bound in (unsigned(0), unsigned(n))])
    (_, place), _ = scan(step, bounds, (), steps, unroll=steps if unrolled else 1)
    return convert(place, dtype)


@functools.partial(jit, static_argnames=("side",))
def _searchsorted_compare_all_impl(a, v, side: str):
    """How many elements are less (or, to the right, not greater)."""
    before = functools.partial(_in_order, or_equal=side == "right")
    return sum(vmap(before, (0, None))(a, v), axis=0, dtype=index_dtype(a.shape))


@functools.partial(jit, static_argnames=("side",))
def _searchsorted_sort_impl(a, v, side: str):
    """The rank among all, less the rank among v. Sorts are stable: what is left stays left."""
    flat = ravel(v)
    if side == "left":
        ranks = _ranks(concatenate([flat, a], 0))[:v.size]
    else:
        ranks = _ranks(concatenate([a, flat], 0))[a.size:]
    return reshape(lax.sub(ranks, _ranks(flat)), v.shape)


def _ranks(x):
    places = iota(index_dtype(x.shape), x.shape[0])
    zeros = full_like(places, 0)
    return zeros.at[sort_key_val(x, places)[1]].set(places)


def _in_order(x, y, or_equal: bool):
    """Elementwise: is x sorted before y, or perhaps equal to it?"""
    compare = le_to_p.bind if or_equal else lt_to_p.bind
    if not complex_input(x):
        return compare(_sort_key(x), _sort_key(y))
    parts = (_sort_key(complex_numbers.real(x)), _sort_key(complex_numbers.real(y)))
    imaginary = compare(_sort_key(complex_numbers.imag(x)), _sort_key(complex_numbers.imag(y)))
    tie = bitwise.bitwise_and(eq_to_p.bind(*parts), imaginary)
    return bitwise.bitwise_or(lt_to_p.bind(*parts), tie)


def _sort_key(x):
    """`x` with one zero and one NaN, which in the total order of floats is the last of all."""
    if is_integer(x):
        return x
    x, is_nan = select(x == constant_like(x, 0), full_like(x, 0), x), lax.ne(x, x)
    return select(is_nan, full_like(x, np.nan), x)


_METHODS: dict[str, Callable] = {
    "compare_all": _searchsorted_compare_all_impl,
    "scan": _searchsorted_scan_impl,
    "scan_unrolled": functools.partial(_searchsorted_scan_impl, unrolled=True),
    "sort": _searchsorted_sort_impl,
}


@functools.partial(jit, static_argnames=("right", "method"))
def digitize(x, bins, right: bool = False, *, method: str | None = None):
    """Which bin each number is in: of rising edges, bin i is edges[i-1] ≤ x < edges[i].

    Args:
      x: an array of any shape.
      bins: a vector of edges, rising or falling.
      right: whether the right edge belongs to a bin, instead of the left one.
      method: as for `searchsorted`.

    Returns:
      integers of the shape of `x`, from 0 (before the first edge) to len(bins).

    Raises:
      ValueError: `bins` is no vector.

    >>> digitize(jnp.array([0.5, 1.0, 7.0]), jnp.array([0.0, 1.0, 2.0])).tolist()
    [1, 2, 3]
    """
    x, bins = ensure_arraylikes("digitize", x, bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got bins={bins}")
    if not bins.size:
        return zeros_like(x, dtype=np.int32)
    find = functools.partial(searchsorted, v=x, side="left" if right else "right",
                             **({} if method is None else {"method": method}))
    return _where(bins[-1] >= bins[0], find(bins), bins.size - find(bins[::-1]))


@public
def interp(x, xp, fp, left=None, right=None, period=None):
    """The function through given points, straight between each two.

    Args:
      x: an array of any shape: where to evaluate.
      xp: a vector, rising: where the function is given.
      fp: a vector of the same size: its values there, real or complex.
      left, right: the values before and after all points: a number (by default the value at the
        first and at the last point), or "extrapolate", the line through the two outermost points.
      period: of x and xp; then there is no left and right, and xp need not be sorted.

    Raises:
      ValueError: no vectors of one size, complex x, another string, a period that is no scalar.

    >>> interp(jnp.array([0.5, 5.0]), jnp.array([0.0, 1.0]), jnp.array([10.0, 20.0])).tolist()
    [15.0, 20.0]
    """
    static = [name for name, value in (("left", left), ("right", right), ("period", period))
              if value is None or (name != "period" and isinstance(value, str))]
    return _jitted_interp(tuple(static))(x, xp, fp, left, right, period)


@functools.cache
def _jitted_interp(static_argnames):
    return jit(_interp, static_argnames=static_argnames)


def _interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = ensure_arraylikes("interp", x, xp, fp)
    if xp.shape != fp.shape or xp.ndim != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = promote_dtypes_inexact(x, xp)
    (fp,) = promote_dtypes_inexact(fp)
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(f"the only valid string value of `{name}` is 'extrapolate', but got: "
                             f"{value!r}")
    if complex_input(x):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        x, xp, fp = _one_period(x, xp, fp, period)
    i = clip(searchsorted(xp, x, side="right"), 1, xp.size - 1)
    rise, width = fp[i] - fp[i - 1], xp[i] - xp[i - 1]
    part = x - xp[i - 1]
    is_step = lax.abs_(width) <= np.spacing(np.finfo(xp.dtype).eps)
    out = _where(is_step, fp[i - 1], fp[i - 1] + (part / _where(is_step, 1, width)) * rise)
    if period is not None:
        return out
    if not isinstance(left, str):
        left = fp[0] if left is None else left
        out = _where(x < xp[0], left, out)
    if not isinstance(right, str):
        right = fp[-1] if right is None else right
        out = _where(x > xp[-1], right, out)
    return out


def _one_period(x, xp, fp, period):
    """All x in [0, period), and the points in order, with one more on either side."""
    if typeof(period).ndim:
        raise ValueError(f"period must be a scalar; got {period}")
    period = abs(period)
    xp, fp = sort_key_val(xp % period, fp)
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period], 0)
    return x % period, xp, concatenate([fp[-1:], fp, fp[:1]], 0)


def _arg_extreme(name, primitive, doc):
    """`argmax` and `argmin`."""

    @named(name, doc=doc)
    @public
    def function(a, axis: int | None = None, out=None, keepdims: bool | None = None):
        """{doc}

        Args:
          a: an array of real numbers.
          axis: an int, the dimension to search; by default the elements in row-major order.
          keepdims: whether the reduced dimensions remain, with size 1.

        Raises:
          ValueError: nothing to search.
          IndexError: an axis out of bounds.
        """
        a = ensure_arraylike(name, a)
        check_no_out(name, out)
        dims, position = list(range(a.ndim)), 0
        if axis is None:
            a = reshape(a, (a.size,))
        else:
            integer_axis(axis)
            dims, position = [axis], operator.index(axis)
        if size_along(name, a.shape, position) == 0:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        axes = (canonical_axis(position, a.ndim),)
        result = primitive.bind(a, axes=axes, index_dtype=default_int_dtype())
        return expand_dims(result, dims) if keepdims else result

    return function


argmax = _arg_extreme("argmax", red.argmax_p, "The index of the first greatest element.")
argmin = _arg_extreme("argmin", red.argmin_p, "The index of the first least element.")
