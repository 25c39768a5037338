"""Programs as people write them who know JAX and not minijax: both libraries do the same."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ch14.placement_programs import same, surroundings, told
from tests.oracle import both


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
