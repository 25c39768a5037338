"""Chapter 8: how is a linear program run backwards?

    backward_pass : (jaxpr of T a ⊸ T b) → (T* b ⊸ T* a)

A linear program maps tangents to tangents, by a matrix that is never computed. Its transpose maps
cotangents back. The backward pass runs the equations in reverse order. Each equation maps the
cotangent of its result to cotangents of its linear operands, by the transpose rule of its
primitive. Where a value was used twice, its cotangents are added.

In JAX: `backward_pass` and the rules' makers in `jax/_src/interpreters/ad.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..checks import transposition as checks
from . import primitives as lax
from .calls import Call, rule_for_calls
from .core import Primitive, ShapedArray, missing_rule, typeof
from .forward import (
    Zero,
    add_tangents,
    defbilinear_jvp,
    deflinear_jvp,
    instantiate_zeros,
    zeros,
)
from .jaxpr import ClosedJaxpr, Jaxpr, Literal
from .staging import trace_to_jaxpr, weakref_cache
from .util import merge_lists, partition_list

# ----------------------------------------------------------------------------------------------
# The backward pass


class UndefinedPrimal:
    """Stands for a linear operand, whose value is unknown in the backward pass.

    Args:
      aval: the operand's type.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self):
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x) -> bool:
    """Whether `x` is a linear operand."""
    return type(x) is UndefinedPrimal


# primitive -> (ct, *operands, **params) -> a cotangent (or Zero, or None) for each operand.
# Linear operands are `UndefinedPrimal`s. For several results, `ct` is a list of cotangents.
primitive_transposes: dict[Primitive, Callable] = {}


def backward_pass(jaxpr: Jaxpr, consts: Sequence, args: Sequence, cts: Sequence,
                  sums: Sequence = ()) -> list:
    """The cotangents of the linear arguments of a jaxpr, from those of its results.

    Args:
      consts: values for `jaxpr.constvars`.
      args: for each argument a value, or an `UndefinedPrimal` where the jaxpr is linear in it.
      cts: a cotangent (or `Zero`) for each result.
      sums: for each argument a value to which its cotangent is added, or `None`.

    Returns:
      for each argument its cotangent, a `Zero`, or `None` if it is not linear.
    """
    values = dict(zip(jaxpr.constvars, consts))
    values.update((v, x) for v, x in zip(jaxpr.invars, args) if not is_undefined_primal(x))
    linear = {v: x.aval for v, x in zip(jaxpr.invars, args) if is_undefined_primal(x)}
    linear_eqns = _evaluate_nonlinear(jaxpr, values, linear)
    ct_of = {v: x for v, x in zip(jaxpr.invars, sums) if x is not None}

    def accumulate(v, ct):
        if ct is not None and type(ct) is not Zero and type(v) is not Literal and v in linear:
            ct_of[v] = add_tangents(ct_of[v], ct) if v in ct_of else ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    while linear_eqns:
        eqn = linear_eqns.pop()
        if any(v in ct_of for v in eqn.outvars):
            for v, ct in zip(eqn.invars, _transpose_eqn(eqn, values, linear, ct_of)):
                accumulate(v, ct)
    return [ct_of.get(v, Zero(linear[v])) if v in linear else None for v in jaxpr.invars]


def _evaluate_nonlinear(jaxpr, values, linear):
    """Evaluate the equations that do not depend on linear arguments. Returns the other equations.

    Adds the results to `values`, and the types of the other equations' results to `linear`.
    """
    linear_eqns = []
    for eqn in jaxpr.eqns:
        if any(type(v) is not Literal and v in linear for v in eqn.invars):
            linear.update((v, v.aval) for v in eqn.outvars)
            linear_eqns.append(eqn)
        else:
            operands = [v.val if type(v) is Literal else values[v] for v in eqn.invars]
            outs = eqn.primitive.bind(*operands, **eqn.params)
            values.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
    return linear_eqns


