"""Chapter 16: `checkify` for equations that contain jaxprs: calls, branches, loops."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...core.calls import calls
from ...core.core import ShapedArray, typeof
from ...core.forward import Zero
from ...core.jaxpr import ClosedJaxpr
from ...core.jit import jit_p
from ...core.staging import jaxpr_of, weakref_cache
from ...core.tree import PyTreeDef, tree_flatten, tree_leaves
from ...core.util import split_list
from ...custom_rules.common import Named, SymbolicZero
from ...custom_rules.jvp import custom_jvp_call_p
from ...custom_rules.vjp import custom_vjp_call_p
from ...lax.control_flow.cond import cond_p
from ...lax.control_flow.scan import scan_p
from ...lax.control_flow.while_loop import while_p
from ...remat import remat_p
from .errors import Error, init_error
from .interpreter import interpret, rules

# ----------------------------------------------------------------------------------------------
# Equations that contain jaxprs


class _Checked(NamedTuple):
    """A function that passes an error along, staged. Its arguments and results are the leaves of
    the error, and then the others."""

    jaxpr: ClosedJaxpr
    error_tree: PyTreeDef  # of the error in its results

    def split(self, outs: Sequence) -> tuple[Error, list]:
        """The error, and the other results."""
        leaves, rest = split_list(outs, [self.error_tree.num_leaves])
        return self.error_tree.unflatten(leaves), rest

    @property
    def result(self) -> Error:
        """The error in its results; its leaves stand for nothing."""
        return self.error_tree.unflatten([np.int32(0)] * self.error_tree.num_leaves)


def _stage(fun: Callable, error: Error, before: Sequence, after: Sequence, info) -> _Checked:
    """Stage `fun(error, before, after) -> (error, results)`, at these types of arguments.

    The leaves of the error come after those of `before`.
    """
    leaves, in_tree = tree_flatten(error)
    out_trees = []

    def flat_fun(*args):
        first, errors, rest = split_list(args, [len(before), len(leaves)])
        out_error, outs = fun(in_tree.unflatten(errors), first, rest)
        out_leaves, tree = tree_flatten(out_error)
        out_trees.append(tree)
        return [*out_leaves, *outs]

    errors = (x if isinstance(x, ShapedArray) else typeof(x) for x in leaves)
    avals = [*before, *(aval.strip_weak_type() for aval in errors), *after]
    return _Checked(jaxpr_of(flat_fun, avals, info), out_trees[0])


def _stage_all(funs: Sequence[Callable], error: Error, before, after, info):
    """Stage functions, all of which have all kinds of errors in their arguments and results.

    Returns:
      the error with these kinds, and for each function a `_Checked`.
    """
    found = [_stage(fun, error, before, after, info).result.slots for fun in funs]
    error = error.with_kinds(dict.fromkeys(itertools.chain(*found)))
    return error, [_stage(fun, error, before, after, info) for fun in funs]


def _of_jaxpr(jaxpr: ClosedJaxpr, enabled) -> Callable:
    """The function for `_stage` that a jaxpr is, when it is checked."""
    return lambda error, before, after: interpret(jaxpr, enabled, error, [*before, *after])


@weakref_cache
def _checked_call(jaxpr: ClosedJaxpr, enabled, in_tree: PyTreeDef, avals) -> _Checked:
    """The checked jaxpr of a call, for errors of this tree with leaves of these types. It is made
    once, so that it is compiled once."""
    error = in_tree.unflatten(avals)
    return _stage(_of_jaxpr(jaxpr, enabled), error, [], jaxpr.in_avals, jaxpr.debug_info)


def _check_call(error, enabled, eqn, operands):
    """For `jit` and `checkpoint`."""
    leaves, in_tree = tree_flatten(error)
    checked = _checked_call(eqn.own_params["jaxpr"], frozenset(enabled), in_tree,
                            tuple(map(typeof, leaves)))
    places = [*[None] * len(leaves), *range(len(operands))]
    out_places = [*[None] * checked.error_tree.num_leaves, *range(len(eqn.outvars))]
    params = calls[eqn.primitive].params(eqn.own_params, checked.jaxpr, places, out_places)
    return checked.split(eqn.primitive.bind(*leaves, *operands, **params))


rules[jit_p.name] = rules[remat_p.name] = _check_call


def _check_cond(error, enabled, eqn, operands):
    index, *operands = operands
    branches = eqn.own_params["branches"]
    error, checked = _stage_all([_of_jaxpr(branch, enabled) for branch in branches], error, [],
                                branches[0].in_avals, branches[0].debug_info)
    params = eqn.own_params | {"branches": tuple(branch.jaxpr for branch in checked)}
    outs = cond_p.bind(index, *tree_leaves(error), *operands, **params)
    error, outs = checked[0].split(outs)
    for branch in checked[1:]:
        error = Error(error.slots, error.places | branch.result.places)
    return error, outs


rules["cond"] = _check_cond


def _check_scan(error, enabled, eqn, operands):
    """The error is one more carry."""
    params = dict(eqn.own_params)
    jaxpr, length = params["jaxpr"], params["length"]
    consts, rest = split_list(operands, [params["num_consts"]])
    before, after = split_list(jaxpr.in_avals, [params["num_consts"]])
    error, (checked,) = _stage_all([_of_jaxpr(jaxpr, enabled)], error, before, after,
                                   jaxpr.debug_info)
    leaves = tree_leaves(error)
    params |= {"jaxpr": checked.jaxpr, "num_carry": params["num_carry"] + len(leaves),
               "length": length}
    return checked.split(scan_p.bind(*consts, *leaves, *rest, **params))


rules["scan"] = _check_scan


def _check_while(error, enabled, eqn, operands):
    """The error is one more carry. What goes wrong in the condition is found out before the loop,
    and in each round for the next."""
    cond_jaxpr, body_jaxpr = eqn.own_params["cond_jaxpr"], eqn.own_params["body_jaxpr"]
    if cond_jaxpr.out_avals[0].shape:
        raise ValueError("Checkify does not support batched while-loops (checkify-of-vmap-of-"
                         "while). If possible, use vmap-of-checkify-of-while.")
    counts = eqn.own_params["cond_nconsts"], eqn.own_params["body_nconsts"]
    cond_consts, body_consts, carry = split_list(operands, counts)
    error, _ = interpret(cond_jaxpr, enabled, error, [*cond_consts, *carry])

    def body(error, consts, carry):
        cond_consts, body_consts = split_list(consts, [counts[0]])
        error, carry = interpret(body_jaxpr, enabled, error, [*body_consts, *carry])
        error, _ = interpret(cond_jaxpr, enabled, error, [*cond_consts, *carry])
        return error, carry

    def condition(error, consts, carry):
        return init_error, interpret(cond_jaxpr, enabled, error, [*consts, *carry])[1]

    avals = [*map(typeof, [*cond_consts, *body_consts])], body_jaxpr.in_avals[counts[1]:]
    error, (checked,) = _stage_all([body], error, *avals, body_jaxpr.debug_info)
    new_condition = _stage(condition, error, avals[0][:counts[0]], avals[1], cond_jaxpr.debug_info)
    return checked.split(while_p.bind(
        *cond_consts, *cond_consts, *body_consts, *tree_leaves(error), *carry,
        cond_nconsts=counts[0], cond_jaxpr=new_condition.jaxpr,
        body_nconsts=sum(counts), body_jaxpr=checked.jaxpr))


rules["while"] = _check_while

# Functions with rules of their own. The rules are not checked: apply `checkify` to the derivative.


def _stage_custom(error, enabled, eqn):
    jaxpr = eqn.own_params["call_jaxpr"]
    error, (checked,) = _stage_all([_of_jaxpr(jaxpr, enabled)], error, [], jaxpr.in_avals,
                                   jaxpr.debug_info)
    return error, checked, tree_leaves(error)


def _check_custom_jvp(error, enabled, eqn, operands):
    error, checked, leaves = _stage_custom(error, enabled, eqn)
    rule, n = eqn.own_params["jvp_jaxpr_fun"], len(leaves)
    zeros = [SymbolicZero(typeof(x).to_tangent_aval()) for x in leaves]

    def jvp(*args):
        errors, primals, _, tangents = split_list(args, [n, len(operands), n])
        outs = rule(*primals, *tangents)
        middle = len(outs) // 2
        return [*errors, *outs[:middle], *zeros, *outs[middle:]]

    outs = custom_jvp_call_p.bind(*leaves, *operands, **eqn.own_params | {
        "call_jaxpr": checked.jaxpr, "jvp_jaxpr_fun": Named(jvp, rule.name), "num_consts": 0})
    return checked.split(outs)


rules["custom_jvp_call"] = _check_custom_jvp


def _check_custom_vjp(error, enabled, eqn, operands):
    error, checked, leaves = _stage_custom(error, enabled, eqn)
    fwd, bwd, n = eqn.own_params["fwd_jaxpr_thunk"], eqn.own_params["bwd"], len(leaves)
    out_trees = eqn.own_params["out_trees"]
    zeros = [Zero(typeof(x).to_cotangent_aval()) for x in leaves]

    def new_fwd(perturbed, *args):
        outs = fwd(perturbed[n:], *args[n:])
        residuals, results = split_list(outs, [out_trees()[1].num_leaves])
        return [*residuals, *args[:n], *results]

    def new_bwd(*args):
        residuals, _, cts = split_list(args, [out_trees()[1].num_leaves, n])
        return [*zeros, *bwd(*residuals, *cts)]

    outs = custom_vjp_call_p.bind(*leaves, *operands, **eqn.own_params | {
        "call_jaxpr": checked.jaxpr, "fwd_jaxpr_thunk": Named(new_fwd, fwd.name),
        "bwd": Named(new_bwd, bwd.name), "num_consts": 0})
    return checked.split(outs)


rules["custom_vjp_call"] = _check_custom_vjp
