"""New sparse arrays, and `todense`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ... import numpy as jnp
from ... import random
from ...checks import sparse as checks
from ...core.array import Array
from ...core.core import typeof
from ...lax.compile_time import concrete_or_error
from .bcoo import BCOO, JAXSparse, nfold_vmap
from .bcsr import BCSR
from .transform import todense_p

_FORMATS = {"bcsr": BCSR, "bcoo": BCOO}


def todense(arr) -> Array:
    """The dense array of a sparse one; a dense one is returned as it is. In a function that is
    sparsified, this marks where an array is to become dense."""
    return arr.todense() if isinstance(arr, JAXSparse) else todense_p.bind(jnp.asarray(arr))


def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32",
          sparse_format: str = "bcoo", **kwds) -> JAXSparse:
    """A sparse array of zeros: nothing is stored, or `nse` elements of padding.

    >>> from minijax.experimental import sparse
    >>> sparse.empty((2, 3))
    BCOO(float32[2, 3], nse=0)
    """
    checks.sparse_format(sparse_format, _FORMATS)
    return _FORMATS[sparse_format]._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = "int32",
        sparse_format: str = "bcoo", **kwds) -> JAXSparse:
    """A sparse matrix with ones on its `k`th diagonal.

    >>> from minijax.experimental import sparse
    >>> sparse.eye(3)
    BCOO(float32[3, 3], nse=3)
    """
    N, M, k = (concrete_or_error(operator.index, n) for n in (N, N if M is None else M, k))
    checks.sparse_format(sparse_format, _FORMATS)
    return _FORMATS[sparse_format].fromdense(jnp.eye(N, M, k, dtype=dtype), index_dtype=index_dtype,
                                             **kwds)


def random_bcoo(key, shape: Sequence[int], *, dtype: Any = jnp.float_, indices_dtype: Any = None,
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
    sizes = tuple(shape)[n_batch:len(shape) - n_dense]
    indices_dtype = indices_dtype or jnp.int_
    checks.random_indices(nse, math.prod(sizes), indices_dtype)
    nse = math.ceil(nse * math.prod(sizes)) if 0 < nse < 1 else operator.index(nse)

    def example(key):
        numbers = random.choice(key, math.prod(sizes), (nse,), replace=not unique_indices)
        columns = jnp.unravel_index(numbers, sizes) if sizes else ()
        return jnp.stack(columns, -1) if columns else jnp.zeros((nse, 0))

    data_key, *keys = random.split(key, math.prod(shape[:n_batch]) + 1)
    data = generator(data_key, (*shape[:n_batch], nse, *shape[len(shape) - n_dense:]), dtype, **kwds)
    indices = jnp.stack([*map(example, keys)]).astype(indices_dtype)
    mat = BCOO((data, indices.reshape(*shape[:n_batch], nse, len(sizes))), shape=shape)
    return mat.sort_indices() if sorted_indices else mat
