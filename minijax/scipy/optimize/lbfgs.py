"""BFGS with a short memory: instead of the inverse Hessian, the last steps are kept, from which its
product with the gradient follows. Nocedal and Wright, "Numerical Optimization", 2006, section 7.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ...core.api import value_and_grad
from ...lax.control_flow.fori_loop import fori_loop
from ...lax.control_flow.while_loop import while_loop
from .line_search import dot, line_search


class _State(NamedTuple):
    converged: Any
    failed: Any
    k: Any
    evaluations: Any
    x: Any
    value: Any
    gradient: Any
    changes: Any  # of x, the newest last
    gradient_changes: Any
    rhos: Any  # 1 / (change · gradient change)
    gamma: Any  # the scale of the first estimate
    status: Any


def minimize_lbfgs(fun, x0, maxiter=None, norm=np.inf, maxcor: int = 10, ftol: float = 2.22e-9,
                   gtol: float = 1e-5, maxfun=None, maxgrad=None, maxls: int = 20) -> _State:
    x0 = jnp.asarray(x0)  # whose dtype is the state's
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = len(x0) * 200
    maxiter, maxfun, maxgrad = (np.inf if n is None else n for n in (maxiter, maxfun, maxgrad))
    value, gradient = value_and_grad(fun)(x0)

    def step(state: _State) -> _State:
        direction = _direction(state)
        found = line_search(fun, state.x, direction, state.value, state.gradient, maxiter=maxls)
        change = found.step.astype(direction.dtype) * direction
        gradient_change = found.gradient - state.gradient
        inner = jnp.real(dot(gradient_change, change))
        norm_squared = jnp.real(dot(jnp.conj(gradient_change), gradient_change))
        converged = jnp.linalg.norm(found.gradient, ord=norm) < gtol
        status = jnp.where(state.value - found.value < ftol, 4, 0)
        status = jnp.where(state.evaluations >= maxgrad, 3, status)
        status = jnp.where(state.evaluations >= maxfun, 2, status)
        status = jnp.where(state.k >= maxiter, 1, status)
        status = jnp.where(found.failed, 5, status)
        return _State(
            converged, (status > 0) & ~converged, state.k + 1,
            state.evaluations + found.evaluations, state.x + change, found.value, found.gradient,
            _remember(state.changes, change), _remember(state.gradient_changes, gradient_change),
            _remember(state.rhos, jnp.reciprocal(inner).astype(x0.dtype)),
            (inner / norm_squared).astype(x0.dtype), jnp.where(converged, 0, status))

    empty = jnp.zeros((maxcor, len(x0)), x0.dtype)
    start = _State(False, False, 0, 1, x0, value, gradient, empty, empty,
                   jnp.zeros(maxcor, x0.dtype), jnp.ones((), x0.dtype), 0)
    return while_loop(lambda state: ~state.converged & ~state.failed, step, start)


def _remember(history, new):
    return jnp.roll(history, -1, axis=0).at[-1].set(new)


def _direction(state: _State):
    """Minus the inverse Hessian times the gradient: the updates, one after the other, back to the
    first estimate and forth again."""
    size = len(state.rhos)
    known = jnp.minimum(state.k, size)

    def back(j, carry):
        q, weights = carry
        i = size - 1 - j
        weight = (state.rhos[i] * dot(jnp.conj(state.changes[i]), q).real).astype(weights.dtype)
        return q - weight * jnp.conj(state.gradient_changes[i]), weights.at[i].set(weight)

    def forth(j, q):
        i = size - known + j
        weight = (state.rhos[i] * dot(state.gradient_changes[i], q).real).astype(weights.dtype)
        return q + (weights[i] - weight) * state.changes[i]

    start = -jnp.conj(state.gradient), jnp.zeros_like(state.rhos)
    q, weights = fori_loop(0, known, back, start)
    return fori_loop(0, known, forth, state.gamma * q)
