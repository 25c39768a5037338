"""Where arrays are put, what they say of it, and how they are put together, compared with JAX."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import minijax
from minijax import settings
from tests.oracle import both, in_both
from tests.parallel.placement_programs import same, surroundings, told

PUTS = """
put(x)
put(x, None)
put(x, d[0])
put(x, d[3])
put(1.0, d[3])
put(1.0)
put(True, d[1])
put(2, s.update(spec=P()))
put(np.arange(3), d[1])
put(np.arange(2.0), r)
put(x, s)
put(x, r)
put(x, named(("x", "y")))
put(x, named("y"))
put(x2, named("x", "y"))
put(x2, named(None, "y"))
put(x2, named("y", "x"))
put(x, SDS(d[4]))
put(x, NS(m1, P("x")))
put(put(x, d[3]))
put(put(x, s))
put(put(x, d[3]), d[3])
put(put(x, d[3]), d[5])
put(put(x, s), d[5])
put(put(x, s), s)
put(put(x, s), named("y"))
put(put(x, s), r)
put(put(x, r), s)
put(put(x, r), d[6])
put(put(x, s), NS(Mesh(np.array(d[::-1]), ("i",)), P("i")))
put(put(x, d[3]), s)
put(put(x, NS(m1, P("x"))), d[2])
put({"a": x, "b": [1.0, np.ones(2)]}, d[1])
put({"a": x, "b": [1.0, np.ones(2)]}, {"a": s, "b": d[1]})
put({"a": x, "b": [1.0, np.ones(2)]}, {"a": None, "b": [d[1], None]})
put([x, x], [d[0], s])
put((), d[1])
put(None, d[1])
put(key, d[3])
put(jax.random.split(key, 8), s)
jax.random.normal(put(key, d[3]), (3,))
jax.random.normal(put(key, r), (3,))
jax.random.split(put(key, d[3]))
jax.random.fold_in(put(key, d[3]), 7)
put(np.arange(8, dtype=np.float64), s)
put(np.arange(8, dtype=np.int8), s)
put(jnp.arange(8, dtype=jnp.bfloat16), s)
put(jnp.arange(8) > 3, s)
put(jnp.zeros((0, 4)), s)
put(x, d[1], donate=True)
put(x, s, donate=True)
put(x, may_alias=False)
put(put(x, s), may_alias=False)
put(put(x, s), s, may_alias=False)
put(x, d[1], may_alias=True)
put(x, d[1], src=d[0])
put([x, x], d[1], donate=[True, False])
put(x, d[1], donate=True, may_alias=True)
put(x, 'cpu')
put(x, 3)
put(x, {"a": d[0]})
put([x, x], [d[0], d[1], d[2]])
put('a', d[0])
put([x, object()], d[0])
put(x, P('x'))
put(1.0, s)
put(jnp.ones(6), s)
put(jnp.ones((8, 3)), named(None, "y"))
put(x, d)
put(put(x, s), s) is put(x, s)
(lambda y: put(y, s) is y)(put(x, s))
(lambda y: put(y) is y)(put(x, s))
(lambda y: put(y, d[3]) is y)(put(x, d[3]))
x.to_device(d[2])
put(x, s).to_device(d[2])
x.to_device(s)
jnp.zeros(8, device=s)
jnp.ones(3, device=d[2])
jnp.asarray([1.0, 2.0], device=d[2])
jnp.array(x, device=d[2])
jnp.arange(8, device=s)
jnp.linspace(0, 1, 8, device=s)
jnp.eye(8, device=s)
jnp.full((8,), jnp.float32(2), device=s)
jnp.zeros_like(put(x, s))
jnp.zeros_like(put(x, d[3]))
jnp.ones_like(put(x2, s))
jnp.full_like(put(x, s), 2)
jnp.zeros_like(put(x, s), shape=(3,))
jnp.zeros_like(put(x, r), shape=(3,))
jnp.zeros_like(put(1.0, d[3]))
jnp.zeros_like(x, device=d[3])
jnp.zeros_like(jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=s))
jnp.ones_like(jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=s), dtype="int32")
jnp.full_like(jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=s), 2, shape=(3,))
jnp.zeros_like(jax.ShapeDtypeStruct((8, 4), jnp.float32))
jnp.zeros_like(jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=NS(m.abstract_mesh, P("x"))))
jax.device_get(put(x, s))
jax.device_get([put(x, r), 1.0, "a", None])
jax.block_until_ready([put(x, s), 1.0])
""".strip().splitlines()

UNDER_TRANSFORMATIONS = """
jax.make_jaxpr(lambda x: put(x, d[1]))(x)
jax.make_jaxpr(lambda x: put(x))(x)
jax.make_jaxpr(lambda x: put(x, s))(x)
jax.make_jaxpr(lambda x: put([x, 2 * x], [d[0], s], may_alias=False))(x)
jax.make_jaxpr(lambda x: put(x, d[1], src=d[0], donate=True))(x)
jax.make_jaxpr(lambda y: put(1.0, d[1]))(x)
jax.make_jaxpr(jax.vmap(lambda x: put(x, d[1])))(x)
jax.make_jaxpr(lambda x: jax.jvp(lambda x: put(x, d[1]), (x,), (x,)))(x)
jax.make_jaxpr(jax.linear_transpose(lambda x: put(-x, d[1], src=d[0]), x))(x)
jax.make_jaxpr(jax.linear_transpose(lambda x: put((x, x), d[1])[0], x))(x)
jax.make_jaxpr(jax.linear_transpose(lambda x: put(x, d[1], donate=True), x))(x)
jax.jit(lambda x: put(x, None))(x)
jax.jit(lambda x: put(x, None))(put(x, d[2]))
jax.jit(lambda x: put(x, s) * 2)(x)
jax.jit(lambda x: put(x, s) * 2)(put(x, s))
jax.jit(lambda x: put(x, s) * 2)(put(x, r))
jax.jit(lambda x: put(x, s) * 2)(put(x, d[2]))
jax.jit(lambda x: put(x, r) * 2)(x)
jax.jit(lambda x: put(x, d[3]) * 2)(x)
jax.jit(lambda x: put(x, d[3]) * 2)(put(x, d[2]))
jax.jit(lambda x: put(x, d[0]) * 2)(put(x, s))
jax.jit(lambda x: put(x, SDS(d[3])) * 2)(x)
jax.jit(lambda x: put(x, SDS(d[3])) * 2)(put(x, d[2]))
jax.jit(lambda: put(1.0, d[3]))()
jax.jit(lambda: put(np.ones(8), s))()
jax.grad(lambda x: (put(x, d[3]) ** 2).sum())(x)
jax.grad(lambda x: (put(x, d[3]) ** 2).sum())(put(x, d[2]))
jax.grad(lambda x: (put(x, s) ** 2).sum())(x)
jax.grad(lambda x: (put(x, s) ** 2).sum())(put(x, d[2]))
jax.grad(lambda x: (put(x) ** 2).sum())(put(x, d[2]))
jax.grad(lambda x: (put(x) ** 2).sum())(x)
jax.value_and_grad(lambda x: put(x, d[3]).sum())(x)
jax.jit(jax.grad(lambda x: (put(x, s) ** 2).sum()))(x)
jax.jvp(lambda x: put(x, d[3]) * 2, (x,), (x,))
jax.jvp(lambda x: put(x, s) * 2, (put(x, s),), (put(x, s),))
jax.vmap(lambda x: put(x, d[3]) * 2)(x2)
jax.vmap(lambda x: put(x, None) * 2)(put(x2, s))
jax.vmap(lambda x: put((x, 1.0), d[3]), out_axes=(0, None))(x2)
jax.vmap(lambda x, y: put((x, y), d[3]), in_axes=(0, 1))(x2, x2)
jax.vmap(lambda x: put(x, s))(x2)
jax.linearize(lambda x: put(x, d[3]) * 2, x)[1](x)
jax.checkpoint(lambda x: put(jnp.sin(x), d[3]))(x)
jax.grad(jax.checkpoint(lambda x: jnp.sin(put(jnp.sin(x), d[3])).sum()))(x)
lax.scan(lambda c, x: (put(c, None) + x, x), 0.0, put(x, d[3]))
lax.cond(True, lambda x: put(x, None), lambda x: x, put(x, d[3]))
jax.eval_shape(lambda x: put(x, s), x).shape
jax.make_jaxpr(lambda x: x.sharding)(x)
jax.jit(lambda x: x.devices())(x)
jax.jit(lambda x: x.device)(x)
jax.jit(lambda x: x.addressable_shards)(x)
jax.jit(lambda x: x.committed)(x)
jax.jit(lambda x: x.is_fully_replicated)(x)
jax.jit(lambda x: x.to_device(d[0]))(x)
jax.jit(lambda x: x.copy_to_host_async())(x)
jax.jit(lambda x: jnp.zeros_like(x))(put(x, s))
jax.jit(lambda x: jnp.zeros(3, device=d[0]))(x)
within(jax.set_mesh(m), lambda: jax.grad(lambda x: jnp.sin(put(x, P("x"))).sum())(x))
within(jax.set_mesh(m), lambda: jax.jvp(lambda x: put(x, P("x")), (x,), (x,)))
within(jax.set_mesh(m), lambda: jax.linearize(lambda x: put(x * 2, P("y")), x)[1](x))
within(jax.set_mesh(m), lambda: jax.vmap(lambda x: put(x, P()))(x2))
""".strip().splitlines()


@pytest.mark.parametrize("text", PUTS)
def test_put(text):
    same(text)


@pytest.mark.parametrize("text", UNDER_TRANSFORMATIONS)
def test_put_under_transformations(text):
    same(text)


MEMORIES = """
put(x, host)
put(put(x, s), host)
[shard.data for shard in put(x, host).addressable_shards][1]
put(x, SDS(d[1], memory_kind="pinned_host"))
jax.jit(lambda x: x * 2, out_shardings=host)(put(x, s))
jax.jit(lambda x: x * 2, out_shardings=host)(x)
jax.jit(lambda x: (x * 2, x), out_shardings=(host, s))(put(x, s))
jax.jit(lambda x: x * 2, out_shardings=SDS(d[0], memory_kind="pinned_host"))(x)
jax.jit(lambda x: put(x * 2, host))(put(x, s))
jax.jit(lambda x: put(x, s) * 2)(put(x, host))
jax.jit(lambda x: x * 2, in_shardings=host, out_shardings=host)(put(x, host))
jax.jit(lambda x: x * 2, in_shardings=host)(put(x, s))
jax.jit(lambda x: x * 2, in_shardings=s)(put(x, host))
put(x, Space.Host)
put(put(x, s), Space.Host)
put(put(x, host), Space.Device)
put([x, put(x, s)], [Space.Host, Space.Device])
""".strip().splitlines()


@pytest.mark.parametrize("text", MEMORIES)
def test_memories(text):
    def program(jx):
        scope = surroundings(jx)
        scope |= {"host": scope["s"].with_memory_kind("pinned_host"), "Space": jx.memory.Space}
        return lambda: told(jx, eval(text, scope))

    both(program, raises=ValueError if "in_shardings" in text and text.count("host") == 1 else None)


MADE_ON_THE_DEFAULT_DEVICE = """
jnp.array([1.0, 2.0])
jnp.asarray(1.0)
jnp.array([x, x])
jnp.array(x)
jnp.asarray(x)
jnp.ones(2)
jnp.full(2, 1.0)
jnp.arange(3)
jnp.arange(1.0, 2.0, 0.3)
jnp.linspace(0, 1, 3)
jnp.eye(2)
jnp.zeros_like(x)
jnp.zeros_like(put(x, d[5]))
jnp.meshgrid(jnp.arange(2), jnp.arange(3))
lax.iota(jnp.int32, 3)
x + x
x + 1
-x
x @ x
x.at[0].set(1.0)
x[1:3]
x[2]
x + put(x, d[5])
x + put(x, s)
jnp.add(np.ones(2), 1.0)
jax.jit(lambda x: x * 2)(x)
jax.jit(lambda x: x * 2)(put(x, d[5]))
jax.jit(lambda: jnp.ones(2))()
jax.jit(lambda x: x * 2)(put(x, s))
jax.grad(lambda x: (x ** 2).sum())(x)
jax.vmap(lambda x: x ** 2)(x)
lax.scan(lambda c, x: (c + x, c), 0.0, x)
jax.random.key(0)
jax.random.normal(jax.random.key(0), (2,))
jax.random.normal(key, (2,))
put(np.ones(2))
put(x)
put(x, d[5])
put(1.0)
jax.jit(lambda x: x + 1, device=d[4])(x)
jnp.sin(1.0)
jnp.sort(x)
jnp.linalg.inv(jnp.eye(2))
jnp.fft.fft(x)
under(None, lambda: jnp.ones(2))
under(d[0], lambda: jnp.ones(2))
under("cpu", lambda: jnp.ones(2))
under(d[6], lambda: jnp.ones(2))
under(3, lambda: jnp.ones(2))
under("cpu:1", lambda: jnp.ones(2))
under(d, lambda: jnp.ones(2))
jax.config.jax_default_device
str(jax.make_jaxpr(lambda x: x + 1)(x))
""".strip().splitlines()


@pytest.mark.parametrize("text", MADE_ON_THE_DEFAULT_DEVICE)
def test_default_device(text):
    same(f"under(d[3], lambda: {text})")


AFTERWARDS = """
a + 1
a + x[:2]
a + put(x, d[5])[:2]
a.copy()
jax.jit(lambda a: a * 2)(a)
put(a)
put(a, d[0])
a
""".strip().splitlines()


@pytest.mark.parametrize("text", AFTERWARDS)
def test_uncommitted_on_another_device(text):
    same(f"(lambda a: {text})(under(d[3], lambda: jnp.ones(2)))")


# "Controlling data and computation placement on devices", of JAX's FAQ.
FAQ = """
jnp.ones(3).devices() == {d[0]}
str(put(1, d[2]))
put(1, d[2])
put(1, d[2]) + 1
put(1, d[2]) + jnp.ones(3)
put(1, d[2]) + put(1, d[3])
jnp.dot(put(jnp.ones(3), d[2]), put(jnp.ones(3), d[3]))
jax.jit(lambda a, b: a + b)(put(1, d[2]), put(1, d[3]))
jax.jit(lambda a, b: a + b)(put(1, d[2]), put(x, s))
jax.jit(lambda a, b: a + b)(put(x, d[0]), put(x, s))
jax.jit(lambda a, b: a + b)(put(x, s), put(x, NS(Mesh(np.array(d[:4]), ("x",)), P("x"))))
jax.jit(lambda a, b: a + b)(put(x, s), put(x, NS(Mesh(np.array(d), ("i",)), P("i"))))
jax.jit(lambda a: a + put(x, d[3]))(put(x, d[3]))
jax.jit(lambda a: a + put(x, d[3]))(x)
under(d[1], lambda: jnp.ones(3) + put(jnp.ones(3), d[2]))
jax.jit(lambda a: a + 1, device=d[3])(x)
jax.jit(lambda a: a + 1, device=d[0])(x)
jax.jit(lambda a: a + 1, backend="cpu")(x)
jax.jit(lambda a: a + 1, device=d[3])(put(x, d[2]))
jax.jit(lambda a: a + 1, device=d[3])(put(x, s))
jax.jit(lambda a: (a, jnp.ones(2)), device=d[3])(x)
""".strip().splitlines()


@pytest.mark.parametrize("text", FAQ)
def test_faq(text):
    same(text)


ASSEMBLED = """
jax.make_array_from_callback((8,), s, lambda i: np.arange(8)[i])
jax.make_array_from_callback((8,), r, lambda i: np.arange(8.0)[i])
jax.make_array_from_callback((8, 4), named("y", "x"), lambda i: np.ones((8, 4), np.int8)[i])
jax.make_array_from_callback((8,), SDS(d[2]), lambda i: np.arange(8)[i])
jax.make_array_from_callback((8,), s, lambda i: x[i])
jax.make_array_from_callback((8,), s, lambda i: np.arange(8)[i], dtype=jnp.float32)
jax.make_array_from_callback((8,), s, lambda i: np.arange(3))
jax.make_array_from_callback((6,), s, lambda i: np.arange(6)[i])
jax.make_array_from_callback((), r, lambda i: 3)
jax.make_array_from_callback((8,), d[0], lambda i: np.arange(8)[i])
jax.make_array_from_callback((8,), s, 3)
jax.make_array_from_single_device_arrays((8,), NS(m1, P("x")), [put(x, d[2])])
jax.make_array_from_single_device_arrays((8,), r, [put(x, e) for e in d])
jax.make_array_from_single_device_arrays((16,), s, [put(x[:4], e) for e in d])
jax.make_array_from_single_device_arrays((16,), s, [put(x[:4], e) for e in d[::-1]])
jax.make_array_from_single_device_arrays((16,), s, tuple(put(x[:4], e) for e in d))
jax.make_array_from_single_device_arrays((8,), s, [put(x, e) for e in d])
jax.make_array_from_single_device_arrays((16,), s, [put(x[:4], e) for e in d[:4]])
jax.make_array_from_single_device_arrays((16,), s, [put(x[:4], d[0]) for e in d])
jax.make_array_from_single_device_arrays((16,), s, x)
jax.make_array_from_single_device_arrays((), SDS(d[1]), [put(1.0, d[1])])
jax.make_array_from_single_device_arrays((8,), s, [])
jax.make_array_from_process_local_data(s, np.arange(8))
jax.make_array_from_process_local_data(r, np.arange(8), (8,))
jax.make_array_from_process_local_data(r, np.arange(8), (16,))
jax.make_array_from_process_local_data(s, {"a": np.arange(8), "b": np.ones((8, 2))})
jax.make_array_from_process_local_data([s, r], [np.arange(8), np.arange(3)])
jax.make_array_from_process_local_data(s, np.arange(6))
any(y is x for y in jax.live_arrays())
(lambda y: any(z is y for z in jax.live_arrays("cpu")))(put(x, s))
(lambda y: (y.delete(), any(z is y for z in jax.live_arrays())))(put(x, s))
jax.live_arrays("gpu")
""".strip().splitlines()


IMPL = """
A(T((32,), "f"), s, [put(w, e) for e in d], committed=True)
A(T((32,), "f"), s, [put(w, e) for e in d[::-1]], True)
A(T((8,), "f", weak_type=True), SDS(d[1]), [put(w, d[1])], committed=False)
A(T((8,), "f"), r, [put(w, e) for e in d], committed=True)
A(T((32,), "f"), s, [put(w, e) for e in d[:4]], committed=True)
A(T((32,), "f"), s, [put(w, d[0]) for e in d], committed=True)
A(T((8,), "f"), SDS(d[1]), [put(w, d[2])], committed=True)
A(T((64,), "f"), s, [put(w, e) for e in d], committed=True)
A(T((32,), "i4"), s, [put(w, e) for e in d], committed=True)
A(T((31,), "f"), s, [put(w, e) for e in d], committed=True)
A(T((8,), "f"), SDS(d[1]), [w], committed=True)
A(T((8,), "f"), SDS(d[1]), put(w, d[1]), committed=True)
A(T((8,), "f"), SDS(d[1]), (put(w, d[1]),), committed=True)
A(T((8,), "f"), SDS(d[1]), [put(w, d[1])])
(isinstance(put(w, d[0]), A), isinstance(w, A), issubclass(type(put(w, d[0])), A))
jax.jit(lambda y: y + isinstance(y, A))(put(w, d[0]))
""".strip().splitlines()


@pytest.mark.parametrize("text", IMPL)
def test_array_impl(text):
    """The class of arrays, which JAX's own programs call."""
    same("(lambda A, T, w: " + text + ")(__import__(jax.__name__ + '._src.array', fromlist='x')"
         ".ArrayImpl, jax.core.ShapedArray, jnp.arange(8.0))")



