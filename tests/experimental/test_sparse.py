"""Sparse arrays: the same as in JAX, eagerly and under transformations."""

from __future__ import annotations

import functools
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse

import minijax
import minijax.experimental.sparse
import minijax.scipy.optimize
from minijax import numpy as jnp
from minijax.experimental import sparse
from tests.oracle import both, in_both

RNG = np.random.default_rng(0)
DENSE = np.array([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.0]], np.float32)
V3, V4 = RNG.uniform(0.5, 2, 3).astype("f"), RNG.uniform(0.5, 2, 4).astype("f")
M34, M43, M45 = (RNG.uniform(0.5, 2, shape).astype("f") for shape in ((3, 4), (4, 3), (4, 5)))

# Sparse arrays by data, which vary, and indices and shape, which do not.
ARRAYS = {
    "M": (np.array([1.0, 2.0, 3.0, 0.5], "f"), [[0, 1], [0, 3], [1, 0], [2, 2]], (3, 4)),
    "unsorted": (np.array([1.0, 2.0, 3.0, 0.5], "f"), [[2, 1], [0, 3], [0, 1], [1, 2]], (3, 4)),
    "duplicates": (np.array([1.0, 2.0, 3.0, 0.5], "f"), [[0, 1], [2, 2], [0, 1], [2, 0]], (3, 4)),
    "padded": (np.array([1.0, 2.0, 0.0, 0.0], "f"), [[0, 1], [2, 2], [3, 4], [3, 4]], (3, 4)),
    "batched": (RNG.uniform(0.5, 2, (3, 2)).astype("f"),
                [[[0], [2]], [[3], [1]], [[2], [4]]], (3, 4)),
    "one pattern": (RNG.uniform(0.5, 2, (3, 2)).astype("f"), [[[0], [2]]], (3, 4)),
    "dense rows": (RNG.uniform(0.5, 2, (2, 4)).astype("f"), [[0], [2]], (3, 4)),
    "all dense": (RNG.uniform(0.5, 2, (1, 3, 4)).astype("f"), np.zeros((1, 0), int), (3, 4)),
    "all batch": (RNG.uniform(0.5, 2, (3, 4, 1)).astype("f"), np.zeros((3, 4, 1, 0), int), (3, 4)),
    "both": (RNG.uniform(0.5, 2, (3, 1, 4)).astype("f"), np.zeros((3, 1, 0), int), (3, 4)),
    "empty": (np.zeros(0, "f"), np.zeros((0, 2), int), (3, 4)),
}
FLAT = ["M", "unsorted", "duplicates", "padded", "empty"]  # two sparse dimensions
UNBATCHED = [*FLAT, "dense rows", "all dense"]
ALL = [*ARRAYS]

