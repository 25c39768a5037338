"""Programs that once differed from JAX's: found by generating combinations at random.

A row is a program's text, which runs on both libraries; the names in it are those of `Short`.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tests.oracle import ask, assert_same, both, oracle, run, subject
from tests.oracle.calls import rows_of

X = np.random.default_rng(0).normal(size=(4, 4, 2)).astype("f")
X2 = X.reshape(2, 2, 4, 2)


class Short:
    """One library, and its ways to map a function over the leading dimensions of an array."""

    def __init__(self, jx):
        self.jx = jx
        self.names = {"jx": jx, "jnp": jx.numpy, "lax": jx.lax, "P": jx.P, "np": np,
                      "X": X, "X2": X2,
                      "mesh": self.mesh, "loss": self.loss, "one": self.one, "two": self.two,
                      "nested": self.nested, "vmap_in_shard_map": self.vmap_in_shard_map}

    def mesh(self, **shape):
        devices = np.array(self.jx.devices()[:int(np.prod([*shape.values()]))])
        return self.jx.sharding.Mesh(devices.reshape(*shape.values()), tuple(shape))

    def first(self, f):
        """`f` on the only element along the leading dimension."""
        return lambda x: self.jx.tree.map(lambda y: self.jx.numpy.asarray(y)[None], f(x[0]))

    def one(self, f, **options):
        P = self.jx.P
        return self.jx.shard_map(self.first(f), mesh=self.mesh(i=4), in_specs=P("i"),
                                 out_specs=P("i"), **options)

    def two(self, f):
        P = self.jx.P("i", "j")
        return self.jx.shard_map(self.first(self.first(f)), mesh=self.mesh(i=2, j=2), in_specs=P,
                                 out_specs=P)

    def nested(self, f):
        """As `two`, one axis after the other."""
        P, shard_map = self.jx.P, self.jx.shard_map
        inner = shard_map(self.first(f), in_specs=P("j"), out_specs=P("j"), axis_names={"j"})
        return self.jx.jit(shard_map(self.first(inner), mesh=self.mesh(i=2, j=2), in_specs=P("i"),
                                     out_specs=P("i"), axis_names={"i"}))

    def vmap_in_shard_map(self, f):
        P, inner = self.jx.P, self.jx.vmap(f, axis_name="j")
        return self.jx.shard_map(self.first(inner), mesh=self.mesh(i=2), in_specs=P("i"),
                                 out_specs=P("i"))

    def loss(self, f):
        return lambda x: self.jx.numpy.sum(self.jx.numpy.sin(f(x)))


def program(text):
    return lambda jx: lambda: eval(text, Short(jx).names)


@pytest.mark.parametrize("text", rows_of("""
    one(lambda x: lax.psum(jnp.zeros((0, 3)), "i").shape)(X)
    one(lambda x: lax.psum(jx.random.key(0), "i"), check_vma=False)(X)
    one(lambda x: jx.random.key_data(lax.ppermute(jx.random.key(3), "i", [])), check_vma=False)(X)
    one(lambda x: lax.psum_scatter(x > 0, "i"))(X)
    one(lambda x: lax.pmax(2.5, "i"))(X)
    one(lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 1, 2], [3]]), check_vma=False)(X)
    one(lambda x: lax.all_to_all(x[:2], "i", 0, 0, axis_index_groups=[[0, 1], [2, 3]]), check_vma=False)(X)
    jx.shard_map(lambda x: x, mesh=mesh(i=4), in_specs=P("i", "i"), out_specs=P("i"))(np.ones((8, 8)))
    jx.shard_map(lambda x: x, mesh=mesh(i=4), in_specs=P("i"), out_specs=P("i", "i"))(np.ones((8, 8)))
    jx.pmap(lambda x, n: x * n, static_broadcasted_argnums=-1)(np.ones((4, 2)), 3)
"""))
def test_as_jax(text):
    both(program(text))


# Where JAX fails: next to what it fails at stands what is the same, and JAX can do.
MORE = {
    "jx.grad(loss(nested(lambda x: jnp.sin(x) * lax.psum(x, 'j'))))(X2)":
        "jx.grad(loss(two(lambda x: jnp.sin(x) * lax.psum(x, 'j'))))(X2)",
    "one(lambda x: lax.all_gather(x[:0], 'i', tiled=True))(X)": "jnp.zeros((4, 0, 2))",
    "vmap_in_shard_map(lambda x: lax.fori_loop("
    "0, 2, lambda i, x: x + lax.all_gather(x, 'j').sum(0), x))(X2)":
        "two(lambda x: lax.fori_loop("
        "0, 2, lambda i, x: x + lax.all_gather(x, 'j').sum(0), x))(X2)",
}


@pytest.mark.live_jax  # JAX is asked for what another program gives
@pytest.mark.parametrize("text", MORE)
def test_more_than_jax(text):
    assert_same(run(subject, program(text)), ask(program(MORE[text])(oracle)))


FORGOTTEN = {
    "shard_map": lambda jx, short: jx.jvp(short.one(lambda x: x * 2), (X,), (X,)),
    "scan": lambda jx, short: jx.lax.scan(lambda c, a: (c, a), 0.0, X),
    "while": lambda jx, short: jx.lax.fori_loop(0, 2, lambda i, x: x + 1, X),
}


@pytest.mark.parametrize("name", FORGOTTEN)
def test_programs_of_functions_that_are_gone_are_forgotten(name):
    def objects():
        FORGOTTEN[name](subject, Short(subject))
        gc.collect()
        return len(gc.get_objects())

    objects()
    gc.freeze()  # what other tests left need not be looked at again
    before = objects()
    after = [objects() for _ in range(4)][-1]
    assert after - before < 40  # a program is hundreds
