"""Elements of less than a byte, in compiled programs and outside."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

NARROW = ["int4", "uint4", "float4_e2m1fn"]  # of int2, XLA on the CPU aborts, as in JAX
PROGRAMS = """
x
x + x
x * x - x
x[::-1] | x[1:3] | x[np.array([1, 7])] | x.at[2].set(1)
x.astype("float32") | x.astype("int32") | x.astype(bool) | jnp.arange(3).astype(x.dtype)
jnp.concatenate([x, x]) | x.reshape(2, 2).T | jnp.stack([x, x], 1)
jnp.full((3,), 1, x.dtype) | jnp.zeros((0, 2), x.dtype) | jnp.ones((), x.dtype)
x == x[::-1] | jnp.where(x > x[0], x, x[1])
lax.cond(x[1] > x[0], lambda x: x, lambda x: -x, x) | lax.scan(lambda c, x: (c * x, c + x), x[1], x)
jax.vmap(lambda a, b: a * b)(x, x)
jnp.asarray(KNOWN) + x
lax.bitcast_convert_type(x, x.dtype)
""".strip().splitlines()


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("how", ["eager", "jit", "closed over"])
@pytest.mark.parametrize("program", [p.strip() for line in PROGRAMS for p in line.split(" | ")])
def test_as_in_jax(program, how, dtype):
    def run(jx):
        x = np.array([0, 1, 1, -2 if dtype[0] in "if" else 3]).astype(jx.numpy.dtype(dtype))
        names = {"jax": jx, "jnp": jx.numpy, "lax": jx.lax, "np": np, "KNOWN": x}
        f = eval(f"lambda x: {program}", names)
        x = jx.numpy.asarray(x)
        return {"eager": lambda: f(x), "jit": lambda: jx.jit(f)(x),
                "closed over": lambda: jx.jit(lambda: f(x))()}[how]()

    both(lambda jx: lambda: run(jx))


@pytest.mark.parametrize("dtype", NARROW)
def test_on_several_devices(dtype):
    def run(jx):
        x = np.array([0, 1, 1, 0, 0, 0, 1, 1]).astype(jx.numpy.dtype(dtype))
        there = jx.device_put(x, jx.devices()[1])
        split = jx.device_put(x, jx.NamedSharding(jx.make_mesh((4,), ("i",)), jx.P("i")))
        return np.asarray(there + there), np.asarray(jx.jit(lambda x: x + x)(split)), np.asarray(split)

    both(lambda jx: lambda: run(jx))
