"""Chapter 13: keys of both styles, against real JAX: every word equal."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
import minijax.random as random
from tests.oracle import both, in_both, subject
from tests.public.test_first_use import fresh

SEEDS = [0, 1, 7, -1, 2**31, 2**33 + 5, 2**63 - 1, True, np.uint8(200), np.int16(-3)]


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_seeds(seed):
    both(lambda jx: lambda: jx.random.PRNGKey(seed))
    both(lambda jx: lambda: jx.random.key_data(jx.random.key(seed)))


@pytest.mark.parametrize("seed", [-1, 2**33 + 5, 2**63 - 1])
@in_both
def test_seeds_of_64_bits(jx, seed):
    with jx.enable_x64(True):
        return jx.random.PRNGKey(seed), jx.jit(jx.random.PRNGKey)(np.int64(seed))


@pytest.mark.parametrize("num", [0, 1, 2, 3, 20, (), (2, 3), (2, 0), 256, 257, (101, 100)], ids=str)
def test_split(num):
    both(lambda jx: lambda: jx.random.split(jx.random.PRNGKey(3), num))
    both(lambda jx: lambda: jx.random.key_data(jx.random.split(jx.random.key(3), num)))
    both(lambda jx: lambda: jx.jit(lambda key: jx.random.split(key, num))(jx.random.PRNGKey(4)))


@pytest.mark.parametrize("data", [0, 1, 12345, np.uint32(2**32 - 1), np.int32(-1)], ids=str)
def test_fold_in(data):
    both(lambda jx: lambda: jx.random.fold_in(jx.random.PRNGKey(3), data))
    both(lambda jx: lambda: jx.jit(jx.random.fold_in)(jx.random.PRNGKey(3), data))


def test_fold_in_of_many_numbers():
    both(lambda jx: lambda: jx.random.fold_in(jx.random.key(0), np.arange(2)), raises=TypeError)
    both(lambda jx: lambda: jx.random.fold_in(jx.random.key(0), jx.random.split(jx.random.key(0))),
         raises=TypeError)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", None], ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (0,), (3, 1, 2)], ids=str)
@pytest.mark.parametrize("seed", [0, 99])
def test_bits(seed, shape, dtype):
    both(lambda jx: lambda: jx.random.bits(jx.random.key(seed), shape, dtype))
    both(lambda jx: lambda: jx.jit(lambda key: jx.random.bits(key, shape, dtype))(
        jx.random.key(seed)))


def test_bits_that_are_used_in_many_places_are_computed_once():
    def once(key):
        return jnp.sort(random.uniform(key, (50,)))[0]

    def often(key):
        u = random.uniform(key, (50,))
        return u @ jnp.outer(u, u) @ u + jnp.sort(u)[0] + jnp.cumsum(u)[-1]

    shifts = [jax.jit(f).lower(random.key(0)).compile().as_text().count(" shift-left(")
              for f in (once, often)]
    assert shifts[0] == shifts[1] > 0


def test_many_bits_are_compiled_and_the_same():
    both(lambda jx: lambda: jx.random.bits(jx.random.key(5), (20_000,), "uint16"))


@in_both
def test_many_keys_of_many(jx):
    keys = jx.random.split(jx.random.key(5), (2, 1))
    many = jx.vmap(jx.vmap(lambda key: jx.random.split(key, (60, 100))))(keys)
    old = jx.threefry_partitionable(False)
    with old:
        return [jx.random.key_data(x) for x in (many, jx.random.split(jx.random.key(5), 10_001))]


@pytest.mark.parametrize("n", [100, 256, 257])
def test_some_bits(n):
    """Up to 256 blocks are computed in Python's long integers."""
    both(lambda jx: lambda: [jx.random.bits(jx.random.key(2**32 - 1), (n,), dtype)
                             for dtype in ("uint8", "uint32")])


@in_both
def test_bits_of_64(jx):
    with jx.enable_x64(True):
        key = jx.random.key(8)
        return jx.random.bits(key, (4,)), jx.jit(lambda k: jx.random.bits(k, (3,)))(key)


