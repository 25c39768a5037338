"""Chapter 11: `x.at[index]`, whose methods return changed copies of an array."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import ArrayMethods, install_methods, typeof
from ..core.operators import promote_dtypes
from ..core.primitives import constant, convert, ensure_array
from ..text.locations import user_stacklevel
from . import indexing
from .advanced_indexing import array_of_list, plan, take_index
from .dtypes import safe_to_cast
from .indexing import indexing_of
from .out_shardings import call_sharded
from .scattering import (
    scatter,
    scatter_add,
    scatter_apply,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_sub,
)
from .shaping import (
    broadcast_to,
    expand_dims,
    full_like,
    rev,
    squeeze,
)
from .windows import GatherScatterMode, of_scatter


@public
def scatter_index(x, index, y, op: Callable, *, indices_are_sorted: bool = False,
                  unique_indices: bool = False, mode: str | GatherScatterMode | None = None,
                  wrap_negative_indices: bool = True, out_sharding=None):
    """`x` with `y` combined into `x[index]` by one of the scatter functions."""
    if out_sharding is not None:
        return call_sharded(
            scatter_index, x, index, y, op, indices_are_sorted=indices_are_sorted, mode=mode,
            unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices,
            out_sharding=out_sharding)
    aval = typeof(x)
    y = _update_value(y, aval)
    how = plan(index, aval.shape, wrap_negative_indices)
    if not safe_to_cast(y, x):
        warnings.warn(
            "scatter inputs have incompatible types: cannot safely cast value from dtype="
            f"{typeof(y).dtype} to dtype={aval.dtype}. In future JAX releases this will result "
            "in an error.", FutureWarning, stacklevel=user_stacklevel())
    if 0 in how.shape:
        return x
    x, y = promote_dtypes(x, y)
    y = broadcast_to(y, how.shape) if typeof(y).shape != how.shape else y
    if how.new_dims:
        y = squeeze(y, how.new_dims)
    if how.reversed_dims:
        y = rev(y, how.reversed_dims)
    if how.boolean_dims:
        x = expand_dims(x, how.boolean_dims)
    out = op(x, how.indices, y, of_scatter(how.numbers), mode=mode,
             indices_are_sorted=how.in_order or indices_are_sorted,
             unique_indices=how.in_order or unique_indices)
    if how.boolean_dims:
        out = squeeze(out, how.boolean_dims)
    return convert(out, aval.dtype, aval.weak_type)


def _update_value(y, aval):
    """The values to write, as an array. A Python integer gets the array's dtype if it fits."""
    if isinstance(y, ArrayMethods):
        return y
    if isinstance(y, int) and dtypes.issubdtype(aval.dtype, np.integer):
        info = dtypes.iinfo(aval.dtype)
        if info.min <= y <= info.max:
            return constant(y, aval.dtype)
    if isinstance(y, (list, tuple)):
        y = array_of_list(y)
        return _update_value(y, aval)
    if y is None:
        raise ValueError("x.at[...]: the value to write must be an array or a number, got None.")
    return ensure_array(y)


class IndexUpdateHelper:
    """`x.at`, to be indexed: `x.at[index]`."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __setitem__(self, index, value) -> None:
        raise TypeError("x.at[index] = y writes nothing, because arrays never change. Write "
                        "`x = x.at[index].set(y)`.")

    def __call__(self, *index) -> None:
        raise TypeError("x.at is indexed, and not called: `x.at[index].set(y)`.")

    def __repr__(self):
        return f"_IndexUpdateHelper({self.array!r})"


def _get(array, index, options):
    return IndexUpdateRef(array, index).get(**options)


def _update(op: Callable, doc: str) -> Callable:
    """A method of `x.at[index]` that writes by one of the scatter functions."""
    @public
    def method(self, values, **options):
        return scatter_index(self.array, self.index, values, op, **options)

    method.__doc__ = doc
    return method


class IndexUpdateRef:
    """`x.at[index]`. Its methods return a copy of `x` with other elements at the index.

    All of them take these keywords:
      indices_are_sorted, unique_indices: promises, which may make it faster.
      mode: what happens to indices out of bounds: "clip" (moved inside), "fill" or "drop" (`get`
        fills in, the others leave them out), "promise_in_bounds".
      wrap_negative_indices: whether negative integers count from the end.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    >>> x = jnp.zeros(4)
    >>> x.at[1].set(5.0).at[jnp.array([2, 2])].add(1.0).tolist()
    [0.0, 5.0, 2.0, 0.0]
    """

    __slots__ = ("array", "index")

    def __init__(self, array, index):
        self.array, self.index = array, index

    def __repr__(self):
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    @public
    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | GatherScatterMode | None = None, fill_value=None,
            wrap_negative_indices: bool = True, out_sharding=None):
        """`x[index]`, with a mode, and a `fill_value` for mode "fill"."""
        options: dict[str, Any] = {
            "indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices,
            "mode": mode, "fill_value": fill_value,
            "wrap_negative_indices": wrap_negative_indices}
        if out_sharding is not None:
            return call_sharded(_get, self.array, index=self.index, options=options,
                                out_sharding=out_sharding)
        may_slice = mode is None or GatherScatterMode.from_any(mode) in _SLICING_MODES
        if may_slice and _is_box(self.index, wrap_negative_indices):
            return indexing.getitem(self.array, self.index)
        return take_index(self.array, self.index, **options)

    set = _update(scatter, "`x[index] = values`; of several for one element, any one may win.")
    add = _update(scatter_add, "`x[index] += values`, repeated indices as often as they occur.")
    subtract = _update(
        scatter_sub, "`x[index] -= values`, repeated indices as often as they occur.")
    multiply = mul = _update(
        scatter_mul, "`x[index] *= values`, repeated indices as often as they occur.")
    min = _update(scatter_min, "`x[index] = minimum(x[index], values)`.")
    max = _update(scatter_max, "`x[index] = maximum(x[index], values)`.")

    @public
    def divide(self, values, **options):
        """`x[index] /= values`, repeated indices as often as they occur."""
        return self.array / self._factors(values, options)

    @public
    def power(self, values, **options):
        """`x[index] **= values`, repeated indices as often as they occur."""
        return self.array ** self._factors(values, options)

    def _factors(self, values, options):
        ones = full_like(self.array, 1)
        return scatter_index(ones, self.index, values, scatter_mul, **options)

    @public
    def apply(self, func: Callable, **options):
        """`x[index] = func(x[index])`, repeated indices as often as they occur.

        It cannot be differentiated.
        """
        if not callable(func):
            raise TypeError(f"`.at[…].apply` takes a function of one element, got {func!r}.")
        def op(x, indices, y, numbers, **params):
            return scatter_apply(x, indices, func, numbers, update_shape=typeof(y).shape, **params)

        zero = constant(0, typeof(self.array).dtype)
        return scatter_index(self.array, self.index, zero, op, **options)


def _is_box(index, wrap: bool) -> bool:
    """Whether slices do for an index; negative integers only if they count from the end."""
    return indexing.is_basic(index) and (wrap or not any(
        entry is not None and entry is not Ellipsis and not isinstance(entry, builtins.slice)
        and not (isinstance(entry, (int, np.integer)) and entry >= 0)
        for entry in indexing.as_tuple(index)))


_SLICING_MODES = (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS)


def _at(x):
    other = indexing_of.get(type(x.aval))
    return IndexUpdateHelper(x) if other is None else other.at(x)


install_methods({"at": property(
    _at, doc="`x.at[index].set(y)` and its like: changed copies of the array.")})
