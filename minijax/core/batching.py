"""Chapter 4: how does one example's program become that of many?

A `BatchTracer` holds an array with all examples along one dimension, the *batch dimension*. It
shows the type of one example. When a primitive gets such tracers, its *batching rule* computes the
results for all examples by a few operations on the whole arrays. The rule returns the results, and
the batch dimension of each.

In JAX: `jax/_src/interpreters/batching.py`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..checks import core as checks
from ..source import user_location
from . import core, primitives as lax
from .avals import vary_like
from .core import Primitive, RuleTable, ShapedArray, Trace, Tracer, typeof
from .primitives import broadcast_in_dim, canonical_axis, expand_dims, transpose

not_mapped = None  # the batch dimension of a value that is the same for all examples


class AxisData(NamedTuple):
    """Name and size of the axis that a `vmap` maps over, and the placement of the batch dimension
    alone, a slot that extensions fill and interpret. Caches use it as a key."""

    name: Hashable | None
    size: int
    spmd_name: Hashable | None = None
    placement: Any = None


# Type registry: a class of containers with batch dimensions of their own -> an object whose method
# `vmap` maps over them, and over arrays.
containers: dict[type, Any] = {}
spec_types: set[type] = {int}  # the classes of entries in `in_axes` and `out_axes`


# ----------------------------------------------------------------------------------------------
# Types with and without the batch dimension


def inserted(items: Sequence, place: int, item: Any) -> tuple:
    """`items` with one more at `place`."""
    return (*items[:place], item, *items[place:])


@functools.lru_cache(4096)
def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one example, if an array of type `aval` has `size` examples along `axis`."""
    return aval if axis is None else aval.dec_rank(size, axis)


@functools.lru_cache(4096)
def unmapped_aval(size: int, axis: int | None, aval: ShapedArray, new: Any = None) -> ShapedArray:
    """The inverse of `mapped_aval`: `size` examples along a new dimension `axis`, of placement
    `new`."""
    return aval if axis is None else aval.inc_rank(size, axis, new)


# ----------------------------------------------------------------------------------------------
# Moving the batch dimension


def moveaxis(x, source: int, destination: int):
    """`x` with one dimension moved; both counted from the front."""
    if source == destination:
        return x
    others = [d for d in range(typeof(x).ndim) if d != source]
    return transpose(x, inserted(others, destination, source))


def broadcast(x, size: int, axis: int):
    """`x` repeated `size` times along a new dimension `axis`."""
    shape = inserted(typeof(x).shape, axis, size)
    return broadcast_in_dim(x, shape, [d for d in range(len(shape)) if d != axis])


def bdim_at(x, bdim: int | None, size: int, axis: int):
    """`x` with the batch dimension at `axis`: moved there, or made by repeating `size` times."""
    return broadcast(x, size, axis) if bdim is None else moveaxis(x, bdim, axis)


def bdim_at_front(x, bdim: int | None, size: int):
    """`x` with the batch dimension first."""
    return bdim_at(x, bdim, size, 0)


def matchaxis(axis_data: AxisData, source: int | None, destination: int | None, x):
    """`x`, batched at `source`, brought to be batched at `destination` (either may be `None`).

    Raises:
      ValueError: no such dimension; or `destination` is `None`, but the examples differ.
    """
    if source == destination:  # what only passed through is the caller's, who may change it
        return lax.ensure_array(x) if isinstance(x, np.ndarray) else x
    checks.output_is_mapped(destination, axis_data.name)
    ndim = typeof(x).ndim + (source is None)
    axis = canonical_axis(destination, ndim)  # type: ignore[arg-type]
    if source is not None:
        return moveaxis(x, source, axis)
    aval = unmapped_aval(axis_data.size, axis, typeof(x), axis_data.placement)
    return vary_like(broadcast(x, axis_data.size, axis), aval)


# ----------------------------------------------------------------------------------------------
# The tracer and the trace


class BatchTracer(Tracer):
    """It shows one example, and holds all of them, along dimension `batch_dim` of `val`.

    `batch_dim` counts from the front. A value that is not batched needs no tracer.
    """

    __slots__ = ("val", "batch_dim", "aval", "_birthplace")

    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, val: Any, batch_dim: int):
        aval = typeof(val)
        self._trace, self.val, self.batch_dim = trace, val, batch_dim
        self.aval = mapped_aval(aval.shape[batch_dim], batch_dim, aval)
        self._birthplace = user_location()


# A rule gets the whole arguments, and the batch dimension of each (at least one is not `None`):
#   primitive_batchers[p](args, dims, **params) -> (out, out_dim)
# or, if p has several results, (outs, out_dims).
primitive_batchers: dict[Primitive, Callable | WithTrace] = RuleTable()


