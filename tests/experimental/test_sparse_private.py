"""Sparse arrays: functions that are sparsified, and promotion that is never implicit."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

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
]


@pytest.mark.parametrize("text", STRICT)
@in_both
def test_no_rank_is_promoted_implicitly(jx, text):
    s = sparse_of(jx)
    with jx.numpy_rank_promotion("raise"), jx.numpy_dtype_promotion("strict"):
        x, y = (s.BCOO.fromdense(DENSE, n_batch=n) for n in (0, 1))
        return eval(text, {"s": s, "x": x, "y": y, "np": np}).todense()


SPARSIFIED = [
    lambda jx, x: jx.numpy.stack([x, x]), lambda jx, x: jx.numpy.stack([x, x], 1), lambda jx, x: jx.numpy.vstack([x, x]),
    lambda jx, x: jx.lax.fori_loop(0, 2, lambda i, x: 2 * x, x), lambda jx, x: jx.lax.concatenate([x, x], 0),
    lambda jx, x: jx.lax.fori_loop(0, 2, lambda i, v: x.T @ (x @ v), jx.numpy.ones(4)),
    lambda jx, x: jx.jit(lambda x: 3 * x)(x),
]


@pytest.mark.parametrize("number", range(len(SPARSIFIED)))
@in_both
def test_sparsified(jx, number):
    s = sparse_of(jx)
    return s.todense(s.sparsify(partial(SPARSIFIED[number], jx))(s.BCOO.fromdense(DENSE)))


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


@in_both
def test_zeros_are_stored_where_no_dimension_is_sparse(jx):
    """The derivative at a zero is 1. Before, it was 0."""
    s = sparse_of(jx)
    return jx.jacrev(lambda x: s.BCOO.fromdense(x, nse=1, n_batch=1).todense())(np.array([0.0, 2.0], "f"))


@in_both
def test_compressed_rows_are_indexed(jx):
    s = sparse_of(jx)
    return (s.BCSR.fromdense(DENSE)[None].todense(), repr(s.BCSR.fromdense(DENSE)[None]),
            s.bcsr_extract(*s.BCSR.fromdense(DENSE[..., None], n_dense=1, nse=4).tree_flatten()[0][1:],
                           DENSE[..., None]))
