"""Chapter 11: hyperbolic functions and inverse trigonometric ones, against real JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

NAMES = ["asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atan2"]
INSIDE = np.linspace(-0.9, 0.8, 8, dtype=np.float32)


def arguments(name, x):
    return (x, x[::-1] + 2) if name == "atan2" else (x + 2,) if name == "acosh" else (x,)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("name", NAMES)
def test_transformations(name, dtype):
    if name == "atan2" and dtype == "complex64":
        dtype = "int32"  # refused by both

    def program(jx):
        f = getattr(jx.lax, name)
        xs = [jx.numpy.asarray(x).astype(dtype) for x in arguments(name, INSIDE)]
        return lambda: (f(*xs), jx.jvp(f, tuple(xs), tuple(xs)), jx.jit(f)(*xs), jx.vmap(f)(*xs))

    both(program, tol=6e-2 if dtype == "bfloat16" else None)


PARTS = np.array([0, -0.0, 1, -2, np.inf, -np.inf], np.float32)
COMPLEX = np.stack([np.broadcast_to(PARTS[:, None], (6, 6)), np.broadcast_to(PARTS, (6, 6))], -1)
COMPLEX = np.ascontiguousarray(COMPLEX).view(np.complex64)[..., 0]


def zeros_and_infinities(jx, z):
    """The parts of complex numbers, and the signs of the zeros among them."""
    jnp, parts = jx.numpy, jx.numpy.stack([z.real, z.imag])
    return jnp.where(jnp.isnan(parts), 7, parts), (parts == 0) & jnp.signbit(parts)


@pytest.mark.parametrize("name", ["asin", "asinh", "acos", "acosh", "sqrt"])
def test_zeros_of_complex_functions_have_the_sign_of_jax(name):
    """Eagerly, too: a program that is compiled gets them from XLA."""
    finite = COMPLEX[:4, :4]
    if name in ("acosh", "sqrt"):
        finite = finite[:1]
    both(lambda jx: lambda z: zeros_and_infinities(jx, getattr(jx.lax, name)(z)), finite)


def test_complex_quotients_of_infinities_and_zeros():
    x, y = COMPLEX.reshape(-1, 1), COMPLEX[:4, :4].reshape(1, -1)
    both(lambda jx: lambda x, y: zeros_and_infinities(jx, jx.numpy.asarray(x) / y), x, y)


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctan", "sinh", "cosh", "arcsinh", "arccosh",
                                  "asin", "acos", "atan", "asinh", "acosh"])
def test_numpy_names(name):
    both(lambda jx: getattr(jx.numpy, name), INSIDE)
    both(lambda jx: getattr(jx.numpy, name), 1)
    both(lambda jx: jx.make_jaxpr(getattr(jx.numpy, name)), 0.5)


@pytest.mark.parametrize("name", ["arctan2", "atan2"])
def test_arctan2(name):
    for args in [(INSIDE, 2), (1, 2), (INSIDE[:, None], INSIDE)]:
        both(lambda jx: getattr(jx.numpy, name), *args)
