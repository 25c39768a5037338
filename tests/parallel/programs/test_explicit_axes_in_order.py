"""Programs over axes of type Explicit, in the order of a tutorial: what they print is as in JAX."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

from tests.oracle import both

HEAD = """
P, AxisType = jax.P, jax.sharding.AxisType
mesh = jax.make_mesh((2, 4), ("X", "Y"))
rows = jax.reshard(np.arange(16).reshape(4, 4), P("X", None))
columns = jax.reshard(np.arange(16).reshape(4, 4), P(None, "X"))
both = jax.reshard(np.arange(16.0).reshape(4, 4), P("X", "Y"))
"""

CELLS = {
    "types": 'print(jax.typeof(np.arange(8)), jax.typeof(rows), jax.typeof(both.T))',
    "mesh": "print(jax.sharding.get_abstract_mesh(), jax.sharding.get_mesh())",
    "concrete": "print(rows.sharding.spec, rows.sharding.mesh, both.sharding.spec)",
    "sum": """
a = jax.reshard(np.arange(4).reshape(4, 1), P("X", None))
b = jax.reshard(np.arange(8).reshape(1, 8), P(None, "Y"))
print(jax.typeof(a), jax.typeof(b), jax.typeof(a + b))
""",
    "jit": """
@jax.jit
def add(x, y):
    z = x + y
    print(jax.typeof(x), jax.typeof(y), jax.typeof(z), x.sharding if hasattr(x, "sharding") else 0)
    return z
print(jax.typeof(add(rows, rows)), add(rows, rows).sharding.spec)
""",
    "clash": """
try:
    rows + columns
except Exception as error:
    print(type(error).__name__)
""",
    "auto": """
@jax.sharding.auto_axes
def add(x, y):
    print(jax.sharding.get_abstract_mesh(), jax.typeof(x))
    return x + y
print(jax.typeof(add(rows, columns, out_sharding=P("X", None))))
""",
    "auto over one": """
@functools.partial(jax.sharding.auto_axes, axes="X")
def g(y):
    print(jax.sharding.get_abstract_mesh(), jax.typeof(y))
    return y * 2
@jax.jit
def f(x):
    z = g(jnp.sin(x), out_sharding=P("X", "Y"))
    print(jax.sharding.get_abstract_mesh(), jax.typeof(z))
    return z + 1
print(jax.typeof(f(both)), f(both).sharding.spec)
""",
    "explicit": """
@functools.partial(jax.sharding.explicit_axes, axes=("X", "Y"))
def g(y):
    print(jax.sharding.get_abstract_mesh(), jax.typeof(y))
    z = y * 2
    print(jax.typeof(z))
    return z
@jax.jit
def f(x):
    print(jax.sharding.get_abstract_mesh())
    return g(jnp.sin(x), in_sharding=P("X", "Y")) + 1
auto = jax.make_mesh((2, 4), ("X", "Y"), (AxisType.Auto, AxisType.Auto))
with jax.set_mesh(auto):
    x = jax.device_put(np.arange(16.0, dtype="f").reshape(4, 4), P("X", "Y"))
    print(jax.typeof(x), f(x))
""",
    "three kinds": """
kinds = (AxisType.Auto, AxisType.Explicit, AxisType.Explicit)
with jax.set_mesh(jax.make_mesh((2, 2, 2), ("x", "y", "z"), kinds)):
    a = jax.device_put(np.arange(16.0, dtype="f").reshape(4, 4), P("y", "x"))
    print(jax.typeof(a), a.sharding.spec, jax.typeof(a * 2), jax.typeof(jnp.sum(a, 1)))
    print(jax.make_jaxpr(lambda a: jnp.sin(a).T)(a))
""",
    "product": """
x = jax.reshard(np.ones((8, 16), "f"), P("X", None))
w = jax.reshard(np.ones((16, 4), "f"), P(None, "Y"))
print(jax.typeof(x @ w), (x @ w).sharding.spec, jax.make_jaxpr(lambda x, w: x @ w)(x, w))
try:
    both @ both.T
except Exception as error:
    print(type(error).__name__)
print(jax.typeof(jnp.einsum("ij,kj->ik", both, both, out_sharding=P("X", "Y"))))
print(jax.typeof(jnp.matmul(both, both, out_sharding=P("X", "Y"))))
print(jax.typeof(jnp.dot(both, both, out_sharding=P(None, "Y"))))
""",
    "reshape": """
x = jax.reshard(np.arange(32.0, dtype="f").reshape(8, 4), P("X", None))
print(jax.typeof(x.reshape(2, 4, 4)), jax.typeof(x.reshape(-1)), jax.typeof(x[:, None]))
try:
    x.reshape(16, 2)
except Exception as error:
    print(type(error).__name__)
print(jax.typeof(jnp.reshape(x, (16, 2), out_sharding=P("X"))))
""",
    "creation": """
print(jax.typeof(jnp.zeros((4, 8), out_sharding=P("X", "Y"))))
print(jax.typeof(jnp.ones((4, 8), out_sharding=P(None, "Y"))))
print(jax.typeof(jnp.arange(8, out_sharding=P("Y"))))
print(jax.typeof(jnp.full(4, 7.0, out_sharding=P("X"))))
print(jax.typeof(jax.random.normal(jax.random.key(0), (8, 4), out_sharding=P("X", None))))
print(jax.typeof(jnp.zeros_like(both)), jax.typeof(jnp.ones_like(rows)))
""",
    "indexing": """
