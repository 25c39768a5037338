"""The core's own programs under every transformation of chapters 1 to 8, beside JAX.

They use nothing but the core, which neither indexes nor concatenates. So they run in the whole package, in the core cut out of it
(`python tools/cut.py --core --test`), and, as far as the chapter goes, in the cuts at a chapter.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import minijax
from minijax.core import operators, primitives
from minijax.core.array import as_array

jax, jnp = pytest.importorskip("jax"), pytest.importorskip("jax.numpy")
assert operators  # which gives arrays their operators

X = np.array([0.3, -1.2, 2.0], np.float32)
W = np.array([[0.5, -0.2, 0.1], [1.0, 0.3, -0.7], [-0.4, 0.8, 0.6]], np.float32)
EYE = np.eye(3, dtype=np.float32)


def x_sin_x(lax, x):
    return x * lax.sin(x)


def polynomial(lax, x):
    return 3 * x**2 - x / 2 + 1.0


def compared(lax, x):
    return (x < 0.5) * lax.tanh(x) + (x >= 0.5) * lax.exp(-x)


def softmax(lax, x):
    mean = lax.reduce_sum(x, (0,)) / 3
    shifted = x - lax.stop_gradient(lax.broadcast_in_dim(mean, x.shape, ()))
    e = lax.exp(shifted)
    return e / lax.broadcast_in_dim(lax.reduce_sum(e, (0,)), x.shape, ())


def layer(lax, x):
    return lax.tanh(lax.dot_general(W, x, (((1,), (0,)), ((), ()))) + x)


def loss(lax, x):
    error = layer(lax, layer(lax, x)) - 1.0
    return lax.reduce_sum(error * error, (0,))


def reshaped(lax, x):
    rows = lax.broadcast_in_dim(lax.reshape(x, (1, 3)), (2, 3), (0, 1)) * W[:2]
    return lax.reduce_sum(lax.transpose(rows, (1, 0)), (1,))


def squeezed(lax, x):
    row = lax.reshape(x, (1, 3))
    return lax.squeeze(lax.dot_general(row, W, (((1,), (1,)), ((), ()))), (0,)) * x


PROGRAMS = [x_sin_x, polynomial, compared, softmax, layer, loss, reshaped, squeezed]


class Stop:
    """JAX's `stop_gradient` stands beside its primitives; ours is one."""

    def __init__(self, lax, stop_gradient):
        self._lax, self.stop_gradient = lax, stop_gradient

    def __getattr__(self, name):
        return getattr(self._lax, name)


THEIRS = Stop(jax.lax, jax.lax.stop_gradient)
OURS = Stop(primitives, primitives.stop_gradient_p.bind)


class Ours:
    """The transformations of the core, under the names that they have in `jax`."""

    def __getattr__(self, name):
        module = "minijax.core.jit" if name == "jit" else "minijax.core.api"
        return getattr(importlib.import_module(module), name)


OURS_JAX = Ours()


def total(jx, f):
    """`f` with its results summed: what `grad` can differentiate."""
    lax = THEIRS if jx is jax else OURS
    return lambda x: (lambda y: lax.reduce_sum(y, tuple(range(y.ndim))))(f(x))


