"""Dimensions, axes and sizes may be NumPy's integers, as what computes with shapes yields them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
ONE, TWO, THREE = map(np.int64, (1, 2, 3))
ZERO = np.int32(0)
INDICES = np.array([[[1], [2]], [[0], [1]]], "int32")


def gather_numbers(m, scatter=False):
    if scatter:
        return m.lax.ScatterDimensionNumbers(
            update_window_dims=(TWO,), inserted_window_dims=(ONE,),
            scatter_dims_to_operand_dims=(ONE,), operand_batching_dims=(ZERO,),
            scatter_indices_batching_dims=(ZERO,))
    return m.lax.GatherDimensionNumbers(
        offset_dims=(TWO,), collapsed_slice_dims=(ONE,), start_index_map=(ONE,),
        operand_batching_dims=(ZERO,), start_indices_batching_dims=(ZERO,))


PROGRAMS = {
    "gather": lambda m: lambda x: m.lax.gather(x, INDICES, gather_numbers(m), (ONE, ONE, np.int64(4))),
    "scatter": lambda m: lambda x: m.lax.scatter_add(
        x, INDICES, x[:, :2], gather_numbers(m, scatter=True)),
    "fft": lambda m: lambda x: m.numpy.abs(m.lax.fft(x, "RFFT", (np.int64(4),))),
    "dot_general": lambda m: lambda x: m.lax.dot_general(x, x, (((TWO,), (TWO,)), ((ZERO,), (ZERO,)))),
    "conv": lambda m: lambda x: m.lax.conv_general_dilated(
        x, x[:, :2, :2].transpose(1, 0, 2)[:, :1].repeat(3, 1), (ONE,), [(ONE, ZERO)],
        lhs_dilation=(TWO,), rhs_dilation=(ONE,), feature_group_count=ONE),
    "transpose": lambda m: lambda x: m.lax.transpose(x, (TWO, ZERO, ONE)),
    "broadcast_in_dim": lambda m: lambda x: m.lax.broadcast_in_dim(
        x, (TWO, np.int64(5), THREE, np.int64(4)), (ZERO, TWO, THREE)),
    "reshape": lambda m: lambda x: m.lax.reshape(x, (np.int64(6), np.int64(4)), (ONE, ZERO, TWO)),
    "slice": lambda m: lambda x: m.lax.slice(x, (ZERO, ONE, ONE), (TWO, THREE, THREE), (ONE, ONE, TWO)),
    "dynamic_slice": lambda m: lambda x: m.lax.dynamic_slice(x, (ZERO, ONE, ONE), (TWO, ONE, THREE)),
    "pad": lambda m: lambda x: m.lax.pad(x, np.float32(0), [(ONE, ZERO, TWO)] * 3),
    "concatenate": lambda m: lambda x: m.lax.concatenate([x, x], ONE),
    "reduce": lambda m: lambda x: m.lax.reduce(x, np.float32(0), m.lax.add, (ONE,)),
    "reduce_window": lambda m: lambda x: m.lax.reduce_window(
        x, np.float32(0), m.lax.add, (ONE, TWO, TWO), (ONE, ONE, TWO), [(ZERO, ONE)] * 3),
    "max pooling": lambda m: lambda x: m.lax.reduce_window(
        x, np.float32(-np.inf), m.lax.max, (ONE, TWO, TWO), (ONE, ONE, TWO), [(ZERO, ONE)] * 3),
    "min pooling": lambda m: lambda x: m.jvp(lambda x: m.lax.reduce_window(
        x, np.float32(np.inf), m.lax.min, (ONE, TWO, TWO), (ONE, ONE, TWO), [(ZERO, ONE)] * 3),
        (x,), (x,)),
    "cumsum": lambda m: lambda x: m.lax.cumsum(x, axis=ONE),
    "sort": lambda m: lambda x: m.lax.sort(x, dimension=ONE),
    "argmax": lambda m: lambda x: m.lax.argmax(x, ONE, np.int32),
    "iota": lambda m: lambda x: m.lax.broadcasted_iota("int32", (TWO, THREE), ONE),
    "rev": lambda m: lambda x: m.lax.rev(x, (ONE, TWO)),
    "split": lambda m: lambda x: m.lax.split(x, (ONE, TWO), ONE),
    "top_k": lambda m: lambda x: m.lax.top_k(x, TWO),
    "expand_dims": lambda m: lambda x: m.lax.expand_dims(x, (ONE, np.int64(4))),
    "squeeze": lambda m: lambda x: m.lax.squeeze(x[:1], (ZERO,)),
    "scan": lambda m: lambda x: m.lax.scan(lambda c, _: (c + 1, c), x, None, length=TWO),
    "all_gather": lambda m: m.vmap(lambda x: m.lax.all_gather(x, "i", axis=ONE), axis_name="i"),
    "one_hot": lambda m: lambda x: m.nn.one_hot(x[0, 0].astype("int32"), THREE, axis=-ONE),
    "moveaxis": lambda m: lambda x: m.numpy.moveaxis(x, ZERO, TWO),
    "einsum": lambda m: lambda x: m.numpy.tensordot(x, x, axes=((TWO,), (TWO,))),
    "segment_sum": lambda m: lambda x: m.ops.segment_sum(x, np.array([0, 1]), num_segments=TWO),
}


@pytest.mark.parametrize("transformation", ["jit", "grad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, transformation):
    def program(m):
        f = PROGRAMS[name](m)
        if transformation == "jit":
            return m.jit(f)
        return m.jit(m.grad(lambda x: sum(
            (y * 1.5).astype("float32").sum() for y in m.tree.leaves(f(x)))))

    both(program, X, tol=1e-5)
