"""Chapter 8: how is a linear program run backwards?

    backward_pass : (jaxpr of T a ⊸ T b) → (T* b ⊸ T* a)

A linear program maps tangents to tangents, by a matrix that is never computed. Its transpose maps
cotangents back. The backward pass runs the equations in reverse order. Each equation maps the
cotangent of its result to cotangents of its linear operands, by the transpose rule of its
primitive. Where a value was used twice, its cotangents are added.

In JAX: `backward_pass` and the rules' makers in `jax/_src/interpreters/ad.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..checks import transposition as checks
from . import primitives as lax
from .calls import Call, rule_for_calls
from .core import Primitive, ShapedArray, missing_rule, typeof, vary_like
from .extension import hooks
from .forward import Zero, add_tangents, defbilinear_jvp, deflinear_jvp, zeros
from .jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from .staging import trace_to_jaxpr, weakref_cache
from .util import merge_lists, partition_list, split_list

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
# Linear operands are `UndefinedPrimal`s. For several results, `ct` is a list of cotangents, and one
# of them is not `Zero`. The cotangents of operands that are not linear are ignored.
primitive_transposes: dict[Primitive, Callable] = {}

# The primitives whose rule is a user's, which may return something for cotangents that are zero.
affine_transposes: set[Primitive] = set()


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
    env = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    linear = {v for v, x in env.items() if is_undefined_primal(x)}
    linear_eqns = [*_linear_eqns(jaxpr, env, linear)]
    ct_of = {v: x for v, x in zip(jaxpr.invars, sums) if x is not None}

    def accumulate(v, ct):
        if v in linear and ct is not None and type(ct) is not Zero:
            ct = vary_like(ct, v.aval) if hooks.vary_like else ct
            ct_of[v] = add_tangents(ct_of[v], ct) if v in ct_of else ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    affine = affine_transposes if ct_of else ()  # nothing runs if all cotangents are zero
    while linear_eqns:
        eqn = linear_eqns.pop()
        if eqn.primitive in affine or not ct_of.keys().isdisjoint(eqn.outvars):
            cts = [ct_of.pop(v) if v in ct_of else Zero(v.aval) for v in eqn.outvars]
            operands = [v.val if type(v) is Literal else env[v] if v in env else
                        UndefinedPrimal(v.aval) for v in eqn.invars]
            for v, ct in zip(eqn.invars, _transpose_eqn(eqn, cts, operands)):
                accumulate(v, ct)
    return [ct_of.get(v, Zero(x.aval)) if is_undefined_primal(x) else None
            for v, x in zip(jaxpr.invars, args)]


def _linear_eqns(jaxpr: Jaxpr, env: dict, linear: set) -> Iterator[JaxprEqn]:
    """The equations that read a `linear` variable; their results are added to that set.

    The other equations are evaluated, and their results are added to `env`.
    """
    for eqn in jaxpr.eqns:
        if linear.isdisjoint(eqn.invars):
            operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
            outs = eqn.primitive.bind(*operands, **eqn.params)
            env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
        else:
            linear.update(eqn.outvars)
            yield eqn


def _transpose_eqn(eqn: JaxprEqn, cts: Sequence, operands: Sequence) -> Sequence:
    """Apply the transpose rule of an equation to the cotangents of its results."""
    rule = primitive_transposes.get(eqn.primitive)
    if rule is None:
        raise missing_rule(eqn.primitive, "Transpose (reverse-mode differentiation)", 8)
    return rule(cts if eqn.primitive.multiple_results else cts[0], *operands, **eqn.params)


# ----------------------------------------------------------------------------------------------
# Ways to fill the table


def deftranspose(primitive: Primitive, *rules: Callable | None, bilinear: bool = False) -> None:
    """One rule for each operand, `(ct, *operands, **params) -> its cotangent`.

    A rule is used if its operand is linear. It is `None` if the primitive is not linear in that
    operand. A `bilinear` primitive is linear in each operand, but not in all at once.
    """
    def transpose(ct, *operands, **params):
        linear = [*map(is_undefined_primal, operands)]
        checks.linear_operands(primitive, rules, linear, bilinear)
        if type(ct) is Zero:
            return [Zero(x.aval) if is_undefined_primal(x) else None for x in operands]
        return [rule(ct, *operands, **params) if is_linear else None
                for rule, is_linear in zip(rules, linear)]

    primitive_transposes[primitive] = transpose


def deflinear2(primitive: Primitive, transpose_rule: Callable) -> None:
    """The JVP and the transpose of a primitive that is linear in all operands together.

    Args:
      transpose_rule: `(ct, *operands, **params)` -> a cotangent for each operand.
    """
    deflinear_jvp(primitive)
    primitive_transposes[primitive] = transpose_rule


def defbilinear(primitive: Primitive, lhs_rule: Callable, rhs_rule: Callable) -> None:
    """The JVP and the transposes of a primitive that is linear in each of its two operands.

    It is not linear in both at once. The rules are those of `deftranspose`.
    """
    defbilinear_jvp(primitive)
    deftranspose(primitive, lhs_rule, rhs_rule, bilinear=True)


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
deftranspose(lax.convert_element_type_p, lambda ct, x, **params: lax.convert_element_type_p.bind(
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
    """The cotangent of a case is zero where another case was selected."""
    checks.linear(lax.select_n_p, not is_undefined_primal(which))
    zero = zeros(typeof(ct))

    def chosen(i):
        return lax.select_n_p.bind(which, *(ct if j == i else zero for j in range(len(cases))))

    return [None, *(chosen(i) if is_undefined_primal(x) else None for i, x in enumerate(cases))]


def _broadcast_in_dim_transpose(ct, x, *, shape, broadcast_dimensions):
    """Sum over the new dimensions, and over those that had size 1."""
    kept = [d for d, n in zip(broadcast_dimensions, x.aval.shape) if n != 1]
    summed = lax.reduce_sum(ct, [d for d in range(len(shape)) if d not in kept])
    return lax.expand_dims(summed, [i for i, n in enumerate(x.aval.shape) if n == 1])


def _reduce_sum_transpose(ct, x, *, axes):
    kept = [d for d in range(x.aval.ndim) if d not in axes]
    return lax.broadcast_in_dim(ct, x.aval.shape, kept)


deftranspose(lax.broadcast_in_dim_p, _broadcast_in_dim_transpose)
deftranspose(lax.reshape_p, lambda ct, x, **params: lax.reshape(ct, x.aval.shape))
deftranspose(lax.squeeze_p, lambda ct, x, *, dimensions: lax.expand_dims(ct, dimensions))
deftranspose(lax.transpose_p, lambda ct, x, *, permutation:
             lax.transpose(ct, np.argsort(permutation).tolist()))
deftranspose(lax.reduce_sum_p, _reduce_sum_transpose)
primitive_transposes[lax.select_n_p] = _select_n_transpose


def _dot_general_transpose_lhs(ct, x, y, *, dimension_numbers, swapped=False, **params):
    """Contract `ct` with the free dimensions of `y`. The result has the batch dimensions, the free
    dimensions of `x`, and the contracted dimensions in their order in `y`. Bring them to their
    places in `x`."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_free = [d for d in range(x.aval.ndim) if d not in (*x_contract, *x_batch)]
    y_free = [d for d in range(typeof(y).ndim) if d not in (*y_contract, *y_batch)]
    batch = tuple(range(len(x_batch)))
    start = len(batch) if swapped else len(batch) + len(x_free)
    numbers = (tuple(range(start, start + len(y_free))), tuple(y_free)), (batch, y_batch)
    out = lax.dot_general_p.bind(ct, y, dimension_numbers=numbers, **params)
    contracted = [x_contract[y_contract.index(d)] for d in sorted(y_contract)]
    out = lax.transpose(out, np.argsort([*x_batch, *x_free, *contracted]).tolist())
    return lax.convert_element_type_p.bind(
        out, new_dtype=x.aval.dtype, weak_type=typeof(out).weak_type)


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
    is_zero = [aval is None for aval in ct_avals]
    nonzero_out: list[bool] = []

    def transposed(*args):
        values, nonzero_cts = split_list(args, [linear.count(False)])
        unknown = map(UndefinedPrimal, partition_list(linear, jaxpr.in_avals)[1])
        operands = merge_lists(linear, values, unknown)
        zero = map(Zero, partition_list(is_zero, jaxpr.out_avals)[1])
        cts = merge_lists(is_zero, nonzero_cts, zero)
        cts = partition_list(linear, backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, cts))[1]
        nonzero_out[:] = [type(ct) is not Zero for ct in cts]
        return partition_list(nonzero_out, cts)[1]

    in_avals = partition_list(linear, jaxpr.in_avals)[0] + partition_list(is_zero, ct_avals)[0]
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
    outs = call.primitive.bind(*(operands[i] for i in known), *nonzero_cts, **call.params(
        params, jaxpr, in_sources, [None] * sum(nonzero_out), shared=True))
    zeros = [Zero(operands[i].aval) for i in partition_list(nonzero_out, transposed)[0]]
    return merge_lists(linear, [None] * len(known), merge_lists(nonzero_out, zeros, outs))
