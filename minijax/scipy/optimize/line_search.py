"""How far to go along a direction: a step that fulfils Wolfe's conditions.

Nocedal and Wright, "Numerical Optimization", 2006, algorithms 3.5 and 3.6. All branches of the
algorithms are computed, and `where` chooses: so the search can be compiled, and is one loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import numpy as jnp
from ...core import dtypes
from ...core.api import value_and_grad
from ...core.tree import tree_map
from ...lax.control_flow.while_loop import while_loop
from ...lax.precision import Precision

SUFFICIENT_DECREASE = 1e-4
CURVATURE = 0.9
MOST_ZOOMS = 30


def dot(x, y):
    """The product of matrices or vectors, in the highest precision."""
    return jnp.dot(x, y, precision=Precision.HIGHEST)


class Point(NamedTuple):
    """Where along the direction, with the function's value and its derivative by the step."""

    step: Any
    value: Any
    slope: Any


class Found(NamedTuple):
    """A point, and the gradient there."""

    point: Point
    gradient: Any


class Result(NamedTuple):
    """What the search found. `status`: 0, 1 for a failed zoom, 3 for too many steps."""

    failed: Any
    evaluations: Any
    step: Any
    value: Any
    gradient: Any
    status: Any


class _Search(NamedTuple):
    done: Any
    failed: Any
    i: Any
    evaluations: Any
    last: Point
    best: Found


class _Zoom(NamedTuple):
    done: Any
    failed: Any
    j: Any
    low: Point
    high: Point
    recent: Point
    best: Found


def choose(condition, new, old):
    """`jnp.where` for pytrees."""
    return tree_map(lambda x, y: jnp.where(condition, x, y), new, old)


def line_search(fun: Callable, x, direction, value, gradient, old_value=None,
                maxiter: int = 10) -> Result:
    """A step along `direction` that lowers the function enough, to where it is flat enough.

    Args:
      fun: the function, of vectors.
      x, direction: vectors.
      value, gradient: of the function at `x`.
      old_value: the function's value one iteration before, from which the first step is guessed.
      maxiter: how often the step is doubled, at most.
    """
    slope = jnp.real(dot(gradient, direction))

    def evaluate(step) -> Found:
        new_value, new_gradient = value_and_grad(fun)(x + step * direction)
        new_slope = jnp.real(dot(new_gradient, direction)).astype(slope.dtype)
        return Found(Point(step, new_value.astype(value.dtype), new_slope),
                     new_gradient.astype(gradient.dtype))

    def too_high(point: Point):
        return point.value > value + SUFFICIENT_DECREASE * point.step * slope

    def flat(point: Point):
        return abs(point.slope) <= -CURVATURE * slope

    def expand(state: _Search) -> _Search:
        step = jnp.where(state.i == 1, first_step, state.last.step * 2)
        trial = evaluate(step)
        here = trial.point
        beyond = too_high(here) | (here.value >= state.last.value) & (state.i > 1)
        found = flat(here) & ~beyond
        rising = (here.slope >= 0) & ~beyond & ~found
        up = _zoom(evaluate, too_high, flat, state.last, here, gradient, beyond)
        down = _zoom(evaluate, too_high, flat, here, state.last, gradient, rising)
        best = choose(beyond, up.best, state.best)
        best = choose(rising, down.best, choose(found, trial, best))
        return _Search(done=beyond | found | rising | state.done,
                       failed=(beyond & up.failed) | (rising & down.failed) | state.failed,
                       i=state.i + 1, evaluations=state.evaluations + 1 + up.j + down.j,
                       last=here, best=best)

    first_step = _first_step(value, slope, old_value).astype(direction.dtype)
    start = Point(jnp.zeros_like(first_step), value, slope)
    state = while_loop(
        lambda state: ~state.done & (state.i <= maxiter) & ~state.failed, expand,
        _Search(False, False, 1, 0, start, Found(start, gradient)))
    status = jnp.where(state.failed, 1, jnp.where(state.i > maxiter, 3, 0))
    return Result(state.failed | ~state.done, state.evaluations,
                  _not_too_small(state.best.point.step), state.best.point.value,
                  state.best.gradient, status)


