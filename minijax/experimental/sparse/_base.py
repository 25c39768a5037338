"""What the classes of sparse arrays have in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Self

from ... import numpy as jnp
from ...custom_rules.vmappables import register_vmappable
from ...lax.sizes import canonical_shape
from ...pytree.registration import register_pytree_node_class
from .. import _sparse_checks as checks
from .util import SparseInfo, without


class JAXSparse:
    """Base class of the sparse arrays. They are pytrees of their buffers.

    An array has `n_batch` leading dimensions, along which each example has its own pattern of
    stored elements, then `n_sparse` sparse ones, and `n_dense` dimensions that are stored whole.
    """

    _buffers: tuple[str, ...]  # the first are `data` and `indices`
    _static = "shape", "indices_sorted", "unique_indices"
    _index_ndim: int  # how many dimensions `indices` has for one example
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, args: Sequence, *, shape: Sequence[int], indices_sorted: bool = False,
                 unique_indices: bool = False):
        vars(self).update(zip(self._buffers, map(jnp.asarray, args), strict=True))
        self.shape = canonical_shape(shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        checks.buffers(self, *self._buffers[1:])

    dtype = property(lambda self: self.data.dtype)
    size = property(lambda self: math.prod(self.shape))
    ndim = property(lambda self: len(self.shape))
    n_batch = property(lambda self: self.indices.ndim - self._index_ndim)
    n_dense = property(lambda self: self.data.ndim - 1 - self.n_batch)
    nse = property(lambda self: self.indices.shape[self.n_batch])  # number of specified elements
    sparse_shape = property(lambda self: self.split(self.shape)[1])
    T = property(lambda self: self.transpose())
    transpose = sum = __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = checks.refused
    __repr__ = checks.sparse_repr

    def split(self, items: Sequence) -> tuple:
        """`items`, one for each dimension: those of batch, sparse and dense dimensions."""
        n, m = self.n_batch, self.n_batch + self.n_sparse
        return items[:n], items[n:m], items[m:]

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    buffers = property(lambda self: tuple(getattr(self, name) for name in self._buffers))
    _bufs = buffers
    _info = property(lambda self: SparseInfo(*(getattr(self, name) for name in self._static)))

    def tree_flatten(self):
        """The buffers, and a dict of what is static."""
        return self.buffers, {name: getattr(self, name) for name in self._static}

    @classmethod
    def tree_unflatten(cls, aux_data, children) -> Self:
        """The array with these buffers, which may be anything."""
        checks.aux_data(cls, aux_data, {*cls._static})
        self = object.__new__(cls)
        vars(self).update(zip(cls._buffers, children), **aux_data)
        return self

    def rebuilt(self, buffers: Iterable, **static) -> Self:
        """The array with other buffers, and perhaps another shape."""
        return type(self).tree_unflatten(self.tree_flatten()[1] | static, buffers)

    def block_until_ready(self) -> JAXSparse:
        """Wait for the buffers, and return the array."""
        for buffer in self.buffers:
            buffer.block_until_ready()
        return self

    def with_data(self, data) -> Self:
        """The array with the same indices and other elements."""
        return self.rebuilt((data, *self.buffers[1:]))


def _one_example(part, _, mat, axis):
    """How `vmap` takes one example of a sparse array: it maps over batch dimensions."""
    checks.mapped_axis(mat, axis, mat.n_batch - 1)
    return mat.rebuilt((part(x, axis) for x in mat.buffers), shape=without(mat.shape, [axis]))


def _all_examples(part, size, mat, axis):
    """How `vmap` puts examples together."""
    checks.mapped_axis(mat, axis, mat.n_batch)
    shape = (*mat.shape[:axis], size, *mat.shape[axis:])
    return mat.rebuilt((part(size, x, axis) for x in mat.buffers), shape=shape)


def sparse_class(cls: type) -> type:
    """Decorator: register a class with pytrees and with `vmap`."""
    register_vmappable(cls, int, int, _one_example, _all_examples, None)
    return register_pytree_node_class(cls)
