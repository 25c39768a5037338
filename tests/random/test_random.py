"""Chapter 13: samples against real JAX, bit by bit, or to 2 units in the last place."""

from __future__ import annotations

import contextlib
import functools
import re

import numpy as np
import pytest

from tests.oracle import ask, both, jax, oracle, subject

P = np.array([0.1, 0.9], np.float32)
POSITIVE = np.array([1.0, 2.5], np.float32)
COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
ODD = np.float32([[np.nan, -1, np.inf, 5, 5, 7], [0.5, 0.5, 0.5, -0.2, np.nan, 1]])
TABLE = np.arange(12, dtype=np.int32).reshape(4, 3)
LOGITS = np.linspace(-1, 2, 12, dtype=np.float32).reshape(3, 4)



@functools.cache
def multinomial(random):
    """Compiled once: JAX would compile its loop in each call."""
    jx = oracle if random is oracle.random else subject
    return jx.jit(lambda k: random.multinomial(k, np.float32([10, 90]), P, shape=(2, 2)))


# name: (a function of `jax.random` and a key, units in the last place that may differ)
SAMPLES = {
    "uniform": (lambda r, k: r.uniform(k, (3, 4)), 0),
    "uniform scalar": (lambda r, k: r.uniform(k), 0),
    "uniform empty": (lambda r, k: r.uniform(k, (2, 0)), 0),
    "uniform float16": (lambda r, k: r.uniform(k, (5,), "float16", 2, 5), 0),
    "uniform bfloat16": (lambda r, k: r.uniform(k, (5,), "bfloat16"), 0),
    "uniform bounds": (lambda r, k: r.uniform(k, (2, 2), minval=-P, maxval=P[:, None]), 0),
    "bits": (lambda r, k: r.bits(k, (2, 3), "uint16"), 0),
    "randint": (lambda r, k: r.randint(k, (3, 4), 0, 10), 0),
    "randint int8": (lambda r, k: r.randint(k, (9,), -128, 128, "int8"), 0),
    "randint int16": (lambda r, k: r.randint(k, (3,), -9, 9, "int16"), 0),
    "randint uint8": (lambda r, k: r.randint(k, (9,), 0, 256, "uint8"), 0),
    "randint uint32": (lambda r, k: r.randint(k, (9,), 0, 2**31 - 1, "uint32"), 0),
    "randint bounds": (lambda r, k: r.randint(k, (2, 3), TABLE[0], TABLE[2:, :1]), 0),
    "randint of floats": (lambda r, k: r.randint(k, (3,), 0.5, 5.2), 0),
    "randint of none": (lambda r, k: r.randint(k, (3,), 5, 2), 0),
    "randint of all": (lambda r, k: r.randint(k, (3,), -2**31, 2**31 - 1), 0),
    "bernoulli": (lambda r, k: r.bernoulli(k, 0.3, (10,)), 0),
    "bernoulli of array": (lambda r, k: r.bernoulli(k, P), 0),
    "bernoulli high": (lambda r, k: r.bernoulli(k, 0.3, (10,), mode="high"), 0),
    "rademacher": (lambda r, k: r.rademacher(k, (6,)), 0),
    "rademacher float": (lambda r, k: r.rademacher(k, (6,), "float32"), 0),
    "normal": (lambda r, k: r.normal(k, (3, 4)), 0),
    "normal scalar": (lambda r, k: r.normal(k), 0),
    "normal float16": (lambda r, k: r.normal(k, (3,), "float16"), 0),
    "normal bfloat16": (lambda r, k: r.normal(k, (3,), "bfloat16"), 0),
    "normal complex": (lambda r, k: r.normal(k, (3,), "complex64"), 2),
    "lognormal": (lambda r, k: r.lognormal(k, POSITIVE), 2),
    "truncated_normal": (lambda r, k: r.truncated_normal(k, -1.0, POSITIVE), 2),
    "truncated_normal float16": (lambda r, k: r.truncated_normal(k, -2, 2, (5,), "float16"), 2),
    "maxwell": (lambda r, k: r.maxwell(k, (5,)), 2),
    "double_sided_maxwell": (lambda r, k: r.double_sided_maxwell(k, 1.0, 2.0, (5,)), 4),
    "double_sided_maxwell of array": (lambda r, k: r.double_sided_maxwell(k, P, 2.0), 4),
    "wald": (lambda r, k: r.wald(k, POSITIVE), 2),
    "exponential": (lambda r, k: r.exponential(k, (5,)), 0),
    "laplace": (lambda r, k: r.laplace(k, (5,)), 0),
    "logistic": (lambda r, k: r.logistic(k, (5,)), 2),
    "cauchy": (lambda r, k: r.cauchy(k, (5,)), 2),
    "gumbel": (lambda r, k: r.gumbel(k, (5,)), 0),
    "gumbel high": (lambda r, k: r.gumbel(k, (5,), mode="high"), 0),
    "pareto": (lambda r, k: r.pareto(k, POSITIVE, (3, 2)), 2),
    "rayleigh": (lambda r, k: r.rayleigh(k, POSITIVE), 2),
    "weibull_min": (lambda r, k: r.weibull_min(k, 2.0, 3.0, (4,)), 2),
    "triangular": (lambda r, k: r.triangular(k, 0.0, P, 1.0), 2),
    "gamma": (lambda r, k: r.gamma(k, np.float32([0.3, 1.5, 20.0])), 2),
    "gamma float16": (lambda r, k: r.gamma(k, 2.0, (3,), "float16"), 2),
    "loggamma": (lambda r, k: r.loggamma(k, np.float32([0.03, 1.5])), 2),
    "beta": (lambda r, k: r.beta(k, 2.0, POSITIVE), 2),
    "dirichlet": (lambda r, k: r.dirichlet(k, POSITIVE, (2,)), 2),
    "chisquare": (lambda r, k: r.chisquare(k, POSITIVE), 2),
    "f": (lambda r, k: r.f(k, 2.0, POSITIVE), 2),
    "t": (lambda r, k: r.t(k, POSITIVE), 2),
    "generalized_normal": (lambda r, k: r.generalized_normal(k, 1.5, (3,)), 2),
    "ball": (lambda r, k: r.ball(k, 3, shape=(2,)), 4),
    "poisson": (lambda r, k: r.poisson(k, np.float32([0.0, 0.5, 3.0, 50.0])), 0),
    "binomial": (lambda r, k: r.binomial(k, np.float32([3, 10, 200]), np.float32([0.2, 0.7, 0.4])), 0),
    "binomial shape": (lambda r, k: r.binomial(k, 20, 0.4, (2, 3), "float16"), 0),
    "binomial of nonsense": (lambda r, k: r.binomial(k, ODD[0], ODD[1]), 0),
    "multinomial": (lambda r, k: multinomial(r)(k), 0),
    "multivariate_normal": (lambda r, k: r.multivariate_normal(k, P, COVARIANCE, (3,)), 2),
    "multivariate_normal svd": (lambda r, k: r.multivariate_normal(k, P, COVARIANCE, method="svd"), 2),
    "multivariate_normal eigh": (lambda r, k: r.multivariate_normal(k, P, COVARIANCE, method="eigh"), 2),
    "orthogonal": (lambda r, k: r.orthogonal(k, 3, (2,)), 2),
    "orthogonal rows": (lambda r, k: r.orthogonal(k, 2, m=3, dtype="complex64"), 2),
    "geometric": (lambda r, k: r.geometric(k, P), 0),
    "permutation": (lambda r, k: r.permutation(k, 10), 0),
    "permutation of none": (lambda r, k: r.permutation(k, 0), 0),
    "permutation of many": (lambda r, k: r.permutation(k, 3000), 0),  # two rounds
    "permutation of rows": (lambda r, k: r.permutation(k, TABLE), 0),
    "permutation of columns": (lambda r, k: r.permutation(k, TABLE, 1), 0),
    "permutation independent": (lambda r, k: r.permutation(k, TABLE, 1, independent=True), 0),
    "choice": (lambda r, k: r.choice(k, 5, (3,)), 0),
    "choice of rows": (lambda r, k: r.choice(k, TABLE, (2, 2)), 0),
    "choice of columns": (lambda r, k: r.choice(k, TABLE, (5,), axis=1), 0),
    "choice once": (lambda r, k: r.choice(k, 8, (2, 3), replace=False), 0),
    "choice of columns once": (lambda r, k: r.choice(k, TABLE, (2,), replace=False, axis=1), 0),
    "choice p": (lambda r, k: r.choice(k, 2, (6,), p=P), 0),
    "choice p once": (lambda r, k: r.choice(k, TABLE[:, :2], (2,), replace=False, p=P, axis=1), 0),
    "categorical": (lambda r, k: r.categorical(k, LOGITS), 0),
    "categorical axis": (lambda r, k: r.categorical(k, LOGITS, axis=0), 0),
    "categorical shape": (lambda r, k: r.categorical(k, LOGITS, shape=(5, 3)), 0),
    "categorical once": (lambda r, k: r.categorical(k, LOGITS, shape=(2, 3), replace=False), 0),
}
KEYS = 20  # with the table's functions more than 1000 cases


