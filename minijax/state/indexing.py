"""Chapter 15: the part of a reference that an index selects.

    ref[i, 1:]   →   the static part (HOLE, slice(1, 3, 1)), and the operands (i,)

An equation on references takes integers and arrays in an index as operands. The rest of the index
is a parameter, with a hole for each operand. A view, as `ref.at[0]`, adds one index for each
step. `read`, `write` and `accumulate` apply them to the contents.

The counterpart in JAX is `jax/_src/state/indexing.py`.
"""

import builtins
import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..core.core import ArrayMethods, Primitive, ShapedArray, state, typeof
from ..core.forward import defjvp_zero
from ..core.lowering import register_lowering
from ..core.primitives import convert
from ..core.staging import DynamicJaxprTrace
from ..lax.advanced_indexing import from_front
from ..lax.dtypes import default_int_dtype
from ..lax.dynamic_slices import SLICES, Slice
from ..lax.elementwise import clamp
from ..lax.families import lower_fun
from ..lax.index_updates import IndexUpdateHelper
from ..lax.indexing import expand_ellipsis, getitem
from ..lax.shaping import broadcast_shapes, broadcast_to, reshape, squeeze
from ..lax.slicing import dynamic_slice, dynamic_update_slice
from . import checks

# In a static index, one of these says that the next operand stands here. `vmap` writes the last
# two. The operand was a number in each example, so it is clamped and selects nothing twice; or it
# is the number of the example.
HOLE, OWN, EXAMPLE = "operand", "own operand", "example"
# One entry for each dimension: a slice with its three bounds, a hole, or a `Slice` that starts at a
# hole.
Index = tuple
Indices = tuple  # one `Index` for each step of a view


def parse(index: Any, shape: tuple[int, ...]) -> tuple[Index, list]:
    """The static part of an index of an array of this shape, and its operands.

    Raises:
      ValueError: too many indices, an integer out of bounds, a step that is not positive.
    """
    entries = index if isinstance(index, tuple) else (index,)
    checks.number_of_indices(entries, shape)
    written = expand_ellipsis(tuple(e for e in entries if e is not None), len(shape))
    parsed = [_entry(entry, size) for entry, size in zip(written, shape)]
    selecting = iter(_of_one_shape([e for e in parsed if not isinstance(e, SLICES)]))
    operands = [e.start if isinstance(e, Slice) else next(selecting)
                for e in parsed if not isinstance(e, builtins.slice)]
    return tuple(map(_static_part, parsed)), operands


def _static_part(entry):
    if isinstance(entry, builtins.slice):
        return entry
    return replace(entry, start=HOLE) if isinstance(entry, Slice) else HOLE


def _entry(entry, size):
    if isinstance(entry, Slice):
        return _slice_entry(entry, size)
    if isinstance(entry, builtins.slice):
        checks.slice_step(entry)
        return builtins.slice(*entry.indices(size))
    if isinstance(entry, (list, np.ndarray)):
        entry = np.asarray(entry)
    staged = isinstance(state.trace, DynamicJaxprTrace)
    checks.index_entry(entry, size, staged)
    if isinstance(entry, ArrayMethods | np.ndarray):
        return entry
    return max(-size, min(operator.index(entry), size - 1))


def _slice_entry(entry: Slice, size: int) -> builtins.slice | Slice:
    """A `Slice` with a known size; with a known start, as what `slice` selects."""
    number, stride = entry.known_size, entry.stride
    if isinstance(entry.start, ArrayMethods):
        return Slice(entry.start, number, stride)
    start = operator.index(entry.start)
    checks.slice_in_bounds(entry, start + max(number - 1, 0) * stride + bool(number), size)
    return builtins.slice(start, start + number * stride, stride)


def _of_one_shape(operands: list) -> list:
    """Arrays are broadcast together, and integers beside them are repeated."""
    shapes = [np.shape(x) for x in operands]
    if len({*shapes}) < 2:
        return operands
    shape = broadcast_shapes(*shapes)
    return [x if np.shape(x) == shape else broadcast_to_p.bind(x, shape=shape) for x in operands]


broadcast_to_p = Primitive("broadcast_to")  # in jaxprs, as in JAX
broadcast_to_p.def_impl(lambda x, *, shape: broadcast_to(x, shape))
broadcast_to_p.def_abstract_eval(lambda x, *, shape: ShapedArray(shape, x.dtype))
register_lowering(broadcast_to_p, lower_fun(broadcast_to))
defjvp_zero(broadcast_to_p)


def _stride(entry: builtins.slice | Slice) -> int:
    return entry.step if isinstance(entry, builtins.slice) else entry.stride


def strided(index: Index) -> bool:
    """Whether a slice in a static index leaves elements out."""
    return any(isinstance(e, SLICES) and _stride(e) != 1 for e in index)


def may_repeat(tree: Indices, operands: Sequence) -> bool:
    """Whether an index could select an element more than once."""
    holes = [e for index in tree for e in index if not isinstance(e, builtins.slice)]
    return any(hole == HOLE and np.shape(x) for hole, x in zip(holes, operands, strict=True))


