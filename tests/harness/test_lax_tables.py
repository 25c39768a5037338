"""The tables of functions and the references of NumPy that tests of `lax` share."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax import lax
from tests.harness import lax_reference as reference
from tests.harness import lax_tables as tables
from tests.harness import values


def test_tables():
    """Their rows were compared with those of JAX's module, which needs absl."""
    assert [len(rows()) for rows in (tables.lax_ops, tables.lax_reduce_ops,
                                     tables.lax_named_reduce_ops)] == [69, 14, 7]
    assert [*tables.all_bdims((2,), ())] == [
        (None, 0), (0, None), (0, 0), (1, None), (1, 0)]
    assert tables.add_bdim(9, 1, (2, 3)) == (2, 9, 3)


@pytest.mark.parametrize("row", tables.lax_ops(), ids=lambda row: row.op)
def test_elementwise_functions_agree_with_the_reference(row):
    for dtype in row.dtypes:
        if np.dtype(dtype).itemsize == 8 and dtype is not np.complex64:
            continue  # they need the setting jax_enable_x64
        draw = row.rng_factory(np.random.RandomState(0))
        args = [draw((2, 3), dtype) for _ in range(row.nargs)]
        got = np.asarray(getattr(lax, row.op)(*args))
        want = np.asarray(getattr(reference, row.op)(*args))
        tol = values.tolerance(dtype, row.tol)
        assert np.allclose(got.astype(want.dtype), want, rtol=tol, atol=tol), (row.op, dtype)


RNG = np.random.RandomState(0)
A, B = (RNG.randn(*shape).astype("float32") for shape in ((2, 3, 6, 7), (4, 3, 2, 3)))
M = RNG.randn(5, 6).astype("float32")
ZERO = np.float32(0)
CALLS = {
    "conv same": ("conv", A, B, (1, 2), "SAME"),
    "conv lower": ("conv", A, B, (1, 2), "SAME_LOWER"),
    "conv valid": ("conv", A, B, (2, 1), "VALID"),
    "conv dilated": ("conv_with_general_padding", A, B, (1, 1), [(0, 1), (2, 1)], (2, 1), (1, 2)),
    "dot_general": ("dot_general", A, A, (((3,), (3,)), ((0,), (0,)))),
    "pad": ("pad", M, ZERO, [(1, 2, 1), (-1, 0, 0)]),
    "reduce_window": ("reduce_window", M, ZERO, lax.add, (2, 3), (1, 2), "SAME"),
    "slice": ("slice", M, (0, 1), (5, 5), (2, 2)),
    "dynamic_slice": ("dynamic_slice", M, (3, 5), (3, 2)),
    "dynamic_update_slice": ("dynamic_update_slice", M, M[:2, :2], (4, 1)),
    "rev": ("rev", M, (0,)), "broadcast": ("broadcast", M, (2,)),
    "broadcast_in_dim": ("broadcast_in_dim", M[0], (2, 6, 3), (1,)),
    "concatenate": ("concatenate", [M, M[:1]], 0),
    "reduce": ("reduce", M, ZERO, lax.add, (1,)), "top_k": ("top_k", M, 2),
    "sort_key_val": ("sort_key_val", M, M + 1), "clamp": ("clamp", np.float32(-1), M, ZERO),
    "wider": ("bitcast_convert_type", M[0], np.uint8), "div": ("div", np.int32([-7, 7]), np.int32(2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_functions_agree_with_the_reference(name):
    function, *args = CALLS[name]
    ours = [None] if function == "reduce_window" else []
    want = getattr(reference, function)(*args, *ours)
    got = getattr(lax, function)(*args)
    for x, y in zip(minijax.tree.leaves(got), minijax.tree.leaves(want), strict=True):
        assert np.allclose(x, y, atol=1e-5) and np.shape(x) == np.shape(y)
