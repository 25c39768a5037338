"""Chapter 4: the column of batching rules, one for each starter primitive.

A rule gets whole arrays and their batch dimensions, at least one of them not `None`, and returns
the whole result and its batch dimension. Most keep the batch dimension where it is, or bring it to
the front, and renumber the parameters that name dimensions.
"""

from __future__ import annotations

import numpy as np

from .batching import bdim_at_front, broadcast, moveaxis, primitive_batchers
from .core import Primitive, typeof
from .primitives import dot, elementwise, reductions, shaping, slicing
from .primitives.elementwise import select, select_n
from .primitives.shaping import broadcast_in_dim, broadcasted_iota, expand_dims, full_like, pad
from .primitives.slicing import slice as static_slice


def _ndim(x):
    return typeof(x).ndim


def _shape(x):
    return typeof(x).shape


def _batch_size(args, dims):
    return next(_shape(x)[d] for x, d in zip(args, dims) if d is not None)


def _shifted(dims, bdim):
    """Dimensions of an example, as they are numbered in the array with a dimension `bdim` more."""
    return tuple([d + (d >= bdim) for d in dims])


def _behind_first(dims):
    """`_shifted` for a batch dimension that is the first."""
    return tuple([d + 1 for d in dims])


# ----------------------------------------------------------------------------------------------
# Elementwise


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
        if dim is not None:
            return primitive.bind(*args, **params), dim
        args = [bdim_at_front(x, d, 1) if _ndim(x) else x for x, d in zip(args, dims)]
        rank = max(map(_ndim, args))
        args = [_with_trailing_ones(x, rank) if d is not None else x for x, d in zip(args, dims)]
        return primitive.bind(*args, **params), 0

    primitive_batchers[primitive] = rule


def _agreed_dim(args, dims):
    """The one batch dimension, if the batched are of one shape and the others scalars."""
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


def _with_trailing_ones(x, rank):
    """Scalars of the examples, a vector of them, to be combined with arrays of the examples."""
    ndim = _ndim(x)
    return expand_dims(x, range(ndim, rank)) if ndim < rank else x


for _primitive in (
    elementwise.neg_p, elementwise.sin_p, elementwise.cos_p, elementwise.tan_p, elementwise.tanh_p,
    elementwise.atanh_p, elementwise.exp_p, elementwise.exp2_p, elementwise.log_p,
    elementwise.log1p_p, elementwise.expm1_p, elementwise.sqrt_p, elementwise.rsqrt_p,
    elementwise.cbrt_p, elementwise.logistic_p, elementwise.abs_p, elementwise.sign_p,
    elementwise.floor_p, elementwise.ceil_p, elementwise.round_p, elementwise.square_p,
    elementwise.integer_pow_p, elementwise.is_finite_p, elementwise.real_p, elementwise.imag_p,
    elementwise.conj_p, elementwise.not_p, elementwise.convert_element_type_p,
    elementwise.stop_gradient_p, elementwise.copy_p,
):
    defvectorized(_primitive)

for _primitive in (
    elementwise.add_p, elementwise.sub_p, elementwise.mul_p, elementwise.div_p,
    elementwise.rem_p, elementwise.pow_p, elementwise.max_p, elementwise.min_p,
    elementwise.eq_p, elementwise.ne_p, elementwise.lt_p, elementwise.le_p, elementwise.gt_p,
    elementwise.ge_p, elementwise.and_p, elementwise.or_p, elementwise.xor_p,
    elementwise.complex_p, elementwise.shift_left_p, elementwise.shift_right_logical_p,
    elementwise.shift_right_arithmetic_p,
):
    defbroadcasting(_primitive)


def _add_any(args, dims):
    """Unlike `add`, this one broadcasts nothing: the arguments must become alike."""
    (x, y), (x_dim, y_dim) = args, dims
    if x_dim is None:
        return elementwise.add_any_p.bind(broadcast(x, _shape(y)[y_dim], y_dim), y), y_dim
    if y_dim is None:
        return elementwise.add_any_p.bind(x, broadcast(y, _shape(x)[x_dim], x_dim)), x_dim
    return elementwise.add_any_p.bind(moveaxis(x, x_dim, y_dim), y), y_dim


