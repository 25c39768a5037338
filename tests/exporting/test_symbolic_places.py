"""Exported functions for unknown sizes that look for elements, or slide windows over them."""

from __future__ import annotations

import numpy as np
import pytest

import minijax as jx
import minijax.numpy as jnp
from minijax import export, lax
from tests.oracle import both


def f32(value):
    return np.array(value, np.float32)



def pair(x, y):
    return lax.add(x[0], y[0]), lax.mul(x[1], y[1])


def windows(*args, **kwargs):
    return lambda x: lax.reduce_window(x, *args, **kwargs)


def convolution(stride, padding):
    numbers = ("NCH", "OIH", "NCH")
    return lambda x: lax.conv_general_dilated(x[None], W, (stride,), padding, dimension_numbers=numbers)


W = np.linspace(-1, 1, 12, dtype="float32").reshape(2, 2, 3)
KEEP = lambda x: jnp.round(x) % 3
FUNCTIONS = {  # of an array of the shape (2, b)
    "nonzero": lambda x: jnp.nonzero(KEEP(x), size=4, fill_value=9),
    "nonzero of size b": lambda x: jnp.nonzero(KEEP(x), size=x.shape[1] + 1),
    "argwhere": lambda x: jnp.argwhere(KEEP(x), size=3), "where": lambda x: jnp.where(KEEP(x[1]), size=3),
    "unique": lambda x: jnp.unique(jnp.round(x), size=4),
    "unique numbers": lambda x: jnp.unique(jnp.round(x[0]), size=3, return_inverse=True, return_counts=True),
    "insert b": lambda x: jnp.insert(x, jnp.arange(x.shape[1]), x, axis=1),
    "insert": lambda x: jnp.insert(x, 1, 5.0, axis=1), "roll": lambda x: jnp.roll(x, jnp.argmax(x[0]), axis=1),
    "trace": jnp.trace, "triu_indices": lambda x: jnp.triu_indices(x.shape[1]),
    "triu_indices below": lambda x: jnp.triu_indices(x.shape[1], -2), "tril_indices": lambda x: jnp.tril_indices(x.shape[1], 1),
    "tril_indices of a matrix": lambda x: jnp.tril_indices(x.shape[1], 0, x.shape[1] + 2),
    "top_k": lambda x: lax.top_k(x, x.shape[1] - 1), "top_k along 0": lambda x: lax.top_k(x.T, x.shape[1] - 1, axis=0),
    "approx_max_k": lambda x: lax.approx_max_k(x, x.shape[1]), "approx_min_k": lambda x: lax.approx_min_k(x, 2),
    "wrapped by b": lambda x: jnp.pad(x, ((0, 0), (x.shape[1], 0)), "wrap"),
    "wrapped": lambda x: jnp.pad(x, ((1, 2), (7, 3)), "wrap"),
    "clipped scatter": lambda x: lax.scatter_add(
        x, jnp.round(x).astype("int32").T, x[0], lax.ScatterDimensionNumbers((), (0, 1), (0, 1)), mode="clip"),
    "max over windows of size b": windows(f32(-np.inf), lax.max, (1, 2), (1, 1), "SAME"),
    "max by steps": windows(f32(-np.inf), lax.max, (2, 3), (2, 2), "SAME"),
    "sum by steps": windows(f32(0), lax.add, (1, 3), (1, 2), "SAME", base_dilation=(1, 2)),
    "min of all": lambda x: windows(f32(np.inf), lax.min, (2, x.shape[1]), (1, 1), "VALID")(x),
    "sum of all": lambda x: windows(f32(0), lax.add, (1, x.shape[1]), (1, 1), ((0, 0), (1, 2)))(x),
    "sum of many": lambda x: windows(f32(0), lax.add, (1, x.shape[1] - 1), (1, 2), "VALID")(x),
    "sum and start": lambda x: windows(f32(1), lax.add, (2, x.shape[1] - 1), (1, 1), "VALID")(x),
    "sums and products": lambda x: lax.reduce_window((x, x), (f32(1), f32(2)), pair, (1, x.shape[1] - 1), (1, 1), "VALID"),
    "sums and products by steps": lambda x: lax.reduce_window((x, x), (f32(1), f32(2)), pair, (1, 3), (1, 2), "SAME"),
    "derivative of the maximum": jx.grad(lambda x: (windows(-jnp.inf, lax.max, (2, 2), (2, 2), "VALID")(x) ** 2).sum()),
    "convolution": convolution(1, "VALID"), "convolution by steps": convolution(2, "SAME"),
    "derivative of a convolution": jx.grad(lambda x: (convolution(2, "SAME")(x) ** 2).sum()),
    "short convolution": convolution(2, "VALID"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    (b,) = export.symbolic_shape("b", constraints=["b >= 2"])
    one = export.export(jx.jit(FUNCTIONS[name]))(jx.ShapeDtypeStruct((2, b), "float32"))
    for size in (2, 5):
        x = np.sin(np.arange(2.0 * size, dtype="float32")).reshape(2, size) * 5
        expected, got = FUNCTIONS[name](jnp.asarray(x)), one.call(x)
        jx.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), expected, got)
        assert jx.tree.map(jnp.dtype, expected) == jx.tree.map(jnp.dtype, got)


