"""The text of a jaxpr is JAX's, character by character.

Programs of many kinds, staged plainly and through transformations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.oracle import both

VECTOR = np.array([0.5, 1.5, 2.5], np.float32)
MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3) + 0.5
INTEGERS = np.array([1, 2, 3], np.int32)
COMPLEX = np.array([1 + 2j, 3 - 1j], np.complex64)
MASK = np.array([True, False, True])

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], tuple]] = {
    # primitives and their parameters
    "sin": (lambda jx: jx.lax.sin, (1.0,)),
    "python_scalars": (lambda jx: lambda x, n: x * n, (1.0, 2)),
    "literals": (lambda jx: lambda x: x * 2.0 + np.float32(3) - 1, (VECTOR,)),
    "integer_literals": (lambda jx: lambda n: (n + 1) * -7, (INTEGERS,)),
    "boolean_literal": (lambda jx: lambda m: m & True, (MASK,)),
    "complex_literal": (lambda jx: lambda z: z * (1 + 2j), (COMPLEX,)),
    "infinite_literal": (lambda jx: lambda x: jx.numpy.maximum(x, -np.inf), (VECTOR,)),
    "integer_pow": (lambda jx: lambda x: x**3, (VECTOR,)),
    "square": (lambda jx: lambda x: x**2, (VECTOR,)),
    "power": (lambda jx: lambda x, y: x**y, (VECTOR, VECTOR)),
    "comparison": (lambda jx: lambda x: (x > 1, x == 2.5), (VECTOR,)),
    "casts": (
        lambda jx: lambda x: [x.astype(t) for t in ("int32", "float16", "bool", "complex64")],
        (VECTOR,),
    ),
    "to_bfloat16": (lambda jx: lambda x: x.astype(jx.numpy.bfloat16) + 1, (VECTOR,)),
    "reshape": (lambda jx: lambda x: x.reshape(3, 2), (MATRIX,)),
    "transpose": (lambda jx: lambda x: x.T, (MATRIX,)),
    "squeeze": (lambda jx: lambda x: jx.lax.squeeze(x[None], (0,)), (VECTOR,)),
    "broadcast": (lambda jx: lambda x: jx.numpy.broadcast_to(x, (2, 3)), (VECTOR,)),
    "broadcast_axes": (lambda jx: lambda x: jx.lax.broadcast_in_dim(x, (3, 2), (0,)), (VECTOR,)),
    "concatenate": (lambda jx: lambda x: jx.numpy.concatenate([x, x * 2]), (VECTOR,)),
    "stack": (lambda jx: lambda x: jx.numpy.stack([x, x], 1), (VECTOR,)),
    "pad": (lambda jx: lambda x: jx.lax.pad(x, np.float32(0), ((1, 2, 0),)), (VECTOR,)),
    "flip": (lambda jx: lambda x: jx.numpy.flip(x, 1), (MATRIX,)),
    "arange": (lambda jx: lambda x: x + jx.numpy.arange(3), (VECTOR,)),
    "zeros_and_ones": (
        lambda jx: lambda: (jx.numpy.zeros(3), jx.numpy.ones((2, 1)), jx.numpy.full(2, 7)),
        (),
    ),
    "linspace": (lambda jx: lambda: jx.numpy.linspace(0, 1, 5), ()),
    "eye": (lambda jx: lambda: jx.numpy.eye(3), ()),
    "slice": (lambda jx: lambda x: x[1:], (VECTOR,)),
    "strided_slice": (lambda jx: lambda x: x[::2], (VECTOR,)),
    "integer_index": (lambda jx: lambda x: x[1], (MATRIX,)),
    "mixed_index": (lambda jx: lambda x: x[None, ..., 1:, 0], (MATRIX,)),
    "dynamic_slice": (
        lambda jx: lambda x, i: jx.lax.dynamic_slice(x, (i,), (2,)),
        (VECTOR, np.int32(1)),
    ),
    "dynamic_update_slice": (
        lambda jx: lambda x, i: jx.lax.dynamic_update_slice(x, x[:1], (i,)),
        (VECTOR, np.int32(1)),
    ),
    "split": (lambda jx: lambda x: jx.numpy.split(x, 3), (VECTOR,)),
    "sum": (lambda jx: lambda x: x.sum(), (MATRIX,)),
    "sum_axes": (lambda jx: lambda x: (x.sum(0), x.sum(1, keepdims=True)), (MATRIX,)),
    "mean": (lambda jx: lambda x: x.mean(), (MATRIX,)),
    "max_min": (lambda jx: lambda x: (x.max(), x.min(1)), (MATRIX,)),
    "prod_any_all": (lambda jx: lambda m: (m.any(), m.all(), m.prod()), (MASK,)),
    "argmax": (lambda jx: lambda x: x.argmax(1), (MATRIX,)),
    "cumsum": (lambda jx: lambda x: jx.numpy.cumsum(x), (VECTOR,)),
    "cumsum_reverse": (lambda jx: lambda x: jx.lax.cumsum(x, 0, reverse=True), (VECTOR,)),
    "matmul": (lambda jx: lambda a: a @ a.T, (MATRIX,)),
    "dot": (lambda jx: lambda x: jx.numpy.dot(x, x), (VECTOR,)),
    "einsum": (lambda jx: lambda a: jx.numpy.einsum("ij,kj->ik", a, a), (MATRIX,)),
    "dot_general_batched": (
        lambda jx: lambda a: jx.lax.dot_general(a, a, (((1,), (1,)), ((0,), (0,)))),
        (MATRIX,),
    ),
    "dot_general_precision": (
        lambda jx: lambda a: jx.lax.dot(a, a.T, precision=jx.lax.Precision.HIGHEST),
        (MATRIX,),
    ),
    "where": (lambda jx: lambda x: jx.numpy.where(x > 1, x, 0), (VECTOR,)),
    "clip": (lambda jx: lambda x: jx.numpy.clip(x, 0, 1), (VECTOR,)),
    "clamp": (lambda jx: lambda x: jx.lax.clamp(np.float32(0), x, np.float32(1)), (VECTOR,)),
    "select_n": (lambda jx: lambda x, m: jx.lax.select_n(m, x, -x), (VECTOR, MASK)),
    "complex_parts": (
        lambda jx: lambda z: (jx.numpy.real(z), jx.numpy.imag(z), jx.numpy.conj(z)),
        (COMPLEX,),
    ),
    "make_complex": (lambda jx: lambda x: jx.lax.complex(x, x), (VECTOR,)),
    "round": (lambda jx: lambda x: (jx.numpy.round(x), jx.lax.round(x)), (VECTOR,)),
    "logical": (lambda jx: lambda m: (~m, m | ~m, m ^ m), (MASK,)),
    "stop_gradient": (lambda jx: lambda x: jx.lax.stop_gradient(x) * x, (VECTOR,)),
    "copy": (lambda jx: lambda x: jx.numpy.array(x), (VECTOR,)),
    "floor_divide": (lambda jx: lambda n: (n // 2, n % 2), (INTEGERS,)),
    "float_remainder": (lambda jx: lambda x: (x % 2, x // 2), (VECTOR,)),
    # constants, closures, several outputs, unused and repeated values
    "captured_numpy": (lambda jx: lambda x: x + VECTOR, (VECTOR,)),
    "captured_array": (lambda jx: partial(lambda c, x: x * c, jx.numpy.arange(3.0)), (VECTOR,)),
    "captured_scalar": (lambda jx: partial(lambda c, x: x * c, jx.numpy.float32(3)), (VECTOR,)),
    "identity": (lambda jx: lambda x: x, (VECTOR,)),
    "same_output_twice": (lambda jx: lambda x: (x, x * 2, x), (VECTOR,)),
    "constant_output": (lambda jx: lambda x: (1.0, 2, True), (VECTOR,)),
    "unused_result": (lambda jx: lambda x: (x + 1, x * 2)[1], (VECTOR,)),
    "no_outputs": (lambda jx: lambda x: (), (VECTOR,)),
    "no_inputs": (lambda jx: lambda: jx.numpy.float32(1) + 1, ()),
    "pytrees": (
        lambda jx: lambda d: {"sum": d["a"] + d["b"][0], "none": None},
        ({"a": VECTOR, "b": (VECTOR, None)},),
    ),
    "many_variables": (
        lambda jx: lambda x: [x := x * k for k in range(40)][-1],
        (np.float32(1),),
    ),
    "long_output_list": (lambda jx: lambda x: [x + k for k in range(30)], (np.float32(1),)),
    "zero_size": (lambda jx: lambda x: x.sum() + x.size, (np.zeros((0, 3), np.float32),)),
    "softmax": (
        lambda jx: lambda x: (e := jx.numpy.exp(x - x.max(-1, keepdims=True)))
        / e.sum(-1, keepdims=True),
        (MATRIX,),
    ),
    "mlp": (
        lambda jx: lambda w, b, x: jx.numpy.tanh(x @ w + b).sum(),
        (MATRIX.T.copy(), VECTOR[:2], MATRIX),
    ),
    # jit
    "jit": (lambda jx: jx.jit(lambda x: jx.numpy.sin(x) * 2), (VECTOR,)),
    "jit_named": (lambda jx: jx.jit(jx.numpy.tanh), (VECTOR,)),
    "jit_shared": (
        lambda jx: partial(lambda f, x: f(x) + f(x * 2), jx.jit(lambda x: x * x + 1)),
        (VECTOR,),
    ),
    "jit_twice_different_shapes": (
        lambda jx: partial(lambda f, x: f(x).sum() + f(x[:2]).sum(), jx.jit(lambda x: x * x)),
        (VECTOR,),
    ),
    "jit_nested": (
        lambda jx: jx.jit(partial(lambda g, x: g(x) + x, jx.jit(lambda y: y * 2))),
        (VECTOR,),
    ),
    "jit_captured": (
        lambda jx: jx.jit(partial(lambda c, x: x * c, jx.numpy.arange(3.0))),
        (VECTOR,),
    ),
    "jit_of_outer_value": (lambda jx: lambda x: jx.jit(lambda y: y * x)(2.0), (VECTOR,)),
    "jit_donated": (lambda jx: jx.jit(lambda x: x + 1, donate_argnums=0), (VECTOR,)),
    "jit_keep_unused": (lambda jx: jx.jit(lambda x, y: x, keep_unused=True), (VECTOR, VECTOR)),
    "jit_inline": (
        lambda jx: partial(lambda f, x: f(x) * 2, jx.jit(lambda x: x + 1, inline=True)),
        (VECTOR,),
    ),
    "jit_static": (
        lambda jx: partial(
            lambda f, x: f(x, 3), jx.jit(lambda x, n: x**n, static_argnums=1)
        ),
        (VECTOR,),
    ),
}

TRANSFORMED = {
    "plain": lambda jx, f, args: (f, args),
    "jvp": lambda jx, f, args: (lambda *xs: jx.jvp(f, xs, tuple(map(_tangent(jx), xs))), args),
    "vmap": lambda jx, f, args: (jx.vmap(f), tuple(np.stack([x, x]) for x in args)),
    "grad": lambda jx, f, args: (jx.grad(lambda *xs: _total(jx, f(*xs))), args),
    "vmap_grad": lambda jx, f, args: (
        jx.vmap(jx.grad(lambda *xs: _total(jx, f(*xs)))),
        tuple(np.stack([x, x]) for x in args),
    ),
    "jit_grad": lambda jx, f, args: (jx.jit(jx.grad(lambda *xs: _total(jx, f(*xs)))), args),
    "linearize": lambda jx, f, args: (
        lambda *xs: jx.linearize(f, *xs)[1](*map(_tangent(jx), xs)),
        args,
    ),
}

DIFFERENTIABLE = (
    "sin", "literals", "integer_pow", "square", "power", "reshape", "transpose", "broadcast_axes",
    "concatenate", "stack", "pad", "flip", "slice", "strided_slice", "integer_index",
    "dynamic_slice", "dynamic_update_slice", "sum", "sum_axes", "mean", "max_min", "cumsum",
    "matmul", "dot", "einsum", "dot_general_batched", "where", "clip", "select_n",
    "stop_gradient", "captured_numpy", "captured_array", "same_output_twice", "softmax", "mlp",
    "jit", "jit_shared", "jit_nested", "jit_captured", "jit_of_outer_value",
)  # fmt: skip


def _total(jx: Any, out: Any) -> Any:
    return sum(jx.numpy.sum(x) for x in jx.tree_util.tree_leaves(out))


def _tangent(jx: Any) -> Any:
    def tangent(x: Any) -> Any:
        return x if x.dtype.kind in "fc" else np.zeros(x.shape, jx.dtypes.float0)

    return tangent


def _check(name: str, transformed: str) -> None:
    build, args = FUNCTIONS[name]

    def program(jx: Any) -> Any:
        def jaxpr(*args: Any) -> Any:
            f, args = TRANSFORMED[transformed](jx, build(jx), args)
            return jx.make_jaxpr(f)(*args)

        return jaxpr

    both(program, *args)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain(name):
    _check(name, "plain")


@pytest.mark.parametrize("transformed", [name for name in TRANSFORMED if name != "plain"])
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_transformed(name, transformed):
    _check(name, transformed)


def test_third_derivative():
    def program(jx):
        return jx.make_jaxpr(jx.grad(jx.grad(jx.grad(jx.numpy.tanh))))

    both(program, 1.0)


def test_hessian_vector_product():
    def program(jx):
        def f(x, v):
            return jx.jvp(jx.grad(lambda x: jx.numpy.sum(jx.numpy.sin(x) * x)), (x,), (v,))[1]

        return jx.make_jaxpr(f)

    both(program, VECTOR, VECTOR)


def test_per_example_gradients_of_a_network():
    def program(jx):
        def loss(params, x):
            for w, b in params:
                x = jx.numpy.tanh(x @ w + b)
            return jx.numpy.sum(x**2)

        return jx.make_jaxpr(jx.jit(jx.vmap(jx.grad(loss), in_axes=(None, 0))))

    both(program, [(MATRIX.T.copy(), VECTOR[:2]), (MATRIX, VECTOR)], np.stack([VECTOR] * 4))


def test_wide_equations_break_over_lines():
    def program(jx):
        return jx.make_jaxpr(lambda *xs: jx.lax.concatenate(xs, 0))

    both(program, *[VECTOR] * 25)


def test_static_arguments_and_result_shapes():
    def program(jx):
        return jx.make_jaxpr(lambda x, n: {"out": x**n}, static_argnums=1, return_shape=True)

    def shape_as_text(jx):
        def run(x, n):
            jaxpr, shape = program(jx)(x, n)
            return jaxpr, str(shape)

        return run

    both(shape_as_text, VECTOR, 3)
