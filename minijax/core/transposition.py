"""Chapter 8: how is a linear program run backwards?

    backward_pass : (jaxpr of T a ⊸ T b) → (T* b ⊸ T* a)

A linear program maps tangents to tangents, by a matrix that is never computed. Its transpose maps
cotangents back. The backward pass runs the equations in reverse order. Each equation maps the
cotangent of its result to cotangents of its linear operands, by the transpose rule of its
primitive. Where a value was used twice, its cotangents are added.

In JAX: `backward_pass` and the rules' makers in `jax/_src/interpreters/ad.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..checks import transposition as checks
from ..source import at_sources
from . import primitives as lax
from .avals import vary_like
from .calls import JaxprCall, rule_for_calls
from .core import Primitive, RuleTable, ShapedArray, missing_rule, state, typeof
from .forward import Zero, add_tangents
from .jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from .placements import placements
from .staging import trace_to_jaxpr, weakref_cache
from .util import merge_lists, partition_list, split_list

# ----------------------------------------------------------------------------------------------
# The backward pass


class UndefinedPrimal:
    """Stands for a linear operand, whose value is unknown in the backward pass, and accumulates its
    cotangent.

    Args:
      aval: the operand's type.
      ct: the sum of its cotangents so far, or `None`.
    """

    __slots__ = ("aval", "ct")

    def __init__(self, aval: ShapedArray, ct=None):
        self.aval, self.ct = aval, ct

    def accum(self, ct) -> None:
        """Add a cotangent, which may be a `Zero` or `None`."""
        if ct is not None and type(ct) is not Zero:
            ct = vary_like(ct, self.aval)
            if self.ct is None:
                self.ct = ct
            elif state.trace.staging or typeof(ct).weak_type:
                self.ct = add_tangents(self.ct, ct)
            else:
                self.ct = add_tangents(ct, self.ct)  # an evaluated sum is weak if both parts are

    def accum_at(self, index: Any, ct) -> bool:
        """Add the cotangent of `x[index]` in place, if this accumulator can; returns whether it
        did. If not, it must get a cotangent with zeros elsewhere."""
        return False

    def freeze(self):
        """The sum, when nothing will be added any more."""
        return Zero(self.aval) if self.ct is None else self.ct

    def __repr__(self):
        return f"UndefinedPrimal({self.aval})"


# Type registry: the class of an abstract value -> the accumulator of a variable of such a type.
accumulators: dict[type, Callable] = {}


def is_undefined_primal(x) -> bool:
    """Whether `x` is a linear operand."""
    return isinstance(x, UndefinedPrimal)


# primitive -> (ct, *operands, **params) -> a cotangent (or Zero, or None) for each operand.
# Linear operands are `UndefinedPrimal`s. For several results, `ct` is a list of cotangents. One of
# them is not `Zero`, unless the equation has effects or the rule is a `TransposeOfZeros`. The
# cotangents of operands that are not linear are ignored.
primitive_transposes: dict[Primitive, Callable] = RuleTable()


class TransposeOfZeros(functools.partial):
    """An entry in `primitive_transposes`: a rule that may return something for cotangents that are
    all zero, as a user's rule may. It runs if another cotangent of the program is not zero."""


def backward_pass(jaxpr: Jaxpr, consts: Sequence, args: Sequence, cts: Sequence,
                  sums: Sequence | None = None) -> list:
    """The cotangents of the linear arguments of a jaxpr, from those of its results.

    Args:
      consts: values for `jaxpr.constvars`.
      args: for each argument a value, or an `UndefinedPrimal` where the jaxpr is linear in it.
      cts: a cotangent (or `Zero`) for each result.
      sums: for each argument a value to which its cotangent is added, or `None`.

    Returns:
      for each argument its cotangent, a `Zero`, or `None` if it is not linear.
    """
    args = [UndefinedPrimal(x.aval, ct) if type(x) is UndefinedPrimal else x
            for x, ct in zip(args, sums or [None] * len(args))]
    env: dict = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    linear_eqns = [*_linear_eqns(jaxpr, env)]
    for v, ct in zip(jaxpr.outvars, cts):
        if is_undefined_primal(env.get(v)):
            env[v].accum(ct)
    all_zero = _all_zero(cts)
    for eqn in at_sources([eqn for eqn, _ in reversed(linear_eqns)]):
        _, operands = linear_eqns.pop()  # they are released when their equation is done
        out_cts = [env.pop(v).freeze() for v in eqn.outvars]
        of_zeros = type(primitive_transposes.get(eqn.primitive)) is TransposeOfZeros
        if eqn.effects or not _all_zero(out_cts) or (of_zeros and not all_zero):
            for x, ct in zip(operands, _transpose_eqn(eqn, out_cts, operands)):
                if isinstance(x, UndefinedPrimal):
                    x.accum(ct)
    return [x.freeze() if type(x) is UndefinedPrimal else None for x in args]