class WithTrace(NamedTuple):
    """An entry in `primitive_batchers` whose rule takes the trace before the other arguments.

    Such primitives name axes, or contain functions that may name this axis. So if the axis has a
    name, the rule also runs when no argument is batched. A rule runs `always` if the function is a
    Python function, because it may close over tracers of the trace.
    """

    rule: Callable
    always: bool = False


class BatchTrace(Trace):
    """Interprets primitives on all examples at once.

    A `tag` identifies its tracers. A rule that runs a function in a second trace, in place of
    this one, gives both the same tag, so that the function may close over tracers of the first.
    """

    __slots__ = ("axis_data", "tag")
    main = property(attrgetter("tag"))

    def __init__(self, parent: Trace, axis_data: AxisData, tag: object | None = None):
        super().__init__(parent)
        self.axis_data = axis_data
        self.tag = object() if tag is None else tag

    def to_batch_info(self, x: Any) -> tuple[Any, int | None]:
        """The value behind `x` and its batch dimension: `None` unless `x` is this trace's."""
        if type(x) is BatchTracer and x._trace.tag is self.tag:
            return x.val, x.batch_dim
        return x, None

    def process_primitive(self, primitive, args, params):
        values, dims = zip(*map(self.to_batch_info, args)) if args else ((), ())
        batched = any(d is not None for d in dims)
        rule = primitive_batchers.get(primitive)
        if type(rule) is WithTrace and (batched or rule.always or self.axis_data.name is not None):
            out, out_dim = self.in_parent(rule.rule, self, values, dims, **params)
        elif not batched:
            return self.in_parent(self.parent.process_primitive, primitive, values, params)
        elif rule is None:
            raise core.missing_rule(primitive, "Batching", 4)
        else:
            out, out_dim = self.in_parent(rule, values, dims, **params)
        if primitive.multiple_results:
            return [x if d is None else BatchTracer(self, x, d) for x, d in zip(out, out_dim)]
        return out if out_dim is None else BatchTracer(self, out, out_dim)


# ----------------------------------------------------------------------------------------------
# Running a function in a batch trace


def batch_subtrace(
    fun: Callable[..., Sequence], axis_data: AxisData, in_dims: Sequence[int | None],
    args: Sequence, tag: object | None = None
) -> tuple[list, list[int | None]]:
    """Call `fun` once, on all examples, in a new trace above the current one.

    `fun` takes flat arguments and returns a sequence. `in_dims` has for each of `args` its batch
    dimension (counted from the front), or `None`. Returns the results and their batch dimensions;
    `matchaxis` moves one to where it is wanted. To batch a jaxpr, call this under staging with
    `fun=jaxpr_as_fun(jaxpr)`, and with the `unmapped_aval` of each input as the argument's type.
    """
    trace = BatchTrace(core.current_trace(), axis_data, tag)
    tracers = [x if d is None else BatchTracer(trace, x, d) for x, d in zip(args, in_dims)]
    axis_env = (contextlib.nullcontext() if axis_data.name is None
                else extend_axis_env_nd([(axis_data.name, axis_data.size)]))
    with axis_env, core.new_trace(trace):
        outs = fun(*tracers)
    infos = [trace.to_batch_info(x) for x in outs]
    del outs, tracers  # which a check for leaks would find
    checks.leaks(trace)
    return [x for x, _ in infos], [d for _, d in infos]


@contextlib.contextmanager
def extend_axis_env_nd(name_size_pairs: Iterable[tuple[Hashable, int]]) -> Iterator[None]:
    """The axes in scope under their names, which hide axes of the same names outside."""
    outside = core.state.axis_sizes
    core.state.axis_sizes = outside | dict(name_size_pairs)
    try:
        yield
    finally:
        core.state.axis_sizes = outside


# ----------------------------------------------------------------------------------------------
# The starters' rules. Most keep the batch dimension where it is, or bring it to the front, and
# renumber the parameters that name dimensions.


def _ndim(x):
    return typeof(x).ndim


def _shape(x):
    return typeof(x).shape


def batch_size(args, dims):
    """The number of examples."""
    return next(_shape(x)[d] for x, d in zip(args, dims) if d is not None)


def shifted_dims(dims: Sequence[int], bdim: int | None) -> tuple[int, ...]:
    """Dimensions of an example, as they are numbered in the array with a dimension `bdim` more."""
    return tuple(dims if bdim is None else [d + (d >= bdim) for d in dims])


def defvectorized(primitive: Primitive) -> None:
    """The rule of a primitive of one argument that treats each element by itself."""

    def rule(args, dims, **params):
        return primitive.bind(*args, **params), dims[0]

    primitive_batchers[primitive] = rule


