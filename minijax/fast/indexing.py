"""Fast paths for reading and writing at indices whose values are known.

The core's way is a gather or a scatter, with an index vector for each window. Here NumPy indexes
the contents. What NumPy would not do as the gather does, such as an index out of bounds, is left to
the core's way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import Array, quiet
from ..core.core import ArrayMethods, ShapedArray, eval_trace, install_methods, state
from ..core.dtypes import promote_types
from ..core.extension import hooks, register
from ..fast_paths import MANY, FastFunctions
from ..settings import numpy_dtype_promotion, trace_context


def is_concrete(x: Any) -> bool:
    """Whether NumPy has the contents of `x`, and nothing is traced."""
    return (type(x) is Array and x._host is not None and isinstance(x.aval.dtype, np.dtype)
            and state.trace is eval_trace and not (hooks.evaluate or hooks.after_evaluation))


def taken(x: Any, indices: Any, axis: int | None, along: bool = False,
          fill: bool = False) -> Array | None:
    """The elements of `x` at the indices, or `None` where NumPy would not do.

    Args:
      indices: what to take along the axis; if `along`, for each line its own (see
        `jnp.take_along_axis`).
      axis: an int. With `None`, `x` is flattened first, and `along` must be false.
      fill: whether the usual value stands where an index is out of bounds.
    """
    if not (is_concrete(x) and (axis is None or type(axis) is int)):
        return None
    value, places, aval = x._host, _places(indices), x.aval
    if places is None or fill and places.size >= MANY:  # then the function is a program of XLA's
        return None
    try:
        if along and aval.ndim > 1:
            index: list = [*_grid(aval.shape)]
            index[axis] = places  # type: ignore[index]
            out = value[tuple(index)]
        else:
            out = value.take(places, axis)
    except IndexError:
        # A large index of NumPy's is another number in 32 bits.
        out = _filled(value, places, axis, along) if fill and type(indices) is Array else None
        if out is None:
            return None
    return Array(out, ShapedArray(out.shape, aval.dtype, aval.weak_type))


def _filled(value: np.ndarray, places: np.ndarray, axis: int | None, along: bool) -> Any:
    """The elements at these places; NaN, or the lowest integer, for places out of bounds."""
    kind, value = value.dtype.kind, value.reshape(-1) if axis is None else value
    if kind not in "if" or not value.size or not -value.ndim <= (axis or 0) < value.ndim:
        return None
    axis = (axis or 0) % value.ndim
    size = value.shape[axis]
    if places.dtype.itemsize < 4 or size > 2**30:
        places = places.astype(np.intp)
    length, ends, unsigned = _bounds(size, places.dtype)
    outside = np.greater_equal(np.add(places, length).view(unsigned), ends)
    if along and value.ndim > 1:
        index: list = [*_grid(value.shape)]
        index[axis] = places % length
        try:
            out = value[tuple(index)]
        except IndexError:  # of shapes that do not broadcast
            return None
    else:
        out = np.asarray(value.take(places, axis, None, "wrap"))
        if out.ndim > outside.ndim:
            outside = outside.reshape(outside.shape + (1,) * (value.ndim - axis - 1))
    np.copyto(out, _fill(value.dtype), where=outside)
    return out


@functools.lru_cache(maxsize=256)
def _bounds(size: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.dtype]:
    """The size, which makes an index from the end positive; the end of all indices after that; and
    their unsigned dtype, in which a negative number is large."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return np.asarray(size, dtype), np.asarray(2 * size, unsigned), unsigned


@functools.cache
def _fill(dtype: np.dtype) -> np.ndarray:
    return np.asarray(np.nan if dtype.kind == "f" else np.iinfo(dtype).min, dtype)


