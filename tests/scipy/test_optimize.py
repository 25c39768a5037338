"""`scipy.optimize.minimize` against JAX's: the solutions, and the way to them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minijax.scipy.optimize
from tests.oracle import both

X0 = np.array([-1.2, 1.0], np.float32)
LBFGS = "l-bfgs-experimental-do-not-rely-on-this"


def rosenbrock(jnp):
    return lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(jnp):
    return lambda p: (p[0] ** 2 + p[1] - 11) ** 2 + (p[0] + p[1] ** 2 - 7) ** 2


def matyas(jnp):
    return lambda p: 0.26 * (p[0] ** 2 + p[1] ** 2) - 0.48 * p[0] * p[1]


def eggholder(jnp):
    return lambda p: (-(p[1] + 47) * jnp.sin(jnp.sqrt(jnp.abs(p[0] / 2 + p[1] + 47)))
                      - p[0] * jnp.sin(jnp.sqrt(jnp.abs(p[0] - (p[1] + 47)))))


def flat(jnp):
    return lambda x: jnp.sum(x) * 0


# The way is the same in double precision; in single precision, roundings soon part the two.
CASES = {
    "rosenbrock": (rosenbrock, X0, {}), "himmelblau": (himmelblau, np.zeros(2), {}),
    "matyas": (matyas, np.ones(2) * 3, {}), "eggholder": (eggholder, np.array([100, 100.5]), {}),
    "no slope": (flat, X0, {}), "one iteration": (rosenbrock, X0, {"maxiter": 1}),
    "other norm": (rosenbrock, np.ones(5) * 0.5, {"norm": 2, "gtol": 1e-3}),
}  # fmt: skip


@pytest.mark.daily(3)
@pytest.mark.parametrize("case, method", [(case, "BFGS") for case in CASES] + [
    ("rosenbrock", LBFGS), ("no slope", LBFGS)])
def test_minimize(case, method):
    function, x0, options = CASES[case]

    def program(jx):
        def run():
            with jx.enable_x64(True):
                minimize = jx.scipy.optimize.minimize
                solve = jx.jit(lambda x: minimize(function(jx.numpy), x, method=method,
                                                  options=options))
                return tuple(solve(x0.astype(np.float64)))

        return run

    both(program, tol=1e-5)


@pytest.mark.parametrize("method", ["BFGS", LBFGS])
def test_single_precision(method):
    """Types of all results, further arguments, and no jit."""
    def program(jx):
        return lambda: tuple(jx.scipy.optimize.minimize(
            lambda x, a: jx.numpy.sum((x - a) ** 2), jx.numpy.asarray(X0), (X0 / 2,), method=method))

    both(program, tol=1e-4)


ERRORS = {
    "args": lambda minimize: minimize(lambda x: x @ x, X0, X0, method="BFGS"),
    "method": lambda minimize: minimize(lambda x: x @ x, X0, method="CG"),
    "no method": lambda minimize: minimize(lambda x: x @ x, X0),
    "option": lambda minimize: minimize(lambda x: x @ x, X0, method="BFGS", options={"a": 1}),
    "vector": lambda minimize: minimize(lambda x: x, X0, method="BFGS"),
}


@pytest.mark.parametrize("error", ERRORS)
def test_errors(error):
    both(lambda jx: lambda: ERRORS[error](jx.scipy.optimize.minimize))


def test_lbfgs_shortens_a_start_in_double_precision_silently():
    """JAX's BFGS warns, and so does ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = minijax.scipy.optimize.minimize(lambda x: (x * x).sum(), np.ones(2), method=LBFGS)
    assert found.x.dtype == np.float32