@pytest.mark.parametrize("text", ASSEMBLED)
def test_put_together(text):
    same(text)


NUMBERS = [
    ("", {}, 1),
    ("", {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}, 8),
    ("jax.config.update('jax_num_cpu_devices', 3)", {}, 3),
    ("", {"JAX_NUM_CPU_DEVICES": "4"}, 4),
    ("jax.config.update('jax_num_cpu_devices', 3)",
     {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}, 3),
    ("jax.numpy.ones(3) + 1; jax.config.update('jax_num_cpu_devices', 2)", {}, 2),
]


@pytest.mark.daily(3)
@pytest.mark.parametrize(("before", "env", "count"), NUMBERS)
def test_number_of_devices(before, env, count):
    program = f"import minijax as jax; {before}\nprint(len(jax.devices()))\n" + (
        "jax.config.update('jax_num_cpu_devices', jax.config.jax_num_cpu_devices)\n"
        "try: jax.config.update('jax_num_cpu_devices', 9)\n"
        "except RuntimeError as error: print('refused' if 'before' in str(error) else error)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "JAX_PLATFORMS": "cpu", **env}, timeout=100)
    assert (done.stdout.split(), done.stderr) == ([str(count), "refused"], "")


def test_default_device_from_the_environment():
    program = "import minijax as jax; print(jax.config.jax_default_device, jax.numpy.ones(1))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "JAX_DEFAULT_DEVICE": "cpu"}, timeout=100)
    assert (done.stdout, done.stderr) == ("cpu [1.]\n", "")


WITHOUT_JIT = """
put(x, d[3]) + 1
put(x, s) @ x
jax.jit(lambda x: x * 2)(put(x, s))
jax.grad(lambda x: jnp.sin(x).sum())(put(x, d[3]))
jnp.sort(put(x, d[3]))
lax.scan(lambda c, x: (c + x, c), 0.0, put(x, d[3]))
""".strip().splitlines()


@pytest.mark.parametrize("text", WITHOUT_JIT)
@in_both
def test_without_jit(jx, text):
    with jx.disable_jit():
        return told(jx, eval(text, surroundings(jx)))


def test_caches_are_cleared():
    x = minijax.device_put(1.0, minijax.devices()[3])
    x + x, minijax.jit(lambda x: x * 2)(x)
    minijax.clear_caches()
    gc.collect()
    left = [made.get("program") for kept in settings.traces.values() for made in kept.values()]
    assert not [p for p in left if getattr(p, "in_shardings", None)]
    assert (x + x).devices() == {minijax.devices()[3]}


def test_donated_memory_is_not_shared_with_what_stays():
    for place in (minijax.devices()[0], minijax.devices()[3]):
        x = minijax.numpy.arange(1024.0)
        y = minijax.device_put(x, place)
        minijax.jit(lambda y: y - 5, donate_argnums=0)(y).block_until_ready()
        assert y.is_deleted()
        np.testing.assert_array_equal(x + 0, np.arange(1024.0))
        np.testing.assert_array_equal(minijax.jit(lambda x: x + 0)(x), np.arange(1024.0))


def test_array_impl_names_the_devices_of_parts_that_are_elsewhere():
    from minijax._src.array import ArrayImpl

    devices = minijax.devices()
    sharding = minijax.NamedSharding(minijax.sharding.Mesh(np.array(devices[:2]), ("x",)), minijax.P("x"))
    parts = [minijax.device_put(np.ones(2, "f"), d) for d in devices[1:3]]
    with pytest.raises(ValueError, match=r"per-device arrays devices do not match. Sharding contains devices \{0\} that "
                       r"are not present in per-device arrays. Per-device arrays contain devices \{2\} that are not"):
        ArrayImpl(minijax.core.ShapedArray((4,), "f"), sharding, parts, committed=True)