# Functions of an array of keys of shape (4, 3), with arrays of keys for results.
ON_KEYS = {
    "index": lambda jx, keys: keys[1, 2],
    "slice": lambda jx, keys: keys[1:3, ::2],
    "reshape": lambda jx, keys: keys.reshape(2, -1),
    "transpose": lambda jx, keys: keys.T,
    "flatten": lambda jx, keys: keys.flatten(),
    "flip": lambda jx, keys: jx.numpy.flip(keys),
    "stack": lambda jx, keys: jx.numpy.stack([keys, keys], axis=1),
    "concatenate": lambda jx, keys: jx.numpy.concatenate([keys, keys[:1]]),
    "array of list": lambda jx, keys: jx.numpy.array([keys[0], keys[1]]),
    "where": lambda jx, keys: jx.numpy.where(jx.numpy.array([True, False, True]), keys, keys[1, 1]),
    "broadcast": lambda jx, keys: jx.numpy.broadcast_to(keys[0, 0], (3,)),
    "expand, squeeze": lambda jx, keys: jx.numpy.squeeze(jx.numpy.expand_dims(keys, 1), 1),
    "iterate": lambda jx, keys: list(keys)[1],
    "dynamic index": lambda jx, keys: jx.lax.dynamic_index_in_dim(keys, 2),
    "clone": lambda jx, keys: jx.random.clone(keys),
    "tree": lambda jx, keys: jx.tree.map(lambda x: x, {"a": keys})["a"],
    "vmap split": lambda jx, keys: jx.vmap(lambda k: jx.random.split(k[0]))(keys),
    "vmap fold_in": lambda jx, keys: jx.vmap(jx.vmap(jx.random.fold_in), in_axes=(0, None))(
        keys, jx.numpy.arange(3)),
    "vmap fold_in of data": lambda jx, keys: jx.vmap(jx.random.fold_in, in_axes=(None, 0))(
        keys[0, 0], jx.numpy.arange(5)),
    "vmap of an inner axis": lambda jx, keys: jx.vmap(lambda k: k, in_axes=1)(keys),
    "vmap wrap": lambda jx, keys: jx.vmap(jx.random.wrap_key_data, in_axes=1)(
        jx.random.key_data(keys)),
    "vmap key": lambda jx, keys: jx.vmap(jx.random.key)(jx.numpy.arange(3)),
    "scan over": lambda jx, keys: jx.lax.scan(lambda c, k: (c, k[1]), 0, keys)[1],
    "scan carry": lambda jx, keys: jx.lax.scan(
        lambda c, k: (jx.random.split(c)[0], None), keys[0, 0], keys)[0],
    "fori_loop": lambda jx, keys: jx.lax.fori_loop(
        0, 3, lambda i, k: jx.random.fold_in(k, i), keys[0, 0]),
    "cond": lambda jx, keys: jx.lax.cond(True, lambda k: k[0], lambda k: k[1], keys),
    "checkpoint": lambda jx, keys: jx.checkpoint(lambda k: k[1])(keys),
    "full": lambda jx, keys: jx.numpy.full((2, 3), keys[0, 0]),
    "full_like": lambda jx, keys: jx.numpy.full_like(keys, keys[1, 0]),
    "full_like of many": lambda jx, keys: jx.numpy.full_like(keys, keys[0]),
    "full_like of all": lambda jx, keys: jx.lax.full_like(keys, keys),
    "full_like of another shape": lambda jx, keys: jx.lax.full_like(keys, keys[0], shape=(3, *keys[0].shape)),
    "zeros": lambda jx, keys: jx.numpy.zeros((2,), keys.dtype),
    "zeros scalar": lambda jx, keys: jx.numpy.zeros((), keys.dtype),
    "zeros_like": lambda jx, keys: jx.numpy.zeros_like(keys),
    "empty": lambda jx, keys: jx.numpy.empty((2, 2), keys.dtype),
    "full of words": lambda jx, keys: jx.lax.full((3,), 7, keys.dtype),
    "set": lambda jx, keys: keys.at[1].set(keys[0, 0]),
    "take": lambda jx, keys: jx.numpy.take(keys, jx.numpy.array([1, 0, 1]), axis=1),
    "take outside": lambda jx, keys: jx.numpy.take(keys, jx.numpy.array([1, 9, -7]), axis=1),
    "take outside, filled": lambda jx, keys: keys.at[jx.numpy.array([0, 9])].get(
        mode="fill", fill_value=3),
    "take outside, long keys": lambda jx, keys: jx.numpy.take(
        jx.random.split(jx.random.key(3, impl="rbg")), jx.numpy.array([1, 9])),
    "vmap take outside": lambda jx, keys: jx.vmap(jx.numpy.take)(
        keys, jx.numpy.array([0, 9, -1, 2])),
    "array of indices": lambda jx, keys: keys[jx.numpy.array([2, 0]), jx.numpy.array([1, 1])],
    "repeat": lambda jx, keys: jx.numpy.repeat(keys, 2, axis=0),
    "tile": lambda jx, keys: jx.numpy.tile(keys, (2, 1)),
    "roll": lambda jx, keys: jx.numpy.roll(keys, 1, 0),
    "select": lambda jx, keys: jx.lax.select(jx.numpy.array([True, False, True]), keys[0], keys[1]),
    "dynamic update": lambda jx, keys: jx.lax.dynamic_update_slice(keys, keys[:1], (2, 0)),
    "while_loop": lambda jx, keys: jx.lax.while_loop(
        lambda k: jx.random.bits(k) % 4 != 0, lambda k: jx.random.split(k)[0], keys[0, 0]),
    "switch": lambda jx, keys: jx.lax.switch(1, [lambda k: k[0], lambda k: k[1]], keys),
    "vmap out_axes": lambda jx, keys: jx.vmap(lambda k: k, out_axes=1)(keys),
    "map": lambda jx, keys: jx.lax.map(lambda k: jx.random.split(k, 3), keys[:, 0]),
}