def _transpose_eqn(eqn, values, linear, ct_of):
    """Apply the transpose rule of one equation to the cotangents of its results."""
    operands = [v.val if type(v) is Literal else
                UndefinedPrimal(linear[v]) if v in linear else values[v] for v in eqn.invars]
    cts = [ct_of.pop(v, None) for v in eqn.outvars]
    cts = [Zero(v.aval) if ct is None else ct for v, ct in zip(eqn.outvars, cts)]
    rule = primitive_transposes.get(eqn.primitive)
    if rule is None:
        raise missing_rule(eqn.primitive, "Transpose (reverse-mode differentiation)", 8)
    return rule(cts if eqn.primitive.multiple_results else cts[0], *operands, **eqn.params)


# ----------------------------------------------------------------------------------------------
# Ways to fill the table


def zero_cotangents(operands: Sequence) -> list:
    """A `Zero` for each linear operand, and `None` for the others."""
    return [Zero(x.aval) if is_undefined_primal(x) else None for x in operands]


def deftranspose(primitive: Primitive, *rules: Callable | None) -> None:
    """One rule for each operand, `(ct, *operands, **params) -> its cotangent`.

    A rule is used if its operand is linear. It is `None` if the primitive is not linear in that
    operand.
    """
    def transpose(ct, *operands, **params):
        if type(ct) is Zero:
            return zero_cotangents(operands)
        linear = [*map(is_undefined_primal, operands)]
        checks.linear_operands(primitive, rules, linear)
        return [rule(ct, *operands, **params) if is_linear else None
                for rule, is_linear in zip(rules, linear)]

    primitive_transposes[primitive] = transpose


def deflinear2(primitive: Primitive, transpose_rule: Callable) -> None:
    """The JVP and the transpose of a primitive that is linear in all operands together.

    Args:
      transpose_rule: `(ct, *operands, **params)` -> a cotangent for each operand.
    """
    def transpose(ct, *operands, **params):
        if type(ct) is Zero:
            return zero_cotangents(operands)
        return transpose_rule(ct, *operands, **params)

    deflinear_jvp(primitive)
    primitive_transposes[primitive] = transpose


def defbilinear(primitive: Primitive, lhs_rule: Callable, rhs_rule: Callable) -> None:
    """The JVP and the transposes of a primitive that is linear in each of its two operands.

    It is not linear in both at once. The rules are those of `deftranspose`.
    """
    deftranspose(primitive, lhs_rule, rhs_rule)
    transpose_either = primitive_transposes[primitive]

    def transpose(ct, x, y, **params):
        checks.linear(primitive, not (is_undefined_primal(x) and is_undefined_primal(y)))
        return transpose_either(ct, x, y, **params)

    defbilinear_jvp(primitive)
    primitive_transposes[primitive] = transpose


# ----------------------------------------------------------------------------------------------
# The starter set


def unbroadcast(aval: ShapedArray, ct):
    """Sum `ct` over the dimensions in which an operand of this type was repeated."""
    shape = typeof(ct).shape
    if aval.shape == shape:
        return ct
    if not aval.shape:
        return lax.reduce_sum(ct, range(len(shape)))
    repeated = [d for d, (n, m) in enumerate(zip(aval.shape, shape)) if n != m]
    return lax.reshape(lax.reduce_sum(ct, repeated), aval.shape)


deftranspose(lax.neg_p, lambda ct, x: lax.neg(ct))
deftranspose(lax.copy_p, lambda ct, x: lax.copy_p.bind(ct))
deftranspose(lax.convert_element_type_p, lambda ct, x, *, new_dtype, weak_type:
             lax.convert_element_type_p.bind(
                 ct, new_dtype=x.aval.dtype, weak_type=x.aval.weak_type))
deftranspose(lax.add_p, lambda ct, x, y: unbroadcast(x.aval, ct),
             lambda ct, x, y: unbroadcast(y.aval, ct))
deftranspose(lax.sub_p, lambda ct, x, y: unbroadcast(x.aval, ct),
             lambda ct, x, y: unbroadcast(y.aval, lax.neg(ct)))
deftranspose(lax.add_any_p, lambda ct, x, y: ct, lambda ct, x, y: ct)
defbilinear(lax.mul_p, lambda ct, x, y: unbroadcast(x.aval, lax.mul(ct, y)),
            lambda ct, x, y: unbroadcast(y.aval, lax.mul(x, ct)))
deftranspose(lax.div_p, lambda ct, x, y: unbroadcast(x.aval, lax.div(ct, y)), None)


