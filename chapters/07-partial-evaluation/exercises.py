"""Exercises of chapter 7: fill in the stubs, then `python -m minijax learn check 7.1`."""

from __future__ import annotations


def known_outputs(jaxpr, known):
    """7.1: for each result of `jaxpr`, whether it is known, given which arguments are.

    `jaxpr` is a `Jaxpr` (with `invars`, `constvars`, `eqns` and `outvars`), `known` a list of bools
    for `invars`. Constants and literals are known. Evaluate nothing.
    """
    raise NotImplementedError


def residual_count(f, x):
    """7.2: how many numbers (not arrays!) the derivative of `f` at `x` keeps.

    `f` takes one array and returns a list of arrays. Use `linearize_flat`; what it returns has
    `consts`.
    """
    raise NotImplementedError


def specialize(f, x, y_aval):
    """7.3: the closed jaxpr of y -> f(x, y) for a known `x`, with all that is known computed.

    `f` takes two arrays and returns one, which depends on y; `y_aval` is the type of y.
    """
    raise NotImplementedError


def dce_jaxpr(jaxpr, used_outputs, keep_inputs=False):
    """7.4: the jaxpr without the equations that its used outputs do not need.

    Return the new `Jaxpr` and, for each argument, whether it is still one: whether it is needed, or
    all are to be kept (`keep_inputs`, a bool). Equations with `effects` stay.
    """
    raise NotImplementedError


def process_primitive(self, primitive, args, params):
    """7.5: how `JaxprTrace` (which is `self`) processes a primitive."""
    raise NotImplementedError
