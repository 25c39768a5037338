"""Chapter 13: every implementation of keys, and users' own of any shape, word for word JAX's."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from tests.oracle import both, in_both

OTHERS = ["rbg", "unsafe_rbg"]
S32, S64 = [0, 3, -1, 2**31, 2**32 - 1], [2**33 + 5, -1, 2**63 - 1]

# What is done with a key `k` and an array of three keys `ks`; r is the random room, v is vmap.
PROGRAMS = """
r.key_data(r.split(k)) | r.key_data(r.split(k, (2, 3))) | r.key_data(r.split(k, 0))
r.key_data(r.fold_in(k, 7)) | r.key_data(r.fold_in(k, 2**32 - 1)) | r.bits(k, (3,))
r.bits(k, (5,), 'uint8') | r.bits(k, (2, 2), 'uint16') | r.normal(k, (3,)) | r.permutation(k, 5)
r.choice(k, 5, (2,)) | r.gamma(k, np.float32([2, 0.5, 3])) | r.dirichlet(k, np.ones(3, "f"))
r.randint(k, (4,), 0, 9) | v(r.uniform)(ks)
r.key_data(v(r.split)(ks)) | r.key_data(v(lambda n: r.fold_in(k, n))(jnp.arange(3)))
r.key_data(v(r.fold_in)(ks, jnp.arange(3))) | r.key_data(v(lambda k: r.fold_in(k, 5))(ks))
v(v(r.bits))(ks.reshape(3, 1)) | r.key_data(jnp.where(np.array([True, False, True]), ks, k))
r.key_data(jnp.concatenate([ks, ks])) | r.key_data(ks.at[1].set(ks[0])) | r.key_data(ks[::-1].T)
r.key_data(lax.scan(lambda c, x: (r.split(c)[0], x), k, ks)[0]) | r.key_data(ks[jnp.array(1)])
r.key_data(lax.cond(jnp.array(True), lambda: k, lambda: ks[0])) | r.key_data(jnp.stack([k, k]))
r.key_data(jnp.full((2,), k)) | r.key_data(lax.dynamic_update_slice(ks, ks[:1], (2,)))
"""


def programs():
    return [row.strip() for line in PROGRAMS.strip().splitlines() for row in line.split(" | ")]


def run(jx, row, k):
    names = {"r": jx.random, "v": jx.vmap, "jnp": jx.numpy, "lax": jx.lax, "np": np}
    return eval(row, {**names, "k": k, "ks": jx.random.split(k, 3)})


@pytest.mark.daily(3)
@pytest.mark.parametrize("impl, row", [
    (impl, row) for i, impl in enumerate(OTHERS) for row in programs()[i::3 if i else 1]])
def test_other_implementations(impl, row):
    both(lambda jx: lambda: run(jx, row, jx.random.key(3, impl=impl)))
    if impl == "rbg":  # the others' keys are moved about in the same way
        both(lambda jx: lambda: jx.jit(lambda k: run(jx, row, k))(jx.random.key(3, impl=impl)))


@pytest.mark.parametrize("impl", OTHERS)
def test_seeds(impl):
    both(lambda jx: lambda: [jx.random.PRNGKey(seed, impl=impl) for seed in S32])

    def wide(jx):
        def run():
            with jx.enable_x64(True):
                keys = [jx.random.key(seed, impl=impl) for seed in S64]
                return [jx.random.key_data(key) for key in keys], jx.random.bits(keys[0], (3,))
        return run

    both(wide)


@pytest.mark.parametrize("impl", OTHERS)
@in_both
def test_names_and_sizes(jx, impl):
    key = jx.random.key(3, impl=impl)
    keys = jx.random.split(key, 3)
    return (str(key.dtype), repr(keys), keys.itemsize, keys.nbytes,
            jx.random.key_impl(key), str(jx.make_jaxpr(jx.random.split)(key)))


@pytest.mark.parametrize("impl", OTHERS)
@in_both
def test_as_default_with_keys_of_the_old_style(jx, impl):
    with jx.default_prng_impl(impl):
        key = jx.random.PRNGKey(5)
        return key, jx.random.split(key), jx.random.normal(key), jx.random.key_impl(key)


# ----------------------------------------------------------------------------------------------
# Users' own


def double(jx):
    """Keys that are two keys of Threefry, (2, 2) words; their bits are added."""
    r, jnp = jx.random, jx.numpy

    def each(function):
        return lambda words, *args: jnp.stack(
            [r.key_data(function(r.wrap_key_data(words[i]), *args)) for i in (0, 1)], -2)

    return importlib.import_module(f"{jx.__name__}.extend.random").define_prng_impl(
        key_shape=(2, 2), split=each(r.split), fold_in=each(r.fold_in), name="double", tag="dbl",
        seed=lambda n: jnp.stack([r.key_data(r.key(n)), r.key_data(r.key(n + 1))]),
        random_bits=lambda words, width, shape: sum(
            r.bits(r.wrap_key_data(words[i]), shape, f"uint{width}") for i in (0, 1)))


@pytest.mark.daily(3)
@pytest.mark.parametrize("row", programs()[::2])
def test_keys_of_several_dimensions(row):
    both(lambda jx: lambda: run(jx, row, jx.random.key(3, impl=double(jx))))
    both(lambda jx: lambda: jx.jit(lambda k: run(jx, row, k))(jx.random.key(3, impl=double(jx))))


def large(jx):
    def seed(n):
        return jx.numpy.arange(56, dtype="uint32").reshape(4, 2, 7) + n.astype("uint32")

    return importlib.import_module(f"{jx.__name__}.extend.random").define_prng_impl(
        key_shape=(4, 2, 7), seed=seed, split=None, random_bits=None, fold_in=None)


@in_both
def test_large_keys(jx):
    """Keys of 56 words are made, moved about and taken apart, eagerly."""
    impl = large(jx)
    key = jx.random.key(1, impl=impl)
    words = jx.numpy.arange(168, dtype="uint32").reshape(3, 4, 2, 7)
    keys = jx.random.wrap_key_data(words, impl=impl)
    assert jx.random.key_impl(keys) == impl
    data = jx.random.key_data
    return data(key), key.shape, keys.shape, data(keys[::-1]), data(keys[1]), keys.nbytes


def test_words_of_another_shape():
    for shape in [(4, 7, 2), (2, 7), ()]:
        both(lambda jx, s=shape: lambda: jx.random.wrap_key_data(np.ones(s, "uint32"),
                                                                 impl=large(jx)), raises=TypeError)


def test_large_keys_in_compiled_programs():
    import minijax as jax

    with pytest.raises(NotImplementedError, match="224 bytes"):
        jax.jit(lambda key: key)(jax.random.key(1, impl=large(jax)))


# ----------------------------------------------------------------------------------------------
# Keys of the old style


@pytest.mark.parametrize("call", ["jx.random.PRNGKey(0)", "jx.random.uniform(jx.random.key(0))",
                                  "jx.random.split(np.uint32([0, 1]))"])
@in_both
def test_old_style_allowed(jx, call):
    with jx.legacy_prng_key("allow"):
        return jx.random.key_data(eval(call)) if "split" in call else eval(call)


def test_old_style_refused():
    def program(jx):
        def run():
            with jx.legacy_prng_key("error"):
                return jx.random.uniform(np.uint32([0, 1]))
        return run

    both(program, raises=ValueError)


def test_old_style_warned_of():
    import minijax as jax

    with pytest.warns(UserWarning, match="Legacy"), jax.legacy_prng_key("warn"):
        jax.random.uniform(jax.random.PRNGKey(0))
