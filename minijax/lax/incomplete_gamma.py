"""Chapter 11: the incomplete gamma function, by the two classical expansions.

P(a, x) = 1 - Q(a, x) is the cumulative distribution of the gamma distribution. With the weight
w = xᵃ exp(-x) / Γ(a), a power series gives P = w · S(a, x) where x is small, and a continued
fraction gives Q = w · F(a, x) where it is large: `igamma` and `igammac` are P and Q. Both
expansions are loops of ordinary operations, so that their derivatives by a need no expansions of
their own: they are the loops' JVPs.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .. import settings
from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.forward import defjvp, defjvp2, instantiate_zeros, jvpfun
from ..core.primitives import convert
from . import elementwise as lax
from .control_flow.while_loop import while_loop
from .families import lower_fun, lower_program, never_weak
from .reductions import reduce_or
from .selection import select
from .shaping import broadcast_shapes, broadcast_to, full_like
from .special import digamma, lgamma, special_primitive

MOST_STEPS = 10_000

# ----------------------------------------------------------------------------------------------
# The two expansions


class Expansion(NamedTuple):
    """An expansion of a function of a and x.

    Attributes:
      begin: the state before the first step, of `a` and `x`.
      step: the next state, of the number of the step, `a`, `x` and the state.
      moves: whether a step has changed the value by more than a part of it; of the states before
        and after the step, and the part.
      value: where the value is in the state.
    """

    begin: Callable
    step: Callable
    moves: Callable
    value: int


def _until_small(expansion: Expansion, a, x, rounds: int) -> tuple:
    """Repeat the step until the change of the value is negligible. A second round of as many steps
    is for derivatives, which converge later than values. An element that needs no more steps keeps
    its state: thousands of steps that another element needs would spoil it by rounding."""
    start = expansion.begin(a, x)
    eps = float(dtypes.finfo(typeof(start[0]).dtype).eps)

    def more(state):
        n, needed, old = state[0], state[1], state[2:]
        active = rounds * needed > n
        new = [select(active, y, z) for y, z in zip(expansion.step(n, a, x, *old), old)]
        # After an element has converged, its changes are rounding errors.
        large = (needed > n) & expansion.moves(old, new, eps)
        return n + 1, select(large, full_like(needed, n + 2), needed), *new

    def going_on(state):
        active = rounds * state[1] > state[0]
        return reduce_or(active, range(typeof(active).ndim)) & (state[0] < MOST_STEPS)

    return while_loop(going_on, more, (0, full_like(start[0], 1, np.int32), *start))[2:]


def _series() -> Expansion:
    """S(a, x) = 1/a + x / (a (a + 1)) + x² / (a (a + 1) (a + 2)) + …, for an x not far above a or
    1."""

    def step(n, a, x, term, total):
        term = term * x / (a + (n + 1))
        return term, total + term

    def moves(old, new, part):
        term, total = new
        return abs(term / total) > part

    return Expansion(lambda a, x: (1 / a, 1 / a), step, moves, 1)


def _continued_fraction() -> Expansion:
    """F(a, x) = 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - …))), for an x
    above a and 1. Numerators and denominators of its beginnings obey one recurrence; both are
    scaled down when they get large."""

    def begin(a, x):
        b, zero, one = x + 1 - a, full_like(x, 0), full_like(x, 1)
        return zero, one, one, b, 1 / b, one

    def step(n, a, x, p0, p1, q0, q1, value, change):
        eps = float(dtypes.finfo(typeof(x).dtype).eps)
        i = n + 1
        numerator, b = i * (a - i), x + (2 * i + 1) - a
        p, q = b * p1 + numerator * p0, b * q1 + numerator * q0
        scale = 1 / select(abs(p) > 1 / eps, abs(p), full_like(p, 1))
        new = p / q
        return p1 * scale, p * scale, q1 * scale, q * scale, new, (new - value) / new

    return Expansion(begin, step, lambda old, new, part: abs(new[-1]) > part, 4)


SERIES, CONTINUED_FRACTION = _series(), _continued_fraction()


def _value(expansion: Expansion, a, x):
    """What the expansion converges to."""
    return _until_small(expansion, a, x, rounds=1)[expansion.value]


def _differentiated(expansion: Expansion) -> Expansion:
    """The expansion whose state has the derivatives by a as well. Where a is an integer, the
    fraction ends after a steps, but its derivative does not: both must have converged."""

    def begin(a, x):
        return _with_derivatives(lambda a: [*expansion.begin(a, x)], a)

    def step(n, a, x, *state):
        state, slopes = _halves(state)
        return _with_derivatives(lambda a, *state: [*expansion.step(n, a, x, *state)], a, *state,
                                 slopes=slopes)

    def moves(old, new, part):
        (old, old_slopes), (new, slopes) = _halves(old), _halves(new)
        before, slope, value = old_slopes[at], slopes[at], new[at]
        slope_moves = abs(slope - before) > part * (abs(slope) + abs(value))
        return expansion.moves(old, new, part) | slope_moves

    at = expansion.value
    return Expansion(begin, step, moves, at)


def _halves(state) -> tuple:
    return state[:len(state) // 2], state[len(state) // 2:]


def _with_derivatives(f: Callable, a, *state, slopes=()) -> tuple:
    """The values of f(a, *state), then their derivatives by a, of which the state has `slopes`."""
    outs, tangents = jvpfun(f, [a, *state], [full_like(a, 1), *slopes])
    return *outs, *map(instantiate_zeros, tangents)


def _is_large(a, x):
    """Whether the continued fraction is the better expansion."""
    return (x >= 1) & (x > a)


def _expand(expand: Callable, a, x, large) -> tuple:
    """Both expansions; each gets harmless arguments where it is not wanted."""
    one, two = full_like(x, 1), full_like(x, 2)
    return (expand(SERIES, select(large, one, a), select(large, one, x)),
            expand(CONTINUED_FRACTION, select(large, a, one), select(large, x, two)))


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
    below, above = _expand(_value, a, x, large)
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


@public
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


@public
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


def _slope(a, x, rounds: int = 1):
    """∂P/∂a, divided by the weight w. The fraction's derivative loses digits near x = a, and the
    series' where P is nearly 1: they meet two standard deviations above the mean."""
    large = (x >= 1) & (x > a + 2 * lax.sqrt(a))

    def slope(expansion, a, x):
        shifted = a + 1 if expansion is SERIES else a
        value, slope = (part[expansion.value] for part in _halves(
            _until_small(_differentiated(expansion), shifted, x, rounds)))
        return value, slope

    (rest, rest_slope), (fraction, fraction_slope) = _expand(slope, a, x, large)
    # a S(a, x) = 1 + x S(a + 1, x): the 1/a² of a small a would cancel in S(a, x)'s derivative
    by_series = ((lax.log(x) - digamma(a + 1)) * (1 + x * rest) + x * rest_slope) / a
    by_fraction = (lax.log(x) - digamma(a)) * fraction + fraction_slope
    return select(large, -by_fraction, by_series)


