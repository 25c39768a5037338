"""Solutions of chapter 9."""

from __future__ import annotations

import numpy as np

import minijax
from minijax import lax
from minijax.core.batching import bdim_at_front
from minijax.core.core import typeof
from minijax.core.jaxpr import eval_jaxpr
from minijax.core.staging import batch_jaxpr


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
    """All branches for all examples, and a choice; or one branch, if all agree."""
    index, *operands = (bdim_at_front(x, d, axis_data.size) for x, d in zip(args, dims))
    out_dims = (0,) * len(branches[0].out_avals)
    batched = [batch_jaxpr(branch, axis_data, (0,) * len(operands), out_dims)[0]
               for branch in branches]
    run = [lambda *args, b=b: eval_jaxpr(b.jaxpr, b.consts, *args) for b in batched]
    first = lax.reduce_min(index, (0,))

    def each_its_own(*operands):
        outs = []
        for i, branch in enumerate(run):
            chosen = lax.eq(index, typeof(index).dtype.type(i))
            outs.append(branch(*[select_rows(chosen, lax.stop_gradient(x), x) for x in operands]))
        return [select_rows(index, *cases) for cases in zip(*outs)]

    one_for_all = lambda *operands: lax.switch(first, run, *operands)
    agreed = lax.eq(first, lax.reduce_max(index, (0,)))
    return lax.cond(agreed, one_for_all, each_its_own, *operands), out_dims


def select_rows(which, *cases):
    """For each example the case of its number."""
    shape = typeof(cases[0]).shape
    return lax.select_n(lax.broadcast_in_dim(which, shape, (0,)), *cases)


def scan_vjp(f, init, xs, ct):
    """Forwards, keeping the carries; backwards, pulling the cotangent through each step."""
    last, carries = lax.scan(lambda carry, x: (f(carry, x), carry), init, xs)

    def back(ct, kept):
        carry, x = kept
        return minijax.vjp(f, carry, x)[1](ct)

    ct_init, ct_xs = lax.scan(back, ct, (carries, xs), reverse=True)
    return last, ct_init, ct_xs
