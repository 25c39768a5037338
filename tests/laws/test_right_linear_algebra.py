"""Derivatives of linear algebra: limits of quotients in 64 bits, where JAX's are others or NaN.

A row is text, evaluated with a matrix `a` and the constants below; the text is the test's name.
"""

import itertools

import numpy as np
import pytest

import minijax as jax
from minijax import numpy as jnp

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape)


def complex_normal(*shape):
    return normal(*shape) + 1j * normal(*shape)


def positive(x):
    return x @ x.conj().T + 3 * np.eye(len(x))


def of_rank(k, n=4):
    return normal(n, k) @ normal(k, n)


v, w = normal(4), complex_normal(3)
P, C = positive(normal(4, 4)), positive(complex_normal(3, 3))
ANY, ANY_C = normal(4, 4), complex_normal(3, 3)
UPPER, LOWER = np.triu(P) + np.tril(ANY, -1), np.tril(P) + np.triu(ANY, 1)
UPPER_C = np.triu(C) + np.tril(ANY_C, -1)

NAMES = {"linalg": jnp.linalg, "scipy": jax.scipy.linalg, "lax": jax.lax, "jnp": jnp, "v": v, "w": w}

# Of Hermitian matrices one triangle is read; what is in the other has no influence.
ONE_TRIANGLE = [
    *[(f"scipy.{call}", a) for a in (P, UPPER) for call in (
        "cholesky(a)", "cho_solve(scipy.cho_factor(a), v)", "solve(a, v, assume_a='pos')")],
    ("scipy.cholesky(a)", np.triu(P)), ("scipy.cholesky(a)", UPPER_C),
    ("scipy.cholesky(a, lower=True)", C), ("scipy.solve(a, v, assume_a='pos', lower=True)", LOWER),
    ("scipy.solve(a, w, assume_a='pos')", UPPER_C), ("scipy.solve(a, w, assume_a='pos', lower=True)", C),
    ("linalg.cholesky(a, symmetrize_input=False)", LOWER),
    ("linalg.cholesky(a, upper=True, symmetrize_input=False)", C),
    ("linalg.eigh(a, symmetrize_input=False)", LOWER), ("linalg.eigh(a, 'U', symmetrize_input=False)", UPPER),
    ("linalg.eigvalsh(a, symmetrize_input=False)", C), ("linalg.eigvalsh(a, 'U', symmetrize_input=False)", UPPER_C),
    ("lax.linalg.eigh(a, symmetrize_input=False, lower=False)[1]", UPPER_C),
]


def function(row):
    """A weighted sum of the real and imaginary parts of the results."""
    def f(a):
        leaves = [y for y in jax.tree.leaves(eval(row, NAMES | {"a": a})) if y.dtype.kind in "fc"]
        parts = [p for y in leaves for p in ((y.real, y.imag) if y.dtype.kind == "c" else (y,))]
        flat = jnp.concatenate([p.ravel() for p in parts])
        return (flat * jnp.cos(jnp.arange(flat.size))).sum()

    return f


def directions(a):
    """Each entry by itself, and all entries together."""
    entries = np.eye(a.size).reshape(-1, *a.shape)
    together = np.random.default_rng(1).normal(size=(1, *a.shape))
    return np.concatenate([entries, entries * 1j, together * (1 + 0.3j)]
                          if a.dtype.kind == "c" else [entries, together]).astype(a.dtype)


def check(row, a, order=2):
    """Forward and reverse, first and second derivatives, of one matrix and of a batch."""
    f, h = function(row), 1e-3 * max(1.0, np.abs(a).max())
    with jax.enable_x64():
        a, ts = jnp.asarray(a), jnp.asarray(directions(a))
        steps = h * jnp.array([1.0, -1, 2, -2])

        def along(g, a, t):
            """The quotient of differences of g, from four points: exact up to the fifth power of h."""
            near = jax.vmap(lambda s: g(a + s * t))(steps)
            return (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)

        @jax.jit
        def first(a):
            gradient = jax.grad(f)(a)
            return (jax.vmap(lambda t: along(f, a, t))(ts),
                    jax.vmap(lambda t: jax.jvp(f, (a,), (t,))[1])(ts), (gradient * ts).real.sum((1, 2)),
                    (jax.vmap(jax.grad(f))(jnp.stack([a + h, a]))[1] * ts).real.sum((1, 2)))

        @jax.jit
        def second(a):
            t = ts[-1]
            return (along(jax.grad(f), a, t), jax.jvp(jax.grad(f), (a,), (t,))[1],
                    jax.grad(lambda a: jax.jvp(f, (a,), (t,))[1])(a))

        for program in (first, second)[:order]:
            limit, *found = program(a)
            scale = max(1e-3, np.abs(limit).max())
            for derivative in found:
                np.testing.assert_allclose(derivative / scale, limit / scale, atol=1e-6)


@pytest.mark.daily(3)
@pytest.mark.parametrize("row, a", ONE_TRIANGLE, ids=[row for row, _ in ONE_TRIANGLE])
def test_one_triangle_is_read(row, a):
    check(row, a)


# ----------------------------------------------------------------------------------------------
# Determinants


