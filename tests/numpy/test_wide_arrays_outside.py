"""Arrays of 64 bits that were made under x64, in functions that are called without it."""

from __future__ import annotations

import pytest

from tests.oracle import in_both

CALLS = """
a.sum() | i.sum() | a.max() | i.max() | a.mean() | i.mean() | jnp.prod(a) | jnp.ptp(a) | a.any() | jnp.var(a)
jnp.std(a) | jnp.nanvar(a) | jnp.nansum(a) | jnp.sum(a, axis=0, keepdims=True) | jnp.max(m, axis=1)
jnp.mean(m, axis=0) | jnp.max(a, initial=1.5) | jnp.median(a) | jnp.quantile(a, 0.3) | jnp.cumsum(a)
jnp.cumsum(i) | jnp.cumprod(m, axis=1) | jnp.cov(m) | jnp.average(a, weights=a) | jnp.trace(m)
jax.nn.softmax(a) | jnp.trunc(a) | jnp.round(a, 1) | jnp.sinc(a) | jnp.modf(a) | jnp.count_nonzero(a)
jax.jit(jnp.var)(a) | jax.grad(jnp.sum)(a) | jax.vmap(jnp.sum)(m)
jnp.sin(a) | a + 1 | a * jnp.float32(2) | a + a | jnp.sort(a) | jnp.sum(a * 1j) | a.sum(dtype=a.dtype)
"""


@pytest.mark.parametrize("call", [c.strip() for line in CALLS.split("\n") for c in line.split(" | ") if c])
@in_both
def test_wide_array_outside_of_x64(library, call):
    jnp = library.numpy
    with library.enable_x64(True):
        names = {"a": jnp.arange(3.0), "i": jnp.arange(3),
                 "m": jnp.arange(9.0).reshape(3, 3) % 5, "jnp": jnp, "jax": library}
    return eval(call, names)


STAGED = """
jnp.where(a, 1, 0) | jnp.count_nonzero(a) | jnp.round(a, 1) | jnp.take(a, jnp.array([1, 0])) | i[i]
jnp.sinc(a) | jnp.heaviside(a, a) | jnp.zeros_like(a) | jnp.ones_like(i) | a + jnp.full_like(a, 3)
jnp.logical_not(a) | jnp.nonzero(a, size=2)[0] | jnp.searchsorted(a, a) | jnp.digitize(a, a)
jax.lax.cond(a[0] > 0, lambda v: jnp.round(v, 1), jnp.zeros_like, a)
jax.lax.scan(lambda c, v: (c, jnp.where(v, v, jnp.ones_like(v))), 0, a)[1]
"""
WAYS = {
    "jit": lambda jx, f: jx.jit(f),
    "vmap": lambda jx, f: jx.vmap(jx.jit(f), (0, None)),
    "jvp": lambda jx, f: lambda a, i: jx.jvp(lambda a: jx.jit(f)(a, i), (a,), (a,)),
    "vjp": lambda jx, f: lambda a, i: jx.vjp(lambda a: jx.jit(f)(a, i), a)[0],
    "jaxpr": lambda jx, f: lambda a, i: jx.core.eval_jaxpr(
        jx.make_jaxpr(f)(a, i).jaxpr, [], a, i),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", [c for line in STAGED.strip().split("\n") for c in line.split(" | ")])
@in_both
def test_constants_of_a_program_beside_a_wide_array(library, call, way):
    """A constant has the dtype of the array also where the program is traced a second time."""
    jnp = library.numpy
    with library.enable_x64(True):
        a, i = jnp.arange(3.0), jnp.arange(3)
        a = a[None] if way == "vmap" else a
    f = eval(f"lambda a, i: {call}", {"jnp": jnp, "jax": library})
    return WAYS[way](library, f)(a, i)
