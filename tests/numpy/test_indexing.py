"""`take`, `take_along_axis`, `compress`, `nonzero(size=)`, `jax.ops`: against JAX."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle.compare import both

X = np.arange(12, dtype=np.float32).reshape(3, 4)
I, J, K = np.array([0, 2, -1, 5, -9]), np.array([[1, 0]]), np.zeros((3, 2), int)

CALLS = """
take(x, i) | take(x, i, 0) | take(x, i, axis=-1) | take(x, j, 1) | take(x, 1, 0) | take(x, k)
take(x, i, mode="clip") | take(x, i, 1, mode="wrap") | take(x, i, 0, mode="fill", fill_value=3)
take(x, i, mode="raise") | take(x, i, mode="no") | take(x, i, 2) | take(x, i[:0], 1) | take(x[:0], i, 0)
take(x[:0], i[:0], 0) | take(x, [0, 1], 1) | take(x.astype(int), i) | take(x > 3, i) | x.take(i, 0)
take(x.astype("uint8"), i.astype("uint8")) | take(x, i, out=x)
take_along_axis(x, k, 1) | take_along_axis(x, k - 1, -1) | take_along_axis(x, k + 7, 1)
take_along_axis(x, k[:1], 1) | take_along_axis(x[:1], k, 1) | take_along_axis(x, i, None)
take_along_axis(x, k[:1], 0) | take_along_axis(x, j, 1) | take_along_axis(x, j, 0)
take_along_axis(x, k + 9, 1, mode="clip") | take_along_axis(x, k + 9, 1, fill_value=2.5)
take_along_axis(x, k - 1, 1, mode="promise_in_bounds") | take_along_axis(x, k.astype("uint8"), 1)
take_along_axis(x, k * 1.0, 1) | take_along_axis(x, i, 1) | take_along_axis(x, k, None)
take_along_axis(x, k, 2) | take_along_axis(x[:, :0], k, 1) | take_along_axis(x[:0], k[:0], 1)
take_along_axis(x, k - 1, 1, wrap_negative_indices=False)
take_along_axis(x.reshape(3, 2, 2), k[:, None], 2) | take_along_axis(x.reshape(3, 1, 4), k.reshape(1, 3, 2), 2)
compress([True, False, True], x, 0) | compress([False, True], x, 1) | compress([True, False, True], x)
compress([1, 0, 0, 1, 1], x, 1) | compress([1, 0, 0, 1, 0], x, 1) | compress([[True]], x, 1)
extract(x > 3, x) | extract(x > 3, x, size=3) | extract(x > 9, x, size=4, fill_value=7)
compress([True, False, True], x, 0, size=3, fill_value=-1) | x.compress([True, False], 0)
compress([True, False, True], x, 0, size=4) | compress([True, True], x, 1, size=1) | take(x, x)
compress([True, True], x, 1, size=3) | extract(x > 3, x, size=-1)
""".replace("\n", " | ").strip(" |").split(" | ")


def call(text, library):
    if text.startswith("x."):
        return lambda x, i, j, k: eval(text, {"x": x, "i": i, "j": j, "k": k})
    function = "jnp." + text
    return lambda x, i, j, k: eval(function, {"jnp": library.numpy, "x": x, "i": i, "j": j, "k": k})


@pytest.mark.parametrize("text", CALLS)
def test_calls(text):
    arrays = lambda m: [m.numpy.asarray(a) for a in (X, I, J, K)]
    expected = both(lambda m: lambda: call(text, m)(*arrays(m)))
    if expected.error is None and "compress" not in text and ("extract" not in text or "size" in text):
        both(lambda m: m.jit(call(text, m)), X, I, J, K)
        both(lambda m: m.make_jaxpr(call(text, m)), X, I, J, K, text="extract" not in text)
        both(lambda m: m.vmap(call(text, m)), *(np.stack([a, a]) for a in (X, I, J, K)))


@pytest.mark.parametrize("text", ["take(x, i, 1)", "take_along_axis(x, k, 1)", "extract(x > 3, x, size=4)"])
def test_gradients(text):
    both(lambda m: m.grad(lambda x: m.numpy.nansum(call(text, m)(x, I, J, K) ** 2)), X)


@pytest.mark.parametrize("size", [0, 1, 3, 9])
@pytest.mark.parametrize("shape", [(5,), (2, 3), (0,), (2, 0, 3)])
def test_nonzero_of_known_size(shape, size):
    x = (np.random.default_rng(0).integers(0, 3, shape) - 1).astype(np.float32)
    for f in (lambda m, x: m.numpy.nonzero(x, size=size), lambda m, x: m.numpy.flatnonzero(x, size=size),
              lambda m, x: m.numpy.argwhere(x, size=size, fill_value=-1),
              lambda m, x: m.numpy.where(x > 0, size=size, fill_value=7)):
        both(lambda m: m.jit(lambda x: f(m, x)), x)
        both(lambda m: lambda x: f(m, x), x)
    both(lambda m: m.jit(m.vmap(lambda x: m.numpy.nonzero(x, size=size))), np.stack([x, -x, x + 1]))
    both(lambda m: m.jit(m.numpy.nonzero), x)


@pytest.mark.parametrize("fill", [2.5, True, 1j, np.float32(2.5), np.int8(3), (1, 2.5)], ids=str)
@pytest.mark.parametrize("size", [None, 0, 1, 4])
def test_what_fills_up_decides_the_dtype_of_indices(fill, size):
    x = np.array([[0, 1], [2, 0]], np.float32)
    for f in (lambda m, x: m.numpy.nonzero(x, size=size, fill_value=fill),
              lambda m, x: m.numpy.argwhere(x, size=size, fill_value=fill),
              lambda m, x: m.numpy.argwhere(x[:0], size=size, fill_value=fill),
              lambda m, x: m.numpy.where(x > 0, size=size, fill_value=fill)):
        both(lambda m: lambda x: f(m, x), x)
        if size is not None:
            both(lambda m: m.jit(lambda x: f(m, x)), x)


@pytest.mark.parametrize("text", ["compress(I > 0, X.ravel(), fill_value='a')", "extract(I > 0, X, fill_value=(1, 2))",
                                  "nonzero(X, fill_value=(None, 1))", "cov(X, bias=None)"])
def test_arguments_that_nothing_depends_on_are_looked_at(text):
    refusal = () if "cov" in text else TypeError
    both(lambda m: lambda I, X: eval(f"m.numpy.{text}", {"m": m, "I": I, "X": X}), I, X, raises=refusal)


@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
def test_segments(name):
    ids = np.array([0, 2, 2, 0, 5, -1])
    for dtype in ("float32", "int32", "uint8", "bool"):
        data = np.arange(12).reshape(6, 2).astype(dtype)
        for options in ({}, {"num_segments": 4}, {"num_segments": 4, "mode": "clip"}, {"bucket_size": 4},
                        {"num_segments": 0}, {"num_segments": -1}):
            both(lambda m: lambda d: getattr(m.ops, name)(d, ids, **options), data)
    data = np.arange(6, dtype=np.float32)
    both(lambda m: m.jit(lambda d, i: getattr(m.ops, name)(d, i, 4)), data, ids)
    both(lambda m: m.make_jaxpr(lambda d, i: getattr(m.ops, name)(d, i, 4)), data, ids)
    both(lambda m: m.vmap(lambda d: getattr(m.ops, name)(d, ids, 4)), np.stack([data, data]))
    if name != "segment_prod":
        both(lambda m: m.grad(lambda d: (getattr(m.ops, name)(d, abs(ids), 6)[:3] ** 2).sum()), data)
    both(lambda m: m.jit(lambda d, i: getattr(m.ops, name)(d, i)), data, ids)


def test_index_take():
    both(lambda m: m.jit(lambda x, i: m.lax.index_take(x, [i, i + 1], (0, 1))), X, I)
    both(lambda m: m.jit(lambda x, i: m.lax.index_take(x, [i], (1,))), X, I)


TAKEN = {
    "float32": np.arange(12, dtype=np.float32).reshape(3, 4),
    "int8": np.arange(12, dtype=np.int8).reshape(3, 4),
    "uint8": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "bool": np.arange(12).reshape(3, 4) % 2 == 0,
    "complex64": np.arange(12, dtype=np.complex64).reshape(3, 4),
    "empty": np.zeros((3, 0), np.float32),
}


@pytest.mark.daily(3)
@pytest.mark.parametrize("index", ["int8", "int32"])
@pytest.mark.parametrize("places", [
    [0, -1, 2], [3, -3, 1], [-4, 5, 0], [100, -100, 2], [[4, 0], [-5, 1]], 1, 4, -5])
@pytest.mark.parametrize("name", TAKEN)
def test_some_indices_are_out_of_bounds(name, places, index):
    x, places = TAKEN[name], np.array(places, index)

    def program(jx):
        jnp, outs = jx.numpy, []

        def run(x, places):
            for axis in (0, 1, -1, None) if x.size else ():
                outs.append(jnp.take(x, places, axis))
            if places.ndim == 2 and x.size:
                outs.append(jnp.take_along_axis(x[:2], places, 1))
                outs.append(jnp.take_along_axis(x[:, :2], places[:1], 0))
                outs.append(jnp.take_along_axis(x[:2], places, -1))
            return outs

        return lambda: run(jnp.asarray(x), jnp.asarray(places))

    both(program)


def test_indices_of_few_bits_into_many_elements():
    """JAX adds the size to a negative index in the index's own dtype: of 128 and more it wraps."""
    x, places = np.arange(400, dtype=np.float32).reshape(2, 200), np.array([[1, -1, 127], [-128, 0, 5]])
    both(lambda jx: lambda: [
        f(jx.numpy.asarray(x)[:, :n], jx.numpy.asarray(places, "int8"), axis)
        for f in (jx.numpy.take, jx.numpy.take_along_axis) for n in (3, 100) for axis in (1,)])


def test_nested_sequences_of_traced_indices():
    """A tuple of tuples in an index is an array. Before, it was refused if its numbers were traced."""
    x = np.arange(42, dtype=np.float32).reshape(2, 3, 7)

    def program(jx):
        index = (((1, 0), (0, 1)), 2)
        return lambda: (jx.jit(lambda x, i: x.at[i].get())(x, index), jx.jit(lambda x, i: x.at[i].set(-1))(x, index))

    both(program)
