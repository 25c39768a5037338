"""The functions of `lax` that change shapes, for `BCOO`: cut, join, reverse, reshape.

Batch and dense dimensions are dimensions of the buffers, which `lax` cuts and joins. Sparse ones
exist in the indices only, where a slice is a subtraction. Elements that a slice leaves out become
padding: their index is made too large.
"""

import functools
import math
import operator
from collections.abc import Sequence

import numpy as np

from ... import lax, numpy as jnp
from ...core.api import eval_shape
from ...runtime.structs import ShapeDtypeStruct
from .. import _sparse_checks as checks
from .bcoo import (
    BCOO,
    _axes,
    _mul,
    bcoo_broadcast_in_dim,
    bcoo_sum_duplicates,
    bcoo_update_layout,
    make_bcoo,
    sparse_rules,
)
from .transform import stack_rule
from .util import gathered, in_bounds, nfold_vmap, padding_of, per_dimension, where_rows


def _out_shape(function, *mats, **params) -> tuple[int, ...]:
    """The shape of what a function of `lax` returns for dense arrays; it checks the arguments."""
    dense = [ShapeDtypeStruct(mat.shape, mat.dtype) for mat in mats]
    return eval_shape(functools.partial(function, **params), *dense).shape



# ----------------------------------------------------------------------------------------------
# Cut


