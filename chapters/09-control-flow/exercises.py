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
    `minijax.lax` has `while_loop(condition, body, init)`, `add`, `sub`, `mul`, `div`, `abs`, `gt`.
    """
    raise NotImplementedError


def _batch_predicate(axis_data, args, dims, branches):
    """9.4: the batching rule of `cond` when the index is batched, with a shortcut.

    `args` are the index and the operands, `dims` their batch dimensions, `branches` closed jaxprs.
    Return the results and their batch dimensions. In general all branches run for all examples, and
    each example selects. But if all examples have the same index when the program runs, only that
    branch must run: let a `lax.cond` decide.

    Of use: `bdim_at_front(x, dim, axis_data.size)` of `minijax.core.batching`; `batch_jaxpr(branch,
    axis_data, in_dims, out_dims)` of `minijax.core.staging`, which takes tuples of dimensions and
    gives a pair, of which the first is the batched closed jaxpr; `eval_jaxpr(jaxpr, consts, *args)`
    of `minijax.core.jaxpr`, which gives a list; `cond(p, true_fun, false_fun, *operands)`,
    `switch(index, functions, *operands)`, `reduce_max(x, axes)`, `reduce_min(x, axes)` and `eq(x,
    y)` of `minijax.lax`; and `select_rows(which, *cases)` below. An index has a type, which is
    `minijax.typeof(index).dtype`. An infinite derivative of a branch that is not chosen must not
    reach the operands: give it `stop_gradient(x)` there.
    """
    raise NotImplementedError


def select_rows(which, *cases):
    """For each example the case of its number; everything is batched in front."""
    from minijax import lax
    from minijax.core.core import typeof

    shape = typeof(cases[0]).shape
    return lax.select_n(lax.broadcast_in_dim(which, shape, (0,)), *cases)


def scan_vjp(f, init, xs, ct):
    """9.5: the gradient of a loop, by two loops: one that runs forwards, and one that runs back.

    `f(carry, x)` gives the new carry; there are no other results. `init` is a number, `xs` a vector
    of numbers. `ct` is the cotangent of the last carry. Return the last carry, the cotangent of
    `init`, and those of `xs`.
    The first `lax.scan` keeps each carry as it was before its step. The second has the cotangent as
    its carry, and `reverse=True`; `minijax.vjp(f, carry, x)` gives a pair, of which the second is
    the function from a cotangent to those of carry and x.
    """
    raise NotImplementedError
