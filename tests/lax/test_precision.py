"""The ways to say how exactly matrices are multiplied: against JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle.compare import both, in_both

X = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32) * 3
PRESETS = [preset.name for preset in minijax.lax.DotAlgorithmPreset]
PRECISIONS = ["default", "fastest", "highest", "float32", "bfloat16_3x", "tensorfloat32", None,
              ("high", "highest"), ["default", "high"]]


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_names(precision):
    def program(m):
        f = lambda x: m.lax.dot(x, x, precision=precision)
        return lambda x: (f(x), m.make_jaxpr(f)(x))

    both(program, X)


def test_members():
    def program(m):
        p = m.lax.Precision
        f = lambda x: (m.lax.dot(x, x, precision=(p.HIGH, p.DEFAULT)), m.numpy.dot(
            x, x, precision=p.HIGHEST), m.lax.conv(x[None, None], x[None, None], (1, 1), "SAME",
                                                   precision="F32_F32_F32"))
        return lambda x: (f(x), m.make_jaxpr(f)(x), [str(q) for q in p],
                          [(q.name, q.value, str(q), repr(q)) for q in m.lax.DotAlgorithmPreset])

    both(program, X)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset, dtype):
    """Eager and compiled; those that the CPU does not have are errors."""
    x = np.asarray(minijax.numpy.asarray(X).astype(dtype))

    def program(m):
        f = lambda x: m.lax.dot(x, x, precision=preset)
        return lambda x: (f(x), m.jit(f)(x)) if dtype == "bfloat16" else f(x)

    both(program, x)


def test_presets_in_jaxprs_and_derivatives():
    def program(m):
        f = lambda x: m.lax.dot(x, x + 1, precision=m.lax.DotAlgorithmPreset.F32_F32_F32)
        narrow = lambda x: m.lax.dot(x, x, precision="F16_F16_F16",
                                     preferred_element_type=np.float16)
        g = m.grad(lambda x: (f(x) ** 2).sum())
        return lambda x: (m.make_jaxpr(f)(x), g(x), m.make_jaxpr(g)(x), m.jit(m.vmap(f))(x[None]),
                          narrow(x), m.make_jaxpr(narrow)(x))

    both(program, X)


@pytest.mark.parametrize("result", ["int8", "uint8", "int16", "int32", "uint32"])
@pytest.mark.parametrize("other", ["float32", "bfloat16", "float16", "int32"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_integers_out_of_floats_that_are_too_large(dtype, other, result):
    """The product is rounded as the operands are, and becomes the nearest end of the integers."""
    def program(m):
        def f(x):
            x = m.numpy.asarray(x)
            return m.lax.dot(x.astype(dtype), (x * 70).astype(other), preferred_element_type=result)

        return lambda x: (f(x), m.jit(f)(x))

    both(program, np.array([[330.0, -80.0, 0.5], [-200.0, 7.0, 3.25], [0.0, 40.0, np.inf]], "f"))


@pytest.mark.parametrize("other", ["bool", "int8", "uint8", "int16", "uint32", "int32", "float16",
                                   "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "float32"])
@in_both
def test_operands_of_two_types(m, dtype, other):
    x, y = m.numpy.ones((2, 3), dtype), m.numpy.full((3, 2), 0.5, other)
    f = lambda x, y: m.lax.dot_general(x, y, (((1,), (0,)), ((), ())))
    return (f(x, y), f(y, x), m.jit(f)(x, y))


ERRORS = {
    "name": lambda m: m.lax.dot(X, X, precision="utmost"),
    "mixed": lambda m: m.lax.dot(X, X, precision=("high", m.lax.Precision.HIGH)),
    "three": lambda m: m.lax.dot(X, X, precision=("high",) * 3),
    "number": lambda m: m.lax.dot(X, X, precision=2),
    "own algorithm": lambda m: m.lax.dot(X, X, precision=m.lax.DotAlgorithm(*[np.float32] * 3)),
    "compiled": lambda m: m.jit(lambda x: m.lax.dot(x, x, precision="TF32_TF32_F32"))(X),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    both(lambda m: lambda: ERRORS[name](m))
