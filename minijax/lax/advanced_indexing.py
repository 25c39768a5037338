"""Chapter 11: `x[index]` with arrays in the index.

An index is read into a *plan*: which gather takes the elements, and what is left to do with the
windows (dimensions to reverse, new ones to put in). The same plan tells `x.at[index].set(y)` which
scatter puts them back (`index_updates.py`).

NumPy's rules, in short: arrays in the index broadcast together, and the result has their common
shape in place of the dimensions they index, where they stand if they stand together, else in front.
An integer beside arrays counts as one of them. A mask of n dimensions is the n arrays of the
indices where it is true, so its contents must be known. `True` adds a dimension of size 1 (`False`
of size 0) that is indexed by an array.
"""

import builtins
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks.primitives import places_fit
from ..core import dtypes
from ..core.array import Array, as_array
from ..core.boundary import public
from ..core.core import ArrayMethods, Tracer, state, typeof
from ..core.extension import Extension, register
from ..core.primitives import constant, convert, ensure_array
from ..errors import NonConcreteBooleanIndexError
from . import elementwise as prim, indexing
from .compile_time import is_concrete
from .cutting import concatenate
from .dtypes import coerce_to_array, default_int_dtype, result_type
from .dynamic_slices import SLICES, Slice
from .gathering import gather, known_fill_value
from .indexing import slice_bounds
from .selection import select
from .shaping import (
    broadcast_in_dim,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    full_like,
    iota,
    rev,
)
from .slicing import counts_to
from .windows import GatherDimensionNumbers, GatherScatterMode, index_dtype, size_value

# ----------------------------------------------------------------------------------------------
# Reading the index


class Entry(NamedTuple):
    """One entry of an index, and the dimension that it indexes; `None`, if it makes a new one."""

    index: Any  # `None`, a slice, an integer, an array of integers, or a boolean
    axis: int | None

    @property
    def is_integer(self) -> bool:
        """Whether it takes single elements: an integer or an array of them."""
        return self.axis is not None and not isinstance(self.index, SLICES)


def _read(index, shape: Sequence[int]) -> tuple[list[Entry], bool]:
    """The entries for each dimension, and whether those that are arrays stand together.

    Masks are arrays of integers already, and `...` is written out; `True` and `False` remain.
    """
    raw = [_array_entry(entry, position) for position, entry in enumerate(indexing.as_tuple(index))]
    spans = [_span(entry) for entry in raw]
    given = sum(spans)
    if sum(entry is Ellipsis for entry in raw) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if given > len(shape):
        raise IndexError(f"Too many indices: array is {len(shape)}-dimensional, "
                         f"but {given} were indexed")
    if not any(entry is Ellipsis for entry in raw):
        raw, spans = [*raw, Ellipsis], [*spans, 0]
    entries: list[Entry] = []
    places: list[int] = []  # where arrays stand in the index
    axis = position = 0
    for i, (entry, span) in enumerate(zip(raw, spans)):
        if entry is Ellipsis:
            span = len(shape) - given
            entries += [Entry(builtins.slice(None), axis + k) for k in range(span)]
        elif entry is None:
            entries.append(Entry(None, None))
        elif _is_mask(entry) and not span:
            entries.append(Entry(bool(_known_mask(entry)), None))
        elif _is_mask(entry):
            entries += _mask_entries(entry, shape, axis, i)
            places += range(position, position + span)
            position += span - 1
        else:
            entries.append(Entry(entry, axis))
            places += [] if isinstance(entry, SLICES) else [position]
        axis, position = axis + span, position + 1
    return entries, all(b - a == 1 for a, b in zip(places, places[1:]))


