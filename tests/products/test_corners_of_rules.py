"""Corners of rules that no table of programs reaches. Most rows were once changes of a rule that no
test noticed (`make mutants`)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import minijax
from minijax.lax import selection
from tests.oracle import both, in_both
from tests.oracle.lax_table import CALLS, function
from tests.oracle.primitives_table import operands

F = np.float32
MATRIX = np.array([[4, 1, 2], [1, 5, 3], [2, 3, 6]], F)

# Programs of no arguments; they are evaluated, and staged in a `jit`.
PROGRAMS: dict[str, Any] = {
    "no windows": lambda jx: _rows_of(jx, MATRIX, np.zeros((0, 1), int)),
    "windows of nothing": lambda jx: _rows_of(jx, np.zeros((3, 0), F), np.array([[0], [5]])),
    "windows beyond the end": lambda jx: _rows_of(jx, MATRIX, np.array([[0], [5], [-1]])),
    "one vector for all matrices": lambda jx: jx.numpy.linalg.solve(
        np.stack([MATRIX, MATRIX.T @ MATRIX]), np.ones((1, 3, 1), F)),
    "one matrix for all matrices": lambda jx: jx.numpy.linalg.solve(
        np.stack([MATRIX, MATRIX.T @ MATRIX]), MATRIX[None, :, :2]),
    "a row to a matrix": lambda jx: jx.numpy.linalg.solve(
        np.stack([MATRIX, MATRIX.T @ MATRIX]), MATRIX),
    "eigenvalues of several matrices move": lambda jx: jx.jvp(
        lambda x: jx.lax.linalg.eig(x, compute_left_eigenvectors=False,
                                    compute_right_eigenvectors=False)[0].real.sum(-1),
        (np.stack([MATRIX, MATRIX.T @ MATRIX]),), (np.stack([MATRIX, MATRIX * 2]),)),
    "factors of chosen elements, transposed": lambda jx: jx.linear_transpose(
        lambda y: _times(jx, np.arange(5, dtype=F), y), np.array([2, 3], F))(np.arange(5, dtype=F)),
    "chosen factors, transposed": lambda jx: jx.linear_transpose(
        lambda x: _times(jx, x, np.array([2, 3], F)), np.arange(5, dtype=F))(
            np.arange(5, dtype=F)),
    "spectra of several rows move": lambda jx: jx.grad(lambda x: jx.numpy.abs(
        jx.numpy.fft.rfft(x) + 1).sum())(np.arange(16, dtype=F).reshape(2, 2, 4)),
    "whole bases of several matrices move": lambda jx: jx.jvp(
        jx.lax.linalg.qr, (np.stack([MATRIX[:, :2], MATRIX[:, 1:]]),),
        (np.stack([MATRIX[:, 1:], MATRIX[:, :2]]),)),
    "bases of nothing": lambda jx: [jx.lax.linalg.svd(jx.numpy.zeros(shape), full_matrices=full)
                                    for shape in ((0, 3), (3, 0), (2, 0, 2))
                                    for full in (True, False)],
    "sums of exponentials that grow": lambda jx: jx.lax.cumlogsumexp(
        jx.numpy.array([1.0, 500, 1000, 20])),
    "products of bytes": lambda jx: jx.lax.dot_general(
        jx.numpy.full((2, 3), 100, "int8"), jx.numpy.full((3, 2), 100, "int8"),
        (((1,), (0,)), ((), ())), preferred_element_type=np.int32),
    "choices of examples without jit": lambda jx: _without_jit(jx, lambda: jx.vmap(
        lambda p, x: jx.lax.cond(p, jx.numpy.sin, jx.numpy.cos, x))(
            np.array([True, False]), np.ones(2, F))),
    "in columns": lambda jx: (jx.numpy.asarray(MATRIX).reshape(9, order="F"),
                              jx.numpy.asarray(MATRIX[:, :2]).reshape((2, 3), order="F")),
    "mirrored at the ends": lambda jx: jx.numpy.pad(
        jx.lax.broadcast(1.5, (4,)), 2, "reflect", reflect_type="odd"),
    "which weak numbers are not 0": lambda jx: jx.lax.broadcast(1j, (4,)).astype(bool),
    "complex powers": lambda jx: (np.array([[0], [1], [2j], [-1]], np.complex64)
                                  ** jx.numpy.array([0, 1, 2, 1j, 1 + 1j, 2 + 1j])),
    "loop of one iteration": lambda jx: jx.lax.scan(
        lambda c, x: (c + x, c * x), F(1), np.arange(3, dtype=F), unroll=2),
    "one choice for each example": lambda jx: jx.vmap(jx.lax.select)(
        np.array([True, False, True]), MATRIX, -MATRIX),
}


def _times(jx: Any, x: Any, factors: Any) -> Any:
    numbers = jx.lax.ScatterDimensionNumbers((), (0,), (0,))
    return jx.lax.scatter_mul(x, np.array([[3], [1]], np.int32), factors, numbers,
                              unique_indices=True)


def _without_jit(jx: Any, compute: Any) -> Any:
    with jx.disable_jit():
        return compute()


def _rows_of(jx: Any, x: Any, places: Any) -> Any:
    numbers = jx.lax.GatherDimensionNumbers((1,), (0,), (0,))
    return jx.lax.gather(x, places.astype("int32"), numbers, (1, x.shape[1]), mode="fill")


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name):
    program = PROGRAMS[name]
    both(lambda jx: lambda: program(jx), tol=1e-4)
    both(lambda jx: jx.jit(lambda: program(jx)), tol=1e-4)


PARTS = np.array([0, -0.0, 1, -2, 100, np.inf, -np.inf, np.nan], F)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp"])
def test_complex_numbers_with_a_part_of_zero(name):
    """There the other factor may be infinite, and the product 0."""
    for zero in (F(0), F(-0.0)):
        for x in (_complex(zero, PARTS), _complex(PARTS, zero)):
            both(lambda jx: jx.jit(getattr(jx.lax, name)), x, tol=1e-5)


def _complex(real: Any, imag: Any) -> np.ndarray:
    x = np.zeros(PARTS.shape, np.complex64)
    x.real, x.imag = real, imag
    return x


# --- texts ---

X, M = np.arange(5, dtype=F), MATRIX
TEXTS: dict[str, tuple] = {
    **{f"index {dtype}": (lambda jx: lambda x, i: x[i], X, np.array(3, dtype))
       for dtype in ("int32", "uint32")},
    **{f"index of two, {dtype}": (lambda jx: lambda x, i: x[i, i], M, np.array(2, dtype))
       for dtype in ("int8", "uint8", "uint32")},
    "copy": (lambda jx: lambda x: x.astype(x.dtype, copy=True), X),
    "converted copy": (lambda jx: lambda x: x.astype("int32", copy=True), X),
    "no copy": (lambda jx: lambda x: x.astype("float32", copy=False), X),
    "transposed": (lambda jx: lambda x: (x.transpose(), x.transpose(None), x.transpose((1, 0)),
                                         x.transpose([0, 1]), x.transpose(1, 0)), M),
    "reshaped": (lambda jx: lambda x: (x.reshape(-1), x.reshape((-1, 1, 3)), x.reshape([9]),
                                       x.reshape(3, -1), x.reshape(np.array([1, 9]))), M),
    "scalars beside arrays": (lambda jx: jx.vmap(
        lambda a, b: jx.lax.betainc(jx.numpy.full(3, 2.0), a, b), (0, 1)), M, M / 10),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name):
    program, *args = TEXTS[name]
    both(lambda jx: jx.make_jaxpr(program(jx)), *args)
    both(lambda jx: program(jx), *args)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_indices_of_few_bits(dtype):
    """All that the type can hold are in the array: none is clamped to the array's size in it."""
    x, i = np.arange(70_000), np.array([0, 1, np.iinfo(dtype).max], dtype)
    at = lambda jx: lambda x, i: [x[i[k]] for k in range(3)]
    both(lambda jx: at(jx), x, i)
    both(lambda jx: jx.jit(at(jx)), x, i)


