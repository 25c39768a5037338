"""Which keys a program consumes, which it makes, and what is refused: as in JAX."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import minijax
from minijax.experimental import key_reuse
from tests.oracle import both, in_both

# Functions of a key `k`, and of an array of two keys `ks`, as text; r is the random room.
OF_A_KEY = """
r.bits(k) | r.split(k) | r.fold_in(k, 2) | r.clone(k) | r.key_data(k) | r.gamma(k, 1.0)
k[None] | k.reshape(1) | jnp.array(k) | jax.device_put(k) | k == k | r.key(0) | (k, k) | r.normal(k)
jax.jit(r.bits)(k) | jax.jit(lambda k: (k, r.bits(k)))(k) | jax.jit(lambda a, b: r.bits(a))(k, k)
jax.jit(lambda: (lambda k: (r.bits(k), k))(r.key(0)))() | [r.uniform(x) for x in r.split(k)]
r.uniform(k) + r.uniform(k) | (r.split(k), r.uniform(k)) | (r.split(k), r.split(k))
[r.uniform(r.fold_in(k, i)) for i in range(3)] | (r.fold_in(k, 1), r.uniform(k))
r.bits(k) + jax.vmap(r.bits)(k[None]) | r.bits(k) + r.bits(k.reshape(1).squeeze())
lax.cond(True, r.uniform, r.normal, k) | lax.cond(True, r.uniform, lambda k: 1.0, k)
lax.cond(True, lambda k: 0.0, lambda k: 1.0, k) | lax.cond(True, r.clone, lambda k: r.key(1), k)
(lax.cond(True, r.uniform, lambda k: 1.0, k), r.uniform(k)) | lax.cond(True, lambda k: k, lambda k: k, k)
lax.scan(lambda k, _: (r.split(k)[0], r.bits(r.split(r.clone(k))[1])), k, np.arange(3))
lax.scan(lambda k, _: (lambda a, b: (a, r.bits(b)))(*r.split(k)), k, np.arange(3))
lax.scan(lambda x, _: (x, r.uniform(k)), None, np.arange(3)) | lax.map(r.bits, r.split(k, 5))
lax.scan(lambda k, _: (k, r.bits(k)), k, np.arange(3))
lax.while_loop(lambda c: c[1] < 3, lambda c: (lambda a, b: (a, c[1] + r.uniform(b)))(*r.split(c[0])), (k, 0.0))
lax.while_loop(lambda c: c[0] < r.uniform(c[1]), lambda c: (c[0] + 1, c[1]), (0, k))
lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + r.randint(c[1], (), 1, 3), c[1]), (0, k))
lax.while_loop(lambda i: i < 5, lambda i: i + r.randint(k, (), 1, 3), 0)
lax.while_loop(lambda i: i < r.uniform(k), lambda i: i + 1, 0)
jax.checkpoint(lambda k: r.uniform(k))(k) | jax.checkpoint(lambda k: r.bits(k) + r.bits(k))(k)
jax.grad(jax.checkpoint(lambda x, k: x * r.uniform(k)))(1.0, k) | r.permutation(k, 5)
jax.grad(jax.checkpoint(lambda x, k: x * r.uniform(k) * r.uniform(k)))(1.0, k)
"""
OF_TWO_KEYS = """
ks[0] | ks[:1] | (r.bits(ks[0]), r.bits(ks[1])) | (r.bits(ks[0]), r.bits(ks[0])) | ks.at[0].set(ks[1])
lax.concatenate([ks, r.clone(ks)], 0) | lax.concatenate([ks], 0) | jnp.stack([ks[0], ks[1]])
lax.dynamic_slice(ks, (0,), (1,)) | lax.dynamic_update_slice(ks, r.split(r.key(1), 1), (0,))
jax.vmap(r.bits)(ks) | jax.vmap(lambda k: r.bits(k) + r.bits(k))(ks) | jnp.squeeze(ks[:1])
(r.bits(ks.reshape(2)[0]), r.bits(ks[0])) | jnp.where(np.array([True, False]), ks, r.clone(ks))
"""


def rows(text):
    return [row.strip() for line in text.strip().splitlines() for row in line.split(" | ")]


def checker(jx):
    return importlib.import_module(f"{jx.__name__}.experimental.key_reuse._core")


def signature_of(jx, row, name, make):
    c = checker(jx)
    names = {"jax": jx, "jnp": jx.numpy, "lax": jx.lax, "r": jx.random, "np": np, "c": c}
    fun = eval(f"lambda {name}: {row}", names)
    return lambda: repr(c.function_type_signature(fun, make(jx.random)))


def refused(row, name, make):
    """The error that JAX raises for the program, if any."""
    import jax

    try:
        signature_of(jax, row, name, make)()
    except (jax.errors.KeyReuseError, AssertionError) as error:
        return type(error)


@pytest.mark.live_jax
@pytest.mark.parametrize("row", rows(OF_A_KEY))
def test_of_a_key(row):
    def make(r):
        return r.key(0)

    both(lambda jx: signature_of(jx, row, "k", make), raises=refused(row, "k", make))


@pytest.mark.live_jax
@pytest.mark.parametrize("row", rows(OF_TWO_KEYS))
def test_of_two_keys(row):
    def make(r):
        return r.split(r.key(0))

    both(lambda jx: signature_of(jx, row, "ks", make), raises=refused(row, "ks", make))


@in_both
def test_signatures_compare_by_what_they_say(jx):
    c = checker(jx)
    yes, no, mixed = np.array([True, True]), np.array([False, False]), np.array([True, False])
    parts = [c.Source(0), c.Source(0, True), c.Source(0, yes), c.Source(0, False),
             c.Source(0, no), c.Source(0, mixed), c.Source(1), c.Sink(0), c.Sink(0, yes),
             c.Sink(0, mixed), c.Forward(0, 1), c.Forward(1, 0)]
    both_ways = c.KeyReuseSignature(c.Sink(1), c.Source(0)), c.KeyReuseSignature(
        c.Source(0), c.Sink(1))
    return ([[bool(a == b) for b in parts] for a in parts], repr(parts), repr(both_ways),
            both_ways[0] == both_ways[1], hash(both_ways[0]) == hash(both_ways[1]))


# ----------------------------------------------------------------------------------------------
# While programs run


@pytest.mark.parametrize("uses", [
    "r.normal(k), r.normal(k)", "r.split(k), r.normal(k)", "r.normal(k), r.split(k)",
    "jax.jit(r.bits)(k), jax.jit(r.bits)(k)", "r.fold_in(k, 1), r.normal(k)",
    "r.normal(r.clone(k)), r.normal(k)", "[r.normal(x) for x in r.split(k)]",
    "jax.jit(lambda: r.normal(k))(), r.normal(k)",
    "jax.jit(lambda k: r.bits(k) + r.bits(k))(k)", "r.normal(k), r.key_data(k)",
    "jax.vmap(r.normal)(r.split(k))", "k.reshape(1), r.normal(k)",
    "r.bits(k), jax.numpy.where(True, k, r.key(1))", "r.bits(k), jax.numpy.where(True, r.key(1), k)",
    "jax.numpy.where(True, k, r.key(1)), r.bits(k)", "jax.numpy.where(True, k, r.key(1))",
    "r.bits(jax.numpy.where(True, k, r.key(1)))", "r.bits(k), jax.lax.select(True, k, k)",
    "r.bits(k), jax.lax.select_n(jax.numpy.array([True]), k[None], k[None])",
    "jax.lax.select_n(jax.numpy.array([True]), r.split(k, 1), r.split(r.key(1), 1))",
])
@pytest.mark.parametrize("eager", [False, True])
@in_both
def test_under_the_setting(jx, uses, eager):
    names = {"jax": jx, "r": jx.random}
    with jx.debug_key_reuse(True), jx.disable_jit(eager):
        try:
            eval(uses, names | {"k": jx.random.key(0)})
        except jx.errors.KeyReuseError as error:
            return str(error).split(" at index")[0].splitlines()[0]


def test_nothing_is_left_of_it():
    key = minijax.random.key(0)
    minijax.random.normal(key)
    with minijax.debug_key_reuse(True):
        minijax.random.normal(key)
        assert key._consumed
    minijax.random.normal(key)
    del key
    assert not [k for k in key_reuse._core._consumed.values() if k is None]