def _array_entry(entry, position):
    """An entry, sequences made arrays; an error if it can be no index."""
    if entry is None or entry is Ellipsis or isinstance(entry, (*SLICES, int, np.bool_)):
        return entry
    if isinstance(entry, (list, tuple, range)):
        entry = array_of_list(entry) if len(entry) else np.zeros((0,), np.int32)
        entry = as_array(entry) if isinstance(entry, np.ndarray) else entry
    if isinstance(entry, (ArrayMethods, np.ndarray, np.integer)):
        if entry.dtype == bool or dtypes.issubdtype(entry.dtype, np.integer):
            return entry
        raise indexing.no_index(entry, position)
    if hasattr(entry, "__jax_array__"):
        return _array_entry(entry.__jax_array__(), position)
    if isinstance(entry, str):
        raise TypeError(f"JAX does not support string indexing; got idx={entry!r}")
    raise indexing.no_index(entry, position)


def array_of_list(values):
    """The array of a nested list. The list may hold traced values."""
    if not any(isinstance(x, ArrayMethods) for x in _elements(values)):
        return coerce_to_array(values)
    dtype = result_type(*_elements(values))
    rows = [array_of_list(x) if isinstance(x, (list, tuple)) else ensure_array(x) for x in values]
    return concatenate([expand_dims(convert(row, dtype), (0,)) for row in rows], 0)


def _elements(values):
    """The elements of a nested list."""
    for x in values:
        yield from _elements(x) if isinstance(x, (list, tuple)) else (x,)


def _is_mask(entry) -> bool:
    return isinstance(entry, (bool, np.bool_)) or getattr(entry, "dtype", None) == bool


def _span(entry) -> int:
    """How many dimensions an entry indexes."""
    if entry is None or entry is Ellipsis:
        return 0
    return np.ndim(entry) if _is_mask(entry) else 1


def _known_mask(mask):
    """The contents of a mask.

    Raises:
      NonConcreteBooleanIndexError: they are not known yet.
    """
    if not is_concrete(mask):
        raise NonConcreteBooleanIndexError(mask)
    return mask.concrete_value() if isinstance(mask, ArrayMethods) else mask


def _mask_entries(mask, shape, axis, position) -> list[Entry]:
    """The arrays of integers that a mask stands for, one for each of its dimensions."""
    value = np.asarray(_known_mask(mask))
    expected = tuple(shape[axis:axis + mask.ndim])
    if any(n not in (0, m) for n, m in zip(mask.shape, expected)):
        raise IndexError("boolean index did not match shape of indexed array in index "
                         f"{position}: got {mask.shape}, expected {expected}")
    return [Entry(i, axis + k) for k, i in enumerate(np.nonzero(value))]


def _from_front(entry: Entry, size: int) -> Entry:
    """Negative integers count from the end."""
    if not entry.is_integer:
        return entry
    if isinstance(entry.index, (int, np.integer)):
        index = entry.index
        if isinstance(index, np.integer) and not counts_to(size, index.dtype):
            index = int(index)
        return entry._replace(index=index + size if index < 0 else index)
    return entry._replace(index=from_front(entry.index, size))


def from_front(index, size: int):
    """An array of integers, the negative ones counted from the end of a dimension."""
    dtype = typeof(index).dtype
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return index
    if not counts_to(size, dtype):
        index, dtype = convert(index, np.dtype("int32")), np.dtype("int32")
    places_fit("an index that may be negative", size, dtype)
    size = convert(size_value(size, dtype), dtype, typeof(index).weak_type)
    if type(index) is Array and not state.trace.staging:
        value = np.asarray(index)
        return as_array(np.where(value < 0, value + size, value))
    total = operator.add if isinstance(size, Tracer) else prim.add
    return select(index < 0, total(index, size), index)


# ----------------------------------------------------------------------------------------------
# The plan


class Plan(NamedTuple):
    """What takes the elements of an index: a gather, then `rev`, then `expand_dims`."""

    shape: tuple[int, ...]  # of the result
    indices: Any
    numbers: GatherDimensionNumbers
    sizes: tuple[int, ...]
    reversed_dims: tuple[int, ...]
    new_dims: tuple[int, ...]
    boolean_dims: tuple[int, ...]  # dimensions of size 1 that the operand gets for `True`
    in_order: bool  # whether each element is taken once, in the order of the operand