def _select_n_transpose(ct, which, *cases):
    checks.linear(lax.select_n_p, not is_undefined_primal(which))
    if type(ct) is Zero:
        return [None, *zero_cotangents(cases)]
    zero = zeros(typeof(ct))

    def chosen(i):
        return lax.select_n_p.bind(which, *(ct if j == i else zero for j in range(len(cases))))

    return [None, *(chosen(i) if is_undefined_primal(x) else None for i, x in enumerate(cases))]


primitive_transposes[lax.select_n_p] = _select_n_transpose


def _broadcast_in_dim_transpose(ct, x, *, shape, broadcast_dimensions):
    """Sum over the new dimensions, and over those that had size 1."""
    ones = [i for i, n in enumerate(x.aval.shape) if n == 1]
    kept = [d for d, n in zip(broadcast_dimensions, x.aval.shape) if n != 1]
    summed = lax.reduce_sum(ct, [d for d in range(len(shape)) if d not in kept])
    return lax.expand_dims(summed, ones)


def _reshape_transpose(ct, x, *, new_sizes, dimensions):
    if dimensions is None:
        return lax.reshape(ct, x.aval.shape)
    back = lax.reshape(ct, [x.aval.shape[d] for d in dimensions])
    return lax.transpose(back, _inverse(dimensions))


def _inverse(permutation):
    return tuple(map(int, np.argsort(permutation)))


deftranspose(lax.broadcast_in_dim_p, _broadcast_in_dim_transpose)
deftranspose(lax.reshape_p, _reshape_transpose)
deftranspose(lax.squeeze_p, lambda ct, x, *, dimensions: lax.expand_dims(ct, dimensions))
deftranspose(lax.transpose_p, lambda ct, x, *, permutation:
             lax.transpose(ct, _inverse(permutation)))


def _concatenate_transpose(ct, *operands, dimension):
    if type(ct) is Zero:
        return zero_cotangents(operands)
    sizes = [typeof(x).shape[dimension] for x in operands]
    pieces = lax.split(ct, sizes, dimension)
    return [piece if is_undefined_primal(x) else None for x, piece in zip(operands, pieces)]


primitive_transposes[lax.concatenate_p] = _concatenate_transpose
primitive_transposes[lax.split_p] = lambda cts, x, *, sizes, axis: [
    lax.concatenate(list(map(instantiate_zeros, cts)), axis)]


def _pad_transpose(ct, x, value, *, padding_config):
    if type(ct) is Zero:
        return zero_cotangents((x, value))
    # Cut what was added, then keep the places of the elements; the rest belongs to `value`.
    cut = [(-low, -high, 0) for low, high, _ in padding_config]
    inside = lax.pad(ct, lax.constant(0, typeof(ct).dtype), cut)
    strides = [interior + 1 for _, _, interior in padding_config]
    x_ct = lax.slice(inside, (0,) * len(strides), typeof(inside).shape, strides)
    if not is_undefined_primal(value):
        return [x_ct, None]
    everything = range(typeof(ct).ndim)
    value_ct = lax.sub(lax.reduce_sum(ct, everything), lax.reduce_sum(x_ct, everything))
    return [x_ct if is_undefined_primal(x) else None, value_ct]


primitive_transposes[lax.pad_p] = _pad_transpose


def _slice_transpose(ct, x, *, start_indices, limit_indices, strides):
    strides = strides or (1,) * len(start_indices)
    sizes = zip(start_indices, strides, typeof(ct).shape, x.aval.shape)
    config = [(low, full - low - ((n - 1) * step + 1 if n else 0), step - 1)
              for low, step, n, full in sizes]
    return lax.pad(ct, lax.constant(0, typeof(ct).dtype), config)


deftranspose(lax.slice_p, _slice_transpose)


def _reduce_sum_transpose(ct, x, *, axes):
    kept = [d for d in range(x.aval.ndim) if d not in axes]
    return lax.broadcast_in_dim(ct, x.aval.shape, kept)


deftranspose(lax.reduce_sum_p, _reduce_sum_transpose)


