"""Programs on several devices: what they compute, and how XLA leaves the results, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax.parallel.meshes.sharding import tile_assignment
from minijax.parallel.programs import placed_program
from minijax.parallel.programs.program_places import Places
from tests.oracle import oracle
from tests.parallel.placement_programs import same

SPECS = ["'x'", "'x', None", "'x', 'y'", "('x', 'y'), None", ""]

# Functions of an array of shape (8, 4).
PROGRAMS = """
lambda a: jnp.sin(a)
lambda a: a.sum()
lambda a: a.sum(0)
lambda a: a.max(1)
lambda a: a.T
lambda a: a @ a.T
lambda a: a.T @ a
lambda a: a.reshape(-1)
lambda a: a.reshape(4, 2, 4)
lambda a: a[:4]
lambda a: a[0]
lambda a: a[::-1]
lambda a: a[:0]
lambda a: jnp.concatenate([a, a])
lambda a: jnp.broadcast_to(a, (3, 8, 4))
lambda a: jnp.cumsum(a, 0)
lambda a: jnp.argsort(a, 1)
lambda a: (a, a.sum(), 3.0)
lambda a: {"a": a * 2, "b": [a.astype(jnp.bfloat16), a > 3]}
lambda a: jax.grad(lambda a: jnp.sum(jnp.tanh(a) ** 2))(a)
lambda a: jax.vmap(lambda row: row * 2 - row.mean())(a)
lambda a: lax.scan(lambda c, row: (c + row, c * 2), jnp.zeros(4), a)
lambda a: lax.while_loop(lambda c: c.sum() < 1e4, lambda c: c * 2, a)
lambda a: lax.cond(a.sum() > 0, lambda a: a * 2, lambda a: a + 1, a)
lambda a: jax.jit(lambda b: b * 2)(a) + a
lambda a: a + np.arange(4.0, dtype=np.float32)
lambda a: a @ np.full((4, 400), 0.5, np.float32)
lambda a: jnp.zeros((8, 4))
lambda a: a.at[1].set(0)
lambda a: jnp.pad(a, 1)
""".strip().splitlines()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_results_lie_like_those_of_jax(program, spec):
    same(f"jax.jit({program})(put(x2, named({spec})))")


EAGER = """
put(x2, s) * 2
put(x2, s) @ put(x2, s).T
put(x2, s) + x2
put(x2, s) + np.ones(4, np.float32)
put(x2, s)[1]
put(x2, s)[2:4, 1]
put(x2, s).T.sum(0)
float(put(x2, s)[3, 1])
[float(row.sum()) for row in put(x2, s)]
put(x2, s).at[2].add(1)
put(np.ones((8, 4), jnp.bfloat16), s) * 2
put(np.float32(3), r) + 1
jnp.sort(put(x2, s), 0)
jax.grad(lambda a: (a ** 2).sum())(put(x2, s))
jax.jvp(jnp.sin, (put(x2, s),), (put(x2, r),))
jax.vmap(jnp.sum)(put(x2, s))
jax.linearize(jnp.sin, put(x2, s))[1](put(x2, s))
lax.scan(lambda c, row: (c + row, c * 2), jnp.zeros(4), put(x2, s))
lax.cond(True, jnp.sin, jnp.cos, put(x2, s))
lax.fori_loop(0, 3, lambda i, c: c * 2, put(x2, s))
put(x, s) + put(x, NS(Mesh(np.array(d), ("d",)), P("d")))
jax.vmap(lambda k: jax.random.normal(k, (3,)))(put(jax.random.split(key, 8), s))
put(jax.random.split(key, 8), s)[0]
jnp.linalg.norm(put(x2, s))
put(x2, s) + put(x2, d[3])
put(x, s) + put(x, NS(Mesh(np.array(d[::-1]), ("i",)), P("i")))
put(x, s) + put(x, NS(Mesh(np.array(d[:4]), ("i",)), P("i")))
""".strip().splitlines()


@pytest.mark.parametrize("program", EAGER)
def test_eager_operations(program):
    same(program)


CLOSURES = """
jax.jit(lambda a: a + put(x2, s))(put(x2, named(None, "y")))
jax.jit(lambda a: a.sum() + put(np.ones((8, 400)), s))(put(x2, s))
(lambda c: jax.jit(lambda a: a + c)(put(x2, s)))(put(x2, d[3]))
(lambda c: jax.jit(lambda: c * 2)())(put(x2, s))
(lambda c: jax.jit(lambda a: a + c)(x2))(put(x2, s))
""".strip().splitlines()


@pytest.mark.parametrize("program", CLOSURES)
def test_what_a_program_closes_over(program):
    same(program)


ONE_DEVICE = """
(lambda a: (a + 1, a.sum(), a.T, a[0]))(put(x2, NS(m1, P("x"))))
jax.jit(lambda a: (a + 1, a.sum()))(put(x2, NS(m1, P(None, "x"))))
jax.jit(lambda a, b: a + b)(put(x2, NS(m1, P("x"))), put(x2, d[2]))
jax.jit(lambda a, b: a + b)(put(x2, d[2]), put(x2, NS(m1, P("x"))))
""".strip().splitlines()


@pytest.mark.parametrize("program", ONE_DEVICE)
def test_a_mesh_of_one_device(program):
    same(program)


UNREAD = """
jax.jit(lambda a, b: b * 2)(put(x2, s), x)
jax.jit(lambda a, b: b * 2, keep_unused=True)(put(x2, s), x)
jax.jit(lambda a, b: b * 2)(put(x2, s), put(x, d[3]))
jax.jit(lambda a, b: b * 2, keep_unused=True)(put(x2, s), put(x, d[3]))
""".strip().splitlines()


@pytest.mark.parametrize("program", UNREAD)
def test_arguments_that_are_not_read_have_no_say(program):
    same(program)


def _sharded(jx, devices=8):
    mesh = jx.sharding.Mesh(np.array(jx.devices()[:devices]), ("x",))
    return jx.device_put(np.arange(16.0, dtype=np.float32), jx.NamedSharding(mesh, jx.P("x")))


@pytest.mark.parametrize("names", [("a",), ("b", "a"), ("c", "b"), (("a", "b"), "c"),
                                   ("b",), (("c", "a"), None, "b"), ()])
def test_parts_of_axes_have_names_too(names):
    """A tiling that no spec of the mesh describes is told in the words of a finer mesh."""
    devices = np.array(minijax.devices())
    fine = minijax.NamedSharding(minijax.sharding.Mesh(devices.reshape(2, 2, 2), ("a", "b", "c")),
                                 minijax.P(*names))
    places = Places(tuple(devices), (), (), minijax.sharding.Mesh(devices, ("x",)), True)
    told = placed_program.sharding_of(tile_assignment(fine, 3), places)
    assert told.is_equivalent_to(fine, 3)
    assert told._device_assignment == tuple(devices)


def test_results_of_python_are_on_all_devices():
    """(JAX says that they are on the first one only, and cannot use them any more.)"""
    a = _sharded(minijax)
    doubled = minijax.jit(lambda a: minijax.pure_callback(
        lambda v: np.asarray(v) * 2, minijax.ShapeDtypeStruct(a.shape, a.dtype), a))(a)
    assert doubled.sharding.is_fully_replicated
    np.testing.assert_array_equal(doubled + a, 3 * np.arange(16))
    for shard in doubled.addressable_shards:
        np.testing.assert_array_equal(shard.data, 2 * np.arange(16))


def test_effects_happen_once():
    def seen(jx):
        values = []
        jx.jit(lambda a: jx.debug.callback(lambda v: values.append(np.array(v)), a))(_sharded(jx))
        jx.effects_barrier()
        return values

    np.testing.assert_array_equal(seen(minijax), [np.arange(16)])
    np.testing.assert_array_equal(seen(minijax), seen(oracle))


def test_programs_in_flight_are_bounded():
    a, step = _sharded(minijax), minijax.jit(lambda a: a - a.mean())
    for _ in range(200):
        a = step(a)
    assert len(placed_program._in_flight) <= placed_program.MOST_IN_FLIGHT
    np.testing.assert_allclose(a.sum(), 0, atol=1e-4)


def test_programs_are_compiled_once_for_a_mesh():
    calls = []

    def f(a):
        calls.append(1)
        return a + 1

    jitted, a = minijax.jit(f), _sharded(minijax)
    first = jitted(a)
    assert jitted(first).sharding == first.sharding
    assert len(calls) == 1 and jitted._cache_size() == 1
    assert jitted(_sharded(minijax, 4)).sharding.num_devices == 4
    assert len(calls) == 2 and jitted._cache_size() == 2  # types name the mesh, as in JAX


COLLECTIVES = {
    "sum": lambda jx: lambda a: a.sum(),
    "products": lambda jx: lambda a: (a @ a.T).sum(0),
    "softmax": lambda jx: lambda a: jx.nn.softmax(a, axis=0),
    "gradient": lambda jx: jx.grad(lambda a: (a.T @ jx.numpy.tanh(a)).sum()),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_as_many_messages_as_in_jax(name):
    """XLA gets the same program: it has the same collectives."""
    def counts(jx):
        mesh = jx.sharding.Mesh(np.array(jx.devices()).reshape(4, 2), ("x", "y"))
        a = jx.device_put(np.ones((8, 4), np.float32), jx.NamedSharding(mesh, jx.P("x", "y")))
        text = jx.jit(COLLECTIVES[name](jx)).lower(a).compile().as_text()
        return {op: text.count(f" {op}(") for op in
                ("all-reduce", "all-gather", "all-to-all", "collective-permute")}

    assert counts(minijax) == counts(oracle)
    assert sum(counts(minijax).values())
