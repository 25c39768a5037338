"""Chapter 16: ordinary differential equations, y'(t) = func(y, t).

The method is that of Dormand and Prince (1980). Each step evaluates the slope at seven points, and
adds them up with two sets of weights, to results of order 5 and 4. Their difference tells the
error: the step is taken if it is small enough, and the next one is as long as it allows. Between
the steps, a polynomial of degree 4 gives the values that were asked for.

A loop of unknown length has no reverse derivative. But the derivative of a solution solves an
equation itself, the adjoint one (Pontryagin, 1962; Chen et al., 2018), which runs backwards in
time: so `odeint` has a rule of its own, which calls `odeint`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.api import vjp, vmap
from ..core.boundary import public
from ..core.operators import promote_dtypes_inexact
from ..core.tree import tree_leaves, tree_map
from ..custom_rules import closure_convert, custom_vjp
from ..lax.control_flow.fori_loop import fori_loop
from ..lax.control_flow.scan import scan
from ..lax.control_flow.while_loop import while_loop
from ..lax.precision import default_matmul_precision
from ..numpy._ravel import ravel_pytree
from ..pytree.arguments import valid_jaxtype
from ..runtime.jit import jit

# ----------------------------------------------------------------------------------------------
# The method's numbers. Row i of STAGES: the weights of the slopes so far in the i-th point.

TIMES = [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]
STAGES = np.array([
    [0, 0, 0, 0, 0, 0, 0],
    [1 / 5, 0, 0, 0, 0, 0, 0],
    [3 / 40, 9 / 40, 0, 0, 0, 0, 0],
    [44 / 45, -56 / 15, 32 / 9, 0, 0, 0, 0],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0, 0],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0, 0],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0],
])
ORDER_5 = STAGES[-1]
ORDER_4 = np.array([1951 / 21600, 0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60])
# In the middle of a step (Shampine, 1986).
MIDDLE = [6025192743 / 30085553152 / 2, 0, 51252292925 / 65400821598 / 2,
          -2691868925 / 45128329728 / 2, 187940372067 / 1594534317056 / 2,
          -1776094331 / 19743644256 / 2, 11237099 / 235043384 / 2]


@public
def odeint(func: Callable, y0: Any, t: Any, *args: Any, rtol=1.4e-8, atol=1.4e-8, mxstep=np.inf,
           hmax=np.inf) -> Any:
    """The solution of y'(t) = func(y, t, *args), from y0 at the first of the times.

    Args:
      func: returns a pytree like `y0`.
      y0: a pytree of arrays.
      t: the increasing times, f[n], at which the solution is wanted.
      *args: pytrees of arrays; derivatives reach them, and the arrays that `func` closed over.
      rtol, atol: how large the error of a step may be, relative and absolute.
      mxstep: how many steps may lead from one time to the next.
      hmax: how long a step may be.

    Returns:
      a pytree like `y0`, each array with a new first dimension of size n.

    Raises:
      TypeError: times that are not floats, or arguments that are no arrays.

    >>> from minijax.experimental.ode import odeint
    >>> odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0, 2.0])).round(4).tolist()
    [1.0, 0.367..., 0.135...]
    """
    for arg in tree_leaves(args):
        if not valid_jaxtype(arg):
            raise TypeError(f"odeint: further arguments must be arrays or numbers, but got {arg}.")
    if not dtypes.issubdtype(t.dtype, np.floating):
        raise TypeError(f"odeint: t must be an array of floats, but got {t}.")
    converted, consts = closure_convert(func, y0, t[0], *args)
    return _odeint_of_trees(converted, rtol, atol, mxstep, hmax, y0, t, *args, *consts)


@functools.partial(jit, static_argnums=(0, 1, 2, 3, 4))
def _odeint_of_trees(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    """All arrays of `y0` as one vector."""
    y0, unravel = ravel_pytree(y0)
    if not dtypes.issubdtype(y0.dtype, np.inexact):
        raise TypeError(f"odeint: y0 must be floating or complex, got {y0.dtype.name}.")

    def flat_func(y, t, *args):
        return ravel_pytree(func(unravel(y), t, *args))[0]

    with default_matmul_precision("highest"):
        ys = _odeint(flat_func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return vmap(unravel)(ys)


# ----------------------------------------------------------------------------------------------
# The solver, for a vector y


class Progress(NamedTuple):
    """How far the solver is, and a polynomial for the last step that it took."""

    y: Any  # at the time t
    slope: Any  # y' there
    t: Any
    dt: Any  # the length of the next step
    last_t: Any  # where the last step began
    polynomial: Any  # [5, n]: coefficients of powers of (time - last_t) / (t - last_t)


@functools.partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _odeint(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    def slope(y, t):
        return func(y, t, *args)

    def step_until(target, progress: Progress) -> Progress:
        def not_there(state):
            steps, progress = state
            return (progress.t < target) & (steps < mxstep) & (progress.dt > 0)

        def body(state):
            steps, progress = state
            return steps + 1, _try_step(slope, rtol, atol, hmax, progress)

        return while_loop(not_there, body, (0, progress))[1]

    def to_next_time(progress, target):
        progress = step_until(target, progress)
        place = (target - progress.last_t) / (progress.t - progress.last_t)
        y = jnp.polyval(progress.polynomial, place.astype(y0.dtype))
        return progress, y

    _, ys = scan(to_next_time, _start(slope, y0, ts[0], rtol, atol, hmax), ts[1:])
    return jnp.concatenate((y0[None], ys))


def _start(slope: Callable, y0, t0, rtol, atol, hmax) -> Progress:
    f0 = slope(y0, t0)
    dt = jnp.clip(initial_step_size(slope, t0, y0, 4, rtol, atol, f0), min=0.0, max=hmax)
    return Progress(y0, f0, t0, dt, t0, jnp.array([y0] * 5))


def _try_step(slope: Callable, rtol, atol, hmax, now: Progress) -> Progress:
    """A step, if its error is small enough; in any case a better `dt`."""
    y, new_slope, error, slopes = runge_kutta_step(slope, now.y, now.slope, now.t, now.dt)
    ratio = mean_error_ratio(error, rtol, atol, now.y, y)
    dt = jnp.clip(optimal_step_size(now.dt, ratio), min=0.0, max=hmax)
    polynomial = interp_fit_dopri(now.y, y, slopes, now.dt)
    taken = Progress(y, new_slope, now.t + now.dt, dt, now.t, polynomial)
    return tree_map(functools.partial(jnp.where, ratio <= 1.0), taken, now._replace(dt=dt))


def runge_kutta_step(func: Callable, y0, f0, t0, dt):
    """One step of length `dt` from `y0`, where the slope is `f0`.

    Returns:
      y and the slope at t0 + dt, the estimated error, and all slopes, [7, n].
    """
    step = dt.astype(f0.dtype)
    times = jnp.array(TIMES, dtype=dt.dtype)
    stages, order_5, error = (jnp.array(weights, dtype=f0.dtype) for weights in (
        STAGES, ORDER_5, ORDER_5 - ORDER_4))

    def stage(i, slopes):
        y = y0 + step * jnp.dot(stages[i], slopes)
        return slopes.at[i].set(func(y, t0 + dt * times[i]))

    slopes = jnp.zeros((7, f0.shape[0]), f0.dtype).at[0].set(f0)
    slopes = fori_loop(1, 7, stage, slopes)
    y1 = step * jnp.dot(order_5, slopes) + y0
    return y1, slopes[-1], step * jnp.dot(error, slopes), slopes


def interp_fit_dopri(y0, y1, k, dt):
    """The polynomial that goes through a step's start, middle and end, and has the slopes `k[0]`
    and `k[-1]` at the ends: [5, n], coefficients of the powers 4 to 0 of a place from 0 to 1."""
    middle = y0 + dt.astype(y0.dtype) * jnp.dot(jnp.array(MIDDLE, dtype=y0.dtype), k)
    return jnp.asarray(fit_4th_order_polynomial(y0, y1, middle, k[0], k[-1], dt))


def fit_4th_order_polynomial(y0, y1, y_mid, dy0, dy1, dt):
    """The coefficients a, b, c, d, e of that polynomial."""
    rise0, rise1 = dt.astype(y0.dtype) * dy0, dt.astype(y0.dtype) * dy1
    a = -2.0 * rise0 + 2.0 * rise1 - 8.0 * y0 - 8.0 * y1 + 16.0 * y_mid
    b = 5.0 * rise0 - 3.0 * rise1 + 18.0 * y0 + 14.0 * y1 - 32.0 * y_mid
    c = -4.0 * rise0 + rise1 - 11.0 * y0 - 5.0 * y1 + 16.0 * y_mid
    return a, b, c, rise0, y0


# ----------------------------------------------------------------------------------------------
# How long a step may be (Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I,
# section II.4)


def initial_step_size(fun: Callable, t0, y0, order: int, rtol, atol, f0):
    """A length for the first step: from the sizes of y, of its slope and of its curvature."""
    y0, f0 = promote_dtypes_inexact(y0, f0)
    scale = (atol + jnp.abs(y0) * rtol).astype(y0.dtype)
    size, slope = _norm(y0 / scale), _norm(f0 / scale)
    first = jnp.where((size < 1e-5) | (slope < 1e-5), 1e-6, 0.01 * size / slope)
    f1 = fun(y0 + first.astype(y0.dtype) * f0, t0 + first)
    curvature = _norm((f1 - f0) / scale) / first
    by_curvature = jnp.where((slope <= 1e-15) & (curvature <= 1e-15),
                             jnp.maximum(1e-6, first * 1e-3),
                             (0.01 / jnp.maximum(slope, curvature)) ** (1.0 / (order + 1.0)))
    return jnp.minimum(100.0 * first, by_curvature)


def _norm(x):
    return jnp.sqrt(jnp.sum(abs2(x)))


def abs2(x):
    """|x|², elementwise."""
    return x.real**2 + x.imag**2 if jnp.iscomplexobj(x) else x**2


def mean_error_ratio(error_estimate, rtol, atol, y0, y1):
    """The error of a step, relative to the tolerated one: at most 1 in a good step."""
    tolerated = atol + rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1))
    return jnp.sqrt(jnp.mean(abs2(error_estimate / tolerated.astype(error_estimate.dtype))))


def optimal_step_size(last_step, mean_error_ratio, safety=0.9, ifactor=10.0, dfactor=0.2,
                      order=5.0):
    """The length at which the error would be what is tolerated, and a little less.

    Never more than `ifactor` times the last one, nor less than `dfactor` times; after a good step
    it does not shrink.
    """
    least = jnp.where(mean_error_ratio < 1, 1.0, dfactor)
    factor = jnp.maximum(mean_error_ratio ** (-1.0 / order) * safety, least)
    return last_step * jnp.where(mean_error_ratio == 0, ifactor, jnp.minimum(ifactor, factor))


# ----------------------------------------------------------------------------------------------
# The derivative


def _forward(func, rtol, atol, mxstep, hmax, y0, ts, *args):
    ys = _odeint(func, rtol, atol, mxstep, hmax, y0, ts, *args)
    return ys, (ys, ts, args)


def _backward(func, rtol, atol, mxstep, hmax, residuals, cts):
    """From one time back to the one before, again and again.

    On the way, y is computed backwards from its value there, and with it the cotangents of y, t and
    the arguments, whose slopes are the VJP of `func`. Where a value was returned, its cotangent
    comes to that of y.
    """
    ys, ts, args = residuals

    def slopes(state, minus_t, *args):
        y, y_ct, *_ = state
        y_slope, pull_back = vjp(func, y, -minus_t, *args)
        return -y_slope, *pull_back(y_ct)

    def to_time_before(carry, i):
        y_ct, t0_ct, args_ct = carry
        # To stop a little later moves the result by its slope. (Times are real.)
        t_ct = jnp.dot(func(ys[i], ts[i], *args), cts[i]).real
        way = odeint(slopes, (ys[i], y_ct, t0_ct - t_ct, args_ct), jnp.array([-ts[i], -ts[i - 1]]),
                     *args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax)
        _, y_ct, t0_ct, args_ct = tree_map(lambda x: x[1], way)
        return (y_ct + cts[i - 1], t0_ct, args_ct), t_ct

    with default_matmul_precision("highest"):
        start = cts[-1], jnp.zeros((), ts.dtype), tree_map(jnp.zeros_like, args)
        (y_ct, t0_ct, args_ct), ts_ct = scan(to_time_before, start, jnp.arange(len(ts) - 1, 0, -1))
    return y_ct, jnp.concatenate([t0_ct[None], ts_ct[::-1]]), *args_ct


_odeint.defvjp(_forward, _backward)