# Functions of a sparse array of shape (3, 4), and the arrays that they are tried with.
PROGRAMS = {
    "todense": (lambda jx, sp, x: x.todense(), ALL),
    "matmul vector": (lambda jx, sp, x: x @ V4, FLAT + ["batched", "one pattern"]),
    "matmul matrix": (lambda jx, sp, x: x @ M45, FLAT + ["batched", "one pattern"]),
    "rmatmul vector": (lambda jx, sp, x: jx.numpy.asarray(V3) @ x, FLAT + ["batched", "one pattern", "dense rows"]),
    "rmatmul matrix": (lambda jx, sp, x: jx.numpy.asarray(M43) @ x, FLAT + ["batched", "one pattern", "dense rows"]),
    "transposed": (lambda jx, sp, x: x.T @ V3, FLAT),
    "outer": (lambda jx, sp, x: sp.bcoo_dot_general(
        x, V3, dimension_numbers=(([], []), ([], []))), ALL),
    "elementwise dot": (lambda jx, sp, x: sp.bcoo_dot_general(
        x, M34, dimension_numbers=(([0, 1], [0, 1]), ([], []))), FLAT + ["batched", "all batch"]),
    "batch dot": (lambda jx, sp, x: sp.bcoo_dot_general(
        x, M34, dimension_numbers=(([1], [1]), ([0], [0]))), ["batched", "one pattern"]),
    "sparse matmul": (lambda jx, sp, x: (x @ x.T).todense(), FLAT),
    "sum": (lambda jx, sp, x: x.sum(), ALL),
    "sum of columns": (lambda jx, sp, x: x.sum(0).todense(), ALL),
    "sum of rows": (lambda jx, sp, x: x.sum(1).todense(), ALL),
    "arithmetic": (lambda jx, sp, x: (2 * x / 3 - -x).todense(), ALL),
    "multiplied": (lambda jx, sp, x: (x * M34).todense(), ALL),
    "rows scaled": (lambda jx, sp, x: (x * V4).todense(), ALL),
    "columns scaled": (lambda jx, sp, x: (jx.numpy.asarray(V3)[:, None] * x).todense(), ALL),
    "sum with itself": (lambda jx, sp, x: (x + x).todense(), ALL),
    "sum with another": (lambda jx, sp, x: (x + sp.BCOO.fromdense(DENSE, nse=4)).todense(), FLAT),
    "difference": (lambda jx, sp, x: (sp.BCOO.fromdense(DENSE, nse=4) - x).todense(), FLAT),
    "dense sum": (lambda jx, sp, x: x + M34, ALL),
    "power": (lambda jx, sp, x: (abs(x) ** 2).todense(), UNBATCHED),
    "sort_indices": (lambda jx, sp, x: x.sort_indices().todense(), ALL),
    "sum_duplicates": (lambda jx, sp, x: x.sum_duplicates(nse=5, remove_zeros=False).todense(),
                       ALL),
    "broadcast": (lambda jx, sp, x: sp.bcoo_broadcast_in_dim(
        x, shape=(2, 3, 4), broadcast_dimensions=(1, 2)).todense(), ALL),
    "sparsified": (lambda jx, sp, x: sp.sparsify(
        lambda x, v: 2 * jx.numpy.dot(jx.numpy.log1p(x), v) + 1)(x, V4), FLAT),
    "einsum": (lambda jx, sp, x: sp.sparsify(
        lambda x: jx.numpy.einsum("ij,jk->ik", jx.numpy.sin(x), M45))(x), FLAT),
    "jit inside": (lambda jx, sp, x: sp.sparsify(jx.jit(lambda x: x.T @ V3))(x), FLAT),
    "while inside": (lambda jx, sp, x: sp.sparsify(lambda x: jx.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, x @ (x.T @ c[1])), (0, V3 + 0 * x.sum())))(x)[1],
        FLAT),
    "cond inside": (lambda jx, sp, x: sp.sparsify(lambda x: jx.lax.cond(
        x.sum() > 3, lambda x: x * 2, lambda x: -x, x) @ V4)(x), FLAT),
    "compressed rows": (lambda jx, sp, x: sp.BCSR.from_bcoo(x) @ V4, FLAT[:4]),
    "to compressed rows and back": (
        lambda jx, sp, x: sp.BCSR.from_bcoo(x).to_bcoo().todense(), FLAT[:4]),
}  # fmt: skip


def total(jx, out):
    return sum(jx.numpy.sum(jx.numpy.sin(x)) for x in jx.tree.leaves(out))


def stacked(data):
    return np.stack([data, 2 * data, data - 1])


# What to do with a function of the data alone.
MODES = {
    "eager": lambda jx, f: f,
    "jit": lambda jx, f: jx.jit(f),
    "grad": lambda jx, f: jx.grad(lambda data: total(jx, f(data))),
    "jvp": lambda jx, f: lambda data: jx.jvp(f, (data,), (data + 1,)),
    "vmap": lambda jx, f: lambda data: jx.vmap(f)(stacked(data)),
}