def _select_n(args, dims):
    (which, *cases), (which_dim, *case_dims) = args, dims
    alike = all(d == case_dims[0] for d in case_dims)
    if alike and which_dim == case_dims[0] and _shape(which) == _shape(cases[0]):
        return select_n(which, *cases), which_dim
    if alike and not _ndim(which):  # one choice for all examples
        return select_n(which, *cases), case_dims[0]
    size = _batch_size(args, dims)
    which = bdim_at_front(which, which_dim, size) if _ndim(which) else which
    if any(map(_ndim, cases)):
        cases = [bdim_at_front(case, d, size) for case, d in zip(cases, case_dims)]
    rank = max(_ndim(which), _ndim(cases[0]))
    which = which if not _ndim(which) else _filled(which, _shape(cases[0]), rank)
    return select_n(which, *[_filled(case, _shape(which), rank) for case in cases]), 0


def _filled(x, shape, rank):
    """`x`, repeated along trailing dimensions to `shape` if it has less than `rank`."""
    return x if _ndim(x) == rank else broadcast_in_dim(x, shape, range(_ndim(x)))


def _clamp(args, dims):
    low, x, high = args
    low_dim, x_dim, high_dim = dims
    same_shapes = _shape(low) == _shape(x) == _shape(high)
    if (low_dim == x_dim == high_dim and same_shapes) or not (_ndim(low) or _ndim(high)):
        return elementwise.clamp(low, x, high), x_dim
    size = _batch_size(args, dims)
    pairs = (low, low_dim), (high, high_dim), (x, x_dim)
    low, high, x = [bdim_at_front(a, d, size) if _ndim(a) else a for a, d in pairs]
    rank = max(_ndim(low), _ndim(high), _ndim(x))
    shape = next(_shape(a) for a in (x, low, high) if _ndim(a) == rank)
    low, high, x = [_filled(a, shape, rank) for a in (low, high, x)]
    return elementwise.clamp(low, x, high), 0


primitive_batchers[elementwise.add_any_p] = _add_any
primitive_batchers[elementwise.select_n_p] = _select_n
primitive_batchers[elementwise.clamp_p] = _clamp


# ----------------------------------------------------------------------------------------------
# Rearranging elements


def _broadcast_in_dim(args, dims, *, shape, broadcast_dimensions):
    x = moveaxis(args[0], dims[0], 0)
    new_dims = (0, *_behind_first(broadcast_dimensions))
    return broadcast_in_dim(x, (_shape(x)[0], *shape), new_dims), 0


def _reshape(args, dims, *, new_sizes, dimensions):
    x = moveaxis(args[0], dims[0], 0)
    order = None if dimensions is None else (0, *_behind_first(dimensions))
    return shaping.reshape(x, (_shape(x)[0], *new_sizes), order), 0


def _squeeze(args, dims, *, dimensions):
    return shaping.squeeze(moveaxis(args[0], dims[0], 0), _behind_first(dimensions)), 0


def _transpose(args, dims, *, permutation):
    return shaping.transpose(args[0], (dims[0], *_shifted(permutation, dims[0]))), 0


def _rev(args, dims, *, dimensions):
    return shaping.rev(args[0], _shifted(dimensions, dims[0])), dims[0]


def _concatenate(args, dims, *, dimension):
    size = _batch_size(args, dims)
    args = [bdim_at_front(x, d, size) for x, d in zip(args, dims)]
    return shaping.concatenate(args, dimension + 1), 0


def _stack(args, dims, *, axis):
    bdim = dims[0]
    if bdim is not None and all(d == bdim for d in dims):
        new_axis, bdim = (axis, bdim + 1) if axis <= bdim else (axis + 1, bdim)
        return shaping.stack_p.bind(*args, axis=new_axis), bdim
    size = _batch_size(args, dims)
    args = [bdim_at_front(x, d, size) for x, d in zip(args, dims)]
    return shaping.stack_p.bind(*args, axis=axis + 1), 0


def _unstack(args, dims, *, axis):
    (bdim,) = dims
    outs = shaping.unstack_p.bind(args[0], axis=axis + (axis >= bdim))
    return outs, [bdim - (axis < bdim)] * len(outs)


def _split(args, dims, *, sizes, axis):
    (bdim,) = dims
    return shaping.split(args[0], sizes, axis + (axis >= bdim)), [bdim] * len(sizes)


def _pad(args, dims, *, padding_config):
    (x, value), (bdim, value_dim) = args, dims
    if bdim is None:
        x, bdim = broadcast(x, _shape(value)[value_dim], 0), 0
    config = [*padding_config[:bdim], (0, 0, 0), *padding_config[bdim:]]
    if value_dim is None:
        return pad(x, value, config), bdim
    # `pad` takes one value only: pad with zeros, and put each example's value where they are.
    padded = pad(x, typeof(x).dtype.type(0), config)
    inside = pad(full_like(x, True, bool), False, config)
    return select(inside, padded, broadcast_in_dim(value, _shape(padded), (bdim,))), bdim


