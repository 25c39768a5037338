"""Sparse arrays are cut, joined and reshaped as dense ones are, in all layouts; against JAX."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

MASK = np.random.RandomState(0).rand(2, 3, 4, 5) < 0.4
X, Y = (MASK * np.random.RandomState(1).randint(1, 9, MASK.shape)).astype(np.float32)
LAYOUTS = [(0, 0), (1, 1), (2, 0)]  # n_batch, n_dense


def _sparse(jx):
    return importlib.import_module(f"{jx.__name__}.experimental.sparse")


def _compare(texts, layouts=LAYOUTS, **options):
    """Calls of functions of arrays `x` and `y`, as text; what comes out, and how it is stored."""
    def program(jx):
        sparse = _sparse(jx)

        def run():
            outs = []
            for n_batch, n_dense in layouts:
                x, y = (sparse.BCOO.fromdense(v, n_batch=n_batch, n_dense=n_dense) for v in (X, Y))
                names = {"x": x, "y": y, "s": sparse, "lax": jx.lax, "jnp": jx.numpy, "jax": jx,
                         "X": X, "Y": Y}
                for text in texts:
                    out = eval(text, names)
                    outs.append((out.todense(), out.n_batch, out.n_dense, out.nse,
                                 out.indices_sorted, out.unique_indices))
            return outs
        return run

    both(program, **options)


def test_slices():
    _compare(["s.bcoo_slice(x, start_indices=[0, 1, 2], limit_indices=[2, 3, 5])",
              "s.bcoo_slice(x, start_indices=[1, 0, 0], limit_indices=[3, 4, 5], strides=[2, 1, 2])",
              "s.bcoo_dynamic_slice(x, [jnp.array(1), 9, -1], (2, 3, 2))"])


def test_one_element_of_a_dimension():
    _compare(["s.bcoo_squeeze(s.bcoo_slice(x, start_indices=[2, 0, 0], limit_indices=[3, 4, 5]), "
              "dimensions=(0,))", "s.bcoo_rev(x, (0,))", "s.bcoo_rev(x, (1, 2))"])


def test_joined():
    _compare(["s.bcoo_concatenate([x, y], dimension=0)", "s.bcoo_concatenate([x, y], dimension=1)"])


def test_reshaped():
    # With batch and dense dimensions at once, JAX's own program is not valid.
    _compare(["s.bcoo_reshape(x, new_sizes=(3, 2, 2, 5))"], [(0, 0), (1, 0), (0, 1), (2, 0)])
    _compare(["s.bcoo_reshape(x, new_sizes=(60,))", "x.reshape(4, -1)"], [(0, 0)])


def test_layouts():
    texts = [f"x.update_layout(n_batch={n}, n_dense={m}, on_inefficient=None).block_until_ready()"
             for n in (0, 1, 2) for m in (0, 1)]
    def program(jx):
        sparse = _sparse(jx)
        return lambda: [(out.todense(), out.n_batch, out.n_dense) for n, m in LAYOUTS for out in (
            eval(text, {"s": sparse, "x": sparse.BCOO.fromdense(X, n_batch=n, n_dense=m)})
            for text in texts)]
    both(program)


def test_products_and_elements():
    _compare(["s.bcoo_multiply_sparse(x, y)", "x * y", "s.bcoo_extract(x, Y)"], LAYOUTS[:2])


@in_both
def test_duplicates_are_extracted_once(jx):
    sparse = _sparse(jx)
    twice = sparse.BCOO((np.ones(3), np.array([[0], [2], [0]])), shape=(4,))
    return [sparse.bcoo_extract(twice, np.arange(1.0, 5.0), assume_unique=u).data
            for u in (True, False, None)]


def test_indexing_in_sparsified_functions():
    _compare(["x[0]", "x[1:]", "x[..., 1:4:2]", "x[2, 1]", "x[::-1]",
              "s.sparsify(lambda x: jnp.concatenate([x, x * 2]).sum(1))(x)",
              "s.sparsify(lambda x, y: x[0] * y[1])(x, y)"], [(0, 0), (1, 0)])


def test_the_product_at_some_indices():
    indices = np.array([[0, 1], [2, 3], [9, 9]])
    both(lambda jx: lambda: _sparse(jx).bcoo_dot_general_sampled(
        X[0], Y[0].T, indices, dimension_numbers=(((1,), (0,)), ((), ()))))


@in_both
def test_compressed_rows(jx):
    sparse = _sparse(jx)
    x, y = (sparse.BCSR.fromdense(v[0]) for v in (X, Y))
    wide = sparse.bcsr_broadcast_in_dim(x, shape=(2, 4, 5), broadcast_dimensions=(1, 2))
    return (sparse.bcsr_concatenate([x, y], dimension=0).todense(), wide.todense(),
            sparse.bcsr_extract(x.indices, x.indptr, Y[0]),
            sparse.bcsr_sum_duplicates(x).todense())


def test_transformations():
    def program(jx):
        sparse = _sparse(jx)
        def cut(data, indices):
            mat = sparse.BCOO((data, indices), shape=X.shape)
            out = sparse.bcoo_slice(mat, start_indices=[0, 1, 0], limit_indices=[2, 4, 5])
            return (sparse.bcoo_concatenate([out, out], dimension=1).todense() ** 2).sum()
        def run():
            mat = sparse.BCOO.fromdense(X)
            rows = sparse.BCOO.fromdense(X, n_batch=1)
            rev = jx.vmap(lambda m: sparse.bcoo_rev(m, (0, 1)).todense())
            return jx.jit(jx.grad(cut))(mat.data, mat.indices), rev(rows)
        return run
    both(program)


@pytest.mark.parametrize(("text", "error"), [
    ("s.bcoo_slice(x, start_indices=[0], limit_indices=[2])", ValueError),
    ("s.bcoo_slice(x, start_indices=[0, 0, 0], limit_indices=[9, 1, 1])", ValueError),
    ("s.bcoo_reshape(x, new_sizes=(7,))", ValueError),
    ("s.bcoo_squeeze(x, dimensions=(0,))", ValueError),
    ("s.bcoo_concatenate([x, X], dimension=0)", ValueError),
    ("s.bcoo_update_layout(x, n_batch=1)", "SparseEfficiencyError"),
    ("s.bcoo_update_layout(x, n_batch=-1)", ValueError),
    ("x.update_layout(n_dense=1)", "SparseEfficiencyError"),
    ("s.bcoo_extract(X, X)", TypeError),
    ("s.bcoo_extract(x, X[0])", ValueError),
    ("s.bcoo_multiply_sparse(x, x[0])", TypeError),
])
def test_refused(text, error):
    _compare([text], [(0, 0)], raises=error)


def test_padding_stays_padding():
    """A stored element that is out of bounds belongs nowhere, whatever its data."""
    sparse = _sparse(subject)
    mat = sparse.BCOO((np.array([1.0, 7.0]), np.array([[1], [2]])), shape=(2,))
    joined = sparse.bcoo_concatenate([mat, mat], dimension=0).todense()
    assert joined.tolist() == [0, 1, 0, 1]
    assert sparse.bcoo_reshape(mat, new_sizes=(2, 1)).todense().tolist() == [[0], [1]]
    assert sparse.bcoo_rev(mat, (0,)).todense().tolist() == [1, 0]
    assert sparse.bcoo_update_layout(mat, n_batch=1, on_inefficient=None).todense().tolist() == [0, 1]
