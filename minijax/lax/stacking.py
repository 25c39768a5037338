"""Chapter 9: arrays side by side along a new dimension, `stack`, and its transpose, `unstack`."""

from collections.abc import Sequence

import numpy as np

from ..checks.primitives import same_dtypes
from ..core.array import def_numpy
from ..core.batching import primitive_batchers
from ..core.core import Primitive, ShapedArray, typeof
from ..core.forward import deflinear_jvp, instantiate_zeros
from ..core.lowering import (
    register_lowering,
    typed_text,
    with_shape,
)
from ..core.primitives import (
    all_weak,
    canonical_axis,
    make_primitive,
)
from ..core.transposition import primitive_transposes
from .cutting import emit_pieces
from .families import all_at_front


def _stack_type(*avals, axis):
    if any(aval.shape != avals[0].shape for aval in avals):
        raise ValueError(f"All input arrays must have the same shape: "
                         f"{', '.join(str(aval.shape) for aval in avals)}")
    same_dtypes("stack", avals)
    shape = list(avals[0].shape)
    shape.insert(axis, len(avals))
    return ShapedArray(shape, avals[0].dtype, all_weak(avals))


def _stack_transpose(ct, *operands, axis):
    return unstack_p.bind(ct, axis=axis)


def _batch_stack(args, dims, *, axis):
    bdim = dims[0]
    if bdim is not None and all(d == bdim for d in dims):
        new_axis, bdim = (axis, bdim + 1) if axis <= bdim else (axis + 1, bdim)
        return stack_p.bind(*args, axis=new_axis), bdim
    return stack_p.bind(*all_at_front(args, dims), axis=axis + 1), 0


def _lower_stack(ctx, *operands, axis):
    (out,) = ctx.avals_out
    slab = with_shape(out, (*out.shape[:axis], 1, *out.shape[axis + 1 :]))
    slabs = [ctx.op(typed_text("reshape", [x], slab), slab) for x in operands]
    return ctx.op(typed_text("concatenate", slabs, out, f", dim = {axis}"), out)


stack_p = make_primitive("stack", _stack_type,
                         lambda *xs, axis: np.stack(xs, axis) if axis else np.array(xs))
deflinear_jvp(stack_p)
primitive_transposes[stack_p] = _stack_transpose
primitive_batchers[stack_p] = _batch_stack
register_lowering(stack_p, _lower_stack)


def stack(operands: Sequence, axis: int = 0):
    """Arrays of one shape and dtype, side by side along a new dimension.

    Raises:
      ValueError: different shapes, or an axis out of bounds.
      TypeError: different dtypes.
    """
    return stack_p.bind(*operands, axis=canonical_axis(axis, typeof(operands[0]).ndim + 1))


def _unstack_type(x, *, axis):
    if not 0 <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {x.ndim}")
    piece = ShapedArray(x.shape[:axis] + x.shape[axis + 1:], x.dtype, x.weak_type)
    return [piece] * x.shape[axis]


def _batch_unstack(args, dims, *, axis):
    (bdim,) = dims
    outs = unstack_p.bind(args[0], axis=axis + (axis >= bdim))
    return outs, [bdim - (axis < bdim)] * len(outs)


def _lower_unstack(ctx, x, *, axis):
    shape = x.aval.shape
    slab = with_shape(x.aval, (*shape[:axis], 1, *shape[axis + 1 :]))
    slabs = emit_pieces(ctx, x, [slab] * shape[axis], axis)
    return [ctx.op(typed_text("reshape", [s], out), out) for s, out in zip(slabs, ctx.avals_out)]


unstack_p = Primitive("unstack", multiple_results=True)
unstack_p.def_abstract_eval(_unstack_type)
def_numpy(unstack_p, lambda x, *, axis: list(np.moveaxis(x, axis, 0)))
deflinear_jvp(unstack_p)
primitive_transposes[unstack_p] = lambda cts, x, *, axis: [
    stack_p.bind(*map(instantiate_zeros, cts), axis=axis)]
primitive_batchers[unstack_p] = _batch_unstack
register_lowering(unstack_p, _lower_unstack)


def unstack(x, axis: int = 0) -> tuple:
    """The slices of `x` along `axis`, without that dimension.

    Raises:
      ValueError: an axis out of bounds.
    """
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, typeof(x).ndim)))
