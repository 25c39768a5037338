"""Collectives between devices, as in JAX: in `pmap`, and in `shard_map` with and without types
that say what varies; evaluated, compiled, differentiated, and under `vmap`."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both

GROUPS = [[0, 1], [3, 2]]

# What one of four devices does with its `x`, of shape (4, 2).
COLLECTIVES = {
    "psum": lambda lax, x: lax.psum(x, "i"),
    "psum of a tree": lambda lax, x: lax.psum({"a": x, "b": (x[0], 2)}, "i"),
    "psum in groups": lambda lax, x: lax.psum(x, "i", axis_index_groups=GROUPS),
    "pmean": lambda lax, x: lax.pmean(x, "i"),
    "pmax": lambda lax, x: lax.pmax(x, "i"),
    "pmin in groups": lambda lax, x: lax.pmin(x, "i", axis_index_groups=GROUPS),
    "all_gather": lambda lax, x: lax.all_gather(x, "i"),
    "all_gather tiled": lambda lax, x: lax.all_gather(x, "i", axis=1, tiled=True),
    "all_gather in groups": lambda lax, x: lax.all_gather(x, "i", axis_index_groups=GROUPS),
    "psum_scatter": lambda lax, x: lax.psum_scatter(x, "i"),
    "psum_scatter tiled": lambda lax, x: lax.psum_scatter(x, "i", tiled=True),
    "all_to_all": lambda lax, x: lax.all_to_all(x, "i", 0, 0),
    "all_to_all tiled": lambda lax, x: lax.all_to_all(x, "i", 0, 1, tiled=True),
    "pswapaxes": lambda lax, x: lax.pswapaxes(x, "i", 0),
    "ppermute": lambda lax, x: lax.ppermute(x, "i", [(0, 1), (1, 3), (2, 0)]),
    "pshuffle": lambda lax, x: lax.pshuffle(x, "i", [2, 0, 3, 1]),
    "axis_index": lambda lax, x: (lax.axis_index("i") + 1) * x * lax.axis_size("i"),
    "a share": lambda lax, x: x / lax.psum(x * x, "i"),
}
NO_DERIVATIVE = ("pmax", "pmin in groups")
X = np.random.default_rng(0).normal(size=(4, 4, 2)).astype("f")
Y = np.random.default_rng(1).normal(size=(3, 4, 4, 2)).astype("f")


def mesh(jx, *shape, names="ij"):
    devices = np.array(jx.devices()[:np.prod(shape)]).reshape(shape)
    return jx.sharding.Mesh(devices, tuple(names[:len(shape)]))


def pmapped(jx, f):
    return jx.pmap(f, axis_name="i")


def shard_mapped(check_vma):
    def mapped(jx, f):
        def on_shard(x):
            return jx.tree_util.tree_map(lambda y: jx.numpy.asarray(y)[None], f(x[0]))

        return jx.shard_map(on_shard, mesh=mesh(jx, 4), in_specs=jx.P("i"), out_specs=jx.P("i"),
                            check_vma=check_vma)

    return mapped


MAPS = {"pmap": pmapped, "typed": shard_mapped(True), "untyped": shard_mapped(False)}


def cases():
    return [(name, kind) for name in COLLECTIVES for kind in MAPS]


def of(jx, name, kind):
    return MAPS[kind](jx, lambda x: COLLECTIVES[name](jx.lax, x))


def loss(jx, f):
    def value(x):
        leaves = jx.tree_util.tree_leaves(f(x))
        return sum(jx.numpy.sum(jx.numpy.sin(y)) for y in leaves if y.dtype == np.float32)

    return value


@pytest.mark.daily(3)
@pytest.mark.parametrize(("name", "kind"), cases())
@in_both
def test_values_tangents_gradients_and_batches(jx, name, kind):
    f = of(jx, name, kind)

    def everything(x, y):
        return {"value": f(x), "batch": jx.vmap(f)(y)} | ({} if name in NO_DERIVATIVE else {
            "tangent": jx.jvp(loss(jx, f), (x,), (x + 1,))[1],
            "gradient": jx.grad(loss(jx, f))(x)})

    return jx.jit(everything)(X, Y)


@pytest.mark.parametrize(("name", "kind"), cases())
@in_both
def test_jaxprs_of_values_and_batches(jx, name, kind):
    f = of(jx, name, kind)
    x, y = X, Y
    return (jx.make_jaxpr(f)(x), jx.make_jaxpr(jx.vmap(f))(y))


@pytest.mark.parametrize("kind", MAPS)
@in_both
def test_all_to_all_in_groups_which_jax_has_not_under_vmap(jx, kind):
    f = MAPS[kind](jx, lambda x: jx.lax.all_to_all(x, "i", 1, 1, axis_index_groups=GROUPS))
    return jx.jit(lambda x: (f(x), jx.grad(loss(jx, f))(x)))(X)


@pytest.mark.parametrize("name", ["psum", "all_gather tiled", "ppermute"])
@pytest.mark.parametrize("kind", MAPS)
def test_eagerly(name, kind):
    both(lambda jx: of(jx, name, kind), X)
    both(lambda jx: jx.grad(loss(jx, of(jx, name, kind))), X)


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("dtype", ["int32", "bool", "bfloat16", "complex64"])
def test_dtypes(kind, dtype):
    def f(lax, x):
        return (lax.psum(x, "i"), lax.all_gather(x, "i"), lax.ppermute(x, "i", [(0, 1)]),
                lax.all_to_all(x, "i", 0, 0))

    both(lambda jx: jx.jit(MAPS[kind](jx, lambda x: f(jx.lax, x))), (3 * X).astype(dtype))


@pytest.mark.parametrize("kind", ["pmap", "untyped"])
def test_a_value_from_one(kind):
    both(lambda jx: jx.jit(MAPS[kind](jx, lambda x: jx.lax.psum(
        jx.numpy.where(jx.lax.axis_index("i") == 2, x, 0), "i"))), X)


def over_both_axes(jx, f, check_vma, **options):
    return jx.shard_map(f, mesh=mesh(jx, 2, 4), in_specs=jx.P("i", "j"),
                        out_specs=jx.P("i", "j"), check_vma=check_vma, **options)


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("row", [
    "lax.psum(x, ('i', 'j')) + x * 0", "lax.psum(x, 'j') + x * 0", "lax.pmax(x, 'i') + x",
    "lax.psum(lax.psum(x, 'i') ** 2, 'j') * x", "lax.all_gather(x, ('j', 'i')).sum(0)",
    "lax.ppermute(x, ('i', 'j'), [(0, 7), (7, 3)])",
    "lax.psum_scatter(x, 'i', tiled=True)", "lax.all_to_all(x, ('i', 'j'), 0, 0, tiled=True)",
    "x * lax.axis_index(('j', 'i'))", "x * lax.axis_size(('i', 'j'))",
])
def test_several_axes(row, check_vma):
    def program(jx):
        f = over_both_axes(jx, eval(f"lambda x: {row}", {"lax": jx.lax}), check_vma)
        return jx.jit(lambda x: (f(x), *([] if "pmax" in row else [jx.grad(loss(jx, f))(x)])))

    both(program, np.random.default_rng(0).normal(size=(16, 8)).astype("f"))


@pytest.mark.parametrize("check_vma", [True, False])
def test_one_axis_left_to_the_compiler(check_vma):
    def program(jx):
        def f(x):
            return jx.lax.psum(x, "i") + x * jx.lax.axis_index("i")

        mapped = jx.shard_map(f, mesh=mesh(jx, 2, 4), in_specs=jx.P("i"), out_specs=jx.P("i"),
                              axis_names={"i"}, check_vma=check_vma)
        return jx.jit(lambda x: (mapped(x), jx.grad(loss(jx, mapped))(x)))

    both(program, np.random.default_rng(0).normal(size=(16, 8)).astype("f"))


@pytest.mark.parametrize("name", ["psum", "pmax", "pmean", "all_gather", "all_to_all", "psum_scatter"])
def test_a_tree_of_several_ranks_on_one_device(name):
    """XLA puts collectives together, and on one device it failed if their ranks differ."""
    def program(jx):
        collective = getattr(jx.lax, name)
        args = (0, 0) if name == "all_to_all" else ()
        f = lambda *xs: [collective(x * 2, "i", *args) for x in xs]
        spec = jx.P("i") if args else jx.P()
        g = jx.shard_map(f, mesh=mesh(jx, 1), in_specs=spec, out_specs=spec, check_vma=False)
        return lambda *xs: (jx.jit(g)(*xs), jx.pmap(f, axis_name="i")(*(x[None] for x in xs)))

    both(program, np.ones(1, "f"), np.ones((1, 3), "f"), np.ones((1, 2, 2), "f"))