def number_selected(entry: builtins.slice | Slice) -> int:
    """How many elements a slice in a static index selects."""
    if isinstance(entry, Slice):
        return entry.size
    return len(range(entry.start, entry.stop, entry.step))


class Selection(NamedTuple):
    """An index put together again, of an array of this shape."""

    entries: tuple
    shape: tuple[int, ...]
    static: Index

    @property
    def clamped(self) -> tuple:
        """The entries, those within bounds that select one box of each example."""
        if OWN not in map(_hole, self.static):
            return self.entries
        return tuple(_clamped(e, n) if _hole(static) == OWN else e
                     for static, e, n in zip(self.static, self.entries, self.shape))

    @property
    def is_box(self) -> bool:
        """Whether it selects a contiguous box, which can start anywhere."""
        return all(_stride(e) == 1 if isinstance(e, SLICES) else not np.shape(e)
                   for e in self.entries)

    @property
    def starts(self) -> list:
        """The corner of a box, in one integer type: an index may mix several."""
        corner = [e.start if isinstance(e, SLICES) else e % n if isinstance(e, int) else e
                  for e, n in zip(self.entries, self.shape)]
        if len({typeof(start).dtype for start in corner}) > 1:
            return [convert(start, default_int_dtype()) for start in corner]
        return corner

    @property
    def sizes(self) -> list[int]:
        """The sizes of a box; 1 in the dimensions that an integer drops."""
        return [number_selected(e) if isinstance(e, SLICES) else 1 for e in self.entries]

    @property
    def dropped(self) -> list[int]:
        """The dimensions that an integer drops."""
        return [d for d, e in enumerate(self.entries) if not isinstance(e, SLICES)]

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of what is selected."""
        if self.is_box:
            return tuple(n for d, n in enumerate(self.sizes) if d not in self.dropped)
        return np.broadcast_to(False, self.shape)[self._plain].shape

    @property
    def _plain(self) -> tuple:
        """An index of the same shape that NumPy can apply."""
        return tuple(e if isinstance(e, builtins.slice) else
                     builtins.slice(0, e.size) if isinstance(e, Slice) else
                     np.zeros(np.shape(e), int) for e in self.entries)


def _hole(entry):
    """The hole of an entry of a static index, if it has one."""
    return entry.start if isinstance(entry, Slice) else entry


def _clamped(entry, size: int):
    """An entry that selects from a dimension of this size what `dynamic_slice` would."""
    if isinstance(entry, Slice):
        return replace(entry, start=_within(entry.start, size, size - entry.size))
    return _within(entry, size, size - 1)


def _within(start, size: int, last: int):
    aval = typeof(start)
    start = from_front(convert(start, aval.dtype), size)
    dtype = typeof(start).dtype
    last = min(last, int(np.iinfo(dtype).max))
    return clamp(dtype.type(0), start, dtype.type(last))


def _filled(entry, operands: Iterator):
    """An entry of a static index with its operand, if it has one."""
    if isinstance(entry, Slice):
        return replace(entry, start=next(operands))
    return entry if isinstance(entry, builtins.slice) else next(operands)


def selections(indices: Indices, operands: Sequence, shape: tuple[int, ...]) -> Iterator[Selection]:
    """The indices of a view, one after the other, with their operands."""
    rest = iter(operands)
    for index in indices:
        step = Selection(tuple(_filled(e, rest) for e in index), shape, index)
        yield step
        shape = step.result_shape


def selected_shape(indices: Indices, operands: Sequence, shape: tuple[int, ...]) -> tuple:
    """The shape of the part of an array of this shape that a view shows."""
    for step in selections(indices, operands, shape):
        shape = step.result_shape
    return shape


def read(x: Any, indices: Indices, operands: Sequence) -> Any:
    """The part of the array `x` that a view shows."""
    for step in selections(indices, operands, typeof(x).shape):
        x = _read(x, step)
    return x


def _read(x, step):
    if not step.is_box:
        return getitem(x, step.clamped)
    if all(isinstance(e, (int, builtins.slice)) for e in step.entries):
        return getitem(x, step.entries)
    return squeeze(dynamic_slice(x, step.starts, step.sizes), step.dropped)


def write(x: Any, indices: Indices, operands: Sequence, value: Any) -> Any:
    """The array `x` with `value` in the part that a view shows."""
    steps = [*selections(indices, operands, typeof(x).shape)]
    if not steps:
        return value
    outer = [x]
    for step in steps[:-1]:
        outer.append(_read(outer[-1], step))
    for step, whole in zip(reversed(steps), reversed(outer)):
        value = _write(whole, step, value)
    return value


def _write(x, step, value):
    if step.is_box:
        return dynamic_update_slice(x, reshape(value, step.sizes), step.starts)
    return IndexUpdateHelper(x)[step.clamped].set(value)


def accumulate(x: Any, indices: Indices, operands: Sequence, value: Any) -> Any:
    """The array `x` with `value` added to the part that a view shows."""
    steps = [*selections(indices, operands, typeof(x).shape)]
    if len(steps) == 1 and not steps[0].is_box:  # an element may be selected more than once
        return IndexUpdateHelper(x)[steps[0].clamped].add(value)
    return write(x, indices, operands, read(x, indices, operands) + value)
