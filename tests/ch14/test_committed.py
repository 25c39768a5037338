"""Computation follows data: what two arrays of all kinds of places give together, as in JAX."""

from __future__ import annotations

import pytest

from tests.ch14.placement_programs import same

# On the first device, not on purpose; on purpose; on another; split; copied; not yet on a device.
KINDS = {
    "uncommitted": "{}",
    "first": "put({}, d[0])",
    "fourth": "put({}, d[3])",
    "split": "put({}, s)",
    "copied": "put({}, r)",
    "numpy": "np.asarray({})",
}

OPERATIONS = {
    "add": "a + b",
    "jit": "jax.jit(lambda a, b: (jnp.sin(a) * b, a, 1.0, (a * b).sum()))(a, b)",
    "grad": "jax.grad(lambda a, b: (jnp.tanh(a) * b).sum(), (0, 1))(a, b)",
    "vmap": "jax.vmap(lambda a, b: a * b + 1)(a, b)",
    "scan": "lax.scan(lambda c, ab: (c + ab[0], ab[0] * ab[1]), 0.0, (a, b))",
    "set": "jnp.asarray(a).at[2].set(b[1])",
    "concatenate": "jnp.concatenate([a, b])",
    "unused": "jax.jit(lambda a, b: a * 2)(a, b)",
}


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_two_arrays(operation, first, second):
    a, b = KINDS[first].format("x"), KINDS[second].format("(x + 1)")
    same(f"(lambda a, b: {OPERATIONS[operation]})({a}, {b})")


ONE_ARRAY = """
a[2]
a[jnp.arange(1, 5)]
a[None, :, None]
a[jnp.array([1, 2])]
a[a > 3] if False else a
-a
a + 1
1 - a
a ** 2
a * np.float32(2)
a.sum()
a.astype(int)
a.copy()
jnp.array(a)
jnp.asarray(a)
a.reshape(2, 4)
a.T
a.at[0].set(5.0)
a.at[:3].get()
list(a)[1]
jnp.stack([a, a])
jnp.outer(a, a)
jnp.sort(a)[::-1]
jnp.fft.fft(a)
jnp.linalg.norm(a)
lax.fori_loop(0, 3, lambda i, a: a + i, a)
lax.while_loop(lambda a: a.sum() < 100, lambda a: a * 2, a)
jax.lax.cumsum(a)
jax.jit(lambda a: a)(a)
jax.jit(lambda: a + 1)()
jax.jit(lambda: jnp.ones(3))()
jax.jit(lambda a: (a, jnp.ones((3, 2))))(a)
jax.jit(lambda a: a, donate_argnums=0)(a + 0)
jax.jit(lambda a: {"u": a[0], "v": [a, None]})(a)
jax.grad(lambda a: jax.jit(jnp.sin)(a).sum())(a)
jax.hessian(lambda a: (a ** 3).sum())(a[:2])
jax.checkpoint(lambda a: jnp.sin(a))(a)
jax.random.normal(jax.random.key(0), a.shape) + a
jnp.zeros_like(a)
jnp.broadcast_to(a, (2, 8))
jax.tree.map(lambda x: x + 1, [a, a])
jax.device_get(a)
float(a[1])
a.item() if a.ndim == 0 else a.tolist()
bool(a[0])
repr(a)
str(a)
f"{a[1]:.2f}"
np.asarray(a)
np.add(a, 1)
a.__array__().flags.writeable
copy.copy(a)
copy.deepcopy(a)
pickle.loads(pickle.dumps(a))
a.is_fully_addressable
a.is_fully_replicated
a.committed
a._committed
str(a.sharding)
str(a.device)
sorted(d.id for d in a.devices())
a.platform()
a.on_device_size_in_bytes()
len(a.addressable_shards)
[(str(p.device), p.index, p.replica_id, p.data) for p in a.addressable_shards]
[(str(p.device), p.index, p.replica_id, p.data) for p in a.global_shards]
repr(a.addressable_shards[0])
[p.data + 1 for p in a.addressable_shards][-1]
a.addressable_data(0)
a.nbytes
a.block_until_ready()
(a + 0).is_deleted()
(lambda b: (b.delete(), b.is_deleted()))(a + 0)
(lambda b: (b.delete(), np.asarray(b)))(a + 0)
(lambda b: (b.delete(), b.shape, b.sharding))(a + 0)
(lambda b: (jax.jit(lambda b: b + 1, donate_argnums=0)(b), b.is_deleted()))(a + 0)
(lambda b: (jax.jit(lambda b: b + 1, donate_argnums=0)(b), np.asarray(b)))(a + 0)
a.copy_to_host_async()
hash(a)
a == a
len(a)
a.weak_type
isinstance(a, jax.Array)
""".strip().splitlines()

PLACES = {place: KINDS[place] for place in ("uncommitted", "fourth", "split")}
PLACES["one device mesh"] = 'put({}, NS(m1, P("x")))'


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", ONE_ARRAY)
def test_one_array(text, place):
    same(f"(lambda a: {text})({PLACES[place].format('x')})")
