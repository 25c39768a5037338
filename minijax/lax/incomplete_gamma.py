"""Chapter 11: the incomplete gamma function, by the two classical expansions.

P(a, x) = 1 - Q(a, x) is the cumulative distribution of the gamma distribution. With the weight
w = xᵃ exp(-x) / Γ(a), a power series gives P = w · S(a, x) where x is small, and a continued
fraction gives Q = w · F(a, x) where it is large: `igamma` and `igammac` are P and Q. Both
expansions are loops of ordinary operations, so that their derivatives by a need no expansions of
their own: they are the loops' JVPs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import settings
from ..core import dtypes
from ..core.core import typeof
from ..core.forward import defjvp, defjvp2, jvpfun
from ..core.primitives import convert, select
from . import elementwise as lax
from .control_flow.while_loop import while_loop
from .families import lower_fun, lower_program, never_weak
from .reductions import reduce_or
from .shaping import broadcast_shapes, broadcast_to, full_like
from .special import digamma, lgamma, special_primitive

MOST_STEPS = 10_000

# ----------------------------------------------------------------------------------------------
# The two expansions


def _until_small(step: Callable, start: tuple, size: Callable, rounds: int):
    """Repeat `step` on a state until `size(state)` is negligible. A second round of as many steps
    is for derivatives, which converge later than values. An element that needs no more steps keeps
    its state: thousands of steps that another element needs would spoil it by rounding."""
    eps = float(dtypes.finfo(typeof(start[0]).dtype).eps)

    def more(state):
        n, needed, rest = state[0], state[1], state[2:]
        active = rounds * needed > n
        rest = [select(active, new, old) for new, old in zip(step(n, *rest), rest)]
        large = active & (size(*rest) > eps)
        return n + 1, select(large, full_like(needed, n + 2), needed), *rest

    def going_on(state):
        active = rounds * state[1] > state[0]
        return reduce_or(active, range(typeof(active).ndim)) & (state[0] < MOST_STEPS)

    return while_loop(going_on, more, (0, full_like(start[0], 1, np.int32), *start))[2:]


def series(a, x, rounds: int = 1):
    """S(a, x) = 1/a + x / (a (a + 1)) + x² / (a (a + 1) (a + 2)) + …, for an x not far above a or
    1."""

    def step(n, term, total):
        term = term * x / (a + (n + 1))
        return term, total + term

    first = 1 / a
    return _until_small(step, (first, first), lambda term, total: abs(term / total), rounds)[1]


def continued_fraction(a, x, rounds: int = 1):
    """F(a, x) = 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - …))), for an x
    above a and 1. Numerators and denominators of its beginnings obey one recurrence; both are
    scaled down when they get large."""
    eps = float(dtypes.finfo(typeof(x).dtype).eps)

    def step(n, p0, p1, q0, q1, value, change):
        i = n + 1
        numerator, b = i * (a - i), x + (2 * i + 1) - a
        p, q = b * p1 + numerator * p0, b * q1 + numerator * q0
        scale = 1 / select(abs(p) > 1 / eps, abs(p), full_like(p, 1))
        new = p / q
        return p1 * scale, p * scale, q1 * scale, q * scale, new, (new - value) / new

    b, zero, one = x + 1 - a, full_like(x, 0), full_like(x, 1)
    start = zero, one, one, b, 1 / b, one
    return _until_small(step, start, lambda *state: abs(state[-1]), rounds)[4]


def _is_large(a, x):
    """Whether the continued fraction is the better expansion."""
    return (x >= 1) & (x > a)


def _expand(expand: Callable, a, x, large) -> tuple:
    """Both expansions; each gets harmless arguments where it is not wanted."""
    one, two = full_like(x, 1), full_like(x, 2)
    return (expand(series, select(large, one, a), select(large, one, x)),
            expand(continued_fraction, select(large, a, one), select(large, x, two)))


def _weight(a, x):
    """The largest numbers cancel, as far as they can, before the exponential."""
    return lax.exp(a * lax.log(x) - x - lgamma(a))


# ----------------------------------------------------------------------------------------------
# P and Q


def _probability(a, x, upper: bool):
    """Q if `upper`, else P: of the two, one is expanded and the other is 1 minus that."""
    bad = (x < 0) | (a < 0) | ((a == 0) & (x == 0)) | (a != a) | (x != x)
    certain, impossible = x == math.inf, x == 0
    if upper:
        certain = certain | (a == 0)
    special, one = certain | impossible | bad, full_like(x, 1)
    a, x = select(special, one, a), select(special, one, x)
    large = _is_large(a, x)
    below, above = _expand(lambda expansion, a, x: expansion(a, x), a, x, large)
    weight = _weight(a, x)
    overflows = large & (weight == 0)  # the fraction may
    expanded = select(overflows, full_like(x, 0), weight * select(large, above, below))
    out = select(large if upper else ~large, expanded, 1 - expanded)
    out = select(certain, full_like(x, 1 - upper), out)
    out = select(impossible, full_like(x, upper), out)
    return select(bad, full_like(x, math.nan), out)


igamma_p = special_primitive(
    "igamma", 2, lower_program(lambda a, x: _probability(a, x, upper=False)))
igammac_p = special_primitive(
    "igammac", 2, lower_program(lambda a, x: _probability(a, x, upper=True)))


def igamma(a, x):
    """The regularized lower incomplete gamma function P(a, x) = 1/Γ(a) ∫₀ˣ tᵃ⁻¹ exp(-t) dt,
    elementwise: the probability that a sample of the gamma distribution is below x.

    Args:
      a, x: float arrays of one dtype, and of one shape or scalars.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.

    >>> lax.igamma(1.0, 2.0).round(4).item()  # 1 - exp(-2)
    0.8647000193595886
    """
    return igamma_p.bind(a, x)


def igammac(a, x):
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), exact where that is
    small, elementwise.

    Args:
      a, x: float arrays of one dtype, and of one shape or scalars.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.

    >>> lax.igammac(1.0, 2.0).round(4).item()  # exp(-2)
    0.13529999554157257
    """
    return igammac_p.bind(a, x)


