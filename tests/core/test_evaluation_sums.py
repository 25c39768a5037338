"""Sums down the columns, and long running sums, are as exact as those along the rows, and as XLA's."""

from __future__ import annotations

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from tests.oracle import both

SHAPES = {
    (10_000, 10): 0, (300, 1): 0, (257, 100): 0, (1_000, 3): 0, (4_097, 48): 0, (64, 500, 3): 1,
    (2, 300, 60): 1, (20, 30, 7): (0, 1), (5, 20, 30, 50): (1, 2), (257, 0): 0, (0, 300, 2): 1,
}


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("shape", SHAPES)
def test_many_rows(shape, dtype):
    x = np.random.default_rng(0).uniform(1, 2, shape).astype(dtype)
    exact = x.astype(np.complex128 if dtype is np.complex64 else np.float64).sum(SHAPES[shape])
    ours = jnp.sum(x, SHAPES[shape])
    assert ours.dtype == dtype and ours.shape == exact.shape
    np.testing.assert_allclose(ours, exact, rtol=5e-7)


def test_other_sums_are_numpys():
    x = np.random.default_rng(0).integers(0, 9, (300, 3, 20))
    for operand in (x, x > 4, x.astype(np.float16), x.astype(jnp.bfloat16), x.T.astype(np.float32)):
        for axes in ((0, 1), (0, 2), (2,), ()):
            wanted = jnp.asarray(operand).dtype if operand.dtype != bool else np.int32
            ours = jax.lax.reduce_sum(jnp.asarray(operand, wanted), axes)
            np.testing.assert_allclose(np.asarray(ours, np.float64),
                                       operand.astype(np.float64).sum(axes), rtol=1e-2)


def test_normalised_columns_are_those_of_the_compiled_function():
    """JAX's quickstart compares them with this tolerance."""
    def program(jx):
        def normalise(x):
            x = x - x.mean(0)
            return x / x.std(0)

        def close(x):
            x = jx.numpy.asarray(x)
            return jx.numpy.allclose(normalise(x), jx.jit(normalise)(x), atol=1e-6)

        return close

    x = np.random.default_rng(0).uniform(size=(10_000, 10)).astype(np.float32)
    both(program, x)
    assert program(jax)(x)


@pytest.mark.parametrize("shape, axis", [((1025,), 0), ((70_000,), 0), ((3, 2_000), 1), ((2, 1_100, 5), 1),
                                         ((1_100, 0), 0), ((0, 1_100), 1), ((4_096, 2), 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.float16, jnp.bfloat16])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_long_running_results_have_the_bits_of_the_compiled_function(name, dtype, shape, axis):
    function = getattr(jax.lax, name)
    x = np.random.default_rng(0).uniform(-1, 1, shape) if name == "cumsum" else \
        np.random.default_rng(0).normal(1, 0.01, shape)
    x = jnp.asarray(x, dtype)
    compiled = jax.jit(function, static_argnums=(1, 2))
    np.testing.assert_array_equal(function(x, axis), compiled(x, axis, False))
    if dtype == np.float32:
        exact = getattr(np, name)(np.flip(np.asarray(x, np.float64), axis), axis)
        np.testing.assert_allclose(np.flip(function(x, axis, reverse=True), axis), exact,
                                   rtol=2e-5 if name == "cumprod" else 1e-6, atol=1e-4)
