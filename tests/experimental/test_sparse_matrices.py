"""`COO`, `CSR`, `CSC`, and the functions of windows, beside JAX's."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
import minijax.experimental.sparse
from tests.oracle import both

DENSE = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)
VECTOR, LEFT = np.arange(1.0, 5.0, dtype=np.float32), np.array([1.0, -1.0, 2.0], np.float32)
FORMATS = ["COO", "CSR", "CSC"]


def _sparse(jx):
    return jx.experimental.sparse


def _load(jx):
    if jx.__name__ == "jax":
        import jax.experimental.sparse  # noqa: F401
    return _sparse(jx)


def _parts(jx, M):
    return type(M).__name__, M.shape, jx.tree.leaves(M)


METHODS = {
    "fromdense": _parts,
    "repr": lambda jx, M: (repr(M), M.nse, M.ndim, M.size, len(M), str(M.dtype)),
    "todense": lambda jx, M: (M.todense(), _sparse(jx).todense(M)),
    "transpose": lambda jx, M: (_parts(jx, M.T), M.T.todense(), _parts(jx, M.transpose().T)),
    "matvec": lambda jx, M: (M @ VECTOR, M.T @ LEFT),
    "matmat": lambda jx, M: (M @ np.ones((4, 2), np.float32), M.T @ np.ones((3, 2), np.float32)),
    "promotion": lambda jx, M: (M @ np.arange(4), M @ np.ones(4, np.complex64)),
    "grad of data": lambda jx, M: jx.grad(lambda d: (type(M)(
        (d, *jx.tree.leaves(M)[1:]), shape=M.shape) @ VECTOR).sum())(M.data),
    "grad of todense": lambda jx, M: jx.grad(lambda d: (type(M)(
        (d, *jx.tree.leaves(M)[1:]), shape=M.shape).todense() ** 2).sum())(M.data),
    "grad of vector": lambda jx, M: jx.grad(lambda v: ((M @ v) ** 2).sum())(VECTOR),
    "grad of matrix": lambda jx, M: jx.grad(lambda B: ((M @ B) ** 2).sum())(
        np.ones((4, 2), np.float32)),
    "jvp": lambda jx, M: jx.jvp(lambda v: M @ v, (VECTOR,), (VECTOR,)),
    "jit": lambda jx, M: jx.jit(lambda M, v: M @ v)(M, VECTOR),
    "jit fromdense": lambda jx, M: jx.jit(lambda x: type(M).fromdense(x, nse=6).todense())(DENSE),
    "more elements": lambda jx, M: type(M).fromdense(DENSE, nse=6) @ VECTOR,
    "fewer elements": lambda jx, M: type(M).fromdense(DENSE, nse=2).todense(),
    "tree": lambda jx, M: jx.tree.map(lambda x: 2 * x, M).todense(),
}  # fmt: skip

FUNCTIONS = {
    "coo_matvec": lambda sp: [sp.coo_matvec(sp.coo_fromdense(DENSE), v, transpose=t)
                              for v, t in ((VECTOR, False), (LEFT, True))],
    "coo_matmat": lambda sp: sp.coo_matmat(sp.coo_fromdense(DENSE), LEFT[:, None], transpose=True),
    "csr_matvec": lambda sp: [sp.csr_matvec(sp.csr_fromdense(DENSE), v, transpose=t)
                              for v, t in ((VECTOR, False), (LEFT, True))],
    "csr_matmat": lambda sp: sp.csr_matmat(sp.csr_fromdense(DENSE), LEFT[:, None], transpose=True),
    "todense": lambda sp: (sp.coo_todense(sp.COO.fromdense(DENSE)),
                           sp.csr_todense(sp.CSR.fromdense(DENSE))),
    "eye": lambda sp: [sp.eye(3, m, k, sparse_format=f).todense()
                       for f in ("coo", "csr", "csc") for m, k in ((5, -2), (3, 0), (3, 9), (2, 1))],
    "eye buffers": lambda sp: [sp.eye(3, 4, 1, sparse_format=f).tree_flatten()
                               for f in ("coo", "csr", "csc")],
    "empty": lambda sp: [sp.empty((3, 4), sparse_format=f).tree_flatten()
                         for f in ("coo", "csr", "csc")],
    "eye, batches": lambda sp: [sp.eye(3, n_batch=1).todense(), sp.eye(3, n_dense=1).todense()],
}  # fmt: skip

REFUSED = {
    "matmul of two": (lambda sp: sp.COO.fromdense(DENSE) @ sp.COO.fromdense(DENSE.T), NotImplementedError),
    "matmul of 3-D": (lambda sp: sp.CSR.fromdense(DENSE) @ np.ones((4, 2, 2)), NotImplementedError),
    "sum": (lambda sp: sp.CSC.fromdense(DENSE).sum(), NotImplementedError),
    "axes": (lambda sp: sp.COO.fromdense(DENSE).transpose((0, 1)), NotImplementedError),
    "empty 3-D": (lambda sp: sp.empty((1, 2, 3), sparse_format="csr"), ValueError),
    "format": (lambda sp: sp.empty((1, 2), sparse_format="dia"), ValueError),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("method", METHODS)
def test_methods(method, name):
    if (method, name) == ("grad of data", "CSC"):  # JAX gives that of the transposed matrix
        M = minijax.experimental.sparse.CSC.fromdense(DENSE)
        np.testing.assert_array_equal(METHODS[method](minijax, M), VECTOR[[0, 1, 2, 3]])
        return
    both(lambda jx: lambda: METHODS[method](jx, getattr(_load(jx), name).fromdense(DENSE)))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function):
    both(lambda jx: lambda: FUNCTIONS[function](_load(jx)))


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    program, error = REFUSED[what]
    both(lambda jx: lambda: program(_load(jx)), raises=error)


# (operand's shape, indices' shape, slice sizes, offset dims, collapsed dims, map)
GATHERS = [
    ((5,), (3, 1), (1,), (), (0,), (0,)),
    ((10,), (3, 1), (2,), (1,), (), (0,)),
    ((10, 5), (3, 1), (1, 3), (1,), (0,), (0,)),
    ((10, 5), (2, 3, 2), (3, 2), (2, 3), (), (1, 0)),
    ((10, 5), (4, 1), (1, 5), (0,), (0,), (0,)),
    ((6, 4, 3), (2, 2), (1, 2, 3), (1, 2), (0,), (0, 1)),
    ((6, 4), (0, 1), (1, 4), (1,), (0,), (0,)),
]


@pytest.mark.daily(3)
@pytest.mark.parametrize("case, n_dense", [(case, n) for case in GATHERS for n in (0, 1)
                                           if n < len(case[0])])
def test_gather(case, n_dense):
    """The values are those of the dense gather; JAX stores them in another layout."""
    shape, indices_shape, sizes, offset, collapsed, index_map = case
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(np.float32) * (rng.random(shape) < 0.5)
    i = rng.integers(0, 2, indices_shape, np.int32)

    def program(jx):
        numbers = jx.lax.GatherDimensionNumbers(offset, collapsed, index_map)
        sparse = _load(jx)

        def gathered(x):
            M = sparse.BCOO.fromdense(x, n_dense=n_dense, nse=x.size)
            return sparse.bcoo_gather(M, i, numbers, sizes).todense()

        def dense(x):
            return jx.lax.gather(x, i, numbers, sizes, mode="promise_in_bounds")

        def run():
            f = gathered if jx.__name__ == "minijax" else dense
            return f(x), jx.jit(f)(x)

        return run

    both(program)


def test_gather_by_indexing():
    def program(jx):
        sparse = _load(jx)
        M = sparse.BCOO.fromdense(DENSE)
        f = sparse.sparsify(lambda M, i: M.at[i].get(mode="promise_in_bounds"))
        return lambda: f(M, np.array([2, 0, 2])).todense()

    both(program)
