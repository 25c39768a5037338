"""Chapter 14: collectives under `vmap`, and their derivatives.

`vmap(axis_name="i")` holds all instances in one array: a collective along "i" is an ordinary
operation on it, in which the batch dimension takes part. Along other axes it stays what it is, and
only moves its dimensions aside. Along several axes at once, it is first taken apart into
collectives along one each.
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from ...core.batching import WithTrace, batch_subtrace, broadcast, moveaxis, primitive_batchers
from ...core.core import Primitive, typeof
from ...core.forward import defjvp_zero
from ...core.primitives import constant
from ...lax import elementwise as prim
from ...lax.control_flow.axes import axis_size
from ...lax.cutting import index_in_dim
from ...lax.families import const_like, deflinear2
from ...lax.reductions import reduce_sum
from ...lax.selection import select_n
from ...lax.shaping import broadcast_in_dim, full_like, iota, reshape, squeeze, transpose
from ...lax.slicing import dynamic_index_in_dim, dynamic_slice_in_dim
from ...numpy import take
from ..types.varying_axes import (
    as_summands_along,
    axis_tuple,
    in_scope_order,
    preduced_p,
    pvary_p,
    reduced_vary_cast_p,
    vary_unreduced_cast_p,
    varying,
)
from . import primitives
from .exchanges import all_gather, axis_index, ppermute, psum_scatter, senders
from .reductions import psum, psum_invariant

# ----------------------------------------------------------------------------------------------
# Shapes


def _shape(x):
    return typeof(x).shape


def _split_dim(x, axis, *sizes):
    """A dimension as several, the last of which has what is left of its size."""
    shape = _shape(x)
    rest = shape[axis] // math.prod(sizes)
    return reshape(x, (*shape[:axis], *sizes, rest, *shape[axis + 1 :]))


def _fold_dims(x, axis, n=2):
    """`n` dimensions as one."""
    shape = _shape(x)
    return reshape(x, (*shape[:axis], math.prod(shape[axis : axis + n]), *shape[axis + n :]))


def _sizes(names):
    return [axis_size(name) for name in names]


# ----------------------------------------------------------------------------------------------
# Batching: sums and extrema


def _batch_reduction(primitive: Primitive, repeated: Callable) -> Callable:
    """The batch dimension joins the dimensions to reduce.

    `repeated(x, size)` is the reduction of `size` times the same value.
    """

    def rule(trace, args, dims, *, axes, **params):
        axis_data = trace.axis_data
        (x,), (d,) = args, dims
        is_mapped = axis_data.name in axes
        if is_mapped and params.get("axis_index_groups") is not None:
            raise _no_groups(primitive)
        if d is None and is_mapped:
            rest = tuple(axis for axis in axes if axis != axis_data.name)
            x = primitive.bind(x, axes=rest, **params) if rest else x
            return repeated(x, axis_data.size), None
        if d is None or not is_mapped and not any(map(primitives.is_positional, axes)):
            return primitive.bind(x, axes=axes, **params), d
        axes = tuple(0 if axis == axis_data.name else
                     axis + 1 if primitives.is_positional(axis) else axis for axis in axes)
        return primitive.bind(moveaxis(x, d, 0), axes=axes, **params), None if is_mapped else 0

    primitive_batchers[primitive] = WithTrace(rule)
    return rule


def _no_groups(primitive):
    return NotImplementedError(
        f"{primitive.name}: axis_index_groups along an axis of vmap. (Reshape the axis, and vmap "
        "twice.)")


def _times(x, size):
    return prim.mul(const_like(x, typeof(x).dtype.type(size)), x)


def _batch_psum_invariant(trace, args, dims, *, axes):
    """Types do not speak of the axes of `vmap`: along this one, it is `psum`."""
    axis_data = trace.axis_data
    rest = tuple(axis for axis in axes if axis != axis_data.name)
    if len(rest) == len(axes):
        return primitives.psum_invariant_p.bind(*args, axes=axes), dims[0]
    x, d = _batch_psum(trace, args, dims, axes=(axis_data.name,), axis_index_groups=None)
    return (psum_invariant(x, rest) if rest else x), d


_batch_psum = _batch_reduction(primitives.psum_p, _times)
_batch_reduction(primitives.pmax_p, lambda x, size: x)
_batch_reduction(primitives.pmin_p, lambda x, size: x)
primitive_batchers[primitives.psum_invariant_p] = WithTrace(_batch_psum_invariant)
primitive_batchers[primitives.unreduced_psum_p] = WithTrace(lambda trace, args, dims, *, axes: (
    primitives.unreduced_psum_p.bind(*args, axes=axes), dims[0]))


# ----------------------------------------------------------------------------------------------
# Batching: the others


def _batch_collective(primitive: Primitive, aside: Callable, mapped: Callable,
                      one_by_one: Callable) -> None:
    """The rule of a collective, of three functions:

      aside(d, **params) -> (params, out_dim): along other axes, next to the batch dimension `d`
      mapped(x, d, size, **params) -> (out, out_dim): along the axis mapped over
      one_by_one(x, **params) -> out: along several axes, written with collectives along one each
    """

    def rule(trace, args, dims, *, axis_name, **params):
        axis_data = trace.axis_data
        (x,), (d,), names = args, dims, axis_tuple(axis_name)
        if axis_data.name not in names:
            if d is not None:
                params, d = aside(d, **params)
            return primitive.bind(x, axis_name=axis_name, **params), d
        if params.pop("axis_index_groups", None) is not None:
            raise _no_groups(primitive)
        params.pop("axis_size", None)
        if len(names) == 1:
            return mapped(x, d, axis_data.size, **params)
        apart = functools.partial(one_by_one, names=names, **params)
        (out,), (d,) = batch_subtrace(lambda x: [apart(x)], axis_data, [d], [x])
        return out, d

    primitive_batchers[primitive] = WithTrace(rule)


def _dimension_aside(parameter: str, change: int) -> Callable:
    """Next to a dimension that comes (`change` is 1) or goes (-1), unless the operation is tiled.
    """
    def aside(d, *, tiled, **params):
        dimension, out_dim = params[parameter], d
        if d <= dimension:
            dimension += 1
        elif not tiled:
            out_dim += change
        return params | {parameter: dimension, "tiled": tiled}, out_dim

    return aside


_gather_aside = _dimension_aside("all_gather_dimension", 1)
_scatter_aside = _dimension_aside("scatter_dimension", -1)


def _gather_mapped(x, d, size, *, all_gather_dimension, tiled):
    """The batch dimension, for all to see."""
    dimension = all_gather_dimension
    x = broadcast(x, size, dimension) if d is None else moveaxis(x, d, dimension)
    return (_fold_dims(x, dimension) if tiled else x), None


def _gather_one_by_one(x, names, *, all_gather_dimension, tiled, to="varying"):
    for name in reversed(names):
        x = all_gather(x, name, axis=all_gather_dimension, to=to)
    return _fold_dims(x, all_gather_dimension, len(names) + tiled)


def _scatter_mapped(x, d, size, *, scatter_dimension, tiled):
    """The sum over the batch dimension; and the dimension to be scattered is the new one."""
    x = _repeated(x, size) if d is None else reduce_sum(x, (d,))
    return (_split_dim(x, scatter_dimension, size) if tiled else x), scatter_dimension


def _repeated(x, size):
    """`size` times `x`, in its type: a weak array stays weak, and small integers wrap around."""
    aval = typeof(x)
    return prim.mul(x, constant(np.int64(size), aval.dtype, aval.weak_type))


def _scatter_one_by_one(x, names, *, scatter_dimension, tiled):
    x = _split_dim(x, scatter_dimension, *_sizes(names))
    for name in names:
        x = psum_scatter(x, name, scatter_dimension=scatter_dimension)
    return x if tiled else squeeze(x, (scatter_dimension,))


def _exchange_aside(d, *, split_axis, concat_axis, **params):
    return dict(params, split_axis=split_axis + (d <= split_axis),
                concat_axis=concat_axis + (d <= concat_axis)), d


def _exchange_mapped(x, d, size, *, split_axis, concat_axis, tiled):
    """The batch dimension joins `concat_axis`; a part of `split_axis` is the new one."""
    if d is None:
        x, d = broadcast(x, size, 0), 0
    if split_axis != concat_axis:
        x = _fold_dims(moveaxis(x, d, concat_axis), concat_axis)
        return _split_dim(x, split_axis, size), split_axis
    axis = split_axis + (d <= split_axis)  # they change places, and all else stays
    x, dim = _split_dim(x, axis, size), d + (axis <= d)
    order = [*range(len(_shape(x)))]
    order[axis], order[dim] = dim, axis
    return _fold_dims(transpose(x, order), axis), d


def _exchange_one_by_one(x, names, *, split_axis, concat_axis, tiled):
    """The parts are put in front, exchanged along one axis after the other, and joined."""
    n = len(names)
    x = _split_dim(x, split_axis, *_sizes(names))
    for i in range(n):
        x = moveaxis(x, split_axis + i, i)
    for i, name in enumerate(names):
        x = primitives.all_to_all_p.bind(x, axis_name=name, split_axis=i, concat_axis=i,
                                         axis_index_groups=None, tiled=tiled)
    for _ in range(n):
        x = moveaxis(x, 0, concat_axis + n - 1)
    return _fold_dims(x, concat_axis, n + 1)


def _same_dims(d, **params):
    return params, d


def _permute_mapped(x, d, size, *, perm):
    if d is None:
        if len(senders(perm, size)) == size:
            return x, None
        x, d = broadcast(x, size, 0), 0
    return _received(x, d, size, perm), d


def _received(x, d, size, perm):
    """Along a dimension `d` the elements at the places of the senders; zeros where none is."""
    sender_of = senders(perm, size)
    sources = np.array([sender_of.get(i, size) for i in range(size)])
    if len(sender_of) == size:
        return take(x, sources, axis=d)
    return take(x, sources, axis=d, mode="fill", fill_value=0)


def _permute_one_by_one(x, names, *, perm):
    """Each looks at what all have, and takes what it is sent."""
    names = in_scope_order(names)
    x = _received(all_gather(x, names), 0, math.prod(_sizes(names)), perm)
    return dynamic_index_in_dim(x, axis_index(names), keepdims=False)


def _broadcast_mapped(x, d, size, *, source):
    return (x if d is None else index_in_dim(x, source, d, keepdims=False)), None


def _broadcast_one_by_one(x, names, *, source):
    return index_in_dim(all_gather(x, names), source, keepdims=False)


_batch_collective(primitives.all_gather_p, _gather_aside, _gather_mapped, _gather_one_by_one)
_batch_collective(primitives.all_gather_invariant_p, _gather_aside, _gather_mapped,
                  functools.partial(_gather_one_by_one, to="invarying"))
_batch_collective(primitives.all_gather_reduced_p, _gather_aside, _gather_mapped,
                  _gather_one_by_one)
_batch_collective(primitives.unreduced_reduce_scatter_p, _scatter_aside, _scatter_mapped,
                  _scatter_one_by_one)
_batch_collective(primitives.reduce_scatter_p, _scatter_aside, _scatter_mapped, _scatter_one_by_one)
_batch_collective(primitives.all_to_all_p, _exchange_aside, _exchange_mapped, _exchange_one_by_one)
_batch_collective(primitives.ppermute_p, _same_dims, _permute_mapped, _permute_one_by_one)
_batch_collective(primitives.pbroadcast_p, _same_dims, _broadcast_mapped, _broadcast_one_by_one)


def _batch_axis_index(trace, args, dims, *, axis_name):
    axis_data = trace.axis_data
    if axis_data.name != axis_name:
        return primitives.axis_index_p.bind(axis_name=axis_name), None
    return iota(np.int32, axis_data.size), 0


primitive_batchers[primitives.axis_index_p] = WithTrace(_batch_axis_index)


# ----------------------------------------------------------------------------------------------
# Differentiation. All are linear but the extrema, which have no derivative, as in JAX.


def _psum_transpose(ct, x, *, axes, axis_index_groups):
    """Along names it is a sum again: what comes back to each is the sum of what went to all."""
    names = tuple(axis for axis in axes if not primitives.is_positional(axis))
    if len(names) < len(axes):
        shape = x.aval.shape
        kept = [d for d in range(len(shape)) if d not in axes]
        ct = broadcast_in_dim(ct, shape, kept)
    return [primitives.psum_p.bind(ct, axes=names, axis_index_groups=axis_index_groups)]


def _gather_transpose(ct, x, *, all_gather_dimension, axis_name, axis_index_groups, axis_size,
                      tiled):
    return [psum_scatter(ct, axis_name, scatter_dimension=all_gather_dimension,
                         axis_index_groups=axis_index_groups, tiled=tiled)]


def _gather_invariant_transpose(ct, x, *, all_gather_dimension, axis_name, axis_size, tiled):
    """The cotangents of all devices are one and the same: each takes its own part of it."""
    size = _shape(ct)[all_gather_dimension] // axis_size
    start = axis_index(axis_name) * size
    ct = dynamic_slice_in_dim(ct, start, size, axis=all_gather_dimension)
    return [ct if tiled else squeeze(ct, (all_gather_dimension,))]


def _scatter_transpose(ct, x, *, axis_name, scatter_dimension, axis_index_groups, axis_size, tiled):
    return [all_gather(ct, axis_name, axis_index_groups=axis_index_groups,
                       axis=scatter_dimension, tiled=tiled)]


def _exchange_transpose(ct, x, *, axis_name, split_axis, concat_axis, **params):
    return [primitives.all_to_all_p.bind(varying(ct, axis_tuple(axis_name)), axis_name=axis_name,
                                         split_axis=concat_axis, concat_axis=split_axis, **params)]


def _permute_transpose(ct, x, *, axis_name, perm):
    return [ppermute(ct, axis_name, [(receiver, sender) for sender, receiver in perm])]


def _broadcast_transpose(ct, x, *, axis_name, source):
    """The source receives the sum of all cotangents."""
    total = psum(ct, axis_name)
    is_source = prim.eq(axis_index(axis_name), np.int32(source))
    return [select_n(is_source, full_like(total, 0), total)]


_TRANSPOSES: dict[Primitive, Callable] = {
    primitives.psum_p: _psum_transpose,
    primitives.psum_invariant_p: lambda ct, x, *, axes: [varying(ct, axes)],
    pvary_p: lambda ct, x, *, axes: [psum_invariant(ct, axes)],
    primitives.all_gather_p: _gather_transpose,
    primitives.all_gather_invariant_p: _gather_invariant_transpose,
    primitives.reduce_scatter_p: _scatter_transpose,
    primitives.all_to_all_p: _exchange_transpose,
    primitives.ppermute_p: _permute_transpose,
    primitives.pbroadcast_p: _broadcast_transpose,
    preduced_p: lambda ct, x, *, axes: [primitives.unreduced_psum_p.bind(ct, axes=axes)],
    primitives.unreduced_psum_p: lambda ct, x, *, axes: [preduced_p.bind(ct, axes=axes)],
    vary_unreduced_cast_p: lambda ct, x, *, axes: [reduced_vary_cast_p.bind(ct, axes=axes)],
    reduced_vary_cast_p: lambda ct, x, *, axes: [as_summands_along(varying(ct, axes), axes)],
    primitives.all_gather_reduced_p: lambda ct, x, *, all_gather_dimension, **params: [
        primitives.unreduced_reduce_scatter_p.bind(
            ct, scatter_dimension=all_gather_dimension, **params)],
    primitives.unreduced_reduce_scatter_p: lambda ct, x, *, scatter_dimension, **params: [
        primitives.all_gather_reduced_p.bind(ct, all_gather_dimension=scatter_dimension, **params)],
}
for _primitive, _transpose in _TRANSPOSES.items():
    deflinear2(_primitive, _transpose)

defjvp_zero(primitives.axis_index_p)
