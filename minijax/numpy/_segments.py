"""Chapter 12: sums, products and extremes of segments, `jax.ops`.

A segment is all rows of `data` that have the same id; what is computed is a scatter of the rows
into an array with one row for each segment.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np

from .. import numpy as jnp
from ..core.boundary import public
from ..core.dtypes import iinfo
from ..lax.compile_time import concrete_or_error
from ..lax.index_updates import scatter_index
from ..lax.operators import check_arraylike
from ..lax.out_shardings import call_sharded
from ..lax.scattering import scatter_add, scatter_max, scatter_min, scatter_mul
from ..lax.windows import FILL_OR_DROP, GatherScatterMode
from ..text.naming import named


def _lowest(dtype):
    return False if dtype == bool else -np.inf if dtype.kind not in "iu" else iinfo(dtype).min


def _highest(dtype):
    return True if dtype == bool else np.inf if dtype.kind not in "iu" else iinfo(dtype).max


def _segment_function(name: str, op: Callable, identity: Callable, reduce: Callable, what: str):
    @named(name, what=what)
    @public
    def function(data, segment_ids, num_segments: int | None = None,
                 indices_are_sorted: bool = False, unique_indices: bool = False,
                 bucket_size: int | None = None, mode: str | GatherScatterMode | None = None,
                 out_sharding=None):
        """The {what} of each segment of `data`.

        Args:
          data: an array.
          segment_ids: integers, one for each row of `data`: the segment it belongs to.
          num_segments: how many there are, a known int; by default as many as `segment_ids`, which
            must be known then, mention.
          indices_are_sorted, unique_indices: promises, which may make it faster.
          bucket_size: take first so many rows together, for the sake of precision.
          mode: what happens to ids out of bounds: by default they are left out.
          out_sharding: the sharding of the result, on a mesh with axes of type Explicit
            (chapter 14).

        Returns:
          an array with a row for each segment.

        Raises:
          ConcretizationTypeError: traced ids, and no `num_segments`.
          ValueError: a negative `num_segments`.
        """
        check_arraylike(name, data, segment_ids)
        data, ids = jnp.asarray(data), jnp.asarray(segment_ids)
        count = _number_of_segments(ids, num_segments)
        if out_sharding is not None:
            reduce_segments = functools.partial(
                function, num_segments=count, indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices, bucket_size=bucket_size, mode=mode)
            return call_sharded(reduce_segments, data, ids, out_sharding=out_sharding)
        shape, index = (count, *data.shape[1:]), ids
        if bucket_size is not None:
            shape = (-(-ids.size // bucket_size), *shape)
            index = (jnp.arange(ids.shape[0]) // bucket_size, ids[None, :])
        out = jnp.full(shape, identity(data.dtype), dtype=data.dtype)
        out = scatter_index(out, index, data, op, indices_are_sorted=indices_are_sorted,
                            unique_indices=unique_indices, wrap_negative_indices=False,
                            mode=FILL_OR_DROP if mode is None else mode)
        return out if bucket_size is None else reduce(out, axis=0).astype(data.dtype)

    return function


def _number_of_segments(ids, given) -> int:
    if given is None:
        ids = concrete_or_error(np.asarray, ids, "The number of segments depends on the ids: under "
                                "`jit`, give `num_segments`.")
        given = ids.max() + 1
    count = concrete_or_error(operator.index, given, "segment_sum() `num_segments` argument.")
    if count < 0:
        raise ValueError("num_segments must be non-negative.")
    return count


segment_sum = _segment_function("segment_sum", scatter_add, lambda dtype: 0, jnp.sum, "sum")
segment_prod = _segment_function("segment_prod", scatter_mul, lambda dtype: 1, jnp.prod, "product")
segment_max = _segment_function("segment_max", scatter_max, _lowest, jnp.max, "maximum")
segment_min = _segment_function("segment_min", scatter_min, _highest, jnp.min, "minimum")
