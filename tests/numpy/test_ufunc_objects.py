"""`jnp.add` and its kin as objects, and `frompyfunc`: against JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax.numpy
from tests.oracle import jax
from tests.oracle.compare import both

X = np.array([[3, 1, 2, 1], [4, 6, 5, 0], [7, 8, 8, 9]], np.int32)
NAMES = sorted(n for n in dir(jax.numpy) if isinstance(getattr(jax.numpy, n), jax.numpy.ufunc))
BINARY = [name for name in NAMES if name != "negative"]

CALLS = """
u.reduce(x) | u.reduce(x, axis=1) | u.reduce(x, axis=None) | u.reduce(x, axis=-1, keepdims=True)
u.reduce(x, 2) | u.reduce(x, initial=2) | u.reduce(x, where=x > 2, initial=1)
u.reduce(x, where=x > 2) | u.reduce(x, where=x, initial=1) | u.reduce([1, 2]) | u.reduce(x[:0])
u.reduce(x, dtype=jnp.float32) | u.reduce(x, axis=None, keepdims=True) | u.reduce(x[:0], initial=1)
u.accumulate(x) | u.accumulate(x, axis=1) | u.accumulate(x, axis=None) | u.accumulate(x[:, :0], 1)
u.accumulate(x, dtype=jnp.float32) | u.accumulate(x, 5)
u.at(x, 1, 5, inplace=False) | u.at(x, jnp.array([0, 0, 2]), 3, inplace=False) | u.at(x, 1, 5)
u.at(x, (0, 1), 2, inplace=False)
u.at(x, (jnp.array([[0], [1]]), jnp.array([2, 3])), 1, inplace=False)
u.outer(x[0], x[1, :2]) | u.outer(x, x[0]) | u.outer(x, 2) | u.outer(x)
u.reduceat(x, jnp.array([0, 2])) | u.reduceat(x, jnp.array([1, 3]), axis=1) | u.reduceat(x, [0])
u.reduceat(x, jnp.array([[0]])) | u.reduceat(x[0, 0], jnp.array([0])) | u.reduceat(x, jnp.array([0]), (0, 1))
u(x, x[0]) | u(x) | u(x, [1]) | u(x, 1, out=x) | u(x, 1, where=True) | u(x, "a")
(u.nin, u.nout, u.nargs, u.identity, repr(u), u.__name__)
""".replace("\n", " | ").strip(" |").split(" | ")


def call(text, name, m):
    make = {"own": lambda: m.numpy.frompyfunc(lambda a, b: a + 2 * b, 2, 1),
            "with_identity": lambda: m.numpy.frompyfunc(m.numpy.multiply, 2, 1, identity=1)}
    u = make[name]() if name in make else getattr(m.numpy, name)
    return lambda x: eval(text, {"u": u, "x": x, "jnp": m.numpy})


# What goes wrong inside of JAX: a jitted function that meets an argument it does not expect.
ACCIDENTS = [("maximum", "dtype")]


@pytest.mark.parametrize("name, text", [
    (name, text) for name in ("add", "bitwise_and", "maximum", "own") for text in CALLS
    if not any(name == function and word in text for function, word in ACCIDENTS)])
def test_methods(name, text):
    both(lambda m: lambda x: call(text, name, m)(m.numpy.asarray(x)), X)


@pytest.mark.parametrize("name", sorted({*BINARY, "with_identity"}))
def test_every_function(name):
    initial = "" if "logaddexp" in name else "initial=1, where=x > 2"
    for text in ("u(x, 2)", "u.reduce(x)", f"u.reduce(x, axis=None, {initial})", "u.identity"):
        both(lambda m: lambda x: call(text, name, m)(m.numpy.asarray(x)), X)
    for x in (X.astype(np.float32), X > 2):
        both(lambda m: lambda x: call("u.reduce(x)", name, m)(m.numpy.asarray(x)), x)


@pytest.mark.parametrize("name", ["add", "maximum", "own"])
def test_segments_that_begin_outside(name):
    for x in (X, X.astype(np.float32)):
        both(lambda m: lambda x: call("u.reduceat(x, jnp.array([0, 9, -1]))", name, m)(x), x)


@pytest.mark.parametrize("name", ["add", "logaddexp", "own"])
@pytest.mark.parametrize("attribute", ["nin", "nout", "nargs", "identity"])
def test_properties_are_read_only(name, attribute):
    def program(m):
        u = m.numpy.frompyfunc(lambda a, b: a + b, 2, 1) if name == "own" else getattr(m.numpy, name)
        return lambda: setattr(u, attribute, 3)

    both(program, raises=AttributeError)


@pytest.mark.parametrize("text", ["u.reduce(x, 1)", "u.accumulate(x, 1)", "u.outer(x, x[0])",
                                  "u.at(x, jnp.array([1, 1]), x[0], inplace=False)",
                                  "u.reduceat(x, jnp.array([0, 2]))"])
def test_transformations(text):
    x = X.astype(np.float32)
    both(lambda m: m.jit(call(text, "own", m)), x)
    both(lambda m: m.vmap(call(text, "own", m)), np.stack([x, -x]))
    both(lambda m: m.grad(lambda x: (call(text, "own", m)(x) ** 2).sum()), x)


def test_text():
    """The calls that JAX compiles are `jit` equations of the same name."""
    for text in ("u(x, x)", "u.reduce(x)", "u.reduce(x, axis=1, keepdims=True)", "u.accumulate(x)"):
        both(lambda m: m.make_jaxpr(call(text, "add", m)), X)
    both(lambda m: m.make_jaxpr(call("u.reduce(x)", "bitwise_or", m)), X)
    both(lambda m: m.make_jaxpr(call("u(x, x)", "own", m)), X)


@pytest.mark.parametrize("text", """
m.jit(m.numpy.add)(1.0, 2.0) | m.vmap(m.numpy.add)(X, X) | m.grad(m.numpy.multiply)(2.0, 3.0) | m.tree.map(m.numpy.add, [1.0], [2])
m.make_jaxpr(m.jit(m.numpy.add))(1.0, 2.0) | m.lax.fori_loop(0, 3, m.numpy.add, 0) | m.lax.cond(True, m.numpy.add, m.numpy.subtract, 1, 2)
m.lax.associative_scan(m.numpy.add, m.numpy.asarray(X)) | m.eval_shape(m.numpy.add, 1.0, 2.0).dtype | m.numpy.add.__name__
""".replace("\n", " | ").strip(" |").split(" | "))
def test_as_arguments_of_transformations(text):
    both(lambda m: lambda: eval(text, {"m": m, "X": X}))


def test_as_values():
    """Equal ones hash equally; the names are those of JAX."""
    jnp = minijax.numpy
    f = lambda x: -x
    assert jnp.frompyfunc(f, 1, 1) == jnp.frompyfunc(f, 1, 1) != jnp.frompyfunc(f, 1, 2)
    assert len({jnp.frompyfunc(f, 1, 1), jnp.frompyfunc(f, 1, 1), jnp.add, jnp.add}) == 2
    both(lambda m: lambda x: m.numpy.frompyfunc(lambda a: a + 1, 1, 1).reduce(x), X)
    both(lambda m: lambda: sorted(
        n for n in dir(m.numpy) if isinstance(getattr(m.numpy, n), m.numpy.ufunc)))


@pytest.mark.parametrize("text", [
    "u.reduce(x, where=jnp.array([True, False, True]))",
    "u.reduce(x, where=jnp.array([True, False, True]), initial=3)", "u.reduce(x[:0])",
    "jnp.frompyfunc(jnp.bitwise_and, 2, 1, identity=-1).reduce(x)"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int8"])
def test_the_identity_of_and_is_all_bits(text, dtype):
    """-1 stands for all bits, and is no value of an unsigned dtype."""
    both(lambda m: lambda x: eval(
        text, {"u": m.numpy.bitwise_and, "x": m.numpy.asarray(x), "jnp": m.numpy}),
         np.array([7, 3, 6], dtype))


@pytest.mark.parametrize("name", ["maximum", "own"])
@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_a_python_number_does_not_widen_an_array(name, dtype):
    for text in ("u.at(x, 1, 5, inplace=False)", "u.at(x, 1, 2.5, inplace=False)",
                 "u.at(x, jnp.array([0, 0, 2]), 3, inplace=False)"):
        both(lambda m: call(text, name, m), X.astype(dtype))
