"""`BCOO`, batched coordinates: the sparse array that all functions of this package take.

    data     (*batch, nse, *dense)      the stored elements; nse: number of specified elements
    indices  (*batch, nse, n_sparse)    where in the sparse dimensions each of them is

An element may be stored in several parts, whose sum it is, so duplicate indices are allowed.
An index that is too large marks padding. Both follow from one choice: the dense array is a
*scatter* that adds, and drops what is out of bounds. Its transpose is a *gather* that fills with
zeros, and looks a dense array up at the indices.

    dense = zeros(shape).at[indices].add(data)      data = dense.at[indices].get(fill_value=0)

All functions here are written with these two, with sorts of the indices, and with arithmetic on
them. So sparse arrays need no primitives of their own, and no rules for `jit`, `vmap`, `jvp` and
`grad`. A function says what happens to one example, and `nfold_vmap` does the batch dimensions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax, numpy as jnp
from ...core.api import eval_shape
from ...runtime.structs import ShapeDtypeStruct
from .. import _sparse_checks as checks
from ._base import JAXSparse, sparse_class
from .layouts import bcoo_update_layout
from .transform import call_rules, elementwise_rules, sparse_rules, sparsify
from .util import (
    columns_of,
    gathered,
    in_bounds,
    nfold_vmap,
    scattered,
    where_rows,
    without,
)


def make_bcoo(data, indices, shape, *flags) -> BCOO:
    """The array with these buffers; the flags are `indices_sorted` and `unique_indices`."""
    return BCOO((data, indices), shape=shape, **dict(zip(JAXSparse._static[1:], flags)))


# ----------------------------------------------------------------------------------------------
# To and from dense arrays


def bcoo_todense(mat: BCOO) -> jnp.ndarray:
    """The dense array: the stored elements are added where they belong."""
    def example(data, indices):
        return scattered(data, indices, range(mat.n_sparse), mat.sparse_shape)
    return jnp.broadcast_to(nfold_vmap(example, mat.n_batch)(mat.data, mat.indices), mat.shape)


def bcoo_fromdense(mat, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0,
                   index_dtype: Any = jnp.int32) -> BCOO:
    """The sparse array with the elements of a dense one that are not 0.

    Args:
      mat: a dense array.
      nse: how many elements to store for each example; by default, as many as there are.
      n_batch, n_dense: how many leading and trailing dimensions are not sparse.
      index_dtype: the dtype of the indices.

    Raises:
      ConcretizationTypeError: `nse` is not given, and `mat` is traced.

    >>> from minijax.experimental import sparse
    >>> sparse.bcoo_fromdense(jnp.eye(3), n_batch=1)
    BCOO(float32[3, 3], nse=1, n_batch=1)
    """
    mat = jnp.asarray(mat)
    checks.dimension_counts(mat.shape, n_batch, n_dense)
    mask = jnp.any(mat != 0, [*range(mat.ndim - n_dense, mat.ndim)])
    count = mask.sum([*range(n_batch, mask.ndim)])
    nse = checks.nse_of_dense(nse, count)
    if mask.ndim == n_batch:  # without sparse dimensions, zeros are stored as well
        count = jnp.ones_like(count)

    def example(mask, count, mat):
        places = jnp.nonzero(mask[None], size=nse, fill_value=(1, *mask.shape))
        indices = jnp.stack(places, 1)[:, 1:].astype(index_dtype)
        data = gathered(mat, indices, range(mask.ndim))
        return where_rows(jnp.arange(nse) < count, data, 0), indices

    return make_bcoo(*nfold_vmap(example, n_batch)(mask, count, mat), mat.shape, True, True)


# ----------------------------------------------------------------------------------------------
# The order of the stored elements


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with its indices in order."""
    def order_of(indices):
        return jnp.lexsort(columns_of(indices, range(mat.n_sparse))[::-1])
    order = nfold_vmap(order_of, mat.n_batch)(mat.indices)
    sort = nfold_vmap(lambda x, order: x[order], mat.n_batch)
    return make_bcoo(sort(mat.data, order), sort(mat.indices, order), mat.shape, True,
                     mat.unique_indices)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array with unique indices in order.

    Args:
      mat: a sparse array.
      nse: how many elements to store for each example: padding is added, or elements are dropped.
        By default as many as are needed.

    Raises:
      ValueError: `nse` is not given under a transformation that hides the indices.
    """
    sizes = mat.sparse_shape

    def unique(nse):
        """The first `nse` unique indices in order, padded if there are fewer; and for each index,
        its number among them."""
        def example(indices):
            end = jnp.array((1, *sizes), indices.dtype)
            rows = where_rows(in_bounds(indices, sizes), jnp.pad(indices, [(0, 0), (1, 0)]), end)
            found, number = jnp.unique(rows, axis=0, return_inverse=True, size=nse, fill_value=end)
            return found[:, 1:], number.reshape(len(rows), 1)
        return nfold_vmap(example, mat.n_batch)(mat.indices)

    if nse is None:
        needed = in_bounds(unique(mat.nse)[0], sizes).sum(-1)
        nse = checks.nse_of_unique(needed if sizes else jnp.ones((), int))
    found, number = unique(nse)
    add = nfold_vmap(lambda data, number: scattered(data, number, [0], [nse]), mat.n_batch)
    return make_bcoo(add(mat.data, number), found, mat.shape, True, True)


# ----------------------------------------------------------------------------------------------
# Shapes


def _axes(mat, dims) -> tuple[list, list, list]:
    """Of some dimensions of an array: batch dimensions, columns of `indices` for the sparse ones,
    and axes of `data` for the dense ones."""
    n, m = mat.n_batch, mat.n_batch + mat.n_sparse
    return ([d for d in dims if d < n], [d - n for d in dims if n <= d < m],
            [d - mat.n_sparse + 1 for d in dims if d >= m])


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its dimensions permuted: batch, sparse and dense ones among themselves.

    Raises:
      NotImplementedError: the permutation mixes the three kinds.
      TypeError: it is not a permutation.
    """
    checks.permutation(mat, permutation)
    (batch, sparse, dense), n = _axes(mat, permutation), mat.n_batch
    indices = jnp.take(mat.indices, np.array(sparse, int), -1).transpose(*batch, n, n + 1)
    data, shape = mat.data.transpose(*batch, n, *dense), [mat.shape[p] for p in permutation]
    return make_bcoo(data, indices, shape, mat.indices_sorted and sparse == sorted(sparse),
                     mat.unique_indices)