primitive_batchers[shaping.broadcast_in_dim_p] = _broadcast_in_dim
primitive_batchers[shaping.reshape_p] = _reshape
primitive_batchers[shaping.squeeze_p] = _squeeze
primitive_batchers[shaping.transpose_p] = _transpose
primitive_batchers[shaping.rev_p] = _rev
primitive_batchers[shaping.concatenate_p] = _concatenate
primitive_batchers[shaping.stack_p] = _stack
primitive_batchers[shaping.unstack_p] = _unstack
primitive_batchers[shaping.split_p] = _split
primitive_batchers[shaping.pad_p] = _pad
# iota has no arguments, and so no batched ones: it needs no rule.


# ----------------------------------------------------------------------------------------------
# Slices


def _slice(args, dims, *, start_indices, limit_indices, strides):
    (x,), (bdim,) = args, dims
    starts, limits = list(start_indices), list(limit_indices)
    starts.insert(bdim, 0)
    limits.insert(bdim, _shape(x)[bdim])
    steps = None if strides is None else [*strides[:bdim], 1, *strides[bdim:]]
    return static_slice(x, starts, limits, steps), bdim


def _dynamic_slice(args, dims, *, slice_sizes):
    """Where the start is the same for all examples, slice all at once; then for each its own."""
    (x, *starts), (x_dim, *start_dims) = args, dims
    x = bdim_at_front(x, x_dim, _batch_size(args, dims))
    own = _own_dimensions(x, slice_sizes, start_dims)
    x = _slice_in_others(x, slice_sizes, starts, start_dims, own)
    for d in own:
        start = _clamped_start(starts[d], _shape(x)[d + 1] - slice_sizes[d])
        x = _slice_at_own(x, start, slice_sizes[d], d + 1)
    return x, 0


def _own_dimensions(x, sizes, start_dims):
    """The dimensions in which each example has its own start, and room to move."""
    return [d for d, bdim in enumerate(start_dims)
            if bdim is not None and sizes[d] < _shape(x)[d + 1]]


def _slice_in_others(x, sizes, starts, start_dims, own):
    """The dynamic slice of `x`, batched in front, in all dimensions but the `own`."""
    sizes = [n if d in own else sizes[d] for d, n in enumerate(_shape(x)[1:])]
    if own and (_shape(x)[0], *sizes) == _shape(x):
        return x
    starts = _common_starts(starts, start_dims)
    return slicing.dynamic_slice_p.bind(x, *starts, slice_sizes=(_shape(x)[0], *sizes))


def _common_starts(starts, start_dims):
    """The starts, with zeros for the batch dimension in front, and where examples differ."""
    dtype = typeof(starts[0]).dtype if starts else np.dtype(np.int32)
    zero = dtype.type(0)
    return [zero, *[i if bdim is None else zero for i, bdim in zip(starts, start_dims)]]


def _clamped_start(start, highest):
    """A vector of starts as int32s in [0, highest]."""
    dtype = typeof(start).dtype
    highest = dtype.type(min(highest, np.iinfo(dtype).max))
    clamped = elementwise.clamp(dtype.type(0), start, highest)
    return elementwise.convert(clamped, np.dtype(np.int32))


def _slice_at_own(x, start, size, axis):
    """From each example `x[i]` (in front), `size` elements along `axis` from `start[i]` on.

    By halving: each round decides for every example whether its slice starts in the first or in
    the second half of the possible starts, and keeps what may still be needed. That is log(n)
    selections between two static slices, n + size * log(n) elements copied for each example. It is
    exact for all types and values (no 0 * inf), has a derivative, and needs no other primitive.
    Chapter 11 has one that copies only `size` elements, `gather`.
    """
    last = _shape(x)[axis] - size
    while last:
        step = (last + 1) // 2
        far = elementwise.ge(start, np.int32(step))
        here = slicing.slice_in_dim(x, 0, size + last - step, 1, axis)
        there = slicing.slice_in_dim(x, step, size + last, 1, axis)
        x = select(broadcast_in_dim(far, _shape(here), (0,)), there, here)
        last -= step
        if last:
            start = select(far, elementwise.sub(start, np.int32(step)), start)
    return x