def _all_zero(cts: Sequence) -> bool:
    return all(type(ct) is Zero for ct in cts)


def _linear_eqns(jaxpr: Jaxpr, env: dict) -> Iterator[tuple[JaxprEqn, list]]:
    """The equations that are linear in an operand, with their operands.

    `env` gets accumulators for their results. The other equations are evaluated, and their results
    are added to `env`.
    """
    for eqn in jaxpr.eqns:
        operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        if any(map(is_undefined_primal, operands)) or any(
                type(v.aval) in accumulators for v in eqn.outvars):
            for v in eqn.outvars:
                env[v] = accumulators.get(type(v.aval), UndefinedPrimal)(v.aval)
            yield eqn, operands
        else:
            for _ in at_sources([eqn]):  # one round, in which operations come from its source
                outs = eqn.primitive.bind(*operands, **eqn.own_params)
            env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))


def _transpose_eqn(eqn: JaxprEqn, cts: Sequence, operands: Sequence) -> Sequence:
    """Apply the transpose rule of an equation to the cotangents of its results."""
    rule = primitive_transposes.get(eqn.primitive)
    if rule is None:
        raise missing_rule(eqn.primitive, "Transpose (reverse-mode differentiation)", 8)
    return rule(cts if eqn.primitive.multiple_results else cts[0], *operands, **eqn.own_params)


# ----------------------------------------------------------------------------------------------
# Ways to fill the table


def deftranspose(primitive: Primitive, *rules: Callable | None, bilinear: bool = False,
                 placed: bool = False) -> None:
    """One rule for each operand, `(ct, *operands, **params) -> its cotangent`.

    A rule is used if its operand is linear. It is `None` if the primitive is not linear in that
    operand. A `bilinear` primitive is linear in each operand, but not in all at once. If `placed`,
    the cotangents of operands with placements may need another rule.
    """
    def transpose(ct, *operands, **params):
        if placed:
            cts = placements().transposed(primitive, ct, operands, params)
            if cts is not NotImplemented:
                return cts
        linear = [*map(is_undefined_primal, operands)]
        checks.linear_operands(primitive, rules, linear, bilinear)
        return [rule(ct, *operands, **params) if is_linear else None
                for rule, is_linear in zip(rules, linear)]

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
deftranspose(lax.convert_element_type_p, lambda ct, x, **params: lax.convert_element_type_p.bind(
    ct, new_dtype=x.aval.dtype, weak_type=x.aval.weak_type))
deftranspose(lax.add_p, lambda ct, x, y: unbroadcast(x.aval, ct),
             lambda ct, x, y: unbroadcast(y.aval, ct))
deftranspose(lax.sub_p, lambda ct, x, y: unbroadcast(x.aval, ct),
             lambda ct, x, y: unbroadcast(y.aval, lax.neg(ct)))
deftranspose(lax.add_any_p, lambda ct, x, y: ct, lambda ct, x, y: ct)
deftranspose(lax.mul_p, lambda ct, x, y: unbroadcast(x.aval, lax.mul(ct, y)),
             lambda ct, x, y: unbroadcast(y.aval, lax.mul(x, ct)), bilinear=True)
deftranspose(lax.div_p, lambda ct, x, y: unbroadcast(x.aval, lax.div(ct, y)), None)


def _broadcast_in_dim_transpose(ct, x, *, shape, broadcast_dimensions):
    """Sum over the new dimensions, and over those that had size 1."""
    kept = [d for d, n in zip(broadcast_dimensions, x.aval.shape) if n != 1]
    summed = lax.reduce_sum(ct, [d for d in range(len(shape)) if d not in kept])
    return lax.expand_dims(summed, [i for i, n in enumerate(x.aval.shape) if n == 1])


def _reshape_transpose(ct, x, *, new_sizes, dimensions):
    if dimensions is None:
        return lax.reshape(ct, x.aval.shape)
    in_order = lax.reshape(ct, [x.aval.shape[d] for d in dimensions])
    return lax.transpose(in_order, np.argsort(dimensions).tolist())