# What keys cannot do: they are no numbers, though they are kept as such.
NO_NUMBERS = {
    "astype": lambda jx, keys: jx.lax.convert_element_type(keys, int),
    "array": lambda jx, keys: jx.numpy.array(keys, dtype=int),
    "to keys": lambda jx, keys: jx.numpy.arange(3).astype(keys.dtype),
    "sort": lambda jx, keys: jx.numpy.sort(keys),
    "argsort": lambda jx, keys: jx.numpy.argsort(keys),
    "unique": lambda jx, keys: jx.numpy.unique(keys),
    "max": lambda jx, keys: jx.numpy.max(keys),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_what_needs_numbers_refuses_keys(name):
    both(lambda jx: lambda: NO_NUMBERS[name](jx, jx.random.split(jx.random.key(3))))


# Products and orders of the numbers that keys are stored as would mean nothing. JAX refuses them,
# most of them with an internal error.
NO_PRODUCTS = {
    "dot": lambda jx, keys: jx.lax.dot(keys, keys),
    "dot of integers": lambda jx, keys: jx.lax.dot(jx.numpy.arange(2), keys),
    "matmul": lambda jx, keys: keys @ keys,
    "vdot": lambda jx, keys: jx.numpy.vdot(keys, keys),
    "convolution": lambda jx, keys: jx.lax.conv(keys[None, None], keys[None, None], (1,), "SAME"),
    "top_k": lambda jx, keys: jx.lax.top_k(keys, 1),
    "clamp": lambda jx, keys: jx.lax.clamp(keys, keys, keys),
    "floor": lambda jx, keys: jx.numpy.floor(keys), "trunc": lambda jx, keys: jx.numpy.trunc(keys),
    "bytes": lambda jx, keys: keys.tobytes(), "bytes()": lambda jx, keys: bytes(keys),
    "dlpack": lambda jx, keys: jx.numpy.from_dlpack(keys),
    "NumPy's dlpack": lambda jx, keys: np.from_dlpack(keys),
}


@pytest.mark.parametrize("name", NO_PRODUCTS)
def test_the_numbers_under_keys_stay_there(name):
    keys = random.split(random.key(3))
    with pytest.raises(TypeError, match="key"):
        NO_PRODUCTS[name](jax, keys)


def test_keys_stay_keys_when_fetched():
    keys = random.split(random.key(3))
    assert jax.device_get({"a": keys})["a"] is keys


def test_an_int_is_a_shape_of_one_dimension():
    both(lambda jx: lambda: jx.random.bits(jx.random.key(3), 3))
    both(lambda jx: lambda: jx.random.randint(jx.random.key(3), 3, 0, 9))
    both(lambda jx: lambda: jx.lax.full(3, 0.0))
    both(lambda jx: lambda: jx.lax.reshape(jx.numpy.ones((3, 1)), 3))
    both(lambda jx: lambda: jx.lax.dynamic_slice(jx.numpy.ones(3), (1,), 2))


@pytest.mark.parametrize("name", ON_KEYS)
@in_both
def test_arrays_of_keys(jx, name):
    keys = jx.random.split(jx.random.key(3), (4, 3))
    assert jx.dtypes.issubdtype(keys.dtype, jx.dtypes.prng_key)
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((4, 3), 2, 12, 4)
    out = ON_KEYS[name](jx, keys)
    jitted = jx.jit(lambda keys: ON_KEYS[name](jx, keys))(keys)
    return out.shape, jx.random.key_data(out), jx.random.key_data(jitted)


@in_both
def test_a_gradient_goes_around_keys(jx):
    def f(x, key):
        noise = jx.random.bits(jx.random.split(key)[0], (3,)).astype("float32") / 2.0**32
        return (noise * x).sum()
    return jx.grad(f)(jx.numpy.ones(3), jx.random.key(1))


@pytest.mark.parametrize("program", [
    lambda jx: jx.make_jaxpr(jx.random.split)(jx.random.key(0)),
    lambda jx: jx.make_jaxpr(jx.random.split)(jx.random.PRNGKey(0)),
    lambda jx: jx.make_jaxpr(lambda k: jx.random.fold_in(k, 3))(jx.random.key(0)),
    lambda jx: jx.make_jaxpr(jx.random.key)(3),
    lambda jx: jx.make_jaxpr(lambda: jx.random.PRNGKey(7))(),
    lambda jx: jx.make_jaxpr(lambda k: jx.random.bits(k, (3,), "uint8"))(jx.random.key(0)),
    lambda jx: jx.make_jaxpr(
        lambda k, low: jx.random.randint(k, (3,), low, 5, "int8"))(jx.random.key(0), -5),
])
def test_jaxprs(program):
    both(lambda jx: lambda: program(jx))


@pytest.mark.parametrize("show", [repr, str], ids=["repr", "str"])
def test_printing(show):
    both(lambda jx: lambda: show(jx.random.key(5)))
    both(lambda jx: lambda: show(jx.random.split(jx.random.key(5))))
    both(lambda jx: lambda: show(jx.random.key(5).dtype))


@pytest.mark.parametrize("wrong", [
    lambda jx: jx.random.split(jx.numpy.arange(3)),
    lambda jx: jx.random.split(np.zeros(2, np.int32)),
    lambda jx: jx.random.split(jx.random.split(jx.random.key(0))),
    lambda jx: jx.random.split(3),
    lambda jx: jx.random.key(1.5),
    lambda jx: jx.random.key("a"),
    lambda jx: jx.random.key(2**64),
    lambda jx: jx.random.key(jx.random.key(0)),
    lambda jx: jx.random.key(jx.numpy.arange(2)),
    lambda jx: jx.random.key(0, impl="dice"),
    lambda jx: jx.random.key(0, impl=3),
    lambda jx: jx.random.key(0, impl="threefry2x32", dtype=jx.random.key(0).dtype),
    lambda jx: jx.random.wrap_key_data([0, 1]),
    lambda jx: jx.random.bits(jx.random.key(0), (2,), "int32"),
    lambda jx: jx.random.fold_in(jx.random.key(0), jx.numpy.arange(2)),
    lambda jx: jx.numpy.sin(jx.random.key(0)),
    lambda jx: jx.random.key(0) < jx.random.key(1),
    lambda jx: jx.numpy.sum(jx.random.split(jx.random.key(0))),
    lambda jx: np.asarray(jx.random.key(0)),
    lambda jx: bool(jx.random.key(0)),
    lambda jx: float(jx.random.key(0)),
    lambda jx: jx.random.key_dtype("dice"),
    lambda jx: jx.random.key_impl(3),
    lambda jx: len(jx.random.key(0)),
    lambda jx: list(jx.random.key(0)),
    lambda jx: jx.grad(lambda key: 1.0)(jx.random.key(0)),
])
def test_errors(wrong):
    both(lambda jx: lambda: wrong(jx))


def test_settings():
    """The settings of random numbers, each with its context manager."""
    def program(jx):
        def run():
            with jx.enable_custom_prng(True):
                key = jx.random.PRNGKey(3)
            with jx.default_prng_impl("threefry2x32"):
                other = jx.random.key(3)
            return jx.random.key_data(key), jx.random.key_data(other), str(jx.random.key_dtype())
        return run

    both(program)
    both(lambda jx: lambda: jx.eval_shape(jx.random.key, 0).dtype == jx.random.key(0).dtype)


def poor(jx):
    """An implementation of keys whose bits are multiples of one of its words."""
    def multiples(data, shape):
        size = int(np.prod(shape))
        return jx.numpy.arange(size, dtype="uint32").reshape(shape) * data[1] + data[0]

    return jx.extend.random.define_prng_impl(
        key_shape=(2,), seed=lambda n: jx.numpy.full(2, n).astype("uint32"),
        split=lambda data, shape: multiples(data, (*shape, 2)),
        random_bits=lambda data, width, shape: multiples(data, shape).astype(f"uint{width}"),
        fold_in=lambda data, n: data + n, name="poor", tag="poor")


@in_both
def test_an_implementation_of_ones_own(jx):
    key = jx.random.key(5, impl=poor(jx))
    keys = jx.random.split(key, (2, 2))
    folded = jx.vmap(jx.random.fold_in)(keys[0], jx.numpy.arange(2))
    bits = jx.jit(jx.vmap(jx.vmap(lambda k: jx.random.bits(k, (3,), "uint8"))))(keys)
    samples = jx.jit(lambda k: jx.random.normal(k, (2,)))(key)
    text = str(jx.make_jaxpr(lambda k: jx.random.split(k, 3))(key))
    return str(keys.dtype), jx.random.key_data(folded), bits, samples, text


def test_threefry_by_itself():
    both(lambda jx: lambda: jx.extend.random.threefry_2x32(
        jx.random.PRNGKey(1), jx.numpy.arange(15, dtype="uint32").reshape(3, 5)))
    both(lambda jx: lambda: jx.random.key_data(
        jx.extend.random.seed_with_impl(jx.extend.random.threefry_prng_impl, 3)))


@pytest.mark.parametrize("sample", [
    lambda jx, k: jx.random.key_data(jx.random.split(k, (3, 2))),
    lambda jx, k: jx.random.bits(k, (5,)), lambda jx, k: jx.random.bits(k, (2, 3), "uint8"),
    lambda jx, k: jx.random.bits(k, (3,), "uint16"), lambda jx, k: jx.random.normal(k),
    lambda jx, k: jx.random.key_data(jx.random.fold_in(k, 3)), lambda jx, k: jx.random.permutation(k, 5),
])
@in_both
def test_numbers_of_old_releases(jx, sample):
    """With `threefry_partitionable` off."""
    with jx.threefry_partitionable(False):
        keys = jx.random.split(jx.random.key(2), 3)
        one = sample(jx, jx.random.key(1))
        return one, jx.jit(jx.vmap(lambda k: sample(jx, k)))(keys)


@in_both
def test_old_numbers_of_64_bits(jx):
    with jx.threefry_partitionable(False), jx.enable_x64(True):
        return jx.random.bits(jx.random.key(1), (3,))


def test_keys_are_no_numbers():
    for convert in (lambda key: key.item(), lambda key: key.tolist(), float, int, np.asarray):
        with pytest.raises(TypeError, match="key_data"):
            convert(random.key(0))


def test_what_is_known_of_keys():
    key = random.key(0)
    assert random.key_impl(key) == random.key_impl(random.PRNGKey(0)) == "threefry2x32"
    assert random.key(0, dtype=key.dtype).dtype == key.dtype
    assert key.dtype.itemsize == 8
    assert (key == random.key(0)) and (key != random.key(1))
    assert jax.jit(lambda a, b: a == b)(key, random.key(0))
    assert (pickle.loads(pickle.dumps(key)) == key).item()
    assert jax.jit(lambda: key)() == key  # as a constant


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_another_process_reads_pickled_keys(impl):
    """It has not used random numbers before."""
    key = random.key(3, impl=impl)
    program = f"import pickle; print(pickle.loads({pickle.dumps((key, key.dtype))!r}))"
    assert fresh(program) == str((key, key.dtype))


def test_more_numbers_than_32_bits_count():
    """They can be lowered while 64-bit types are off."""
    both(lambda jx: lambda: jx.eval_shape(
        lambda key: jx.random.bits(key, (2**20, 2**13), "uint8"), jx.random.key(0)).shape)
    assert subject.jit(lambda: subject.random.bits(
        subject.random.key(3), (2**20, 2**13), "uint8")).lower()


@pytest.mark.parametrize("kind", ["uniform", "normal", "exponential"])
def test_no_floats_of_4_bits(kind):
    with pytest.raises(TypeError, match="uniform only accepts 8-, 16-, 32-, or 64-bit dtypes"):
        getattr(subject.random, kind)(subject.random.key(0), (3,), "float4_e2m1fn")


@pytest.mark.parametrize("outer, inner", [(True, False), (False, True)])
def test_the_kind_of_numbers_is_that_of_the_call(outer, inner):
    """The setting may be another one when the program is lowered."""
    def program(jx):
        def numbers(key):
            with jx.threefry_partitionable(inner):
                return (jx.random.uniform(key, (4,)), jx.random.bits(key, (3,)),
                        jx.random.key_data(jx.random.split(key, 3)), jx.random.gamma(key, 2.0, (2,)))

        def run():
            with jx.threefry_partitionable(outer):
                key = jx.random.key(3)
                return (jx.jit(numbers)(key), jx.vmap(jx.jit(numbers))(jx.random.split(key, 2)),
                        jx.lax.scan(lambda c, _: (c, numbers(key)), 0, None, length=2)[1],
                        jx.make_jaxpr(numbers)(key) if outer else None)

        return run

    both(program)


@pytest.mark.parametrize("ask", [
    lambda jx, f, struct: jx.eval_shape(f, struct).shape,
    lambda jx, f, struct: jx.make_jaxpr(f)(struct).out_avals[0].shape,
    lambda jx, f, struct: jx.jit(f).lower(struct).out_info.shape,
    lambda jx, f, struct: jx.jit(f).lower(struct).compile()(jx.random.key(3)),
    lambda jx, f, struct: str(jx.eval_shape(jx.random.split, struct)),
], ids=["eval_shape", "make_jaxpr", "lower", "compile", "split"])
@in_both
def test_the_type_of_a_key_stands_for_a_key(jx, ask):
    def normal(key):
        return jx.random.normal(key, (3,))

    return ask(jx, normal, jx.ShapeDtypeStruct((), jx.random.key(0).dtype))
