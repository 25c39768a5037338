"""`jax.experimental.serialize_executable`: compiled programs as bytes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax.experimental.serialize_executable import deserialize_and_load, serialize
from tests.processes import run

X = np.arange(3, dtype="float32")


def again(compiled, **options):
    return deserialize_and_load(*serialize(compiled), **options)


@pytest.mark.parametrize("function", [
    lambda x, y: {"sum": x + y, "none": None},
    lambda x, y: x,  # `y` is not needed
    lambda x, y: (x @ np.ones((3, 500), "float32"), y),  # a large constant
    lambda x, y: jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(3)) @ y,
    lambda x, y: minijax.random.normal(minijax.random.key(x[0].astype(int)), (2,)),
], ids=["tree", "unused", "constant", "lapack", "random"])
def test_programs_run_again(function):
    compiled = minijax.jit(function).lower(X, y=X + 1).compile()
    loaded = again(compiled)
    expected, found = compiled(X, y=X + 1), loaded(X, y=X + 1)
    minijax.tree.map(np.testing.assert_array_equal, found, expected)
    assert (loaded.in_tree, loaded.out_tree) == (compiled.in_tree, compiled.out_tree)
    assert loaded.as_text() and loaded.args_info == compiled.args_info and loaded.out_info == compiled.out_info
    assert [x.aval for x in minijax.tree.leaves(found)] == [x.aval for x in minijax.tree.leaves(expected)]


def test_types_are_checked():
    loaded = again(minijax.jit(lambda x, y: x + y).lower(X, X).compile())
    with pytest.raises(TypeError, match="compiled with float32.3. and called with float32.1."):
        loaded(X, X[:1])
    with pytest.raises(TypeError, match="input pytree does not match"):
        loaded(X)
    with pytest.raises(TypeError, match="Tracer type"):
        minijax.jit(loaded)(X, X)


def test_donated_arguments_are_given_away():
    loaded = again(minijax.jit(lambda x: x + 1, donate_argnums=0).lower(X).compile())
    x = jnp.array(X) * 1
    np.testing.assert_array_equal(loaded(x), X + 1)
    assert x.is_deleted() and loaded.donate_argnums == (0,)


def test_in_another_process():
    serialized, in_tree, out_tree = serialize(minijax.jit(lambda x: jnp.sin(x) * 2).lower(X).compile())
    assert out_tree == minijax.tree.structure(0)
    run(f"""
        import numpy as np, minijax as jax
        from minijax.experimental.serialize_executable import deserialize_and_load
        in_tree, out_tree = jax.tree.structure(((0,), {{}})), jax.tree.structure(0)
        loaded = deserialize_and_load({serialized!r}, in_tree, out_tree)
        np.testing.assert_allclose(loaded(np.arange(3, dtype="float32")), 2 * np.sin(range(3)), rtol=1e-6)
    """)


def test_what_is_refused():
    callback = lambda x: minijax.pure_callback(np.sin, x, x)
    with pytest.raises(NotImplementedError, match="calls Python"):
        serialize(minijax.jit(callback).lower(X).compile())
    ref = minijax.new_ref(X)
    with pytest.raises(ValueError, match="closed-over mutable"):
        serialize(minijax.jit(lambda x: ref[...] + x).lower(X).compile())
    here = minijax.sharding.SingleDeviceSharding(minijax.devices()[0])
    with pytest.raises(NotImplementedError, match="for certain devices"):
        serialize(minijax.jit(jnp.sin, in_shardings=here).lower(X).compile())
    serialized, *trees = serialize(minijax.jit(jnp.sin).lower(X).compile())
    with pytest.raises(ValueError, match="not what `serialize` returned"):
        deserialize_and_load(pickle.dumps({}), *trees)
    with pytest.raises(ValueError, match="execution_devices"):
        deserialize_and_load(serialized, *trees, execution_devices=minijax.devices() * 2)
    with pytest.raises(ValueError, match="other than `backend`"):
        deserialize_and_load(serialized, *trees, backend=object())
    assert deserialize_and_load(serialized, *trees, backend="cpu", execution_devices=minijax.devices()[:1])(X).shape == (3,)
