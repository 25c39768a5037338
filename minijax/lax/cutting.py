"""Chapter 9: how are arrays joined, cut and padded?

Two pairs of linear primitives, in which each one is the transpose of the other (a third, `stack`
and `unstack`, is in `stacking.py`):

    concatenate ⊸ split      slice ⊸ pad

Each has its types, evaluation, lowering, and the rules of all transformations here. The counterpart
in JAX is in `jax/_src/lax/lax.py` and `jax/_src/lax/slicing.py`.
"""

import builtins
import operator
from collections.abc import Sequence

import numpy as np

from ..checks.primitives import same_dtypes
from ..checks.tracebacks import hide_frames
from ..core.array import def_numpy
from ..core.batching import batch_size, bdim_at_front, inserted, primitive_batchers, shifted_dims
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, typeof
from ..core.forward import deflinear_jvp, instantiate_zeros
from ..core.lowering import (
    Body,
    Value,
    ints_text,
    register_lowering,
    tensor_type,
    typed_text,
)
from ..core.primitives import (
    all_weak,
    broadcast_in_dim,
    canonical_axis,
    constant,
    make_primitive,
    reduce_sum,
    shape_primitive,
    sub,
)
from ..core.transposition import deftranspose, is_undefined_primal
from .families import all_at_front, deflinear2
from .selection import select
from .shaping import full_like, squeeze
from .sizes import integers, size_along

# ----------------------------------------------------------------------------------------------
# concatenate: arrays one after another


def _concatenate_type(*avals, dimension):
    _check_concatenate(avals, dimension)
    shape = list(avals[0].shape)
    shape[dimension] = sum(aval.shape[dimension] for aval in avals)
    return ShapedArray(shape, avals[0].dtype, all_weak(avals))


def _check_concatenate(avals, dimension):
    """Raise `TypeError` unless the operands differ along `dimension` only."""
    first = avals[0]
    shapes = ", ".join(str(aval.shape) for aval in avals)
    if len({aval.ndim for aval in avals}) != 1:
        raise TypeError("Cannot concatenate arrays with different numbers of dimensions: got "
                        f"{shapes}.")
    if not 0 <= dimension < first.ndim:
        raise TypeError("concatenate dimension out of bounds: dimension "
                        f"{dimension} for shapes {shapes}.")
    same_dtypes("concatenate", avals)
    before, after = first.shape[:dimension], first.shape[dimension + 1:]
    if any(a.shape[:dimension] != before or a.shape[dimension + 1:] != after for a in avals):
        raise TypeError("Cannot concatenate arrays with shapes that differ in dimensions other "
                        f"than the one being concatenated: concatenating along dimension "
                        f"{dimension} for shapes {shapes}.")


def _concatenate_transpose(ct, *operands, dimension):
    return split(ct, [typeof(x).shape[dimension] for x in operands], dimension)


def _batch_concatenate(args, dims, *, dimension):
    return concatenate_p.bind(*all_at_front(args, dims), dimension=dimension + 1), 0


def _lower_concatenate(ctx, *operands, dimension):
    (out,) = ctx.avals_out
    return ctx.op(typed_text("concatenate", operands, out, f", dim = {dimension}"), out)


concatenate_p = make_primitive("concatenate", _concatenate_type,
                               lambda *xs, dimension: np.concatenate(xs, dimension))
deflinear2(concatenate_p, _concatenate_transpose)
primitive_batchers[concatenate_p] = _batch_concatenate
register_lowering(concatenate_p, _lower_concatenate)


def concatenate(operands: Sequence, dimension: int):
    """The arrays one after another along `dimension`.

    Args:
      operands: a non-empty sequence of arrays of one dtype, alike but for `dimension`.

    Raises:
      ValueError: no operands.
      TypeError: shapes or dtypes that do not fit.
    """
    try:
        if len(operands) == 0:
            raise ValueError("concatenate requires at least one array, got an empty sequence.")
        if len(operands) == 1 and hasattr(operands[0], "aval"):
            return operands[0]
        return concatenate_p.bind(*operands, dimension=operator.index(dimension))
    except Exception as error:
        hide_frames(error)
        raise


# ----------------------------------------------------------------------------------------------
# split: the inverse of concatenate


def _split_type(x, *, sizes, axis):
    if not 0 <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {x.ndim}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the "
                         f"operand shape {x.shape}")
    shapes = [(*x.shape[:axis], size, *x.shape[axis + 1:]) for size in sizes]
    return [ShapedArray(shape, x.dtype, x.weak_type) for shape in shapes]


