"""Computation follows data: what two arrays of all kinds of places give together, as in JAX."""

from __future__ import annotations

import pytest

from tests.parallel.placement_programs import same

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
lax.full_like(a, 1)
lax.full_like(a, 1, shape=(3,))
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


# JAX words the sharding of this result as P('x'), or as P() if it has updated an array on another
# mesh before.
WORDED_BY_TURNS = {("a.at[0].set(5.0)", "one device mesh")}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", ONE_ARRAY)
def test_one_array(text, place):
    if (text, place) in WORDED_BY_TURNS:
        text = f"(lambda b: (np.asarray(b), b.committed, b.devices() == a.devices()))({text})"
    same(f"(lambda a: {text})({PLACES[place].format('x')})")


PROGRAMS = """
jax.jit(lambda a, b: a @ b, donate_argnums=(0,))(put(x2, s), put(x2.T, r))
jax.jit(jax.value_and_grad(lambda w, x: jnp.mean((x @ w) ** 2)))(put(x2[:4], r), put(x2, s))
jax.lax.map(lambda v: v * 2, put(x2, s))
jnp.einsum("ij,kj->ik", put(x2, s), put(x2, s))
jnp.where(put(x, s) > 3, put(x, s), 0)
jnp.argsort(put(x, s))
put(x2, s)[jnp.array([0, 3])]
put(x2, s).at[jnp.array([1, 2])].add(1.0)
put(x2, s).mean(0)
put(x2, s).max()
put(x2, s).reshape(4, 8)
put(x2, s).T
jnp.linalg.svd(put(x2, s), full_matrices=False)[1]
jnp.linalg.solve(put(jnp.eye(4), d[3]), put(jnp.ones(4), d[3]))
jnp.linalg.cholesky(put(jnp.eye(4), r))
jnp.linalg.qr(put(x2, d[3]))[1]
jax.random.uniform(put(key, d[3]), (4,))
jax.random.bits(put(jax.random.split(key, 8), s)[0], (2,))
jax.vmap(lambda k: jax.random.normal(k, (2,)))(put(jax.random.split(key, 8), s))
jax.random.key_data(put(key, d[3]))
jax.random.wrap_key_data(put(jax.random.key_data(key), d[3]))
jax.random.choice(put(key, d[3]), put(x, d[3]), (3,))
jax.nn.softmax(put(x2, s))
jax.nn.relu(put(x2, s))
jax.scipy.special.erf(put(x, s))
jnp.convolve(put(x, d[3]), jnp.ones(2), mode="same")
jnp.unique(put(x, d[3]))
jnp.nonzero(put(x, d[3]))
jnp.histogram(put(x, d[3]))[0]
put(x, d[3])[put(x, d[3]) > 3]
jnp.split(put(x, s), 2)
jax.lax.top_k(put(x, s), 2)
jnp.vdot(put(x, s), put(x, s))
jax.lax.reduce_window(put(x, d[3]), 0.0, lax.add, (2,), (2,), "VALID")
jax.lax.associative_scan(jnp.add, put(x, d[3]))
jax.custom_jvp(lambda x: x * 2)(put(x, d[3]))
jax.jacfwd(jnp.sin)(put(x, d[3]))
jax.jacrev(jnp.sin)(put(x, s))
jax.jvp(jnp.sin, (put(x, s),), (put(x, s),))
jax.linearize(jnp.sin, put(x, s))[1](put(x, s))
jax.vjp(lambda x: x ** 2, put(x, d[3]))[1](put(x, d[3]))
jax.lax.fori_loop(0, 3, lambda i, c: c + x2.sum(), put(0.0, d[3]))
jax.pure_callback(lambda x: np.asarray(x) + 1, jax.ShapeDtypeStruct((8,), "float32"), put(x, d[3]))
jax.lax.stop_gradient(put(x, s))
abs(put(x, d[3]) - 4)
put(x, d[3]) // 2, divmod(put(x, d[3]), 3)
put(x, d[3]).astype(jnp.bfloat16).sum()
put(x, d[3]) == x
put(x.astype(int), s) & 3
np.sin(put(x, s))
max(put(x[:3], d[3]))
sorted(put(x[:3], d[3]))[0]
put(x, d[3]).item(2)
jax.eval_shape(lambda x: x, put(x, s)).sharding is None
jnp.block([[put(x, d[3])], [x]])
jnp.fft.fft(put(x, s))
jnp.vectorize(lambda a: a + 1)(put(x, s))
jnp.piecewise(put(x, d[3]), [x < 3], [0.0, 1.0])
jax.numpy.select([put(x, d[3]) < 3], [x], 0.0)
""".strip().splitlines()


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs(text):
    same(text)