def bcoo_broadcast_in_dim(mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int],
                          sharding=None) -> BCOO:
    """As `lax.broadcast_in_dim`. New dimensions before the sparse ones become batch dimensions.

    Raises:
      NotImplementedError: a sparse dimension would grow.
      ValueError: batch, sparse and dense dimensions would mix.
    """
    checks.broadcast(mat, shape, broadcast_dimensions)
    batch, sparse, dense = mat.split(tuple(broadcast_dimensions))
    n, end = min(sparse + dense, default=len(shape)), min(dense, default=len(shape))
    data = lax.broadcast_in_dim(mat.data, (*shape[:n], mat.nse, *shape[end:]),
                                (*batch, n, *(d + 1 - (end - n) for d in dense)))
    indices = lax.broadcast_in_dim(mat.indices, (*shape[:n], mat.nse, mat.n_sparse),
                                   (*batch, n, n + 1))
    new = jnp.zeros((*shape[:n], mat.nse, end - n), indices.dtype)
    return make_bcoo(data, new.at[..., np.array(sparse, int) - n].set(indices), shape)


# ----------------------------------------------------------------------------------------------
# Sums and products


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum along some dimensions. Along sparse ones, it is enough to drop their indices."""
    (batch, sparse, dense), n = _axes(mat, axes), mat.n_batch
    data = where_rows(in_bounds(mat.indices, mat.sparse_shape), mat.data.sum(dense), 0)
    indices = jnp.delete(mat.indices, np.array(sparse, int), -1)
    for d in batch:
        data = jnp.broadcast_to(data, (*data.shape[:d], mat.shape[d], *data.shape[d + 1:]))
        data = data.sum(d, keepdims=True) if indices.shape[d] == 1 else data
    others = without(range(n), batch)

    def joined(x):
        nse = math.prod(x.shape[d] for d in (*batch, n))
        return lax.reshape(x, (*(x.shape[d] for d in others), nse, *x.shape[n + 1:]),
                           (*others, *batch, *range(n, x.ndim)))

    return make_bcoo(joined(data), joined(indices), without(mat.shape, axes))


def bcoo_multiply_dense(sp_mat: BCOO, v) -> jnp.ndarray:
    """The data of the elementwise product of a sparse and a dense array, at the same indices.

    Raises:
      NotImplementedError: the product is larger than the sparse array.
    """
    v = jnp.asarray(v)
    checks.multiply_dense(sp_mat, v, lax.broadcast_shapes(v.shape, sp_mat.shape))

    def example(data, indices, v):
        indices = jnp.where(np.array([v.shape[:sp_mat.n_sparse]]) == 1, 0, indices)
        return data * gathered(v, indices, range(sp_mat.n_sparse))

    v = lax.expand_dims(v, range(sp_mat.ndim - v.ndim))
    return nfold_vmap(example, sp_mat.n_batch)(sp_mat.data, sp_mat.indices, v)


def bcoo_dot_general(lhs, rhs, *, dimension_numbers, precision=None, preferred_element_type=None,
                     out_sharding=None):
    """As `lax.dot_general`. The result is sparse if both operands are.

    Raises:
      NotImplementedError: a batch dimension of the product is not one of the sparse operand, or
        the sum is along a dense dimension.
    """
    checks.sparse_operand(lhs, rhs, BCOO)
    pairs = [tuple(tuple(map(int, np.ravel(dims))) for dims in pair) for pair in dimension_numbers]
    lhs, rhs = (x if isinstance(x, BCOO) else jnp.asarray(x) for x in (lhs, rhs))
    product = functools.partial(lax.dot_general, dimension_numbers=tuple(pairs),
                                preferred_element_type=preferred_element_type)
    out = eval_shape(product, *(ShapeDtypeStruct(x.shape, x.dtype) for x in (lhs, rhs)))
    if not isinstance(rhs, BCOO):
        return jnp.broadcast_to(_sparse_times_dense(lhs, rhs, *pairs, out.dtype), out.shape)
    if isinstance(lhs, BCOO):
        return _sparse_times_sparse(lhs, rhs, *pairs, out)
    swapped = _sparse_times_dense(rhs, lhs, *(pair[::-1] for pair in pairs), out.dtype)
    n_batch, n_rows = len(pairs[1][0]), rhs.ndim - len(pairs[0][0])
    order = (*range(n_batch), *range(n_rows, swapped.ndim), *range(n_batch, n_rows))
    return jnp.broadcast_to(swapped.transpose(order), out.shape)


def _sparse_times_dense(mat, dense, contract, batch, dtype):
    """The batch dimensions of `mat` are matched with those of `dense`: first those of the product,
    then those that stay in the result, last those that are summed. For each example, rows of
    `dense` are looked up at the indices, multiplied with the data, and added where they belong."""
    checks.sparse_times_dense(mat, contract[0], batch[0])
    n = mat.n_batch
    summed, rows = ([(d, e) for d, e in zip(*contract) if (d < n) == in_batch]
                    for in_batch in (True, False))
    free = without(range(n), batch[0] + contract[0])
    order = [*batch[0], *free, *(d for d, _ in summed)]
    data, indices = (x.transpose(*order, *range(n, x.ndim)) for x in (mat.data, mat.indices))
    used = [*batch[1], *(e for _, e in summed + rows)]
    dense = dense.transpose(*used, *without(range(dense.ndim), used))
    dense = lax.expand_dims(dense, range(len(batch[0]), len(batch[0]) + len(free)))
    columns = [d - n for d, _ in rows]

    def example(data, indices, dense):
        terms = lax.dot_general(data, gathered(dense, indices, columns), (([], []), ([0], [0])),
                                preferred_element_type=dtype)
        return scattered(terms, indices, without(range(mat.n_sparse), columns), mat.sparse_shape)

    result = nfold_vmap(example, n)(data, indices, dense)
    return result.sum([*range(n - len(summed), n)], dtype=dtype)


def _sparse_times_sparse(lhs, rhs, contract, batch, out):
    """The sum over all pairs of elements whose contracted indices agree."""
    checks.sparse_times_sparse(lhs, rhs, contract, batch)
    n = len(batch[0])
    (_, on, _), (_, on2, _) = _axes(lhs, contract[0]), _axes(rhs, contract[1])
    kept, kept2 = without(range(lhs.n_sparse), on), without(range(rhs.n_sparse), on2)

    def example(data, indices, data2, indices2):
        pairs = in_bounds(indices, lhs.sparse_shape)[:, None]
        for d, e in zip(on, on2):
            pairs &= indices[:, None, d] == indices2[None, :, e]
        terms = jnp.where(pairs, data[:, None] * data2[None], 0).astype(out.dtype)
        columns = [x[:, None] for x in columns_of(indices, kept)]
        columns += columns_of(indices2, kept2)[1:]
        columns = [jnp.broadcast_to(x, terms.shape).ravel() for x in columns]
        return terms.ravel(), jnp.stack(columns, 1)[:, 1:]

    free, free2 = (without(range(mat.n_batch), dims) for mat, dims in zip((lhs, rhs), batch))

    def aligned(mat, dims, others, before):
        """The buffers with the batch dimensions of the product, and 1 for those of the other."""
        buffers = (x.transpose(*dims, *others, *range(mat.n_batch, x.ndim)) for x in mat.buffers)
        new = range(n, n + len(free)) if before else range(n + len(free), n + len(free + free2))
        return [lax.expand_dims(x, new) for x in buffers]

    buffers = aligned(lhs, batch[0], free, False) + aligned(rhs, batch[1], free2, True)
    mat = make_bcoo(*nfold_vmap(example, n + len(free + free2))(*buffers), out.shape)
    nse = (lhs.nse if kept else 1) * (rhs.nse if kept2 else 1)
    mat = bcoo_sum_duplicates(mat, min(nse, math.prod(mat.sparse_shape)))
    return make_bcoo(mat.data, mat.indices, out.shape)


def bcoo_extract(sparr: BCOO, arr, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array at the indices of `sparr`, as a sparse array.

    Args:
      sparr: a sparse array.
      arr: a dense array of the same shape.
      assume_unique: take an element for each index; by default, if `sparr.unique_indices`.
        Otherwise, an element whose index occurs more than once is taken for the first of them.

    Raises:
      TypeError: `sparr` is not a BCOO array.
      ValueError: the shapes differ.
    """
    arr = jnp.asarray(arr)
    checks.extracted(sparr, arr, BCOO)
    unique = sparr.unique_indices if assume_unique is None else assume_unique

    def example(indices, arr):
        data = gathered(arr, indices, range(sparr.n_sparse))
        if unique:
            return data
        rows = jnp.pad(indices, [(0, 0), (1, 0)])
        first = jnp.unique(rows, axis=0, return_index=True, size=len(rows))[1]
        return where_rows(jnp.zeros(len(rows), bool).at[first].set(True), data, 0)

    data = nfold_vmap(example, sparr.n_batch)(sparr.indices, arr)
    return make_bcoo(data, sparr.indices, sparr.shape, sparr.indices_sorted, sparr.unique_indices)