def _reduce_sum_transpose(ct, x, *, axes):
    kept = [d for d in range(x.aval.ndim) if d not in axes]
    return lax.broadcast_in_dim(ct, x.aval.shape, kept)


deftranspose(lax.broadcast_in_dim_p, _broadcast_in_dim_transpose)
deftranspose(lax.reshape_p, _reshape_transpose, placed=True)
deftranspose(lax.squeeze_p, lambda ct, x, *, dimensions: lax.expand_dims(ct, dimensions))
deftranspose(lax.transpose_p, lambda ct, x, *, permutation:
             lax.transpose(ct, np.argsort(permutation).tolist()))
deftranspose(lax.reduce_sum_p, _reduce_sum_transpose, placed=True)


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


deftranspose(lax.dot_general_p, _dot_general_transpose_lhs, _dot_general_transpose_rhs,
             bilinear=True, placed=True)


# ----------------------------------------------------------------------------------------------
# Calls of a jaxpr


def project_accums(jaxpr: ClosedJaxpr, operands: Sequence) -> tuple[tuple, list, tuple]:
    """The operands of a call, as arguments of the transposed call.

    An `UndefinedPrimal` is not an argument. For another accumulator (chapter 15) the argument is
    its `ref`, the reference to which cotangents are added.

    Returns:
      for each operand its class as an accumulator, or `None` for a value; the values; their types.
    """
    kinds = tuple(type(x) if is_undefined_primal(x) else None for x in operands)
    passed = [(x, aval) if kind is None else (x.ref, typeof(x.ref)) for x, aval, kind in zip(
        operands, jaxpr.in_avals, kinds) if kind is not UndefinedPrimal]
    return kinds, [x for x, _ in passed], tuple(aval for _, aval in passed)


@weakref_cache
def transpose_jaxpr(jaxpr: ClosedJaxpr, kinds: tuple, in_avals: tuple, ct_avals: tuple):
    """The jaxpr that maps the values of `project_accums` and nonzero cotangents to cotangents.

    Args:
      kinds, in_avals: from `project_accums`.
      ct_avals: for each result the type of its cotangent, or `None` for zero.

    Returns:
      the new `ClosedJaxpr`, and for each `UndefinedPrimal` whether its cotangent is a result.
    """
    is_zero = [aval is None for aval in ct_avals]

    def transposed(*args):
        values, nonzero = split_list(args, [len(in_avals)])
        rest = iter(values)
        operands = [UndefinedPrimal(aval) if kind is UndefinedPrimal else
                    kind(aval, next(rest)) if kind else next(rest)
                    for kind, aval in zip(kinds, jaxpr.in_avals)]
        cts = merge_lists(is_zero, nonzero, map(Zero, partition_list(is_zero, jaxpr.out_avals)[1]))
        cts = backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, cts)
        cts = [ct for ct in cts if ct is not None]
        nonzero_out = tuple([type(ct) is not Zero for ct in cts])
        return partition_list(nonzero_out, cts)[1], nonzero_out

    avals = (*in_avals, *partition_list(is_zero, ct_avals)[0])
    return trace_to_jaxpr(transposed, avals, jaxpr.debug_info)


def nonzero_avals(cts) -> tuple:
    """The types of cotangents, `None` for those that are zero."""
    return tuple(None if type(ct) is Zero else typeof(ct) for ct in cts)


@rule_for_calls(primitive_transposes)
def _transpose_of_call(call: JaxprCall, cts, *operands, **params):
    """The call of the transposed jaxpr."""
    jaxpr = params[call.jaxpr_param]
    kinds, values, in_avals = project_accums(jaxpr, operands)
    with call.inside(params):
        jaxpr, nonzero_out = transpose_jaxpr(jaxpr, kinds, in_avals, nonzero_avals(cts))
    places, linear_places = partition_list([k is UndefinedPrimal for k in kinds], range(len(kinds)))
    of_cts = [~i for i, ct in enumerate(cts) if type(ct) is not Zero]
    out_places = partition_list(nonzero_out, linear_places)[1]
    outs = call.primitive.bind(*values, *(cts[~i] for i in of_cts), **call.params(
        params, jaxpr, places + of_cts, [~i for i in out_places], shared=True))
    return [*map(dict(zip(out_places, outs)).get, range(len(kinds)))]