def beyond_jax(name, array, mode):
    """JAX raises errors of its inner parts: where all examples have one pattern and are summed, and
    in the transposes of some products."""
    if array == "one pattern":
        return name.startswith(("rmatmul", "sum")) and name != "sum with itself" and (
            name != "sum of rows") and name != "sum_duplicates" or (
            (name, mode) == ("matmul matrix", "grad"))
    return mode == "grad" and (
        name == "sparse matmul" or array in ("dense rows", "all dense", "both")
        and name in ("outer", "rmatmul vector", "rmatmul matrix"))


CASES = [(name, array, mode) for name, (_, arrays) in PROGRAMS.items() for array in arrays
         for mode in MODES if mode != "jit" or array in ("M", "batched", "dense rows")
         if (name, mode) != ("while inside", "grad")]
BEYOND = [case for case in CASES if beyond_jax(*case)]


def of_data(jx, name, array, indices=None):
    """A program as a function of the data."""
    sp, (_, own_indices, shape) = jx.experimental.sparse, ARRAYS[array]
    indices = np.array(own_indices if indices is None else indices, np.int32)
    return lambda data: PROGRAMS[name][0](jx, sp, sp.BCOO((data, indices), shape=shape))


@pytest.mark.daily(3)
@pytest.mark.parametrize(("name", "array", "mode"), [c for c in CASES if not beyond_jax(*c)])
def test_like_jax(name, array, mode):
    answer = both(lambda jx: functools.partial(MODES[mode](jx, of_data(jx, name, array)),
                                               ARRAYS[array][0]), tol=1e-5)
    assert answer.error is None


@pytest.mark.parametrize(("name", "array", "mode"), BEYOND)
def test_where_jax_fails(name, array, mode):
    """A pattern for all examples is as good as one for each, and both modes give one derivative."""
    data, indices, _ = ARRAYS[array]
    f = of_data(minijax, name, array)
    got = MODES[mode](minijax, f)(data)
    if array == "one pattern":
        f = of_data(minijax, name, array, np.repeat(indices, 3, 0))
    if mode == "grad":
        want = minijax.jacfwd(lambda data: total(minijax, f(data)))(data)
    else:
        want = MODES[mode](minijax, f)(data)
    minijax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-4), got, want)


# ----------------------------------------------------------------------------------------------
# Buffers, layouts, text: calls of `sp`, with a dense matrix `D` and sparse ones

