"""Chapter 11: how gamma samples move with their parameter, against real JAX in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import minijax
from tests.oracle import in_both, jax


@pytest.mark.parametrize("a", [0.0, -1.0, 0.5, np.inf, np.nan])
@pytest.mark.parametrize("x", [1.0, 0.0, -1.0, np.inf])
@in_both
def test_derivatives_of_random_gamma_grad_at_the_edges(jx, a, x):
    """They are zero on the boundary and outside."""
    return [abs(jx.jvp(jx.lax.random_gamma_grad, (np.float32(a), np.float32(x)),
                   tuple(tangents))[1])
            for tangents in np.eye(2, dtype=np.float32)]


def test_random_gamma_grad():
    rng = np.random.default_rng(0)
    a = np.exp(rng.uniform(-4, 5, 500))
    x = rng.gamma(a) + 1e-20
    with jax.enable_x64(True):
        want = np.asarray(jax.jit(jax.lax.random_gamma_grad)(a, x))
    with minijax.enable_x64(True):
        np.testing.assert_allclose(minijax.jit(minijax.lax.random_gamma_grad)(a, x), want, 1e-10)
    single = minijax.jit(minijax.lax.random_gamma_grad)(a.astype("float32"), x.astype("float32"))
    np.testing.assert_allclose(single, want, 2e-4)  # the arguments are rounded


def test_precision_in_double():
    """The exact values, of a = 1, 30 and x = 1.1, 30.3, are those of 80 digits."""
    with minijax.enable_x64(True):
        got = minijax.lax.random_gamma_grad(np.array([1.0, 30.0]), np.array([1.1, 30.3]))
    np.testing.assert_allclose(got, [1.2312734008760942, 1.010584984653], 1e-13)


def test_a_sample_of_zero_stays():
    assert minijax.lax.random_gamma_grad(np.float32(2), np.float32(0)) == 0


def test_small_parameters():
    """The limit for a → 0 is x exp(x) E₁(x) / a, without the cancellation of terms in 1/a²."""
    a = np.array([1.2e-38, 1.2e-38, 1e-30, 1e-20, 1e-20], np.float32)
    x = np.array([0.5, 1e-30, 0.5, 1e-10, 1.5], np.float32)
    wide = x.astype(float)
    want = wide * np.exp(wide) * scipy.special.exp1(wide) / a
    got = minijax.lax.random_gamma_grad(a, x)
    np.testing.assert_allclose(got, want, 1e-5)
    np.testing.assert_allclose(minijax.jit(minijax.lax.random_gamma_grad)(a, x), want, 1e-5)


EXACT = {"igamma": scipy.special.gammainc, "igammac": scipy.special.gammaincc,
         "betainc": scipy.special.betainc}


@pytest.mark.parametrize("name", EXACT)
def test_elements_of_a_batch_do_not_spoil_each_other(name):
    """An element whose steps go on for ever, because two values alternate in the last place, must
    not keep the others going: rounding spoils them."""
    rng = np.random.default_rng(0)
    args = [np.abs(3 * rng.normal(size=4000)).astype("float32") for _ in range(2)]
    if name == "betainc":
        args.append(rng.uniform(0, 1, 4000).astype("float32"))
    got = getattr(minijax.lax, name)(*args)
    np.testing.assert_allclose(got, EXACT[name](*args), 1e-4, atol=1e-5)
    each = [getattr(minijax.lax, name)(*[x[i] for x in args]) for i in range(0, 4000, 100)]
    np.testing.assert_allclose(got[::100], each, 3e-6)


def test_derivatives_where_the_fraction_ends():
    """For an integer a the continued fraction ends after a steps, but its derivative goes on."""
    a = np.array([1, 1, 1, 2, 2, 3, 4, 9], float)
    x = np.array([3.5, 5, 10, 5, 9, 8, 9, 30], float)
    h = 1e-3
    p = [scipy.special.gammainc(a + k * h, x) for k in (-2, -1, 1, 2)]
    want = (p[0] - 8 * p[1] + 8 * p[2] - p[3]) / (12 * h)
    single = [y.astype("float32") for y in (a, x)]
    np.testing.assert_allclose(minijax.lax.igamma_grad_a(*single), want, 1e-6)
    density = np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))
    np.testing.assert_allclose(minijax.lax.random_gamma_grad(*single), -want / density, 1e-6)
