"""`BCSR`, batched compressed rows, and new arrays of both classes.

A `BCSR` is like a `BCOO` with two sparse dimensions, whose first indices are in order, so that it
is enough to know where each row begins.

    data (*batch, nse, *dense)    indices (*batch, nse)    indptr (*batch, rows + 1)

Every function goes by way of `BCOO`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from ... import lax, numpy as jnp, random
from .. import _sparse_checks as checks
from ._base import JAXSparse, sparse_class
from .bcoo import (
    BCOO,
    _method,
    bcoo_broadcast_in_dim,
    bcoo_dot_general,
    bcoo_extract,
    bcoo_sum_duplicates,
)
from .shaping import bcoo_concatenate
from .transform import call_rules, elementwise_rules, sparse_rules, sparsify, stack_rule
from .util import nfold_vmap


def _as_bcoo(name):
    """The constructor of `BCOO` with this name."""
    @functools.wraps(getattr(BCOO, name))
    def constructor(cls, *args, **options):
        return cls.from_bcoo(getattr(BCOO, name)(*args, **options))
    return classmethod(constructor)


@sparse_class
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
    fromdense, from_scipy_sparse, _empty = map(
        _as_bcoo, ("fromdense", "from_scipy_sparse", "_empty"))

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

    def todense(self) -> jnp.ndarray:
        """The dense array."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """As `BCOO.sum_duplicates`."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse, remove_zeros))

    __matmul__, __rmatmul__ = sparsify(jnp.matmul), sparsify(lambda x, y: jnp.matmul(y, x))
    __getitem__ = _method("__getitem__")


def bcsr_dot_general(lhs: BCSR, rhs, *, dimension_numbers, **options) -> jnp.ndarray:
    """As `bcoo_dot_general`, for a sparse and a dense operand."""
    checks.bcsr_operands(lhs, rhs, BCSR)
    return bcoo_dot_general(lhs.to_bcoo(), rhs, dimension_numbers=dimension_numbers, **options)


def bcsr_broadcast_in_dim(mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding=None) -> BCSR:
    """As `bcoo_broadcast_in_dim`."""
    out = bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape,
                                broadcast_dimensions=broadcast_dimensions)
    return BCSR.from_bcoo(out)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """As `bcoo_concatenate`."""
    mats = [mat.to_bcoo() for mat in operands]
    return BCSR.from_bcoo(bcoo_concatenate(mats, dimension=dimension))


def bcsr_extract(indices, indptr, mat) -> jnp.ndarray:
    """The elements of a dense array at the indices of a BCSR array: its data."""
    mat, indices = jnp.asarray(mat), jnp.asarray(indices)
    data = jnp.zeros(indices.shape + mat.shape[indices.ndim + 1:], mat.dtype)
    pattern = BCSR((data, indices, indptr), shape=mat.shape)
    return bcoo_extract(pattern.to_bcoo(), mat, assume_unique=True).data


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """As `bcoo_sum_duplicates`."""
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse))

bcsr_fromdense, bcsr_todense = BCSR.fromdense, BCSR.todense
sparse_rules[BCSR] = {
    **elementwise_rules, **call_rules, lax.dot_general_p: bcsr_dot_general,
    lax.broadcast_in_dim_p: bcsr_broadcast_in_dim,
    lax.concatenate_p: lambda *xs, dimension: bcsr_concatenate(xs, dimension=dimension),
    lax.stack_p: stack_rule(bcsr_broadcast_in_dim, bcsr_concatenate),
}

# ----------------------------------------------------------------------------------------------
# New arrays

_formats: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO}


def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32",
          sparse_format: str = "bcoo", **kwds) -> JAXSparse:
    """A sparse array of zeros: nothing is stored, or `nse` elements of padding.

    >>> from minijax.experimental import sparse
    >>> sparse.empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    cls = checks.sparse_format(sparse_format, _formats)
    return cls._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = "int32",
        sparse_format: str = "bcoo", **kwds) -> JAXSparse:
    """A sparse matrix with ones on its `k`th diagonal.

    >>> from minijax.experimental import sparse
    >>> sparse.eye(3)
    BCOO(float32[3, 3], nse=3)
    """
    cls = checks.sparse_format(sparse_format, {k: c for k, c in _formats.items() if k != "bcsr"})
    return cls._eye(*checks.eye(N, M, k), dtype=dtype, index_dtype=index_dtype, **kwds)


def random_bcoo(key, shape: Sequence[int], *, dtype: Any = float, indices_dtype: Any = int,
                nse: int | float = 0.2, n_batch: int = 0, n_dense: int = 0,
                unique_indices: bool = True, sorted_indices: bool = False,
                generator: Callable = random.uniform, **kwds) -> BCOO:
    """A sparse array with random elements at random indices.

    Args:
      key: a random key.
      shape: the shape of the array.
      nse: how many elements are stored; a number below 1 is a fraction.
      unique_indices: whether all indices differ.
      sorted_indices: whether they are in order.
      generator: a function of a key, `shape` and `dtype`, which returns the elements. It gets
        further keyword arguments.

    >>> from minijax.experimental import sparse
    >>> sparse.random_bcoo(jax.random.key(0), (4, 5), nse=3)
    BCOO(float32[4, 5], nse=3)
    """
    checks.dimension_counts(shape, n_batch, n_dense)
    batch, (*sizes,) = shape[:n_batch], shape[n_batch:len(shape) - n_dense]
    nse = checks.random_nse(nse, math.prod(sizes), indices_dtype)

    def example(key):
        numbers = random.choice(key, math.prod(sizes), (nse,), replace=not unique_indices)
        return jnp.stack(jnp.unravel_index(numbers, (1, *sizes)), 1)[:, 1:]

    data_key, *keys = random.split(key, math.prod(batch) + 1)
    data = generator(data_key, (*batch, nse, *shape[len(shape) - n_dense:]), dtype, **kwds)
    indices = jnp.stack([*map(example, keys)]).reshape(*batch, nse, len(sizes))
    mat = BCOO((data, indices.astype(indices_dtype)), shape=shape)
    return mat.sort_indices() if sorted_indices else mat