class _Planner:
    """Collects, from left to right, what the entries of an index ask for."""

    def __init__(self, shape: Sequence[int]):
        self.operand_shape, self.dtype = shape, index_dtype(shape)
        self.columns: list[tuple[Any, int]] = []  # entries of index vectors, from a dimension on
        self.index_shape: list[int] = []
        self.shape: list[int] = []
        self.sizes: list[int] = []
        self.offset_dims: list[int] = []
        self.collapsed: list[int] = []
        self.index_map: list[int] = []
        self.reversed_dims: list[int] = []
        self.constants: dict[int, tuple[np.ndarray, Array]] = {}  # by the id of their values
        self.new_dims: list[int] = []
        self.windows_ndim = 0  # dimensions of the result, but for the new ones

    def column(self, values, axis: int) -> None:
        """Index vectors get an entry, which says where windows start in dimension `axis`."""
        if not isinstance(values, np.ndarray):
            values = convert(values, self.dtype)
        elif typeof(values).dtype != self.dtype:
            values = convert(self._constant(values), self.dtype)
        self.columns.append((values, len(self.index_shape)))
        self.index_map.append(axis)

    def _constant(self, values: np.ndarray) -> Array:
        """`values` as an array: one for all columns, so that a jaxpr has it as one constant."""
        if id(values) not in self.constants:
            self.constants[id(values)] = values, as_array(values)
        return self.constants[id(values)][1]

    def arrays(self, arrays: Sequence, axes: Sequence[int]) -> None:
        """The arrays of the index, all at once."""
        shape = broadcast_shapes(*[typeof(a).shape for a in arrays])
        arrays = [a if typeof(a).shape == shape else broadcast_to(a, shape) for a in arrays]
        for array, axis in zip(arrays, axes):
            self.column(array, axis)
        self.index_shape += shape
        self.shape += shape
        self.collapsed += axes
        self.windows_ndim += len(shape)

    def integer(self, index, axis: int) -> None:
        """A single integer, traced or not."""
        if self.operand_shape[axis] == 0:
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        self.column(index, axis)
        self.collapsed.append(axis)
        self.sizes.append(1)

    def new_axis(self) -> None:
        self.new_dims.append(len(self.shape))
        self.shape.append(1)

    def slice(self, start: int, stop: int, step: int, axis: int) -> None:
        """A window dimension; if elements are left out, one more dimension of the indices."""
        size = len(range(start, stop, step))
        if step < 0:
            self.reversed_dims.append(self.windows_ndim)
        if (size, step) == (self.operand_shape[axis], 1):
            self.window(size)
        else:
            self.dynamic_slice(start, size, step, axis)

    def window(self, size: int) -> None:
        self.sizes.append(size)
        self.offset_dims.append(self.windows_ndim)
        self.shape.append(size)
        self.windows_ndim += 1

    def dynamic_slice(self, start, size: int, step: int, axis: int) -> None:
        """A window that starts where its column says, or a dimension of single elements."""
        if step == 1:
            self.column(start, axis)
            self.window(size)
            return
        self.column(self.progression(start, step, size), axis)
        self.index_shape.append(size)
        self.collapsed.append(axis)
        self.sizes.append(1)
        self.shape.append(size)
        self.windows_ndim += 1

    def scalar(self, place):
        """The place where a slice starts, or its step: an integer, a size or an array."""
        known = isinstance(place, (int, np.integer))
        return constant(place, self.dtype) if known else convert(place, self.dtype)

    def progression(self, start, step, size):
        """start, start + step, …; backwards if the step is negative."""
        places = prim.mul(self.scalar(step), iota(self.dtype, size))
        places = prim.add(self.scalar(start), places)
        return rev(places, (0,)) if step < 0 else places

    def indices(self):
        """The index vectors: the columns, broadcast together and joined."""
        if not self.columns:
            return np.zeros((0,), self.dtype)
        if len(self.columns) == 1:
            ((values, _),) = self.columns
            return expand_dims(values, (typeof(values).ndim,))
        shape = (*self.index_shape, 1)
        return concatenate([broadcast_in_dim(a, shape, range(d, d + typeof(a).ndim))
                            for a, d in self.columns], len(shape) - 1)


