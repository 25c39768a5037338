"""Chapter 9: loops of unknown length. `while_loop` and `fori_loop`, and the primitive `while`.

    out = while[cond_jaxpr body_jaxpr cond_nconsts body_nconsts] *cond_consts *body_consts *init

    carry = init
    while cond(*cond_consts, *carry):
        carry = body(*body_consts, *carry)

The values that the two functions closed over are the same in each round, and are not carried.

The body returns a carry of the types that it takes. So if one round gives a carry a tangent (or a
batch dimension, or makes it unknown), the carry must have one from the start. The rules find these
carries by repeating one round until nothing changes.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import settings
from ...checks.jaxpr import can_happen_for_all
from ...core.batching import AxisData, matchaxis, primitive_batchers
from ...core.boundary import api_boundary
from ...core.calls import around, batcher, with_zero_tangents
from ...core.core import Primitive, ShapedArray, typeof
from ...core.forward import Zero, instantiate_zeros, primitive_jvps
from ...core.jaxpr import custom_typechecks
from ...core.lowering import register_lowering
from ...core.partial_eval import (
    dce_closed,
    dce_rules,
    default_partial_eval,
    partial_eval_jaxpr,
    partial_eval_rules,
)
from ...core.primitives import ensure_array
from ...core.staging import batch_jaxpr, jvp_jaxpr
from ...core.transposition import primitive_transposes
from ...core.tree import tree_flatten, tree_map
from ...core.util import merge_lists, partition_list, split_list
from ...errors import ConcretizationTypeError
from ...pytree.arguments import argument_avals
from ...pytree.functions import treedef_is_leaf, treedef_tuple
from ...pytree.names import leaf_names
from ...runtime.effect_sets import is_ordered
from .. import reductions, shaping
from ..families import inline_in_scope, lower_fun
from ..selection import select
from . import common
from .agreement import check_carry
from .parts import enter_rules, flat, grouped

# ----------------------------------------------------------------------------------------------
# The public functions


@api_boundary
def while_loop(cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """A loop that runs while a condition holds, as one operation.

        val = init_val
        while cond_fun(val):
            val = body_fun(val)
        return val

    Unlike Python's loop its length may depend on traced values, and it is not unrolled. It can be
    differentiated in forward mode only: how much reverse mode would have to store is not known.

    Args:
      cond_fun: from the loop's value to a boolean scalar.
      body_fun: from the loop's value to the next one, of the same structure, shapes and dtypes.
      init_val: a pytree of arrays. Weakly typed leaves take the dtype that the body returns.

    Returns:
      the first value for which `cond_fun` is false.

    Raises:
      TypeError: `cond_fun` returns no boolean scalar; `body_fun` changes the type of the value.

    >>> import minijax as jax
    >>> jax.lax.while_loop(lambda x: x < 100, lambda x: 3 * x, 1)
    Array(243, dtype=int32, weak_type=True)
    """
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError("lax.while_loop: cond_fun and body_fun must be callable, got "
                        f"{cond_fun!r} and {body_fun!r}.")
    if settings.disable_jit.value:
        try:
            return _python_loop(cond_fun, body_fun, init_val)
        except ConcretizationTypeError:
            pass  # a transformation is around, and the predicate is not known
    init, tree = tree_flatten(init_val)
    argument_avals(init, "while_loop", lambda: leaf_names("init_val", init_val))
    cond, body = _stage_both(cond_fun, body_fun, tree, init)
    if len(body.jaxpr.outvars) == len(init):
        init, changed = common.promote_weak_types(init, body.jaxpr.out_avals)
        if changed:
            cond, body = _stage_both(cond_fun, body_fun, tree, init)
    check_carry("while_loop body", body_fun, tree, [*map(typeof, init)],
                body.out_tree, body.jaxpr.out_avals)
    return body.out_tree.unflatten(_bind(cond, body, init))


def _python_loop(cond_fun, body_fun, init_val):
    value = tree_map(ensure_array, init_val)
    while cond_fun(value):
        value = tree_map(ensure_array, body_fun(value))
    return value


def _stage_both(cond_fun, body_fun, tree, init) -> tuple[common.Staged, common.Staged]:
    in_tree, avals = treedef_tuple([tree]), [*map(typeof, init)]
    cond = common.stage(cond_fun, in_tree, avals, "while_cond")
    common.check_references(body_fun, in_tree, init, "while_body")
    body = common.stage(body_fun, in_tree, avals, "while_body")
    common.check_references(body_fun, in_tree, init, "while_body", body.consts)
    if not treedef_is_leaf(cond.out_tree) or len(cond.jaxpr.outvars) != 1:
        raise TypeError("cond_fun must return a boolean scalar, but got pytree "
                        f"{cond.out_tree}. (It is the first argument of while_loop.)")
    (aval,) = cond.jaxpr.out_avals
    if aval.shape or aval.dtype != np.bool_:
        raise TypeError("cond_fun must return a boolean scalar, but got output type(s) "
                        f"[{aval!r}]. For an array, use `jnp.any` or `jnp.all`.")
    return cond, body


def _bind(cond: common.Staged, body: common.Staged, init: list) -> list:
    """The final carry.

    A carry that the body does not change, and the condition does not read, becomes a constant of
    the body. A constant is not batched merely because other carries are.
    """
    (cond_jaxpr, cond_consts, _), (body_jaxpr, body_consts, _) = cond, body
    n_cond, n_body = len(cond_consts), len(body_consts)
    changes = tuple(source != n_body + i for i, source in enumerate(common.forwarded(body_jaxpr)))
    pruned, used = dce_closed(cond_jaxpr, (True,), (True,) * n_cond + changes)
    carried = used[n_cond:]
    fixed, carry = partition_list(carried, init)
    if fixed:
        cond_jaxpr, body_jaxpr = pruned, common.keep_outputs(body_jaxpr, carried)
        is_fixed = [not c for c in carried]
        body_jaxpr = common.move_inputs(body_jaxpr, common.to_front([False] * n_body + is_fixed))
    outs = while_p.bind(*cond_consts, *fixed, *body_consts, *carry,
                        cond_nconsts=n_cond, cond_jaxpr=cond_jaxpr,
                        body_nconsts=n_body + len(fixed), body_jaxpr=body_jaxpr)
    return merge_lists(carried, map(ensure_array, fixed), outs)

# ----------------------------------------------------------------------------------------------
# The primitive: its evaluation and its types


while_p = Primitive("while", multiple_results=True, memoize_avals=False)


def _evaluate(*args, **params):
    """Always by XLA. The number of rounds is not known, and NumPy would be slow for many."""
    return common.evaluate_compiled(while_p, args, "body_jaxpr", params)


while_p.def_impl(around("evaluation", while_p, _evaluate))

@while_p.def_abstract_eval
def _result_types(*avals, body_jaxpr, **params):
    return body_jaxpr.out_avals


def _typecheck(*avals: ShapedArray, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """Both functions must take their constants and the carry; the body must return a carry."""
    cond_consts, body_consts, carry = split_list(avals, [cond_nconsts, body_nconsts])
    common.check_flow("while", "the condition takes", cond_jaxpr.in_avals, cond_consts + carry)
    common.check_flow("while", "the body takes", body_jaxpr.in_avals, body_consts + carry)
    common.check_flow("while", "the body returns", body_jaxpr.out_avals, carry)
    return body_jaxpr.out_avals


custom_typechecks["while"] = _typecheck

# ----------------------------------------------------------------------------------------------
# Forward mode and batching


def _jvp(primals, tangents, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """The tangents of the carry are carried along; the condition does not look at them."""
    nonzeros = [type(t) is not Zero for t in tangents]
    _, consts_nz, init_nz = map(tuple, split_list(nonzeros, [cond_nconsts, body_nconsts]))
    carry_nz = common.fixpoint(lambda nz: jvp_jaxpr(body_jaxpr, consts_nz + nz, nz)[1], init_nz)
    new_body, _ = jvp_jaxpr(body_jaxpr, consts_nz + carry_nz, carry_nz)

    cond_consts, body_consts, init = split_list(primals, [cond_nconsts, body_nconsts])
    _, consts_dot, init_dot = split_list(tangents, [cond_nconsts, body_nconsts])
    consts_dot = partition_list(consts_nz, consts_dot)[1]
    init_dot = [*map(instantiate_zeros, partition_list(carry_nz, init_dot)[1])]
    # The body takes (consts, carry, consts_dot, carry_dot), but constants are to come first.
    pieces = split_list(range(len(new_body.invars)), [len(body_consts), len(init), len(consts_dot)])
    order = (*pieces[0], *pieces[2], *pieces[1], *pieces[3])
    outs = while_p.bind(
        *cond_consts, *body_consts, *consts_dot, *init, *init_dot,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=common.add_inputs(cond_jaxpr, tuple(map(typeof, init_dot))),
        body_nconsts=body_nconsts + len(consts_dot), body_jaxpr=common.move_inputs(new_body, order))
    return with_zero_tangents(outs, carry_nz)


primitive_jvps[while_p] = around("jvp", while_p, _jvp)


def _batch(trace, args, dims, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """If the predicate is batched, the loop runs until all examples are done (see `_lower`).

    Then the whole carry is batched, and has the dimensions of the predicate in front.
    """
    axis_data = trace.axis_data
    cond_dims, body_dims, init_dims = map(tuple, split_list(dims, [cond_nconsts, body_nconsts]))
    batched, pred_dim = _batched_carry(axis_data, dims, cond_jaxpr, cond_nconsts, body_jaxpr,
                                       body_nconsts)
    if pred_dim is not None:
        can_happen_for_all(common.chosen_in((cond_jaxpr, body_jaxpr)), "while")
        pred_dim, carry_dims = 0, (0,) * len(batched)
    else:
        rank = cond_jaxpr.out_avals[0].ndim
        carry_dims = tuple(rank if b else None for b in batched)
    new_cond = common.batch_jaxpr_to(cond_jaxpr, axis_data, cond_dims + carry_dims, (pred_dim,))
    new_body = common.batch_jaxpr_to(body_jaxpr, axis_data, body_dims + carry_dims, carry_dims)
    *consts, init = split_list(args, [cond_nconsts, body_nconsts])
    init = [matchaxis(axis_data, d, wanted, x) for d, wanted, x in zip(init_dims, carry_dims, init)]
    outs = while_p.bind(*consts[0], *consts[1], *init, cond_nconsts=cond_nconsts,
                        cond_jaxpr=new_cond, body_nconsts=body_nconsts, body_jaxpr=new_body)
    return outs, carry_dims


def _batched_carry(axis_data, dims, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """Which carries are batched, and the batch dimension of the predicate, or `None`."""
    cond_dims, body_dims, init_dims = map(tuple, split_list(dims, [cond_nconsts, body_nconsts]))

    def step(batched):
        carry_dims = tuple(0 if b else None for b in batched)
        _, out_dims = batch_jaxpr(body_jaxpr, axis_data, body_dims + carry_dims)
        return [d is not None for d in out_dims]

    batched = common.fixpoint(step, [d is not None for d in init_dims])
    carry_dims = tuple(0 if b else None for b in batched)
    _, (pred_dim,) = batch_jaxpr(cond_jaxpr, axis_data, cond_dims + carry_dims)
    return batched, pred_dim


def has_own_lengths(axis_data: AxisData, dims: Sequence[int | None], params: dict) -> bool:
    """Whether the condition of a batched loop may end it in another round for each example."""
    return _batched_carry(axis_data, dims, **params)[1] is not None


primitive_batchers[while_p] = batcher(while_p, _batch)



def _enter(trace, values, *, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """Other transformations: a carry has from the start as many parts as it ever gets. The
    condition takes the first part of each."""
    cond_consts, body_consts, carry = split_list(values, [cond_nconsts, body_nconsts])
    n_consts, n_carry = (tuple(map(len, group)) for group in (body_consts, carry))
    n_carry = common.fixpoint(lambda n: trace.transform(body_jaxpr, (*n_consts, *n))[1], n_carry)
    new_body, _ = trace.transform(body_jaxpr, (*n_consts, *n_carry), n_carry)
    carry = [*map(trace.widen, carry, n_carry)]
    outs = while_p.bind(
        *(parts[0] for parts in cond_consts), *flat(body_consts), *flat(carry),
        cond_jaxpr=_of_first_parts(cond_jaxpr, (1,) * cond_nconsts + n_carry),
        cond_nconsts=cond_nconsts, body_jaxpr=new_body, body_nconsts=sum(n_consts))
    return grouped(outs, n_carry)


def _of_first_parts(jaxpr, counts):
    """The jaxpr as one that takes all parts of its arguments."""
    avals = flat([aval] * n for aval, n in zip(jaxpr.in_avals, counts))
    return common.spread_inputs(jaxpr, tuple(itertools.accumulate((0, *counts[:-1]))), tuple(avals))


enter_rules[while_p] = _enter

# ----------------------------------------------------------------------------------------------
# Partial evaluation, dead code, and why there is no transpose


def _partial_eval(trace, primitive, args, params):
    """Run the loop now for the carries that do not depend on unknowns, if its length is known.

    For the others the whole loop is written down, and computes the known carries again. To save
    what is known in each round would need memory for an unknown number of rounds.
    """
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    counts = params["cond_nconsts"], params["body_nconsts"]
    cond_uk, body_uk, init_uk = map(tuple, split_list(map(trace.is_unknown, args), counts))

    def step(unknown):
        return partial_eval_jaxpr(body_jaxpr, body_uk + unknown, unknown).out_unknowns

    carry_uk = common.fixpoint(step, init_uk)
    known_cond, _, (length_unknown,), *_ = partial_eval_jaxpr(
        cond_jaxpr, cond_uk + carry_uk, (False,))
    outs = default_partial_eval(trace, while_p, args, params)
    if length_unknown or all(carry_uk):
        return outs
    known_body, *_ = partial_eval_jaxpr(body_jaxpr, body_uk + carry_uk, carry_uk)
    n_known = carry_uk.count(False)
    no_residuals = tuple(i < n_known for i in range(len(known_body.outvars)))
    known_body, _ = dce_closed(known_body, no_residuals, True)
    known_args = partition_list(cond_uk + body_uk + carry_uk, args)[0]
    known_outs = while_p.bind(*known_args, cond_jaxpr=known_cond, body_jaxpr=known_body,
                              cond_nconsts=cond_uk.count(False), body_nconsts=body_uk.count(False))
    return merge_lists(carry_uk, known_outs, partition_list(carry_uk, outs)[1])


partial_eval_rules[while_p] = around("partial evaluation", while_p, _partial_eval)


def _dce(used_outputs, eqn):
    """Carry only what a used result or the condition needs, in any round."""
    cond_jaxpr, body_jaxpr = eqn.own_params["cond_jaxpr"], eqn.own_params["body_jaxpr"]
    n_cond, n_body = eqn.own_params["cond_nconsts"], eqn.own_params["body_nconsts"]
    cond_used = dce_closed(cond_jaxpr, (True,))[1]

    def step(needed):
        return dce_closed(body_jaxpr, needed)[1][n_body:]

    needed = common.fixpoint(step, [a or b for a, b in zip(used_outputs, cond_used[n_cond:])])
    new_cond, cond_used = dce_closed(cond_jaxpr, (True,), (False,) * n_cond + needed)
    new_body, body_used = dce_closed(body_jaxpr, needed, (False,) * n_body + needed)
    used_inputs = [*cond_used[:n_cond], *body_used]
    params = {"cond_jaxpr": new_cond, "cond_nconsts": sum(cond_used[:n_cond]),
              "body_jaxpr": new_body, "body_nconsts": sum(body_used[:n_body])}
    return used_inputs, eqn.replace(invars=partition_list(used_inputs, eqn.invars)[1],
                                    outvars=partition_list(needed, eqn.outvars)[1], params=params)


dce_rules[while_p] = _dce


def _transpose(cts, *operands, **params):
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
        "dynamic start/stop values: it goes through the rounds backwards, and would have to store "
        "what each of them computed, but their number is not known. Use lax.scan, or "
        "lax.fori_loop with static start/stop; or forward mode (jax.jvp, jax.jacfwd). "
        "To understand why, read chapter 9 of the book."
    )


primitive_transposes[while_p] = _transpose

# ----------------------------------------------------------------------------------------------
# Lowering


def _lower(ctx, *operands, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """A `while` that carries the carry; its regions see the constants outside.

    A batched predicate goes on while any example does; those that are done keep their values.
    """
    cond_consts, body_consts, init = split_list(operands, [cond_nconsts, body_nconsts])
    pred_aval, avals = cond_jaxpr.out_avals[0], [x.aval for x in init]

    def condition(carry):
        (pred,) = inline_in_scope(ctx, "while/cond", cond_jaxpr, cond_consts + carry)
        return [_any(ctx, pred) if pred_aval.ndim else pred]

    def body(carry):
        new_carry = inline_in_scope(ctx, "while/body", body_jaxpr, body_consts + carry)
        if not pred_aval.ndim:
            return new_carry
        (pred,) = inline_in_scope(ctx, "while/body_pred", cond_jaxpr, cond_consts + carry)
        return [_select(ctx, pred, new, old) for new, old in zip(new_carry, carry)]

    if is_ordered(cond_jaxpr.effects):
        return _lower_effectful_condition(ctx, init, condition, body)
    arguments = common.region_arguments(ctx, avals), common.region_arguments(ctx, avals)
    return common.op_with_regions(ctx, "stablehlo.while", init, avals,
                                  (arguments[0], partial(condition, arguments[0])),
                                  (arguments[1], partial(body, arguments[1])),
                                  ordered=is_ordered(body_jaxpr.effects))


def _lower_effectful_condition(ctx, init, condition, body):
    """The condition of a `while` cannot hand on the token of its effects. So the body computes the
    next one, and carries it."""
    init = condition(init) + init
    avals = [x.aval for x in init]
    in_condition, in_body = common.region_arguments(ctx, avals), common.region_arguments(ctx, avals)

    def body_and_condition():
        carry = body(in_body[1:])
        return condition(carry) + carry

    return common.op_with_regions(ctx, "stablehlo.while", init, avals,
                                  (in_condition, lambda: in_condition[:1]),
                                  (in_body, body_and_condition), ordered=True)[1:]


_any = lower_fun(lambda pred: reductions.reduce_or(pred, range(typeof(pred).ndim)))


def _where(pred, new, old):
    """`new` where `pred`, else `old`; the dimensions of `pred` are the leading ones."""
    shape = typeof(new).shape
    if typeof(pred).shape != shape:
        pred = shaping.broadcast_in_dim(pred, shape, range(typeof(pred).ndim))
    return select(pred, new, old)


_select = lower_fun(_where)

register_lowering(while_p, _lower)
