"""JAX's tutorial of distributed arrays, program by program in its order, in our own words.

The programs share their variables, as the cells of a notebook do. Both libraries print the same.
(Left out are the two that put parts of a sum on devices: `P(…, unreduced={…})`.)
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import numpy as np
import pytest

import minijax
from tests.oracle import jax as oracle

CELLS = """
jax.set_mesh(jax.make_mesh((4, 2), ("X", "Y")))
table = jax.device_put(jnp.arange(32.0).reshape(8, 4), jax.P("X", "Y"))
print(jax.typeof(table))
---
jax.debug.visualize_array_sharding(table)
---
waves = jnp.cos(table).T
print(jax.typeof(waves))
---
mesh = jax.make_mesh((4, 2), ("X", "Y"))
print(mesh, mesh.axis_types)
---
jax.set_mesh(mesh)
print(jax.sharding.get_mesh(), jax.sharding.get_abstract_mesh())
---
@jax.jit
def in_another_mesh(a):
    line = jax.sharding.AbstractMesh((8,), ("A",), (jax.sharding.AxisType.Explicit,))
    with jax.sharding.use_abstract_mesh(line):
        return jax.reshard(a, jax.P("A", None)) + 1
moved = in_another_mesh(table)
print(jax.typeof(moved), moved.sharding, np.asarray(moved).tolist())
---
print(table.sharding)
jax.debug.visualize_array_sharding(table)
---
for shard in table.addressable_shards:
    print(shard.device, shard.index, shard.replica_id, shard.data)
---
turned = jax.device_put(table, jax.P("Y", "X"))
print(turned.sharding)
jax.debug.visualize_array_sharding(turned)
---
copies = jax.device_put(table, jax.P("X", None))
print(copies.sharding, jax.device_put(table, jax.P("X")).sharding)
jax.debug.visualize_array_sharding(copies)
---
for shard in copies.addressable_shards:
    print(shard.device, shard.index, shard.replica_id, shard.data)
---
fine = jax.device_put(table, jax.P(("X", "Y")))
print(fine.sharding)
jax.debug.visualize_array_sharding(fine)
---
elsewhere = jax.device_put(table, jax.NamedSharding(jax.make_mesh((8,), ("A",)), jax.P("A", None)))
print(elsewhere.sharding, table.sharding)
---
print(jax.typeof(table).sharding)
---
jax.jit(lambda a: print(jax.typeof(a).sharding))(table)
---
column = jax.device_put(np.arange(4).reshape(4, 1), jax.P("X", None))
row = jax.device_put(np.arange(8).reshape(1, 8), jax.P(None, "Y"))
print(f"{jax.typeof(column)=!s} {jax.typeof(row)=!s} {jax.typeof(column * row)=!s}")
---
@jax.jit
def product(a, b):
    both = a * b
    print(jax.typeof(a), jax.typeof(b), jax.typeof(both))
    return both
print(product(column, row))
---
noise = jax.random.normal(jax.random.key(3), (8, 4), out_sharding=jax.P("X", "Y"))
print(jax.typeof(noise), noise.sharding.spec)
---
total = noise.sum(0)
print(jax.typeof(total), jax.typeof(noise.sum(1)), jax.typeof(noise.sum()))
---
text = jax.jit(lambda a: a.sum(0)).lower(noise).compile().as_text()
print("all-reduce(" in text)
---
left = jax.device_put(jnp.arange(32.0).reshape(8, 4), jax.P(None, "X"))
right = jax.device_put(jnp.arange(64.0).reshape(4, 16), jax.P("X", None))
try:
    left @ right
except Exception as error:
    print(type(error).__name__)
---
stated = jnp.matmul(left, right, out_sharding=jax.P("X", None))
print(jax.typeof(stated), np.asarray(stated).tolist())
---
print(jax.typeof(jnp.ones((8, 4)) @ jax.device_put(np.ones((4, 16)), jax.P(None, "X"))))
---
rows = jax.device_put(np.arange(16).reshape(4, 4), jax.P("X", None))
columns = jax.device_put(np.arange(16).reshape(4, 4), jax.P(None, "X"))
try:
    rows - columns
except Exception as error:
    print(type(error).__name__)
---
@jax.sharding.auto_axes
def difference(a, b):
    print(jax.sharding.get_abstract_mesh(), jax.typeof(a))
    return a - b
settled = difference(rows, columns, out_sharding=jax.P("X", None))
print(jax.typeof(settled), np.asarray(settled).tolist())
---
Auto = jax.sharding.AxisType.Auto
jax.set_mesh(jax.make_mesh((4, 2), ("X", "Y"), (Auto, Auto)))
left = jax.device_put(jnp.arange(32.0).reshape(8, 4), jax.P(None, "X"))
right = jax.device_put(jnp.arange(64.0).reshape(4, 16), jax.P("X", None))
chosen = left @ right
print(jax.typeof(chosen))
---
print(chosen.sharding)
---
@jax.jit
def constrained(a, b):
    return jax.lax.with_sharding_constraint(a @ b, jax.P("X", None))
print(constrained(left, right).sharding)
---
@jax.sharding.explicit_axes
def doubled(a):
    print(jax.sharding.get_abstract_mesh(), jax.typeof(a), jax.typeof(2 * a))
    return 2 * a
@jax.jit
def outer(a):
    print(jax.sharding.get_abstract_mesh())
    return doubled(jnp.cos(a), in_sharding=jax.P("X", "Y")) - 1
print(jax.typeof(outer(jax.device_put(np.arange(16).reshape(4, 4), jax.P("X", "Y")))))
---
def compare(a):
    print(jax.sharding.get_abstract_mesh(), a.sharding.spec, jax.typeof(a).sharding.spec)
    return a
jax.set_mesh(mesh)
vector = jnp.cos(jax.device_put(np.arange(8), jax.P("X")))
compare(vector)
jax.sharding.auto_axes(compare)(vector, out_sharding=jax.P("X"))
---
left = jax.device_put(jnp.arange(32.0).reshape(8, 4), jax.P(None, "X"))
right = jax.device_put(jnp.arange(64.0).reshape(4, 16), jax.P("X", None))
@jax.shard_map(out_specs=jax.P("X", None))
def by_hand(a, b):
    print(jax.typeof(a), jax.typeof(b))
    return jax.lax.psum_scatter(a @ b, "X", tiled=True)
summed = by_hand(left, right)
print(jax.typeof(summed), jnp.allclose(summed, jnp.dot(left, right, out_sharding=jax.P("X", None))))
""".strip().split("\n---\n")


def printed(library) -> list[str]:
    """What each cell prints; an error ends it with the name of its class."""
    scope = {"jax": library, "jnp": library.numpy, "np": np}
    out = []
    for cell in CELLS:
        text = io.StringIO()
        with redirect_stdout(text):
            try:
                exec(cell, scope)
            except Exception as error:
                print(type(error).__name__, error)
        out.append(text.getvalue())
    return out


@pytest.fixture(scope="module")
def texts():
    def of(library):
        with library.set_mesh(None):  # its end takes back the meshes that the cells set
            return printed(library)

    return of(minijax), of(oracle)


@pytest.mark.live_jax
@pytest.mark.parametrize("number", range(len(CELLS)))
def test_a_cell_prints_the_same(texts, number):
    ours, jaxs = texts
    assert ours[number] == jaxs[number]


@pytest.mark.live_jax
def test_the_cells_run(texts):
    assert not [text for text in texts[0] if "Error " in text]