def bcoo_slice(mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int],
               strides: Sequence[int] | None = None) -> BCOO:
    """As `lax.slice`.

    Raises:
      ValueError, TypeError: as `lax.slice`.

    >>> from minijax.experimental import sparse
    >>> M = sparse.BCOO.fromdense(jnp.array([[0., 1.], [2., 3.]]))
    >>> sparse.bcoo_slice(M, start_indices=[1, 0], limit_indices=[2, 2]).todense().tolist()
    [[2.0, 3.0]]
    """
    checks.slices(mat, BCOO, start_indices, limit_indices, strides)
    starts = [operator.index(i) for i in start_indices]
    limits = [operator.index(i) for i in limit_indices]
    steps = [1] * mat.ndim if strides is None else [operator.index(i) for i in strides]
    sizes = [-(-(limit - start) // step) for start, limit, step in zip(starts, limits, steps)]
    whole = [slice(*bounds) for bounds in zip(starts, limits, steps)]

    def cut(x, ranges):
        """Dimensions of size 1 that stand for all examples stay."""
        return x[tuple(slice(None) if x.shape[d] == 1 and d < mat.n_batch and mat.shape[d] != 1
                       else r for d, r in enumerate(ranges))]

    batch, _, dense = mat.split(whole)
    data = cut(mat.data, [*batch, slice(None), *dense])
    return _cut_sparse(mat, data, cut(mat.indices, batch), starts, sizes, steps)


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence, slice_sizes: Sequence[int]) -> BCOO:
    """As `lax.dynamic_slice`: the start may be traced, and is moved so that the slice fits.

    Raises:
      TypeError: as `lax.dynamic_slice`.
    """
    sizes = tuple(operator.index(n) for n in slice_sizes)
    _out_shape(lambda x: lax.dynamic_slice(x, start_indices, sizes), mat)
    starts = [jnp.clip(jnp.where(jnp.asarray(i) < 0, jnp.asarray(i) + full, i), 0, full - size)
              for i, full, size in zip(start_indices, mat.shape, sizes)]

    def cut(x, dims):
        """`x`, cut along some of its dimensions: (axis of `x`, dimension of `mat`)."""
        for axis, d in dims:
            if x.shape[axis] == mat.shape[d]:
                x = lax.dynamic_slice_in_dim(x, starts[d], sizes[d], axis)
        return x

    batch = [(d, d) for d in range(mat.n_batch)]
    dense = [(d - mat.n_sparse + 1, d) for d in range(mat.n_batch + mat.n_sparse, mat.ndim)]
    return _cut_sparse(mat, cut(mat.data, batch + dense), cut(mat.indices, batch), starts, sizes,
                       [1] * mat.ndim)


def _cut_sparse(mat, data, indices, starts, sizes, steps):
    """A slice of an array whose buffers are already cut along batch and dense dimensions."""
    _, starts, _ = mat.split(starts)
    _, ends, _ = mat.split(sizes)
    _, steps, _ = mat.split(steps)
    if not mat.n_sparse or (tuple(ends) == mat.sparse_shape and {*steps} == {1}):
        return make_bcoo(data, indices, sizes)
    start = jnp.stack([jnp.asarray(i).astype(indices.dtype) for i in starts])
    start, step, end = (per_dimension(x, indices) for x in (start, steps, ends))
    moved = indices - start
    place = moved // step
    kept = (moved >= 0) & (moved % step == 0) & (place < end)
    kept = jnp.all(kept, -1) & in_bounds(indices, mat.sparse_shape)
    out = make_bcoo(where_rows(kept, data, 0), where_rows(kept, place, end), sizes)
    if mat.nse > math.prod(ends):
        out = make_bcoo(*bcoo_sum_duplicates(out, math.prod(ends)).buffers, sizes)
    return out


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """As `lax.squeeze`.

    Raises:
      ValueError: a dimension does not have the size 1.
    """
    shape = _out_shape(lax.squeeze, arr, dimensions=tuple(dimensions))
    dims = [operator.index(d) % arr.ndim for d in dimensions]
    batch, sparse, dense = _axes(arr, dims)
    indices = jnp.delete(arr.indices, np.array(sparse, int), -1)
    return make_bcoo(lax.squeeze(arr.data, (*batch, *dense)), lax.squeeze(indices, batch), shape,
                     arr.indices_sorted, arr.unique_indices)


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """As `lax.rev`.

    Raises:
      TypeError, ValueError: as `lax.rev`.
    """
    shape = _out_shape(lax.rev, operand, dimensions=tuple(dimensions))
    batch, sparse, dense = _axes(operand, dimensions)
    indices = lax.rev(operand.indices, batch)
    last = per_dimension(operand.sparse_shape, indices) - 1
    chosen = per_dimension(np.isin(np.arange(operand.n_sparse), sparse), indices) == 1
    turned = chosen & in_bounds(indices, operand.sparse_shape)[..., None]
    indices = jnp.where(turned, last - indices, indices)
    return make_bcoo(lax.rev(operand.data, (*batch, *dense)), indices, shape)


# ----------------------------------------------------------------------------------------------
# Join and reshape


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """As `lax.concatenate`, along a batch or a sparse dimension.

    Raises:
      ValueError: the operands have different numbers of batch or dense dimensions.
      NotImplementedError: `dimension` is dense, or examples share their buffers.
    """
    dimension = operator.index(dimension)
    checks.concatenated(operands, BCOO)
    shape = _out_shape(lambda *xs: lax.concatenate(xs, dimension), *operands)
    if {mat.n_batch for mat in operands} == {0, 1}:  # `mat[None]` has one batch dimension more
        n_batch = int(all(mat.shape[0] == 1 for mat in operands if not mat.n_batch))
        operands = [bcoo_update_layout(mat, n_batch=n_batch)
                    if mat.n_batch == n_batch or mat.shape[0] == 1 else mat for mat in operands]
    checks.concatenated_layouts(operands, dimension)
    first = operands[0]
    n, column = first.n_batch, dimension - first.n_batch
    if column < 0:
        nse = max(mat.nse for mat in operands)
        parts = [_with_nse(mat, nse) for mat in operands]
        buffers = (lax.concatenate(part, dimension) for part in zip(*parts))
        return make_bcoo(*buffers, shape)
    end = jnp.array(shape[n:n + first.n_sparse], first.indices.dtype)
    starts = np.cumsum([0, *(mat.shape[dimension] for mat in operands)])
    indices = [where_rows(in_bounds(mat.indices, mat.sparse_shape),
                      mat.indices.at[..., column].add(int(start)), end)
               for mat, start in zip(operands, starts)]
    return make_bcoo(lax.concatenate([mat.data for mat in operands], n),
                     lax.concatenate(indices, n), shape)


def _with_nse(mat, nse):
    """The buffers, padded to a number of elements."""
    more, n = nse - mat.nse, mat.n_batch
    data = jnp.pad(mat.data, [(0, more if d == n else 0) for d in range(mat.data.ndim)])
    padding = jnp.broadcast_to(padding_of(mat), (*mat.indices.shape[:n], more, mat.n_sparse))
    return data, lax.concatenate([mat.indices, padding], n)


def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None,
                 sharding=None) -> BCOO:
    """As `lax.reshape`. Batch, sparse and dense dimensions are each reshaped among themselves.

    Raises:
      ValueError: dimensions of different kinds would mix.
      NotImplementedError: examples share their buffers.
    """
    if dimensions is not None:
        mat = mat.transpose(dimensions)
    n, m = checks.reshaped(mat, tuple(new_sizes))
    shape = _out_shape(lax.reshape, mat, new_sizes=tuple(new_sizes))
    sizes = shape[n:m]
    data = mat.data.reshape(*shape[:n], mat.nse, *shape[m:])
    indices = mat.indices.reshape(*shape[:n], mat.nse, mat.n_sparse)
    inside = in_bounds(indices, mat.sparse_shape)
    numbers = jnp.zeros(inside.shape, indices.dtype)
    for column, size in enumerate(mat.sparse_shape):
        numbers = numbers * size + indices[..., column]
    columns = jnp.unravel_index(jnp.where(inside, numbers, 0), (1, *sizes))[1:]
    indices = jnp.stack(columns, -1) if sizes else indices[..., :0]
    dtype = mat.indices.dtype
    indices = where_rows(inside, indices.astype(dtype), jnp.array(sizes, dtype))
    return make_bcoo(where_rows(inside, data, 0), indices, shape)


