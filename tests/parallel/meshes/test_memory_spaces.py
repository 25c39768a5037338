"""Types say in which memory values are: `f32<host>[8]`, after `device_put(x, jax.memory.Space.Host)`
and wherever a sharding has a `memory_kind`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both
from tests.oracle.text import jaxpr_text

X = np.arange(16, dtype=np.float32).reshape(8, 2)


def words(library):
    """The names that rows of the tables use."""
    space, types, sharding = library.memory.Space, library.sharding.AxisType, library.NamedSharding
    auto = library.make_mesh((8,), ("x",), (types.Auto,))
    mesh = library.make_mesh((8,), ("x",))

    def lies(f, *args):
        out = f(*args)
        return str(library.typeof(out)), out.sharding.memory_kind, np.asarray(out).tolist()

    return {
        "jax": library, "jnp": library.numpy, "lax": library.lax, "N": sharding, "Space": space,
        "X": X, "P": library.P, "auto": auto, "lies": lies,
        "text": lambda f, *args: jaxpr_text(library.make_jaxpr(f)(*args)),
        "host": lambda x: library.device_put(x, space.Host),
        "device": lambda x: library.device_put(x, space.Device),
        "host_array": library.device_put(X, sharding(auto, library.P("x"), memory_kind="pinned_host")),
        "by_xla": library.device_put(X, sharding(auto, library.P("x"))),
        "unpinned": library.device_put(X, sharding(auto, library.P("x"), memory_kind="unpinned_host")),
        "split": library.device_put(X, sharding(mesh, library.P("x"))),
    }


ROWS = """
text(host, X)
text(lambda x: device(host(x)), X)
text(lambda x: jnp.sin(host(x)) + 1.0, X)
text(lambda x: host(x) + jnp.float32(2), X)
text(jax.vmap(host), X)
text(jax.vmap(lambda r: host(r) * 2, in_axes=1, out_axes=1), X)
text(host, by_xla)
text(jax.jit(host), X)
text(lambda x: lax.scan(lambda c, r: (c, host(r)), 0.0, x), X)
text(lambda x: jax.device_put(x, Space.Any), X)
text(device, X)
text(lambda x: lax.cond(True, host, host, x), X)
text(lambda x: lax.optimization_barrier(host(x)), X)
text(lambda x: host(x).reshape(16)[0], X)
text(lambda x: (host(x) + host(x), host(x) @ host(x).T, host(x).sum()), X)
lies(jax.jit(host), X)
lies(jax.jit(host), by_xla)
lies(jax.jit(host), split)
lies(jax.jit(lambda x: device(host(x)) * 2), X)
lies(jax.jit(lambda x: device(host(x)) * 2), split)
lies(jax.jit(lambda x: host(x) * 2), X)
lies(host, X)
lies(host, by_xla)
lies(lambda x: x, unpinned)
lies(lambda x: x + 1, unpinned)
lies(lambda x: x + jnp.ones(2), unpinned)
lies(jax.jit(lambda x: x), unpinned)
lies(lambda x: x[0], unpinned)
lies(jnp.sin, host(X))
lies(jax.jit(jnp.sin), host(X))
lies(jax.jit(lambda x: device(x) * 2), host(X))
lies(jax.vmap(host), X)
lies(jax.jit(jnp.sin, out_shardings=N(auto, P("x"), memory_kind="pinned_host")), by_xla)
lies(jax.jit(lambda x: jax.device_put(x, N(auto, P("x"), memory_kind="pinned_host"))), by_xla)
lies(jax.grad(lambda y: device(host(y * y)).sum()), X)
str(jax.eval_shape(host, X))
lies(jax.jit(lambda x: x, out_shardings=N(auto, P("x"))), host(by_xla))
lies(jax.jit(lambda x: x * 2, out_shardings=N(auto, P("x"))), host(by_xla))
lies(jax.jit(lambda x: lax.scan(lambda c, r: (c, device(r) + c), 1.0, x)[1]), host(by_xla))
lies(jax.jit(lambda: device(host_array) * 2, out_shardings=N(auto, P("x"))))
[str(jax.typeof(x).memory_space) for x in (X, host(X))]
""".strip().splitlines()

REFUSED = """
text(lambda x: host(x) + x, X)
host(X) * jnp.asarray(X)
text(lambda x: lax.cond(True, host, lambda x: x, x), X)
text(lambda x: lax.while_loop(lambda c: c.sum() < 3, host, x), X)
""".strip().splitlines()


def program(row):
    return lambda library: lambda: eval(row, words(library))


@pytest.mark.parametrize("row", ROWS)
def test_rows(row):
    both(program(row))


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row):
    both(program(row), raises=(ValueError, TypeError))


def test_cotangents_of_traced_values_go_back_to_their_memory():
    """JAX refuses this under `make_jaxpr` and `jit`: only arrays say where they came from."""
    import minijax

    names = words(minijax)
    back = minijax.jit(minijax.grad(lambda y: names["device"](names["host"](y) ** 2).sum()))(X)
    assert str(minijax.typeof(back)) == "float32[8,2]"
    np.testing.assert_allclose(back, 2 * X)


DONATIONS = """
jax.jit(lambda a: a * 2, out_shardings=s.with_memory_kind("pinned_host"), donate_argnums=0), s
jax.jit(lambda a: a * 2, out_shardings=s, donate_argnums=0), s
jax.jit(lambda a: (a * 2, a + 1), out_shardings=(s, s.with_memory_kind("pinned_host")), donate_argnums=0), s
jax.jit(lambda a: a, out_shardings=s.with_memory_kind("pinned_host"), donate_argnums=0), s.with_memory_kind("pinned_host")
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore:Some donated")
@pytest.mark.parametrize("row", DONATIONS)
@in_both
def test_donations(library, row):
    """No memory of the devices is given to a result in the memory of the host."""
    known = words(library)
    known["s"] = known["by_xla"].sharding
    f, where = eval(row, known)
    x = library.device_put(X, where)
    outs = library.tree.leaves(f(x))
    return x.is_deleted(), [(out.sharding.memory_kind, np.asarray(out)) for out in outs]


@pytest.mark.parametrize("where", [
    "Space.Host", "by_xla.sharding.with_memory_kind('pinned_host')",
])
def test_gradients_in_another_memory_are_refused(where):
    def program(library):
        def run():
            known = words(library)
            there = eval(where, known)
            f = library.custom_vjp(lambda x: x * 2)
            f.defvjp(lambda x: (x * 2, None), lambda _, ct: (library.device_put(ct, there),))
            return library.jit(library.grad(lambda x: f(x).sum()))(known["by_xla"])

        return run

    both(program, raises=ValueError)


@pytest.mark.parametrize("argument", ["jnp.ones((8, 2))", "X", "by_xla", "host_array"])
@pytest.mark.parametrize("kind", ["device", "pinned_host"])
def test_memories_of_arguments(argument, kind):
    """Arrays must be in the memory that is asked for, also if they were not put there."""
    def program(library):
        def run():
            known = words(library)
            s = known["by_xla"].sharding.with_memory_kind(kind)
            return library.jit(lambda x: x * 2, in_shardings=s)(eval(argument, known))

        return run

    fits = argument == "X" or (argument == "host_array") is (kind == "pinned_host")
    both(program, raises=None if fits else ValueError)