MATRICES = {
    "1": [np.zeros((1, 1))], "3": [of_rank(k, 3) for k in range(4)], "5": [of_rank(k, 5) for k in range(6)],
    "4": [*map(of_rank, range(5)), np.eye(4, k=1), np.ones((4, 4)), of_rank(3) + 1e-12 * ANY, *map(np.diag, (
        (0.0, 1, 2, 3), (1.0, 2, 0, 3), (0.0, 0, 2, 3), (1.0, 0, 0, 3), (1, 1e-9, 1e-12, 1)))],
    "complex": [complex_normal(4, k) @ complex_normal(k, 4) for k in range(5)],
}


def of_permutations(a):
    """The determinant by its definition, a polynomial."""
    n = len(a)
    orders = np.array([*itertools.permutations(range(n))])
    signs = np.linalg.det(np.eye(n)[orders]).round()
    return (signs * a[np.arange(n), orders].prod(-1)).sum()


@pytest.mark.daily(2)
@pytest.mark.parametrize("name", MATRICES)
def test_determinants(name):
    """Of any rank, up to the third derivatives; in a batch, each as if it were alone."""
    batch = np.stack(MATRICES[name])
    t = np.random.default_rng(1).normal(size=batch[0].shape)

    def derivatives(det):
        f = lambda a: det(a).real
        slope = lambda a: jax.jvp(f, (a,), (t.astype(a.dtype),))[1]
        curve = lambda a: jax.jvp(jax.grad(f), (a,), (t.astype(a.dtype),))[1]
        return lambda a: [f(a), jax.grad(f)(a), curve(a), jax.grad(slope)(a), jax.jvp(
            curve, (a,), (t.astype(a.dtype),))[1]]

    with jax.enable_x64():
        found, want = (jax.jit(jax.vmap(derivatives(det)))(batch) for det in (jnp.linalg.det, of_permutations))
        also = [jax.jit(jax.grad(f))(batch) for f in (
            lambda a: jnp.linalg.det(a).real.sum(), lambda a: jax.vmap(jnp.linalg.det)(a).real.sum())]
    for got, expected in zip([*found, *also], [*want, want[1], want[1]]):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * max(1, np.abs(expected).max()))


# ----------------------------------------------------------------------------------------------
# Factorizations and least squares


ORTHONORMAL = np.linalg.qr(normal(4, 3))[0]
WIDE = normal(2, 4) * np.arange(1, 5)
OTHERS = [
    # columns that pivots move, and more of them than rows
    ("lax.linalg.qr(a, pivoting=True, full_matrices=False)[:2]", WIDE), ("scipy.qr(a, pivoting=True)[:2]", WIDE),
    ("linalg.qr(a)", normal(2, 4)), ("linalg.qr(a, 'complete')", complex_normal(2, 3)),
    # equal singular values, or deficient rank: the solution is a smooth function of `a`
    ("linalg.lstsq(a, v)[:2]", ORTHONORMAL), ("linalg.lstsq(a, w[:2])[0]", complex_normal(2, 3)),
    ("linalg.lstsq(a @ a.T, v)[0]", normal(4, 2)), ("linalg.lstsq(a @ a.T, v)[0]", normal(4, 1)),
    ("linalg.lstsq(jnp.concatenate([a, a]), jnp.concatenate([v, 2 * v]))[:2]", ANY),
    ("linalg.pinv(a @ a.T)", normal(4, 2)), ("linalg.pinv(a)", ORTHONORMAL.T),
    ("linalg.lstsq(a, v)[1]", ANY),  # no residuals
    ("scipy.polar(a)", np.eye(3)), ("scipy.polar(a, 'left')", ORTHONORMAL), ("scipy.polar(a)", complex_normal(2, 3)),
    ("scipy.polar(a, 'left')", complex_normal(3, 3)),
]


@pytest.mark.daily(3)
@pytest.mark.parametrize("row, a", OTHERS, ids=[row for row, _ in OTHERS])
def test_other_factorizations(row, a):
    check(row, a)


# Symmetric functions of eigenvalues and singular values that are equal: their first derivatives.
EQUAL = [(row, a) for a in (np.eye(3), np.diag([1.0, 2, 2])) for row in (
    "(linalg.eigvalsh(a) ** 3).sum()", "jnp.log(linalg.svdvals(a)).sum()", "linalg.eigvals(a).sum()")] + [
    ("linalg.norm(a, 'nuc')", ORTHONORMAL), ("(linalg.svdvals(a) ** 2).sum()", of_rank(1, 3)),
    ("(linalg.svdvals(a) ** 2).sum()", np.zeros((2, 3)))]


@pytest.mark.parametrize("row, a", EQUAL, ids=[row for row, _ in EQUAL])
def test_equal_values(row, a):
    check(row, a, order=1)


@pytest.mark.parametrize("row", [
    "linalg.eigh(a).eigenvectors", "linalg.svd(a).U", "jax.grad(lambda a: (linalg.eigvalsh(a) ** 3).sum())(a)"])
def test_no_derivatives_of_vectors_of_equal_values(row):
    """The values do not determine the vectors: no number would be right."""
    assert np.isnan(jax.jacobian(lambda a: eval(row, NAMES | {"a": a, "jax": jax}))(np.eye(2))).any()