def _dot_general_transpose_lhs(ct, x, y, *, dimension_numbers, precision, preferred_element_type,
                               swapped=False):
    """The cotangent of `x`: contract `ct` with the free dimensions of `y`, and put the
    dimensions of the result (batch, free of `x`, contracted) back to their places."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    y_free = [d for d in range(typeof(y).ndim) if d not in (*y_contract, *y_batch)]
    n_batch, n_x_free = len(x_batch), x.aval.ndim - len(x_contract) - len(x_batch)
    x_free = [d for d in range(x.aval.ndim) if d not in (*x_contract, *x_batch)]
    after_batch = range(n_batch, n_batch + len(y_free)) if swapped else \
        range(n_batch + n_x_free, n_batch + n_x_free + len(y_free))
    numbers = ((tuple(after_batch), tuple(y_free)), (tuple(range(n_batch)), y_batch))
    # The contracted dimensions come out in their order in `y`.
    contracted = [x_contract[y_contract.index(d)] for d in sorted(y_contract)]
    out = lax.dot_general_p.bind(ct, y, dimension_numbers=numbers, precision=precision,
                                 preferred_element_type=preferred_element_type)
    out = lax.transpose(out, _inverse([*x_batch, *x_free, *contracted]))
    return lax.convert(out, x.aval.dtype, typeof(out).weak_type)


def _dot_general_transpose_rhs(ct, x, y, *, dimension_numbers, **params):
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    swapped = ((y_contract, x_contract), (y_batch, x_batch))
    return _dot_general_transpose_lhs(ct, y, x, dimension_numbers=swapped, swapped=True, **params)


defbilinear(lax.dot_general_p, _dot_general_transpose_lhs, _dot_general_transpose_rhs)


# ----------------------------------------------------------------------------------------------
# Calls of a jaxpr


@weakref_cache
def transpose_jaxpr(jaxpr: ClosedJaxpr, linear: tuple, ct_avals: tuple):
    """The jaxpr that maps nonlinear arguments and nonzero cotangents to nonzero cotangents.

    Args:
      linear: for each argument, whether the jaxpr is linear in it.
      ct_avals: for each result the type of its cotangent, or `None` for zero.

    Returns:
      the new `ClosedJaxpr`, and for each linear argument whether its cotangent is a result.
    """
    nonzero_out: list[bool] = []

    def transposed(*args):
        rest = iter(args)
        operands = [UndefinedPrimal(aval) if is_linear else next(rest)
                    for aval, is_linear in zip(jaxpr.in_avals, linear)]
        cts = [Zero(aval) if ct_aval is None else next(rest)
               for aval, ct_aval in zip(jaxpr.out_avals, ct_avals)]
        cts = backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, cts)
        cts = partition_list(linear, cts)[1]
        nonzero_out[:] = [type(ct) is not Zero for ct in cts]
        return partition_list(nonzero_out, cts)[1]

    in_avals = partition_list(linear, jaxpr.in_avals)[0]
    in_avals += [ct_aval for ct_aval in ct_avals if ct_aval is not None]
    return trace_to_jaxpr(transposed, in_avals, jaxpr.debug_info), tuple(nonzero_out)


def nonzero_avals(cts) -> tuple:
    """The types of cotangents, `None` for those that are zero."""
    return tuple(None if type(ct) is Zero else typeof(ct) for ct in cts)


@rule_for_calls(primitive_transposes)
def _transpose_of_call(call: Call, cts, *operands, **params):
    """The call of the transposed jaxpr."""
    linear = tuple(map(is_undefined_primal, operands))
    with call.inside(params):
        jaxpr, nonzero_out = transpose_jaxpr(params[call.jaxpr_param], linear, nonzero_avals(cts))
    known, transposed = partition_list(linear, range(len(operands)))
    nonzero_cts = [ct for ct in cts if type(ct) is not Zero]
    in_sources = [*known, *[None] * len(nonzero_cts)]
    out_sources = [None] * sum(nonzero_out)
    outs = call.primitive.bind(*(operands[i] for i in known), *nonzero_cts, **call.params(
        params, jaxpr, in_sources, out_sources, shared=True))
    zeros = [Zero(operands[i].aval) for i in partition_list(nonzero_out, transposed)[0]]
    return merge_lists(linear, [None] * len(known), merge_lists(nonzero_out, zeros, outs))
