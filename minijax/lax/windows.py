"""Chapter 11: what gather and scatter share: windows at places that are values.

Both have an operand, an array of start indices whose last dimension holds one index vector for
each window, and windows of one static size:

    gather    out     = the windows of operand, one for each index vector
    scatter   operand = with each window of updates combined into it: set, added, multiplied, …

The dimension numbers say which dimension is what. Of gather: `start_index_map`, the operand's
dimension that each entry of an index vector belongs to; `collapsed_slice_dims`, those of the
operand's dimensions (windows have size 1 there) that the result does without; `offset_dims`, where
the rest of a window's dimensions are in the result, the others of which come from the indices;
`operand_batching_dims` and `start_indices_batching_dims`, pairs of dimensions that walk together.
Scatter's are the same, seen from its updates. The two are each other's transposes: what gather
reads, its transpose adds up.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import dtypes

# ----------------------------------------------------------------------------------------------
# Parameters


class GatherDimensionNumbers(NamedTuple):
    """Which dimensions of gather's operand, indices and result correspond; see the module.

    An index vector is always along the last dimension of the indices.
    """

    offset_dims: Sequence[int]
    collapsed_slice_dims: Sequence[int]
    start_index_map: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    start_indices_batching_dims: Sequence[int] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which dimensions of scatter's operand, indices and updates correspond: gather's, mirrored."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class GatherScatterMode(enum.Enum):
    """What happens to windows that are not wholly inside the operand.

    CLIP: they are moved inside. FILL_OR_DROP: gather returns a fill value in their place, scatter
    leaves them out. PROMISE_IN_BOUNDS: the caller promises that all are inside. Otherwise
    gather moves them, and scatter leaves them out.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    def __str__(self):
        return f"GatherScatterMode.{self.name}"

    @staticmethod
    def from_any(s: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of this name: "clip", "fill" or "drop" (or `None`), "promise_in_bounds".

        Raises:
          ValueError: an unknown name.
        """
        if isinstance(s, GatherScatterMode):
            return s
        if not isinstance(s, Hashable) or s not in _MODES:
            raise ValueError(f"Unknown gather mode {s!r}. Use one of "
                             f"{', '.join(repr(name) for name in _MODES if name)}.")
        return _MODES[s]


_MODES = {"clip": GatherScatterMode.CLIP, "fill": GatherScatterMode.FILL_OR_DROP,
          "drop": GatherScatterMode.FILL_OR_DROP, None: GatherScatterMode.FILL_OR_DROP,
          "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
          "one_hot": GatherScatterMode.ONE_HOT}
CLIP, FILL_OR_DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
PROMISE_IN_BOUNDS = GatherScatterMode.PROMISE_IN_BOUNDS


def of_gather(numbers: ScatterDimensionNumbers) -> GatherDimensionNumbers:
    """The numbers of the gather that reads the windows which this scatter writes."""
    return GatherDimensionNumbers(*numbers)


def of_scatter(numbers: GatherDimensionNumbers) -> ScatterDimensionNumbers:
    return ScatterDimensionNumbers(*numbers)


def canonical(numbers):
    """Tuples of ints in the place of any sequences, so that parameters can be hashed."""
    if not isinstance(numbers, (GatherDimensionNumbers, ScatterDimensionNumbers)):
        raise TypeError("dimension_numbers must be a GatherDimensionNumbers or a "
                        f"ScatterDimensionNumbers, got {numbers!r}.")
    return type(numbers)(*[tuple(map(operator.index, dims)) for dims in numbers])


def window_dims(numbers: GatherDimensionNumbers, ndim: int) -> list[int]:
    """The operand's dimensions that windows keep, in the order of `offset_dims`."""
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    return [d for d in range(ndim) if d not in gone]


def sizes_of_updates(operand, updates, numbers: ScatterDimensionNumbers) -> tuple[int, ...]:
    """The size of scatter's windows in each dimension of the operand."""
    sizes = [1] * operand.ndim
    kept = window_dims(of_gather(numbers), operand.ndim)
    for d, update_dim in zip(kept, numbers.update_window_dims):
        sizes[d] = updates.shape[update_dim]
    return tuple(sizes)


# ----------------------------------------------------------------------------------------------
# Shapes


def check_dims(op: str, name: str, dims, bound: int, ascending: bool = True) -> None:
    """Raise `TypeError` unless `dims` are different, in [0, bound), and in order."""
    if ascending and list(dims) != sorted(dims):
        raise TypeError(f"{name} in {op} op must be sorted; got {dims}")
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} in {op} op must not repeat; got: {dims}.")
    if any(not 0 <= d < bound for d in dims):
        raise TypeError(f"Invalid {name} set in {op} op; valid range is [0, {bound}); got: {dims}.")