EXPRESSIONS = """
sp.BCOO.fromdense(D)
sp.BCOO.fromdense(D, nse=6)
sp.BCOO.fromdense(D, n_batch=1)
sp.BCOO.fromdense(D, n_dense=1)
sp.BCOO.fromdense(D, n_batch=1, n_dense=1)
sp.BCOO.fromdense(D, n_batch=2)
sp.BCOO.fromdense(D, n_dense=2)
sp.BCOO.fromdense(D, index_dtype='int16')
sp.BCOO.fromdense(jnp.float32(3))
sp.BCOO.fromdense(0 * D)
sp.BCOO.fromdense(D).T
sp.BCOO.fromdense(D, n_dense=1).transpose((0, 1))
sp.BCOO.fromdense(D[None].repeat(2, 0), n_batch=1).transpose((0, 2, 1))
sp.BCOO.fromdense(D).sum_duplicates()
sp.BCOO(U, shape=(3, 4)).sum_duplicates()
sp.BCOO(U, shape=(3, 4)).sum_duplicates(nse=2)
sp.BCOO(U, shape=(3, 4)).sum_duplicates(nse=6)
sp.BCOO(U, shape=(3, 4)).sum_duplicates(remove_zeros=False)
sp.BCOO(U, shape=(3, 4)).sort_indices()
sp.BCOO(U, shape=(3, 4)).T.sort_indices()
sp.BCOO(U, shape=(3, 4)).astype('int32')
-sp.BCOO.fromdense(D)
sp.BCOO.fromdense(D).sum(0)
sp.BCOO.fromdense(D, n_batch=1).sum(0)
sp.BCOO.fromdense(D, n_batch=1).sum(1)
sp.BCOO.fromdense(D, n_dense=1).sum(1)
sp.BCOO.fromdense(D) @ sp.BCOO.fromdense(D.T)
sp.BCOO.fromdense(D) @ sp.BCOO.fromdense(D[0])
sp.BCOO(U, shape=(3, 4)) + sp.BCOO.fromdense(D)
sp.bcoo_broadcast_in_dim(sp.BCOO.fromdense(D), shape=(3, 1, 4), broadcast_dimensions=(0, 2))
sp.bcoo_broadcast_in_dim(sp.BCOO.fromdense(D, n_batch=1), shape=(2, 3, 4), broadcast_dimensions=(1, 2))
sp.bcoo_broadcast_in_dim(sp.BCOO.fromdense(D, n_dense=1), shape=(2, 3, 5, 4), broadcast_dimensions=(1, 3))
sp.BCSR.fromdense(D)
sp.BCSR.fromdense(D, nse=6)
sp.BCSR.fromdense(D[None].repeat(2, 0), n_batch=1)
sp.BCSR.fromdense(D[..., None].repeat(2, -1), n_dense=1)
sp.BCSR.fromdense(D).to_bcoo()
sp.BCSR.from_bcoo(sp.BCOO(U, shape=(3, 4)))
sp.BCSR.from_scipy_sparse(scipy.sparse.csr_matrix(D))
sp.BCOO.from_scipy_sparse(scipy.sparse.coo_matrix(D))
sp.BCOO.from_scipy_sparse(scipy.sparse.csc_matrix(D), index_dtype='int16')
sp.sparsify(jnp.log1p)(sp.BCSR.fromdense(D))
sp.eye(3)
sp.eye(3, 4, 1, dtype='int32')
sp.eye(4, 3, -2)
sp.eye(3, k=5)
sp.empty((3, 4))
sp.empty((3, 4), 'int32', nse=2)
sp.empty((3, 4), n_batch=1, nse=2)
sp.empty((3, 4), n_dense=1, nse=2)
sp.empty((3, 4), sparse_format='bcsr')
sp.empty((3, 4), sparse_format='bcsr', nse=2)
sp.random_bcoo(jax.random.key(0), (5, 6), dtype='float32')
sp.random_bcoo(jax.random.key(1), (5, 6), nse=4, dtype='float32', sorted_indices=True)
sp.random_bcoo(jax.random.key(1), (2, 5, 6), nse=4, dtype='float32', n_batch=1, n_dense=1)
jax.vmap(lambda m: 2 * m)(sp.BCOO.fromdense(D, n_batch=1))
jax.vmap(lambda m: m, in_axes=1)(sp.BCOO.fromdense(D, n_batch=2))
jax.vmap(lambda m: m, out_axes=1)(sp.BCOO.fromdense(D[None].repeat(2, 0), n_batch=2))
jax.vmap(lambda m, v: m @ v)(sp.BCOO.fromdense(D, n_batch=1), D)
jax.vmap(lambda m: m * 2)(sp.BCSR.fromdense(D[None].repeat(2, 0), n_batch=1).to_bcoo())
jax.vmap(lambda d: sp.BCOO((d, U[1]), shape=(3, 4)))(jnp.stack([U[0], U[0] + 1]))
jax.vmap(lambda d: sp.BCOO.fromdense(d, nse=2))(D)
jax.jit(lambda m: m.T)(sp.BCOO.fromdense(D))
jax.tree.map(lambda x: x + 1, sp.BCOO.fromdense(D))
jax.tree.leaves(sp.BCSR.fromdense(D))
sp.BCOO.fromdense(D).tree_flatten()
sp.todense(sp.BCOO.fromdense(D)), sp.todense(D)
sp.sparsify(lambda x: jnp.cos(sp.todense(x)))(sp.BCOO.fromdense(D))
sp.grad(lambda m, v: (m @ v).sum())(sp.BCOO.fromdense(D), V)
sp.grad(lambda m, v: (m @ v).sum(), argnums=1)(sp.BCOO.fromdense(D), V)
sp.grad(lambda m, v: (m @ v).sum(), argnums=(0, 1))(sp.BCOO.fromdense(D), V)
sp.grad(lambda m, v: (m @ v).sum(), argnums=(1, 0))(sp.BCOO.fromdense(D), V)
sp.grad(lambda m, v: ((m['a'] @ v).sum(), m['b']), has_aux=True)({'a': sp.BCOO.fromdense(D), 'b': jnp.array(3.0)}, V)
sp.value_and_grad(lambda m, v: (m @ v).sum())(sp.BCOO.fromdense(D), V)
sp.value_and_grad(lambda m, v: ((m @ v).sum(), v), has_aux=True)(sp.BCOO.fromdense(D), V)
sp.jacfwd(lambda m, v: m @ v)(sp.BCOO.fromdense(D), V)
sp.jacrev(lambda m, v: m @ v)(sp.BCOO.fromdense(D), V)
sp.jacrev(lambda m, v: m @ v, argnums=(0, 1))(sp.BCOO.fromdense(D), V)
sp.jacobian(lambda m, v: (m @ jnp.outer(v, v)))(sp.BCOO.fromdense(D), V)
sp.linalg.spsolve(*B, V[:3])
jax.jit(sp.linalg.spsolve)(*B, V[:3])
jax.grad(lambda d, b: jnp.sin(sp.linalg.spsolve(d, B[1], B[2], b)).sum(), (0, 1))(B[0], V[:3])
jax.jvp(lambda d, b: sp.linalg.spsolve(d, B[1], B[2], b), (B[0], V[:3]), (B[0], V[1:]))
""".strip().splitlines()

