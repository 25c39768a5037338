"""An array never changes: no road out of it leads to memory that can be written."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import minijax as jax
from minijax import numpy as jnp

ARRAYS = {
    "owned": lambda: jnp.arange(3.0),
    "scalar": lambda: jnp.float32(2.0),
    "of no elements": lambda: jnp.zeros((0, 3)),
    "bfloat16": lambda: jnp.arange(3, dtype=jnp.bfloat16),
    "int4": lambda: jnp.arange(3, dtype=jnp.int4),
    "float8": lambda: jnp.ones(3, dtype=jnp.float8_e5m2),
    "transposed": lambda: jnp.arange(6).reshape(2, 3).T,
    "sliced": lambda: jnp.arange(8)[2:6:2],
    "broadcast": lambda: jnp.broadcast_to(jnp.arange(3), (2, 3)),
    "complex": lambda: jnp.arange(3) * 1j,
    "compiled": lambda: jax.jit(lambda: jnp.arange(4.0))(),
    "put": lambda: jax.device_put(np.arange(3.0)),
}
ROADS = {
    "asarray": np.asarray,
    "__array__": lambda x: x.__array__(),
    "no copy": lambda x: np.array(x, copy=None),
    "__reduce__": lambda x: x.__reduce__()[1][0],
    "_value": lambda x: x._value,
    "_npy_value": lambda x: np.asarray(x._npy_value),
    "dlpack": np.from_dlpack,
    "memoryview": lambda x: memoryview(np.asarray(x)).obj,
    "callback": lambda x: np.asarray(argument_of_callback(x)),
}


def argument_of_callback(x):
    seen = []
    jax.jit(lambda x: jax.debug.callback(seen.append, x))(x)
    jax.effects_barrier()
    return seen[0]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("kind", ARRAYS)
def test_no_road_leads_to_memory_that_can_be_written(kind, road):
    x = ARRAYS[kind]()
    if x.dtype.isbuiltin != 1 and road in ("dlpack", "memoryview"):
        pytest.skip("NumPy does not share this dtype")
    before, view = np.array(x), ROADS[road](x)
    assert (view.dtype, view.shape) == (x.dtype, x.shape)
    while isinstance(view, np.ndarray):
        with pytest.raises(ValueError):
            view.flags.writeable = True
        with pytest.raises(ValueError):
            view[...] = 1
        view = view.base
    assert np.array_equal(x, before)


@pytest.mark.parametrize("kind", ARRAYS)
def test_pickles_share_no_memory(kind):
    x, buffers = ARRAYS[kind](), []
    pickled = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    assert all(buffer.raw().readonly for buffer in buffers)
    memory = [bytearray(buffer.raw()) for buffer in buffers]
    restored = pickle.loads(pickled, buffers=memory)
    for part in memory:
        part[:] = b"\1" * len(part)
    assert np.array_equal(restored, x)


@pytest.mark.parametrize("source", ["a", "jnp.conj(a)", "jnp.asarray(a)", "a[...]", "jnp.transpose(a)", "jnp.real(a)", "+a"])
@pytest.mark.parametrize("transformed", ["vmap", "jvp", "vjp", "linearize", "jit"])
def test_what_passes_through_a_transformation_is_an_array_of_its_own(transformed, source):
    f = eval(f"lambda a: {source}", {"jnp": jnp, "lax": jax.lax})
    x = np.array([[0.5, 1.5], [2.5, 3.5]])
    out = {"vmap": lambda: jax.vmap(f)(x), "jvp": lambda: jax.jvp(f, (x,), (x.astype("f"),))[0],
           "vjp": lambda: jax.vjp(f, x)[0], "linearize": lambda: jax.linearize(f, x)[0],
           "jit": lambda: jax.jit(f)(x)}[transformed]()
    before = np.array(out)
    x[:] = 0
    assert type(out) is type(jnp.ones(1)) and out.dtype == np.float32 and np.array_equal(out, before)
