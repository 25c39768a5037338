"""Sparse arrays as numbers of shared buffers, and as tracers.

`sparsify` passes sparse arrays themselves. Two other forms are for those who call its parts:

    SparsifyEnv, SparsifyValue  arrays by the positions of their buffers in one list, so that it is
                                visible which arrays share their indices
    SparseTrace, SparseTracer   `sparsify(f, use_tracer=True)` runs `f` on tracers: it is never
                                traced to a jaxpr, and may look at its arguments
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import numpy as jnp
from ...core import tree
from ...core.core import Primitive, ShapedArray, Trace, Tracer, new_trace, state, typeof
from ...core.jaxpr import ClosedJaxpr
from .. import _sparse_checks as checks

sparse_rules: dict[type, dict[Primitive, Callable]] = {}


def is_sparse(x: Any) -> bool:
    """Whether `x` is of a class that has sparse rules."""
    return type(x) in sparse_rules


def dense_type(x: Any) -> ShapedArray:
    """The type that an array would have if it were dense."""
    return ShapedArray(x.shape, x.dtype, typeof(x.data).weak_type) if is_sparse(x) else typeof(x)


def rule_for(primitive: Primitive, classes: set[type]) -> Callable:
    """What computes an equation with operands of these classes."""
    rules = next((sparse_rules[cls] for cls in sparse_rules if cls in classes), None)
    if rules is None:
        return primitive.bind
    return rules.get(primitive) or checks.no_rule(primitive)


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

    >>> from minijax.experimental.sparse.transform import SparsifyEnv
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
        return self._buffers[checks.buffer_of_value(ref, name)]

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
        refs = {f"{name}_ref": checks.buffer_position(name, x, ref, len(self._buffers))
                if x is None else self._push(x) for name, (x, ref) in pairs.items()}
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


# ----------------------------------------------------------------------------------------------
# Tracers


class SparseTracer(Tracer):
    """A dense or sparse array that looks like a dense one."""

    __slots__ = ("array",)

    def __init__(self, trace: SparseTrace, array: Any):
        self._trace, self.array = trace, array

    @property
    def aval(self) -> ShapedArray:
        return dense_type(self.array)

    def concrete_value(self) -> Any:
        """The contents of a dense array, for Python's `if`; those of a sparse one are hidden."""
        if isinstance(self.array, Tracer):
            return self.array.concrete_value()
        return None if is_sparse(self.array) else self.array


class SparseTrace(Trace):
    """Applies the sparse rule of each primitive that has a sparse operand."""

    __slots__ = ()

    def unbox(self, x: Any) -> Any:
        return x.array if isinstance(x, SparseTracer) and x._trace is self else x

    def process_primitive(self, primitive, args, params):
        function = params.get("call_jaxpr")
        if callable(function) and not isinstance(function, ClosedJaxpr):
            return function(*args)  # of `custom_jvp`: its rule is for dense arrays, and not used
        operands = [*map(self.unbox, args)]
        rule = rule_for(primitive, {*map(type, operands)})
        out = self.in_parent(rule, *operands, **params)
        if primitive.multiple_results:
            return [SparseTracer(self, x) for x in out]
        return SparseTracer(self, out)


def on_tracers(f: Callable, *args: Any) -> Any:
    """The result of a function of dense arrays for sparse arguments, by tracers."""
    leaves, in_tree = tree.tree_flatten(args, is_leaf=is_sparse)
    trace = SparseTrace(state.trace)
    leaves = [x if is_sparse(x) else jnp.asarray(x) for x in leaves]
    with new_trace(trace):
        out = f(*in_tree.unflatten([SparseTracer(trace, x) for x in leaves]))
        return tree.tree_map(trace.unbox, out)
