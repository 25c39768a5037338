"""`custom_root` and `custom_linear_solve`: values and derivatives to third order, errors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

A = np.array([[3.0, 1.0], [0.5, 2.0]], np.float32)
B = np.array([1.0, -2.0], np.float32)


def root(jx):
    """The square root, by Newton's method in a loop that has no derivative in reverse mode."""
    def sqrt(a):
        def newton(f, x):
            return jx.lax.while_loop(lambda s: s[1] < 20,
                                     lambda s: (s[0] - f(s[0]) / (2 * s[0]), s[1] + 1), (x, 0))[0]

        return jx.lax.custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(1.0))

    return sqrt


def inverse(jx, m):
    """The inverse of a 2×2 matrix."""
    (a, b), (c, d) = m
    return jx.numpy.stack([jx.numpy.stack([d, -b]), jx.numpy.stack([-c, a])]) / (a * d - b * c)


def linear(jx, symmetric=False, transposed=True, **options):
    def solve(a, b):
        m = (a + a.T) / 2 if symmetric else a

        def by_inverse(matvec, b):
            columns = jx.vmap(matvec, 0, 1)(jx.numpy.eye(2, dtype="float32"))
            return jx.numpy.dot(inverse(jx, columns), b)

        return jx.lax.custom_linear_solve(
            lambda x: jx.numpy.dot(m, x), b, by_inverse, symmetric=symmetric,
            transpose_solve=by_inverse if transposed and not symmetric else None, **options)

    return solve


ROOTS = {
    "value": lambda jx: root(jx),
    "first": lambda jx: jx.grad(root(jx)),
    "second": lambda jx: jx.grad(jx.grad(root(jx))),
    "third": lambda jx: jx.grad(jx.grad(jx.grad(root(jx)))),
    "jvp": lambda jx: lambda a: jx.jvp(root(jx), (a,), (a,)),
    "jvp of jvp of jvp": lambda jx: jx.jacfwd(jx.jacfwd(jx.jacfwd(root(jx)))),
    "jit": lambda jx: jx.jit(jx.grad(root(jx))),
    "vmap": lambda jx: lambda a: jx.vmap(jx.grad(root(jx)))(jx.numpy.stack([a, 2 * a])),
    "text": lambda jx: jx.make_jaxpr(lambda a: jx.lax.custom_root(
        lambda x: x * x - a, 1.0, lambda f, x: x - f(x), lambda g, y: y / g(1.0))),
    "aux": lambda jx: lambda a: jx.value_and_grad(lambda a: jx.lax.custom_root(
        lambda x: x - 3 * a, 1.0, lambda f, x: (x - f(x), {"error": f(x)}), lambda g, y: y / g(1.0),
        has_aux=True), has_aux=True)(a),
    "tree of f": lambda jx: lambda a: jx.lax.custom_root(
        lambda x: (x, a), a, lambda f, x: x, lambda g, y: y),
    "tree of solve": lambda jx: lambda a: jx.lax.custom_root(
        lambda x: x - a, a, lambda f, x: (x, x), lambda g, y: y),
    "tree of tangent_solve": lambda jx: lambda a: jx.lax.custom_root(
        lambda x: x - a, a, lambda f, x: x, lambda g, y: (y, y)),
    "no aux": lambda jx: lambda a: jx.lax.custom_root(
        lambda x: x - a, a, lambda f, x: x, lambda g, y: y, has_aux=True),
}  # fmt: skip


@pytest.mark.parametrize("name", ROOTS)
def test_roots(name):
    both(ROOTS[name], np.float32(2.5))


def total(jx, f):
    return lambda a, b: jx.numpy.sum(jx.numpy.sin(f(a, b)))


SOLVES = {
    "value": lambda jx, f: f,
    "jit": lambda jx, f: jx.jit(f),
    "jvp": lambda jx, f: lambda a, b: jx.jvp(f, (a, b), (a, b)),
    "jvp in b": lambda jx, f: lambda a, b: jx.jvp(lambda b: f(a, b), (b,), (b,)),
    "grad": lambda jx, f: jx.grad(total(jx, f), (0, 1)),
    "grad in b": lambda jx, f: jx.grad(total(jx, f), 1),
    "jit of grad": lambda jx, f: jx.jit(jx.grad(total(jx, f), (0, 1))),
    "second": lambda jx, f: jx.hessian(total(jx, f)),
    "third": lambda jx, f: jx.jacrev(jx.jacrev(jx.jacrev(total(jx, f), 1), 1), 1),
    "vmap over b": lambda jx, f: lambda a, b: jx.vmap(f, (None, 1))(a, np.stack([b, b, 2 * b], 1)),
    "vmap over a": lambda jx, f: lambda a, b: jx.vmap(f, (0, None))(np.stack([a, 2 * a]), b),
    "vmap of grad": lambda jx, f: lambda a, b: jx.vmap(jx.grad(total(jx, f), (0, 1)))(
        np.stack([a, 2 * a]), np.stack([b, -b])),
    "linear_transpose": lambda jx, f: lambda a, b: jx.linear_transpose(lambda b: f(a, b), b)(b),
}  # fmt: skip


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("name", SOLVES)
def test_solves(name, symmetric):
    both(lambda jx: SOLVES[name](jx, linear(jx, symmetric)), A, B)


WRONG = {
    "reverse mode without a transpose": lambda jx: jx.grad(
        total(jx, linear(jx, transposed=False)), 1),
    "forward mode without a transpose": lambda jx: lambda a, b: jx.jvp(
        linear(jx, transposed=False), (a, b), (a, b)),
    "shape of matvec": lambda jx: lambda a, b: jx.lax.custom_linear_solve(
        lambda x: x[:1], b, lambda mv, b: b),
    "shape of solve": lambda jx: lambda a, b: jx.lax.custom_linear_solve(
        lambda x: x, b, lambda mv, b: b[:1]),
    "tree of matvec": lambda jx: lambda a, b: jx.lax.custom_linear_solve(
        lambda x: [x], b, lambda mv, b: b),
    "tree of solve": lambda jx: lambda a, b: jx.lax.custom_linear_solve(
        lambda x: x, b, lambda mv, b: [b]),
    "tree of transpose_solve": lambda jx: lambda a, b: jx.lax.custom_linear_solve(
        lambda x: x, b, lambda mv, b: b, lambda vm, b: [b]),
    "aux": lambda jx: lambda a, b: jx.value_and_grad(lambda b: (lambda x, n: (x.sum(), n))(
        *jx.lax.custom_linear_solve(lambda x: 2 * x, b, lambda mv, b: (b / 2, 3 * b), symmetric=True,
                                    has_aux=True)), has_aux=True)(b),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_and_options(name):
    both(WRONG[name], A, B)