def _check_disjoint(op: str, numbers, name: str, other: str) -> None:
    if set(getattr(numbers, name)) & set(getattr(numbers, other)):
        raise TypeError(f"{name} and {other} in {op} op must be disjoint; got: "
                        f"{getattr(numbers, name)} and {getattr(numbers, other)}.")


def check_indices(op: str, indices) -> None:
    """Raise unless `indices` are integers with a last dimension for the index vectors."""
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"indices of {op} must have an integer type, got {indices.dtype.name}")
    if not indices.ndim:
        raise TypeError(f"{op} indices need a last dimension that holds the index vectors, got a "
                        "scalar: add one of size 1.")


def check_index_map(op: str, operand, indices, numbers) -> None:
    """Each element of an index vector must belong to a dimension of the operand of its own."""
    name, dims = numbers._fields[2], numbers[2]
    if len(dims) != indices.shape[-1]:
        raise TypeError(f"{op.capitalize()} op has {len(dims)} elements in {name} and the bound of "
                        f"dimension index_vector_dim={indices.ndim - 1} of indices is "
                        f"{indices.shape[-1]}. These two numbers must be equal.")
    if any(not 0 <= d < operand.ndim for d in dims):
        raise TypeError(f"Invalid {name} mapping; the operand's dimensions are in "
                        f"[0, {operand.ndim}); got: {dims}.")
    check_dims(op, name, dims, operand.ndim, ascending=False)


def check_other_dims(op: str, operand, indices, numbers) -> None:
    """What gather and scatter ask of the dimensions that windows do not have.

    Messages use the names that the operation gives them.
    """
    _, collapsed, index_map, batching, index_batching = numbers._fields
    check_dims(op, collapsed, numbers[1], operand.ndim)
    check_dims(op, batching, numbers[3], operand.ndim)
    _check_disjoint(op, numbers, collapsed, batching)
    _check_disjoint(op, numbers, index_map, batching)
    check_dims(op, index_batching, numbers[4], indices.ndim, ascending=False)
    op = op.capitalize()
    if indices.ndim - 1 in numbers[4]:
        raise TypeError(f"{op} op cannot have the index vector dimension as a batching dimension; "
                        f"got {numbers[4]} for indices of shape {indices.shape}.")
    if len(numbers[3]) != len(numbers[4]):
        raise TypeError(f"{op} op requires equal numbers of {batching} and {index_batching}, got "
                        f"{numbers[3]} and {numbers[4]}.")
    operand_sizes = tuple(operand.shape[d] for d in numbers[3])
    index_sizes = tuple(indices.shape[d] for d in numbers[4])
    if operand_sizes != index_sizes:
        raise TypeError(f"{op} op requires operand batching dimensions and indices batching "
                        f"dimensions to have the same shape, got {operand_sizes} and "
                        f"{index_sizes}.")


def index_dtype(shape: Sequence[int]) -> np.dtype:
    """The integers that number the elements along each dimension of an array: int32, mostly."""
    fits = all(n <= 2**31 - 1 for n in shape)
    return np.dtype("int32" if fits else "int64")


