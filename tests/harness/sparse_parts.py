"""Private functions of JAX's sparse arrays that its tests call: of buffers, and of environments.

`show` makes them attributes of the modules in which JAX has them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minijax import lax, numpy as jnp
from minijax.core import api_util, staging, tree
from minijax.core.api import eval_shape
from minijax.core.core import ShapedArray, typeof
from minijax.core.jit import jit
from minijax.experimental.sparse import (
    bcoo as bcoo_module,
    bcsr as bcsr_module,
    transform,
    util as util_module,
)
from minijax.experimental.sparse.bcoo import (
    bcoo_dot_general,
    bcoo_extract,
    bcoo_fromdense,
    make_bcoo,
)
from minijax.experimental.sparse.bcsr import BCSR
from minijax.experimental.sparse.transform import eval_sparse, is_sparse, sparse_rules
from minijax.runtime.structs import ShapeDtypeStruct

# ----------------------------------------------------------------------------------------------
# Arrays by the positions of their buffers


class SparsifyValue(NamedTuple):
    """An array by the positions of its buffers in a `SparsifyEnv`. A dense one has only data."""

    shape: tuple[int, ...]
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool | None = False
    unique_indices: bool | None = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def is_sparse(self) -> bool:
        return self.indices_ref is not None

    def is_dense(self) -> bool:
        return self.indices_ref is None

    def is_bcoo(self) -> bool:
        return self.is_sparse() and self.indptr_ref is None

    def is_bcsr(self) -> bool:
        return self.is_sparse() and self.indptr_ref is not None


def _is_value(x: Any) -> bool:
    return isinstance(x, SparsifyValue)


class SparsifyEnv:
    """A list of buffers, which several sparse arrays may share.

    >>> from tests.harness.sparse_parts import SparsifyEnv
    >>> env = SparsifyEnv()
    >>> env.sparse((4,), jnp.ones(2), jnp.array([[0], [3]])).indices_ref
    1
    """

    def __init__(self, bufs: Sequence = ()):
        self._buffers = [*bufs]

    def _push(self, arr: Any) -> int:
        self._buffers.append(jnp.asarray(arr))
        return len(self._buffers) - 1

    def _at(self, ref: int | None, name: str) -> Any:
        if ref is None:
            raise RuntimeError(f"The array has no {name}: its {name}_ref is None.")
        return self._buffers[ref]

    def data(self, spvalue: SparsifyValue) -> Any:
        """The elements of an array."""
        return self._at(spvalue.data_ref, "data")

    def indices(self, spvalue: SparsifyValue) -> Any:
        """The indices of a sparse array."""
        return self._at(spvalue.indices_ref, "indices")

    def indptr(self, spvalue: SparsifyValue) -> Any:
        """Where the rows of a `BCSR` begin."""
        return self._at(spvalue.indptr_ref, "indptr")

    def dense(self, data: Any) -> SparsifyValue:
        """Add a dense array."""
        return SparsifyValue(jnp.shape(data), self._push(data))

    def sparse(self, shape: Sequence[int], data: Any = None, indices: Any = None,
               indptr: Any = None, *, data_ref: int | None = None,
               indices_ref: int | None = None, indptr_ref: int | None = None,
               indices_sorted: bool = False, unique_indices: bool = False) -> SparsifyValue:
        """Add a sparse array. A buffer is an array, or the position of one that is there."""
        pairs = {"data": (data, data_ref), "indices": (indices, indices_ref)}
        if indptr is not None or indptr_ref is not None:
            pairs["indptr"] = indptr, indptr_ref
        assert all(x is not None or ref in range(len(self._buffers)) for x, ref in pairs.values())
        refs = {f"{name}_ref": ref if x is None else self._push(x)
                for name, (x, ref) in pairs.items()}
        return SparsifyValue(tuple(shape), refs["data_ref"], refs["indices_ref"],
                             refs.get("indptr_ref"), indices_sorted, unique_indices)


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """Add the arrays of a tree to an environment: the tree of their values."""
    def value(x):
        if not is_sparse(x):
            return spenv.dense(x)
        return spenv.sparse(x.shape, *x.buffers, indices_sorted=x.indices_sorted,
                            unique_indices=x.unique_indices)
    return tree.tree_map(value, args, is_leaf=is_sparse)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The arrays of a tree of values. Arrays that share a buffer have the same object."""
    def array(value):
        if value.is_dense():
            return spenv.data(value)
        buffers = [spenv._buffers[ref] for ref in value[1:4] if ref is not None]
        cls = next(cls for cls in sparse_rules if len(cls._buffers) == len(buffers))  # type: ignore
        static = {"shape": value.shape, "indices_sorted": value.indices_sorted,
                  "unique_indices": value.unique_indices}
        return cls.tree_unflatten(static, buffers)  # type: ignore[attr-defined]
    return tree.tree_map(array, spvalues, is_leaf=_is_value)


