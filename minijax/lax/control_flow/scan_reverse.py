"""Chapter 9: `scan` in reverse mode, its partial evaluation and its transposition.

    partial evaluation:  scan[f]  →  scan[known half], which stacks up residuals; scan[unknown half]
    transposition:       scan[f]  →  scan[transpose f] in the other direction
"""

from typing import NamedTuple

from ...core.calls import around
from ...core.core import ShapedArray, typeof
from ...core.forward import Zero, zeros
from ...core.jaxpr import ClosedJaxpr, DropVar, eval_jaxpr
from ...core.partial_eval import (
    default_partial_eval,
    partial_eval_jaxpr,
    partial_eval_rules,
    without_dead_code,
)
from ...core.staging import jaxpr_of, weakref_cache
from ...core.transposition import (
    TransposeOfZeros,
    UndefinedPrimal,
    backward_pass,
    is_undefined_primal,
    primitive_transposes,
)
from ...core.util import merge_lists, partition_list, split_list
from ...text.printing import unused_binders
from ..out_shardings import cotangent_aval
from .common import fixpoint, move_inputs
from .scan import scan_p, without_leading

# ----------------------------------------------------------------------------------------------
# Partial evaluation


class Halves(NamedTuple):
    """A body split into what can be known and what can not.

    The residuals, which the unknown half takes besides its own arguments, are of four kinds: known
    constants and known `xs` as they are, results of `invariant`, and more `ys` of `known`.
    """

    unknown_args: tuple[bool, ...]  # more than was asked for: all carries that are ever unknown
    unknown_outs: tuple[bool, ...]
    # Known constants to the invariant residuals, and to what is known of the constants of `known`.
    invariant: ClosedJaxpr
    known_consts: tuple[int | None, ...]  # the constants of `known`, by number; `None`: computed
    known: ClosedJaxpr  # constants, known carries and `x`s to known results and stacked residuals
    unknown: ClosedJaxpr  # invariant residuals, unknown arguments, stacked residuals to results
    sources: tuple[int | None, ...]  # residuals that are known arguments, by number
    stacked: tuple[bool, ...]  # for each residual whether it differs from step to step


def _ever_unknown(jaxpr, unknown, num_consts, num_carry):
    """`unknown`, with the carries added that a step makes unknown; and `partial_eval_jaxpr`."""
    consts, carry, xs = split_list(unknown, [num_consts, num_carry])
    no_ys = (False,) * (len(jaxpr.outvars) - num_carry)

    def body_halves(carry):
        return partial_eval_jaxpr(jaxpr, (*consts, *carry, *xs), (*carry, *no_ys))

    carry = fixpoint(lambda carry: body_halves(carry).out_unknowns[:num_carry], carry)
    return (*consts, *carry, *xs), body_halves(carry)


@weakref_cache
def _halves(jaxpr, unknown, num_consts, num_carry) -> Halves:
    """Split a body by which arguments are unknown to begin with."""
    unknown, (known, unknown_body, unknown_outs, sources) = _ever_unknown(
        jaxpr, unknown, num_consts, num_carry)
    n_outs, n_known = unknown_outs.count(False), [
        group.count(False) for group in split_list(unknown, [num_consts, num_carry])]
    # A residual that is a carry is another one in each step: it has to be stacked.
    is_carry = [i is not None and n_known[0] <= i < sum(n_known[:2]) for i in sources]
    computed = iter(range(n_outs, len(known.outvars)))
    result_vars = [known.invars[i] if carry else known.outvars[next(computed)]
                   for i, carry in zip(sources, is_carry) if carry or i is None]
    sources = tuple(None if carry else i for i, carry in zip(sources, is_carry))
    known = ClosedJaxpr(
        known.jaxpr.replace(outvars=known.jaxpr.outvars[:n_outs] + result_vars), known.consts)
    # What depends on constants alone is the same in each step: it leaves the loop.
    # What a reference holds may differ from step to step.
    invariant, known, depends, known_consts = partial_eval_jaxpr(
        known, tuple(i >= n_known[0] or _is_reference(aval)
                     for i, aval in enumerate(known.in_avals)),
        (True,) * n_outs + (False,) * len(result_vars))
    invariant, known = without_dead_code(invariant), _without_unread(without_dead_code(known))
    varies = iter(depends[n_outs:])
    stacked = tuple(next(varies) if i is None else i >= sum(n_known[:2]) for i in sources)
    order = _stacked_last(stacked, len(unknown_body.invars))
    return Halves(unknown, unknown_outs, invariant, known_consts, known,
                  move_inputs(unknown_body, order), sources, stacked)


