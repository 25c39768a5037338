"""Types of results, weak types too, where a function computes them in a way of its own."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

X = np.float32(2.5)


@pytest.mark.parametrize("weak", [True, False])
def test_indices_of_the_greatest_are_as_weak_as_the_elements(weak):
    x = 2.0 if weak else np.float32(2)
    both(lambda jx: lambda x: jx.lax.top_k(jx.lax.broadcast(x, (3,)), 2), x)
    both(lambda jx: jx.jit(lambda x: jx.lax.top_k(jx.lax.broadcast(x, (3,)), 2)), x)
    both(lambda jx: jx.grad(lambda x: jx.lax.top_k(jx.lax.broadcast(x, (3,)), 2)[0].sum()), x)


@pytest.mark.parametrize("decimals", [-1, 0, 2])
def test_rounding_keeps_a_type_weak(decimals):
    for x in (2.5, np.float32(2.5), np.float16(2.5)):
        both(lambda jx: lambda x: jx.numpy.round(x, decimals), x)
        both(lambda jx: jx.jit(lambda x: jx.numpy.round(x, decimals)), x)


ZERO_GRADIENTS = {
    "broadcast to nothing": lambda jnp, x: jnp.broadcast_to(x, (0, 3)).sum(),
    "times nothing": lambda jnp, x: (x * np.zeros(0, "f")).sum(),
    "plus nothing": lambda jnp, x: (x + jnp.zeros((0, 3))).sum(),
    "full of nothing": lambda jnp, x: jnp.full((0,), x).sum(),
    "norm": lambda jnp, x: jnp.linalg.norm(jnp.stack([x, x])),
}


@pytest.mark.parametrize("name", ZERO_GRADIENTS)
def test_gradients_are_as_weak_as_in_jax(name):
    f = ZERO_GRADIENTS[name]
    for x in (2.0, X):
        both(lambda jx: jx.grad(lambda x: f(jx.numpy, x)), x)
        both(lambda jx: jx.hessian(lambda x: f(jx.numpy, x)), x)


INTEGER_ADDITIONS = {
    "python": lambda jnp, x: x**2 + 1, "numpy": lambda jnp, x: x * x + np.int32(3),
    "array": lambda jnp, x: ((x + jnp.arange(3)) ** 2).sum(), "times": lambda jnp, x: (x + 1) * x,
    "linear": lambda jnp, x: x + jnp.int32(1), "constant": lambda jnp, x: jnp.float32(3),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGER_ADDITIONS)
def test_hessians_through_integers(name):
    f = INTEGER_ADDITIONS[name]
    for x in (2.0, X):
        both(lambda jx: jx.hessian(lambda x: f(jx.numpy, x)), x)
        both(lambda jx: jx.jacrev(jx.jacfwd(lambda x: f(jx.numpy, x))), x)


MIXED = [(np.int32(0), np.int16(1)), (0, np.int16(1)), (np.uint32(0), np.int32(1)), (True, 1),
         (np.uint8(0), 1)]


@pytest.mark.parametrize("starts", MIXED)
def test_start_indices_have_one_type(starts):
    x, piece = np.ones((3, 3), np.float32), np.zeros((1, 1), np.float32)
    both(lambda jx: lambda: jx.lax.dynamic_slice(x, starts, (1, 1)), raises=TypeError)
    both(lambda jx: lambda: jx.lax.dynamic_update_slice(x, piece, starts), raises=TypeError)
    with pytest.raises(TypeError, match="same type"):
        minijax.lax.dynamic_slice(x, starts, (1, 1))
    both(lambda jx: lambda: jx.lax.dynamic_slice(x, (np.int16(0), np.int16(2)), (1, 1)))
    both(lambda jx: lambda: jx.lax.dynamic_slice(x, (0, np.int32(2)), (1, 1)))


@pytest.mark.parametrize("repeats", [np.float32(2), np.array([1.0, 2.0], "f"), 2.5])
def test_repeats_are_integers(repeats):
    both(lambda jx: lambda: jx.numpy.repeat(np.ones(2, "f"), repeats), raises=TypeError)


def test_ufunc_at_takes_numpy_arrays():
    both(lambda jx: lambda: jx.numpy.add.at(np.ones(3, "f"), 1, 2.0, inplace=False))


def test_results_of_checkpoint_are_arrays():
    for f in (lambda jnp, x: jnp.array(3), lambda jnp, x: 2.5, lambda jnp, x: x,
              lambda jnp, x: np.ones(2), lambda jnp, x: np.arange(2)):
        for x in (1.0, np.float32(1)):
            mine = minijax.checkpoint(lambda x: f(minijax.numpy, x))(x)
            typed = minijax.eval_shape(lambda x: f(minijax.numpy, x), x)
            assert isinstance(mine, minijax.Array)
            assert (mine.dtype, mine.weak_type) == (typed.dtype, typed.weak_type)
    gradient = minijax.checkpoint(minijax.grad(lambda x: x * x))(3.0)
    assert isinstance(gradient, minijax.Array) and gradient.dtype == np.float32


# Constants in derivatives are as weak as JAX's: weak only beside a weak scalar.
DERIVATIVES = """
jnp.tan(x)
jnp.arcsin(x / 4)
jnp.arctan(x)
jnp.arcsinh(x)
jnp.log1p(x)
jnp.expm1(x)
jnp.exp2(x)
jnp.tanh(x)
jax.nn.sigmoid(x)
jnp.sqrt(x)
jnp.cbrt(x)
jnp.square(x)
x ** 3
x ** 2.5
2.5 ** x
x ** x
jnp.reciprocal(x)
jax.scipy.special.erf(x)
jax.scipy.special.digamma(x)
jnp.round(x, 1)
jnp.diag(jnp.stack([x, x]))
jnp.diagflat(x)
jnp.diagonal(jnp.broadcast_to(x, (2, 3, 2)))
jnp.stack([x, x])[i]
jax.lax.dynamic_update_slice(jnp.broadcast_to(x, (3,)), jnp.broadcast_to(x, (2,)), (i,))
"""


@pytest.mark.parametrize("text", DERIVATIVES.strip().splitlines())
def test_derivatives_are_as_weak_as_in_jax(text):
    for shape in ((), (1,)):
        def program(jx):
            f = eval(f"lambda x, i: {text}", {"jax": jx, "jnp": jx.numpy})

            def derivatives(x, i):
                x = jx.numpy.broadcast_to(x, shape)
                return (jx.jvp(lambda x: f(x, i), (x,), (x,)),
                        jx.grad(lambda x: f(x, i).sum())(x))

            return jx.jit(derivatives)

        both(program, 1.25, np.int32(1))


@pytest.mark.parametrize("name", ["matmul", "dot", "inner", "vdot"])
@in_both
def test_products_of_weak_arrays_have_the_default_width(jx, name):
    x = jx.numpy.broadcast_to(2.0, (2, 2))
    with jx.enable_x64(True):
        return getattr(jx.numpy, name)(x, x)


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "median", "nanmedian"])
@in_both
def test_quantiles_of_weak_arrays_have_the_default_width(jx, name):
    x = jx.numpy.stack([jx.numpy.asarray(0.1), jx.numpy.asarray(0.7)])
    with jx.enable_x64(True):
        return getattr(jx.numpy, name)(x, *([] if "median" in name else [0.3]))