B = (np.array([4.0, 1.0, 3.0, 1.0, 5.0], "f"), np.array([0, 1, 1, 0, 2]), np.array([0, 2, 3, 5]))


def described(sp, x):
    """What a result shows: a sparse array as its text, type, flags and buffers."""
    if isinstance(x, sp.JAXSparse):
        return [repr(x), x.shape, str(x.dtype), x.nse, x.ndim, x.size, x.n_batch, x.n_dense,
                x.n_sparse, len(x), *x.tree_flatten()] if x.shape else repr(x)
    if isinstance(x, (tuple, list)):
        return [described(sp, part) for part in x]
    if isinstance(x, dict) and "a" in x:
        return {name: described(sp, part) for name, part in x.items()}
    return x


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    def of_library(jx):
        names = {"jax": jx, "jnp": jx.numpy, "np": np, "sp": jx.experimental.sparse,
                 "scipy": scipy, "D": jx.numpy.asarray(DENSE), "V": jx.numpy.asarray(V4),
                 "B": [*map(jx.numpy.asarray, B)],
                 "U": (jx.numpy.array([1.0, 2.0, 0.0, 4.0, 5.0], "float32"),
                       jx.numpy.array([[2, 1], [0, 3], [0, 1], [2, 1], [3, 4]]))}
        return lambda: described(names["sp"], eval(text, names))

    both(of_library, tol=1e-5)


