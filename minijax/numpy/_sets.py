"""Chapter 12: arrays as sets of their elements.

How many different elements there are depends on the values. So a traced array needs a `size` for
the result: what is too much is cut off, what lacks is filled up.
"""

import operator
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import convert
from ..lax.compile_time import concrete_or_error, ensure_known
from ..lax.cutting import concatenate
from ..lax.dtypes import default_int_dtype
from ..lax.elementwise import ne
from ..lax.shaping import broadcast_to, expand_dims, iota
from ..lax.sorting import sort as lax_sort
from ._arguments import (
    canonical_axis,
    complex_input,
    constant_like,
    ensure_arraylike,
    ensure_arraylikes,
    promote_dtypes,
)
from ._constructors import arange, array, asarray, full, ones, zeros
from ._reductions import any, sum
from ._running import cumsum
from ._searching import searchsorted
from ._select import _where
from ._sequences import diff
from ._shaping import moveaxis, ravel
from ._sorting import lexsort, sort
from ._special import nonzero
from ._staged import staged
from ._ufuncs import isnan

_HINT = ("The size of the result depends on the values of the array: to use it under jit, vmap or "
         "other transformations, say `size=`.")


def _known(name: str, x):
    return ensure_known(x, f"The error arose in jnp.{name}(). {_HINT}")


def _sized(name: str, size, *args):
    """The number of results, and the arguments, whose values must be known if there is none."""
    if size is None:
        return None, *(_known(name, x) for x in args)
    why = f"The error arose for the size argument of jnp.{name}()."
    return concrete_or_error(operator.index, size, why), *args


# ----------------------------------------------------------------------------------------------
# unique