def assert_equal(got, want, ulps: int) -> None:
    """Same type, and as floats no further apart than so many units in the last place."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    got, want = np.asarray(got), np.asarray(want)
    if ulps:
        unit = np.spacing(np.maximum(np.abs(want), np.finfo(want.dtype).tiny))
        assert (np.abs(got - want) <= ulps * unit).all(), (got, want)
    else:
        assert np.array_equal(got, want, equal_nan=want.dtype.kind in "fc"), (got, want)


@pytest.mark.daily(3)
@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name):
    sample, ulps = SAMPLES[name]
    for seed in range(KEYS):
        style = "key" if seed % 2 else "PRNGKey"
        got, want = (sample(jx.random, getattr(jx.random, style)(seed))
                     for jx in (subject, oracle))
        assert_equal(got, want, ulps)


ONE_OF_EACH = ["uniform", "randint bounds", "bernoulli of array", "normal", "gumbel", "wald",
               "permutation of rows", "choice of rows", "choice p", "choice p once", "categorical"]


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_jit_and_vmap(name):
    sample, ulps = SAMPLES[name]

    def run(jx):
        keys = jx.random.split(jx.random.key(1), 3)
        return jx.jit(jx.vmap(lambda key: sample(jx.random, key)))(keys)

    want = run(oracle)
    assert_equal(run(subject), want, max(ulps, 2 * (want.dtype.kind == "f")))


@pytest.mark.parametrize("name", ONE_OF_EACH[:5])
def test_without_jit(name):
    """By NumPy alone: its logarithms may differ from XLA's."""
    sample, ulps = SAMPLES[name]
    with subject.disable_jit():
        got = sample(subject.random, subject.random.key(3))
    want = sample(oracle.random, oracle.random.key(3))
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5 if name == "gumbel" else 1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_64_bits(dtype):
    def program(jx):
        def run():
            with jx.enable_x64(True):
                key = jx.random.key(2**40 + 1)
                return (jx.random.uniform(key, (3,), dtype), jx.random.normal(key, (3,), dtype),
                        jx.random.randint(key, (3,), -5, 2**40), jx.random.permutation(key, 5),
                        jx.random.bernoulli(key, shape=(4,)), jx.random.categorical(key, P))
        return run

    both(program, tol=1e-15 if dtype == "float64" else None)


