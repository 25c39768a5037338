"""Laws of `minijax.numpy` on shapes, axes and dtypes that Hypothesis makes up."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from tests.oracle.compare import both
from tests.oracle.namespaces import subject

DTYPES = st.sampled_from(["bool", "int8", "uint8", "int32", "float16", "float32", "complex64"])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
FILLED = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


def array_of(shape, dtype, seed=0):
    """Small whole numbers, which every dtype holds and no sum of which rounds."""
    values = np.random.default_rng(seed).integers(-3 if np.dtype(dtype).kind in "ifc" else 0, 4,
                                                  size=shape)
    return values.astype(dtype)


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), DTYPES, DTYPES,
       st.sampled_from(["add", "multiply", "maximum", "equal", "logical_or", "true_divide"]))
def test_binary_functions_broadcast_and_promote(shapes, first, second, name):
    x, y = (array_of(s, d) for s, d in zip(shapes.input_shapes, (first, second)))
    both(lambda jax: lambda: getattr(jax.numpy, name)(x, y))


@given(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3), DTYPES, DTYPES)
def test_where_broadcasts_and_promotes(shapes, first, second):
    cond, x, y = (array_of(s, d) for s, d in zip(shapes.input_shapes, ("bool", first, second)))
    both(lambda jax: lambda: jax.numpy.where(cond, x, y))


@given(st.data(), FILLED, DTYPES, st.booleans(),
       st.sampled_from(["sum", "prod", "max", "min", "any", "all", "mean", "var", "ptp"]))
def test_reductions_over_any_axes(data, shape, dtype, keepdims, name):
    axis = data.draw(st.one_of(
        st.none(), st.integers(-len(shape), len(shape) - 1),
        st.sets(st.integers(0, len(shape) - 1)).map(lambda axes: tuple(sorted(axes)))))
    if name == "ptp" and dtype in ("bool", "complex64"):
        return
    x = array_of(shape, dtype)
    both(lambda jax: lambda: getattr(jax.numpy, name)(x, axis=axis, keepdims=keepdims), tol=1e-2)


@given(SHAPES, DTYPES, st.sampled_from(["sum", "max", "mean", "any", "argmax", "cumsum", "ravel"]))
def test_empty_arrays_and_scalars(shape, dtype, name):
    if dtype == "complex64" and name in ("argmax", "max"):
        return
    x = array_of(shape, dtype)
    with np.errstate(all="ignore"):
        both(lambda jax: lambda: getattr(jax.numpy, name)(x), tol=1e-2)


@given(st.data(), FILLED)
def test_moved_axes(data, shape):
    order = data.draw(st.permutations(range(len(shape))))
    x = array_of(shape, "int32")
    jnp = subject.numpy
    moved = jnp.transpose(jnp.asarray(x), order)
    np.testing.assert_array_equal(moved, np.transpose(x, order))
    np.testing.assert_array_equal(jnp.transpose(moved, np.argsort(order)), x)


@given(st.data(), hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4),
       st.sampled_from(["constant", "edge", "reflect", "symmetric", "wrap", "mean", "maximum"]))
def test_padding_agrees_with_numpy(data, shape, mode):
    widths = data.draw(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)),
                                min_size=len(shape), max_size=len(shape)))
    if mode in ("reflect", "symmetric") and 1 in shape:
        return
    x = array_of(shape, "float32")
    np.testing.assert_allclose(subject.numpy.pad(subject.numpy.asarray(x), widths, mode),
                               np.pad(x, widths, mode), rtol=1e-6)


@given(st.data())
def test_einsum_agrees_with_numpy(data):
    sizes = {letter: data.draw(st.integers(1, 3), letter) for letter in "abcd"}
    operands = data.draw(st.lists(st.text("abcd", min_size=1, max_size=3), min_size=1, max_size=3))
    letters = sorted({letter for names in operands for letter in names})
    result = "".join(data.draw(st.permutations(letters))[:data.draw(st.integers(0, len(letters)))])
    arrays = [array_of([sizes[n] for n in names], "float32", i) for i, names in enumerate(operands)]
    spec = f"{','.join(operands)}->{result}"
    np.testing.assert_allclose(subject.numpy.einsum(spec, *arrays), np.einsum(spec, *arrays),
                               atol=1e-4)


@given(st.integers(0, 2), st.integers(0, 2), st.data())
def test_matmul_broadcasts(left, right, data):
    batch = data.draw(hnp.mutually_broadcastable_shapes(
        num_shapes=2, min_dims=0, max_dims=2, max_side=3, min_side=1))
    n, k, m = (data.draw(st.integers(1, 3)) for _ in range(3))
    a_shape = (*batch.input_shapes[0], n, k) if left else (k,)
    b_shape = (*batch.input_shapes[1], k, m) if right else (k,)
    a, b = array_of(a_shape, "float32"), array_of(b_shape, "float32", 1)
    both(lambda jax: lambda: jax.numpy.matmul(a, b))
    both(lambda jax: lambda: jax.make_jaxpr(jax.numpy.matmul)(a, b))


@given(st.data(), FILLED, st.integers(0, 3))
def test_split_and_concatenate_are_inverse(data, shape, cuts):
    axis = data.draw(st.integers(0, len(shape) - 1))
    places = sorted(data.draw(st.lists(st.integers(0, shape[axis]), min_size=cuts, max_size=cuts)))
    jnp, x = subject.numpy, array_of(shape, "int32")
    pieces = jnp.split(jnp.asarray(x), places, axis)
    assert [p.shape for p in pieces] == [p.shape for p in np.split(x, places, axis)]
    np.testing.assert_array_equal(jnp.concatenate(pieces, axis), x)