def _split_transpose(cts, x, *, sizes, axis):
    return [concatenate([*map(instantiate_zeros, cts)], axis)]


def _batch_split(args, dims, *, sizes, axis):
    (axis,) = shifted_dims([axis], dims[0])
    return split_p.bind(args[0], sizes=sizes, axis=axis), [dims[0]] * len(sizes)


def emit_pieces(ctx: Body, x: Value, piece_avals: Sequence[ShapedArray], axis: int):
    """Append slices of `x` of these types, one after the other along `axis`."""
    pieces, start = [], 0
    for out in piece_avals:
        starts = [start if d == axis else 0 for d in range(out.ndim)]
        start += out.shape[axis]
        limits = [start if d == axis else n for d, n in enumerate(out.shape)]
        pieces.append(emit_slice(ctx, x, starts, limits, None, out))
    return pieces


split_p = Primitive("split", multiple_results=True)
split_p.def_abstract_eval(_split_type)
def_numpy(split_p, lambda x, *, sizes, axis: np.split(x, np.cumsum(sizes[:-1], dtype=int), axis))
deflinear2(split_p, _split_transpose)
primitive_batchers[split_p] = _batch_split
register_lowering(split_p, lambda ctx, x, *, sizes, axis: emit_pieces(ctx, x, ctx.avals_out, axis))


@public
def split(operand, sizes: Sequence[int], axis: int = 0) -> list:
    """`operand` cut along `axis` into pieces of these sizes.

    Raises:
      ValueError: the sizes do not add up to the dimension's.
    """
    sizes = integers("split: sizes", sizes)
    return split_p.bind(operand, sizes=sizes, axis=canonical_axis(axis, typeof(operand).ndim))


# ----------------------------------------------------------------------------------------------
# slice: a box whose bounds are known when the program is built


def _ranges(x, start_indices, limit_indices, strides):
    return zip(start_indices, limit_indices, strides or (1,) * x.ndim)


def _slice_shape(x, *, start_indices, limit_indices, strides):
    _check_slice(x, start_indices=start_indices, limit_indices=limit_indices, strides=strides)
    return [len(range(*bound)) for bound in _ranges(x, start_indices, limit_indices, strides)]


def _slice(x, *, start_indices, limit_indices, strides):
    bounds = _ranges(x, start_indices, limit_indices, strides)
    return x[tuple(builtins.slice(*bound) for bound in bounds)]


def _check_slice(x, *, start_indices, limit_indices, strides):
    """Raise `TypeError` unless the bounds lie within the operand."""
    strides = (1,) * x.ndim if strides is None else strides
    if not len(start_indices) == len(limit_indices) == len(strides) == x.ndim:
        raise TypeError("slice start_indices, limit_indices and strides must have the same "
                         f"number of entries as the operand has dimensions, got {start_indices}, "
                         f"{limit_indices} and {strides} for operand shape {x.shape}.")
    if any(start < 0 or stop > n for start, stop, n in zip(start_indices, limit_indices, x.shape)):
        raise TypeError("slice start_indices must be nonnegative and limit_indices must be less "
                        f"than or equal to operand shape, got start_indices {start_indices} and "
                        f"limit_indices {limit_indices} for operand shape {x.shape}.")
    if any(start > stop for start, stop in zip(start_indices, limit_indices)):
        raise TypeError("slice limit_indices must be greater than or equal to start_indices, got "
                        f"start_indices {start_indices} and limit_indices {limit_indices}.")
    if any(step <= 0 for step in strides):
        raise TypeError(f"slice strides must be positive, got {strides}")


def _slice_transpose(ct, x, *, start_indices, limit_indices, strides):
    """Put zeros around the elements, and between them."""
    strides = strides or (1,) * len(start_indices)
    if x.accum_at(tuple(map(builtins.slice, start_indices, limit_indices, strides)), ct):
        return None
    sizes = zip(start_indices, strides, typeof(ct).shape, x.aval.shape)
    config = [(low, full - low - ((n - 1) * step + 1 if n else 0), step - 1)
              for low, step, n, full in sizes]
    return pad(ct, constant(0, typeof(ct).dtype), config)


