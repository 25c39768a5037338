"""Chapter 11: the derivatives of maxima and minima over windows (max pooling).

The tangent of a window's maximum is the tangent of its greatest element, the first if there are
several. `select_and_gather_add` finds it: for each window, it selects an element of one array, and
gets that of another array which stands in the same place. `select_and_scatter_add` is its
transpose: for each window it selects an element, and adds a value in that place. Both are linear in
the array that they move, and their derivatives consist of one another.
"""

import functools

import numpy as np

from ..core.batching import primitive_batchers
from ..core.core import Primitive, ShapedArray, typeof
from ..core.forward import Zero, defjvp, primitive_jvps
from ..core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ..core.lowering import register_lowering
from ..core.primitives import (
    add_p,
    all_weak,
    ge_p,
    le_p,
    make_primitive,
)
from ..core.staging import jaxpr_of, weakref_cache
from ..core.transposition import deftranspose
from ..runtime.dispatch import apply_primitive
from ..runtime.jit import jit
from .bitwise import or_p
from .control_flow.common import op_with_regions
from .cutting import pad, slice as static_slice
from .families import all_at_front, lower_fun
from .reducing import combining_region, int_array, pads_text
from .reductions import highest, lowest
from .selection import select
from .windowed_reductions import (
    Windows,
    check_sizes,
    reduce_window,
    reduce_window_max_p,
    reduce_window_min_p,
    windows_shape,
)

# ----------------------------------------------------------------------------------------------
# select_and_scatter: XLA's operation, with any functions


def _select_and_scatter_shape(operand, source, init_value, *, window_dimensions, window_strides,
                              **params):
    _check_windows("select_and_scatter", window_dimensions, window_strides)
    return ShapedArray(operand.shape, operand.dtype, operand.weak_type)


def _check_windows(name, window_dimensions, window_strides):
    check_sizes(name, "window_dimensions", window_dimensions, 0)
    check_sizes(name, "window_strides", window_strides, 0)
    if len(window_dimensions) != len(window_strides):
        raise TypeError(f"{name} got inconsistent window_strides and window_dimensions: got "
                        f"window_strides {window_strides} and window_dimensions "
                        f"{window_dimensions}.")


def _lower_select_and_scatter(ctx, *operands, select_jaxpr, select_consts, scatter_jaxpr,
                              scatter_consts, window_dimensions, window_strides, padding):
    if not window_dimensions:  # XLA's expansion of a scalar's window ends the process
        scatter = jaxpr_as_fun(ClosedJaxpr(scatter_jaxpr, scatter_consts))
        return lower_fun(lambda _, source, init: scatter(init, source)[0])(ctx, *operands)
    pads = pads_text(padding)
    attributes = (f"padding = {pads} : tensor<{len(padding)}x2xi64>, "
                  f"window_dimensions = {int_array(window_dimensions)}, "
                  f"window_strides = {int_array(window_strides)}")
    regions = [combining_region(ctx, ClosedJaxpr(jaxpr, consts)) for jaxpr, consts in
               ((select_jaxpr, select_consts), (scatter_jaxpr, scatter_consts))]
    return op_with_regions(ctx, "stablehlo.select_and_scatter", operands, ctx.avals_out, *regions,
                           attributes=attributes)[0]


def _batch_select_and_scatter(args, dims, *, window_dimensions, window_strides, padding, **params):
    if dims[2] is not None:
        raise NotImplementedError("select_and_scatter cannot be batched in its initial value.")
    return select_and_scatter_p.bind(
        *all_at_front(args[:2], dims), args[2], **params,
        **_with_first_dimension(window_dimensions, window_strides, padding)), 0


def _with_first_dimension(window_dimensions, window_strides, padding):
    return {"window_dimensions": (1, *window_dimensions), "window_strides": (1, *window_strides),
            "padding": ((0, 0), *padding)}


def _evaluate_select_and_scatter(*args, **params):
    if params["select_consts"] or params["scatter_consts"]:
        return jit(functools.partial(select_and_scatter_p.bind, **params))(*args)
    return apply_primitive(select_and_scatter_p, *args, **params)


select_and_scatter_p = make_primitive("select_and_scatter", _select_and_scatter_shape)
select_and_scatter_p.def_impl(_evaluate_select_and_scatter)
primitive_batchers[select_and_scatter_p] = _batch_select_and_scatter
register_lowering(select_and_scatter_p, _lower_select_and_scatter)

# ----------------------------------------------------------------------------------------------
# The two that are each other's transpose. `select_prim` is `ge` for maxima, `le` for minima.


def _scatter_shape(source, operand, *, select_prim, window_dimensions, window_strides, padding):
    return ShapedArray(operand.shape, source.dtype, all_weak((source, operand)))


def _gather_shape(tangents, operand, *, select_prim, **windows):
    if tangents.shape != operand.shape:
        raise TypeError("select_and_gather_add tangents and operand shapes must match, got "
                        f"{tangents.shape} and {operand.shape}.")
    shape = windows_shape(operand, Windows(**windows))
    return ShapedArray(shape, tangents.dtype, all_weak((tangents, operand)))


