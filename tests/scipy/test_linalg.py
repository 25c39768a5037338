"""`minijax.scipy.linalg` against JAX's: values, types, errors, jaxprs, derivatives."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.numpy.test_linalg import ARRAYS as MATRICES, second_derivatives
from tests.oracle import both, subject
from tests.oracle.calls import program, rows_of

jnp = subject.numpy

RNG = np.random.default_rng(1)

# As in the tests of `numpy.linalg`; and lo: lower triangular, v: a vector of 4, d and k: diagonals
ARRAYS = MATRICES | {
    "lo": np.tril(MATRICES["q"]) + 2 * np.eye(4, dtype=np.float32),
    "v": RNG.normal(size=4).astype(np.float32),
    "d": RNG.normal(size=6).astype(np.float32),
    "k": RNG.normal(size=5).astype(np.float32),
    "kc": (RNG.normal(size=5) + 1j * RNG.normal(size=5)).astype(np.complex64),
    "ones": np.ones(6, np.float32),
    "zz": np.zeros(5, np.float32),
    "big": 30 * RNG.normal(size=(3, 3)).astype(np.float32),
    "rot": np.array([[0, 2, 1], [-2, 0, 1], [0, 0, 3]], np.float32),
}

VALUES = rows_of("""
cholesky(sp) | cholesky(sp, lower=True) | cholesky(cp) | cholesky(cp, True) | cholesky(i) | cholesky(m)
cholesky(v) | cholesky(v, lower=True)
cho_factor(sp) | cho_factor(cp, lower=True) | cho_solve((sp, True), v) | cho_solve((cp, False), c)
cho_solve(cho_factor(sp), v) | cho_solve((t, False), m.T) | cho_solve((t, True), m) | cho_solve((sp, True), x)
lu(q) | lu(w) | lu(m) | lu(c, permute_l=True) | lu(i) | lu(t) | lu_factor(q) | lu_factor(w) | lu_factor(t)
lu_solve(lu_factor(q), v) | lu_solve(lu_factor(q), w, 1) | lu_solve(lu_factor(c), x, 2) | lu_solve(lu_factor(q), v, 3)
qr(q) | qr(w) | qr(w, mode="economic") | qr(m, mode="r") | qr(c, pivoting=True) | qr(w, mode="r", pivoting=True)
qr(q, mode="a") | qr(t)
qr_multiply(w, v) | qr_multiply(w, x, "left") | qr_multiply(q, w, "left") | qr_multiply(w, w.T, pivoting=True)
qr_multiply(c, c, conjugate=True) | qr_multiply(c, c, "left", conjugate=True) | qr_multiply(w, x) | qr_multiply(w, v, "a")
qr_multiply(m, two)
svd(w, full_matrices=False) | svd(c, compute_uv=False) | det(q) | inv(m)
eigh(sp) | eigh(cp, eigvals_only=True) | eigh(q, lower=False) | eigh(q, q) | eigh(q, type=2) | eigh(t)
schur(q) | schur(q, "complex") | schur(c) | schur(q, "a") | schur(t)
hessenberg(q) | hessenberg(c, calc_q=True) | hessenberg(t, calc_q=True) | hessenberg(e0) | hessenberg(m)
solve_triangular(lo, v, lower=True) | solve_triangular(lo, v) | solve_triangular(lo.T, w, trans="T")
solve_triangular(c, c, trans=2) | solve_triangular(lo, v, 1, True, True) | solve_triangular(lo, v, 3)
solve_triangular(t, m.T) | solve_triangular(t, m) | solve_triangular(lo, x) | solve_triangular(i, x)
solve(q, v) | solve(sp, v, assume_a="pos") | solve(sp, w, lower=True, assume_a="pos") | solve(t, m.T) | solve(q, v, assume_a="a")
solve(cp, c, assume_a="pos") | solve(q, x) | solve(q, x, assume_a="pos") | solve(sp, w, assume_a="sym")
solve_sylvester(sp, i.astype(float), w) | solve_sylvester(sp, i.astype(float), w, method="eigen") | solve_sylvester(q, q, w)
solve_sylvester(sp, -sp, q) | solve_sylvester(sp, q, q, method="a") | solve_sylvester(c, cp, c)
expm(q) | expm(big) | expm(t) | expm(lo.T, upper_triangular=True) | expm(1e4 * big) | expm(i) | expm(m) | expm(h)
expm(0.1 * q) | expm_frechet(q, w[:, :1] * q) | expm_frechet(q, m)
sqrtm(sp) | sqrtm(q) | sqrtm(q, 2) | funm(c, jnp.exp, disp=False) | funm(m, jnp.sin)
polar(q) | polar(m, "left") | polar(t, method="svd") | polar(m, "left", method="svd") | polar(x)
polar(q, "a") | polar(q, method="a")
[abs(x) for x in eigh_tridiagonal(d, k)] | [abs(x) for x in eigh_tridiagonal(d.astype(complex), kc)]
eigh_tridiagonal(d, k, select="i", select_range=(1, 3), eigvals_only=True) | eigh_tridiagonal(d, k, select="v") | eigh_tridiagonal(d, k, select="a", eigvals_only=True)
eigh_tridiagonal(d, k, select="i") | eigh_tridiagonal(d, k, select="z") | eigh_tridiagonal(d, kc) | eigh_tridiagonal(d[:1], k[:0])
eigh_tridiagonal(i[0], i[0, :2]) | eigh_tridiagonal(ones, zz, eigvals_only=True)
block_diag(q, x, 2.0) | block_diag() | block_diag(i, m) | block_diag(t) | block_diag(c, b)
toeplitz(x, v) | toeplitz(kc) | toeplitz("a") | toeplitz(x[:0], v)
hankel(x) | hankel(m, v) | hankel(2.0) | hankel(x, 2.0) | hankel(i[0], h) | circulant(x) | circulant(m)
hilbert(3) | hadamard(4) | hadamard(2, float) | hadamard(3)
dft(4) | dft(3, "n") | dft(3, "sqrtn") | dft(3, "a") | dft(3, dtype=float)
""")


def modules(jx):
    """The functions of `scipy.linalg` by their names, and `jnp`."""
    names = [name for name in dir(jx.scipy.linalg) if not name.startswith("_")]
    return {"jnp": jx.numpy} | {name: getattr(jx.scipy.linalg, name) for name in names}


@pytest.mark.daily(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", VALUES)
def test_values(row):
    both(program(row, ARRAYS, modules), tol=3e-4)


# Jaxprs that are not JAX's: other algorithms for the same numbers, and solves (see numpy.linalg).
OTHER_TEXT = re.compile(r"^(expm|sqrtm|funm|polar|\[abs|eigh_tridiagonal|toeplitz|hankel|circulant|solve\(|inv"
                        r"|solve_sylvester|lu_solve|qr_multiply|block_diag\(\)|det|dft)")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", [row for row in VALUES[::2] if not OTHER_TEXT.search(row)])
def test_text(row):
    both(program(row, ARRAYS, modules, lambda jx, f: jx.make_jaxpr(f)))


@pytest.mark.parametrize("row", [
    "expm(q)", "expm(3 * q)", "expm(0.3 * q)", "expm(0.1 * q)", "expm(0.001 * q)", "polar(q)", "solve(sp, v)"])
def test_64_bits(row):
    """With 64 bits the exponential has more polynomials to choose from."""
    wide = {name: a.astype(np.result_type(a, np.float64)) for name, a in ARRAYS.items()}

    def of(jx):
        def run():
            with jx.enable_x64(True):
                return program(row, wide, modules)(jx)()
        return run

    both(of)


def test_eigenvectors_of_equal_eigenvalues():
    """They are not unique, but orthonormal."""
    d, e = np.float32([2, 2, 2, 5, 5.00001]), np.float32([0, 0, 0, 1e-6])
    values, vectors = map(np.asarray, subject.scipy.linalg.eigh_tridiagonal(d, e))
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-5)
    T = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    np.testing.assert_allclose(T @ vectors, vectors * values, atol=2e-5)



DIFFERENTIABLE = rows_of("""
cho_solve((sp, True), v) | solve_triangular(lo, v, lower=True) | expm(q) | block_diag(q, x) | toeplitz(x, v)
""")


@pytest.mark.parametrize("row", DIFFERENTIABLE)
def test_derivatives(row):
    both(program(row, ARRAYS, modules, second_derivatives), tol=2e-3)
