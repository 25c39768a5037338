"""Chapter 11: the greatest few, approximately.

XLA has an operation that is faster than sorting on accelerators, and misses some of them now and
then. On the CPU it is exact, if `aggregate_to_topk`: it sorts.
"""

from __future__ import annotations

import functools
import operator

import numpy as np

from ..core import dtypes
from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, typeof
from ..core.forward import Zero, primitive_jvps
from ..core.lowering import register_lowering, tensor_type, with_dtype, with_shape
from ..core.primitives import lowest
from ..core.staging import jaxpr_of
from ..runtime import xla
from ..runtime.dispatch import apply_primitive
from . import elementwise as prim
from .reductions import highest
from .sizes import size_along
from .sorting import take_along


def _types(x, *, k, reduction_dimension, recall_target, is_max_k, reduction_input_size_override,
           aggregate_to_topk):
    if k <= 0:
        raise ValueError(f"k must be positive, got {k}")
    if not x.ndim:
        raise TypeError("approx_top_k needs an array of at least one dimension, got a scalar.")
    shape = list(x.shape)
    n = size_along("approx_top_k", x.shape, reduction_dimension)
    if not 0 < recall_target <= 1:
        raise ValueError(f"approx_top_k: recall_target must be in (0, 1], got {recall_target}.")
    if n < k:
        raise ValueError(f"k must not be greater than the size of the dimension, {n}; got {k}")
    if not dtypes.issubdtype(x.dtype, np.floating):
        raise ValueError(f"approx_top_k needs an array of a floating type, got {x.dtype.name}.")
    shape[reduction_dimension] = k if aggregate_to_topk else xla().approx_top_k_size(
        n, x.ndim, k, recall_target, reduction_input_size_override)
    return [ShapedArray(shape, dtype, x.weak_type) for dtype in (x.dtype, np.dtype(np.int32))]


@functools.cache
def _comparator(is_max_k: bool, dtype):
    """The jaxpr that says of two values, with their indices, whether the first goes first."""
    value, index = ShapedArray((), dtype), ShapedArray((), np.dtype(np.int32))
    compare = prim.gt if is_max_k else prim.lt
    return jaxpr_of(lambda x, y, i, j: [compare(x, y)], (value, value, index, index))


def _lower(ctx, x, *, k, reduction_dimension, recall_target, is_max_k,
           reduction_input_size_override, aggregate_to_topk):
    axis = reduction_dimension % x.aval.ndim
    places = with_dtype(x.aval, np.dtype(np.int32))
    place = ctx.op(f"stablehlo.iota dim = {axis} : {tensor_type(places)}", places)
    worst = (lowest if is_max_k else highest)(x.aval.dtype)
    operands = [x, place, ctx.constant(worst, with_shape(x.aval, ())),
                ctx.constant(-1, with_shape(places, ()))]
    comparator, _ = ctx.module.function(_comparator(is_max_k, x.aval.dtype), "top_k_comparator")
    options = (f"aggregate_to_topk = {str(bool(aggregate_to_topk)).lower()}, is_fallback = true, "
               f"recall_target = {recall_target!r} : f32, reduction_dim = {axis} : i64, "
               f"reduction_input_size_override = {reduction_input_size_override} : i64, "
               f"top_k = {k} : i64")
    return ctx.ops(
        f"stablehlo.custom_call @ApproxTopK({', '.join(v.name for v in operands)}) "
        f'{{backend_config = "", called_computations = [@{comparator.name}], '
        f"mhlo.backend_config = {{{options}}}}} : ({', '.join(v.type for v in operands)}) -> "
        f"({', '.join(map(tensor_type, ctx.avals_out))})", ctx.avals_out)


def _jvp(primals, tangents, *, reduction_dimension, **params):
    (x,), (t,) = primals, tangents
    values, places = approx_top_k_p.bind(x, reduction_dimension=reduction_dimension, **params)
    axis = reduction_dimension % typeof(x).ndim
    return [values, places], [take_along(t, places, axis), Zero.from_primal_value(places)]


def _batching(args, dims, *, reduction_dimension, **params):
    (x,), (bdim,) = args, dims
    axis = reduction_dimension % (typeof(x).ndim - 1)
    outs = approx_top_k_p.bind(x, reduction_dimension=axis + (bdim <= axis), **params)
    return outs, [bdim, bdim]


approx_top_k_p = Primitive("approx_top_k", multiple_results=True)
approx_top_k_p.def_abstract_eval(_types)
approx_top_k_p.def_impl(functools.partial(apply_primitive, approx_top_k_p))
primitive_jvps[approx_top_k_p] = _jvp
primitive_batchers[approx_top_k_p] = _batching
register_lowering(approx_top_k_p, _lower)


@public
def approx_max_k(operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True):
    """The `k` greatest elements along a dimension, and their indices, most of them at least.

    Args:
      operand: an array of floats.
      k: how many.
      reduction_dimension: which dimension.
      recall_target: how many of them must be found, on average, as a fraction.
      reduction_input_size_override: if positive, the size of which `operand` is a part.
      aggregate_to_topk: return `k` of them, in order; else more, as it is easiest.

    Returns:
      a list of two arrays: the elements and the indices.

    Raises:
      ValueError: `k` out of range; no floats.
      TypeError: a scalar.

    >>> values, places = lax.approx_max_k(jnp.array([3.0, 9.0, 6.0]), 2)
    >>> values.tolist(), places.tolist()
    ([9.0, 6.0], [1, 2])
    """
    return approx_top_k_p.bind(
        operand, k=operator.index(k), reduction_dimension=reduction_dimension,
        recall_target=recall_target, is_max_k=True, aggregate_to_topk=aggregate_to_topk,
        reduction_input_size_override=reduction_input_size_override)


@public
def approx_min_k(operand, k: int, reduction_dimension: int = -1, recall_target: float = 0.95,
                 reduction_input_size_override: int = -1, aggregate_to_topk: bool = True):
    """The `k` least elements along a dimension, and their indices: see `approx_max_k`.

    >>> lax.approx_min_k(jnp.array([3.0, 9.0, 6.0]), 1)[1].tolist()
    [0]
    """
    return approx_top_k_p.bind(
        operand, k=operator.index(k), reduction_dimension=reduction_dimension,
        recall_target=recall_target, is_max_k=False, aggregate_to_topk=aggregate_to_topk,
        reduction_input_size_override=reduction_input_size_override)
