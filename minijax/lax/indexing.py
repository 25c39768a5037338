"""Chapter 9: `x[…]` with integers, slices, `None` and `...`.

An index is read once, from left to right, into one *cut* for each dimension of the array. Static
cuts become `slice` (and `rev` for negative steps). If any position is traced, `dynamic_slice` takes
the whole box. Then the dimensions indexed by an integer are squeezed out, and new ones put in.
Indexing by arrays takes elements anywhere: see `advanced_indexing.py`.
"""

import builtins
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..checks.array import immutable
from ..checks.tracebacks import hide_frames
from ..core import dtypes
from ..core.array import Array
from ..core.boundary import public
from ..core.core import (
    ArrayMethods,
    ShapedArray,
    Tracer,
    eval_trace,
    install_methods,
    state,
    typeof,
)
from ..core.extension import hooks
from ..core.primitives import (
    add,
    constant,
    convert,
    expand_dims,
    lt,
    squeeze,
    squeeze_p,
)
from ..errors import NonConcreteBooleanIndexError
from ..settings import bool_state, part_of_traces
from .compile_time import is_concrete
from .cutting import slice, slice_p
from .dynamic_slices import Slice
from .selection import select
from .shaping import rev
from .slicing import dynamic_slice_p


class Cut(NamedTuple):
    """The selected part of one dimension: `start:stop:step`, or a single `start`.

    The dimension of a single `start` is dropped; `start` may count from the end. Without a `stop`,
    `start` is traced or out of bounds; `size` elements are taken.
    """

    start: Any
    stop: int | None
    step: int
    drop: bool
    size: int = 1


class Indexing(NamedTuple):
    """What `x[i]`, `x[i] = y` and `x.at` mean for the values of a type that is not an array's."""

    get: Callable
    set: Callable
    at: Callable


check_static_indices = part_of_traces(bool_state(
    "jax_check_static_indices",
    "Whether x[i] raises IndexError for an integer i out of bounds, which is clamped otherwise."))

# Type registry: the class of an abstract value -> what it means to index a tracer of it.
indexing_of: dict[type, Indexing] = {}


def getitem(x, index):
    """`x[index]` as in NumPy.

    Args:
      x: an array.
      index: an integer (traced or not), a slice with static bounds, `None`, `...`, or a tuple of
        these. A traced or out-of-range integer is clamped into bounds.

    Raises:
      IndexError: too many indices, a slice with traced bounds, or what is no index at all.
      TypeError: a number that is no integer.
    """
    try:
        if type(x) is Array and (view := _view(x, index)) is not None:
            return view
        if type(getattr(x, "aval", None)) in indexing_of:
            return indexing_of[type(x.aval)].get(x, index)
        if type(index) in (int, builtins.slice):
            out = _simple_getitem(x, index)
            if out is not None:
                return out
        entries = as_tuple(index)
        if any(is_array_index(entry) for entry in entries):
            return _advanced(x, entries)
        entries = expand_ellipsis(entries, typeof(x).ndim)
        cuts = [_cut(entry, size, position) for position, (entry, size) in
                enumerate(zip((e for e in entries if e is not None), typeof(x).shape))]
        traced = any(c.stop is None for c in cuts)
        strided = any(c.step not in (1, -1) for c in cuts)
        if traced and strided and hooks.index_by_arrays:
            return _advanced(x, index)  # no box, but it can be gathered
        out = _take_box(x, cuts)
        out = squeeze(out, [d for d, cut in enumerate(cuts) if cut.drop])
        # Where the new dimensions stand among those that remain.
        drops = iter(cuts)
        kept = [entry is None for entry in entries if entry is None or not next(drops).drop]
        new = [d for d, is_new in enumerate(kept) if is_new]
        return expand_dims(out, new) if new else out
    except Exception as error:
        hide_frames(error)
        raise


def _view(x: Array, index) -> Array | None:
    """`x[index]`, a view of contents in NumPy, if nothing is traced and the index has no arrays;
    else `None`, also for an index that is out of bounds: NumPy refuses what we clamp."""
    value, aval, kind = x._host, x.aval, type(index)
    if (value is None or aval.placement is not None or not isinstance(aval.dtype, np.dtype)
            or state.trace is not eval_trace or hooks.evaluate or hooks.after_evaluation):
        return None
    if kind is int or kind is builtins.slice or (
            kind is tuple and _BASIC.issuperset(map(type, index))):
        try:
            view = value[index]
        except (IndexError, TypeError, ValueError):
            return None
        return Array(view, ShapedArray(view.shape, aval.dtype, aval.weak_type))
    return None


_BASIC = {int, builtins.slice, type(None), type(Ellipsis)}


