"""`BCSR`, batched compressed rows: like `BCOO` with two sparse dimensions, whose first indices are
in order, so that it is enough to know where each row begins.

    data (*batch, nse, *dense)    indices (*batch, nse)    indptr (*batch, rows + 1)

Every function goes by way of `BCOO`.
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ... import numpy as jnp
from ...checks import sparse as checks
from ...core.array import Array
from ...pytree.registration import register_pytree_node_class
from .bcoo import BCOO, JAXSparse, bcoo_dot_general, nfold_vmap
from .transform import elementwise_rules, sparse_rules, sparsify


@register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse array in batched compressed rows.

    Args:
      args: `(data, indices, indptr)`, of shapes `(*batch, nse, *dense)`, `(*batch, nse)` and
        `(*batch, rows + 1)`.
      shape: the shape of the array, `(*batch, rows, columns, *dense)`.
      indices_sorted, unique_indices: what is known of the indices.

    Raises:
      ValueError: the buffers do not fit the shape.

    >>> from minijax.experimental import sparse
    >>> M = sparse.BCSR.fromdense(jnp.array([[0., 1.], [2., 3.]]))
    >>> M, M.indptr.tolist()
    (BCSR(float32[2, 2], nse=3), [0, 1, 3])
    """

    _buffers = ("data", "indices", "indptr")
    _index_ndim, n_sparse = 1, 2

    @classmethod
    def from_scipy_sparse(cls, mat, *, index_dtype: Any = None, n_dense: int = 0,
                          n_batch: int = 0) -> BCSR:
        """The sparse array of one of `scipy.sparse`."""
        checks.from_scipy(mat, n_batch, n_dense)
        mat = mat.tocsr()
        indices = (jnp.asarray(x, index_dtype or jnp.int32) for x in (mat.indices, mat.indptr))
        return cls((mat.data, *indices), shape=mat.shape)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The same array in compressed rows."""
        checks.two_sparse_dimensions(arr.n_sparse)
        arr = arr if arr.indices_sorted else arr.sort_indices()
        rows = jnp.arange(arr.sparse_shape[0] + 1, dtype=arr.indices.dtype)
        starts = nfold_vmap(lambda i: jnp.searchsorted(i, rows).astype(i.dtype), arr.n_batch)
        indptr = starts(arr.indices[..., 0])
        return cls((arr.data, arr.indices[..., 1], indptr), shape=arr.shape)

    def to_bcoo(self) -> BCOO:
        """The same array in coordinates."""
        def example(columns, starts):
            rows = jnp.searchsorted(starts, jnp.arange(self.nse), side="right") - 1
            return jnp.stack([rows.astype(columns.dtype), columns], -1)
        indices = nfold_vmap(example, self.n_batch)(self.indices, self.indptr)
        return BCOO((self.data, indices), shape=self.shape)

    @classmethod
    def _empty(cls, shape, **options):
        return cls.from_bcoo(BCOO._empty(shape, **options))

    def todense(self) -> Array:
        """The dense array."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """As `BCOO.sum_duplicates`."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    @classmethod
    def fromdense(cls, mat, **options) -> BCSR:
        """The sparse array of a dense one; the arguments are those of `bcoo_fromdense`."""
        return cls.from_bcoo(BCOO.fromdense(mat, **options))

    __matmul__, __rmatmul__ = sparsify(jnp.matmul), sparsify(lambda x, y: jnp.matmul(y, x))


def bcsr_dot_general(lhs, rhs, *, dimension_numbers, **options):
    """As `bcoo_dot_general`, for a sparse and a dense operand."""
    checks.bcsr_operands(lhs, rhs, BCSR)
    return bcoo_dot_general(lhs.to_bcoo(), rhs, dimension_numbers=dimension_numbers, **options)


bcsr_fromdense, bcsr_todense, bcsr_sum_duplicates = BCSR.fromdense, BCSR.todense, BCSR.sum_duplicates
sparse_rules[BCSR] = {**elementwise_rules, lax.dot_general_p: bcsr_dot_general}