def _batch_slice(args, dims, *, start_indices, limit_indices, strides):
    (x,), (bdim,) = args, dims
    starts = inserted(start_indices, bdim, 0)
    limits = inserted(limit_indices, bdim, typeof(x).shape[bdim])
    steps = None if strides is None else inserted(strides, bdim, 1)
    return slice(x, starts, limits, steps), bdim


def emit_slice(ctx: Body, x: Value, starts, limits, strides, out: ShapedArray) -> Value:
    """Append a slice with static bounds; no `strides` means steps of one."""
    steps = strides or [1] * out.ndim
    ranges = [f"{int(a)}:{int(b)}" + f":{int(step)}" * (step != 1)
              for a, b, step in zip(starts, limits, steps)]
    text = f"stablehlo.slice {x.name} [{', '.join(ranges)}]"
    return ctx.op(f"{text} : ({x.type}) -> {tensor_type(out)}", out)


def _lower_slice(ctx, x, *, start_indices, limit_indices, strides):
    return emit_slice(ctx, x, start_indices, limit_indices, strides, ctx.avals_out[0])


slice_p = shape_primitive("slice", _slice_shape, _slice)
deflinear_jvp(slice_p)
deftranspose(slice_p, _slice_transpose)
primitive_batchers[slice_p] = _batch_slice
register_lowering(slice_p, _lower_slice)


def slice(operand, start_indices: Sequence[int], limit_indices: Sequence[int],
          strides: Sequence[int] | None = None):
    """A box of `operand`: `operand[start:limit:stride]` in each dimension.

    Args:
      operand: an array.
      start_indices, limit_indices: for each dimension, ints within its bounds.
      strides: positive ints; by default ones.

    Raises:
      TypeError, ValueError: bounds outside of the operand, or a wrong number of them.

    >>> lax.slice(jnp.arange(6), (1,), (6,), (2,)).tolist()
    [1, 3, 5]
    """
    try:
        starts = integers("slice: start_indices", start_indices)
        limits = integers("slice: limit_indices", limit_indices)
        steps = None if strides is None else integers("slice: strides", strides)
        return slice_p.bind(operand, start_indices=starts, limit_indices=limits, strides=steps)
    except Exception as error:
        hide_frames(error)
        raise


@public
def slice_in_dim(operand, start_index: int | None, limit_index: int | None, stride: int = 1,
                 axis: int = 0):
    """`slice` in one dimension, with NumPy's treatment of `None` and negative bounds."""
    shape = typeof(operand).shape
    size = size_along("slice_in_dim", shape, axis)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = 0 if start_index is None else _from_start(start_index, size)
    limits[axis] = size if limit_index is None else _from_start(limit_index, size)
    strides[axis] = operator.index(stride)
    return slice(operand, starts, limits, strides)


def _from_start(index: int, size: int) -> int:
    """A bound that is perhaps counted from the end, counted from the start."""
    index = operator.index(index)
    return index + size if index < 0 else index


def index_in_dim(operand, index: int, axis: int = 0, keepdims: bool = True):
    """The slice of width one at `index` along `axis`; without that dimension unless `keepdims`.

    Raises:
      IndexError: `index` is out of bounds.
    """
    try:
        size = size_along("index_in_dim", typeof(operand).shape, axis)
        index = operator.index(index)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
        index = index + size if index < 0 else index
        piece = slice_in_dim(operand, index, index + 1, 1, axis)
        return piece if keepdims else squeeze(piece, (axis,))
    except Exception as error:
        hide_frames(error)
        raise


# ----------------------------------------------------------------------------------------------
# pad: values around the elements, and between them


def _pad_type(x, value, *, padding_config):
    _check_pad(x, value, padding_config)
    shape = [_padded_size(n, *config) for n, config in zip(x.shape, padding_config)]
    if any(n < 0 for n in shape):
        raise ValueError(f"Dimension size after padding is not at least 0, got result shape "
                         f"{tuple(shape)}, for padding_config {padding_config} and operand shape "
                         f"{x.shape}")
    return ShapedArray(shape, x.dtype, all_weak((x, value)))


def _padded_size(n: int, low: int, high: int, interior: int) -> int:
    """The size of a padded dimension."""
    return low + high + n + (max(n - 1, 0) * interior if interior else 0)


