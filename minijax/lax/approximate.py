"""Chapter 11: the greatest few, approximately.

XLA has an operation that is faster than sorting on accelerators, and misses some of them now and
then. On a CPU it would sort, and so these functions are exact.
"""

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from . import elementwise as prim
from .sizes import size_along
from .sorting import top_k


@public
def approx_max_k(operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True):
    """The `k` greatest elements along a dimension, and their indices.

    Args:
      operand: an array of floats.
      k: how many.
      reduction_dimension: which dimension.
      recall_target: how many of them must be found, on average, as a fraction. Here all are.
      reduction_input_size_override: for other devices.
      aggregate_to_topk: must be true: return `k` of them, in order.

    Returns:
      a list of two arrays: the elements and the indices.

    Raises:
      ValueError: `k` out of range; no floats.
      TypeError: a scalar.
      NotImplementedError: `aggregate_to_topk` is false.

    >>> values, places = lax.approx_max_k(jnp.array([3.0, 9.0, 6.0]), 2)
    >>> values.tolist(), places.tolist()
    ([9.0, 6.0], [1, 2])
    """
    _check(typeof(operand), k, reduction_dimension, recall_target, aggregate_to_topk)
    return top_k(operand, k, axis=reduction_dimension)


@public
def approx_min_k(operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True):
    """The `k` least elements along a dimension, and their indices: see `approx_max_k`.

    >>> lax.approx_min_k(jnp.array([3.0, 9.0, 6.0]), 1)[1].tolist()
    [0]
    """
    _check(typeof(operand), k, reduction_dimension, recall_target, aggregate_to_topk)
    negated, places = top_k(prim.neg(operand), k, axis=reduction_dimension)
    return [prim.neg(negated), places]


def _check(x, k: int, axis: int, recall_target: float, aggregate: bool) -> None:
    if k <= 0:
        raise ValueError(f"k must be positive, got {k}")
    if not x.ndim:
        raise TypeError("approx_top_k needs an array of at least one dimension, got a scalar.")
    size_along("approx_top_k", x.shape, axis)
    if not 0 < recall_target <= 1:
        raise ValueError(f"approx_top_k: recall_target must be in (0, 1], got {recall_target}.")
    if not dtypes.issubdtype(x.dtype, np.floating):
        raise ValueError(f"approx_top_k needs an array of a floating type, got {x.dtype.name}.")
    if not aggregate:
        raise NotImplementedError("approx_top_k: aggregate_to_topk=False is for accelerators. Here "
                                  "the elements are in order: leave it out.")