def test_gradients_of_reparametrised_samples():
    def program(jx):
        def loss(params, key):
            a, b, c, d = jx.random.split(key, 4)
            mean, scale = params
            x = mean + scale * jx.random.normal(a, (5,))
            y = jx.random.uniform(b, (5,), minval=mean, maxval=mean + scale)
            z = jx.random.rayleigh(c, scale) + jx.random.pareto(d, scale)
            return (x * x).sum() + (y * x).sum() + z + jx.random.truncated_normal(a, mean, 2.0)

        def run():
            key, params = jx.random.PRNGKey(5), (jx.numpy.float32(0.3), jx.numpy.float32(1.5))
            return jx.grad(loss)(params, key), jx.jit(jx.value_and_grad(loss))(params, key)
        return run

    both(program)


def test_gradients_of_gamma_samples():
    def program(jx):
        def loss(a, key):
            keys = jx.random.split(key)
            weights = jx.numpy.arange(1.0, 4.0)
            return (jx.random.gamma(keys[0], a) + jx.random.dirichlet(keys[1], a)) @ weights

        def run():
            a, keys = jx.numpy.array([0.4, 1.7, 9.0]), jx.random.split(jx.random.key(3))
            return jx.jit(jx.vmap(jx.grad(loss), (None, 0)))(a, keys)
        return run

    both(program, tol=2e-5)


SECOND_DERIVATIVES = {
    "forward over forward": lambda jx, f: jx.jacfwd(jx.jacfwd(f)),
    "forward over reverse": lambda jx, f: jx.jacfwd(jx.grad(f)),
    "reverse over forward": lambda jx, f: jx.grad(jx.jacfwd(f)),
    "reverse over reverse": lambda jx, f: jx.grad(jx.grad(f)),
}


@pytest.mark.daily(4)
@pytest.mark.parametrize("order", SECOND_DERIVATIVES)
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_second_derivatives_of_gamma_samples(name, x64, order):
    """JAX's has forward over reverse mode only, in which all four orders are the same number."""
    def second(jx, order):
        def sample(a):
            return getattr(jx.random, name)(jx.random.key(0), a)

        with jx.enable_x64(True) if x64 else contextlib.nullcontext():
            points = jx.numpy.array([0.3, 1.7, 30.0])
            return np.asarray(jx.vmap(SECOND_DERIVATIVES[order](jx, sample))(points))

    want = np.asarray(ask(lambda: second(jax, "forward over reverse")))
    np.testing.assert_allclose(second(subject, order), want, 1e-7 if x64 else 5e-3)


