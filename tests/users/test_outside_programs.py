"""Programs as people write them who know JAX and not minijax: both libraries do the same."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from tests.oracle import both
from tests.parallel.placement_programs import same, surroundings, told


def check(program):
    """Assert that `program(jax)` comes to the same in both libraries, values and places."""
    return both(lambda jx: lambda: told(jx, program(jx)))


# ----------------------------------------------------------------------------------------------
# Loops without jit around them, whose bodies run on many devices


def loop_bodies(jx):
    here = surroundings(jx)
    mesh = jx.sharding.Mesh(np.array(jx.devices()), ("i",))
    P = here["P"]
    shift = jx.shard_map(lambda z, y: z * 2 + y, mesh=mesh, in_specs=(P("i"), P()),
                         out_specs=P("i"))
    rows = jx.pmap(lambda z, y: z + y, in_axes=(0, None))
    return shift, rows


def scan_over_shard_map(jx):
    shift, _ = loop_bodies(jx)
    return jx.lax.scan(lambda c, y: (shift(c, y), y + 1), jx.numpy.arange(8.0),
                       jx.numpy.arange(3.0))


def map_over_pmap(jx):
    _, rows = loop_bodies(jx)
    return jx.lax.map(lambda y: rows(np.arange(8.0, dtype=np.float32), y), jx.numpy.arange(3.0))


def while_over_shard_map(jx):
    shift, _ = loop_bodies(jx)
    return jx.lax.while_loop(lambda c: c.sum() < 1000.0, lambda c: shift(c, 1.0),
                             jx.numpy.arange(8.0))


def cond_over_pmap(jx):
    _, rows = loop_bodies(jx)
    return jx.lax.cond(True, lambda y: rows(jx.numpy.arange(8.0), y),
                       lambda y: jx.numpy.zeros(8) + y, 2.0)


LOOPS = [scan_over_shard_map, map_over_pmap, while_over_shard_map, cond_over_pmap]


@pytest.mark.parametrize("program", LOOPS, ids=lambda f: f.__name__)
def test_loops_over_many_devices_need_no_jit_around_them(program):
    check(program)


# ----------------------------------------------------------------------------------------------
# Constructors


@pytest.mark.parametrize("text", [
    "jnp.full((8,), 3.0, device=d[2])",
    "jnp.full((8,), 3.0, device=s)",
    "jnp.ones_like(np.ones(8))",
    "jnp.full_like(np.ones(8), 2)",
    "jnp.zeros_like(np.ones(8), device=d[1])",
    "lax.full_like(np.ones(8), 2)",
])
def test_constructors(text):
    same(text)


class Parameter:
    """A library's object that shows the attributes of its array, as flax's variables do."""

    def __init__(self, array, **more):
        self.array = array
        vars(self).update(more)

    def __jax_array__(self):
        return self.array

    def __getattr__(self, name):
        return getattr(self.array, name)


@pytest.mark.parametrize("text", [
    "jnp.zeros_like(p)", "jnp.ones_like(p, dtype=int)", "jnp.full_like(p, 2, shape=(4, 2))",
    "jnp.empty_like(p)", "lax.full_like(p, 1)", "jax.jit(lambda: jnp.zeros_like(p))()",
    "jax.jit(lambda: jnp.zeros_like(array) + 1)()",
    "jax.vmap(lambda y: y + jnp.ones_like(p)[0, 0])(array)",
    "jnp.zeros_like(whole)", "jnp.zeros_like(whole, shape=(3,))", "jnp.zeros_like(free)",
    "jnp.linspace(0, 1, 4, retstep=True)[1]"])
@pytest.mark.parametrize("use_mesh", [False, True])
def test_arrays_modelled_on_a_library_s_object(text, use_mesh):
    def program(jx):
        mesh = jx.make_mesh((2, 2), ("x", "y"), axis_types=(jx.sharding.AxisType.Auto,) * 2,
                            devices=jx.devices()[:4])
        P, Named = jx.sharding.PartitionSpec, jx.sharding.NamedSharding
        array = jx.device_put(np.ones((8, 2), np.float32), Named(mesh, P("x", "y")))
        names = {"jax": jx, "jnp": jx.numpy, "lax": jx.lax, "array": array,
                 "p": Parameter(array), "whole": Parameter(jx.device_put(array, Named(mesh, P()))),
                 "free": Parameter(array, _committed=False)}
        with jx.set_mesh(mesh) if use_mesh else contextlib.nullcontext():
            return eval(text, names)

    check(program)


# ----------------------------------------------------------------------------------------------
# What a body of shard_map may call

BODIES = """
jnp.zeros_like(x)
jnp.full_like(x, 2.0)
lax.scan(lambda c, y: (c + y, c), jnp.zeros_like(x[0]), x)[1]
lax.fori_loop(0, 3, lambda i, c: c + x, jnp.zeros_like(x))
jnp.interp(x, jnp.arange(4.0), jnp.arange(4.0))
jnp.searchsorted(jnp.arange(4.0), x)
jnp.searchsorted(x, jnp.arange(4.0))
jnp.polyval(jnp.arange(3.0), x)
jnp.linalg.inv(x[:, None] * x[None] + jnp.eye(4))[0]
jnp.linalg.solve(x[:, None] * x[None] + jnp.eye(4), jnp.ones(4))
jax.scipy.linalg.expm(x[:, None] * x[None] / 100)[0]
jax.scipy.sparse.linalg.cg(lambda v: 2 * v, x)[0]
jax.random.poisson(jax.random.key(0), x + 1)
"""


def in_shard_map(text):
    """The types and values of a body, and its gradient if it returns floats."""
    def program(jx):
        here = surroundings(jx)
        mesh, spec, types = jx.sharding.Mesh(jx.devices()[:4], ("i",)), here["P"]("i"), []

        def body(x):
            y = eval(text, here | {"x": x})
            types.append(str(jx.typeof(y)))
            return y

        f = jx.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec)
        x = jx.numpy.arange(16.0)
        y = f(x)
        of_floats = jx.numpy.issubdtype(y.dtype, np.floating)
        return y, types[:1], jx.grad(lambda x: f(x).sum())(x) if of_floats else None

    return program


@pytest.mark.parametrize("text", BODIES.strip().splitlines())
def test_bodies_of_shard_map(text):
    check(in_shard_map(text))


def test_the_derivative_of_zeta_broadcasts():
    same("jax.grad(lambda x: jax.scipy.special.zeta(x + 2, 1.0).sum())(x)")


def test_of_replicas_that_differ_the_first_is_read():
    def program(jx):
        here = surroundings(jx)
        double = jx.shard_map(lambda x: 2 * x, mesh=here["m"], in_specs=here["P"]("x", "y"),
                              out_specs=here["P"](None, "y"), check_vma=False)
        return np.asarray(double(jx.numpy.arange(64.0).reshape(8, 8)))

    check(program)
