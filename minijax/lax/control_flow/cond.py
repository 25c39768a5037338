"""Chapter 9: branches. `cond` and `switch`, and the primitive `cond` with all its rules.

    out = cond[branches=(f0 f1 …)] index operands        means        out = f_index(operands)

All branches take the same arguments, which include the values that any of them closed over, and
return results of the same types. Only the chosen one runs. The rules transform each branch, and
then make the branches agree again. Where one branch has a tangent, a cotangent or a residual and
another does not, the other returns zeros.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import settings
from ...checks.jaxpr import can_happen_for_all
from ...checks.sequences import iterable
from ...checks.transposition import linear as linear_primitive
from ...core.api import stop_gradient
from ...core.batching import bdim_at_front, moveaxis, primitive_batchers
from ...core.boundary import api_boundary
from ...core.calls import around, batcher, with_zero_tangents
from ...core.core import Primitive, ShapedArray, typeof
from ...core.forward import Zero, primitive_jvps
from ...core.jaxpr import custom_typechecks, eval_jaxpr
from ...core.lowering import register_lowering
from ...core.operators import with_own_arrays
from ...core.partial_eval import (
    dce_closed,
    dce_rules,
    default_partial_eval,
    partial_eval_jaxpr,
    partial_eval_rules,
    without_dead_code,
)
from ...core.primitives import constant, ensure_array
from ...core.staging import batch_jaxpr, jvp_jaxpr
from ...core.transposition import (
    UndefinedPrimal,
    nonzero_avals,
    primitive_transposes,
    project_accums,
    transpose_jaxpr,
)
from ...core.tree import tree_flatten
from ...core.util import merge_lists, partition_list
from ...pytree.arguments import argument_avals
from ...pytree.names import leaf_names
from ...runtime.effect_sets import is_ordered
from .. import elementwise as lax, shaping
from ..compile_time import is_concrete
from ..families import inline_in_scope
from ..selection import select_n
from .agreement import check_branches
from .common import (
    branch_number,
    check_flow,
    check_references,
    chosen_in,
    either,
    forwarded,
    keep_outputs,
    op_with_regions,
    share_constants,
    spread_inputs,
    spread_outputs,
    stage,
    with_type,
)
from .parts import enter_rules, flat, grouped

# ----------------------------------------------------------------------------------------------
# The public functions

_not_given = object()


@api_boundary
def cond(pred, true_fun: Callable, false_fun: Callable, *operands, operand: Any = _not_given):
    """`true_fun(*operands)` if `pred`, else `false_fun(*operands)`; only one of them is run.

    Unlike Python's `if`, it may depend on a traced value. Both functions are traced. Mapped over
    a batch of predicates, it computes both and selects.

    Args:
      pred: a scalar, boolean or a number (zero is false).
      true_fun, false_fun: functions of the same arguments, whose results have the same structure,
        shapes and dtypes.
      *operands: pytrees of arrays.
      operand: the one operand, passed by name.

    Returns:
      the result of the chosen function.

    Raises:
      TypeError: `pred` is no scalar or no number; the results differ in structure or type.

    >>> import minijax as jax
    >>> jax.lax.cond(True, lambda x: x + 1, lambda x: x - 1, 3.0)
    Array(4., dtype=float32, weak_type=True)
    """
    if not (callable(true_fun) and callable(false_fun)):
        return _cond_with_two_operands(pred, true_fun, false_fun, *operands)
    operands = _operands(operands, operand)
    pred = _predicate(pred)
    if settings.disable_jit.value and is_concrete(pred):
        return (true_fun if pred else false_fun)(*operands)
    leaves, in_tree = tree_flatten(operands)
    avals = argument_avals(leaves, "cond", lambda: leaf_names("operands", operands))
    check_references(true_fun, in_tree, leaves, "cond")
    if_true = stage(true_fun, in_tree, avals, "cond")
    if_false = stage(false_fun, in_tree, avals, "cond")
    check_branches("cond", {"true_fun": true_fun, "false_fun": false_fun}, [if_true, if_false])
    (true_jaxpr, false_jaxpr), consts = share_constants(if_true, if_false)
    check_references(true_fun, in_tree, leaves, "cond", consts)
    index = lax.convert_element_type(pred, np.int32)
    outs = _bind(index, [false_jaxpr, true_jaxpr], [*consts, *leaves])
    return if_true.out_tree.unflatten(outs)


def _cond_with_two_operands(pred, x_true, true_fun, x_false=None, false_fun=None, *rest):
    """The old form `cond(pred, x_true, true_fun, x_false, false_fun)`."""
    if rest or not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable. The "
                        f"second and third argument are {x_true!r} and {true_fun!r}.")
    return cond(pred, lambda x, _: true_fun(x), lambda _, x: false_fun(x), x_true, x_false)


def _operands(operands, operand):
    """The operands, whether they are passed by position or, if there is one only, by name."""
    if operand is _not_given:
        return operands
    if operands:
        raise TypeError("If the keyword `operand` is passed then no positional operands can be, "
                        f"got operand={operand} and {operands}.")
    return (operand,)


def _predicate(pred):
    """A scalar as a boolean."""
    (pred,) = with_own_arrays([pred])
    if pred is None:
        raise TypeError("cond predicate is None: it must be a boolean scalar or a number.")
    try:
        aval = typeof(pred)
    except TypeError:
        if callable(pred):
            raise TypeError(f"Pred type must be either boolean or number, got {pred}.") from None
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}") from None
    if aval.shape:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}. To choose "
                        "element by element, use `jnp.where` or `vmap`.")
    if aval.dtype.kind not in "biuf":
        raise TypeError(f"Pred type must be either boolean or number, got {aval.dtype.name}.")
    return pred if aval.dtype.kind == "b" else pred != 0


@api_boundary
def switch(index, branches: Sequence[Callable], *operands, operand: Any = _not_given):
    """`branches[index](*operands)`; an index out of range is clamped to the first or the last.

    Args:
      index: an integer scalar.
      branches: functions as for `cond`, at least one.
      *operands: pytrees of arrays.
      operand: the one operand, passed by name.

    Returns:
      the result of the chosen function.

    Raises:
      TypeError: `index` is no integer scalar; the results differ in structure or type.
      ValueError: there are no branches.

    >>> import minijax as jax
    >>> jax.lax.switch(5, [lambda x: x, lambda x: -x], 3.0)
    Array(-3., dtype=float32, weak_type=True)
    """
    iterable("lax.switch: branches", branches, "a sequence of functions")
    branches = tuple(branches)
    if not all(map(callable, branches)):
        raise TypeError("lax.switch: branches argument should be a sequence of callables, got "
                        f"{branches}.")
    operands = _operands(operands, operand)
    _check_index(index)
    if not branches:
        raise ValueError("Empty branch sequence: lax.switch needs at least one branch.")
    if len(branches) == 1:
        return branches[0](*operands)
    index = lax.clamp(np.int32(0), lax.convert_element_type(index, np.int32),
                      np.int32(len(branches) - 1))
    if settings.disable_jit.value and is_concrete(index):
        return branches[int(index)](*operands)
    return staged_switch(index, branches, operands)


def staged_switch(index, branches, operands, **platforms):
    """Trace all branches, and bind the primitive. With `branches_platforms`, each branch is for
    some platforms, and a program contains only the branches for its own."""
    leaves, in_tree = tree_flatten(operands)
    avals = argument_avals(leaves, "switch", lambda: leaf_names("operands", operands))
    check_references(branches[0], in_tree, leaves, "switch")
    staged = [stage(branch, in_tree, avals, "switch") for branch in branches]
    names = ["branch 0", *(f"branch{i}" for i in range(1, len(branches)))]  # JAX's names
    check_branches("switch", dict(zip(names, branches)), staged)
    jaxprs, consts = share_constants(*staged)
    check_references(branches[0], in_tree, leaves, "switch", consts)
    return staged[0].out_tree.unflatten(_bind(index, jaxprs, [*consts, *leaves], **platforms))


def _check_index(index):
    try:
        aval = typeof(index)
    except TypeError:
        if isinstance(index, tuple | list):
            raise TypeError(f"Branch index must be scalar, got {index} of shape "
                            f"{np.shape(index)}.") from None
        raise TypeError(f"Index type must be an integer, got {index}.") from None
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if aval.dtype.kind not in "iu":
        raise TypeError(f"Index type must be an integer, got {index} as {aval.dtype.name}.")


def _bind(index, jaxprs, operands, **platforms) -> list:
    """The results; one that is the same operand in all branches does not pass through `cond`."""
    sources = [places[0] if len(set(places)) == 1 else None
               for places in zip(*map(forwarded, jaxprs))]
    computed = tuple(source is None for source in sources)
    if not all(computed):
        jaxprs = [keep_outputs(jaxpr, computed) for jaxpr in jaxprs]
    outs = iter(cond_p.bind(index, *operands, branches=tuple(jaxprs), **platforms))
    return [next(outs) if source is None else ensure_array(operands[source]) for source in sources]


# ----------------------------------------------------------------------------------------------
# The primitive: its evaluation and its types


cond_p = Primitive("cond", multiple_results=True, memoize_avals=False)


@cond_p.def_impl
def _evaluate(index, *operands, branches, **_):
    """Run the chosen branch, equation by equation: it runs once, so compiling would not pay."""
    chosen = branches[min(max(int(index), 0), len(branches) - 1)]
    outs = eval_jaxpr(chosen.jaxpr, chosen.consts, *operands)
    return [*map(with_type, outs, branches[0].out_avals)]


@cond_p.def_abstract_eval
def _result_types(*avals, branches, **_):
    return branches[0].out_avals


def _typecheck(index: ShapedArray, *operands: ShapedArray, branches, **_):
    """The branches must agree with one another, and with the operands."""
    check_flow("cond", "the index is", [ShapedArray((), np.dtype(np.int32))], [index])
    for branch in branches:
        check_flow("cond", "a branch takes", branch.in_avals, operands)
        check_flow("cond", "a branch returns", branch.out_avals, branches[0].out_avals)
    return branches[0].out_avals


custom_typechecks["cond"] = _typecheck

# ----------------------------------------------------------------------------------------------
# Forward mode and batching


def _jvp(primals, tangents, *, branches, **platforms):
    """A result has a tangent if it has one in any branch."""
    (index, *operands), (_, *operands_dot) = primals, tangents
    nonzeros = tuple(type(t) is not Zero for t in operands_dot)
    none = (False,) * len(branches[0].outvars)
    nonzeros_out = either(*(jvp_jaxpr(branch, nonzeros, none)[1] for branch in branches))
    new_branches = tuple(jvp_jaxpr(branch, nonzeros, nonzeros_out)[0] for branch in branches)
    kept = [t for t in operands_dot if type(t) is not Zero]
    outs = cond_p.bind(index, *operands, *kept, branches=new_branches, **platforms)
    return with_zero_tangents(outs, nonzeros_out)


primitive_jvps[cond_p] = around("jvp", cond_p, _jvp)


def _batch(trace, args, dims, *, branches, **platforms):
    axis_data = trace.axis_data
    (index, *operands), (index_dim, *operand_dims) = args, dims
    if index_dim is not None:
        return _batch_predicate(axis_data, args, dims, branches)
    in_dims = tuple(None if d is None else 0 for d in operand_dims)
    operands = [x if d is None else moveaxis(x, d, 0) for x, d in zip(operands, operand_dims)]
    batched = [[d is not None for d in batch_jaxpr(branch, axis_data, in_dims)[1]]
               for branch in branches]
    out_dims = tuple(0 if b else None for b in either(*batched))
    new_branches = tuple(batch_jaxpr(branch, axis_data, in_dims, out_dims)[0]
                         for branch in branches)
    return cond_p.bind(index, *operands, branches=new_branches, **platforms), out_dims


# While it is true, values may be computed that no result depends on.
values_unseen = settings.State("", False, bool, "")


def _batch_predicate(axis_data, args, dims, branches):
    """Each example chooses for itself: run all branches, and select."""
    can_happen_for_all(chosen_in(branches), "cond")
    index, *operands = (bdim_at_front(x, d, axis_data.size) for x, d in zip(args, dims))
    in_dims, out_dims = (0,) * len(operands), (0,) * len(branches[0].outvars)
    outs = []
    for i, branch in enumerate(branches):
        chosen = lax.eq(index, constant(i, typeof(index).dtype))
        # Where a branch is not chosen, its derivative may be infinite. `stop_gradient` keeps it
        # from the operands, where infinity times zero would be NaN.
        ops = [_select_n(chosen, stop_gradient(x), x) for x in operands]
        batched, _ = batch_jaxpr(branch, axis_data, in_dims, out_dims)
        with values_unseen(True):
            outs.append(eval_jaxpr(batched.jaxpr, batched.consts, *ops))
    return [_select_n(index, *cases) for cases in zip(*outs)], out_dims


def _select_n(which, *cases):
    """`select_n` by the leading dimension."""
    shape = typeof(cases[0]).shape
    if len(shape) > 1:
        which = shaping.broadcast_in_dim(which, shape, (0,))
    return select_n(which, *cases)


primitive_batchers[cond_p] = batcher(cond_p, _batch)


def _enter(trace, values, *, branches, **platforms):
    """Other transformations: a result has as many parts as it gets in any branch. The first part of
    the index chooses."""
    index, *operands = values
    counts = tuple(map(len, operands))
    out_counts = tuple(map(max, zip(*(trace.transform(b, counts)[1] for b in branches))))
    new_branches = tuple(trace.transform(b, counts, out_counts)[0] for b in branches)
    outs = cond_p.bind(index[0], *flat(operands), branches=new_branches, **platforms)
    return grouped(outs, out_counts)


enter_rules[cond_p] = _enter

# ----------------------------------------------------------------------------------------------
# Partial evaluation and dead code


def _partial_eval(trace, primitive, args, params):
    """With the index known, two `cond`s: one runs now and returns residuals, the other takes them.

    The residuals of the branches are joined: a known operand is itself the residual, and those
    that branches compute share a place if they have the same type. In the place of a residual that
    a branch does not have, it returns zeros. They are not weakly typed, as in JAX.
    """
    (index, *operands), branches = args, params["branches"]
    if trace.is_unknown(index):
        return default_partial_eval(trace, primitive, args, params)
    unknowns = tuple(map(trace.is_unknown, operands))
    known_args, unknown_args = partition_list(unknowns, operands)
    none = (False,) * len(branches[0].outvars)
    out_unknowns = either(*(partial_eval_jaxpr(branch, unknowns, none).out_unknowns
                            for branch in branches))
    parts = [partial_eval_jaxpr(branch, unknowns, out_unknowns) for branch in branches]

    per_branch = [_residuals(part.unknown, part.sources) for part in parts]
    residuals = dict.fromkeys(itertools.chain(*per_branch))
    computed = [r for r in residuals if r[0] is None]
    computed_avals = tuple(aval.strip_weak_type() for _, aval, _ in computed)
    known_branches = tuple(
        spread_outputs(without_dead_code(part.known),
                       tuple(computed.index(r) for r in own if r[0] is None), computed_avals)
        for part, own in zip(parts, per_branch))

    outs = cond_p.bind(index, *known_args, **params | {"branches": known_branches})
    n_known = len(outs) - len(computed)
    values = dict(zip(computed, outs[n_known:]))
    residual_args = [values[r] if r[0] is None else known_args[r[0]] for r in residuals]

    places = {r: i for i, r in enumerate(residuals)}
    residual_avals = tuple(map(typeof, residual_args))
    unknown_branches = tuple(
        spread_inputs(part.unknown, tuple(places[r] for r in own), residual_avals)
        for part, own in zip(parts, per_branch))
    unknown_outs = default_partial_eval(trace, cond_p, [index, *residual_args, *unknown_args],
                                        params | {"branches": unknown_branches})
    return merge_lists(out_unknowns, outs[:n_known], unknown_outs)


def _residuals(unknown_jaxpr, forwarded) -> list[tuple]:
    """For each residual of a branch what it is: (number of the known operand or `None`, type,
    how many computed ones of this type come before it)."""
    counts: dict = {}
    found = []
    for place, aval in zip(forwarded, unknown_jaxpr.in_avals):
        count = 0 if place is not None else counts.setdefault(aval, itertools.count()).__next__()
        found.append((place, aval, count))
    return found


partial_eval_rules[cond_p] = around("partial evaluation", cond_p, _partial_eval)


def _dce(used_outputs, eqn):
    """Drop what is dead in all branches, and the operands that only that needed."""
    branches, used = eqn.own_params["branches"], tuple(used_outputs)
    used_inputs = either(*(dce_closed(branch, used)[1] for branch in branches))
    pruned = tuple(dce_closed(branch, used, used_inputs)[0] for branch in branches)
    used_invars = [True, *used_inputs]
    return used_invars, eqn.replace(
        invars=partition_list(used_invars, eqn.invars)[1],
        outvars=partition_list(used_outputs, eqn.outvars)[1],
        params=eqn.own_params | {"branches": pruned})


dce_rules[cond_p] = _dce

# ----------------------------------------------------------------------------------------------
# Transposition


def _transpose(cts, index, *operands, branches, **platforms):
    """An operand has a cotangent if it has one in any branch."""
    linear_primitive(cond_p, type(index) is not UndefinedPrimal)
    kinds, values, in_avals = project_accums(branches[0], operands)
    transposed = [transpose_jaxpr(branch, kinds, in_avals, nonzero_avals(cts))
                  for branch in branches]
    nonzeros = either(*(nonzero_out for _, nonzero_out in transposed))
    linear = [kind is UndefinedPrimal for kind in kinds]
    linear_avals = [x.aval for is_linear, x in zip(linear, operands) if is_linear]
    avals = tuple(aval for aval, nonzero in zip(linear_avals, nonzeros) if nonzero)
    new_branches = tuple(
        spread_outputs(jaxpr, _places(own, nonzeros), avals) for jaxpr, own in transposed)
    kept = [ct for ct in cts if type(ct) is not Zero]
    outs = iter(cond_p.bind(index, *values, *kept, branches=new_branches, **platforms))
    linear_cts = iter([next(outs) if nonzero else Zero(aval)
                       for aval, nonzero in zip(linear_avals, nonzeros)])
    return [None, *(next(linear_cts) if is_linear else None for is_linear in linear)]


def _places(own, among):
    """The places of the flags set in `own` among those set in `among`."""
    return tuple(i for i, flag in enumerate(f for f, a in zip(own, among) if a) if flag)


primitive_transposes[cond_p] = _transpose

# ----------------------------------------------------------------------------------------------
# Lowering


def _lower(ctx, index, *operands, branches, branches_platforms=None):
    """A `case`, each branch in a region, where it sees the operands as they are."""
    if branches_platforms is not None:
        branch = branches[branch_number(branches_platforms)]
        return inline_in_scope(ctx, "cond/branch_0_fun", branch, operands)
    regions = [([], partial(inline_in_scope, ctx, f"cond/branch_{i}_fun", branch, operands))
               for i, branch in enumerate(branches)]
    ordered = any(is_ordered(branch.effects) for branch in branches)
    return op_with_regions(ctx, "stablehlo.case", [index], branches[0].out_avals, *regions,
                           ordered=ordered)


register_lowering(cond_p, _lower)