def _never_selected(select_prim: Primitive, dtype):
    """A value that yields to every other."""
    return (lowest if select_prim is ge_p else highest)(dtype)


@weakref_cache
def _scalar_jaxpr(primitive: Primitive, dtype: np.dtype) -> ClosedJaxpr:
    aval = ShapedArray((), dtype)
    return jaxpr_of(lambda x, y: [primitive.bind(x, y)], (aval, aval))


def _scatter_in_windows(source, operand, *, select_prim, window_dimensions, window_strides,
                        padding):
    """`select_and_scatter_add`, in terms of XLA's operation, which cannot pad (on the CPU)."""
    aval = typeof(operand)
    never = _never_selected(select_prim, aval.dtype)
    padded = pad(operand, never, [(low, high, 0) for low, high in padding])
    select = _scalar_jaxpr(select_prim, aval.dtype)
    add = _scalar_jaxpr(or_p if aval.dtype == bool else add_p, aval.dtype)
    out = select_and_scatter_p.bind(
        padded, source, aval.dtype.type(0), select_jaxpr=select.jaxpr, select_consts=(),
        scatter_jaxpr=add.jaxpr, scatter_consts=(), window_dimensions=window_dimensions,
        window_strides=window_strides, padding=((0, 0),) * aval.ndim)
    starts = [low for low, _ in padding]
    return static_slice(out, starts, [low + n for low, n in zip(starts, aval.shape)])


def _gather_in_windows(tangents, operand, *, select_prim, **windows):
    """`select_and_gather_add`, as a reduction of both arrays together."""
    def choose(x, y):
        (key, value), (other_key, other_value) = x, y
        which = select_prim.bind(key, other_key)
        return select(which, key, other_key), select(which, value, other_value)

    dtype = typeof(operand).dtype
    inits = _never_selected(select_prim, dtype), typeof(tangents).dtype.type(0)
    return reduce_window((operand, tangents), inits, choose, **windows)[1]


def _linear_jvp(primitive, primals, tangents, **params):
    """Of a primitive that is linear in its first operand, and which has steps in the other."""
    (moved, operand), (moved_dot, _) = primals, tangents
    out = primitive.bind(moved, operand, **params)
    if type(moved_dot) is Zero:
        return out, Zero.from_primal_value(out)
    return out, primitive.bind(moved_dot, operand, **params)


def _scatter_transpose(ct, source, operand, **params):
    ones = (1,) * typeof(operand).ndim
    return select_and_gather_add_p.bind(ct, operand, base_dilation=ones, window_dilation=ones,
                                        **params)


def _gather_transpose(ct, tangents, operand, *, select_prim, base_dilation, window_dilation,
                      **params):
    if set(window_dilation) - {1}:
        raise NotImplementedError("The reverse derivative of a maximum over dilated windows is not "
                                  f"implemented; window_dilation={window_dilation}.")
    aval = typeof(operand)
    dilated = set(base_dilation) - {1}
    if dilated:
        never = _never_selected(select_prim, aval.dtype)
        operand = pad(operand, never, [(0, 0, factor - 1) for factor in base_dilation])
    out = select_and_scatter_add_p.bind(ct, operand, select_prim=select_prim, **params)
    if dilated:
        shape = typeof(out).shape
        return static_slice(out, (0,) * len(shape), shape, base_dilation)
    return out


def _scatter_batching(args, dims, *, select_prim, **params):
    return select_and_scatter_add_p.bind(*all_at_front(args, dims), select_prim=select_prim,
                                         **_with_first_dimension(**params)), 0


def _gather_batching(args, dims, *, select_prim, **windows):
    return select_and_gather_add_p.bind(*all_at_front(args, dims), select_prim=select_prim,
                                        **Windows(**windows).with_dimension(0)._asdict()), 0


select_and_scatter_add_p = make_primitive("select_and_scatter_add", _scatter_shape)
select_and_gather_add_p = make_primitive("select_and_gather_add", _gather_shape)
for _primitive, _program, _transpose, _batching in (
    (select_and_scatter_add_p, _scatter_in_windows, _scatter_transpose, _scatter_batching),
    (select_and_gather_add_p, _gather_in_windows, _gather_transpose, _gather_batching),
):
    _primitive.def_impl(functools.partial(apply_primitive, _primitive))
    primitive_jvps[_primitive] = functools.partial(_linear_jvp, _primitive)
    deftranspose(_primitive, _transpose, None)
    primitive_batchers[_primitive] = _batching
    register_lowering(_primitive, lower_fun(_program))


# ----------------------------------------------------------------------------------------------
# The derivatives of maxima and minima


def _extreme_jvp(select_prim):
    def tangent(t, x, **windows):
        return select_and_gather_add_p.bind(t, x, select_prim=select_prim, **windows)

    return tangent


defjvp(reduce_window_max_p, _extreme_jvp(ge_p))
defjvp(reduce_window_min_p, _extreme_jvp(le_p))
