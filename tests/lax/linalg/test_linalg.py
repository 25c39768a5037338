"""Chapter 11: `lax.linalg`, function by function, against real JAX.

A row is text, evaluated with `linalg`, `x` (a matrix, or a batch of them) and what `parts` makes
of it; the text is the test's name. Many cases are compiled together, since compiling takes the time.
"""

from __future__ import annotations

import functools
import itertools
import subprocess
import sys

import numpy as np
import pytest

import minijax
from minijax.lax.linalg import lu_solve
from tests.oracle import both, in_both, jax

SQUARE = [(3, 3), (2, 3, 3), (1, 1), (0, 0), (0, 2, 2)]
ANY = [*SQUARE, (2, 4), (4, 2), (2, 1, 4, 3), (0, 3), (3, 0)]


def matrix(shape, dtype="float32"):
    """Random, but far from singular: the diagonal is 3, 4, 5 … more."""
    random = np.random.default_rng(sum(shape))
    x = random.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.normal(size=shape)
    return (x + np.eye(*shape[-2:]) * np.arange(3, 3 + shape[-1])).astype(dtype)


def parts(jx, x):
    """What rows may speak of, besides `x`."""
    def parted(**names):
        return names

    H = jx.numpy.conj(jx.numpy.swapaxes(x, -1, -2))
    d = x[..., :1].sum(-1)  # zeros where there is no column
    return parted(jx=jx, linalg=jx.lax.linalg, x=x, H=H, positive=x @ H, d=d,
                  low=jx.numpy.concatenate([0 * d[..., :1], d[..., 1:] / 8], -1),
                  up=jx.numpy.concatenate([d[..., 1:] / 8, 0 * d[..., :1]], -1))


def function(row):
    return lambda jx: lambda x: eval(row, parts(jx, x))


# row -> the shapes of x
DIFFERENTIABLE = {
    "linalg.cholesky(positive)": SQUARE,
    "linalg.triangular_solve(x, H)": SQUARE,
    "linalg.triangular_solve(x, H, left_side=True, lower=True, transpose_a=True)": SQUARE,
    "linalg.triangular_solve(x, H[..., :1], left_side=True, conjugate_a=True)": SQUARE[:3],
    "linalg.triangular_solve(x, H[..., :1, :], transpose_a=True, conjugate_a=True,"
    " unit_diagonal=True, lower=True)": SQUARE[:3],
    "linalg.triangular_solve(x, H[..., 0], left_side=True)": SQUARE[:3],
    "linalg.lu(x)[0]": ANY,
    "linalg.eigh(x)": SQUARE,
    "linalg.qr(x)": ANY,
    "linalg.qr(x, full_matrices=False)": ANY,
    "linalg.svd(x, full_matrices=False)": ANY,
    "linalg.svd(x, compute_uv=False)": ANY,
    "linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)": SQUARE,
    "linalg.eig(x, enable_eigvec_derivs=True)": SQUARE,
    "linalg.tridiagonal_solve(low, d, up, x)": SQUARE[:3],
}
OTHERS = {
    "linalg.cholesky(positive, symmetrize_input=False)": SQUARE,
    "linalg.eigh(x, symmetrize_input=False, lower=False)": SQUARE,
    "linalg.lu(x)": ANY,
    "linalg.lu_pivots_to_permutation(linalg.lu(x)[1], x.shape[-2])": ANY,
    "linalg.qr(x, pivoting=True)": ANY,
    "linalg.qr(x, pivoting=True, full_matrices=False)": ANY,
    "linalg.svd(x)": ANY,
    "linalg.svd(x, algorithm=linalg.SvdAlgorithm.QR)": ANY,
    "linalg.eig(x, compute_right_eigenvectors=False)": SQUARE,
    "linalg.schur(x)": SQUARE,
    "linalg.schur(x, compute_schur_vectors=False)": SQUARE,
    "linalg.hessenberg(x)": SQUARE[:3],
    "linalg.householder_product(x / 9, d / 9)": SQUARE,
    "linalg.ormqr(x / 9, d / 9, H)": SQUARE[:3],
    "linalg.ormqr(x / 9, d / 9, H[..., :1, :], left=False, transpose=True)": SQUARE[:3],
    "linalg.tridiagonal_solve(low, d, up, x, perturb_singular=True)": SQUARE[:2],
}
ROWS = {**DIFFERENTIABLE, **OTHERS}


