"""Exercises of chapter 10: fill in the stubs, then `python -m minijax learn check 10.1`."""

from __future__ import annotations


def safe_norm(x):
    """10.1: the length of a vector, whose gradient at zero is zero instead of NaN.

    Elsewhere the gradient is x / |x|. Forward and reverse mode must work. You may decorate this
    function, or write others beside it. There is no jnp in this chapter: use lax.
    """
    raise NotImplementedError


def straight_through(x):
    """10.2: x rounded to the nearest integer (lax.round), with the gradient of the identity."""
    raise NotImplementedError


def fixed_point(f, a, x0):
    """10.3: the x with x = f(a, x), for floats, found by repeating x = f(a, x) from x0 on.

    Stop when |x - f(a, x)| < 1e-6. The gradient by `a` must work; f is differentiable, and its
    slope by x is less than one. `lax.custom_root` is of use.
    """
    raise NotImplementedError


def choose_saved(jaxpr, wanted, policy):
    """10.4: what a checkpoint saves, so that the variables `wanted` can be computed again.

    `policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)` says whether the results of
    an equation may be saved. Return `(eqns, saved, eqns_again)`: the equations as they are, a list
    of the variables that are saved, and the equations that have to be done again, both in order.
    Equations have no effects, and hold no jaxprs. Literals need not be computed.
    """
    raise NotImplementedError


def _jvp(primals, tangents, *, call_jaxpr, fwd_jaxpr_thunk, bwd, num_consts, out_trees,
         symbolic_zeros):
    """10.5: the rule by which a call of a `custom_vjp` function is differentiated.

    `fwd_jaxpr_thunk(nonzeros, *primals)` (nonzeros: a tuple of bools, whether each argument has a
    tangent) runs the user's fwd; it returns a list, first the residuals, then the results;
    `out_trees()[1].num_leaves` is the number of residuals. `custom_lin_p` takes the residuals and
    the tangents that are no `Zero`, with the parameters num_res, bwd, out_avals (the tangents'
    types of the results, a list), symbolic_zeros and in_zeros (a list of bools). Return the results
    and their tangents.
    """
    raise NotImplementedError
