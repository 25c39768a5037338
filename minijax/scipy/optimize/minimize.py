"""`minimize`, and its method BFGS: steps as Newton's, with an estimate of the inverse Hessian that
each step improves. Nocedal and Wright, "Numerical Optimization", 2006, algorithm 6.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import numpy as jnp
from ...core.api import value_and_grad
from ...core.boundary import public
from ...core.core import typeof
from ...lax.control_flow.while_loop import while_loop
from ...lax.precision import Precision
from .lbfgs import minimize_lbfgs
from .line_search import dot, line_search


class OptimizeResults(NamedTuple):
    """What `minimize` found.

    x: the solution. fun, jac: the function's value and gradient there. hess_inv: the estimate of
    the inverse Hessian, if the method has one.
    success: whether the gradient became small. status: 0 then, else why not: for BFGS, 1 for too
    many iterations, 3 and 5 for a failed line search.
    nfev, njev, nit: how many values and gradients were computed, and how many iterations.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


@public
def minimize(fun: Callable, x0, args: tuple = (), *, method: str, tol: float | None = None,
             options: Mapping[str, Any] | None = None) -> OptimizeResults:
    """Find a local minimum of a function of several variables.

    It can be compiled; it has no reverse derivative, as it is a loop of unknown length.

    Args:
      fun: a function `fun(x, *args)` of a vector, with a scalar result; differentiable.
      x0: a vector, where to start.
      args: further arguments of the function.
      method: "BFGS" (or "l-bfgs-experimental-do-not-rely-on-this").
      tol: is ignored, as in JAX; see the option `gtol`.
      options: for BFGS: `maxiter`; `gtol` (1e-5), for which norm of the gradient to stop; `norm`,
        the order of that norm (inf); `line_search_maxiter`.

    Returns:
      an `OptimizeResults`.

    Raises:
      TypeError: `args` is no tuple.
      ValueError: an unknown method.

    >>> import minijax.scipy.optimize
    >>> result = minijax.scipy.optimize.minimize(lambda x: jnp.sum((x - 1) ** 2), jnp.zeros(2),
    ...                                          method="BFGS")
    >>> result.x.round(3).tolist()
    [1.0, 1.0]
    """
    if not isinstance(args, tuple):
        raise TypeError(f"The argument args of minimize must be a tuple; got {args!r}")
    methods: dict[str, Callable] = {
        "bfgs": _minimize_bfgs, "l-bfgs-experimental-do-not-rely-on-this": minimize_lbfgs}
    if method.lower() not in methods:
        raise ValueError(f"Method {method!r} not recognized: expected one of {[*methods]}")
    state = methods[method.lower()](lambda x: fun(x, *args), x0, **(options or {}))
    return OptimizeResults(
        x=state.x, success=state.converged & ~state.failed, status=state.status, fun=state.value,
        jac=state.gradient, hess_inv=getattr(state, "inverse_hessian", None),
        nfev=state.evaluations, njev=state.evaluations, nit=state.k)


class _State(NamedTuple):
    converged: Any
    failed: Any
    k: Any
    evaluations: Any
    x: Any
    value: Any
    gradient: Any
    inverse_hessian: Any
    old_value: Any
    status: Any


def _minimize_bfgs(fun, x0, maxiter: int | None = None, norm=np.inf, gtol: float = 1e-5,
                   line_search_maxiter: int = 10) -> _State:
    if typeof(x0).ndim != 1:
        raise TypeError(f"minimize: x0 must be a vector, got shape {typeof(x0).shape}.")
    maxiter = typeof(x0).size * 200 if maxiter is None else maxiter
    value, gradient = value_and_grad(fun)(x0)

    def is_flat(gradient):
        return jnp.linalg.norm(gradient, ord=norm) < gtol

    def step(state: _State) -> _State:
        direction = -dot(state.inverse_hessian, state.gradient)
        found = line_search(fun, state.x, direction, state.value, state.gradient, state.old_value,
                            maxiter=line_search_maxiter)
        change = found.step * direction
        inverse_hessian = _updated(state.inverse_hessian, change, found.gradient - state.gradient)
        return _State(converged=is_flat(found.gradient), failed=found.failed, k=state.k + 1,
                      evaluations=state.evaluations + found.evaluations, x=state.x + change,
                      value=found.value, gradient=found.gradient, inverse_hessian=inverse_hessian,
                      old_value=state.value, status=found.status)

    def going_on(state: _State):
        return ~state.converged & ~state.failed & (state.k < maxiter)

    # So that the first step has, at most, the length 1.
    old_value = value + jnp.linalg.norm(gradient) / 2
    state = while_loop(going_on, step, _State(
        is_flat(gradient), False, 0, 1, x0, value, gradient, jnp.eye(x0.shape[0], dtype=x0.dtype),
        old_value, 0))
    of_failure = jnp.where(state.failed, 2 + state.status, -1)
    status = jnp.where(state.converged, 0, jnp.where(state.k == maxiter, 1, of_failure))
    return state._replace(status=status)


def _updated(inverse_hessian, change, gradient_change):
    """The nearest symmetric matrix that maps the gradient's change to the change of x."""
    rho = jnp.reciprocal(dot(gradient_change, change))
    w = jnp.eye(len(change), dtype=rho.dtype) - rho * jnp.outer(change, gradient_change)
    middle = jnp.einsum("ij,jk,lk", w, inverse_hessian, w, precision=Precision.HIGHEST)
    updated = middle + rho * jnp.outer(change, change)
    return jnp.where(jnp.isfinite(rho), updated, inverse_hessian)