# Calls that both refuse, and the class of the error.
REFUSED = {
    "sp.BCOO((jnp.ones(3), jnp.zeros((2, 2), int)), shape=(3, 4))": ValueError,
    "sp.BCOO((jnp.ones((2, 3)), jnp.zeros((2, 3, 1), int)), shape=(3, 4))": ValueError,
    "sp.BCOO.fromdense(D, n_batch=1).T": NotImplementedError,
    "sp.BCOO.fromdense(D, n_dense=1).T": NotImplementedError,
    "sp.BCOO.fromdense(D).transpose((0, 0))": TypeError,
    "jax.jit(sp.BCOO.fromdense)(D)": "ConcretizationTypeError",
    "jax.jit(lambda m: m.sum_duplicates())(sp.BCOO.fromdense(D))": ValueError,
    "sp.BCOO.fromdense(D, n_dense=1) @ D.T": NotImplementedError,
    "sp.BCOO.fromdense(D) @ D": TypeError,
    "D @ sp.BCSR.fromdense(D.T)": NotImplementedError,
    "sp.BCSR.fromdense(D[0])": ValueError,
    "sp.BCSR.fromdense(D).T": NotImplementedError,
    "sp.BCSR.fromdense(D) + D": NotImplementedError,
    "jnp.dot(sp.BCOO.fromdense(D), V)": TypeError,
    "sp.sparsify(jnp.cos)(sp.BCOO.fromdense(D))": NotImplementedError,
    "sp.sparsify(jnp.sort)(sp.BCOO.fromdense(D))": NotImplementedError,
    "sp.BCOO.fromdense(D) == 1": NotImplementedError,
    "sp.BCOO.fromdense(D) ** -1": NotImplementedError,
    "sp.BCOO.fromdense(D) + 1": NotImplementedError,
    "sp.BCOO.fromdense(D) - D": NotImplementedError,
    "D / sp.BCOO.fromdense(D)": NotImplementedError,
    "sp.BCOO.fromdense(D[0]) * D": NotImplementedError,
    "sp.BCOO.fromdense(D) + sp.BCOO.fromdense(D, n_batch=1)": NotImplementedError,
    "hash(sp.BCOO.fromdense(D))": TypeError,
    "sp.empty((3, 4), sparse_format='dense')": ValueError,
    "sp.random_bcoo(jax.random.key(0), (3,), nse=5)": ValueError,
    "sp.bcoo_broadcast_in_dim(sp.BCOO.fromdense(D), shape=(3, 2, 4), broadcast_dimensions=(0, 2))":
        NotImplementedError,
    "sp.bcoo_broadcast_in_dim(sp.BCOO.fromdense(D), shape=(3, 4), broadcast_dimensions=(0,))":
        ValueError,
    "jax.vmap(lambda m: m, in_axes=1)(sp.BCOO.fromdense(D, n_batch=1))": ValueError,
    "jax.vmap(lambda m: m)(sp.BCOO.fromdense(D))": ValueError,
    "jax.vmap(lambda m: m, out_axes=2)(sp.BCOO.fromdense(D, n_batch=1))": ValueError,
    "sp.BCOO.from_scipy_sparse(scipy.sparse.coo_matrix(D), n_batch=1)": NotImplementedError,
    "sp.BCOO.tree_unflatten({}, (D, D))": ValueError,
    "sp.linalg.spsolve(B[0], B[1], B[2], V)": ValueError,
    "jax.grad(lambda m: m.sum())(sp.BCOO.fromdense(D))": TypeError,
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    def of_library(jx):
        names = {"jax": jx, "jnp": jx.numpy, "sp": jx.experimental.sparse, "scipy": scipy,
                 "D": jx.numpy.asarray(DENSE), "V": jx.numpy.asarray(V4), "B": B}
        return lambda: eval(text, names)

    both(of_library, raises=REFUSED[text])


@in_both
def test_gather_by_brackets(jx):
    """What is stored is also the same."""
    M = jx.experimental.sparse.BCOO.fromdense(jx.numpy.asarray(DENSE))
    out = M[jx.numpy.array([0, 2, 0])]
    return out.todense(), out.nse, out.n_batch


def test_arrays_that_share_their_indices():
    """They are added and multiplied element by element; JAX appends the second to the first."""
    M = sparse.BCOO.fromdense(DENSE)
    assert [x.nse for x in (M + M, M - M, M * M)] == [4, 4, 4]
    np.testing.assert_array_equal((M * M).todense(), DENSE * DENSE)
    np.testing.assert_array_equal((M + M).todense(), 2 * DENSE)


def test_documentation():
    """The example of sparse logistic regression, with a minimizer that knows only dense arrays."""
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(40, 4)) * (rng.uniform(size=(40, 4)) < 0.5)).astype("f")
    y = (X @ np.array([1.0, -2, 0.5, 1]) + rng.normal(size=40) > 0).astype("f")

    def of_library(jx):
        jnp, sp = jx.numpy, jx.experimental.sparse

        def loss(params, X, y):
            y_hat = 0.5 * (jnp.tanh((jnp.dot(X, params[1:]) + params[0]) / 2) + 1)
            return -jnp.mean(y * jnp.log(y_hat) + (1 - y) * jnp.log(1 - y_hat))

        def fit(X, y):
            return jx.scipy.optimize.minimize(functools.partial(loss, X=X, y=y),
                                              x0=jnp.zeros(X.shape[1] + 1), method="BFGS").x

        return lambda: (fit(X, y), sp.sparsify(fit)(sp.BCOO.fromdense(X), y))

    both(of_library, tol=1e-2)


