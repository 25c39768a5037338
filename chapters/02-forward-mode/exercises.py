"""Exercises of chapter 2: fill in the stubs, then `python -m minijax learn check 2.1`."""

from __future__ import annotations


def quotient_tangent(x, y, x_dot, y_dot):
    """2.1: how fast x / y moves, if x moves with speed x_dot and y with speed y_dot."""
    raise NotImplementedError


def logaddexp_jvp(primals, tangents):
    """2.2: a JVP rule, `(primals, tangents) -> (result, its tangent)`, for log(exp(x) + exp(y)).

    Neither tangent is a `Zero`. Write it with the functions of `lax`, which take plain numbers as
    well as boxes. Compute the logarithm once only, and divide by nothing.
    """
    raise NotImplementedError


def derivative(f, n):
    """2.3: the n-th derivative of a function of one number, as a function (n may be 0)."""
    raise NotImplementedError


def add_tangents(x, y):
    """2.4: the sum of two tangents, either of which may be a `Zero`; zeros cost nothing."""
    raise NotImplementedError


def process_primitive(self, primitive, args, params):
    """2.5: how `JVPTrace` (which is `self`) processes a primitive."""
    raise NotImplementedError
