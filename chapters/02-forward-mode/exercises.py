"""Exercises of chapter 2: fill in the stubs, then `python -m minijax learn check 2.1`."""

from __future__ import annotations


def quotient_tangent(x, y, x_dot, y_dot):
    """2.1: how fast x / y moves, if x moves with speed x_dot and y with speed y_dot."""
    raise NotImplementedError


def logaddexp_jvp(primals, tangents):
    """2.2: a JVP rule, `(primals, tangents) -> (result, its tangent)`, for log(exp(x) + exp(y)).

    `primals` and `tangents` are pairs; neither tangent is a `Zero`. Write the rule with `exp`,
    `log`, `add`, `sub` and `mul` of `minijax.lax`, which take plain numbers as well as tracers.
    Compute the logarithm only once, and do not divide.
    """
    raise NotImplementedError


def derivative(f, n):
    """2.3: the n-th derivative of a function of one number, as a function (n may be 0).

    `minijax.core.forward.jvpfun(g, [x], [1.0])` gives two lists, the results of `g`, which returns
    a list, and their tangents. `minijax.lax.full_like(x, 1)` is a 1 of the type of `x`.
    """
    raise NotImplementedError


def fma_jvp(primals, tangents):
    """2.4: the JVP rule of a new primitive `fma`, which computes x * y + z.

    `primals` are x, y and z. Each of `tangents` may be a `Zero`, and zeros must cost nothing: if
    only z has a tangent, that is the result's, and no operation is applied for it. If all three are
    `Zero`s, the tangent is `Zero.from_primal_value(result)`. Of use: `add` and `mul` of
    `minijax.lax` for the result; of `minijax.core.forward`, `Zero` and `add_tangents(s, t)`, which
    adds two tangents and applies nothing if one is a `Zero`.
    """
    raise NotImplementedError


def process_primitive(self, primitive, args, params):
    """2.5: how `JVPTrace` (which is `self`) processes a primitive, with a guard against NaN.

    If the tangent of a result is not finite everywhere, though all tangents that went in are, raise
    `FloatingPointError` with a message that names the primitive. Look only at tangents that are
    neither `Zero`s nor tracers (`minijax.core.core.Tracer`): np.isfinite works for all others.

    For the rest, `self.unbox(x)` gives the primal and the tangent of an argument, and
    `self.box(primal, tangent)` a result. `self.parent` is the trace below, and
    `self.in_parent(f, *args, **params)` calls f with it as the current one. The rules are in
    `minijax.core.forward.primitive_jvps`; without one, raise
    `minijax.core.core.missing_rule(primitive, "Differentiation", 2)`. If
    `primitive.multiple_results`, a rule returns lists of results and of tangents.
    """
    raise NotImplementedError


def tanh_rule(tanh_p, primals, tangents):
    """2.6: the JVP rule of a new primitive `tanh` of tiny: its result, and the tangent of that.

    `primals` and `tangents` hold one value each, and no tangent is `None`. The derivative of tanh
    is 1 - tanh². Apply the primitive once: `tanh_p.bind(x)`. From `tiny`: `add`, `mul` and `neg`,
    which traces can follow.
    """
    raise NotImplementedError
