"""vjp, grad, Jacobians, Hessians, linear_transpose: results, types and errors as JAX's."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import pytest

import minijax
from minijax import core, errors, lax
from minijax.core.array import Array, as_array
from tests.core.same import close, outcome
from tests.oracle import both, jax
from tests.recorder import applied

float0 = minijax.dtypes.float0
X = np.float32([[0.5, 2.0, 1.5], [1.0, 3.0, 0.25]])
Y = np.float32([0.3, 0.7, 1.1])
C = np.complex64([0.5 + 1j, -1 + 0.25j])
N = np.int32([1, 2, 3])


def same(program, *args, tol=2e-5, message=True, weak=True):
    """The program does the same in both libraries; an error begins with the same words."""
    want = both(program if weak else lambda jx: lambda *args: jx.tree.map(np.asarray, program(jx)(*args)),
                *args, tol=tol)
    if message and want.message:
        got = outcome(program(minijax), *args)
        assert str(got).split()[:4] == want.message.split()[:4], f"{got}\nin JAX {want.message}"


# -- grad: arguments and results ----------------------------------------------------------------


def energy(jx):
    def f(x, y, tree=None):
        out = jx.lax.reduce_sum(jx.lax.mul(jx.lax.sin(x), y), (0,))
        return out if tree is None else jx.lax.add(out, jx.lax.mul(tree["a"], tree["b"][0]))

    return f


TREE = {"a": np.float32(2), "b": (np.float32(3), None)}
GRADS = {
    "default": lambda jx: lambda: jx.grad(energy(jx))(Y, Y + 1),
    "argnums 1": lambda jx: lambda: jx.grad(energy(jx), 1)(Y, Y + 1),
    "argnums -1": lambda jx: lambda: jx.grad(energy(jx), -1)(Y, Y + 1),
    "argnums tuple": lambda jx: lambda: jx.grad(energy(jx), (1, 0))(Y, Y + 1),
    "argnums list": lambda jx: lambda: jx.grad(energy(jx), [0])(Y, Y + 1),
    "argnums NumPy": lambda jx: lambda: jx.grad(energy(jx), np.int64(1))(Y, Y + 1),
    "argnums outside": lambda jx: lambda: jx.grad(energy(jx), 2)(Y, Y + 1),
    "argnums far negative": lambda jx: lambda: jx.grad(energy(jx), -3)(Y, Y + 1),
    "argnums float": lambda jx: lambda: jx.grad(energy(jx), 1.0)(Y, Y + 1),
    "argnums text": lambda jx: lambda: jx.grad(energy(jx), "x")(Y, Y + 1),
    "argnums None": lambda jx: lambda: jx.grad(energy(jx), None)(Y, Y + 1),
    "a tree": lambda jx: lambda: jx.grad(energy(jx), (0, 2))(Y, Y + 1, TREE),
    "a keyword": lambda jx: lambda: jx.grad(energy(jx))(Y, Y + 1, tree=TREE),
    "only keywords": lambda jx: lambda: jx.grad(energy(jx))(x=Y, y=Y),
    "value": lambda jx: lambda: jx.value_and_grad(energy(jx), (0, 1))(Y, Y + 1),
    "aux": lambda jx: lambda: jx.grad(lambda x: (jx.lax.sin(x), {"x": x * 1, "k": 3}), has_aux=True)(2.0),
    "value and aux": lambda jx: lambda: jx.value_and_grad(lambda x: (jx.lax.sin(x), (jx.lax.cos(x), None)), has_aux=True)(2.0),
    "aux of an array": lambda jx: lambda: jx.grad(lambda x: (x * x, x), has_aux=True)(np.float32(2)),
    "aux that an outer gradient differentiates": lambda jx: lambda: jx.grad(lambda x: jx.grad(lambda y: (y * y, x * 2), has_aux=True)(x)[1])(2.0),
    "aux of a jvp that an outer gradient differentiates": lambda jx: lambda: jx.grad(lambda x: jx.jvp(lambda y: (y * y, x * 2), (x,), (x,), has_aux=True)[2])(2.0),
    "aux missing": lambda jx: lambda: jx.grad(lambda x: x * x, has_aux=True)(2.0),
    "aux of three": lambda jx: lambda: jx.grad(lambda x: (x, x, x), has_aux=True)(2.0),
    "aux in a list": lambda jx: lambda: jx.grad(lambda x: [x, x * 1], has_aux=True)(2.0),
    "aux unexpected": lambda jx: lambda: jx.grad(lambda x: (x, x))(2.0),
    "identity": lambda jx: lambda: jx.grad(lambda x: x)(2.0), "constant": lambda jx: lambda: jx.grad(lambda x: 3.0)(2.0),
    "constant array": lambda jx: lambda: jx.grad(lambda x: np.float32(3))(Y), "unused": lambda jx: lambda: jx.grad(lambda x, y: x, (0, 1))(2.0, Y),
    "of a vector": lambda jx: lambda: jx.grad(lambda x: x)(Y), "of one element": lambda jx: lambda: jx.grad(lambda x: x)(Y[:1]),
    "of a list": lambda jx: lambda: jx.grad(lambda x: [x])(2.0), "of None": lambda jx: lambda: jx.grad(lambda x: None)(2.0),
    "of an int": lambda jx: lambda: jx.grad(lambda x: 3)(2.0), "of a bool": lambda jx: lambda: jx.grad(lambda x: x > 1)(2.0),
    "of text": lambda jx: lambda: jx.grad(lambda x: "a")(2.0), "of complex": lambda jx: lambda: jx.grad(lambda x: x * 1j)(2.0),
    "in an int": lambda jx: lambda: jx.grad(lambda x: x * 2.0)(3), "in an int array": lambda jx: lambda: jx.grad(lambda x: x)(N),
    "in a bool": lambda jx: lambda: jx.grad(lambda x: x * 2.0)(True), "in complex": lambda jx: lambda: jx.grad(lambda x: jx.lax.abs(x))(C[0]),
    "in text": lambda jx: lambda: jx.grad(lambda x: x)("a"), "in None": lambda jx: lambda: jx.grad(lambda x: 2.0)(None),
    "in a list": lambda jx: lambda: jx.grad(lambda x: x[0] * x[1])([2.0, 3.0]), "in nothing": lambda jx: lambda: jx.grad(lambda x: 2.0)(()),
    "no argument": lambda jx: lambda: jx.grad(lambda: 2.0)(), "too many": lambda jx: lambda: jx.grad(lambda x: x)(1.0, 2.0),
    "no function": lambda jx: lambda: jx.grad(3), "None for a function": lambda jx: lambda: jx.grad(None),
    "a generator": lambda jx: lambda: jx.grad(_generator)(2.0),
    "allow_int": lambda jx: lambda: jx.grad(lambda x: 2.0 * x, allow_int=True)(3),
    "allow_int in a tree": lambda jx: lambda: jx.grad(lambda t: t["x"] * t["n"], allow_int=True)({"x": 2.0, "n": N[0]}),
    "allow_int of bool": lambda jx: lambda: jx.grad(lambda x: 2.0 * x, allow_int=True)(np.bool_(True)),
    "allow_int, int result": lambda jx: lambda: jx.grad(lambda x: 2 * x, allow_int=True)(3),
    "holomorphic": lambda jx: lambda: jx.grad(lambda z: jx.lax.sin(z * z), holomorphic=True)(C[0]),
    "holomorphic value": lambda jx: lambda: jx.value_and_grad(lambda z: jx.lax.exp(z) / z, holomorphic=True)(C[1]),
    "holomorphic of real": lambda jx: lambda: jx.grad(lambda z: z, holomorphic=True)(2.0),
    "holomorphic to real": lambda jx: lambda: jx.grad(lambda z: jx.lax.real(z), holomorphic=True)(C[0]),
    "holomorphic Python": lambda jx: lambda: jx.grad(lambda z: z * z, holomorphic=True)(2j),
    "half": lambda jx: lambda: jx.grad(lambda x: x * x)(np.float16(2)), "bfloat16": lambda jx: lambda: jx.grad(lambda x: x * x)(ml_dtypes.bfloat16(2)),
    "weak": lambda jx: lambda: jx.grad(lambda x, y: x * y, (0, 1))(2.0, np.float32(3)),
    "weak result": lambda jx: lambda: jx.value_and_grad(lambda x: jx.lax.sin(x))(2.0),
    "zero size": lambda jx: lambda: jx.grad(lambda x: jx.lax.reduce_sum(x * x, (0, 1)))(np.zeros((0, 3), np.float32)),
    "of grad": lambda jx: lambda: jx.grad(jx.grad(lambda x: jx.lax.sin(x) * x))(2.0),
    "third": lambda jx: lambda: jx.grad(jx.grad(jx.grad(lambda x: x**5)))(2.0),
    "through jit": lambda jx: lambda: jx.grad(jx.jit(lambda x: jx.lax.sin(x) * x))(2.0),
    "in jit": lambda jx: lambda: jx.jit(jx.grad(lambda x: jx.lax.sin(x) * x))(2.0),
    "in vmap": lambda jx: lambda: jx.vmap(jx.grad(lambda x: jx.lax.sin(x) * x))(Y),
    "of vmap": lambda jx: lambda: jx.grad(lambda x: jx.lax.reduce_sum(jx.vmap(jx.lax.sin)(x), (0,)))(Y),
    "in jvp": lambda jx: lambda: jx.jvp(jx.grad(lambda x: jx.lax.sin(x) * x), (2.0,), (1.0,)),
    "control flow": lambda jx: lambda: jx.grad(lambda x: x * x if x > 1 else -x)(2.0),
    "stop_gradient": lambda jx: lambda: jx.grad(lambda x: jx.lax.stop_gradient(x) * x)(2.0),
    "confusion": lambda jx: lambda: jx.grad(lambda x: x * jx.grad(lambda y: x + y)(1.0))(2.0),
    "confusion, deeper": lambda jx: lambda: jx.grad(lambda x: x * jx.grad(lambda y: x * jx.grad(lambda z: y * z)(x))(x))(2.0),
    "float0 argument": lambda jx: lambda: jx.grad(lambda x: 2.0)(np.zeros((), float0)),
    "unhashable static": lambda jx: lambda: jx.grad(lambda x, k: x * k["a"])(2.0, {"a": 3}),
}


def _generator(x):
    yield x


# Errors that say the same in other words.
OWN_WORDS = ["in text", "of text", "argnums float", "argnums text", "argnums None", "argnums far negative", "a generator",
             "float0 argument", "aux missing", "aux of three", "no function", "None for a function"]


@pytest.mark.parametrize("name", GRADS)
def test_grad(name):
    same(GRADS[name], message=name not in OWN_WORDS)


def test_numpy_arguments_may_change_afterwards():
    x = Y.copy()
    _, f_vjp = minijax.vjp(lambda x: x * x, x)
    x[:] = 0
    close(f_vjp(np.ones_like(Y))[0], 2 * Y, tol=1e-6)


def test_gradients_are_new_arrays():
    (ct,) = minijax.vjp(lambda x: x + 0.0, Y)[1](as_array(Y))
    assert type(ct) is Array
    grads = minijax.grad(lambda x, y: (x * y).sum() if hasattr(x, "sum") else lax.reduce_sum(x * y, (0,)), (0, 1))(Y, Y)
    assert all(type(g) is Array for g in grads)


def test_names_and_docs_are_the_functions():
    def loss(x):
        """What is lost."""
        return x

    for transform in (minijax.grad, minijax.value_and_grad, minijax.jacfwd, minijax.jacrev, minijax.hessian):
        wrapped = transform(loss)
        assert wrapped.__name__ == "loss" and wrapped.__wrapped__
        assert " of loss with respect to " in wrapped.__doc__ and wrapped.__doc__.endswith("What is lost.")


# -- vjp ----------------------------------------------------------------------------------------

VJPS = {
    "array": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1](Y), "two": lambda jx: lambda: jx.vjp(jx.lax.mul, Y, Y + 1)[1](Y),
    "tree": lambda jx: lambda: jx.vjp(lambda t: {"s": jx.lax.sin(t["x"]), "n": t["n"]}, {"x": Y, "n": N})[1](
        {"s": Y, "n": np.zeros(3, float0)}),
    "aux": lambda jx: lambda: (lambda out, f, aux: (out, f(Y), aux))(*jx.vjp(lambda x: (x * x, {"k": x, "n": 3}), Y, has_aux=True)),
    "identity": lambda jx: lambda: jx.vjp(lambda x: x * 1, Y)[1](Y + 1), "constant": lambda jx: lambda: jx.vjp(lambda x: 3.0, Y)[1](2.0),
    "unused": lambda jx: lambda: jx.vjp(lambda x, y: x * 2, Y, Y)[1](Y), "integers": lambda jx: lambda: jx.vjp(lambda n, x: n * x, N, Y)[1](Y),
    "integer result": lambda jx: lambda: jx.vjp(lambda n: n * 2, N)[1](np.zeros(3, float0)),
    "integer result, any cotangent": lambda jx: lambda: jx.vjp(lambda x: jx.lax.convert_element_type(x, np.int32), Y)[1](np.zeros(3, float0)),
    "no result": lambda jx: lambda: jx.vjp(lambda x: None, Y)[1](None), "empty": lambda jx: lambda: jx.vjp(lambda x: (), Y)[1](()),
    "no argument": lambda jx: lambda: jx.vjp(lambda: 2.0)[1](1.0), "same twice": lambda jx: lambda: jx.vjp(lambda x: (x * 1, x * 1), Y)[1]((Y, 2 * Y)),
    "zero size": lambda jx: lambda: jx.vjp(lambda x: x * x, np.zeros((2, 0), np.float32))[1](np.zeros((2, 0), np.float32)),
    "half": lambda jx: lambda: jx.vjp(lambda x: x * x, np.float16([1, 2]))[1](np.float16([1, 2])),
    "complex": lambda jx: lambda: jx.vjp(lambda z: jx.lax.sin(z), C)[1](C), "weak": lambda jx: lambda: jx.vjp(lambda x: jx.lax.sin(x), 0.5)[1](1.0),
    "shape": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1](Y[:2]), "dtype": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1](Y.astype(np.float16)),
    "integer cotangent": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1](N), "Python cotangent": lambda jx: lambda: jx.vjp(jx.lax.sin, 2.0)[1](1),
    "scalar for an array": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1](1.0), "structure": lambda jx: lambda: jx.vjp(lambda x: (x, x), Y)[1](Y),
    "keys": lambda jx: lambda: jx.vjp(lambda x: {"a": x}, Y)[1]({"b": Y}), "list for tuple": lambda jx: lambda: jx.vjp(lambda x: (x, x), Y)[1]([Y, Y]),
    "None for a cotangent": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1](None), "text": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1]("a"),
    "no cotangent": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1](), "two cotangents": lambda jx: lambda: jx.vjp(jx.lax.sin, Y)[1](Y, Y),
    "to text": lambda jx: lambda: jx.vjp(lambda x: "a", Y),
    "no function": lambda jx: lambda: jx.vjp(3, Y), "aux missing": lambda jx: lambda: jx.vjp(lambda x: x, Y, has_aux=True),
    "twice": lambda jx: lambda: (lambda f: (f(Y), f(2 * Y)))(jx.vjp(jx.lax.sin, Y)[1]),
    "of vjp": lambda jx: lambda: jx.vjp(lambda ct: jx.vjp(jx.lax.sin, Y)[1](ct)[0], Y)[1](Y),
    "in vmap": lambda jx: lambda: jx.vmap(lambda x, ct: jx.vjp(jx.lax.sin, x)[1](ct))(X, X),
    "pullback in vmap": lambda jx: lambda: jx.vmap(jx.vjp(jx.lax.sin, Y)[1])(X),
    "pullback in jit": lambda jx: lambda: jx.jit(jx.vjp(jx.lax.sin, Y)[1])(Y),
    "pullback out of jit": lambda jx: lambda: jx.jit(lambda x: jx.vjp(jx.lax.sin, x))(Y)[1](Y),
    "pullback in jvp": lambda jx: lambda: jx.jvp(jx.vjp(jx.lax.sin, Y)[1], (Y,), (Y,)),
    "unused inside": lambda jx: lambda: jx.vjp(lambda x, y: jx.jit(lambda a, b: a * 2)(x, y), Y, Y)[1](Y),
}


@pytest.mark.parametrize("name", VJPS)
def test_vjp(name):
    same(VJPS[name], weak=name not in ("weak", "Python cotangent"), message=name not in (
        "to text", "text", "no cotangent", "two cotangents", "no function", "aux missing"))


def test_vjp_of_text():
    for jx in (minijax, jax):
        with pytest.raises(TypeError, match="not a valid JAX type"):
            jx.vjp(lambda x: x, "a")


def test_structure_errors_say_where():
    _, f_vjp = minijax.vjp(lambda x: {"a": (x, x)}, Y)
    with pytest.raises(ValueError, match=r"\['a'\]"):
        f_vjp({"a": [Y, Y]})


# -- Complex numbers ----------------------------------------------------------------------------


def test_the_gradient_of_a_real_function_of_complex_numbers_is_conjugate():
    """∂f/∂x - i ∂f/∂y, so that descent goes along the conjugate."""
    f = lambda z: lax.real(lax.mul(z, lax.conj(z)))
    assert minijax.grad(f)(np.complex64(3 + 4j)).item() == 6 - 8j == jax.grad(
        lambda z: jax.lax.real(z * jax.lax.conj(z)))(np.complex64(3 + 4j)).item()


# -- Jacobians ----------------------------------------------------------------------------------


def vector_function(jx):
    return lambda x, y: {"s": jx.lax.sin(x) * y, "d": (jx.lax.dot(x, y), x[0])}


JACOBIANS = {
    "square": lambda jx, jac: lambda: jac(lambda x: x * x)(Y), "matrix": lambda jx, jac: lambda: jac(lambda x: jx.lax.dot(x, Y))(X),
    "scalar": lambda jx, jac: lambda: jac(lambda x: x * x)(2.0), "scalar to vector": lambda jx, jac: lambda: jac(lambda x: x * Y)(2.0),
    "tree": lambda jx, jac: lambda: jac(vector_function(jx))(Y, Y + 1), "argnums": lambda jx, jac: lambda: jac(vector_function(jx), 1)(Y, Y + 1),
    "argnums tuple": lambda jx, jac: lambda: jac(vector_function(jx), (0, 1))(Y, Y + 1), "argnums outside": lambda jx, jac: lambda: jac(vector_function(jx), 2)(Y, Y),
    "tree argument": lambda jx, jac: lambda: jac(lambda t: [t["a"] * t["b"], t["b"]])({"a": 2.0, "b": Y}),
    "aux": lambda jx, jac: lambda: jac(lambda x: (x * x, {"aux": jx.lax.sin(x)}), has_aux=True)(Y),
    "constant": lambda jx, jac: lambda: jac(lambda x: np.float32([1, 2]))(Y), "half": lambda jx, jac: lambda: jac(lambda x: x * x)(np.float16([1, 2])),
    "zero size": lambda jx, jac: lambda: jac(lambda x: x * x)(np.zeros((0,), np.float32)), "two dimensions": lambda jx, jac: lambda: jac(lambda x: x.T * 2)(X),
    "holomorphic": lambda jx, jac: lambda: jac(lambda z: jx.lax.sin(z), holomorphic=True)(C), "of complex": lambda jx, jac: lambda: jac(lambda z: z)(C),
    "to complex": lambda jx, jac: lambda: jac(lambda x: x * 1j)(Y), "holomorphic of real": lambda jx, jac: lambda: jac(lambda x: x, holomorphic=True)(Y),
    "of integers": lambda jx, jac: lambda: jac(lambda x: x * 2.0)(N), "to integers": lambda jx, jac: lambda: jac(lambda x: jx.lax.convert_element_type(x, np.int32))(Y),
    "of text": lambda jx, jac: lambda: jac(lambda x: x)("a"), "no function": lambda jx, jac: lambda: jac(3),
    "keyword": lambda jx, jac: lambda: jac(lambda x, k: x * k)(Y, k=2.0), "mixed dtypes": lambda jx, jac: lambda: jac(
        lambda t: t[0] * t[1].astype(np.float32))((Y, Y.astype(np.float16))),
    "in jit": lambda jx, jac: lambda: jx.jit(jac(lambda x: x * x))(Y),
    "in vmap": lambda jx, jac: lambda: jx.vmap(jac(lambda x: x * x))(X),
}


@pytest.mark.parametrize("transform", ["jacfwd", "jacrev"])
@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name, transform):
    same(lambda jx: JACOBIANS[name](jx, getattr(jx, transform)), message=name not in (
        "of text", "no function", "argnums outside"))


@pytest.mark.parametrize("transform", [minijax.jacfwd, minijax.jacrev])
def test_jacobians_of_functions_without_auxiliary_data(transform):
    with pytest.raises(TypeError, match="has_aux"):
        transform(lambda x: x, has_aux=True)(Y)


def test_jacobian_is_jacrev():
    same(lambda jx: lambda: jx.jacobian(vector_function(jx), (0, 1))(Y, Y + 1))
    same(lambda jx: lambda: jx.jacrev(lambda n, x: n * x, (0, 1), allow_int=True)(N, Y))


HESSIANS = {
    "scalar": lambda jx: lambda: jx.hessian(lambda x: x**3)(2.0),
    "vector": lambda jx: lambda: jx.hessian(lambda x: jx.lax.reduce_prod(x, (0,)))(Y),
    "tree": lambda jx: lambda: jx.hessian(lambda t: t["a"] * jx.lax.reduce_sum(jx.lax.sin(t["b"]) * t["a"], (0,)))({"a": 2.0, "b": Y}),
    "argnums": lambda jx: lambda: jx.hessian(lambda x, y: jx.lax.dot(x, y) * x[0], (0, 1))(Y, Y),
    "vector result": lambda jx: lambda: jx.hessian(lambda x: x * x * x)(Y), "aux": lambda jx: lambda: jx.hessian(
        lambda x: (x * x, {"k": x}), has_aux=True)(Y), "holomorphic": lambda jx: lambda: jx.hessian(lambda z: z * z, holomorphic=True)(C[0]),
    "of integers": lambda jx: lambda: jx.hessian(lambda x: x * 1.0)(N),
    "reverse over reverse": lambda jx: lambda: jx.jacrev(jx.jacrev(lambda x: x * x[0]))(Y),
    "forward over forward": lambda jx: lambda: jx.jacfwd(jx.jacfwd(lambda x: x * x[0]))(Y),
    "reverse over forward": lambda jx: lambda: jx.jacrev(jx.jacfwd(lambda x: x * x[0]))(Y),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_hessians(name):
    same(HESSIANS[name], tol=1e-4)


# -- linear_transpose ---------------------------------------------------------------------------

SHAPE = lambda jx: jx.ShapeDtypeStruct((3,), np.float32)
TRANSPOSES = {
    "array": lambda jx: lambda: jx.linear_transpose(lambda x: x * Y, Y)(Y), "shapes": lambda jx: lambda: jx.linear_transpose(lambda x: x * Y, SHAPE(jx))(Y),
    "two": lambda jx: lambda: jx.linear_transpose(lambda x, y: x + 2 * y, Y, Y)(Y), "tree": lambda jx: lambda: jx.linear_transpose(
        lambda t: [t["a"], t["a"] + t["b"]], {"a": Y, "b": Y})([Y, 2 * Y]), "unused": lambda jx: lambda: jx.linear_transpose(lambda x, y: x, Y, Y)(Y),
    "integers": lambda jx: lambda: jx.linear_transpose(lambda x: x + x, N)(N), "mixed": lambda jx: lambda: jx.linear_transpose(
        lambda x: jx.lax.convert_element_type(x, np.float32), N)(Y), "weak": lambda jx: lambda: jx.linear_transpose(lambda x: x * 3, 1.0)(2.0),
    "shape": lambda jx: lambda: jx.linear_transpose(lambda x: x * Y, Y)(Y[:2]), "dtype": lambda jx: lambda: jx.linear_transpose(lambda x: x * Y, Y)(N),
    "structure": lambda jx: lambda: jx.linear_transpose(lambda x: x * Y, Y)((Y, Y)), "sin": lambda jx: lambda: jx.linear_transpose(jx.lax.sin, Y)(Y),
    "no function": lambda jx: lambda: jx.linear_transpose(3, Y), "complex": lambda jx: lambda: jx.linear_transpose(lambda z: z * C, C)(C),
    "jit": lambda jx: lambda: jx.linear_transpose(jx.jit(lambda x: x * Y), Y)(Y), "in jit": lambda jx: lambda: jx.jit(jx.linear_transpose(lambda x: x * Y, Y))(Y),
    "twice": lambda jx: lambda: jx.linear_transpose(lambda ct: jx.linear_transpose(lambda x: x * Y, Y)(ct)[0], Y)(Y),
}


@pytest.mark.parametrize("name", TRANSPOSES)
def test_linear_transpose(name):
    same(TRANSPOSES[name], message=name not in ("no function", "sin"))


# -- Tracers ------------------------------------------------------------------------------------


def test_what_grad_hands_to_the_function():
    seen = {}

    def look(jx, key):
        return lambda x: seen.update({key: (repr(x), isinstance(x, jx.Array), x.shape, bool(x > 1))}) or x * x

    for jx in (minijax, jax):
        jx.grad(look(jx, jx))(2.0)
    assert seen[minijax] == seen[jax]


def test_an_escaped_tracer_of_grad():
    store = []
    minijax.grad(lambda x: store.append(x) or x)(2.0)
    for use in (lambda x: x + 1, minijax.grad(lambda y: y * store[0]), lambda x: minijax.jit(lambda: x * 2)()):
        with pytest.raises(errors.UnexpectedTracerError):
            use(store[0])
    assert core.current_trace() is core.eval_trace


def test_errors_of_the_function_pass_through():
    def fails(x):
        raise KeyError("mine")

    for transform in (minijax.grad, minijax.jacfwd, minijax.jacrev, minijax.hessian, lambda f: lambda x: minijax.vjp(f, x)):
        with pytest.raises(KeyError, match="mine"):
            transform(fails)(2.0)
        assert core.current_trace() is core.eval_trace


# -- Size ---------------------------------------------------------------------------------------


def test_a_long_program_needs_no_recursion():
    length = 20_000
    assert sys.getrecursionlimit() < length

    def f(x):
        y = x
        for i in range(length // 2):
            y = -y if i % 2 else y + x
        return y

    assert minijax.grad(f)(np.float32(1)).item() in (0, 1, length / 4)


def _work(function, *args):
    return applied(function, *args)[0].total()


def test_the_gradient_takes_a_small_multiple_of_the_work():
    def program(length):
        def f(x):
            for _ in range(length):
                x = lax.sin(lax.mul(x, x))
            return x
        return f

    works = [_work(minijax.grad(program(n)), np.float32(0.5)) for n in (10, 20, 40)]
    assert works[2] - works[1] == 2 * (works[1] - works[0])
    assert works[2] <= 5 * _work(program(40), np.float32(0.5)) + 5


def test_what_has_no_tangent_is_not_pulled_back():
    def f(x, y):
        return lax.mul(x, lax.sin(lax.exp(lax.cos(y))))

    alone = _work(f, Y[0], Y[1])
    assert _work(minijax.grad(f), Y[0], Y[1]) <= alone + 2
