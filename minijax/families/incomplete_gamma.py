"""Chapter 11: the incomplete gamma function, by the two classical expansions.

P(a, x) = 1 - Q(a, x) is the cumulative distribution of the gamma distribution. With the weight
w = xᵃ exp(-x) / Γ(a), a power series gives P = w · S(a, x) where x is small, and a continued
fraction gives Q = w · F(a, x) where it is large. Both are loops of ordinary operations, so that
their derivatives by a need no expansions of their own: they are the loops' JVPs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from .. import dtypes, settings
from ..batching.rules import defbroadcasting
from ..control_flow.while_loop import while_loop
from ..core import typeof
from ..forward import jvp_flat
from ..primitives import elementwise as lax
from ..primitives.reductions import reduce_or
from ..primitives.shape_rules import (
    FLOAT,
    broadcast_shapes,
    elementwise_rule,
    make_primitive,
)
from ..primitives.shaping import broadcast_to, full_like
from ..xla.jit import apply_primitive
from ..xla.lowering import lower_fun, register_lowering
from .special import digamma

MOST_STEPS = 2000


def _until_small(step: Callable, start: tuple, size: Callable):
    """Repeat `step` on a state until `size(state)` is negligible in all elements; and then as often
    again, since derivatives converge later than values."""
    eps = float(dtypes.finfo(typeof(start[0]).dtype).eps)

    def more(state):
        n, needed, rest = state[0] + 1, state[1], step(state[0], *state[2:])
        large = size(*rest) > eps
        return n, lax.select(reduce_or(large, range(typeof(large).ndim)), n, needed), *rest

    def going_on(state):
        return (state[0] < 2 * state[1]) & (state[0] < MOST_STEPS)

    return while_loop(going_on, more, (0, 1, *start))[2:]


def series(a, x):
    """S(a, x) = 1/a + x / (a (a + 1)) + x² / (a (a + 1) (a + 2)) + …, for an x not above a or 1."""

    def step(n, term, total):
        term = term * x / (a + (n + 1))
        return term, total + term

    first = 1 / a
    return _until_small(step, (first, first), lambda term, total: abs(term / total))[1]


def continued_fraction(a, x):
    """F(a, x) = 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - …))), for an x
    above a and 1. Numerators and denominators of its beginnings obey one recurrence; both are
    scaled down when they get large."""
    eps = float(dtypes.finfo(typeof(x).dtype).eps)

    def step(n, p0, p1, q0, q1, value, change):
        i = n + 1
        numerator, b = i * (a - i), x + (2 * i + 1) - a
        p, q = b * p1 + numerator * p0, b * q1 + numerator * q0
        scale = lax.select(abs(p) > 1 / eps, full_like(p, eps), full_like(p, 1))
        new = p / q
        return p1 * scale, p * scale, q1 * scale, q * scale, new, (new - value) / new

    b, zero, one = x + 1 - a, full_like(x, 0), full_like(x, 1)
    start = zero, one, one, b, 1 / b, one
    return _until_small(step, start, lambda *state: abs(state[-1]))[4]


def _program(a, x):
    """In double precision, whatever the setting: the terms of the derivatives nearly cancel."""
    dtype = typeof(a).dtype
    shape = broadcast_shapes(typeof(a).shape, typeof(x).shape)
    with settings.enable_x64(True):
        a, x = (broadcast_to(lax.convert(y, np.dtype(np.float64)), shape) for y in (a, x))
        return lax.convert(_movement(a, x), dtype)


def _movement(a, x):
    """-(∂P/∂a) / (∂P/∂x). Where the other expansion is chosen, each gets harmless arguments."""
    large = (x > 1) & (x > a)
    one, two = full_like(x, 1), full_like(x, 2)
    log_slope = lax.log(x) - digamma(a)
    below = _slope(series, log_slope, lax.select(large, one, a), lax.select(large, one, x))
    above = _slope(continued_fraction, log_slope,
                   lax.select(large, a, one), lax.select(large, x, two))
    return lax.select(x == 0, full_like(x, 0), x * lax.select(large, above, -below))


def _slope(expansion, log_slope, a, x):
    """The derivative by a of w · expansion(a, x), divided by w; that of log w is `log_slope`."""
    value, derivative = jvp_flat(lambda a: [expansion(a, x)], [a], [full_like(a, 1)])
    return log_slope * value[0] + derivative[0]


random_gamma_grad_p = make_primitive(
    "random_gamma_grad", elementwise_rule("random_gamma_grad", [FLOAT, FLOAT]))
random_gamma_grad_p.def_impl(functools.partial(apply_primitive, random_gamma_grad_p))
defbroadcasting(random_gamma_grad_p)
register_lowering(random_gamma_grad_p, lower_fun(_program))


def random_gamma_grad(a, x):
    """How a sample `x` of the gamma distribution moves with the parameter `a`, at a fixed
    probability P(a, x), elementwise.

    Args:
      a, x: float arrays of one dtype, and of one shape or scalars.

    Returns:
      an array of their common shape.

    >>> random_gamma_grad(jnp.float32(2), jnp.float32(1)).round(3)
    Array(0.751, dtype=float32)
    """
    return random_gamma_grad_p.bind(a, x)
