"""`ds(start, size)` in an index: of arrays, of `x.at`, of references; any start, and traced."""

import itertools

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

M = np.arange(12, dtype=np.float32).reshape(3, 4)
X = M.ravel()
I = np.int32(1)

USES = {
    "read": lambda x, m, s, ds, jnp: x[ds(s, 3)],
    "stride": lambda x, m, s, ds, jnp: x[ds(s, 3, 2)],
    "fill": lambda x, m, s, ds, jnp: x.at[ds(s, 3)].get(mode="fill"),
    "beside a slice": lambda x, m, s, ds, jnp: m[ds(s, 2), 1:3],
    "beside a stride": lambda x, m, s, ds, jnp: m[ds(s, 2), ::2],
    "beside an integer": lambda x, m, s, ds, jnp: m[None, 0, ds(s, 2)],
    "beside an array": lambda x, m, s, ds, jnp: m[ds(s, 2), jnp.array([0, 1])],
    "two": lambda x, m, s, ds, jnp: m[ds(s, 2), ds(0, 2)],
    "set": lambda x, m, s, ds, jnp: x.at[ds(s, 3)].set(7.0),
    "clip": lambda x, m, s, ds, jnp: x.at[ds(s, 3)].set(7.0, mode="clip"),
    "add": lambda x, m, s, ds, jnp: x.at[ds(s, 3)].add(jnp.arange(3.0)),
    "set stride": lambda x, m, s, ds, jnp: x.at[ds(s, 3, 2)].set(7.0),
    "mul": lambda x, m, s, ds, jnp: m.at[ds(s, 2), ds(0, 2)].mul(3.0),
}


@pytest.mark.daily(3)
@pytest.mark.parametrize("use, start, traced",
                         [*itertools.product(USES, (0, 1, 3, 11, 20, -2, -30), (False, True))])
@in_both
def test_an_array_is_indexed(jx, use, start, traced):
    def f(x, m, s):
        return USES[use](x, m, s if traced else start, jx.ds, jx.numpy)
    return jx.jit(f)(X, M, np.int32(start))


@pytest.mark.parametrize("index", [
    lambda ds, i, jnp: ds(1, 2), lambda ds, i, jnp: (0, ds(i, 2)), lambda ds, i, jnp: ds(i, 2),
    lambda ds, i, jnp: (ds(i, 2), 0), lambda ds, i, jnp: (ds(i, 2), jnp.array([0, 1])),
    lambda ds, i, jnp: ds(2), lambda ds, i, jnp: ds(None), lambda ds, i, jnp: (0, ds(2, 9))])
@in_both
def test_a_reference_is_indexed(jx, index):
    def f(m, i):
        ref = jx.new_ref(m)
        at = index(jx.ds, i, jx.numpy)
        old = ref[at]
        ref[at] = old * 2
        ref[at] += 1.0
        return old, ref[...]
    return (jx.jit(f)(M, I), jx.make_jaxpr(f)(M, I))


def _writes(jx):
    def f(m, i, v):
        ref = jx.new_ref(m)
        ref[jx.ds(i, 2), 0] = v
        ref[0, jx.ds(i, 2)] += v
        return ref[...], ref[jx.ds(i, 2)]
    return f


def _gathers(jx):
    """What `_writes` does, on arrays."""
    def f(m, i, v):
        m = m.at[jx.ds(i, 2), 0].set(v)
        m = m.at[0, jx.ds(i, 2)].add(v)
        return m, m[jx.ds(i, 2)]
    return f


V = np.array([5, 6], np.float32)
TRANSFORMED = {
    "jvp": lambda jx, f: jx.jvp(lambda m, v: f(m, I, v), (M, V), (M, V)),
    "grad": lambda jx, f: jx.vjp(lambda m, v: f(m, I, v), M, V)[1]((M, M[:2])),
    "starts": lambda jx, f: jx.vmap(f, (None, 0, None))(M, np.array([0, 1], np.int32), V),
    "values": lambda jx, f: jx.vmap(f, (0, None, 0))(np.stack([M, -M]), I, np.stack([V, V])),
    "jit": lambda jx, f: jx.jit(f)(M, I, V), "eager": lambda jx, f: f(M, I, V),
}


@pytest.mark.parametrize("transformation", TRANSFORMED)
def test_references_are_transformed_as_arrays(transformation):
    """JAX cannot batch a read of a `ds`, nor read one at a known array."""
    transform = TRANSFORMED[transformation]
    jx = minijax
    as_array = lambda f: lambda m, i, v: f(jx.numpy.asarray(m), jx.numpy.asarray(i), v)
    found, expected = (jx.tree.leaves(transform(jx, as_array(f(jx)))) for f in (_writes, _gathers))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def test_the_arrays_are_those_of_jax():
    for transform in TRANSFORMED.values():
        both(lambda jx: lambda: transform(jx, lambda m, i, v: _gathers(jx)(
            jx.numpy.asarray(m), jx.numpy.asarray(i), v)))


@pytest.mark.parametrize("wrong", [
    lambda jx: jx.ds(1.5, 2), lambda jx: jx.ds(1, 2, -1), lambda jx: jx.ds(1, 2, jx.numpy.int32(1)),
    lambda jx: jx.ds(1, -2), lambda jx: jx.ds(2, 20), lambda jx: jx.ds(1, 1.5)])
def test_refused(wrong):
    both(lambda jx: lambda: jx.numpy.arange(12.0)[wrong(jx)])


@in_both
def test_a_reference_refuses_what_is_out_of_bounds(jx):
    return jx.jit(lambda x: jx.new_ref(x)[jx.ds(11, 3)])(X)


def test_a_pytree():
    both(lambda jx: lambda: jx.jit(lambda at: jx.numpy.asarray(X)[at])(jx.ds(I, 2)))
    both(lambda jx: lambda: jx.make_jaxpr(lambda i: jx.tree.leaves(jx.ds(i, 2)))(I))