# --- weak types ---


@pytest.mark.parametrize("line, call", CALLS, ids=[f"{call} {line}" for line, call in CALLS])
def test_weak_types_of_results(line, call):
    """Each operand weak in turn, and all of them."""
    args = operands(line, "float32")
    which = [[i == k for i in range(len(args))] for k in range(len(args))]
    for weak in [*which, [True] * len(args)] if len(args) > 1 else which:
        both(lambda jx: lambda: _types(jx, function(call)(jx), args, weak))


def _types(jx: Any, f: Any, args: tuple, weak: list) -> list:
    numbers = {"f": 1.5, "i": 1, "c": 1j}

    def run(*args: Any) -> Any:
        return f(*(jx.lax.broadcast(numbers[x.dtype.kind], x.shape)
                   if w and x.dtype.name in ("float32", "int32", "complex64") else x
                   for x, w in zip(args, weak)))

    outs = jx.tree.leaves(jx.eval_shape(run, *args))
    return [(out.shape, str(out.dtype), out.weak_type) for out in outs]


# --- derivatives that JAX has not ---


def test_how_the_movement_of_a_sample_moves():
    """∂/∂a and ∂/∂x of `random_gamma_grad`, against differences."""
    a, x, h = np.array([0.5, 1.0, 3.0, 8.0]), np.array([0.4, 1.5, 2.0, 9.0]), 1e-5
    f = minijax.lax.random_gamma_grad
    with minijax.enable_x64(True):
        one, zero = np.ones(4), np.zeros(4)
        for along_a, along_x in ((one, zero), (zero, one)):
            tangent = minijax.jvp(f, (a, x), (along_a, along_x))[1]
            ends = [np.asarray(f(a + s * along_a, x + s * along_x)) for s in (h, -h)]
            np.testing.assert_allclose(tangent, (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


# --- rules of users, and of early chapters ---


def test_a_rule_may_say_that_its_result_is_the_same_for_all_examples():
    def program(jx):
        size_p = jx.extend.core.Primitive("size")
        size_p.def_impl(lambda x: jx.numpy.float32(x.size))
        size_p.def_abstract_eval(lambda x: jx.core.ShapedArray((), F))
        jx.interpreters.batching.primitive_batchers[size_p] = lambda args, dims: (
            jx.numpy.float32(args[0].size // 3), None)
        return lambda x: (jx.vmap(size_p.bind)(x), jx.vmap(size_p.bind, out_axes=None)(x))

    both(program, MATRIX)


@pytest.mark.parametrize("which", [True, False])
def test_the_first_choice_is_that_of_a_condition_that_fails(which):
    first, second = np.arange(3), -np.arange(3)
    chosen = selection.evaluate(np.full(3, which), first, second)
    np.testing.assert_array_equal(chosen, second if which else first)


def test_bases_of_nothing_have_the_types_that_they_should():
    """Values of empty arrays are not fetched from the program, so only its text tells."""
    program = minijax.jit(lambda x: minijax.lax.linalg.svd(x, full_matrices=False))
    text = program.lower(np.zeros((3, 0), F)).as_text()
    assert re.search("return .* : tensor<3x0xf32>, tensor<0xf32>, tensor<0x0xf32>\n", text)


def test_conditions_of_loops_have_effects_in_order():
    def program(jx):
        seen = []

        def noted(name, result):
            def step(i):
                jx.debug.callback(lambda i: seen.append((name, int(i))), i, ordered=True)
                return result(i)

            return step

        def run():
            end = noted("end", lambda i: i)
            for step in (noted("step", lambda i: i + 1), lambda i: i + 1):
                jx.jit(lambda x: end(jx.lax.while_loop(
                    noted("goes on", lambda i: i < 3), step, x)))(0)
            jx.effects_barrier()
            return list(seen)

        return run

    both(program)


@pytest.mark.parametrize("value", ["x", "1.0", "jnp.float32(1)"])
@in_both
def test_a_batch_of_padding_values_is_as_weak_as_the_array(jx, value):
    names = {"jnp": jx.numpy}
    pad = lambda x: jx.lax.pad(jx.numpy.broadcast_to(x, (2,)), eval(value, names | {"x": x}),
                               [(1, 0, 0)])
    return jx.vmap(pad)(jx.numpy.stack([jx.numpy.asarray(2.0)] * 2))
