"""A NumPy array that a program uses several times is one constant of its jaxpr, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

X = np.arange(4.0, dtype="float32").reshape(2, 2)
INTEGERS, DOUBLES = np.arange(3, dtype="int32"), np.arange(3.0)

USES = {
    "elementwise": lambda jx, y: (jx.numpy.sin(X), jx.numpy.cos(X), X + y),
    "asarray": lambda jx, y: (jx.numpy.asarray(X), jx.numpy.array(X), jx.numpy.sin(X)),
    "lax and numpy": lambda jx, y: (jx.lax.sin(X), jx.numpy.sin(X)),
    "of 64 bits": lambda jx, y: (jx.numpy.asarray(DOUBLES), jx.numpy.sin(DOUBLES), y * DOUBLES),
    "converted": lambda jx, y: (jx.numpy.asarray(INTEGERS), jx.numpy.asarray(INTEGERS, "float32")),
    "integers": lambda jx, y: (jx.numpy.sum(INTEGERS), INTEGERS + 1, jx.numpy.asarray(INTEGERS)),
    "products": lambda jx, y: (X @ X, jx.numpy.dot(X, X), jx.numpy.linalg.norm(X), X.T @ X),
    "in jit": lambda jx, y: jx.jit(lambda y: (X * y, jx.numpy.sin(X), jx.numpy.asarray(X)))(y),
    "in a loop": lambda jx, y: jx.lax.fori_loop(0, 3, lambda i, c: c + X + jx.numpy.sin(X), X * y),
    "under vmap": lambda jx, y: jx.vmap(lambda z: (z * X).sum() + (X * z).sum())(y + X),
    "under grad": lambda jx, y: jx.grad(lambda z: (z * X).sum() + (X * z).sum())(y),
    "scalars": lambda jx, y: (jx.numpy.asarray(np.array(3.0)), np.float32(2) * y, np.array(3.0) + y),
    "two that are equal": lambda jx, y: (np.ones(3) * y, np.ones(3) + y),
}


@pytest.mark.parametrize("name", USES)
def test_one_constant(name):
    def program(jx):
        return lambda y: len(jx.make_jaxpr(lambda y: USES[name](jx, y))(y).consts)

    both(program, 1.0)
    both(lambda jx: jx.jit(lambda y: USES[name](jx, y)), 1.0)




@in_both
def test_what_is_written_meanwhile_counts(jx):
    """The program keeps the array, and reads it when tracing is over."""
    def f(y):
        x = np.arange(3.0, dtype="float32")
        z = jx.numpy.sin(x) * y
        x += 1
        return z + jx.numpy.asarray(x)
    return jx.jit(f)(2.0)


def test_a_constant_is_traced():
    """Its elements are not known while a function is traced."""
    both(lambda jx: jx.jit(lambda y: y if jx.numpy.asarray(X[0, :1]) else -y), 1.0, raises="TracerBoolConversionError")