def as_tuple(index) -> tuple:
    """The entries of an index.

    Raises:
      TypeError: the index is a list, which NumPy once read as a tuple and now as an array.
    """
    if isinstance(index, tuple):
        return index
    if not isinstance(index, (list, range)):
        return (index,)
    nested = any(isinstance(entry, (list, tuple, builtins.slice)) or entry is None
                 or entry is Ellipsis or getattr(entry, "ndim", 0) for entry in index)
    instead = "arr[tuple(seq)]" if nested else "arr[array(seq)]"
    raise TypeError("Using a non-tuple sequence for multidimensional indexing is not allowed; use "
                    f"`{instead}` instead of `arr[seq]`.")


def _advanced(x, index):
    """Leave an index to the extension that can gather."""
    for index_by_arrays in hooks.index_by_arrays:
        return index_by_arrays(x, index)
    for entry in index:
        if isinstance(entry, Tracer) and entry.dtype == bool and not is_concrete(entry):
            raise NonConcreteBooleanIndexError(entry)
    raise NotImplementedError("Indexing by arrays and booleans needs the gather primitive of "
                              "chapter 11.")


def _simple_getitem(x, index):
    """`x[i]` and `x[i:j]` with known bounds, the most frequent cases; `None` for all others."""
    shape = typeof(x).shape
    if not shape:
        return None
    size, rest = shape[0], (0,) * (len(shape) - 1)
    if type(index) is int:
        if type(size) is not int or not -size <= index < size:
            return None
        index = index + size if index < 0 else index
        row = x if size == 1 else slice_p.bind(
            x, start_indices=(index, *rest), limit_indices=(index + 1, *shape[1:]), strides=None)
        return squeeze_p.bind(row, dimensions=(0,))
    if (index.step is not None or type(index.start) not in _BOUNDS
            or type(index.stop) not in _BOUNDS or type(size) is not int):
        return None
    start, stop, _ = index.indices(size)
    if (start, stop) == (0, size):
        return x
    return slice_p.bind(x, start_indices=(start, *rest),
                        limit_indices=(max(start, stop), *shape[1:]), strides=None)


_BOUNDS = (int, type(None))


def is_array_index(entry) -> bool:
    """Whether the entry of an index selects by its elements: an array, a sequence, a boolean."""
    if isinstance(entry, (bool, np.bool_, list, tuple, range)):
        return True
    if hasattr(entry, "ndim") and not isinstance(entry, np.generic):
        return entry.ndim > 0 or typeof(entry).dtype == bool
    return False


def is_basic(index) -> bool:
    """Whether an index has no arrays: integers, slices, `None` and `...` only."""
    return not any(is_array_index(entry) for entry in as_tuple(index))


def expand_ellipsis(entries: tuple, ndim: int) -> list:
    """The entries with `...` (or what is missing at the end) written out as full slices."""
    ellipses = sum(entry is Ellipsis for entry in entries)
    given = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if given > ndim:
        raise IndexError(f"Too many indices: array is {ndim}-dimensional, "
                         f"but {given} were indexed")
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not ellipses:
        entries = (*entries, Ellipsis)
    at = next(i for i, entry in enumerate(entries) if entry is Ellipsis)
    full = [builtins.slice(None)] * (ndim - given)
    return [*entries[:at], *full, *entries[at + 1:]]


def _cut(entry, size: int, position: int) -> Cut:
    """Read one entry of an index, for a dimension of this size."""
    if isinstance(entry, builtins.slice):
        return Cut(*slice_bounds(entry, size, position), False)
    if isinstance(entry, Slice):
        return Cut(entry.start, None, entry.stride, False, entry.known_size)
    if isinstance(entry, str):
        raise TypeError(f"JAX does not support string indexing; got idx={entry!r}")
    if isinstance(entry, ArrayMethods) and dtypes.issubdtype(entry.dtype, np.integer) \
            and not entry.ndim:
        if size == 0:
            raise IndexError(f"index is out of bounds for axis {position} with size 0")
        return Cut(entry, None, 1, True)
    try:
        index = operator.index(entry)
    except TypeError:
        raise no_index(entry, position) from None
    if size == 0:
        raise IndexError(f"index is out of bounds for axis {position} with size 0")
    if -size <= index < size:
        return Cut(index, index + 1, 1, True)
    if check_static_indices.value:
        raise IndexError(f"index {index} out of bounds for axis {position} with size {size}")
    return Cut(np.int32(index), None, 1, True)


