"""The jaxpr of an index that is a traced integer, of each type and weakly typed, is JAX's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

V, M = np.arange(10, dtype=np.float32), np.ones((4, 4), np.float32)

CALLS = {
    "x[i]": (V, lambda jx, x, i: x[i]),
    "x[i, 0]": (M, lambda jx, x, i: x[i, 0]),
    "x[:, i]": (M, lambda jx, x, i: x[:, i]),
    "x[i, i]": (M, lambda jx, x, i: x[i, i]),
    "x[i] of a matrix": (M, lambda jx, x, i: x[i]),
    "x[i, array]": (M, lambda jx, x, i: x[i, jx.numpy.arange(2)]),
    "set": (V, lambda jx, x, i: x.at[i].set(1.0)),
    "add": (M, lambda jx, x, i: x.at[i, 1].add(1.0)),
    "mul": (M, lambda jx, x, i: x.at[:, i].mul(2.0)),
    "get": (V, lambda jx, x, i: x.at[i].get()),
    "take": (M, lambda jx, x, i: jx.numpy.take(x, i, axis=0)),
    "dynamic_slice": (V, lambda jx, x, i: jx.lax.dynamic_slice(x, (i,), (2,))),
    "dynamic_update_slice": (V, lambda jx, x, i: jx.lax.dynamic_update_slice(x, x[:2], (i,))),
    "dynamic_slice_in_dim": (V, lambda jx, x, i: jx.lax.dynamic_slice_in_dim(x, i, 2)),
    "dynamic_update_slice_in_dim":
        (V, lambda jx, x, i: jx.lax.dynamic_update_slice_in_dim(x, x[:2], i, 0)),
    "dynamic_index_in_dim": (M, lambda jx, x, i: jx.lax.dynamic_index_in_dim(x, i)),
    "an index, its dimension dropped":
        (V, lambda jx, x, i: jx.lax.dynamic_index_in_dim(x, i, keepdims=False)),
    "dynamic_update_index_in_dim":
        (V, lambda jx, x, i: jx.lax.dynamic_update_index_in_dim(x, x[0], i, 0)),
    "in a jitted function": (V, lambda jx, x, i: jx.jit(lambda x, i: x[i])(x, i)),
    "in a loop": (V, lambda jx, x, i: jx.lax.fori_loop(0, 3, lambda j, c: c + x[j], 0.0)),
    "in a loop of so many rounds":
        (V, lambda jx, x, i: jx.lax.fori_loop(0, i, lambda j, c: c + x[j], 0.0)),
    "jvp": (V, lambda jx, x, i: jx.jvp(lambda x: x[i], (x,), (x,))),
    "grad": (V, lambda jx, x, i: jx.grad(lambda x: x[i])(x)),
}


@pytest.mark.parametrize("index", [3, np.int32(3)], ids=["weak", "int32"])
@pytest.mark.parametrize("name", CALLS)
def test_text(name, index):
    x, call = CALLS[name]
    both(lambda jx: lambda x, i: jx.make_jaxpr(lambda x, i: call(jx, x, i))(x, i), x, index)
    both(lambda jx: jx.jit(lambda x, i: call(jx, x, i)), x, index)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_unsigned_indices_are_not_wrapped(dtype):
    i = np.dtype(dtype).type(3)
    both(lambda jx: lambda x, i: jx.make_jaxpr(lambda x, i: x[i])(x, i), V, i)
    both(lambda jx: jx.jit(lambda x, i: x[i]), np.arange(300, dtype=np.float32), np.uint8(200))