def _dynamic_update_slice(args, dims):
    """As `_dynamic_slice`: what all examples share is cut out, updated, and written back."""
    (x, update, *starts), (x_dim, update_dim, *start_dims) = args, dims
    batch_size = _batch_size(args, dims)
    x, update = bdim_at_front(x, x_dim, batch_size), bdim_at_front(update, update_dim, batch_size)
    sizes = _shape(update)[1:]
    own = _own_dimensions(x, sizes, start_dims)
    if own:
        part = _slice_in_others(x, sizes, starts, start_dims, own)
        update = _update_at_own(part, update, starts, own)
        if _shape(update) == _shape(x):
            return update, 0
    starts = _common_starts(starts, start_dims)
    return slicing.dynamic_update_slice_p.bind(x, update, *starts), 0


def _update_at_own(x, update, starts, own):
    """Each example `x[i]` with `update[i]` written at its own start, in the `own` dimensions.

    The update is moved to its place, and then a mask of this place selects it.
    """
    inside = np.True_
    for d in own:
        n, size = _shape(x)[d + 1], _shape(update)[d + 1]
        start = _clamped_start(starts[d], n - size)
        update = _moved_to(update, start, n, d + 1)
        inside = elementwise.bitwise_and(inside, _between(start, size, _shape(x), d + 1))
    return select(inside, update, x)


def _moved_to(x, start, n, axis):
    """Each example `x[i]` among zeros, so that along `axis` it starts at `start[i]` of `n`."""
    size = _shape(x)[axis]
    config = [(0, 0, 0)] * _ndim(x)
    config[axis] = (n - size, n - size, 0)
    padded = pad(x, typeof(x).dtype.type(0), config)
    return _slice_at_own(padded, elementwise.sub(np.int32(n - size), start), n, axis)


def _between(start, size, shape, axis):
    """An array of booleans: whether, along `axis`, it is among the `size` from `start[i]` on."""
    position = broadcasted_iota(np.int32, shape, axis)
    start = broadcast_in_dim(start, shape, (0,))
    end = elementwise.add(start, np.int32(size))
    return elementwise.bitwise_and(elementwise.ge(position, start), elementwise.lt(position, end))


primitive_batchers[slicing.slice_p] = _slice
primitive_batchers[slicing.dynamic_slice_p] = _dynamic_slice
primitive_batchers[slicing.dynamic_update_slice_p] = _dynamic_update_slice


# ----------------------------------------------------------------------------------------------
# Reductions, cumulative operations, products


def defreducer(primitive: Primitive) -> None:
    """The rule of a primitive that removes the dimensions `axes` of its one argument."""

    def rule(args, dims, *, axes, **params):
        (x,), (bdim,) = args, dims
        axes = _shifted(axes, bdim)
        out_dim = bdim - sum(axis < bdim for axis in axes)
        return primitive.bind(x, axes=axes, **params), out_dim

    primitive_batchers[primitive] = rule


for _primitive in (
    reductions.reduce_sum_p, reductions.reduce_prod_p, reductions.reduce_max_p,
    reductions.reduce_min_p, reductions.reduce_and_p, reductions.reduce_or_p,
    reductions.reduce_xor_p, reductions.argmax_p, reductions.argmin_p,
):
    defreducer(_primitive)


def _defcumulative(primitive):
    def rule(args, dims, *, axis, reverse):
        (bdim,) = dims
        return primitive.bind(args[0], axis=axis + (axis >= bdim), reverse=reverse), bdim

    primitive_batchers[primitive] = rule


for _primitive in (
    reductions.cumsum_p, reductions.cumprod_p, reductions.cummax_p, reductions.cummin_p,
    reductions.cumlogsumexp_p,
):
    _defcumulative(_primitive)


def _dot_general(args, dims, *, dimension_numbers, **params):
    """If both are batched, one more batch dimension; if one is, one more of its free dimensions."""
    (x, y), (x_dim, y_dim) = args, dims
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_free = _ndim(x) - len(x_contract) - len(x_batch)
    if x_dim is not None:
        before_x = sum(d not in x_contract + x_batch for d in range(x_dim))
        x_contract, x_batch = _shifted(x_contract, x_dim), _shifted(x_batch, x_dim)
    if y_dim is not None:
        before_y = sum(d not in y_contract + y_batch for d in range(y_dim))
        y_contract, y_batch = _shifted(y_contract, y_dim), _shifted(y_batch, y_dim)
    if y_dim is None:
        out_dim = len(x_batch) + before_x
    elif x_dim is None:
        out_dim = len(x_batch) + x_free + before_y
    else:
        x_batch, y_batch, out_dim = (x_dim, *x_batch), (y_dim, *y_batch), 0
    numbers = ((x_contract, y_contract), (x_batch, y_batch))
    return dot.dot_general_p.bind(x, y, dimension_numbers=numbers, **params), out_dim


primitive_batchers[dot.dot_general_p] = _dot_general
