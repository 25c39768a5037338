"""New sparse arrays, and the functions of windows, beside JAX's."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
import minijax.experimental.sparse
from tests.oracle import both, in_both

DENSE = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 4, 0]], np.float32)


def _load(jx):
    if jx.__name__ == "jax":
        import jax.experimental.sparse  # noqa: F401
    return jx.experimental.sparse


FUNCTIONS = {
    "eye, batches": lambda sp: [sp.eye(3, n_batch=1).todense(), sp.eye(3, n_dense=1).todense()],
}

REFUSED = {
    "format": (lambda sp: sp.empty((1, 2), sparse_format="dia"), ValueError),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function):
    both(lambda jx: lambda: FUNCTIONS[function](_load(jx)))


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what):
    program, error = REFUSED[what]
    both(lambda jx: lambda: program(_load(jx)), raises=error)


@pytest.mark.parametrize("name", ["COO", "CSR", "CSC", "csr_matvec"])
def test_matrices_without_batches_are_absent(name):
    with pytest.raises(NotImplementedError, match=f"{name}: .*`BCOO`.*`BCSR`"):
        getattr(minijax.experimental.sparse, name)(DENSE)


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


@in_both
def test_gather_by_indexing(jx):
    sparse = _load(jx)
    M = sparse.BCOO.fromdense(DENSE)
    f = sparse.sparsify(lambda M, i: M.at[i].get(mode="promise_in_bounds"))
    return f(M, np.array([2, 0, 2])).todense()