SYMMETRIC = {
    "random": (lambda a: (a @ a.T).astype("f"))(np.random.RandomState(1).randn(20, 20)),
    "diagonal": np.diag(np.arange(20.0, dtype="f")), "of rank one": np.ones((20, 20), "f"),
    "negative": -np.eye(20, dtype="f") - np.diag(np.arange(20.0, dtype="f")),
}  # fmt: skip


@pytest.mark.daily(3)
@pytest.mark.parametrize("form", ["matrix", "function", "sparse"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_largest_eigenvalues(name, k, form):
    A, X = SYMMETRIC[name], np.random.RandomState(2).randn(20, k).astype("f")
    M = sparse.BCOO.fromdense(A)
    operator = {"matrix": jnp.asarray(A), "function": lambda x: jnp.asarray(A) @ x,
                "sparse": sparse.sparsify(lambda x: M @ x)}[form]
    values, vectors, steps = sparse.linalg.lobpcg_standard(operator, X)
    expected = np.linalg.eigvalsh(A)[::-1][:k]
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4 * abs(A).max())
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=2e-3 * np.linalg.norm(A, 2))
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-4)
    assert steps.dtype == "int32" and 0 < steps <= 100


EIGENVALUES = {
    "few steps": lambda jx, f: f(jx.numpy.asarray(SYMMETRIC["random"]), X20, m=0)[2],
    "loose": lambda jx, f: f(jx.numpy.asarray(SYMMETRIC["random"]), X20, tol=1.0)[2],
    "types": lambda jx, f: jx.eval_shape(lambda x: f(lambda v: v, x), X20),
    "no columns": lambda jx, f: f(jx.numpy.eye(20), X20[:, :0]),
    "too many": lambda jx, f: f(jx.numpy.eye(10), X20[:10]),
    "of another size": lambda jx, f: f(lambda x: x[:5], X20),
    "of another dtype": lambda jx, f: f(lambda x: x.astype("float16"), X20),
    "reverse": lambda jx, f: jx.grad(lambda x: f(lambda v: v, x)[0].sum())(X20),
}  # fmt: skip
X20 = np.random.RandomState(2).randn(20, 2).astype("f")


@pytest.mark.parametrize("name", EIGENVALUES)
def test_largest_eigenvalues_like_jax(name):
    def program(jx):
        return lambda: EIGENVALUES[name](jx, import_module(f"{jx.__name__}.experimental.sparse.linalg").lobpcg_standard)

    both(program, raises=ValueError if name not in ("few steps", "loose", "types") else None)


def test_rows_come_to_an_end():
    """NumPy asks for rows until there is an error; a row past the end is none."""
    matrix = sparse.BCOO.fromdense(minijax.numpy.eye(2))
    assert [row.todense().tolist() for row in matrix] == [[1, 0], [0, 1]]
    assert np.asarray(matrix).dtype == object
    with pytest.raises(ValueError, match="todense"):
        minijax.numpy.array(matrix)
