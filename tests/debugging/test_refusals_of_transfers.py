"""`transfer_guard("disallow")` refuses NumPy arrays and numbers that the user passes, wherever they
become arrays; a function's own constants are no transfers."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

CALLS = """jnp.sin(x)  jnp.add(x, x)  jnp.add(a, x)  a + x  a + 1.0  1.0 + a  a + np.float32(1)  lax.sin(x)
    jnp.array(x)  jnp.asarray(x)  jnp.array([1.0, 2.0])  jnp.zeros(3)  jnp.full(3, x)  jnp.eye(3)
    jnp.full(3, 2.0)  jnp.zeros_like(x)  jnp.sum(x)  jnp.sum(a)  jnp.mean(x)  jnp.mean(a)
    jnp.dot(m, m)  m @ a  jnp.maximum(a, 0.0)  jnp.concatenate([x,x])  jnp.concatenate([a,x])
    jnp.stack([x,x])  a.at[0].set(1.0)  a.at[0].add(x[0])  jit(x)  jit(a)  jit(1.0)  jax.device_put(x)
    jax.device_put(1.0)  jax.device_get(a)  np.asarray(a)  jnp.exp(1.0)  jnp.sqrt(2)  jnp.clip(a,0,1)
    a**2  a**2.5  jnp.power(a,2)  -a  a>0  a>x  a.astype(int)  jax.random.key(0)  jnp.arange(3)
    jax.random.normal(k,(2,))  jax.random.split(k)  jax.random.fold_in(k,1)  jax.grad(jit)(1.0)
    jax.random.bernoulli(k,0.5)  jax.vmap(double)(x)  jax.vmap(double)(a)  jax.jvp(jnp.sin,(x,),(x,))
    jax.nn.softmax(x)  jax.nn.relu(x)  jax.nn.relu(a)  jax.nn.gelu(x)  jnp.linalg.norm(x)
    jnp.einsum('ij,j->i',m,x)  jnp.einsum('i,i->',a,a)  jnp.sort(x)  jnp.cumsum(x)  jnp.fft.fft(x)
    jnp.pad(x,1)  jnp.tile(x,2)  jnp.broadcast_to(x,(2,3))  jnp.isnan(x)  jnp.allclose(a,a)
    jnp.argmax(x)  lax.full((3,),1.0)  lax.add(a,x)  lax.add(a,1.0)  lax.convert_element_type(x,'int32')
    jnp.copy(a)  jnp.copy(x)  jnp.float32(1)  jnp.int32(x)  jax.new_ref(x)  jax.eval_shape(jnp.sin,x)
    jax.make_jaxpr(jnp.sin)(x)  jax.jit(jnp.sin).lower(x)  jax.checkpoint(jnp.sin)(x)  jnp.prod(x)
    jnp.triu(m)  jnp.outer(x,x)  jnp.roll(a,1)  jnp.flip(x)  jnp.median(a)  jnp.interp(a,a,a)
    lax.scan(carry,a,a)  lax.scan(carry,0.0,x)  lax.cond(True,double,double,x)  jnp.degrees(a)
    lax.fori_loop(0,3,keep,a)  lax.while_loop(small,double,1.0)  jnp.logical_not(a)
    jnp.linalg.inv(n)  jnp.nanmax(a)  jax.nn.elu(a)  jax.nn.hard_tanh(a)  jnp.log2(a)  jnp.hypot(a,a)"""


def transfers(jx, mode):
    """For each call whether it is refused; `mode` says in which way transfers are forbidden."""
    x, m = np.ones(3, np.float32), np.ones((3, 3), np.float32)
    names = {
        "jax": jx, "jnp": jx.numpy, "lax": jx.lax, "np": np, "x": x, "m": m,
        "n": m + np.eye(3, dtype="f"), "a": jx.numpy.ones(3), "k": jx.random.key(0),
        "jit": jx.jit(lambda x: x + 1), "double": lambda x: x * 2, "carry": lambda c, y: (c, y),
        "keep": lambda i, c: c, "small": lambda c: c < 3.0}
    refused = {}
    for call in CALLS.replace("\n", "  ").split("  "):
        if not (call := call.strip()):
            continue
        eval(call, names)  # what is compiled at the first call is no matter here
        with jx.transfer_guard(mode):
            try:
                eval(call, names)
            except jx.errors.JaxRuntimeError as error:
                assert "Disallowed host-to-device transfer" in str(error)
                refused[call] = True
            else:
                refused[call] = False
    return refused


@pytest.mark.parametrize("mode", ["disallow", "disallow_explicit"])
def test_transfers_are_refused_as_in_jax(mode):
    both(lambda jx: lambda: transfers(jx, mode))


def test_nothing_is_refused_while_a_function_is_traced():
    x = np.ones(3, np.float32)
    with minijax.transfer_guard("disallow"):
        out = minijax.eval_shape(lambda: minijax.numpy.sin(x) + 1.0)
    assert out.shape == (3,)


@in_both
def test_constants_of_a_function_that_is_compiled_under_the_guard(jx):
    jnp = jx.numpy

    def f(x):
        made = jnp.ones(3), jnp.arange(3), jnp.full(3, x[0]), jnp.zeros_like(x), jnp.eye(3)[0]
        return sum(made, x) + jnp.asarray(3.0) + jx.random.uniform(jx.random.key(0), (3,))

    def guarded(x):
        with jx.transfer_guard("disallow"):
            return jx.jit(f)(x)
    return guarded(jnp.ones(3))


def test_a_pytree_is_refused_for_its_raw_leaf():
    tree = {"w": minijax.numpy.ones(2), "b": np.ones(2, np.float32)}
    with minijax.transfer_guard("disallow"), pytest.raises(minijax.errors.JaxRuntimeError):
        minijax.jit(lambda t: t["w"] + t["b"])(tree)


MOVES = {
    "put elsewhere": lambda jx, a: jx.device_put(a["x"], a["second"]),
    "put where it is": lambda jx, a: jx.device_put(a["x"], a["first"]),
    "put back": lambda jx, a: jx.device_put(a["y"], a["first"]),
    "put nowhere": lambda jx, a: jx.device_put(a["x"]),
    "split": lambda jx, a: jx.device_put(a["x"], a["split"]),
    "gather": lambda jx, a: jx.device_put(a["z"], a["first"]),
    "put a key": lambda jx, a: jx.device_put(a["key"], a["second"]),
    "jit(device)": lambda jx, a: jx.jit(lambda x: x, device=a["second"])(a["x"]),
    "jit(device) where it is": lambda jx, a: jx.jit(lambda x: x + 1, device=a["first"])(a["x"]),
    "jit of two devices": lambda jx, a: jx.jit(lambda x, y: x + y)(a["x"], a["y"]),
    "jit of a mesh": lambda jx, a: jx.jit(lambda x, z: x + z)(a["x"], a["z"]),
    "in_shardings": lambda jx, a: jx.jit(lambda x: x + 1, in_shardings=a["split"])(a["x"]),
    "out_shardings": lambda jx, a: jx.jit(lambda x: x + 1, out_shardings=a["split"])(a["x"]),
    "shard_map": lambda jx, a: jx.shard_map(lambda x: x, mesh=a["split"].mesh, in_specs=a["spec"],
                                            out_specs=a["spec"])(a["x"]),
    "where it is": lambda jx, a: jx.jit(lambda x: x * 2)(a["x"] + a["x"]),
    "sum of a mesh": lambda jx, a: a["z"].sum(),
    "to NumPy": lambda jx, a: np.asarray(a["z"]),
}


@pytest.mark.parametrize("mode", ["allow", "log", "disallow", "disallow_explicit"])
@pytest.mark.parametrize("name", MOVES)
@in_both
def test_copies_to_other_devices(jx, name, mode):
    first, second = jx.devices()[:2]
    spec = jx.sharding.PartitionSpec("data")
    split = jx.sharding.NamedSharding(jx.sharding.Mesh([first, second], "data"), spec)
    x = jx.numpy.ones(4)
    a = {"x": x, "y": jx.device_put(x, second), "z": jx.device_put(x, split), "split": split,
         "first": first, "second": second, "spec": spec, "key": jx.random.key(0)}
    MOVES[name](jx, a)  # what is compiled at the first call is no matter here
    try:
        with jx.transfer_guard_device_to_device(mode):
            MOVES[name](jx, a)
    except jx.errors.JaxRuntimeError as error:
        assert "Disallowed device-to-device transfer" in str(error)
        return True
    return False


def test_a_refused_copy_leaves_the_guard_as_it_was():
    x = minijax.numpy.ones(3)
    second = minijax.devices()[1]
    with minijax.transfer_guard_device_to_device("disallow_explicit"):
        with pytest.raises(minijax.errors.JaxRuntimeError, match="forbids device_put, too"):
            minijax.device_put(x, second)
        with pytest.raises(minijax.errors.JaxRuntimeError, match="first, by `jax.device_put`"):
            minijax.jit(lambda x: x, device=second)(x)
