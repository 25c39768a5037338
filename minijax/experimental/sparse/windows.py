"""Windows into sparse arrays: slices at many places (`gather`), and convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
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


def bcoo_conv_general_dilated(lhs, rhs, *, window_strides, padding, lhs_dilation=None,
                              rhs_dilation=None, dimension_numbers=None,
                              feature_group_count: int = 1, batch_group_count: int = 1,
                              precision=None, preferred_element_type=None,
                              out_sharding=None) -> BCOO:
    """As `lax.conv_general_dilated`, for sparse or dense operands with one spatial dimension, and
    with one batch and one feature. The result is sparse, and not summed.

    Raises:
      NotImplementedError: strides, dilations, groups, or more batches or features.
    """
    options = {"window_strides": window_strides, "padding": padding, "lhs_dilation": lhs_dilation,
               "rhs_dilation": rhs_dilation, "dimension_numbers": dimension_numbers,
               "feature_group_count": feature_group_count, "batch_group_count": batch_group_count,
               "precision": precision, "preferred_element_type": preferred_element_type,
               "out_sharding": out_sharding}
    out = eval_shape(lambda x, y: lax.conv_general_dilated(x, y, **options),
                     _struct(lhs), _struct(rhs))
    checks.convolution(lhs, rhs, out.shape, **options)
    before = _padding_before(lhs, rhs, padding)
    x, i = _elements(lhs)
    y, j = _elements(rhs)
    places = (i[:, None] + before - j[None]).ravel()
    products = (x[:, None] * y[None]).ravel()
    inside = places >= 0
    products, places = jnp.where(inside, products, 0), jnp.where(inside, places, 0)
    return BCOO((products[None, None], places[None, None, :, None]), shape=out.shape)


def _padding_before(lhs, rhs, padding) -> int:
    """How many zeros come before the first element."""
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(lhs.shape[2:], rhs.shape[2:], (1,), padding)
    return int(padding[0][0])


def _elements(x):
    """The elements of an operand and their places, of one spatial dimension."""
    if not isinstance(x, BCOO):
        x = jnp.asarray(x)[0, 0]
        return x, jnp.arange(len(x), dtype=jnp.int32)
    x = bcoo_update_layout(x, n_batch=2, n_dense=0, on_inefficient=None)
    data, indices = x.data[0, 0], x.indices[0, 0, :, 0]
    return jnp.where(indices < x.shape[-1], data, 0), indices  # without padding


sparse_rules[BCOO] |= {lax.gather_p: bcoo_gather,
                       lax.conv_general_dilated_p: bcoo_conv_general_dilated}