def _without_unread(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The jaxpr, with a `DropVar` for each result that nothing reads, of a write for instance."""
    unread = {*unused_binders(closed.jaxpr)}
    eqns = [eqn if unread.isdisjoint(eqn.outvars) else eqn.replace(
        outvars=[DropVar(v.aval) if v in unread else v for v in eqn.outvars])
        for eqn in closed.eqns]
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _is_reference(aval) -> bool:
    """Whether a constant of a loop is no array but a place, as in chapter 15."""
    return not isinstance(aval, ShapedArray)


def _stacked_last(stacked, n) -> tuple[int, ...]:
    """The order of `n` arguments, residuals first, that brings the stacked ones to the end."""
    invariant, last = partition_list(stacked, range(len(stacked)))
    return (*invariant, *range(len(stacked), n), *last)


def _run_known_half(args, unknown, params):
    """Run as much of a scan as depends on known arguments alone.

    Returns:
      `(known_outs, rest_args, rest_params, unknown_outs)`: the scan with `rest_params` of
      `rest_args`, known and unknown ones, has the results that are unknown.
    """
    jaxpr, num_consts, num_carry = (params[k] for k in ("jaxpr", "num_consts", "num_carry"))
    halves = _halves(jaxpr, tuple(unknown), num_consts, num_carry)
    known_args, unknown_args = partition_list(halves.unknown_args, args)
    counts = [(group.count(False), group.count(True))
              for group in split_list(halves.unknown_args, [num_consts, num_carry])]
    consts, others = split_list(known_args, [counts[0][0]])
    consts, refs = partition_list([_is_reference(typeof(x)) for x in consts], consts)
    once = eval_jaxpr(halves.invariant.jaxpr, halves.invariant.consts, *consts)
    invariant, computed = split_list(once, [len(once) - halves.known_consts.count(None)])
    rest = iter(computed)
    consts = [next(rest) if i is None else consts[i] for i in halves.known_consts] + refs
    outs = []
    if halves.known.outvars or halves.known.effects:
        outs = scan_p.bind(*consts, *others, **params | {
            "jaxpr": halves.known, "num_consts": len(consts), "num_carry": counts[1][0]})
    known_outs, stacked = split_list(outs, [halves.unknown_outs.count(False)])
    rest = {False: iter(invariant), True: iter(stacked)}
    residuals = [next(rest[varies]) if i is None else known_args[i]
                 for i, varies in zip(halves.sources, halves.stacked)]
    invariant, stacked = partition_list(halves.stacked, residuals)
    rest_params = params | {"jaxpr": halves.unknown, "num_carry": counts[1][1],
                            "num_consts": len(invariant) + counts[0][1]}
    return known_outs, [*invariant, *unknown_args, *stacked], rest_params, halves.unknown_outs


def _partial_eval(trace, primitive, args, params):
    """Two scans: the known one runs now and stacks up residuals, the unknown one takes them."""
    known_outs, rest_args, rest_params, unknown_outs = _run_known_half(
        args, map(trace.is_unknown, args), params)
    outs = []
    if any(unknown_outs) or rest_params["jaxpr"].effects:
        outs = default_partial_eval(trace, scan_p, rest_args, rest_params)
    return merge_lists(unknown_outs, known_outs, outs)


partial_eval_rules[scan_p] = around("partial evaluation", scan_p, _partial_eval)

# ----------------------------------------------------------------------------------------------
# Transposition


def _transpose(cts, *args, jaxpr, num_consts, num_carry, reverse, **params):
    """A scan the other way round, which carries the cotangents of the carry and of the constants.

        body:        res  consts  carry  x  res             →  carry  y
        transposed:  res  [ct_consts  ct_carry]  ct_y  res  →  [ct_consts  ct_carry]  ct_x

    where `res` is not linear. (A carry that starts as zeros is a known value, but linear as soon as
    it has been through the body.)
    """
    linear = tuple(map(is_undefined_primal, args))
    if not all(linear[num_consts:num_consts + num_carry]):
        linear, _ = _ever_unknown(jaxpr, linear, num_consts, num_carry)
        if not all(linear[num_consts:num_consts + num_carry]):
            return _transpose_unknown_half(cts, args, params | {
                "jaxpr": jaxpr, "num_consts": num_consts, "num_carry": num_carry,
                "reverse": reverse})
    # Accumulators outside of the loop are passed in, like the values that are not linear.
    outside = [is_undefined_primal(x) and type(x) is not UndefinedPrimal for x in args]
    kinds = tuple(type(x) if out else UndefinedPrimal if is_linear else None
                  for x, out, is_linear in zip(args, outside, linear))
    args = [x.ref if out else x for x, out in zip(args, outside)]
    linear = tuple(kind is UndefinedPrimal for kind in kinds)
    consts, _, xs = split_list(zip(linear, args), [num_consts, num_carry])
    first, last = ([x for is_linear, x in group if not is_linear] for group in (consts, xs))
    ct_carry, ct_ys = split_list(cts, [num_carry])
    ct_carry = [*map(_with_zeros, ct_carry)]
    ct_consts = [zeros(cotangent_aval(x.aval)) for is_linear, x in consts if is_linear]
    nonzero_ys = tuple(type(ct) is not Zero for ct in ct_ys)
    ct_ys = partition_list(nonzero_ys, ct_ys)[1]
    once = [*map(typeof, [*first, *ct_consts, *ct_carry])]
    in_avals = (*once, *(without_leading(typeof(x)) for x in [*ct_ys, *last]))
    sizes = len(first), len(ct_consts), num_carry, len(ct_ys)
    outs = scan_p.bind(
        *first, *ct_consts, *ct_carry, *ct_ys, *last, reverse=not reverse,
        jaxpr=_transposed_body(jaxpr, kinds, nonzero_ys, in_avals, sizes),
        num_consts=len(first), num_carry=len(ct_consts) + num_carry, **params)
    ct_args = merge_lists(linear, [None] * linear.count(False), outs)
    return [ct if is_undefined_primal(x) else None for x, ct in zip(args, ct_args)]


@weakref_cache
def _transposed_body(jaxpr, kinds, nonzero_ys, in_avals, sizes) -> ClosedJaxpr:
    """One step backwards: cotangents of the results of a step to those of its linear arguments."""
    zero_ys = [Zero(aval) for nonzero, aval in
               zip(nonzero_ys, jaxpr.out_avals[-len(nonzero_ys):]) if not nonzero]
    linear = [kind is UndefinedPrimal for kind in kinds]
    values = partition_list(linear, zip(kinds, jaxpr.in_avals))[0]
    x_avals = partition_list(linear, jaxpr.in_avals)[1][sum(sizes[1:3]):]

    def transposed(*args):
        first, ct_consts, ct_carry, ct_ys, last = split_list(args, sizes)
        avals = [cotangent_aval(typeof(ct)) for ct in ct_consts + ct_carry] + x_avals
        undefined = [*map(UndefinedPrimal, avals)]
        passed = [kind(aval, x) if kind else x for x, (kind, aval) in zip(first + last, values)]
        ct_args = backward_pass(
            jaxpr.jaxpr, jaxpr.consts, merge_lists(linear, passed, undefined),
            ct_carry + merge_lists(nonzero_ys, zero_ys, ct_ys),
            sums=merge_lists(linear, [None] * linear.count(False),
                       ct_consts + [None] * (len(undefined) - len(ct_consts))))
        return [*map(_with_zeros, partition_list(linear, ct_args)[1])]

    return jaxpr_of(transposed, in_avals, jaxpr.debug_info)


def _with_zeros(ct):
    """A cotangent, which may be a `Zero` with the type of its primal, as a value."""
    return zeros(cotangent_aval(ct.aval)) if type(ct) is Zero else ct


def _transpose_unknown_half(cts, args, params):
    """Run the part of a scan that is not linear, such as a counter; transpose what is left."""
    linear = [*map(is_undefined_primal, args)]
    _, rest_args, rest_params, unknown_outs = _run_known_half(args, linear, params)
    ct_args = _transpose(partition_list(unknown_outs, cts)[1], *rest_args, **rest_params)
    linear_cts = [ct for x, ct in zip(rest_args, ct_args) if is_undefined_primal(x)]
    return merge_lists(linear, [None] * linear.count(False), linear_cts)


# As in JAX: there may be rules of users in the loop.
primitive_transposes[scan_p] = TransposeOfZeros(_transpose)