@pytest.mark.daily(2)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("row", ROWS)
def test_values(row, dtype):
    """Of all shapes, in one program; and of one shape by itself, outside of programs."""
    f = function(row)
    xs = [matrix(shape, dtype) for shape in ROWS[row]]
    both(lambda jx: jx.jit(lambda xs: [f(jx)(x) for x in xs]), xs)
    both(lambda jx: lambda x: f(jx)(jx.numpy.asarray(x)), xs[1])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_double_precision(dtype):
    x = matrix((2, 3, 3), dtype)

    def program(jx):
        return jx.jit(lambda x: [function(row)(jx)(x) for row in ROWS])

    with jax.enable_x64(True), minijax.enable_x64(True):
        both(program, x, tol=1e-8)


def real_parts(jx, f):
    """`f` with one vector as its result, of real numbers."""
    def flat(x):
        leaves = [y for y in jx.tree.leaves(f(x)) if y.dtype.kind in "fc"]
        leaves = [part for y in leaves for part in ((y.real, y.imag) if y.dtype.kind == "c" else (y,))]
        return jx.numpy.concatenate([y.ravel() for y in leaves])

    return flat


@pytest.mark.daily(3)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("row", DIFFERENTIABLE)
def test_derivatives(row, dtype):
    """Forward, reverse, and forward over reverse, of a batch; and of matrices that are not square."""
    shapes = [(2, 3, 3), (2, 3), (3, 2)][: 3 if DIFFERENTIABLE[row] is ANY else 1]
    xs = [matrix(shape, dtype) for shape in shapes]

    def derivatives(jx, f, x):
        t = x[..., ::-1, :] / 4
        out, out_dot = jx.jvp(f, (x,), (t,))

        def pullback(x):
            return jx.vjp(f, x)[1](jx.numpy.linspace(-1, 1, out.size, dtype=out.dtype))[0]

        return out_dot, jx.jvp(pullback, (x,), (t,))

    def program(jx):
        f = real_parts(jx, function(row)(jx))
        return jx.jit(lambda xs: [derivatives(jx, f, x) for x in xs])

    both(program, xs, tol=2e-3)


@pytest.mark.parametrize("row", DIFFERENTIABLE)
def test_derivatives_are_those_of_the_function(row):
    """The JVP is the limit of a quotient, and the VJP is its transpose."""
    with minijax.enable_x64(True):
        x = minijax.numpy.asarray(matrix((3, 3), "float64"))
        t, h = x[::-1] / 4, 1e-5
        f = real_parts(minijax, function(row)(minijax))
        out, out_dot = minijax.jvp(f, (x,), (t,))
        np.testing.assert_allclose(out_dot, (f(x + h * t) - f(x - h * t)) / (2 * h),
                                   rtol=1e-5, atol=1e-6)
        ct = minijax.numpy.linspace(-1, 1, out.size)
        (x_ct,) = minijax.vjp(f, x)[1](ct)
        np.testing.assert_allclose((x_ct * t).sum(), (ct * out_dot).sum(), rtol=1e-8)


def test_derivatives_of_a_batch_with_pivots():
    """JAX's rule takes the columns of a single matrix only."""
    x, t = matrix((2, 4, 3)), matrix((2, 4, 3))[:, ::-1]
    qr = functools.partial(minijax.lax.linalg.qr, pivoting=True, full_matrices=False)
    _, (q_dot, r_dot, _) = minijax.jvp(qr, (x,), (t,))
    for i in range(2):
        _, alone = minijax.jvp(qr, (x[i],), (t[i],))
        np.testing.assert_allclose(q_dot[i], alone[0], atol=1e-5)
        np.testing.assert_allclose(r_dot[i], alone[1], atol=1e-5)