TRANSFORMATIONS = {
    "itself": lambda jx, f: f,
    "jit": lambda jx, f: jx.jit(f),
    "jvp": lambda jx, f: lambda x: jx.jvp(f, (x,), (x * x,)),
    "jit of jvp": lambda jx, f: jx.jit(lambda x: jx.jvp(f, (x,), (x * x,))),
    "jvp of jit": lambda jx, f: lambda x: jx.jvp(jx.jit(f), (x,), (x * x,)),
    "vmap": lambda jx, f: lambda x: jx.vmap(f)(stack(jx, x)),
    "vmap of jit": lambda jx, f: lambda x: jx.vmap(jx.jit(f))(stack(jx, x)),
    "grad": lambda jx, f: jx.grad(total(jx, f)),
    "jit of grad": lambda jx, f: jx.jit(jx.grad(total(jx, f))),
    "grad of jit": lambda jx, f: jx.grad(jx.jit(total(jx, f))),
    "vmap of grad": lambda jx, f: lambda x: jx.vmap(jx.grad(total(jx, f)))(stack(jx, x)),
    "grad of vmap": lambda jx, f: jx.grad(total(jx, lambda x: jx.vmap(f)(stack(jx, x)))),
    "jvp of grad": lambda jx, f: lambda x: jx.jvp(jx.grad(total(jx, f)), (x,), (x,)),
    "linearize": lambda jx, f: lambda x: jx.linearize(f, x)[1](x),
    "vjp": lambda jx, f: lambda x: jx.vjp(f, x)[1](f(x)),
    "vmap of pushforward": lambda jx, f: lambda x: jx.vmap(jx.linearize(f, x)[1])(EYE),
    "vmap of pullback": lambda jx, f: lambda x: jx.vmap(jx.vjp(f, x)[1])(basis(f(x))),
    "vmap of jvp of grad": lambda jx, f: lambda x: jx.vmap(
        lambda t: jx.jvp(jx.grad(total(jx, f)), (x,), (t,))[1])(EYE),
}


def basis(y):
    """The unit vectors of a space, or the number 1."""
    return EYE if y.ndim else np.ones(1, np.float32)


def stack(jx, x):
    """Two examples made of one, by broadcasting."""
    lax = THEIRS if jx is jax else OURS
    rows = lax.broadcast_in_dim(x, (2, *x.shape), (1,))
    return rows * np.array([[1.0], [-0.5]], np.float32)


# The chapter at whose end the core has what a transformation needs.
CHAPTERS = {"itself": 1, "jvp": 3, "vmap": 4, "jit": 6, "linearize": 7, "pushforward": 7}


def chapter_of(name: str) -> int:
    """The latest chapter of those whose words are in the name."""
    return max(CHAPTERS.get(word, 8) for word in name.split(" of "))


def marked(names):
    return [pytest.param(name, marks=pytest.mark.chapter(chapter_of(name))) for name in names]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", marked(TRANSFORMATIONS))
def test_values(name, program):
    theirs = TRANSFORMATIONS[name](jax, lambda x: program(THEIRS, x))(jnp.asarray(X))
    ours = TRANSFORMATIONS[name](OURS_JAX, lambda x: program(OURS, x))(as_array(X))
    flat = lambda out: [*out] if isinstance(out, tuple) else [out]
    for mine, other in zip(flat(ours), flat(theirs), strict=True):
        assert mine.shape == other.shape and mine.dtype == other.dtype
        np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=2e-5, atol=2e-5)


@pytest.mark.chapter(8)
def test_the_package_has_the_transformations():
    f = lambda x: x * primitives.sin(x)
    slope = minijax.grad(f)(1.5)
    np.testing.assert_allclose(slope, np.sin(1.5) + 1.5 * np.cos(1.5), rtol=1e-6)
    assert minijax.jvp(f, (1.5,), (1.0,))[1] == minijax.linearize(f, 1.5)[1](1.0)
    assert minijax.vjp(f, 1.5)[1](1.0)[0] == slope
    np.testing.assert_array_equal(minijax.vmap(minijax.grad(f))(X * 0 + 1.5), [slope] * 3)
    np.testing.assert_allclose(minijax.jit(f)(1.5), f(np.float32(1.5)), rtol=1e-6)
    assert [eqn.primitive.name for eqn in minijax.make_jaxpr(f)(1.5).eqns] == ["sin", "mul"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", [
    pytest.param("itself", marks=pytest.mark.chapter(5)),
    pytest.param("jvp", marks=pytest.mark.chapter(5)), *marked(["grad", "vmap of grad"])])
def test_jaxprs(name, program):
    theirs = jax.make_jaxpr(TRANSFORMATIONS[name](jax, lambda x: program(THEIRS, x)))(X)
    ours = OURS_JAX.make_jaxpr(TRANSFORMATIONS[name](OURS_JAX, lambda x: program(OURS, x)))(X)
    assert [eqn.primitive.name for eqn in ours.eqns] == [eqn.primitive.name for eqn in theirs.eqns]
