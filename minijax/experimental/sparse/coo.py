"""`COO`: a sparse matrix by the coordinates of its elements.

    data (nse,)    row (nse,)    col (nse,)

It has no batch or dense dimensions, and only products with dense arrays. `BCOO` does more.
As there, all functions are a scatter that adds, or a gather.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import lax
from ... import numpy as jnp
from ...pytree.registration import register_pytree_node_class
from .. import _sparse_checks as checks
from ._base import JAXSparse


class Matrix(JAXSparse):
    """What the classes of sparse matrices have in common."""

    n_batch = n_dense = 0  # type: ignore[assignment]
    n_sparse = 2
    nse = property(lambda self: self.data.size)  # type: ignore[assignment]
    __rmul__ = __rmatmul__ = __getitem__ = checks.refused

    def __init__(self, args, *, shape, **static):
        vars(self).update(zip(self._buffers, map(jnp.asarray, args), strict=True))
        self.shape = checks.matrix_shape(type(self), shape)
        vars(self).update(static)

    def __matmul__(self, other):
        """The product with a dense vector or matrix."""
        checks.dense_factor(other, JAXSparse)
        other = jnp.asarray(other)
        return coordinates_product(self, self.coordinates(), other, False)

    def todense(self) -> jnp.ndarray:
        """The dense matrix."""
        return jnp.zeros(self.shape, self.dtype).at[self.coordinates()].add(self.data)

    def coordinates(self) -> tuple:
        """The rows and columns of the stored elements."""
        raise NotImplementedError


def coordinates_product(mat: Matrix, coordinates: tuple, other, transpose: bool) -> jnp.ndarray:
    """The product of a matrix, or of its transpose, with a dense vector or matrix."""
    (row, col), (n, m) = coordinates, mat.shape
    if transpose:
        row, col, n, m = col, row, m, n
    checks.product_sizes(mat, other, m)
    products = lax.expand_dims(mat.data, range(1, other.ndim)) * other[col]
    return jnp.zeros((n, *other.shape[1:]), products.dtype).at[row].add(products)


def nonzero_elements(mat, nse: Any, row_of_padding: int) -> tuple:
    """The number of elements to store, and their rows, columns and values, in order."""
    mat = jnp.asarray(mat)
    count = (mat != 0).sum()
    nse = checks.nse_of_dense(nse, count)
    row, col = jnp.nonzero(mat, size=nse, fill_value=(row_of_padding, 0))
    data = jnp.where(jnp.arange(nse) < count, mat[row, col], 0)
    return data, row, col


class COOInfo(NamedTuple):
    """What is known of a matrix by coordinates beside its buffers."""

    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


@register_pytree_node_class
class COO(Matrix):
    """A sparse matrix by coordinates. `BCOO` can do more, and is better tested.

    Args:
      args: `(data, row, col)`, each of shape `(nse,)`.
      shape: the shape of the matrix.
      rows_sorted, cols_sorted: what is known of the indices.

    >>> from minijax.experimental import sparse
    >>> M = sparse.COO.fromdense(jnp.array([[0., 1.], [2., 3.]]))
    >>> M, M @ jnp.array([1., 10.])
    (COO(float32[2, 2], nse=3), Array([10., 32.], dtype=float32))
    """

    _buffers = ("data", "row", "col")
    _static = "shape", "rows_sorted", "cols_sorted"
    _info = property(lambda self: COOInfo(self.shape, self.rows_sorted, self.cols_sorted))

    def __init__(self, args, *, shape, rows_sorted: bool = False, cols_sorted: bool = False):
        super().__init__(args, shape=shape, rows_sorted=rows_sorted, cols_sorted=cols_sorted)

    @classmethod
    def fromdense(cls, mat, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> COO:
        """The elements of a dense matrix that are not 0; as many as `nse` if it is given."""
        data, row, col = nonzero_elements(mat, nse, 0)
        row, col = row.astype(index_dtype), col.astype(index_dtype)
        return cls((data, row, col), shape=jnp.shape(mat), rows_sorted=True)

    @classmethod
    def _empty(cls, shape, *, dtype=None, index_dtype="int32"):
        none = jnp.zeros(0, index_dtype)
        return cls((jnp.zeros(0, dtype), none, none), shape=shape, rows_sorted=True,
                   cols_sorted=True)

    @classmethod
    def _eye(cls, N, M, k, *, dtype=None, index_dtype="int32"):
        row = diagonal_rows(N, M, k, index_dtype)
        return cls((jnp.ones(len(row), dtype), row, row + k), shape=(N, M), rows_sorted=True,
                   cols_sorted=True)

    def transpose(self, axes: Any = None) -> COO:
        """The transposed matrix."""
        checks.no_axes(axes)
        return COO((self.data, self.col, self.row), shape=self.shape[::-1],
                   rows_sorted=self.cols_sorted, cols_sorted=self.rows_sorted)

    def coordinates(self) -> tuple:
        """The rows and columns of the stored elements."""
        return self.row, self.col


def diagonal_rows(N: int, M: int, k: int, dtype: Any) -> jnp.ndarray:
    """The rows in which an (N, M) matrix has elements of its `k`th diagonal."""
    return jnp.arange(max(0, -k), max(0, -k, min(N, M - k)), dtype=dtype)


def coo_matvec(mat: COO, v, transpose: bool = False) -> jnp.ndarray:
    """The product of a sparse matrix, or of its transpose, with a dense vector."""
    return coordinates_product(mat, mat.coordinates(), jnp.asarray(v), transpose)


def coo_matmat(mat: COO, B, *, transpose: bool = False) -> jnp.ndarray:
    """The product of a sparse matrix, or of its transpose, with a dense matrix."""
    return coordinates_product(mat, mat.coordinates(), jnp.asarray(B), transpose)


coo_fromdense, coo_todense = COO.fromdense, COO.todense
