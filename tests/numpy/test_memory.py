"""No function of a large array takes much more memory than its result; none counts wrongly beyond 2**31 elements.

`python -m tests.benchmarks.memory` has more functions, beside JAX.
"""

import tracemalloc

import numpy as np
import pytest

import minijax as jax
from minijax import lax, numpy as jnp

N = 2**22
X = np.linspace(-300, 300, N, dtype=np.float32)


@pytest.mark.parametrize("call", [
    "lax.iota('float32', n)", "lax.iota('int8', n)", "jnp.arange(n)", "jnp.arange(0.0, n)", "jnp.zeros(n)", "jnp.full(n, 2)",
    "x.astype('int8')", "x.astype('int32')", "x.astype('float16')", "jnp.pad(x, 1)", "x > 1", "-x", "x + 1", "x[::-1]",
    "jnp.concatenate([x, x])", "x.sum()", "x.max()", "x.argmax()", "x.at[3].set(1)"])
def test_memory_beside_the_result(call):
    names = {"jax": jax, "lax": lax, "jnp": jnp}
    eval(call, names | {"n": 8, "x": jnp.asarray(X[:8])})
    x = jnp.asarray(X)
    tracemalloc.start()
    try:
        out = eval(call, names | {"n": N, "x": x})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * out.nbytes + X.nbytes / 5


def test_conversion_in_blocks():
    x = np.concatenate([X, np.float32([np.nan, np.inf, -np.inf])])
    parts = [jnp.asarray(part).astype("int8") for part in np.split(x, [N // 2, N - 1])]
    assert jnp.array_equal(jnp.asarray(x).astype("int8"), jnp.concatenate(parts))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float32", "int32", "complex64"])
def test_iota_in_blocks(dtype):
    with np.errstate(all="ignore"):
        assert np.array_equal(lax.iota(dtype, 200_003), np.arange(200_003).astype(dtype))


@pytest.mark.parametrize("call", [
    "jnp.argmax(x)", "jnp.argmin(x)", "jnp.argsort(x)", "jnp.nonzero(x, size=1)", "jnp.where(x > 0, size=2)", "x[i]", "x[i[0]]",
    "x.at[i].set(1)", "x.at[-3].set(1)", "jnp.searchsorted(x, x[:3])", "jnp.take(x, i)", "lax.dynamic_slice(x, (2**31,), (2,))"])
def test_places_beyond_32_bits_are_refused(call):
    """JAX's are negative, or wrap around: what is set there is lost."""
    x, i = jax.ShapeDtypeStruct((2**31 + 8,), "int8"), jax.ShapeDtypeStruct((3,), "int32")
    with pytest.raises(OverflowError, match="int32"):
        jax.eval_shape(lambda x, i: eval(call, {"jnp": jnp, "lax": lax, "x": x, "i": i}), x, i)


@pytest.mark.parametrize("call", ["x[-3]", "x[2**31:]", "x[i]", "jnp.sort(x)", "jnp.max(x)", "jnp.roll(x, 1)"])
def test_what_needs_no_such_places(call):
    x, i = jax.ShapeDtypeStruct((2**31 + 8,), "int8"), jax.ShapeDtypeStruct((3,), "uint32")
    assert jax.eval_shape(lambda x, i: eval(call, {"jnp": jnp, "x": x, "i": i}), x, i).dtype == "int8"
