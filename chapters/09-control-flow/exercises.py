"""Exercises of chapter 9: fill in the stubs, then `python -m minijax learn check 9.1`."""

from __future__ import annotations


def my_fixpoint(depends, start):
    """9.1: which carries of a loop have a tangent in the end.

    `start` says for each carry whether it has one at first. `depends[i]` lists the numbers of the
    carries that the new value of carry i is computed from. Return a list of bools.
    """
    raise NotImplementedError


def scan_by_hand(f, init, xs, reverse=False):
    """9.2: what scan(f, init, xs, reverse=reverse) gives, by a Python loop.

    `xs` is a NumPy array, `f` takes and returns pairs of arrays (no trees). Return the last carry
    and the stacked results, as NumPy arrays.
    """
    raise NotImplementedError


def newton(a):
    """9.3: the square root of a positive float, by a `lax.while_loop`.

    Begin at x = a and repeat x = (x + a/x) / 2 while |x² - a| > 1e-5 a. Forward mode must work.
    """
    raise NotImplementedError


def _batch_predicate(axis_data, args, dims, branches):
    """9.4: the batching rule of `cond` when the index is batched.

    `args` are the index and the operands, `dims` their batch dimensions, `branches` closed jaxprs.
    Return the results and their batch dimensions. Of use: `bdim_at_front(x, dim, size)` and
    `axis_data.size` (chapter 4), `batch_jaxpr(branch, axis_data, in_dims, out_dims)` (gives a pair,
    of which the first is the batched jaxpr), `eval_jaxpr`, and `select_rows(which, *cases)` below.
    """
    raise NotImplementedError


def select_rows(which, *cases):
    """For each example the case of its number; everything is batched in front."""
    from minijax import lax
    from minijax.core.core import typeof

    shape = typeof(cases[0]).shape
    return lax.select_n(lax.broadcast_in_dim(which, shape, (0,)), *cases)


def _transposed_body(jaxpr, linear, nonzero_ys, in_avals, sizes):
    """9.5: the body of the scan that runs backwards, as a closed jaxpr.

    `jaxpr` is the forward body: (consts, carry, xs) -> (carry, ys). `linear` says for each of its
    arguments whether it is linear; `nonzero_ys` for each y whether it has a cotangent. The new body
    takes five groups of arguments, of the types `in_avals`:
        the consts that are not linear; sums of cotangents for those that are; the cotangents of the
        carry; the cotangents of those ys that have one; and the xs that are not linear.
    `sizes` are the lengths of the first four. It returns the cotangents of the linear consts (with
    the sums added), of the carry, and of the linear xs. `trace_to_jaxpr(function, in_avals)` makes
    a closed jaxpr; `backward_pass` is chapter 8's (`sums` is for the constants).
    """
    raise NotImplementedError
