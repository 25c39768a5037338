"""Exercises of chapter 10: fill in the stubs, then `python -m minijax learn check 10.1`."""

from __future__ import annotations


def safe_norm(x):
    """10.1: the length of a vector, whose gradient at zero is zero instead of NaN.

    Elsewhere the gradient is x / |x|. Forward and reverse mode must work. Decorate this function by
    `minijax.custom_jvp`, and write its rule beside it. Of use, from
    `minijax.lax`: `mul`, `div`, `sqrt`, `reduce_sum(x, (0,))`, `gt`, `select(which, x, y)`, and
    `full_like(x, value)`.
    """
    raise NotImplementedError


def straight_through(x):
    """10.2: x rounded to the nearest integer, with the gradient of the identity.

    Of use: `minijax.lax.round(x)`, and `minijax.custom_vjp`, whose method `defvjp` takes two rules.
    Decorate a function of `x` alone: the rules get all parameters, and `round` has a second one.
    """
    raise NotImplementedError


def fixed_point(f, a, x0):
    """10.3: the x with x = f(a, x), for floats, found by repeating x = f(a, x) from x0 on.

    Stop when |x - f(a, x)| < 1e-6. The gradient with respect to `a` must work. f is differentiable,
    and its slope in x is between -1 and 1. Of use, from `minijax.lax`: `sub`, `div`, `abs`, `gt`,
    `while_loop(condition, body, init)`, and `custom_root(g, x0, solve, tangent_solve)`, which finds
    an x with g(x) = 0 by `solve(g, x0)`. `tangent_solve(g, y)` solves g(x) = y for a linear g.
    """
    raise NotImplementedError


def choose_saved(jaxpr, wanted, policy):
    """10.4: what a checkpoint saves, so that the variables `wanted` can be computed again.

    `policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)` says whether the results of
    an equation may be saved. But a `broadcast_in_dim` is never saved: its operand is smaller.
    Return `(eqns, saved, eqns_again)`: the equations as they are, a list of the variables that are
    saved, and the equations that have to be done again, both in order. Equations have no effects,
    and hold no jaxprs. A `Literal` (`minijax.core.jaxpr`) need not be computed.
    """
    raise NotImplementedError


def reversible(f, f_inverse, steps):
    """10.5: a function of one array, which applies `f` to it `steps` times.

    Its gradient keeps the result only, not the value of each step: on the way back, `f_inverse`
    finds the values again, one after another. `f` and `f_inverse` map arrays to arrays of the same
    type, and `f` is differentiable. Of use: `minijax.custom_vjp`, and `minijax.vjp(f, x)`, which
    gives a pair: f(x), and the function from a cotangent to a tuple of one cotangent.
    """
    raise NotImplementedError
