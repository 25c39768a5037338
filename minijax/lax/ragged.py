"""Chapter 11: products of a stack of matrices with groups of rows of different sizes.

`ragged_dot` multiplies the first `group_sizes[0]` rows of a matrix with the first of the stack, the
next `group_sizes[1]` with the second, and so on. It is written with a mask for each group, which
costs as many products as there are groups. XLA does the same on the CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import convert
from .bitwise import bitwise_and
from .cumulative import cumsum
from .elementwise import le, lt, sub
from .out_shardings import call_sharded
from .products import dot_general
from .selection import select
from .shaping import broadcast_in_dim, broadcasted_iota, full_like


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """Which dimensions of `ragged_dot_general`'s operands are what.

    Args:
      dot_dimension_numbers: those of `dot_general`.
      lhs_ragged_dimensions: the one dimension of `lhs` that is divided into groups.
      rhs_group_dimensions: the dimension of `rhs` that numbers the groups.
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
    """`dot_general` of groups of different sizes, each of which meets its own part of `rhs`.

    Args:
      lhs, rhs: arrays.
      group_sizes: a vector of integers, the sizes of the groups.
      ragged_dot_dimension_numbers: which dimension is what. The ragged dimension of `lhs` must be
        free: neither contracted nor a batch dimension.
      precision, preferred_element_type, group_offset, out_sharding: as for `ragged_dot`.

    Raises:
      TypeError, NotImplementedError: as `ragged_dot`; a ragged dimension that is not free.
    """
    if out_sharding is not None:
        return call_sharded(
            ragged_dot_general, lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision,
            preferred_element_type, group_offset, out_sharding=out_sharding)
    numbers = ragged_dot_dimension_numbers
    ragged, group = numbers.lhs_ragged_dimensions, numbers.rhs_group_dimensions
    (x_contract, y_contract), (x_batch, y_batch) = numbers.dot_dimension_numbers
    x, y, sizes = map(typeof, (lhs, rhs, group_sizes))
    if len(ragged) != 1 or not 0 <= ragged[0] < x.ndim:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension, which is one "
                        f"of lhs; got {ragged} for shape {x.shape}.")
    if group_offset is not None or sizes.ndim > 1 or ragged[0] in {*x_contract, *x_batch}:
        raise NotImplementedError("ragged_dot_general takes no group_offset, one vector of "
                                  "group_sizes, and a ragged dimension that is free.")
    if len(group) != 1 or group[0] not in {*range(y.ndim)} - {*y_contract, *y_batch}:
        raise TypeError("ragged_dot_general expects exactly one rhs group dimension, which is free;"
                        f" got {group} for shape {y.shape}.")
    if sizes.shape != (y.shape[group[0]],) or not dtypes.issubdtype(sizes.dtype, np.integer):
        raise TypeError(f"group_sizes must be {y.shape[group[0]]} integers, one for each group, "
                        f"got {sizes.str_short(False)}.")
    dims = (([*(d + 1 for d in x_contract), 0], [*y_contract, group[0]]),
            ([d + 1 for d in x_batch], y_batch))
    strong = convert(_by_group(lhs, ragged[0], group_sizes), x.dtype)  # and so is the product
    return dot_general(strong, rhs, dims, precision, preferred_element_type)


def _by_group(x, ragged: int, group_sizes):
    """`x` once for each group, along a new first dimension, with zeros outside of the group."""
    shape = (*typeof(group_sizes).shape, *typeof(x).shape)
    ends = cumsum(group_sizes)
    first, end = (broadcast_in_dim(a, shape, (0,)) for a in (sub(ends, group_sizes), ends))
    place = broadcasted_iota(typeof(ends).dtype, shape, ragged + 1)
    inside = bitwise_and(le(first, place), lt(place, end))
    copies = broadcast_in_dim(x, shape, range(1, len(shape)))
    return select(inside, copies, full_like(copies, 0))