@functools.lru_cache(maxsize=256)
def _grid(shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """For each dimension an array that counts along it, and has size 1 in all others."""
    return tuple(np.ogrid[tuple(slice(n) for n in shape)])


def updated(x: Any, index: Any, y: Any, combine: np.ufunc | None = None) -> Array | None:
    """A copy of `x` with `y` at the index, or `None` where NumPy would not do.

    `y` must be a number, or have the dtype of `x`. It replaces the elements, or is combined with
    them.
    """
    if not is_concrete(x):
        return None
    entries = tuple(map(_entry, index if type(index) is tuple else (index,)))
    if any(entry is None for entry in entries):
        return None
    dtype = x.aval.dtype
    if type(y) is Array and y._host is not None and y.aval.dtype == dtype:
        y = y._host
    elif not (type(y) is float and dtype.kind in "fc"
              or type(y) is int and dtype.kind in "iufc" and -2**31 <= y < 2**31):
        return None
    out = np.array(x._host)
    try:
        if combine is not None:
            quiet.run(_combine, combine, out, entries, y)
        elif np.ndim(y) and np.ndim(y) > out[entries].ndim:
            return None
        else:
            quiet.run(out.__setitem__, entries, y)
    except (IndexError, TypeError, ValueError, OverflowError):
        return None
    return Array(out, x.aval)


def _combine(combine: np.ufunc, out: np.ndarray, entries: tuple, y: Any) -> None:
    """Combine `y` with the elements at the index, in place and one by one.

    Raises:
      ValueError: NumPy would not do, or would take long.
    """
    entries = tuple(int(e) if np.ndim(e) == 0 and type(e) is np.ndarray else e for e in entries)
    part, y = out[entries], np.asarray(y, out.dtype)
    arrays = np.ndarray in map(type, entries)
    single = len(entries) == out.ndim and slice not in map(type, entries)
    if y.ndim > part.ndim or out.dtype.kind not in "iufc" or part.size >= (
            MANY if single or not arrays else _FEW_WINDOWS):
        raise ValueError
    if arrays:
        combine.at(out, entries, y)
    else:
        combine(part, y, out=out[(*entries, ...)])


def _entry(entry: Any) -> Any:
    """An integer, a slice or an array of integers, for NumPy; `None` for what else may index."""
    if type(entry) in (Array, np.ndarray):
        return _places(entry)
    return entry if type(entry) in (int, slice) else None


def _places(indices: Any) -> np.ndarray | None:
    """An array of integers that NumPy has, or `None`."""
    if type(indices) is Array:
        return indices._host if indices.aval.dtype.kind == "i" else None
    return indices if type(indices) is np.ndarray and indices.dtype.kind == "i" else None


_FEW_WINDOWS = 1024  # elements: NumPy combines windows slowly

# ----------------------------------------------------------------------------------------------
# Views

new = object.__new__
_BASIC = {int, slice, type(None), type(Ellipsis)}
_view_avals: dict[tuple[ShapedArray, tuple], ShapedArray] = {}  # (type of `x`, shape) -> of x[…]


def _view_aval(aval: ShapedArray, shape: tuple) -> ShapedArray | None:
    """The type of a part of an array; `None` if its contents are not as NumPy sees them."""
    if not isinstance(aval.dtype, np.dtype) or aval.placement is not None:
        return None
    if len(_view_avals) >= 4096:
        _view_avals.clear()
    found = _view_avals[aval, shape] = ShapedArray(shape, aval.dtype, aval.weak_type)
    return found


def fast_getitem(self, index):
    """`x[index]`, a view of the contents if nothing is indexed by arrays."""
    if (type(self) is Array and state.trace is eval_trace
            and not (hooks.evaluate or hooks.after_evaluation)):
        value, kind = self._host, type(index)
        if value is not None and (kind is slice or kind is int or (
                kind is tuple and _BASIC.issuperset(map(type, index)))):
            try:
                view = value[index]
            except Exception:  # out of bounds, or no index
                return ArrayMethods.__getitem__(self, index)  # type: ignore[attr-defined]
            aval = self.aval
            out_aval = _view_avals.get((aval, view.shape))
            if out_aval is None:
                out_aval = _view_aval(aval, view.shape)
            if out_aval is not None:
                out = new(Array)  # as `Array(view, out_aval)`, in two thirds of the time
                out.aval, out._host, out._buffer = out_aval, view, None
                return out
    return ArrayMethods.__getitem__(self, index)  # type: ignore[attr-defined]


# ----------------------------------------------------------------------------------------------
# The public functions


def fast_take(function: Callable) -> Callable:
    def take(a, indices, axis=None, out=None, mode=None, *args, **options):
        if mode is None and out is None:
            fill = not args and options.get("fill_value") is None
            if (found := taken(a, indices, axis, fill=fill)) is not None:
                return found
        return function(a, indices, axis, out, mode, *args, **options)

    return take


def fast_take_along_axis(function: Callable) -> Callable:
    def take_along_axis(arr, indices, axis=-1, mode=None, fill_value=None, **options):
        if mode is None and not options and type(axis) is int and (
                getattr(arr, "ndim", None) == getattr(indices, "ndim", 0)):
            found = taken(arr, indices, axis, along=True, fill=fill_value is None)
            if found is not None:
                return found
        return function(arr, indices, axis, mode, fill_value, **options)

    return take_along_axis


def fast_put_along_axis(function: Callable) -> Callable:
    """Each index stands beside those of its line, as in `taken`."""
    def put_along_axis(arr, indices, values, axis, inplace=True, **options):
        found, places = None, _places(indices)
        if is_concrete(arr) and places is not None and inplace is False and not options and (
                type(axis) is int and -arr.ndim <= axis < arr.ndim == places.ndim
                and np.shape(values) in ((), places.shape)):
            index = [*_grid(arr.shape)]
            index[axis] = places
            found = updated(arr, tuple(index), values)
        return function(arr, indices, values, axis, inplace, **options) if found is None else found

    return put_along_axis


def fast_take_index(function: Callable) -> Callable:
    def take_index(x, index, **options):
        entry = index[0] if type(index) is tuple and len(index) == 1 else index
        usual = options.get("mode") is None and options.get("wrap_negative_indices", True)
        found = taken(x, entry, 0) if usual else None
        return function(x, index, **options) if found is None else found

    return take_index


def fast_write(combine: np.ufunc | None = None) -> Callable:
    """A fast `x.at[index].set`, or the method that combines by this function."""
    def fast(function: Callable) -> Callable:
        def write(self, values, **options):
            usual = not options or options == _NO_MODE
            found = updated(self.array, self.index, values, combine) if usual else None
            return function(self, values, **options) if found is None else found

        return write

    return fast


_NO_MODE = {"mode": None}


def fast_diag(function: Callable) -> Callable:
    """A vector is written into zeros: the core's way compares the places of all elements."""
    def diag(v, *args, **options):
        k = args[0] if args else 0
        if type(v) is not Array or v.aval.ndim != 1 or options or len(args) > 1 or (
                type(k) is not int or not is_concrete(v)):
            return function(v, *args, **options)
        n = v.aval.shape[0] + abs(k)
        out = np.zeros((n, n), v.aval.dtype)
        out.reshape(-1)[max(k, -k * n)::n + 1][:v.aval.shape[0]] = v._host
        return Array(out, ShapedArray(out.shape, v.aval.dtype, v.aval.weak_type))

    return diag


# elements: of fewer, the usual program is as fast; for more, the function is a program of XLA's
_ENOUGH, _TOO_MANY = 2**8, 2**15


def fast_triangle(lower: bool) -> Callable:
    """The bits of the elements outside are cleared. The core's way makes a mask in each call."""
    def fast(function: Callable) -> Callable:
        def triangle(m, *args, **options):
            if type(m) is not Array or not _ENOUGH <= m.aval.size < _TOO_MANY:
                return function(m, *args, **options)
            aval, k = m.aval, options.get("k", args[0] if args else 0)
            usual = len(args) + len(options) < 2 and options.keys() <= {"k"} and type(k) is int
            if not usual or aval.ndim < 2 or not is_concrete(m) or aval.dtype.itemsize > 8:
                return function(m, *args, **options)
            bits = _bits_of_triangle(*aval.shape[-2:], k, lower, aval.dtype.itemsize)
            return Array((m._host.view(bits.dtype) & bits).view(aval.dtype), aval)

        return triangle

    return fast


@functools.lru_cache(maxsize=32)
def _bits_of_triangle(rows: int, columns: int, k: int, lower: bool, itemsize: int) -> np.ndarray:
    """For each element all bits, or none."""
    inside = np.tri(rows, columns, k, bool) if lower else ~np.tri(rows, columns, k - 1, bool)
    return -inside.astype(f"i{itemsize}")


_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])
_LITTLE = 4096  # elements: for more, the time is spent in NumPy