# ----------------------------------------------------------------------------------------------
# Products and elements


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The elementwise product of two sparse arrays, whose shapes broadcast.

    Raises:
      TypeError: they have different numbers of dimensions.
      NotImplementedError: they have different numbers of dense dimensions.
    """
    checks.product_of_sparse(lhs, rhs)
    n_batch = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = (bcoo_update_layout(mat, n_batch=n_batch) for mat in (lhs, rhs))
    n, m = lhs.n_batch, lhs.n_batch + lhs.n_sparse
    shape = lax.broadcast_shapes(lhs.shape, rhs.shape)
    sizes = jnp.array(shape[n:m], lhs.indices.dtype)
    shared = np.array([d for d, (a, b) in enumerate(zip(lhs.sparse_shape, rhs.sparse_shape))
                       if 1 not in (a, b)], int)
    from_left = np.array([[[b == 1 for b in rhs.sparse_shape]]], bool)

    def example(data, indices, data2, indices2):
        inside = in_bounds(indices, lhs.sparse_shape)
        inside2 = in_bounds(indices2, rhs.sparse_shape)
        left, right = indices[:, None], indices2[None]
        equal = jnp.all(left[..., shared] == right[..., shared], -1)
        equal = equal & inside[:, None] & inside2[None]
        places = where_rows(equal, jnp.where(from_left, left, right), sizes)
        terms = where_rows(equal, data[:, None] * data2[None], 0)
        count = len(indices) * len(indices2)
        return terms.reshape(count, *terms.shape[2:]), places.reshape(count, lhs.n_sparse)

    both = (lhs.data, lhs.indices, rhs.data, rhs.indices)
    return make_bcoo(*nfold_vmap(example, n)(*both), shape)


def bcoo_dot_general_sampled(A, B, indices, *, dimension_numbers) -> jnp.ndarray:
    """The elements of `lax.dot_general(A, B, …)` at the indices of a BCOO array: its data."""
    product, indices = lax.dot_general(A, B, dimension_numbers), jnp.asarray(indices)
    n_sparse = indices.shape[-1]
    sample = nfold_vmap(lambda x, indices: gathered(x, indices, range(n_sparse)), indices.ndim - 2)
    return sample(product, indices)


# ----------------------------------------------------------------------------------------------
# Rules for `sparsify`


def _sliced(x, *, start_indices, limit_indices, strides):
    return bcoo_slice(x, start_indices=start_indices, limit_indices=limit_indices, strides=strides)


def _product(x, y):
    """Of two sparse arrays that do not share unique indices, or of what `_mul` multiplies."""
    both = isinstance(x, BCOO) and isinstance(y, BCOO)
    shared = both and x.indices is y.indices and x.unique_indices
    return bcoo_multiply_sparse(x, y) if both and not shared else _mul(x, y)


sparse_rules[BCOO] |= {
    lax.mul_p: _product,
    lax.slice_p: _sliced,
    lax.dynamic_slice_p: lambda x, *starts, slice_sizes: bcoo_dynamic_slice(x, starts, slice_sizes),
    lax.squeeze_p: bcoo_squeeze,
    lax.rev_p: lambda x, *, dimensions: bcoo_rev(x, dimensions),
    lax.reshape_p: lambda x, **params: bcoo_reshape(x, **params),
    lax.concatenate_p: lambda *xs, dimension: bcoo_concatenate(xs, dimension=dimension),
    lax.stack_p: stack_rule(bcoo_broadcast_in_dim, bcoo_concatenate),
}
