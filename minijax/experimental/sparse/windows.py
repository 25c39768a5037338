"""Windows into sparse arrays: slices at many places (`gather`)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax, numpy as jnp
from ...core.api import eval_shape, vmap
from ...runtime.structs import ShapeDtypeStruct
from .. import _sparse_checks as checks
from .bcoo import BCOO, bcoo_transpose, bcoo_update_layout
from .shaping import bcoo_dynamic_slice, bcoo_reshape, bcoo_squeeze
from .transform import sparse_rules


def _struct(x) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(x.shape, x.dtype)


def bcoo_gather(operand: BCOO, start_indices, dimension_numbers: Any, slice_sizes: Sequence[int],
                *, unique_indices: bool = False, indices_are_sorted: bool = False,
                mode: Any = None, fill_value: Any = None) -> BCOO:
    """As `lax.gather`, for a sparse array: the slices at the start indices, all in one array.

    Args:
      operand: a sparse array.
      start_indices, dimension_numbers, slice_sizes: as for `lax.gather`.
      mode: the indices must be in bounds.

    Raises:
      NotImplementedError: another mode, or batching dimensions of the operand.
    """
    checks.gather_mode(mode, dimension_numbers)
    start_indices = jnp.asarray(start_indices)
    dims = dimension_numbers
    options = {"unique_indices": unique_indices, "indices_are_sorted": indices_are_sorted,
               "mode": "promise_in_bounds", "fill_value": fill_value}
    out = eval_shape(lambda x, i: lax.gather(x, i, dims, slice_sizes, **options),
                     _struct(operand), _struct(start_indices))

    def one_slice(start):
        starts: list = [jnp.zeros((), start.dtype)] * operand.ndim
        for i, d in enumerate(dims.start_index_map):
            starts[d] = start[i]
        piece = bcoo_dynamic_slice(operand, starts, slice_sizes)
        return bcoo_squeeze(piece, dimensions=dims.collapsed_slice_dims).buffers

    batch, n_index = start_indices.shape[:-1], start_indices.shape[-1]
    if not math.prod(batch):
        return BCOO._empty(out.shape, dtype=out.dtype, index_dtype=operand.indices.dtype)
    buffers = vmap(one_slice)(start_indices.reshape(-1, n_index))
    slice_shape = [out.shape[d] for d in dims.offset_dims]
    pieces = BCOO(buffers, shape=(math.prod(batch), *slice_shape))
    pieces = bcoo_reshape(pieces, new_sizes=(*batch, *slice_shape))
    others = [d for d in range(len(out.shape)) if d not in dims.offset_dims]
    order = np.argsort([*others, *dims.offset_dims])
    if [*order] != [*range(len(order))]:
        pieces = bcoo_update_layout(pieces, n_batch=0, n_dense=0, on_inefficient=None)
        pieces = bcoo_transpose(pieces, permutation=tuple(order.tolist()))
    return pieces


sparse_rules[BCOO][lax.gather_p] = bcoo_gather