def shifted(dims, first: tuple[int, ...] = ()) -> tuple[int, ...]:
    """The numbers of dimensions behind a new first one, after those in `first`."""
    return (*first, *[d + 1 for d in dims])


# ----------------------------------------------------------------------------------------------
# Evaluation by NumPy


class Place(NamedTuple):
    """Where windows are, for NumPy: `operand.transpose(order)[arrays]` has them all.

    `arrays` index the first dimensions of `order`; windows reach over all of the rest. Their shape
    is that of the index vectors' array, then the sizes of windows where they are `partial`.
    """

    order: list[int]
    arrays: list[np.ndarray]
    inside: np.ndarray  # for each index vector, whether the window is wholly inside
    window: list[int]  # the operand's dimensions that windows have, as the result has them


def locate(shape, indices, numbers: GatherDimensionNumbers, sizes) -> Place:
    starts, n_batch = indices.astype(np.intp), indices.ndim - 1
    limits = np.array([shape[d] - sizes[d] for d in numbers.start_index_map], np.intp)
    inside = ((starts >= 0) & (starts <= limits)).all(-1)
    starts = np.clip(starts, 0, np.maximum(limits, 0))
    kept = window_dims(numbers, len(shape))
    partial = [d for d in kept if sizes[d] != shape[d]]
    whole = [d for d in kept if sizes[d] == shape[d]]
    indexed = [d for d in range(len(shape)) if d not in whole]
    ones = (1,) * len(partial)
    arrays = []
    for d in indexed:
        place: Any = np.zeros((1,) * (n_batch + len(partial)), np.intp)
        if d in numbers.start_index_map:
            place = starts[..., numbers.start_index_map.index(d)].reshape(inside.shape + ones)
        elif d in numbers.operand_batching_dims:
            axis = numbers.start_indices_batching_dims[numbers.operand_batching_dims.index(d)]
            place = _along(np.arange(shape[d]), axis, n_batch + len(partial))
        if d in partial:
            offsets = _along(np.arange(sizes[d]), n_batch + partial.index(d), place.ndim)
            place = place + offsets
        arrays.append(place)
    if arrays:
        full_shape = inside.shape + tuple(sizes[d] for d in partial)
        arrays[0] = np.broadcast_to(arrays[0], full_shape)
    return Place(indexed + whole, arrays, inside, partial + whole)


def _along(line: np.ndarray, axis: int, ndim: int) -> np.ndarray:
    """A vector as an array of `ndim` dimensions that extends along `axis`."""
    return line.reshape([-1 if d == axis else 1 for d in range(ndim)])


def result_order(numbers: GatherDimensionNumbers, window: list[int], n_batch: int) -> list[int]:
    """For each dimension of gather's result, its number among index dimensions + `window`."""
    offsets = {out: n_batch + window.index(d)
               for out, d in zip(numbers.offset_dims, sorted(window))}
    rest = iter(range(n_batch))
    return [offsets[d] if d in offsets else next(rest) for d in range(n_batch + len(window))]


# ----------------------------------------------------------------------------------------------
# Text of attributes, for StableHLO


def attribute(kind: str, **entries) -> str:
    """`#stablehlo.gather<offset_dims = [0], …>`."""
    text = ", ".join(f"{k} = {numbers_text(v)}" for k, v in entries.items())
    return f"#stablehlo.{kind}<{text}>"


def numbers_text(value) -> str:
    """An integer, or some in brackets. They may be NumPy's, whose `repr` names their type."""
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def flag(value) -> str:
    return str(bool(value)).lower()


def size_value(size: int, dtype: np.dtype) -> Any:
    """A size as a scalar, or the greatest of its dtype."""
    return dtype.type(min(size, np.iinfo(dtype).max))


def sizes_vector(sizes: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """Sizes as the elements of a vector."""
    return np.array([size_value(size, dtype) for size in sizes], dtype)
