"""Derivatives where JAX's are NaN, 0, or have a wrong sign: closed forms, and differences in 64 bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minijax as jax
from minijax import lax, numpy as jnp
from minijax.scipy import special


def derivatives(f, x, order):
    found = [f(x)]
    for _ in range(order):
        f = jax.grad(f)
        found.append(f(x))
    assert np.allclose(found[-1], jax.jit(f)(x), rtol=1e-5)
    return [*map(float, found)]


@pytest.mark.parametrize("n", range(5))
@pytest.mark.parametrize("exponent", [float, jnp.float32, jnp.int32, lambda n: jnp.array([0, n])[1]])
def test_powers_at_0(exponent, n):
    """The k-th derivative of xⁿ is n! if k = n, else 0."""
    expected = [0.0] * n + [math.factorial(n)] + [0.0] * (5 - n)
    assert derivatives(lambda x: x ** exponent(n), 0.0, 5) == expected


def test_mixed_derivatives_at_an_exponent_0():
    for f, x in ((special.boxcox, 2.5), (special.boxcox1p, 1.5)):
        by_x_and_y = jax.grad(jax.grad(f), 1)(x, 0.0)
        assert np.allclose(by_x_and_y, math.log(2.5) / 2.5, rtol=1e-6)


def test_powers_with_many_exponents():
    hessian = jax.vmap(jax.grad(jax.grad(lambda x, y: x ** y)), (None, 0))
    assert hessian(0.0, jnp.arange(5.0)).tolist() == [0, 0, 2, 0, 0]
    assert jax.grad(lambda x: jnp.vander(jnp.stack([x, x + 1]), 3)[0].sum())(0.0) == 1
    assert jax.jit(jax.grad(lambda x, y: x ** y))(0.0, 0.0) == 0
    slope = jax.grad(lambda x, y: x ** y)
    assert jax.grad(slope, 1)(2.0, 0.0) == 0.5  # of 1/x


@pytest.mark.parametrize("f", [jnp.i0, special.i0])
def test_order_0_at_0(f):
    assert np.allclose(derivatives(f, 0.0, 2), [1, 0, 0.5], atol=1e-6)


def test_order_1_at_0():
    assert np.allclose(derivatives(special.i1, 0.0, 2), [0, 0.5, 0], atol=1e-6)


@pytest.mark.parametrize("x, first, second", [  # scipy.special.polygamma(1, x), and its differences
    (-0.5, 8.934802200544679, -0.8287966442), (-16.5, 9.810797812993576, -0.0034572),
    (-100.25, 19.72928332534936, 124.025125), (5.0, 0.22132295573711533, -0.0487897322)])
def test_digamma(x, first, second):
    assert np.allclose(derivatives(lax.digamma, x, 2)[1:], [first, second], rtol=1e-4, atol=1e-5)


FORMULAS_THAT_OVERFLOW_OR_CANCEL = [  # function, point, first and second derivative
    (lax.exp2, 128.0, 2.35865763e38, 1.63489689e38),
    (lambda x: jnp.hypot(x, 40.0), 40.0, math.sqrt(0.5), 0.00883883476),
    (lambda x: special.polygamma(0, x), -16.5, 9.810798, -0.0034572),
    (lambda x: special.betaln(x, 0.5), 0.5, -2 * math.log(2), math.pi**2 / 3),
    (jnp.arccosh, 1e20, 1e-20, 0.0), (jax.nn.gelu, 1e20, 1.0, 0.0), (jax.nn.gelu, -1e20, 0.0, 0.0),
    (jax.nn.log1mexp, 100.0, 0.0, 0.0), (jax.nn.log1mexp, 1.0, 0.58197671, -0.92067359),
    (special.log_ndtr, -1e4, 1e4, -1.0), (special.log_ndtr, -1e30, 1e30, -1.0),
    (special.log_ndtr, -11.0, 11.089465, -0.992119), (special.log_ndtr, -2.0, 2.3732155, -0.885721),
    (special.erfcx, 1e4, -5.64189575e-9, 1.12837913e-12), (special.erfcx, 2.0, -0.10679646, 0.0836055),
    (special.dawsn, 1e4, -5.00000008e-9, 1.00000005e-12), (special.dawsn, 2.0, -0.20536156, 0.21876545),
    (lambda y: special.boxcox(2.0, y), 0.0, math.log(2) ** 2 / 2, math.log(2) ** 3 / 3),
    (lambda y: special.boxcox1p(1.0, y), -2.0, 0.1008566, 0.0408), (special.i1e, 1e-8, 0.5, -1.0),
    (special.i1, 1e-8, 0.5, 0.0), (lax.digamma, 1e20, 1e-20, 0.0)]


@pytest.mark.parametrize("f, x, first, second", FORMULAS_THAT_OVERFLOW_OR_CANCEL)
def test_formulas_that_overflow_or_cancel(f, x, first, second):
    """By mpmath, in single precision."""
    assert np.allclose(derivatives(f, x, 2)[1:], [first, second], rtol=2e-3, atol=1e-36)


@pytest.mark.parametrize("f", [jnp.arccosh, jnp.arcsinh, jnp.arctanh, jnp.arccos, jnp.arcsin, jnp.arctan, jnp.sign, jnp.sqrt])
def test_complex_functions_in_all_quadrants(f):
    with jax.enable_x64():
        for z in (-2 + 1j, -2 - 1j, 2 + 1j, 2 - 1j, -0.3 + 0.2j):
            for t in (0.68 + 0.91j, -0.2 + 1j):
                difference = (f(z + 1e-6 * t) - f(z - 1e-6 * t)) / 2e-6
                assert np.allclose(jax.jvp(f, (z,), (t,))[1], difference, rtol=1e-6)


def test_sign_of_complex_zero():
    assert jax.jvp(jnp.sign, (0j,), (1 + 1j,))[1] == 0