def called(jx, fun, *args):
    from importlib import import_module

    exporting = import_module(f"{jx.__name__}.export")
    scope = exporting.SymbolicScope(("b >= 2", "k <= b"))
    shapes = [exporting.symbolic_shape(text, scope=scope) for text in ("2, b", "k")]
    one = exporting.export(jx.jit(fun))(*(jx.ShapeDtypeStruct(shape, "float32") for shape in shapes))
    return one.call(*args), [str(aval) for aval in one.out_avals]


@pytest.mark.parametrize("size, k", [(5, 3), (4, 4)])
def test_the_greatest_few(size, k):
    x = np.sin(np.arange(2.0 * size, dtype="float32")).reshape(2, size)
    both(lambda jx: lambda x, y: called(jx, lambda x, y: jx.lax.top_k(x, y.shape[0]), x, y), x, np.ones(k, "float32"))
    both(lambda jx: lambda x, y: called(jx, lambda x, y: jx.lax.approx_max_k(x, y.shape[0]), x, y), x, np.ones(k, "float32"))


def test_what_jax_refuses():
    x, y = np.ones((2, 5), "float32"), np.ones(3, "float32")
    both(lambda jx: lambda x, y: called(jx, lambda x, y: jx.lax.approx_max_k(
        x, y.shape[0], aggregate_to_topk=False), x, y), x, y, raises=NotImplementedError)
    both(lambda jx: lambda x, y: called(jx, lambda x, y: x.reshape(x.shape[1], -1, 3), x, y), x, y,
         raises="InconclusiveDimensionOperation")


def test_reshape_to_a_quotient():
    both(lambda jx: lambda x, y: called(jx, lambda x, y: x.reshape(-1, 2, x.shape[1] // 2 + 1), x[:, :4], y),
         np.ones((2, 5), "float32"), np.ones(3, "float32"), raises="InconclusiveDimensionOperation")
    both(lambda jx: lambda x, y: called(jx, lambda x, y: (x[:, :1] + y.shape[0] // 2).reshape(-1), x, y)[0],
         np.ones((2, 5), "float32"), np.ones(3, "float32"))


def test_arrays_closed_over_besides_sizes():
    places = np.array([3, 4, 5], np.int32)
    x = np.arange(6, dtype="int32")

    def run(jx):
        def fun(x):
            jnp = jx.numpy
            where = jnp.clip(jnp.asarray(places), 0, x.shape[0])
            return jnp.insert(x, jnp.arange(3), places), x.sum() + where.sum(), jnp.insert(x, 1, 5)
        exporting = __import__(f"{jx.__name__}.export").export
        return exporting.export(jx.jit(fun))(jx.ShapeDtypeStruct(exporting.symbolic_shape("b"), "int32")).call

    got = run(jx)(x)
    np.testing.assert_array_equal(got[0], np.insert(x, np.arange(3), places))
    assert got[1] == x.sum() + places.sum()
    np.testing.assert_array_equal(got[2], np.insert(x, 1, 5))