# ----------------------------------------------------------------------------------------------
# Derivatives


def _in_double(program: Callable) -> Callable:
    """Lowering by a program in double precision, whatever the setting: the terms of the
    derivatives nearly cancel."""

    def doubled(a, x):
        dtype = typeof(a).dtype
        shape = broadcast_shapes(typeof(a).shape, typeof(x).shape)
        with settings.enable_x64(True):
            a, x = (broadcast_to(convert(y, np.dtype(np.float64)), shape) for y in (a, x))
            return convert(program(a, x), dtype)

    return lower_fun(doubled)


def _derivative_by_a(f: Callable, a) -> tuple:
    """f(a) and f'(a)"""
    value, derivative = jvpfun(lambda a: [f(a)], [a], [full_like(a, 1)])
    return value[0], derivative[0]


def _slope(a, x, rounds: int = 2):
    """∂P/∂a, divided by the weight w. The fraction's derivative loses digits near x = a, and the
    series' where P is nearly 1: they meet two standard deviations above the mean."""
    large = (x >= 1) & (x > a + 2 * lax.sqrt(a))

    def slope(expansion, a, x):
        shifted = a + 1 if expansion is series else a
        return _derivative_by_a(lambda a: expansion(a, x, rounds=rounds), shifted)

    (rest, rest_slope), (fraction, fraction_slope) = _expand(slope, a, x, large)
    # a S(a, x) = 1 + x S(a + 1, x): the 1/a² of a small a would cancel in S(a, x)'s derivative
    by_series = ((lax.log(x) - digamma(a + 1)) * (1 + x * rest) + x * rest_slope) / a
    by_fraction = (lax.log(x) - digamma(a)) * fraction + fraction_slope
    return select(large, -by_fraction, by_series)


def _grad_a(a, x):
    return _or_nan(a, x, _weight(a, x) * _slope(a, x))


def _movement(a, x):
    """-(∂P/∂a) / (∂P/∂x), and ∂P/∂x is w / x."""
    return _or_nan(a, x, -x * _slope(a, x))


def _movement_by_a(a, x):
    return _or_nan(a, x, -x * _derivative_by_a(lambda a: _slope(a, x, rounds=3), a)[1])


def _or_nan(a, x, value):
    """`value` inside of the domain; 0 at its end, NaN outside."""
    bad = (x < 0) | (a <= 0) | (a != a) | (x != x)
    return select(bad, full_like(x, math.nan), select(x == 0, full_like(x, 0), value))


igamma_grad_a_p = special_primitive("igamma_grad_a", 2, _in_double(_grad_a))
random_gamma_grad_p = special_primitive("random_gamma_grad", 2, _in_double(_movement))
never_weak(random_gamma_grad_p)
random_gamma_grad_by_a_p = special_primitive(
    "random_gamma_grad_by_a", 2, _in_double(_movement_by_a))


def igamma_grad_a(a, x):
    """The derivative of `igamma` by `a`, elementwise.

    Args:
      a, x: float arrays of one dtype, and of one shape or scalars.

    Raises:
      TypeError: other dtypes, or shapes that do not fit.

    >>> lax.igamma_grad_a(1.0, 2.0).round(4).item()
    -0.2207999974489212
    """
    return igamma_grad_a_p.bind(a, x)


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


def _density(t, a, x):
    """t ∂P/∂x"""
    log_density = lax.sub(lax.add(lax.neg(x), lax.mul(lax.sub(a, full_like(a, 1)), lax.log(x))),
                          lgamma(a))
    return lax.mul(t, lax.exp(log_density))


def _movement_by_x(t, movement, a, x):
    """From movement · ∂P/∂x = -∂P/∂a, differentiated by x and divided by ∂P/∂x."""
    log_weight_by_a = lax.sub(lax.log(x), digamma(a))
    log_density_by_x = lax.sub(lax.div(lax.sub(a, full_like(a, 1)), x), full_like(x, 1))
    by_x = lax.neg(lax.add(log_weight_by_a, lax.mul(movement, log_density_by_x)))
    return lax.mul(t, _inside(a, x, by_x))


def _inside(a, x, derivative):
    """A derivative of the movement. On the boundary and outside it is zero, as in JAX."""
    return select((a > 0) & (x > 0), derivative, full_like(derivative, 0))


defjvp2(random_gamma_grad_p,
        lambda t, movement, a, x: lax.mul(t, _inside(a, x, random_gamma_grad_by_a_p.bind(a, x))),
        _movement_by_x)
defjvp(igamma_p, lambda t, a, x: lax.mul(t, igamma_grad_a(a, x)), _density)
defjvp(igammac_p, lambda t, a, x: lax.neg(lax.mul(t, igamma_grad_a(a, x))),
       lambda t, a, x: lax.neg(_density(t, a, x)))