def plan(index, shape: Sequence[int], wrap: bool = True) -> Plan:
    """How to take `x[index]` of an array of this shape.

    Args:
      index: what stands between the brackets.
      wrap: whether negative integers count from the end.

    Raises:
      IndexError, TypeError: no valid index.
    """
    entries, together = _read(index, shape)
    entries, shape, boolean_dims = _with_boolean_dims(entries, shape)
    bounds = {e.axis: slice_bounds(e.index, shape[e.axis], i) for i, e in enumerate(entries)
              if isinstance(e.index, builtins.slice)}
    if wrap:
        entries = [e if e.axis is None else _from_front(e, shape[e.axis]) for e in entries]
    arrays: list[Any] = []  # the entries that are taken together, all of which have an axis
    if any(e.is_integer and np.ndim(e.index) for e in entries):
        arrays = [e for e in entries if e.is_integer]
    planner = _Planner(shape)
    for i, entry in enumerate(entries):
        if arrays and (entry is arrays[0] if together else i == 0):
            values = [_as_array(e.index) for e in arrays]
            planner.arrays(values, [e.axis for e in arrays])
        if entry.axis is None:
            planner.new_axis()
        elif entry.axis in bounds:
            planner.slice(*bounds[entry.axis], entry.axis)
        elif isinstance(entry.index, Slice):
            part = entry.index
            planner.dynamic_slice(part.start, part.known_size, part.stride, entry.axis)
        elif arrays:
            planner.sizes.append(1)
        else:
            planner.integer(entry.index, entry.axis)
    numbers = GatherDimensionNumbers(tuple(planner.offset_dims), tuple(sorted(planner.collapsed)),
                                     tuple(planner.index_map))
    return Plan(tuple(planner.shape), planner.indices(), numbers, tuple(planner.sizes),
                tuple(planner.reversed_dims), tuple(planner.new_dims), boolean_dims, not arrays)


def _as_array(index):
    """An integer as what broadcasts with arrays."""
    return constant(index, default_int_dtype(), True) if type(index) is int else index


def _with_boolean_dims(entries, shape):
    """`True` and `False` as arrays that index a dimension of size 1, made for them."""
    new_entries, new_shape, boolean_dims, axis = [], [], [], 0
    for entry in entries:
        if entry.axis is None and entry.index is None:
            new_entries.append(entry)
            continue
        if entry.axis is None:
            boolean_dims.append(axis)
            new_shape.append(1)
            entry = Entry(np.arange(int(entry.index)), axis)
        else:
            new_shape.append(shape[entry.axis])
            entry = entry._replace(axis=axis)
        new_entries.append(entry)
        axis += 1
    return new_entries, tuple(new_shape), tuple(boolean_dims)


# ----------------------------------------------------------------------------------------------
# Reading


@public
def take_index(x, index, *, indices_are_sorted: bool = False, unique_indices: bool = False,
               mode: str | GatherScatterMode | None = None, fill_value=None,
               wrap_negative_indices: bool = True):
    """`x[index]` by a gather, whatever the index; see `x.at[index].get`."""
    how = plan(index, typeof(x).shape, wrap_negative_indices)
    fill_value = known_fill_value(fill_value, typeof(x).dtype)
    if how.boolean_dims:
        x = expand_dims(x, how.boolean_dims)
    if 0 in how.shape:
        return full_like(x, 0, shape=how.shape)
    if 0 not in typeof(how.indices).shape:
        x = gather(x, how.indices, how.numbers, how.sizes, mode=mode, fill_value=fill_value,
                   unique_indices=unique_indices or how.in_order,
                   indices_are_sorted=indices_are_sorted or how.in_order)
    if how.reversed_dims:
        x = rev(x, how.reversed_dims)
    return expand_dims(x, how.new_dims) if how.new_dims else x


class IndexingByArrays(Extension):
    """`x[index]` by arrays."""

    def index_by_arrays(self, x, index):
        return take_index(x, index)


register(IndexingByArrays())
