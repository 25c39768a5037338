"""Sparse arrays: the parts that JAX's tests and libraries call, and promotion that is never implicit."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import numpy as np
import pytest

import minijax
from tests.oracle import both

DENSE = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 5, 0]], np.float32)


def sparse_of(jx, name=""):
    return import_module(f"{jx.__name__}.experimental.sparse{name and '.' + name}")


# Functions of `s` (the package), a `BCOO` x of shape (3, 4) and the same array y with one batch dimension.
STRICT = [
    "x.sum_duplicates(nse=6)", "x.sum_duplicates(nse=6, remove_zeros=False)", "x * x", "y * y", "x @ x.T",
    "s.bcoo_slice(x, start_indices=[1, 0], limit_indices=[3, 4], strides=[1, 2])",
    "s.bcoo_dynamic_slice(x, [1, 1], (2, 2))", "s.bcoo_rev(x, (0, 1))", "s.bcoo_rev(y, (1,))",
    "s.bcoo_concatenate([x, x], dimension=1)", "s.bcoo_reshape(x, new_sizes=(2, 6))",
    "s.bcoo_update_layout(x, n_batch=1, on_inefficient=None)", "s.bcoo_update_layout(x, n_dense=1, on_inefficient=None)",
    "x * np.ones((1, 4), 'f')", "y * np.ones((3, 1), 'f')", "x[1:]", "x[:, ::2]", "x[np.array([0, 2])]",
    "s.bcoo_dot_general(y, x[0], dimension_numbers=(([1], [0]), ([], [])))",
    "s.bcoo_conv_general_dilated(z, z, window_strides=(1,), padding='SAME')",
]


@pytest.mark.parametrize("text", STRICT)
def test_no_rank_is_promoted_implicitly(text):
    def program(jx):
        s = sparse_of(jx)

        def run():
            with jx.numpy_rank_promotion("raise"), jx.numpy_dtype_promotion("strict"):
                x, y = (s.BCOO.fromdense(DENSE, n_batch=n) for n in (0, 1))
                z = s.BCOO.fromdense(DENSE[None, :1], n_batch=2)
                return eval(text, {"s": s, "x": x, "y": y, "z": z, "np": np}).todense()
        return run

    both(program)


SPARSIFIED = [
    lambda jx, x: jx.numpy.stack([x, x]), lambda jx, x: jx.numpy.stack([x, x], 1), lambda jx, x: jx.numpy.vstack([x, x]),
    lambda jx, x: jx.lax.fori_loop(0, 2, lambda i, x: 2 * x, x), lambda jx, x: jx.lax.concatenate([x, x], 0),
    lambda jx, x: jx.lax.fori_loop(0, 2, lambda i, v: x.T @ (x @ v), jx.numpy.ones(4)),
    lambda jx, x: jx.jit(lambda x: 3 * x)(x),
]


@pytest.mark.parametrize("use_tracer", [False, True])
@pytest.mark.parametrize("number", range(len(SPARSIFIED)))
def test_sparsified(number, use_tracer):
    def program(jx):
        s = sparse_of(jx)
        return lambda: s.todense(
            s.sparsify(partial(SPARSIFIED[number], jx), use_tracer=use_tracer)(s.BCOO.fromdense(DENSE)))

    both(program)


def test_rules_for_dense_arrays_are_used_inside_only():
    def program(jx):
        s = sparse_of(jx)
        square = jx.custom_jvp(lambda x: x ** 2)
        square.defjvp(lambda p, t: (p[0] ** 2, 2 * t[0] * p[0]))
        gradient = jx.grad(lambda x: square(x).sum())
        return lambda: [s.sparsify(f)(s.BCOO.fromdense(DENSE)).todense() for f in (square, gradient)]

    both(program)
    s = sparse_of(minijax)
    function = minijax.custom_jvp(lambda x: 3 * x)
    function.defjvp(lambda p, t: (3 * p[0], 5 * t[0]))
    x = s.BCOO.fromdense(DENSE)
    with pytest.raises(NotImplementedError, match="Sparsify the derivative"):
        minijax.jvp(lambda data: s.sparsify(function)(x.with_data(data)).data, (x.data,), (x.data,))


def test_a_tracer_shows_what_is_known():
    def program(jx):
        s = sparse_of(jx)

        def f(x, n):
            assert isinstance(x, s.SparseTracer) and isinstance(n, s.SparseTracer) and x.shape == (3, 4)
            return 2 * x
        return lambda: s.sparsify(f, use_tracer=True)(s.BCOO.fromdense(DENSE), 3).todense()

    both(program)


def test_branches_return_the_same_kind():
    def program(jx):
        s = sparse_of(jx)
        f = s.sparsify(lambda x, y: jx.lax.cond(False, lambda x: x[0], lambda x: x[1], (x, y)))
        return lambda: f(s.BCOO.fromdense(DENSE), DENSE)

    both(program, raises=TypeError)


def test_loops_over_sparse_rows_are_refused():
    def program(jx):
        s = sparse_of(jx)
        return lambda: s.sparsify(lambda x: jx.lax.scan(lambda c, row: (c, row.sum()), 0.0, x))(s.BCOO.fromdense(DENSE))

    both(program, raises=NotImplementedError)


@pytest.mark.parametrize("operator", ["add", "sub", "mul"])
def test_arrays_that_share_their_indices(operator):
    def program(jx):
        transform, x = sparse_of(jx, "transform"), sparse_of(jx).BCOO.fromdense(DENSE)
        env = transform.SparsifyEnv([x.indices, x.data, 2 * x.data])
        values = [env.sparse(x.shape, data_ref=ref, indices_ref=0) for ref in (1, 2)]

        def run():
            outs, _ = transform.sparsify_raw(getattr(jx.lax, operator))(env, *values)
            return transform.spvalues_to_arrays(env, outs)[0].todense()
        return run

    both(program)


def test_values_by_their_buffers():
    def program(jx):
        transform, x = sparse_of(jx, "transform"), sparse_of(jx).BCOO.fromdense(DENSE)

        def run():
            env = transform.SparsifyEnv()
            dense, value = transform.arrays_to_spvalues(env, [DENSE, x])
            back = transform.spvalues_to_arrays(env, [dense, value])[1]
            return (*dense, *value, len(env._buffers), value.is_bcoo(), dense.is_dense(), back.todense(),
                    str(transform.spvalues_to_avals(env, value)))
        return run

    both(program)


def test_functions_of_buffers():
    def program(jx):
        util, bcoo, bcsr, coo, csr = (sparse_of(jx, name) for name in ("util", "bcoo", "bcsr", "coo", "csr"))

        def run():
            data, indices = bcoo._bcoo_fromdense(DENSE, nse=5)
            info, vector = util.SparseInfo(DENSE.shape), np.arange(4, dtype="f")
            triple, row = csr._csr_fromdense(DENSE, nse=4), coo._coo_fromdense(DENSE, nse=4)
            coo_info = coo.COOInfo(DENSE.shape)
            return (data, indices, bcoo._bcoo_todense(data, indices, spinfo=info),
                    bcoo._bcoo_extract(indices, DENSE), bcoo._bcoo_dot_general(
                        data, indices, vector, lhs_spinfo=info, preferred_element_type=None,
                        dimension_numbers=(([1], [0]), ([], []))),
                    bcsr._bcsr_fromdense(DENSE, nse=4), csr._csr_todense(*triple, shape=(3, 4)),
                    csr._csr_matvec(*triple, vector, shape=(3, 4)), coo._coo_todense(*row, spinfo=coo_info),
                    coo._coo_matvec(*row, vector, spinfo=coo_info), util._csr_to_coo(*triple[1:]),
                    util._count_stored_elements(DENSE, n_batch=1),
                    util._dot_general_validated_shape((3, 4), (4, 5), (([1], [0]), ([], []))),
                    util.nfold_vmap(jx.numpy.add, 1)(DENSE, DENSE[:1]))
        return run

    both(program)


def test_zeros_are_stored_where_no_dimension_is_sparse():
    """The derivative at a zero is 1. Before, it was 0."""
    def program(jx):
        s = sparse_of(jx)
        return lambda: jx.jacrev(lambda x: s.BCOO.fromdense(x, nse=1, n_batch=1).todense())(np.array([0.0, 2.0], "f"))

    both(program)


def test_compressed_rows_are_indexed():
    def program(jx):
        s = sparse_of(jx)
        return lambda: (s.BCSR.fromdense(DENSE)[None].todense(), repr(s.BCSR.fromdense(DENSE)[None]),
                        s.bcsr_extract(*s.BCSR.fromdense(DENSE[..., None], n_dense=1, nse=4).tree_flatten()[0][1:],
                                       DENSE[..., None]))

    both(program)


def test_random_arrays_for_tests():
    """JAX's own module needs absl, so it is not asked."""
    from tests.harness import sparse as test_util

    layouts = [*map(tuple, test_util.iter_sparse_layouts((2, 3)))]
    assert layouts == [(0, 0, 2), (0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)]
    assert [*map(tuple, test_util.iter_bcsr_layouts((2, 3, 4)))] == [(0, 1, 2), (1, 0, 2)]
    assert [*test_util.iter_subsets("ab")] == [(), ("a",), ("b",), ("a", "b")]
    rng = np.random.RandomState(0)
    assert repr(test_util.rand_bcoo(rng, n_batch=1)((3, 4), "float32")) == "BCOO(float32[3, 4], nse=2, n_batch=1)"
    assert repr(test_util.rand_bcsr(rng, nse=3)((3, 4), "float32")) == "BCSR(float32[3, 4], nse=3)"
    assert (test_util.rand_sparse(rng, nse=5)((3, 4), "float32") != 0).sum() == 5