def fast_cross(function: Callable) -> Callable:
    """Each component of the product is computed in the same steps, but all in one pass."""
    def cross(a, b, *places, **options):
        usual = not (places or options) or not places and options == {"axis": -1}
        if not (usual and is_concrete(a) and is_concrete(b)):
            return function(a, b, *places, **options)
        shape, out_aval = a.aval.shape, _aval_of_cross(a.aval, b.aval, trace_context())
        if out_aval is None or shape[-1:] != (3,) or b.aval.shape != shape or a.size > _LITTLE:
            return function(a, b)
        x, y = (v._host.astype(out_aval.dtype, copy=False) for v in (a, b))
        out = quiet.run(np.multiply, x.take(_NEXT, -1), y.take(_LAST, -1))
        subtrahend = quiet.run(np.multiply, x.take(_LAST, -1), y.take(_NEXT, -1))
        return Array(quiet.run(np.subtract, out, subtrahend), out_aval)

    return cross


@functools.lru_cache(maxsize=256)
def _aval_of_cross(a: ShapedArray, b: ShapedArray, context: int) -> ShapedArray | None:
    """The type of the product, if NumPy has its dtype and it follows from the dtypes alone."""
    if a.dtype != b.dtype and numpy_dtype_promotion.value != "standard":
        return None
    plain = all(isinstance(aval.dtype, np.dtype) and aval.dtype.isbuiltin == 1
                and aval.dtype.itemsize >= 4 and not aval.weak_type for aval in (a, b))
    return ShapedArray(a.shape, promote_types(a.dtype, b.dtype)) if plain else None


FAST = {"cross": fast_cross, "diag": fast_diag, "put_along_axis": fast_put_along_axis,
        "take": fast_take, "take_along_axis": fast_take_along_axis, "take_index": fast_take_index,
        "tril": fast_triangle(True), "triu": fast_triangle(False),
        "IndexUpdateRef.set": fast_write(), "IndexUpdateRef.add": fast_write(np.add),
        "IndexUpdateRef.subtract": fast_write(np.subtract),
        "IndexUpdateRef.multiply": fast_write(np.multiply)}
register(FastFunctions(FAST))
install_methods({"__getitem__": fast_getitem}, Array)