def _grad_a(a, x):
    return _or_nan(lambda a, x: _weight(a, x) * _slope(a, x), a, x)


def _movement(a, x):
    """-(∂P/∂a) / (∂P/∂x), and ∂P/∂x is w / x."""
    return _or_nan(lambda a, x: -x * _slope(a, x), a, x)


def _movement_by_a(a, x):
    def derivative(a, x):
        return -x * _with_derivatives(lambda a: [_slope(a, x, rounds=2)], a)[1]

    return _or_nan(derivative, a, x)


def _or_nan(function: Callable, a, x):
    """f(a, x) inside of the domain; 0 at its end, NaN outside. There, the expansions would need all
    of their steps."""
    bad, zero, one = (x < 0) | (a <= 0) | (a != a) | (x != x), x == 0, full_like(x, 1)
    value = function(select(bad, one, a), select(bad | zero, one, x))
    return select(bad, full_like(x, math.nan), select(zero, full_like(x, 0), value))


igamma_grad_a_p = special_primitive("igamma_grad_a", 2, _in_double(_grad_a))
random_gamma_grad_p = special_primitive("random_gamma_grad", 2, _in_double(_movement), never_weak)
random_gamma_grad_by_a_p = special_primitive(
    "random_gamma_grad_by_a", 2, _in_double(_movement_by_a))


@public
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


@public
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
