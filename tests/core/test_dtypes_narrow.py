"""Elements of less than a byte, in compiled programs and outside."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import in_both

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


@pytest.mark.daily(3)
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("how", ["eager", "jit", "closed over"])
@pytest.mark.parametrize("program", [p.strip() for line in PROGRAMS for p in line.split(" | ")])
@in_both
def test_as_in_jax(jx, program, how, dtype):
    x = np.array([0, 1, 1, -2 if dtype[0] in "if" else 3]).astype(jx.numpy.dtype(dtype))
    names = {"jax": jx, "jnp": jx.numpy, "lax": jx.lax, "np": np, "KNOWN": x}
    f = eval(f"lambda x: {program}", names)
    x = jx.numpy.asarray(x)
    return {"eager": lambda: f(x), "jit": lambda: jx.jit(f)(x),
            "closed over": lambda: jx.jit(lambda: f(x))()}[how]()


@pytest.mark.parametrize("dtype", NARROW)
@in_both
def test_on_several_devices(jx, dtype):
    x = np.array([0, 1, 1, 0, 0, 0, 1, 1]).astype(jx.numpy.dtype(dtype))
    there = jx.device_put(x, jx.devices()[1])
    split = jx.device_put(x, jx.NamedSharding(jx.make_mesh((4,), ("i",)), jx.P("i")))
    return np.asarray(there + there), np.asarray(jx.jit(lambda x: x + x)(split)), np.asarray(split)


# NumPy computes with these integers as with int8, or in floats.
OPERATIONS = """
-x
~x
lax.div(x, y) | x // y | lax.div(x, x[::-1]) | divmod(x, y)
lax.rem(x, y) | x % y | lax.rem(x, x[::-1])
lax.max(x, y) | lax.min(x, y) | lax.clamp(y, x, y[::-1])
lax.sign(x) | lax.square(x) | lax.integer_pow(x, 3)
x & y | lax.bitwise_or(x, y) | x ^ y
lax.shift_left(x, y) | lax.shift_right_arithmetic(x, y) | lax.shift_right_logical(x, y)
lax.clz(x)
lax.cummax(x) | lax.cummin(x) | lax.cumsum(x) | lax.cumprod(x)
lax.reduce_max(x, (0,)) | lax.reduce_min(x, (0,)) | lax.reduce_sum(x, (0,)) | lax.reduce_prod(x, (0,))
x @ y | jnp.dot(x, y) | jnp.vdot(x, y) | jnp.tensordot(x, y, 1) | x[:, None] @ y[None]
jnp.sort(x) | jnp.argmax(x) | lax.top_k(x, 2) | jnp.max(x) | x / y
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("program", [p for line in OPERATIONS for p in line.split(" | ")])
@in_both
def test_integers_of_four_bits(jx, program, dtype):
    x, y = (np.array(row).astype(np.int8).astype(jx.numpy.dtype(dtype))
            for row in ([1, 0, 7, -8, -8, 3], [3, 1, 0, -1, 5, 7]))
    names = {"jnp": jx.numpy, "lax": jx.lax}
    f = eval(f"lambda x, y: {program}", names)
    x, y = jx.numpy.asarray(x), jx.numpy.asarray(y)
    return f(x, y), jx.jit(f)(x, y)


# Of these, some have no infinities from which to begin a search for the largest.
FLOATS = ["float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e5m2", "bfloat16"]
EXTREMES = ["jnp.max(x)", "jnp.min(x)", "jnp.max(x[:0], initial=1)", "lax.reduce_max(x[:0], (0,))",
            "lax.reduce_min(x[:0], (0,))", "lax.cummax(x)", "lax.cummin(x)", "jnp.argmin(x)", "jnp.argmax(x)",
            "jnp.nanmax(x)", "jnp.ptp(x)"]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("program", EXTREMES)
@in_both
def test_extremes_of_short_floats(jx, program, dtype):
    f = eval(f"lambda x: {program}", {"jnp": jx.numpy, "lax": jx.lax})
    x = jx.numpy.array([1, 0, -2, 1], dtype)
    return f(x), jx.jit(f)(x)