# ----------------------------------------------------------------------------------------------
# The class, whose operators are those of dense arrays, sparsified


def _method(name):
    return lambda self, *args, **kwargs: sparsify(lambda x: getattr(x, name)(*args, **kwargs))(self)


def _reflected(*functions):
    return (sparsify(lambda x, y, f=f: f(y, x)) for f in functions)


@sparse_class
class BCOO(JAXSparse):
    """A sparse array in batched coordinates.

    Args:
      args: the pair `(data, indices)`, of shapes `(*batch, nse, *dense)` and
        `(*batch, nse, n_sparse)`. A batch dimension of size 1 is the same for all examples.
      shape: the shape of the array, `(*batch, *sparse, *dense)`.
      indices_sorted, unique_indices: what is known of the indices.

    Raises:
      ValueError: the buffers do not fit the shape.

    >>> from minijax.experimental import sparse
    >>> M = sparse.BCOO((jnp.array([1., 3.]), jnp.array([[0, 0], [1, 2]])), shape=(2, 3))
    >>> M
    BCOO(float32[2, 3], nse=2)
    >>> M @ jnp.ones(3)
    Array([1., 3.], dtype=float32)
    """

    _buffers = ("data", "indices")
    _index_ndim = 2
    n_sparse = property(lambda self: self.indices.shape[-1])

    @classmethod
    def from_scipy_sparse(cls, mat, *, index_dtype: Any = None, n_dense: int = 0,
                          n_batch: int = 0) -> BCOO:
        """The sparse array of one of `scipy.sparse`."""
        checks.from_scipy(mat, n_batch, n_dense)
        mat = mat.tocoo()
        indices = jnp.column_stack((mat.row, mat.col)).astype(index_dtype or jnp.int32)
        return cls((mat.data, indices), shape=mat.shape)

    @classmethod
    def _empty(cls, shape, *, dtype=None, index_dtype="int32", n_dense=0, n_batch=0, nse=0):
        checks.dimension_counts(shape, n_batch, n_dense, nse)
        batch, n = shape[:n_batch], len(shape) - n_dense
        end = jnp.array(shape[n_batch:n], index_dtype)
        return make_bcoo(jnp.zeros((*batch, nse, *shape[n:]), dtype),
                         jnp.broadcast_to(end, (*batch, nse, len(end))), shape, True, True)

    @classmethod
    def _eye(cls, N, M, k, *, dtype=None, index_dtype="int32", n_batch=0, n_dense=0):
        checks.dimension_counts((N, M), n_batch, n_dense)
        rows = jnp.arange(max(0, -k), max(0, -k, min(N, M - k)), dtype=index_dtype)
        mat = make_bcoo(jnp.ones(len(rows), dtype), jnp.stack([rows, rows + k], 1), (N, M), True,
                        True)
        if not (n_batch or n_dense):
            return mat
        return bcoo_fromdense(mat.todense(), n_batch=n_batch, n_dense=n_dense,
                              index_dtype=index_dtype)

    fromdense = staticmethod(bcoo_fromdense)
    todense, sort_indices = bcoo_todense, bcoo_sort_indices

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The array with its dimensions permuted, or reversed."""
        axes = [*range(self.ndim)][::-1] if axes is None else axes
        return bcoo_transpose(self, permutation=axes)

    def update_layout(self, *, n_batch: int | None = None, n_dense: int | None = None,
                      on_inefficient: str | None = "error") -> BCOO:
        """`bcoo_update_layout` of this array."""
        return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense,
                                  on_inefficient=on_inefficient)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The same array with unique indices in order, and without stored zeros.

        Under transformations, `nse` must be given. `remove_zeros=True` makes indices depend on
        data, and so has no derivative.
        """
        indices = self.indices
        if remove_zeros:
            zero = jnp.all(self.data == 0, [*range(self.n_batch + 1, self.data.ndim)])
            shared = [d for d in range(self.n_batch) if indices.shape[d] == 1]
            zero = jnp.all(zero, shared, keepdims=True)
            indices = where_rows(~zero, indices, jnp.array(self.sparse_shape, indices.dtype))
        return bcoo_sum_duplicates(make_bcoo(self.data, indices, self.shape), nse)

    astype, reshape, sum, __getitem__ = map(_method, ("astype", "reshape", "sum", "__getitem__"))

    def __pow__(self, exponent):
        return sparsify(lambda x: jnp.power(x, exponent))(self)

    __abs__, __neg__, __pos__ = map(sparsify, (jnp.abs, jnp.negative, jnp.positive))
    __add__, __sub__, __mul__, __truediv__, __matmul__ = map(sparsify, (
        jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.matmul))
    __radd__, __rsub__, __rmul__, __rtruediv__, __rmatmul__, __rpow__ = _reflected(
        jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.matmul, jnp.power)
    __gt__, __ge__, __lt__, __le__, __eq__, __ne__ = map(sparsify, (
        jnp.greater, jnp.greater_equal, jnp.less, jnp.less_equal, jnp.equal, jnp.not_equal))


