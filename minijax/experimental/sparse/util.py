"""Small functions of indices, as JAX's sparse functions and their tests use them."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import lax, numpy as jnp
from ...core import api_util, tree
from ...core.api import vmap
from .. import _sparse_checks as checks
from .._sparse_checks import (
    CuSparseEfficiencyWarning as CuSparseEfficiencyWarning,
    SparseEfficiencyError as SparseEfficiencyError,
    SparseEfficiencyWarning as SparseEfficiencyWarning,
)

Shape = tuple[int, ...]


class SparseInfo(NamedTuple):
    """What is known of a sparse array beside its buffers."""

    shape: Shape
    indices_sorted: bool = False
    unique_indices: bool = False


# ----------------------------------------------------------------------------------------------
# Dimensions


def without(items: Iterable, dims: Sequence) -> tuple:
    """The items, one for each dimension, but those of some dimensions."""
    return tuple(x for d, x in enumerate(items) if d not in dims)


def nfold_vmap(fun: Callable, N: int, *, broadcasted: bool = True, in_axes: Any = 0) -> Callable:
    """`vmap` applied `N` times; `broadcasted` says whether an axis of size 1 fits any size."""
    over = broadcasting_vmap if broadcasted else vmap
    for _ in range(N):
        fun = over(fun, in_axes=in_axes)
    return fun


def broadcasting_vmap(fun: Callable, in_axes: Any = 0, out_axes: Any = 0) -> Callable:
    """`vmap` in which an argument of size 1 along its mapped axis is the same for all examples."""
    @functools.wraps(fun)
    def batched(*args):
        leaves, treedef = tree.tree_flatten(args)
        axes = api_util.flatten_axes("vmap in_axes", treedef, in_axes)
        mapped = {x.shape[axis] for x, axis in zip(leaves, axes) if axis is not None}
        checks.broadcast_sizes(mapped)
        if len(mapped) > 1:
            fixed = [axis is not None and x.shape[axis] == 1 for x, axis in zip(leaves, axes)]
            leaves = [lax.squeeze(x, (axis,)) if one else x
                      for x, axis, one in zip(leaves, axes, fixed)]
            axes = [None if one else axis for axis, one in zip(axes, fixed)]
        mapped_fun = vmap(fun, treedef.unflatten(axes), out_axes)
        return mapped_fun(*treedef.unflatten(leaves))
    return batched


# ----------------------------------------------------------------------------------------------
# Gather and scatter


def columns_of(indices, dims: Iterable[int]) -> tuple:
    """The indices of an example into some sparse dimensions, as NumPy takes them, after indices
    into one more dimension, of size 1. So arrays without sparse dimensions are no special case."""
    indices = jnp.pad(indices, [(0, 0), (1, 0)])
    return tuple(indices[:, d + 1] for d in (-1, *dims))


def scattered(data, indices, dims, sizes):
    """A dense example in which the data are added at the indices into some dimensions."""
    dense = jnp.zeros((1, *(sizes[d] for d in dims), *data.shape[1:]), data.dtype)
    return dense.at[columns_of(indices, dims)].add(data)[0]


def gathered(dense, indices, dims):
    """The elements of a dense example at the indices into some dimensions; 0 for padding."""
    return dense[None].at[columns_of(indices, dims)].get(mode="fill", fill_value=0)


def in_bounds(indices, sizes):
    """Which indices are not padding."""
    return jnp.all(indices < per_dimension(sizes, indices), -1)


def per_dimension(numbers, indices):
    """A number for each sparse dimension, as one more row for `indices`."""
    numbers = jnp.asarray(numbers).astype(indices.dtype)
    return lax.expand_dims(numbers, range(indices.ndim - numbers.ndim))


def where_rows(mask, data, other):
    """`jnp.where` with a mask that has only the first dimensions of `data`, and with another value
    that may have only the last."""
    if np.ndim(other):
        other = lax.expand_dims(other, range(data.ndim - other.ndim))
    return jnp.where(lax.expand_dims(mask, range(mask.ndim, data.ndim)), data, other)


def padding_of(mat) -> Any:
    """The index that marks padding: too large in every sparse dimension."""
    return jnp.array(mat.sparse_shape, mat.indices.dtype)


# ----------------------------------------------------------------------------------------------
# Indices and elements


def _count_stored_elements_per_batch(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    """How many elements of each example are not 0."""
    mat = jnp.asarray(mat)
    mask = jnp.any(mat != 0, [*range(mat.ndim - n_dense, mat.ndim)])
    return mask.sum([*range(n_batch, mask.ndim)])
