"""`CSR` and `CSC`: a sparse matrix in compressed rows, or in compressed columns.

    data (nse,)    indices (nse,)    indptr (rows + 1,)

Row `i` has the elements from `indptr[i]` to `indptr[i + 1]`, in the columns `indices`. A matrix in
compressed columns is the transpose of one in compressed rows, with the same buffers.
"""

from __future__ import annotations

from typing import Any

from ... import numpy as jnp
from ...pytree.registration import register_pytree_node_class
from .. import _sparse_checks as checks
from .coo import Matrix, coordinates_product, diagonal_rows, nonzero_elements


class Compressed(Matrix):
    """What the two classes have in common."""

    _buffers = ("data", "indices", "indptr")
    _static = ("shape",)  # type: ignore[assignment]


def _major(mat: Compressed) -> jnp.ndarray:
    """The row of each element (of a `CSC`, its column). Padding is out of bounds."""
    places = jnp.arange(mat.nse, dtype=mat.indptr.dtype)
    return jnp.searchsorted(mat.indptr, places, side="right").astype(mat.indices.dtype) - 1


def _compressed(data, row, col, shape, index_dtype) -> CSR:
    """The matrix of elements in the order of rows."""
    indptr = jnp.searchsorted(row, jnp.arange(shape[0] + 1, dtype=row.dtype))
    return CSR((data, col.astype(index_dtype), indptr.astype(index_dtype)), shape=shape)


@register_pytree_node_class
class CSR(Compressed):
    """A sparse matrix in compressed rows. `BCSR` can do more.

    Args:
      args: `(data, indices, indptr)`, of shapes `(nse,)`, `(nse,)` and `(rows + 1,)`.
      shape: the shape of the matrix.

    >>> from minijax.experimental import sparse
    >>> M = sparse.CSR.fromdense(jnp.array([[0., 1.], [2., 3.]]))
    >>> M.indptr.tolist(), M @ jnp.array([1., 10.])
    ([0, 1, 3], Array([10., 32.], dtype=float32))
    """

    @classmethod
    def fromdense(cls, mat, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> CSR:
        """The elements of a dense matrix that are not 0; as many as `nse` if it is given."""
        shape = jnp.shape(mat)
        data, row, col = nonzero_elements(mat, nse, shape[0])
        return _compressed(data, row, col, shape, index_dtype)

    @classmethod
    def _empty(cls, shape, *, dtype=None, index_dtype="int32"):
        n, _ = checks.matrix_shape(cls, shape)
        none = jnp.zeros(0, index_dtype)
        return cls((jnp.zeros(0, dtype), none, jnp.zeros(n + 1, index_dtype)), shape=shape)

    @classmethod
    def _eye(cls, N, M, k, *, dtype=None, index_dtype="int32"):
        row = diagonal_rows(N, M, k, index_dtype)
        return _compressed(jnp.ones(len(row), dtype), row, row + k, (N, M), index_dtype)

    def transpose(self, axes: Any = None) -> CSC:
        """The transposed matrix, in compressed columns."""
        checks.no_axes(axes)
        return CSC(self.buffers, shape=self.shape[::-1])

    def coordinates(self) -> tuple:
        """The rows and columns of the stored elements."""
        return _major(self), self.indices


@register_pytree_node_class
class CSC(Compressed):
    """A sparse matrix in compressed columns.

    Args:
      args: `(data, indices, indptr)`, of shapes `(nse,)`, `(nse,)` and `(columns + 1,)`.
      shape: the shape of the matrix.

    >>> from minijax.experimental import sparse
    >>> sparse.CSC.fromdense(jnp.array([[0., 1.], [2., 3.]])).indptr.tolist()
    [0, 1, 3]
    """

    @classmethod
    def fromdense(cls, mat, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> CSC:
        """The elements of a dense matrix that are not 0; as many as `nse` if it is given."""
        return CSR.fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype).T

    @classmethod
    def _empty(cls, shape, *, dtype=None, index_dtype="int32"):
        shape = checks.matrix_shape(cls, shape)
        return CSR._empty(shape[::-1], dtype=dtype, index_dtype=index_dtype).T

    @classmethod
    def _eye(cls, N, M, k, *, dtype=None, index_dtype="int32"):
        return CSR._eye(M, N, -k, dtype=dtype, index_dtype=index_dtype).T

    def transpose(self, axes: Any = None) -> CSR:
        """The transposed matrix, in compressed rows."""
        checks.no_axes(axes)
        return CSR(self.buffers, shape=self.shape[::-1])

    def coordinates(self) -> tuple:
        """The rows and columns of the stored elements."""
        return self.indices, _major(self)


def csr_matvec(mat: CSR, v, transpose: bool = False) -> jnp.ndarray:
    """The product of a sparse matrix, or of its transpose, with a dense vector."""
    return coordinates_product(mat, mat.coordinates(), jnp.asarray(v), transpose)


def csr_matmat(mat: CSR, B, *, transpose: bool = False) -> jnp.ndarray:
    """The product of a sparse matrix, or of its transpose, with a dense matrix."""
    return coordinates_product(mat, mat.coordinates(), jnp.asarray(B), transpose)


csr_fromdense, csr_todense = CSR.fromdense, CSR.todense