def spvalues_to_avals(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """The abstract values that the arrays of a tree of values would have if they were dense."""
    def aval(value):
        data = typeof(spenv.data(value))
        return ShapedArray(value.shape, data.dtype, data.weak_type)
    return tree.tree_map(aval, spvalues, is_leaf=_is_value)




def sparsify_raw(f: Callable) -> Callable:
    """As `sparsify`, for arrays that are values of an environment.

    Returns:
      a function of a `SparsifyEnv` and trees of its values, which returns the list of the values
      of the results, and their tree.
    """
    def sparsified(spenv, *spvalues, **params):
        leaves, in_tree = tree.tree_flatten(spvalues, is_leaf=_is_value)
        flat, out_tree = api_util.flatten_fun_nokwargs(functools.partial(f, **params), in_tree)
        closed = staging.jaxpr_of(flat, spvalues_to_avals(spenv, leaves))
        outs = eval_sparse(closed, *spvalues_to_arrays(spenv, leaves))
        return arrays_to_spvalues(spenv, outs), out_tree()
    return sparsified


def _bcoo_todense(data, indices, *, spinfo):
    return make_bcoo(data, indices, spinfo.shape).todense()


def _bcoo_fromdense(mat, *, nse, n_batch=0, n_dense=0, index_dtype=jnp.int32):
    return bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense,
                          index_dtype=index_dtype).buffers


def _bcoo_dot_general(lhs_data, lhs_indices, rhs, *, dimension_numbers, preferred_element_type,
                      lhs_spinfo):
    return bcoo_dot_general(make_bcoo(lhs_data, lhs_indices, lhs_spinfo.shape), rhs,
                            dimension_numbers=dimension_numbers,
                            preferred_element_type=preferred_element_type)


def _bcoo_rdot_general(lhs, rhs_data, rhs_indices, *, dimension_numbers, preferred_element_type,
                       rhs_spinfo):
    return bcoo_dot_general(lhs, make_bcoo(rhs_data, rhs_indices, rhs_spinfo.shape),
                            dimension_numbers=dimension_numbers,
                            preferred_element_type=preferred_element_type)


def _bcoo_extract(indices, arr, *, assume_unique=True):
    indices, arr = jnp.asarray(indices), jnp.asarray(arr)
    n = indices.ndim - 2
    dense = arr.shape[n + indices.shape[-1]:]
    data = jnp.zeros((*indices.shape[:-1], *dense), arr.dtype)
    return bcoo_extract(make_bcoo(data, indices, arr.shape), arr, assume_unique=assume_unique).data

def _bcsr_fromdense(mat, *, nse, n_batch=0, n_dense=0, index_dtype=jnp.int32):
    return BCSR.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense,
                          index_dtype=index_dtype).buffers


def _bcsr_todense(data, indices, indptr, *, spinfo):
    return BCSR((data, indices, indptr), shape=spinfo.shape).todense()


@jit
def _csr_to_coo(indices, indptr):
    """The rows and columns of the elements of a matrix in compressed rows."""
    return jnp.cumsum(jnp.zeros_like(indices).at[indptr].add(1)) - 1, indices


def _csr_extract(indices, indptr, mat):
    """The elements of a dense matrix at the indices of one in compressed rows."""
    return _coo_extract(*_csr_to_coo(indices, indptr), mat)


def _coo_extract(row, col, mat):
    """The elements of a dense matrix at some rows and columns."""
    return mat[row, col]


def _count_stored_elements(mat: Any, n_batch: int = 0, n_dense: int = 0) -> Any:
    """How many elements must be stored for each example."""
    return util_module._count_stored_elements_per_batch(mat, n_batch, n_dense).max(initial=0)


def _dot_general_validated_shape(lhs_shape: Sequence[int], rhs_shape: Sequence[int],
                                 dimension_numbers: Any) -> tuple[int, ...]:
    """The shape of a product of arrays of these shapes."""
    operands = (ShapeDtypeStruct(tuple(shape), "float32") for shape in (lhs_shape, rhs_shape))
    product = functools.partial(lax.dot_general, dimension_numbers=dimension_numbers)
    return eval_shape(product, *operands).shape


MODULES = {bcoo_module: "_bcoo_", bcsr_module: "_bcsr_"}


def show() -> None:
    """Make these functions attributes of the modules of sparse arrays."""
    for name, function in list(globals().items()):
        for module, prefix in MODULES.items():
            if name.startswith(prefix):
                setattr(module, name, function)
    for function in (_csr_to_coo, _csr_extract, _coo_extract, _count_stored_elements, _dot_general_validated_shape):
        setattr(util_module, function.__name__, function)
    for function in (SparsifyEnv, SparsifyValue, arrays_to_spvalues, sparsify_raw, spvalues_to_arrays,
                     spvalues_to_avals):
        setattr(transform, function.__name__, function)
