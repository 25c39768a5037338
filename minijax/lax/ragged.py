"""Chapter 11: products of a stack of matrices with groups of rows of different sizes.

`ragged_dot` multiplies the first `group_sizes[0]` rows of a matrix with the first of the stack, the
next `group_sizes[1]` with the second, and so on. It is written with a mask for each group, which
costs as many products as there are groups. XLA does the same on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import convert, select
from .bitwise import bitwise_and
from .cumulative import cumsum
from .elementwise import le, lt, sub
from .out_shardings import call_sharded
from .products import dot_general
from .shaping import broadcast_in_dim, broadcasted_iota, full_like, transpose


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which dimensions of `ragged_dot_general`'s operands are what.

    Args:
      dot_dimension_numbers: those of `dot_general`.
      lhs_ragged_dimensions: the one dimension of `lhs` that is divided into groups.
      rhs_group_dimensions: the dimension of `rhs` that numbers the groups; none, if the ragged
        dimension is contracted or is a batch dimension.
    """

    dot_dimension_numbers: Any
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __post_init__(self):
        numbers = tuple(tuple(map(tuple, dims)) for dims in self.dot_dimension_numbers)
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(self.lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(self.rhs_group_dimensions))


_MATRICES = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


@public
def ragged_dot(lhs, rhs, group_sizes, precision=None, preferred_element_type=None,
               group_offset=None, out_sharding=None):
    """Each group of rows of a matrix, times a matrix of its own.

    Args:
      lhs: an array of shape `(m, k)`.
      rhs: an array of shape `(g, k, n)`.
      group_sizes: `g` integers, how many rows each group has; rows beyond are in none.
      precision, preferred_element_type: as for `lax.dot_general`.
      group_offset: must be `None`.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    Returns:
      an array of shape `(m, n)`; rows in no group are zero.

    Raises:
      TypeError: shapes or dtypes that do not fit.
      NotImplementedError: a `group_offset`.

    >>> matrices = jnp.array([1.0, 10.0]).reshape(2, 1, 1)
    >>> lax.ragged_dot(jnp.ones((3, 1)), matrices, jnp.array([1, 2])).tolist()
    [[1.0], [10.0], [10.0]]
    """
    return ragged_dot_general(lhs, rhs, group_sizes, _MATRICES, precision, preferred_element_type,
                              group_offset, out_sharding)


@public
def ragged_dot_general(lhs, rhs, group_sizes,
                       ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, precision=None,
                       preferred_element_type=None, group_offset=None, out_sharding=None):
    """`dot_general` of groups of different sizes.

    If the ragged dimension of `lhs` is free, each group meets its own part of `rhs`; if it is
    contracted, each group is summed by itself, along a new first dimension of the result; if it is
    a batch dimension, it is as in `dot_general`.

    Args:
      lhs, rhs: arrays.
      group_sizes: integers; along the last dimension the sizes of the groups. Dimensions before
        are, if there are any, those of `lhs` that come before the ragged one: batch dimensions,
        and then others of its kind.
      ragged_dot_dimension_numbers: which dimension is what.
      precision, preferred_element_type, group_offset, out_sharding: as for `ragged_dot`.

    Raises:
      TypeError, NotImplementedError: as `ragged_dot`.
    """
    if out_sharding is not None:
        return call_sharded(
            ragged_dot_general, lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision,
            preferred_element_type, group_offset, out_sharding=out_sharding)
    if group_offset is not None:
        raise NotImplementedError("ragged_dot_general has no group_offset yet: it must be None.")
    numbers = ragged_dot_dimension_numbers
    (x_contract, y_contract), (x_batch, y_batch) = numbers.dot_dimension_numbers
    ragged = _ragged_dimension(typeof(lhs), numbers)
    _check_group_sizes(lhs, rhs, group_sizes, numbers, ragged)
    groups_in_front = ([d + 1 for d in x_contract], [d + 1 for d in x_batch])
    if ragged in x_batch:
        dims: Any = numbers.dot_dimension_numbers
    elif ragged in x_contract:
        y_ragged = y_contract[x_contract.index(ragged)]
        y_before = _before(typeof(rhs).ndim, y_ragged, y_contract, y_batch)
        lhs = _by_group(lhs, ragged, group_sizes, _before(typeof(lhs).ndim, ragged, x_contract,
                                                          x_batch))
        rhs = _by_group(rhs, y_ragged, group_sizes, y_before)
        contract, batch = groups_in_front
        dims = ((contract, [d + 1 for d in y_contract]),
                ([0, *batch], [0, *(d + 1 for d in y_batch)]))
    else:
        lhs = _by_group(lhs, ragged, group_sizes, _before(typeof(lhs).ndim, ragged, x_contract,
                                                          x_batch))
        contract, batch = groups_in_front
        dims = (([*contract, 0], [*y_contract, numbers.rhs_group_dimensions[0]]), (batch, y_batch))
    strong = convert(lhs, typeof(lhs).dtype)  # and so is the product
    return dot_general(strong, rhs, dims, precision, preferred_element_type)