# ----------------------------------------------------------------------------------------------
# Rules for `sparsify`


def _add(x, y):
    checks.addition(x, y, lax.broadcast_shapes(x.shape, y.shape), BCOO)
    if not (isinstance(x, BCOO) and isinstance(y, BCOO)):
        return x.todense() + y if isinstance(x, BCOO) else x + y.todense()
    if x.indices is y.indices:
        return x.with_data(x.data + y.data)
    return make_bcoo(jnp.concatenate([x.data, y.data], x.n_batch),
                 jnp.concatenate([x.indices, y.indices], x.n_batch), x.shape)


def _mul(x, y):
    x, y = (x, y) if isinstance(x, BCOO) else (y, x)
    if not isinstance(y, BCOO):
        return x.with_data(bcoo_multiply_dense(x, y))
    checks.multiply_sparse(x, y)
    return x.with_data(x.data * y.data)


def _if_scalar_dense(x):
    return x if x.shape else x.todense()


sparse_rules[BCOO] = {
    **elementwise_rules, **call_rules, lax.add_p: _add, lax.mul_p: _mul,
    lax.sub_p: lambda x, y: _add(x, elementwise_rules[lax.neg_p](checks.subtrahend(x, y, BCOO))),
    lax.div_p: lambda x, y: _mul(x, 1.0 / checks.divisor(y)),
    lax.reduce_sum_p: lambda x, *, axes, **_: _if_scalar_dense(bcoo_reduce_sum(x, axes=axes)),
    lax.dot_general_p: bcoo_dot_general, lax.transpose_p: bcoo_transpose,
    lax.broadcast_in_dim_p: bcoo_broadcast_in_dim,
}