@pytest.mark.parametrize("row", ROWS)
def test_vmap(row):
    """Over each dimension of a batch; every member is treated as if it were alone."""
    x = matrix((2, 3, 3))

    def program(jx):
        f = function(row)(jx)
        return jx.jit(lambda x: [jx.vmap(f)(x), jx.vmap(f, 1)(jx.numpy.moveaxis(x, 0, 1)),
                                 jx.vmap(jx.vmap(f))(x[None])])

    both(program, x)


SOLVERS = {
    "triangular_solve": (lambda jx, a, b: jx.lax.linalg.triangular_solve(a, b, left_side=True)),
    "from_the_right": (lambda jx, a, b: jx.lax.linalg.triangular_solve(a, b, lower=True)),
    "tridiagonal_solve": (lambda jx, a, b: jx.lax.linalg.tridiagonal_solve(
        a[..., 0] / 9, a[..., 1], a[..., 2] / 9, b)),
    "ormqr": lambda jx, a, b: jx.lax.linalg.ormqr(a / 9, a[..., 0] / 9, b),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_one_operand_is_mapped(name):
    """A right-hand side for each example, or a matrix for each."""
    a, b = matrix((2, 3, 3)) + 1, matrix((2, 3, 3)) - 1

    def program(jx):
        def f(a, b):
            return SOLVERS[name](jx, a, b)

        def run(a, b):
            return [jx.vmap(f, (None, 0))(a[0], b), jx.vmap(f, (0, None))(a, b[0]),
                    jx.vmap(f, (None, 2))(a[0], jx.numpy.moveaxis(b, 0, 2)),
                    jx.vmap(f, (1, 0))(jx.numpy.moveaxis(a, 0, 1), b)]

        return jx.jit(run)

    both(program, a, b)


@pytest.mark.parametrize("name", ["triangular_solve", "tridiagonal_solve"])
def test_transposition(name):
    """Solving is linear in the right-hand side, and in nothing else."""
    a, b = matrix((3, 3)), matrix((3, 3))[:, :2]

    def program(jx):
        return lambda a, b: jx.linear_transpose(lambda b: SOLVERS[name](jx, a, b), b)(b + 1)

    def refused(jx):
        return lambda a, b: jx.linear_transpose(lambda a: SOLVERS[name](jx, a, b), a)(b)

    both(program, a, b)
    both(refused, a, b)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("shape", [(1, 3, 2), (2, 3), (4, 1, 3, 2)])
def test_lu_solve(shape, trans):
    """One equation, its transpose and its adjoint; batches are broadcast."""
    a, b = matrix((2, 3, 3), "complex64"), matrix(shape, "complex64")
    turned = {0: a, 1: a.swapaxes(1, 2), 2: a.swapaxes(1, 2).conj()}[trans]
    factors, _, permutation = minijax.lax.linalg.lu(a)
    vectors = len(shape) == 2
    expected = np.linalg.solve(turned, b[..., None] if vectors else b)
    np.testing.assert_allclose(lu_solve(factors, permutation, b, trans),
                               expected[..., 0] if vectors else expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 3), (1, 3, 2), (2, 3, 2)])
def test_solve(shape, dtype):
    """Values and derivatives; `numpy.linalg.solve` is but a wrapper."""
    a = matrix((3, 3) if shape in ((3,), (3, 2)) else (2, 3, 3), dtype)

    def program(jx):
        def solve(a, b):
            return (jx.numpy.linalg.solve if shape != (2, 3) else solve_vectors)(a, b)

        def solve_vectors(a, b):
            return jx.numpy.linalg.solve(a, b[..., None])[..., 0]

        def run(a, b):
            out, out_dot = jx.jvp(solve, (a, b), (a / 4, b / 4))

            def pullback(a, b):
                return jx.vjp(solve, a, b)[1](out)

            return out, out_dot, jx.jvp(pullback, (a, b), (a[..., ::-1] / 4, b / 4))

        return jx.jit(run)

    both(program, a, matrix(shape, dtype), tol=1e-3)


# ----------------------------------------------------------------------------------------------
# Failures