def _by_group(x, ragged: int, group_sizes, before: list[int]):
    """`x` once for each group, along a new first dimension, with zeros outside of the group."""
    aval, sizes = typeof(x), typeof(group_sizes)
    ends = cumsum(group_sizes, sizes.ndim - 1)
    shape = (sizes.shape[-1], *aval.shape)
    before = before if sizes.ndim > 1 else []
    order = [sizes.ndim - 1, *sorted(range(len(before)), key=before.__getitem__)]
    dims = [0, *(d + 1 for d in sorted(before))]
    first, end = (broadcast_in_dim(transpose(a, order), shape, dims)
                  for a in (sub(ends, group_sizes), ends))
    place = broadcasted_iota(sizes.dtype, shape, ragged + 1)
    inside = bitwise_and(le(first, place), lt(place, end))
    copies = broadcast_in_dim(x, shape, range(1, len(shape)))
    return select(inside, copies, full_like(copies, 0))


def _before(ndim: int, ragged: int, contract, batch) -> list[int]:
    """The dimensions that have groups of their own: batch dimensions, and those before the ragged
    one among the dimensions of its kind."""
    kind = contract if ragged in contract else [
        d for d in range(ndim) if d not in (*contract, *batch)]
    return [*batch, *kind[: list(kind).index(ragged)]]


def _ragged_dimension(lhs, numbers) -> int:
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension, got "
                        f"{numbers.lhs_ragged_dimensions}.")
    (ragged,) = numbers.lhs_ragged_dimensions
    if not 0 <= ragged < lhs.ndim:
        raise TypeError("ragged_dot_general requires lhs ragged dimension numbers to be "
                        "nonnegative and less than the number of axes of the lhs value, got "
                        f"{ragged} for lhs of shape {lhs.shape}.")
    return ragged


def _check_group_sizes(lhs, rhs, group_sizes, numbers, ragged) -> None:
    x, y, sizes = map(typeof, (lhs, rhs, group_sizes))
    (x_contract, y_contract), (x_batch, y_batch) = numbers.dot_dimension_numbers
    if not sizes.ndim:
        raise TypeError("group_sizes must have at least one dimension.")
    if sizes.ndim > 1:
        dims = [d for d in x_batch if d != ragged] if ragged in x_batch else \
            _before(x.ndim, ragged, x_contract, x_batch)
        expected = (*(x.shape[d] for d in dims), sizes.shape[-1])
        if sizes.shape != expected:
            raise TypeError(f"expected group_sizes to have shape {expected}, got {sizes.shape}.")
    groups = numbers.rhs_group_dimensions
    free = ragged not in (*x_contract, *x_batch)
    if len(groups) != free:
        what = ("exactly one rhs group dimension when lhs ragged dimension is noncontracting"
                if free else
                "zero group dimensions in the rhs when lhs ragged dimension is contracting or "
                "batch")
        raise TypeError(f"ragged_dot_general requires {what}; got {groups}.")
    if free:
        if not 0 <= groups[0] < y.ndim or groups[0] in (*y_contract, *y_batch):
            raise TypeError("ragged_dot_general requires rhs group dimension numbers to be distinct"
                            " from contracting and batch dimensions, nonnegative and less than the "
                            f"number of axes of the rhs value, got {groups[0]} for rhs of shape "
                            f"{y.shape}.")
        if y.shape[groups[0]] != sizes.shape[-1]:
            raise TypeError(f"expected rhs group dimension size to be {sizes.shape[-1]}, got "
                            f"{y.shape[groups[0]]}.")
    if not dtypes.issubdtype(sizes.dtype, np.integer):
        raise TypeError(f"group_sizes must be integers, got {sizes.dtype.name}.")