table = jax.reshard(np.arange(32.0, dtype="f").reshape(8, 4), P("X", "Y"))
print(jax.typeof(table.at[jnp.array([1, 2])].get(out_sharding=P(None, "Y"))))
try:
    table[jnp.array([1, 2])]
except Exception as error:
    print(type(error).__name__)
print(jax.typeof(rows[:, 1]), jax.typeof(columns[jnp.array([0, 3])]))
print(jax.typeof(table.at[jnp.array([1, 2])].set(0.0, out_sharding=P("X", "Y"))))
""",
    "grad": """
def loss(w, x):
    h = jnp.tanh(x @ w)
    print(jax.typeof(h))
    return (h ** 2).mean()
w = jax.reshard(np.ones((4, 8), "f") / 8, P(None, "Y"))
x = jax.reshard(np.ones((6, 4), "f"), P("X", None))
value, grads = jax.jit(jax.value_and_grad(loss, (0, 1)))(w, x)
print(value, [jax.typeof(g) for g in grads], [g.sharding.spec for g in grads])
""",
    "training": """
def loss(params, x, y):
    for w in params:
        x = jax.nn.relu(jnp.dot(x, w, out_sharding=P("X", "Y")))
        x = jax.reshard(x, P("X", None))
    return ((x - y) ** 2).mean()
params = [jax.reshard(np.full((8, 8), 0.1, "f"), P(None, "Y")) for _ in range(2)]
x = jax.reshard(np.ones((4, 8), "f"), P("X", None))
step = jax.jit(lambda p, x: jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(loss)(p, x, x)))
for _ in range(3):
    params = step(params, x)
print([jax.typeof(w) for w in params], params[0][0, 0], loss(params, x, x))
""",
    "vmap": """
f = jax.vmap(lambda row: jnp.sin(row) / row.sum())
print(jax.typeof(f(both)), jax.typeof(jax.vmap(lambda r: r * 2, in_axes=1)(both)))
print(jax.typeof(jax.vmap(jnp.dot, (0, None))(rows, jnp.arange(4))))
""",
    "scan": """
x = jax.reshard(np.ones((5, 4, 8), "f"), P(None, "X", "Y"))
start = jax.reshard(np.zeros((4, 8), "f"), P("X", "Y"))
carry, ys = jax.lax.scan(lambda c, row: (c + row, jnp.sin(row).sum(1)), start, x)
print(jax.typeof(carry), jax.typeof(ys))
try:
    jax.lax.scan(lambda c, row: (c, row), 0.0, jnp.moveaxis(x, 1, 0))
except Exception as error:
    print(type(error).__name__)
""",
    "cond": """
print(jax.typeof(jax.lax.cond(True, lambda x: x * 2, lambda x: x, rows)))
try:
    jax.lax.cond(rows.sum() > 0, lambda x: x, lambda x: jax.reshard(x, P(None, "Y")), rows)
except Exception as error:
    print(type(error).__name__)
""",
    "shard_map": """
f = jax.shard_map(lambda x: jax.lax.psum(x, "X"), in_specs=P("X", "Y"), out_specs=P(None, "Y"))
print(jax.typeof(f(both)), f(both).sharding.spec)
g = jax.shard_map(lambda x: x * 2, out_specs=P("X", "Y"))
print(jax.typeof(g(both)))
h = jax.shard_map(lambda x: (print(jax.typeof(x)), x + 1)[1], in_specs=P("X"), out_specs=P("X"),
                  axis_names={"X"})
print(jax.typeof(jax.jit(h)(both)))
""",
    "structs": """
x = jax.ShapeDtypeStruct((8, 4), "float32", sharding=P("X", None))
print(jax.make_jaxpr(lambda x: jnp.sin(x).sum(1))(x).out_avals)
print(jax.jit(lambda x: x * 2).lower(x).as_text().count("sdy.mesh") > 0)
""",
    "eager results": """
for x in (jnp.arange(8), jnp.ones((2, 4)), jnp.add(np.ones(8), 1), jnp.asarray(np.ones(3)),
          jnp.ones(8)[2:4], jnp.arange(6).reshape(2, 3).T, jax.random.normal(jax.random.key(1), (4,)),
          jnp.array([1, 2]) * 2, rows + jnp.ones((4, 4)), jnp.linspace(0, 1, 5)):
    print(x.sharding.mesh, jax.typeof(x), len(x.devices()), x.committed)
print(jax.device_put(np.ones(3)).sharding, float(jnp.sum(jnp.ones(3))))
""",
    "constraint": """
print(jax.typeof(jax.lax.with_sharding_constraint(rows, P("X", None))))
try:
    jax.lax.with_sharding_constraint(rows, P(None, "X"))
except Exception as error:
    print(type(error).__name__)
""",
}


@pytest.mark.parametrize("name", CELLS)
def test_prints(name):
    def program(jax):
        def run():
            out = io.StringIO()
            with redirect_stdout(out):
                exec(f"import functools, numpy as np\njnp = jax.numpy\n{HEAD.splitlines()[1]}\n"
                     f"{HEAD.splitlines()[2]}\nwith jax.set_mesh(mesh):\n"
                     + "".join(f"    {line}\n" for line in
                               [*HEAD.splitlines()[3:], *CELLS[name].strip().splitlines()]),
                     {"jax": jax})
            return out.getvalue()
        return run

    both(program)
