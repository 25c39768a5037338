"""`scipy.stats`: each function of each distribution against JAX's."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

from tests.oracle import both, jax

REALS = np.array([-3, -0.7, 0, 0.2, 0.5, 1, 1.7, 6, 40, np.nan], np.float32)
COUNTS = np.array([-1, 0, 1, 2, 3, 7, 1.5, 40, np.nan], np.float32)
UNIT = np.array([0, 0.01, 0.3, 0.5, 0.9, 1, -0.1, 1.1, np.nan], np.float32)

# distribution -> its parameters: a proper choice, and one for each element of the argument
PARAMETERS = {
    "norm": [0.3, 1.7], "uniform": [-0.5, 2.5], "logistic": [0.3, 1.7], "expon": [0.1, 1.7],
    "laplace": [0.3, 1.7], "cauchy": [0.3, 1.7], "gumbel_l": [0.3, 1.7], "gumbel_r": [0.3, 1.7],
    "beta": [2.5, 0.7, -0.1, 1.9], "gamma": [2.5, -0.1, 1.7], "t": [3.5, 0.3, 1.7],
    "chi2": [3.5, -0.1, 1.7], "pareto": [2.5, -0.1, 0.4], "gennorm": [1.7],
    "truncnorm": [-1.5, 0.8, 0.1, 1.7], "vonmises": [1.7], "wrapcauchy": [0.4],
    "bernoulli": [0.3], "binom": [7, 0.3, 1], "poisson": [2.5, 0], "geom": [0.3, 0],
    "nbinom": [3, 0.3, 1], "betabinom": [7, 2.5, 0.7, 0],
}  # fmt: skip
FUNCTIONS = [f"{distribution}.{name}" for distribution in PARAMETERS
             for name, value in vars(getattr(jax.scipy.stats, distribution)).items()
             if inspect.isfunction(value)] + ["betabinom.logpmf", "truncnorm.logpdf"]
# The gradients of JAX's Gumbel densities fail. That of betabinom takes seconds to compile.
NO_CLAMP = {"gamma.cdf", "chi2.cdf", "chi2.sf"}  # in XLA, if complex
DENSITIES = [name for name in FUNCTIONS if ".logp" in name and not re.match("gumbel|betabinom", name)]
# Where the text differs: in a product of constants, or within `ndtri` and `betaln`.
OTHER_TEXT = re.compile(r"norm.(ppf|isf|logcdf|logsf)|logistic.(log)?pdf|cauchy.(log)?(cdf|sf)|wrapcauchy"
                        r"|gumbel_\w.((log)?pdf|ppf)|beta.(log)?pdf|betabinom|truncnorm.(log)?pdf")


def function(jx, name: str):
    distribution, name = name.split(".")
    return getattr(getattr(jx.scipy.stats, distribution), name)


def arguments(name: str) -> list:
    """What to call the function with: values or probabilities, and all its parameters."""
    distribution, quantity = name.split(".")
    values = UNIT if quantity in ("ppf", "isf") else COUNTS if "pmf" in vars(
        getattr(jax.scipy.stats, distribution)) else REALS
    parameters = inspect.signature(function(jax, name)).parameters
    return [values, *map(np.float32, PARAMETERS[distribution][:len(parameters) - 1])]


def values_of(jx, name: str) -> tuple:
    """With all parameters, and with negative ones and the defaults of the others."""
    values, *parameters = arguments(name)
    signature = inspect.signature(function(jax, name)).parameters.values()
    required = [-p for p, s in zip(parameters, [*signature][1:]) if s.default is s.empty]
    f = function(jx, name)
    return f(values, *parameters), f(values, *required)


@pytest.mark.parametrize("group", range(5))  # as compiling one large program is quicker
def test_values(group):
    names = FUNCTIONS[group::5]
    both(lambda jx: jx.jit(lambda: {name: values_of(jx, name) for name in names}), tol=2e-5)


@pytest.mark.parametrize("name", FUNCTIONS[::11])
def test_eager(name):
    both(lambda jx: lambda: values_of(jx, name), tol=2e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_text(name):
    values, *parameters = arguments(name)
    both(lambda jx: jx.make_jaxpr(function(jx, name)), values, *parameters,
         text=not OTHER_TEXT.match(name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_types(name):
    """The types of the results for half precision, weak scalars, integers; refused arguments."""
    values, *parameters = arguments(name)

    def program(jx):
        def types(*args):
            try:
                return str(jx.make_jaxpr(function(jx, name))(*args).out_avals)
            except (TypeError, ValueError) as error:
                return type(error).__name__

        half, numbers = jx.numpy.asarray(values[:4], "bfloat16"), [*map(float, parameters)]
        return lambda: (types(half, *parameters), types(half, *numbers),
                        types(1, *(1 for _ in parameters)), types(0.5, *numbers),
                        types(values * 1j, *parameters) if name not in NO_CLAMP else None)

    both(program)


@pytest.mark.parametrize("name", FUNCTIONS[::16])
def test_batches(name):
    values, *parameters = arguments(name)

    def program(jx):
        f = jx.jit(jx.vmap(function(jx, name), (0, *[None] * len(parameters))))
        return lambda: f(values, *parameters)

    both(program, tol=2e-5)


def derivatives(jx, name: str):
    """The gradient of a log likelihood by all parameters, and its derivative."""
    _, *parameters = arguments(name)
    values = np.array([1, 2, 3] if name.endswith("pmf") else [0.25, 0.4, 0.9], np.float32)

    def loss(*ps):
        return jx.numpy.sum(function(jx, name)(values, *ps) * values)

    ps = tuple(map(jx.numpy.asarray, parameters))
    return jx.jvp(jx.grad(loss, tuple(range(len(parameters)))), ps, ps)


@pytest.mark.parametrize("group", range(3))  # as compiling one large program is quicker
def test_derivatives(group):
    names = DENSITIES[group::3]
    both(lambda jx: jx.jit(lambda: {name: derivatives(jx, name) for name in names}), tol=3e-4)


MEAN, COV = np.array([0.5, -1], np.float32), np.array([[2, 0.3], [0.3, 1]], np.float32)
POINTS = np.arange(6, dtype=np.float32).reshape(3, 2) / 3
CALLS = {
    "multivariate_normal": lambda st: st.multivariate_normal.logpdf(POINTS, MEAN, COV),
    "batches": lambda st: st.multivariate_normal.pdf(POINTS, MEAN, np.stack([COV, 2 * COV, COV])),
    "one variance": lambda st: st.multivariate_normal.logpdf(POINTS, MEAN, 2.0),
    "one variable": lambda st: st.multivariate_normal.logpdf(POINTS, 0.5, 2.0),
    "wrong covariance": lambda st: st.multivariate_normal.logpdf(POINTS, MEAN, COV[0]),
    "allow_singular": lambda st: st.multivariate_normal.logpdf(POINTS, MEAN, COV, True),
    "dirichlet": lambda st: (st.dirichlet.logpdf(UNIT[1:3], MEAN + 2), st.dirichlet.pdf(
        np.array([[0.2, 0.4], [0.8, 0.7]], np.float32), np.array([2, 0.5], np.float32)),
        st.dirichlet.logpdf(UNIT[1:2], MEAN + 2)),
    "dirichlet lengths": lambda st: st.dirichlet.logpdf(UNIT, MEAN),
    "dirichlet rank": lambda st: st.dirichlet.logpdf(UNIT, COV),
    "multinomial": lambda st: (st.multinomial.logpmf(np.array([1, 2]), 3, np.float32([0.4, 0.6])),
                               st.multinomial.pmf(np.array([1, 1]), 3, np.float32([0.4, 0.6]))),
    "multinomial of floats": lambda st: st.multinomial.pmf(np.float32([1, 2]), 3, UNIT[:2]),
    "poisson.entropy": lambda st: st.poisson.entropy(np.float32([[0, 0.5], [20, 300]]), 1),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    both(lambda jx: lambda: CALLS[call](jx.scipy.stats), tol=2e-5)


def test_derivatives_of_multivariate_normal():
    def program(jx):
        def loss(x, mean, cov):
            return jx.numpy.sum(jx.scipy.stats.multivariate_normal.logpdf(x, mean, cov))

        gradient = jx.grad(loss, (0, 1, 2))
        args = tuple(map(jx.numpy.asarray, (POINTS, MEAN, COV)))
        return lambda: jx.jit(lambda *args: jx.jvp(gradient, args, args))(*args)

    both(program, tol=1e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_weak_types(name):
    """Numbers beside an integer array: JAX's results are weak for some arguments only."""
    numbers = [0.7, *PARAMETERS[name.partition(".")[0]]]
    numbers = numbers[:len(inspect.signature(function(jax, name)).parameters)]

    def program(jx):
        f = function(jx, name)

        def weak_types(place):
            args = [*numbers[:place], np.array([1, 2], np.int32), *numbers[place + 1:]]
            beside_constants = jx.eval_shape(lambda x: f(*args[:place], x, *args[place + 1:]),
                                             args[place])
            return jx.eval_shape(f, *args).weak_type, beside_constants.weak_type

        return lambda: [weak_types(place) for place in range(len(numbers))]

    both(program, raises=TypeError if name in ("norm.ppf", "norm.isf") else None)