NOT_A_NUMBER = [
    "linalg.cholesky(-positive)",
    "linalg.cholesky(positive * jx.numpy.array([1.0, -1.0])[:, None, None])",
    *[f"linalg.{call}" for call in (
        "cholesky(x * jx.numpy.nan)", "eigh(x * jx.numpy.nan)", "lu(x * jx.numpy.nan)", "lu(x * 0)",
        "qr(x * jx.numpy.nan)", "svd(x * jx.numpy.nan)", "eig(x * jx.numpy.nan)",
        "schur(x * jx.numpy.nan)", "triangular_solve(x * 0, x)",
        "tridiagonal_solve(0 * d, 0 * d, 0 * d, x)", "hessenberg(x * jx.numpy.nan)",
    )],
]


@pytest.mark.parametrize("row", NOT_A_NUMBER)
def test_what_cannot_be_computed_is_nan(row):
    both(lambda jx: lambda x: function(row)(jx)(jx.numpy.asarray(x)), matrix((2, 3, 3)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_triangular_solve_of_dtypes_that_lapack_has_not(dtype):
    def program(jx):
        x = jx.numpy.asarray(matrix((3, 3)) / 4).astype(dtype)
        return lambda: [jx.lax.linalg.triangular_solve(x, x, left_side=left, lower=left,
                                                       transpose_a=turn)
                        for left, turn in itertools.product((True, False), repeat=2)]

    both(program, tol=0.02)


def test_integers_become_floats_when_they_are_symmetrized():
    both(lambda jx: lambda x: [jx.lax.linalg.cholesky(x), jx.lax.linalg.eigh(x)],
         np.eye(2, dtype=np.int32) * 4)


@in_both
def test_weak_types(jx):
    x = jx.lax.full((2, 2), 1.0) + jx.lax.full((2, 2), 0.0)
    return [f(x) for f in (jx.lax.linalg.lu, jx.lax.linalg.qr, jx.lax.linalg.eigh,
                           jx.lax.linalg.cholesky, jx.lax.linalg.svd)]


# ----------------------------------------------------------------------------------------------
# Programs


# The derivatives of eig hold a `custom_linear_solve`, whose jaxprs JAX shares with the ones around.
@pytest.mark.parametrize("row", ROWS)
def test_jaxpr(row):
    differentiated = row in DIFFERENTIABLE and "eig(" not in row

    def tangents(jx, x):
        outs = jx.jvp(function(row)(jx), (x,), (x,))[1]
        return [t for t in jx.tree.leaves(outs) if t.dtype != jax.dtypes.float0]

    def program(jx):
        def run(x):
            out = [jx.make_jaxpr(function(row)(jx))(x)]
            return out + [jx.make_jaxpr(lambda x: tangents(jx, x))(x)] if differentiated else out

        return run

    both(program, matrix((3, 3)))
    both(program, matrix((2, 3, 3), "complex64"))


CALLS = {
    "linalg.cholesky(x)": "lapack_spotrf_ffi", "linalg.eigh(x)": "lapack_ssyevd_ffi",
    "linalg.svd(x)": "lapack_sgesdd_ffi", "linalg.eig(x)": "lapack_sgeev_ffi",
    "linalg.triangular_solve(x, x)": "lapack_strsm_ffi", "linalg.lu(x)": "lapack_sgetrf_ffi",
}


@pytest.mark.parametrize("row", CALLS)
def test_a_factorization_is_one_call(row):
    text = minijax.jit(function(row)(minijax)).lower(np.eye(2, dtype=np.float32)).as_text()
    assert text.count("stablehlo.custom_call") == 1
    assert f"@{CALLS[row]}" in text


def test_scipy_is_loaded_when_it_is_needed():
    program = ("import sys, minijax as jax; import minijax.lax.linalg\n"
               "assert not {'scipy', 'jaxlib'} & set(sys.modules)\n"
               "jax.jit(lambda x: x + 1)(1.0)\n"
               "assert 'scipy' not in sys.modules\n"
               "jax.lax.linalg.cholesky(jax.numpy.eye(2))\n"
               "assert 'scipy' in sys.modules and 'jax' not in sys.modules\n")
    subprocess.run([sys.executable, "-c", program], check=True)