# Other programs for the same numbers, or their steps in another order.
OTHER_TEXT = re.compile("randint u?int(8|16)|double|triang|beta|^[ft]$|gener|ball|poisson|.*nomial|orth|permutation of [rc]"
                        "|choice of|choice p once")


@pytest.mark.parametrize("name", [name for name in SAMPLES if not OTHER_TEXT.match(name)])
def test_text(name):
    both(lambda jx: lambda: jx.make_jaxpr(lambda key: SAMPLES[name][0](jx.random, key))(jx.random.key(0)))


@pytest.mark.parametrize("trace", [
    lambda r, k: r.uniform(k, (3,)),
    lambda r, k: r.normal(k, (3,)),
    lambda r, k: r.permutation(k, 10),
    lambda r, k: r.exponential(k, (2,)),
    lambda r, k: r.bernoulli(k, 0.5, (2,)),
], ids=["uniform", "normal", "permutation", "exponential", "bernoulli"])
def test_jaxprs(trace):
    both(lambda jx: lambda: jx.make_jaxpr(lambda key: trace(jx.random, key))(jx.random.key(0)))



@pytest.mark.parametrize("call", [
    lambda jx, r, k: r.uniform(k, (2,), int),
    lambda jx, r, k: r.uniform(k, 3.0),
    lambda jx, r, k: r.uniform(k, (2,), minval=np.ones(3)),
    lambda jx, r, k: r.uniform(3),
    lambda jx, r, k: r.normal(k, (2,), "int32"),
    lambda jx, r, k: r.normal(r.split(k)),
    lambda jx, r, k: r.exponential(k, dtype="complex64"),
    lambda jx, r, k: r.randint(k, (2,), 0, 5, float),
    lambda jx, r, k: r.randint(k, (2,), np.arange(3), 5),
    lambda jx, r, k: r.randint(k, (2,), 0, 2**40),
    lambda jx, r, k: r.bernoulli(k, 1),
    lambda jx, r, k: r.bernoulli(k, P, (3,)),
    lambda jx, r, k: r.bernoulli(k, 0.1, mode="x"),
    lambda jx, r, k: r.permutation(k, 1.5),
    lambda jx, r, k: r.permutation(k, P, axis=1),
    lambda jx, r, k: r.permutation(k, [1, 2]),
    lambda jx, r, k: jx.jit(lambda n: r.permutation(k, n))(3),
    lambda jx, r, k: r.choice(k, 5, 3),
    lambda jx, r, k: r.choice(k, 5, (6,), replace=False),
    lambda jx, r, k: r.choice(k, 0, (6,)),
    lambda jx, r, k: r.choice(k, 5, p=P),
    lambda jx, r, k: r.choice(k, [1, 2, 3], (2,)),
    lambda jx, r, k: r.gumbel(k, (2,), mode="x"),
    lambda jx, r, k: r.categorical(k, P, axis=1),
    lambda jx, r, k: r.categorical(k, P, shape=(3,), replace=False),
    lambda jx, r, k: r.categorical(k, LOGITS, shape=(2,)),
    lambda jx, r, k: r.pareto(k, P, (3,)),
    lambda jx, r, k: r.pareto(k, P, dtype="float16"),
    lambda jx, r, k: r.truncated_normal(k, -1, 1, dtype=int),
    lambda jx, r, k: r.geometric(k, 0.1, dtype=float),
    lambda jx, r, k: r.binomial(k, 3, 0.5, dtype=int),
    lambda jx, r, k: r.binomial(k, 3, P, (3,)),
    lambda jx, r, k: r.multivariate_normal(k, P, COVARIANCE, method="lu"),
    lambda jx, r, k: r.multivariate_normal(k, P[0], COVARIANCE),
    lambda jx, r, k: r.multivariate_normal(k, P, COVARIANCE[:1]),
    lambda jx, r, k: r.multivariate_normal(k, P, COVARIANCE, (3, 2, 1), dtype=int),
    lambda jx, r, k: r.orthogonal(k, 2.5),
    lambda jx, r, k: r.orthogonal(k, 2, dtype=int),
])
def test_errors(call):
    both(lambda jx: lambda: call(jx, jx.random, jx.random.key(0)))