def _check_pad(x, value, padding_config):
    """Raise `TypeError` or `ValueError` unless the operand can have such a padding."""
    if value.ndim:
        raise ValueError(f"padding_value must be a scalar; got shape {value.shape}")
    if len(padding_config) != x.ndim:
        raise ValueError("length of padding_config must equal the number of axes of operand, got "
                         f"padding_config {padding_config} for operand shape {x.shape}")
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError("interior padding in padding_config must be nonnegative, got "
                         f"padding_config {padding_config}")
    if x.dtype != value.dtype:
        raise TypeError("pad operand and padding_value must be same dtype: got "
                        f"{x.dtype.name} and {value.dtype.name}.")


def _pad(x, value, *, padding_config):
    """Spread the elements over an array with the gaps, then add to or cut from its ends."""
    spread = x
    if builtins.any(interior for _, _, interior in padding_config):
        spread = np.full([_padded_size(n, 0, 0, i) for n, (_, _, i)
                          in zip(x.shape, padding_config)], value, x.dtype)
        spread[tuple(builtins.slice(None, None, i + 1) for _, _, i in padding_config)] = x
    ends = [(max(low, 0), max(high, 0)) for low, high, _ in padding_config]
    padded = np.pad(spread, ends, constant_values=value) if ends else spread
    return padded[tuple(builtins.slice(max(-low, 0), n - max(-high, 0))
                        for n, (low, high, _) in zip(padded.shape, padding_config))]


def _pad_transpose(ct, x, value, *, padding_config):
    """Remove the padding around the elements, then the padding between them. The cotangents of the
    elements that were added belong to `value`."""
    cut = [(-low, -high, 0) for low, high, _ in padding_config]
    strides = [interior + 1 for _, _, interior in padding_config]
    inside = pad(ct, constant(0, typeof(ct).dtype), cut)
    x_ct = slice(inside, [0] * len(cut), typeof(inside).shape, strides)
    if not is_undefined_primal(value):
        return [x_ct, None]
    everything = range(typeof(ct).ndim)
    return [x_ct, sub(reduce_sum(ct, everything), reduce_sum(x_ct, everything))]


def _batch_pad(args, dims, *, padding_config):
    """`pad` takes one value only. If the examples have values of their own, pad with zeros, and
    put each example's value where they are."""
    (x, value), (bdim, value_dim) = args, dims
    if bdim is None:
        x, bdim = bdim_at_front(x, None, batch_size(args, dims)), 0
    config = inserted(padding_config, bdim, (0, 0, 0))
    if value_dim is None:
        return pad(x, value, config), bdim
    zero = constant(0, typeof(x).dtype, typeof(x).weak_type)
    padded = pad_p.bind(x, zero, padding_config=config)
    inside = pad_p.bind(full_like(x, True, np.dtype(bool)), np.False_, padding_config=config)
    return select(inside, padded, broadcast_in_dim(value, typeof(padded).shape, (bdim,))), bdim


def _lower_pad(ctx, x, fill, *, padding_config):
    (out,) = ctx.avals_out
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    ends = f", low = {ints_text(low)}, high = {ints_text(high)}"
    options = f"{ends}, interior = {ints_text(interior)}"
    return ctx.op(typed_text("pad", [x, fill], out, options), out)


pad_p = make_primitive("pad", _pad_type, _pad)
deflinear2(pad_p, _pad_transpose)
primitive_batchers[pad_p] = _batch_pad
register_lowering(pad_p, _lower_pad)


def _padding_triples(padding_config) -> tuple[tuple[int, ...], ...]:
    """A padding configuration as tuples of three ints."""
    expected = "pad: padding_config must be a sequence of (low, high, interior) for each dimension"
    if not hasattr(padding_config, "__iter__"):
        raise TypeError(f"{expected}, got {padding_config!r}.")
    triples = tuple(integers(f"pad: padding_config[{d}]", triple)
                    for d, triple in enumerate(padding_config))
    if any(len(triple) != 3 for triple in triples):
        raise ValueError(f"{expected}, got {padding_config!r}.")
    return triples


@public
def pad(operand, padding_value, padding_config: Sequence[tuple[int, int, int]]):
    """`operand` with `padding_value` before, after and between its elements.

    Args:
      operand: an array.
      padding_value: a scalar of its dtype.
      padding_config: for each dimension `(low, high, interior)`; negative `low` and `high` cut.

    Raises:
      TypeError, ValueError: a configuration or dtypes that do not fit.

    >>> lax.pad(jnp.array([1, 2]), 0, [(1, 0, 2)]).tolist()
    [0, 1, 0, 0, 2]
    """
    return pad_p.bind(operand, padding_value, padding_config=_padding_triples(padding_config))
