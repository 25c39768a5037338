"""What JAX's tests of sparse arrays use: their test case, and random sparse arrays."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from minijax import lax, vmap
from minijax import numpy as jnp
from minijax.core.jit import jit
from minijax.core.tree import tree_flatten, tree_map
from minijax.experimental import _sparse_checks as checks
from minijax.experimental.sparse.bcoo import BCOO, JAXSparse
from minijax.experimental.sparse.bcsr import BCSR
from minijax.experimental.sparse.transform import sparsify, todense
from minijax.lax.jacobians import jacfwd, jacrev
from tests.harness import values
from tests.harness.case import JaxTestCase

MATMUL_TOL = {np.float32: 1e-5, np.float64: 1e-10, np.complex64: 1e-5, np.complex128: 1e-10}


class BatchedDotGeneralProperties(NamedTuple):
    """A product: the shapes, the layout of the sparse operand, and which dimensions are summed."""

    lhs_shape: tuple[int, ...]
    rhs_shape: tuple[int, ...]
    n_batch: int
    n_dense: int
    dimension_numbers: Any


class SparseLayout(NamedTuple):
    """How many dimensions of each kind a sparse array has."""

    n_batch: int
    n_dense: int
    n_sparse: int


def is_sparse(x: Any) -> bool:
    """Whether `x` is a sparse array."""
    return isinstance(x, JAXSparse)


def _all_dense(args: Any) -> Any:
    return tree_map(todense, args, is_leaf=is_sparse)


class SparseTestCase(JaxTestCase):
    """A test case that compares functions of sparse arrays with those of dense ones."""

    def assertSparseArraysEquivalent(self, x: Any, y: Any, **options: Any) -> None:
        """The same classes, shapes and buffers."""
        (x_buffers, x_tree), (y_buffers, y_tree) = tree_flatten(x), tree_flatten(y)
        self.assertEqual(x_tree, y_tree)
        self.assertAllClose(x_buffers, y_buffers, **options)

    def _CheckAgainstDense(self, dense_op: Callable, sparse_op: Callable, args_maker: Callable,
                           check_jit: bool = True, check_dtypes: bool = True, tol: Any = None,
                           atol: Any = None, rtol: Any = None,
                           canonicalize_dtypes: bool = True) -> None:
        """The sparse function has the results of the dense one, also under `jit`."""
        args, close = args_maker(), {"atol": atol or tol, "rtol": rtol or tol}
        result = sparse_op(*args)
        self.assertAllClose(dense_op(*_all_dense(args)), _all_dense(result), **close,
                            check_dtypes=check_dtypes, canonicalize_dtypes=canonicalize_dtypes)
        if check_jit:
            self.assertSparseArraysEquivalent(result, jit(sparse_op)(*args), **close)

    def _CheckGradsSparse(self, dense_fun: Callable, sparse_fun: Callable, args_maker: Callable, *,
                          argnums: Sequence[int] | None = None,
                          modes: Sequence[str] = ("fwd", "rev"), atol: Any = None,
                          rtol: Any = None) -> None:
        """Both have the same derivatives with respect to the data of the arguments."""
        args = args_maker()
        buffers, treedef = tree_flatten(args)
        starts = [*itertools.accumulate((len(tree_flatten(x)[0]) for x in args), initial=0)]
        chosen = starts[:-1] if argnums is None else [starts[n] for n in argnums]

        def of_dense(*buffers):
            return dense_fun(*_all_dense(treedef.unflatten(buffers)))

        def of_sparse(*buffers):
            return _all_dense(sparse_fun(*treedef.unflatten(buffers)))

        for mode in modes:
            jacobian = {"fwd": jacfwd, "rev": jacrev}[mode]
            expected, result = (jacobian(f, chosen)(*buffers) for f in (of_dense, of_sparse))
            self.assertAllClose(expected, result, atol=atol, rtol=rtol)

    def _random_bdims(self, *args: int) -> list[int]:
        """For each number of batch dimensions, where a new one may be."""
        rng = self.rng()
        return [rng.randint(0, n + 1) for n in args]

    def _CheckBatchingSparse(self, dense_fun: Callable, sparse_fun: Callable,
                             args_maker: Callable, *, batch_size: int = 3, bdims: Any = None,
                             check_jit: bool = False, **options: Any) -> None:
        """Both have the same results under `vmap`."""
        if bdims is None:
            bdims = self._random_bdims(
                *(x.n_batch if is_sparse(x) else x.ndim for x in args_maker()))

        def stacked(examples, axis):
            if axis is None:
                return examples[0]
            expand = sparsify(functools.partial(lax.expand_dims, dimensions=[axis]))
            join = sparsify(functools.partial(lax.concatenate, dimension=axis))
            return join([*map(expand, examples)])

        def batches():
            columns = zip(*(args_maker() for _ in range(batch_size)))
            return [stacked(x, axis) for x, axis in zip(columns, bdims, strict=True)]

        self._CheckAgainstDense(vmap(dense_fun, bdims), vmap(sparse_fun, bdims), batches,
                                check_jit=check_jit, **options)


# ----------------------------------------------------------------------------------------------
# Random arrays


def _rand_sparse(shape: Sequence[int], dtype: Any, *, rng: Any, rand_method: Callable,
                 nse: int | float, n_batch: int, n_dense: int, cls: type) -> JAXSparse:
    checks.dimension_counts(shape, n_batch, n_dense)
    end = len(shape) - n_dense
    batch, sizes, dense = shape[:n_batch], shape[n_batch:end], shape[end:]
    if cls is BCSR:
        checks.two_sparse_dimensions(len(sizes))
    count = math.ceil(nse * math.prod(sizes)) if 0 <= nse < 1 else int(nse)
    data = jnp.array(rand_method(rng)((*batch, count, *dense), dtype))

    def integers(high, *shape):
        return rng.randint(0, high, size=(*batch, *shape), dtype=np.dtype("int32"))

    if cls is BCOO:
        return BCOO((data, jnp.array(integers(sizes, count, len(sizes)))), shape=shape)
    columns = jnp.array(integers(sizes[1], count))
    starts = jnp.sort(integers(count + 1, sizes[0] + 1), axis=-1).at[..., 0].set(0)
    return BCSR((data, columns, starts), shape=shape)


def rand_bcoo(rng: Any, rand_method: Callable = values.rand_default, nse: int | float = 0.5,
              n_batch: int = 0, n_dense: int = 0) -> Callable:
    """Makes random `BCOO`s of a shape and a dtype; indices may repeat."""
    return functools.partial(_rand_sparse, rng=rng, rand_method=rand_method, nse=nse,
                             n_batch=n_batch, n_dense=n_dense, cls=BCOO)


def rand_bcsr(rng: Any, rand_method: Callable = values.rand_default, nse: int | float = 0.5,
              n_batch: int = 0, n_dense: int = 0) -> Callable:
    """Makes random `BCSR`s of a shape and a dtype; indices may repeat."""
    return functools.partial(_rand_sparse, rng=rng, rand_method=rand_method, nse=nse,
                             n_batch=n_batch, n_dense=n_dense, cls=BCSR)


def rand_sparse(rng: Any, nse: int | float = 0.5, post: Callable = lambda x: x,
                rand_method: Callable = values.rand_default) -> Callable:
    """Makes random dense arrays of which so many elements are not 0."""
    def make(shape, dtype, nse=nse):
        dense, size = rand_method(rng)(shape, dtype), math.prod(shape)
        kept = min(size, int(nse * size if 0 <= nse < 1 else nse))
        dense.flat[rng.choice(size, size - kept, replace=False)] = 0
        return post(dense)
    return make


# ----------------------------------------------------------------------------------------------
# All cases


def iter_subsets(s: Sequence) -> Iterable[tuple]:
    """All subsets of a sequence, the small ones first."""
    return itertools.chain.from_iterable(
        itertools.combinations(s, n) for n in range(len(s) + 1))


def iter_sparse_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """All layouts that an array of this shape can have as a `BCOO`."""
    for n_batch in range(min_n_batch, len(shape) + 1):
        for n_dense in range(len(shape) + 1 - n_batch):
            yield SparseLayout(n_batch, n_dense, len(shape) - n_batch - n_dense)


def iter_bcsr_layouts(shape: Sequence[int], min_n_batch: int = 0) -> Iterator[SparseLayout]:
    """All layouts that an array of this shape can have as a `BCSR`."""
    return (layout for layout in iter_sparse_layouts(shape, min_n_batch) if layout.n_sparse == 2)
