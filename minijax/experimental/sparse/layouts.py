"""`bcoo_update_layout`: other numbers of batch and dense dimensions."""

import operator
import warnings
from typing import TypeVar

import numpy as np

from ... import lax, numpy as jnp
from .. import _sparse_checks as checks
from ._base import JAXSparse
from .util import padding_of, per_dimension, where_rows

S = TypeVar("S", bound=JAXSparse)


def _rebuilt(mat: S, data, indices) -> S:
    """An array of the same shape, of whose indices nothing is known."""
    return mat.rebuilt((data, indices), indices_sorted=False, unique_indices=False)


def bcoo_update_layout(mat: S, *, n_batch: int | None = None, n_dense: int | None = None,
                       on_inefficient: str | None = "error") -> S:
    """The same array with other numbers of batch and dense dimensions.

    Args:
      mat: a sparse array.
      n_batch, n_dense: the new numbers; by default, as they are.
      on_inefficient: "error", "warn" or `None`: what happens if zeros would be stored because a
        sparse dimension of more than one element becomes a batch or a dense one.

    Raises:
      SparseEfficiencyError: as `on_inefficient` says.
      ValueError: the numbers do not fit the shape.
    """
    n_batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    n_dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if (n_batch, n_dense) == (mat.n_batch, mat.n_dense):
        return mat
    checks.layout(mat, n_batch, n_dense, on_inefficient, warnings.warn)
    while mat.n_batch > n_batch:
        mat = _batch_to_sparse(mat)
    while mat.n_dense > n_dense:
        mat = _dense_to_sparse(mat)
    while mat.n_batch < n_batch:
        mat = _sparse_to_batch(mat)
    while mat.n_dense < n_dense:
        mat = _sparse_to_dense(mat)
    return mat


def _batch_to_sparse(mat):
    """The last batch dimension becomes the first sparse one."""
    d, n = mat.n_batch - 1, mat.shape[mat.n_batch - 1]
    data, indices = (jnp.broadcast_to(x, (*x.shape[:d], n, *x.shape[d + 1:]))
                     for x in (mat.data, mat.indices))
    column = lax.broadcasted_iota(indices.dtype, (*indices.shape[:-1], 1), d)
    indices = lax.concatenate([column, indices], indices.ndim - 1)
    # An index is padding if it is too large in one dimension.
    data, indices = (x.reshape(*x.shape[:d], n * mat.nse, *x.shape[d + 2:])
                     for x in (data, indices))
    return _rebuilt(mat, data, indices)


def _dense_to_sparse(mat):
    """The first dense dimension becomes the last sparse one."""
    d = mat.n_batch + 1
    size = mat.data.shape[d]
    indices = jnp.broadcast_to(mat.indices[..., None, :], (
        *mat.indices.shape[:-1], size, mat.n_sparse))
    column = lax.broadcasted_iota(indices.dtype, (*indices.shape[:-1], 1), d)
    indices = lax.concatenate([indices, column], indices.ndim - 1)
    data, indices = (x.reshape(*x.shape[:d - 1], mat.nse * size, *x.shape[d + 1:])
                     for x in (mat.data, indices))
    return _rebuilt(mat, data, indices)


def _sparse_to_batch(mat):
    """The first sparse dimension becomes the last batch one: each example keeps all elements, of
    which those of others are padding."""
    d, size = mat.n_batch, mat.sparse_shape[0]
    indices = lax.expand_dims(mat.indices, [d])
    own = indices[..., 0] == lax.expand_dims(jnp.arange(size, dtype=indices.dtype), [*range(d), -1])
    data = where_rows(own, lax.expand_dims(mat.data, [d]), 0)
    indices = where_rows(own, indices[..., 1:], padding_of(mat)[1:])
    return _rebuilt(mat, data, indices)


def _sparse_to_dense(mat):
    """The last sparse dimension becomes the first dense one: rows of zeros but for one."""
    size, d = mat.sparse_shape[-1], mat.n_batch + 1
    own = mat.indices[..., -1:] == per_dimension(np.arange(size), mat.indices)
    return _rebuilt(mat, where_rows(own, lax.expand_dims(mat.data, [d]), 0), mat.indices[..., :-1])
