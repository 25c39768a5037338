"""Solutions of chapter 9."""

from __future__ import annotations

import numpy as np

from minijax import lax
from minijax.core.batching import bdim_at_front
from minijax.core.core import typeof
from minijax.core.forward import Zero, instantiate_zeros
from minijax.core.jaxpr import eval_jaxpr
from minijax.core.staging import batch_jaxpr, trace_to_jaxpr
from minijax.core.transposition import UndefinedPrimal, backward_pass
from minijax.core.util import partition_list


def my_fixpoint(depends, start):
    """Until a round adds nothing."""
    flags = list(start)
    while True:
        after = [flag or any(flags[j] for j in of) for flag, of in zip(flags, depends)]
        if after == flags:
            return flags
        flags = after


def scan_by_hand(f, init, xs, reverse=False):
    """Forwards or backwards; the results in the order of the elements."""
    carry, ys = init, [None] * len(xs)
    for i in reversed(range(len(xs))) if reverse else range(len(xs)):
        carry, ys[i] = f(carry, xs[i])
    return np.asarray(carry), np.stack([np.asarray(y) for y in ys])


def newton(a):
    """The carry is the guess; `a` is closed over."""
    far = lambda x: lax.gt(lax.abs(lax.sub(lax.mul(x, x), a)), lax.mul(1e-5, a))
    return lax.while_loop(far, lambda x: lax.mul(0.5, lax.add(x, lax.div(a, x))), a)


def _batch_predicate(axis_data, args, dims, branches):
    """All branches for all examples, then a choice."""
    index, *operands = (bdim_at_front(x, d, axis_data.size) for x, d in zip(args, dims))
    outs = []
    for i, branch in enumerate(branches):
        chosen = lax.eq(index, typeof(index).dtype.type(i))
        guarded = [select_rows(chosen, lax.stop_gradient(x), x) for x in operands]
        out_dims = (0,) * len(branch.out_avals)
        batched, _ = batch_jaxpr(branch, axis_data, (0,) * len(operands), out_dims)
        outs.append(eval_jaxpr(batched.jaxpr, batched.consts, *guarded))
    return [select_rows(index, *cases) for cases in zip(*outs)], (0,) * len(outs[0])


def select_rows(which, *cases):
    """For each example the case of its number."""
    shape = typeof(cases[0]).shape
    return lax.select_n(lax.broadcast_in_dim(which, shape, (0,)), *cases)


def _transposed_body(jaxpr, linear, nonzero_ys, in_avals, sizes):
    """One backward pass through the body, with everything in its place."""
    n_first, n_sums, n_carry, n_ys = sizes
    ends = np.cumsum([0, *sizes, len(in_avals)])

    def transposed(*args):
        first, sums, ct_carry, ct_ys, last = (
            list(args[i:j]) for i, j in zip(ends, [*ends[1:-1], len(args)]))
        known, rest_sums = iter(first + last), iter(sums)
        operands, starts = [], []
        for i, (aval, is_linear) in enumerate(zip(jaxpr.in_avals, linear)):
            operands.append(UndefinedPrimal(aval) if is_linear else next(known))
            is_sum = is_linear and sum(linear[:i]) < n_sums
            starts.append(next(rest_sums) if is_sum else None)
        found = iter(ct_ys)
        y_avals = jaxpr.out_avals[n_carry:]
        all_ys = [next(found) if nonzero else Zero(aval)
                  for nonzero, aval in zip(nonzero_ys, y_avals)]
        cts = backward_pass(jaxpr.jaxpr, jaxpr.consts, operands, ct_carry + all_ys, sums=starts)
        return [instantiate_zeros(ct) for ct in partition_list(linear, cts)[1]]

    return trace_to_jaxpr(transposed, in_avals, jaxpr.jaxpr.debug_info)