@public
def unique(ar, return_index: bool = False, return_inverse: bool = False,
           return_counts: bool = False, axis: int | None = None, *, equal_nan: bool = True,
           size: int | None = None, fill_value=None, sorted: bool = True):
    """The different elements, or slices along an axis, in ascending order.

    Args:
      ar: an array.
      return_index, return_inverse, return_counts: whether to return, too, where each of them is
        first, which of them is in each place, and how often they occur.
      axis: an int; by default the elements of the array count, and not slices.
      equal_nan: whether NaNs are one element.
      size: how many to return; it must be given if `ar` is traced.
      fill_value: what to put behind them if there are fewer; by default the first of them again.
      sorted: they are sorted in any case.

    Returns:
      an array, or a tuple of it and what else was asked for.

    Raises:
      ConcretizationTypeError: `ar` is traced, and there is no `size`.
      ValueError: no elements, a `size`, and no `fill_value`.

    >>> values, counts = unique(jnp.array([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    size, ar = _sized("unique", size, ensure_arraylike("unique", ar))
    x, along = (ravel(ar), 0) if axis is None else (ar, canonical_axis(axis, ar.ndim))
    found = _Unique(x, along, equal_nan, size, fill_value)
    outs = [found.values()]
    if return_index:
        outs.append(found.indices())
    if return_inverse:
        inverse = found.inverse()
        outs.append(inverse.reshape(ar.shape) if axis is None else inverse)
    if return_counts:
        outs.append(found.counts())
    return tuple(outs) if len(outs) > 1 else outs[0]


class _Unique:
    """The slices of an array along an axis, sorted; each that differs from the one before counts.

    Attributes:
      slices: along the first axis, in ascending order.
      order: the indices that put them there.
      is_new: whether each differs from the one before.
      places: where the new ones are.
    """

    def __init__(self, x, axis: int, equal_nan: bool = True, size: int | None = None,
                 fill_value=None):
        if not x.shape[axis] and size and fill_value is None:
            raise ValueError("jnp.unique: for zero-sized input with nonzero size argument, "
                             "fill_value must be specified")
        self.n, self.axis, self.size, self.fill_value = x.shape[axis], axis, size, fill_value
        slices = moveaxis(x, axis, 0)
        if complex_input(slices):  # NaNs in whichever part are one number
            slices = _where(isnan(slices), constant_like(slices, np.nan), slices)
        self.order = _order_of_slices(slices)
        self.slices = slices[self.order]
        self.is_new = _differ_from_last(self.slices, equal_nan)
        if size is None:
            _known("unique", self.is_new)
        (self.places,) = nonzero(self.is_new, size=size)

    def values(self):
        out = self.slices if 0 in self.slices.shape else self.slices[self.places]
        if self.size is not None and self.fill_value is not None:
            fill = ensure_arraylike("unique", self.fill_value).astype(out.dtype)
            if out.shape[0]:
                is_one = arange(self.size) < sum(self.is_new)
                out = _where(expand_dims(is_one, range(1, out.ndim)), out, fill)
            else:
                out = broadcast_to(fill, (self.size, *out.shape[1:]))
        return moveaxis(out, 0, self.axis)

    def indices(self):
        return self.order if 0 in self.slices.shape else self.order[self.places]

    def inverse(self):
        numbers = zeros(self.n, dtype=int)
        if 0 in self.slices.shape:
            return numbers
        return numbers.at[self.order].set(cumsum(self.is_new) - 1)

    def counts(self):
        if 0 in self.slices.shape:
            return full((min(self.n, 1),), self.n, dtype=int)
        if self.size is None:
            return diff(concatenate([self.places, array([self.n])], 0))
        (ends,) = nonzero(self.is_new, size=self.size + 1, fill_value=self.n)
        return diff(ends)


def _order_of_slices(slices):
    """The indices that sort slices by their first element, and by the next where it is equal."""
    n, width = slices.shape[0], slices.size // slices.shape[0] if slices.shape[0] else 0
    if 0 in slices.shape:
        return zeros(1 if 0 in slices.shape[1:] else n, dtype=int)
    return lexsort(slices.reshape(n, width).T[::-1])


def _differ_from_last(slices, equal_nan):
    if 0 in slices.shape:
        return zeros(slices.shape[0], dtype=bool)
    before, after = slices[:-1], slices[1:]
    differ = ne(after, before)
    if equal_nan and dtypes.issubdtype(slices.dtype, np.inexact):
        differ = differ & ~(isnan(after) & isnan(before))
    differ = any(differ, tuple(range(1, slices.ndim)))
    return ones(slices.shape[0], dtype=bool).at[1:].set(differ)


class _UniqueAllResult(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    values: Any
    inverse_indices: Any


@public
def unique_all(x, /, *, size: int | None = None, fill_value=None):
    """`unique` with all that it can return, as a named tuple; each NaN is an element of its own.

    Args, raises: as `unique`.

    >>> unique_all(jnp.array([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    return _UniqueAllResult(*unique(ensure_arraylike("unique_all", x), True, True, True,
                                    equal_nan=False, size=size, fill_value=fill_value))


@public
def unique_counts(x, /, *, size: int | None = None, fill_value=None):
    """The different elements and how often they occur, as a named tuple; see `unique_all`."""
    return _UniqueCountsResult(*unique(ensure_arraylike("unique_counts", x), return_counts=True,
                                       equal_nan=False, size=size, fill_value=fill_value))


@public
def unique_inverse(x, /, *, size: int | None = None, fill_value=None):
    """The different elements and which is in each place, as a named tuple; see `unique_all`."""
    return _UniqueInverseResult(*unique(ensure_arraylike("unique_inverse", x), return_inverse=True,
                                        equal_nan=False, size=size, fill_value=fill_value))


@public
def unique_values(x, /, *, size: int | None = None, fill_value=None):
    """The different elements; each NaN is one of its own; see `unique`."""
    return unique(ensure_arraylike("unique_values", x), equal_nan=False, size=size,
                  fill_value=fill_value)


# ----------------------------------------------------------------------------------------------
# Membership


@public
def isin(element, test_elements, assume_unique: bool = False, invert: bool = False, *,
         method: str = "auto"):
    """Whether each element of one array is in another one.

    Args:
      element: an array.
      test_elements: another.
      assume_unique: a promise that neither has an element twice; not needed.
      invert: whether to return the opposite.
      method: "compare_all" compares each with each (as "auto" does), "binary_search" searches the
        second one, sorted, and "sort" sorts both together.

    Returns:
      booleans of the shape of `element`.

    Raises:
      ValueError: an unknown method.

    >>> isin(jnp.array([1, 2, 3]), jnp.array([3, 1])).tolist()
    [True, False, True]
    """
    element, test_elements = ensure_arraylikes("isin", element, test_elements)
    found = _in1d(element, test_elements, invert=invert, method=method, assume_unique=assume_unique)
    return found.reshape(element.shape)


@staged(static_argnames=("assume_unique", "invert", "method"))
def _in1d(ar1, ar2, invert, method="auto", assume_unique=False):
    ar1, ar2 = map(ravel, promote_dtypes(ar1, ar2))
    if not (ar1.size and ar2.size):
        return full(ar1.shape, invert, dtype=bool)
    if method in ("auto", "compare_all"):
        if invert:
            return (ar1[:, None] != ar2[None, :]).all(-1)
        return (ar1[:, None] == ar2[None, :]).any(-1)
    if method not in ("binary_search", "sort"):
        raise ValueError(f"{method=} is not implemented; options are 'compare_all', "
                         "'binary_search', 'sort', and 'auto'")
    ar2 = sort(ar2)
    place = searchsorted(ar2, ar1, method="sort" if method == "sort" else "scan")
    candidate = ar2.at[place].get(mode="clip")
    return ar1 != candidate if invert else ar1 == candidate


# ----------------------------------------------------------------------------------------------
# Sets


@public
def union1d(ar1, ar2, *, size: int | None = None, fill_value=None):
    """The elements of two arrays, each once, in ascending order.

    Args:
      ar1, ar2: arrays, made flat; dtypes are promoted.
      size: how many to return; it must be given if an array is traced.
      fill_value: what to put behind them if there are fewer; by default the first of them again.

    Raises:
      ConcretizationTypeError: an array is traced, and there is no `size`.

    >>> union1d(jnp.array([3, 1]), jnp.array([1, 2])).tolist()
    [1, 2, 3]
    """
    size, ar1, ar2 = _sized("union1d", size, *ensure_arraylikes("union1d", ar1, ar2))
    both = concatenate([*map(ravel, promote_dtypes(ar1, ar2))], 0)
    return unique(both, size=size, fill_value=fill_value)


@public
def setdiff1d(ar1, ar2, assume_unique: bool = False, *, size: int | None = None, fill_value=None):
    """The elements of the first array that are not in the second.

    Args:
      ar1, ar2: arrays, made flat.
      assume_unique: a promise that neither has an element twice; then the order is that of `ar1`,
        otherwise ascending.
      size, fill_value: as for `union1d`; but filled up with 0 by default.

    Raises:
      ConcretizationTypeError: an array is traced, and there is no `size`.

    >>> setdiff1d(jnp.array([3, 1, 1]), jnp.array([1, 2])).tolist()
    [3]
    """
    size, ar1, ar2 = _sized(
        "setdiff1d", size, *map(ravel, ensure_arraylikes("setdiff1d", ar1, ar2)))
    values, is_one = _distinct(ar1, assume_unique)
    is_one = is_one & _in1d(values, ar2, invert=True)
    found = _selected(values, is_one, size, 0 if fill_value is None else fill_value)
    return convert(found, values.dtype, typeof(values).weak_type)


@public
def intersect1d(ar1, ar2, assume_unique: bool = False, return_indices: bool = False, *,
                size: int | None = None, fill_value=None):
    """The elements that are in both arrays, in ascending order.

    Args:
      ar1, ar2: arrays, made flat; dtypes are promoted.
      assume_unique: a promise that neither has an element twice.
      return_indices: whether to return, too, where they are in `ar1` and in `ar2`.
      size, fill_value: as for `union1d`; indices are filled up with the arrays' sizes.

    Raises:
      ConcretizationTypeError: an array is traced, and there is no `size`.

    >>> intersect1d(jnp.array([3, 1, 1]), jnp.array([1, 2])).tolist()
    [1]
    """
    arrays = promote_dtypes(*ensure_arraylikes("intersect1d", ar1, ar2))
    size, ar1, ar2 = _sized("intersect1d", size, *map(ravel, arrays))
    first, second = _first_places(ar1), _first_places(ar2)
    values = ar1[first]
    is_one = _starts_run(values) & _in1d(values, ar2, False, "binary_search")
    out = _selected(values, is_one, size, fill_value)
    if not return_indices:
        return out
    index1 = _selected(first, is_one, size, ar1.size)
    index2 = second.at[searchsorted(ar2[second], out)].get(mode="clip")
    if size is not None:
        index2 = _where(arange(size) < sum(is_one), index2, ar2.size)
    return out, index1, index2


@public
def setxor1d(ar1, ar2, assume_unique: bool = False, *, size: int | None = None, fill_value=None):
    """The elements that are in just one of two arrays, in ascending order.

    Args, raises: as `intersect1d`.

    >>> setxor1d(jnp.array([3, 1, 1]), jnp.array([1, 2])).tolist()
    [2, 3]
    """
    arrays = promote_dtypes(*ensure_arraylikes("setxor1d", ar1, ar2))
    size, ar1, ar2 = _sized("setxor1d", size, *map(ravel, arrays))
    parts = []
    for one, other in ((ar1, ar2), (ar2, ar1)):
        values, is_one = _distinct(one, assume_unique)
        parts.append((values, is_one & _in1d(values, other, True, "binary_search")))
    values, is_one = (concatenate([*both], 0) for both in zip(*parts))
    left_out, values = lax_sort((~is_one, values), num_keys=2)
    return _selected(values, ~left_out, size, fill_value)


def _distinct(x, assume_unique: bool):
    """The elements (unless all differ, in ascending order), and a mask: each different one once."""
    if assume_unique:
        return x, ones(x.shape, dtype=bool)
    x = sort(x)
    return x, _starts_run(x)


def _starts_run(x):
    return _differ_from_last(x, equal_nan=True)


def _first_places(x):
    """The indices that sort `x`, equal elements in their order."""
    return lax_sort((x, iota(default_int_dtype(), x.size)))[1]


def _selected(x, mask, size, fill_value):
    """The elements of `x` under a mask; filled up to `size`, by default with the first of them."""
    if size is None:
        return x[mask]
    if not x.size:
        return full((size,), 0 if fill_value is None else fill_value, x.dtype)
    (places,) = nonzero(mask, size=size)
    found = arange(size) < sum(mask)
    if fill_value is None:
        fill_value = _where(any(mask), x[places[0]] if size else 0, 0)
    return _where(found, x[places], asarray(fill_value).astype(x.dtype))
