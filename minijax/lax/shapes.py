"""Chapter 11: arrays of the shape of others, shapes as arrays, numbers as arrays."""

import operator
from collections.abc import Sequence

import numpy as np

from ..core.core import ArrayMethods, typeof
from ..core.primitives import constant
from .dtypes import check_and_canonicalize_user_dtype
from .shaping import broadcast, broadcast_to, full
from .sizes import canonical_shape
from .windows import index_dtype


def broadcast_like(arr, like_arr):
    """`arr` repeated to the shape of another array, aligned at the last dimension.

    Raises:
      ValueError: the shape of `arr` does not broadcast to it.

    >>> lax.broadcast_like(jnp.arange(2), jnp.ones((2, 2))).tolist()
    [[0, 1], [0, 1]]
    """
    return broadcast_to(arr, typeof(like_arr).shape)


def empty(shape: int | Sequence[int], dtype, *, out_sharding=None):
    """An array with any contents: here, zeros.

    Args:
      shape: an int or a sequence of ints.
      dtype: an element type.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    >>> lax.empty(3, "int32").shape
    (3,)
    """
    shape = (shape,) if isinstance(shape, (int, np.integer)) else shape
    zero = full((), 0, check_and_canonicalize_user_dtype(dtype))
    return broadcast(zero, canonical_shape(shape), out_sharding=out_sharding)


def shape_as_value(shape: Sequence[int]):
    """A shape as a vector of integers.

    >>> lax.shape_as_value((2, 3)).tolist()
    [2, 3]
    """
    dtype = index_dtype(shape)
    return np.array(tuple(map(operator.index, shape)), dtype) if shape else full((0,), 0, dtype)


def stage(x, /):
    """A number or a NumPy array as an array of ours; an array as it is.

    >>> lax.stage(3)
    Array(3, dtype=int32, weak_type=True)
    """
    if isinstance(x, ArrayMethods):
        return x
    aval = typeof(x)
    return constant(x, aval.dtype, aval.weak_type)