def no_index(entry, position) -> Exception:
    """The error for an entry that is a number of another kind, or nothing of the sort."""
    if not isinstance(entry, (float, complex, bytes)) and not hasattr(entry, "dtype"):
        return IndexError("only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and "
                          f"integer or boolean arrays are valid indices. Got {entry}")
    kind = entry.dtype.name if hasattr(entry, "dtype") else type(entry).__name__
    return TypeError("Indexer must have integer or boolean type, got indexer with type "
                     f"{kind} at position {position}, indexer value {entry}")


def slice_bounds(entry: builtins.slice, size: int, position: int) -> tuple[int, int, int]:
    """The start, the stop and the step of a slice of a dimension of this size.

    Raises:
      IndexError: one of them is traced.
    """
    try:
        bounds = [None if bound is None else operator.index(bound)
                  for bound in (entry.start, entry.stop, entry.step)]
    except TypeError:
        if not any(isinstance(bound, Tracer) for bound in (entry.start, entry.stop, entry.step)):
            raise
        raise IndexError(
            "Slice entries must be static integers. "
            f"Got slice({entry.start}, {entry.stop}, {entry.step}) at position {position}. "
            "To take a box of static size at a traced place, use lax.dynamic_slice."
        ) from None
    return builtins.slice(*bounds).indices(size)


def _take_box(x, cuts):
    """Static cuts by `slice` and `rev`; if a position is traced, the box by `dynamic_slice`."""
    if not any(cut.stop is None for cut in cuts):
        return _take_static(x, cuts)
    shape = typeof(x).shape
    starts = [_dynamic_start(cut, len(shape)) for cut in cuts]
    contiguous = [not cut.drop and cut.step == 1 for cut in cuts]
    sizes = [cut.size if cut.stop is None or cut.drop else
             max(cut.stop - cut.start, 0) if whole else size
             for cut, whole, size in zip(cuts, contiguous, shape)]
    starts = [start if cut.drop or whole else np.int32(0)
              for cut, whole, start in zip(cuts, contiguous, starts)]
    starts = [_from_front(start, size) for start, size in zip(starts, shape)]
    box = dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes))
    rest = [cut if not (cut.drop or whole) else Cut(0, size, 1, False)
            for cut, whole, size in zip(cuts, contiguous, sizes)]
    return _take_static(box, rest)


def _dynamic_start(cut, ndim):
    """The start of a cut as a 32-bit integer scalar; as wide and unsigned as it came, if alone."""
    start = cut.start
    if not hasattr(start, "aval"):
        return constant(start, np.dtype(np.int32)) if state.trace.staging else np.int32(start)
    dtype = typeof(start).dtype
    if ndim > 1:
        return convert(start, np.dtype("int32"))
    wanted = np.dtype("int64" if dtype.itemsize == 8 else "int32")
    return start if dtype.kind == "u" or dtype == wanted else convert(start, wanted)


def _from_front(start, size):
    """Negative starts count from the end. The result is not weakly typed."""
    dtype = typeof(start).dtype
    if dtype.kind == "u":
        return start
    n = dtype.type(size)
    if not hasattr(start, "aval"):
        return start + n if start < 0 else start
    is_negative = lt(start, dtype.type(0))
    return select(is_negative, add(convert(start, dtype), n), start)


def _range(cut, n):
    """The positions that a cut of a dimension of size `n` takes."""
    return range(n)[cut.start:][:1] if cut.drop else range(cut.start, cut.stop, cut.step)


def _take_static(x, cuts):
    """`slice` along all dimensions at once, then `rev` along those with a negative step."""
    ranges = [_range(cut, n) for cut, n in zip(cuts, typeof(x).shape)]
    backwards = [d for d, r in enumerate(ranges) if r.step < 0]
    ranges = [r if r.step > 0 else r[::-1] if r else range(0) for r in ranges]
    starts = [r.start for r in ranges]
    limits = [r[-1] + 1 if r and d in backwards else max(r.stop, r.start)
              for d, r in enumerate(ranges)]
    strides = [r.step for r in ranges]
    full = [(r.start, r.stop, r.step) == (0, n, 1) for r, n in zip(ranges, typeof(x).shape)]
    if not all(full):
        one = all(step == 1 for step in strides)
        limits = [n if whole else limit for limit, n, whole in zip(limits, typeof(x).shape, full)]
        x = slice(x, starts, limits, None if one else strides)
    return rev(x, backwards) if backwards else x


@public
def _setitem(x, index, value):
    """`x[index] = value`, for tracers of references. Arrays have no such method: here they get one
    that says what to write instead."""
    if type(x.aval) not in indexing_of:
        immutable(x)
    indexing_of[type(x.aval)].set(x, index, value)


install_methods({"__getitem__": getitem, "__setitem__": _setitem})