def _first_step(value, slope, old_value):
    """As far as the last decrease suggests, if the function were a parabola; at most 1."""
    if old_value is None:
        return jnp.ones_like(slope)
    guess = 1.01 * 2 * (value - old_value) / slope
    return jnp.where(guess > 1, 1.0, guess)


def _not_too_small(step):
    """In less than double precision, a tiny step would be rounded to nothing."""
    is_tiny = (dtypes.finfo(step.dtype).bits != 64) & (abs(step) < 1e-8)
    return jnp.where(is_tiny, jnp.sign(step) * 1e-8, step)


def _zoom(evaluate: Callable, too_high: Callable, flat: Callable, low: Point, high: Point,
          gradient, wanted) -> _Zoom:
    """A good step between those of `low` and `high`; nothing is done if it is not `wanted`."""
    threshold = 1e-5 if dtypes.finfo(low.step.dtype).bits < 64 else 1e-10

    def shrink(state: _Zoom) -> _Zoom:
        low, high = state.low, state.high
        trial = evaluate(_between(state))
        here = trial.point
        lower_end = too_high(here) | (here.value >= low.value)
        found = flat(here) & ~lower_end
        upper_end = ~lower_end & ~found
        turned = (here.slope * (high.step - low.step) >= 0) & upper_end
        closed = (high.step - low.step <= threshold) | (state.j + 1 >= MOST_ZOOMS)
        return _Zoom(
            done=found | state.done, failed=state.failed | closed, j=state.j + 1,
            low=choose(upper_end, here, low),
            high=choose(lower_end, here, choose(turned, low, high)),
            recent=choose(lower_end | turned, high, choose(upper_end, low, state.recent)),
            best=choose(found, trial, state.best))

    middle = Point((low.step + high.step) / 2, (low.value + high.value) / 2, low.slope)
    best = Found(Point(jnp.ones_like(low.step), low.value, low.slope), gradient)
    return while_loop(lambda state: ~state.done & wanted & ~state.failed, shrink,
                      _Zoom(False, False, 0, low, high, middle, best))


def _between(state: _Zoom):
    """The minimum of the cubic through the last points, or of the parabola through two, or the
    middle: the first that is well inside of the interval."""
    low, high = state.low, state.high
    width = high.step - low.step
    left, right = jnp.minimum(low.step, high.step), jnp.maximum(low.step, high.step)
    cubic, parabola = _cubic_minimum(low, high, state.recent), _parabola_minimum(low, high)
    use_cubic = ((state.j > 0) & (cubic > left + 0.2 * width) & (cubic < right - 0.2 * width))
    use_parabola = (parabola > left + 0.1 * width) & (parabola < right - 0.1 * width)
    middle = (low.step + high.step) / 2
    return jnp.where(use_cubic, cubic, jnp.where(use_parabola, parabola, middle))


def _cubic_minimum(a: Point, b: Point, c: Point):
    """Of the cubic with the slope of `a` and the values of all three."""
    to_b, to_c = b.step - a.step, c.step - a.step
    denominator = (to_b * to_c) ** 2 * (to_b - to_c)
    excess_b = b.value - a.value - a.slope * to_b
    excess_c = c.value - a.value - a.slope * to_c
    cubic = (to_c**2 * excess_b - to_b**2 * excess_c) / denominator
    square = (to_b**3 * excess_c - to_c**3 * excess_b) / denominator
    root = jnp.sqrt(square * square - 3.0 * cubic * a.slope)
    return a.step + (root - square) / (3.0 * cubic)


def _parabola_minimum(a: Point, b: Point):
    """Of the parabola with the slope of `a` and both values."""
    width = b.step - a.step
    square = (b.value - a.value - a.slope * width) / width**2
    return a.step - a.slope / (2.0 * square)