def defbroadcasting(primitive: Primitive) -> None:
    """The rule of an elementwise primitive of several arguments, of one rank or scalars.

    If the batched arguments agree, and the others are scalars, nothing needs to be moved. Else the
    batch dimensions go to the front, and the primitive's own broadcasting does the rest.
    """

    def rule(args, dims, **params):
        dim = _agreed_dim(args, dims)
        if dim is None:
            args, dim = [bdim_at_front(x, d, 1) if _ndim(x) else x for x, d in zip(args, dims)], 0
            rank = max(map(_ndim, args))
            args = [x if d is None or _ndim(x) == rank else expand_dims(x, range(_ndim(x), rank))
                    for x, d in zip(args, dims)]  # vectors of scalars, to meet arrays
        out = primitive.bind(*args, **params)
        return out, [dim] * len(out) if primitive.multiple_results else dim

    primitive_batchers[primitive] = rule


def _agreed_dim(args, dims):
    """The batch dimension, if the batched arguments agree in it and in shape, and the others are
    scalars. Otherwise `None`."""
    agreed = None
    for x, dim in zip(args, dims):
        if dim is None:
            if not isinstance(x, np.generic) and typeof(x).shape:
                return None
        elif agreed is None:
            agreed = typeof(x).shape, dim
        elif agreed != (typeof(x).shape, dim):
            return None
    return agreed[1]


for p in (lax.neg_p, lax.sin_p, lax.cos_p, lax.tanh_p, lax.exp_p, lax.log_p,
          lax.integer_pow_p, lax.convert_element_type_p, lax.stop_gradient_p):
    defvectorized(p)

for p in (lax.add_p, lax.sub_p, lax.mul_p, lax.div_p, lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p,
          lax.gt_p, lax.ge_p):
    defbroadcasting(p)


def _add_any(args, dims):
    """Unlike `add`, this one broadcasts nothing: the arguments must become alike."""
    size, out_dim = batch_size(args, dims), dims[0] if dims[1] is None else dims[1]
    args = [bdim_at(x, d, size, out_dim) for x, d in zip(args, dims)]
    return lax.add_any_p.bind(*args), out_dim


def _broadcast_in_dim(args, dims, *, shape, broadcast_dimensions):
    x = moveaxis(args[0], dims[0], 0)
    new_dims = (0, *shifted_dims(broadcast_dimensions, 0))
    return broadcast_in_dim(x, (_shape(x)[0], *shape), new_dims), 0


def _reshape(args, dims, *, new_sizes, dimensions):
    x = moveaxis(args[0], dims[0], 0)
    order = None if dimensions is None else (0, *shifted_dims(dimensions, 0))
    return lax.reshape(x, (_shape(x)[0], *new_sizes), order), 0


def _squeeze(args, dims, *, dimensions):
    return lax.squeeze(moveaxis(args[0], dims[0], 0), shifted_dims(dimensions, 0)), 0


def _transpose(args, dims, *, permutation):
    return lax.transpose(args[0], (dims[0], *shifted_dims(permutation, dims[0]))), 0


def defreducer(primitive: Primitive) -> None:
    """The rule of a primitive that removes the dimensions `axes` of its one argument."""

    def rule(args, dims, *, axes, **params):
        (x,), (bdim,) = args, dims
        axes = shifted_dims(axes, bdim)
        out_dim = bdim - sum(axis < bdim for axis in axes)
        return primitive.bind(x, axes=axes, **params), out_dim

    primitive_batchers[primitive] = rule


def _dot_general(args, dims, *, dimension_numbers, **params):
    """If both are batched, one more batch dimension; if one is, one more of its free dimensions."""
    contract, batch = (tuple(map(shifted_dims, pair, dims)) for pair in dimension_numbers)
    if None not in dims:
        batch, out_dim = tuple((d, *others) for d, others in zip(dims, batch)), 0
    else:
        free = [(i, d) for i, x in enumerate(args) for d in range(_ndim(x))
                if d not in contract[i] + batch[i]]
        batched = 0 if dims[1] is None else 1
        out_dim = len(batch[0]) + free.index((batched, dims[batched]))
    return lax.dot_general_p.bind(*args, dimension_numbers=(contract, batch), **params), out_dim


primitive_batchers.update({
    lax.add_any_p: _add_any,
    lax.broadcast_in_dim_p: _broadcast_in_dim,
    lax.reshape_p: _reshape,
    lax.squeeze_p: _squeeze,
    lax.transpose_p: _transpose,
    lax.dot_general_p: _dot_general,
})
defreducer(lax.reduce_sum_p)
