"""Programs whose types have shardings: operations × meshes × shardings of the operands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.oracle.text import jaxpr_text

X = np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16)
V = np.linspace(0.5, 2, 8, dtype=np.float32)
C = np.linspace(-1, 1, 256, dtype=np.float32).reshape(4, 8, 8)

# Name of a mesh -> sizes, whether each axis is Explicit, shardings of `x`, of `y`, of `v`, of `c`.
MESHES: dict[str, tuple] = {
    "line": ((8,), (True,), ["'x', None", "None, 'x'", "None, None"]),
    "grid": ((4, 2), (True, True), ["'x', 'y'", "'y', 'x'", "('x', 'y'), None", "None, 'x'"]),
    "mixed": ((4, 2), (True, False), ["'x', None", "'y', 'x'", "None, 'y'"]),
}

ONE = """
jnp.sin(x)
-x
x.astype("int32")
x > 0
x + 1
x.T
x.sum()
x.sum(0)
x.sum(1)
x.max(1)
jnp.prod(x, 0)
jnp.argmax(x, 1)
jnp.any(x > 0, 0)
jnp.mean(x, 1)
jnp.var(x, 0)
x.reshape(8, 4, 4)
x.reshape(2, 4, 16)
x.reshape(128)
x.reshape(8, 1, 16)
x.reshape(16, 8)
x.reshape(4, 32)
x[:, None]
x[None]
x[0]
x[:, 3]
x[2:6]
x[:, ::2]
x[:4, :8]
x[::-1]
x[jnp.array([1, 2])]
x[:, jnp.array([1, 2])]
x.at[0].set(1.0)
x.at[:, 1].add(2.0)
lax.dynamic_slice(x, (0, 0), (8, 8))
lax.dynamic_slice(x, (0, 0), (4, 16))
lax.dynamic_update_slice(x, x, (0, 0))
lax.slice(x, (0, 0), (8, 8))
lax.pad(x, 0.0, ((0, 8, 0), (0, 0, 0)))
lax.rev(x, (0,))
lax.cumsum(x, 0)
lax.cumsum(x, 1)
lax.cummax(x, 1)
lax.sort(x, dimension=0)
lax.sort(x, dimension=1)
lax.top_k(x, 2)
lax.approx_max_k(x, 2)
jnp.tile(x, (1, 2))
lax.tile(x, (2, 1))
lax.linalg.tridiagonal_solve(x, x, x, x[..., None])
jax.vmap(jax.jit(lambda r: r * 2))(x)
jax.vmap(jax.checkpoint(jnp.sin))(x)
jax.vmap(lambda r: lax.fori_loop(0, 2, lambda i, c: c + r, r))(x)
jax.vmap(lambda r: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, r))(x)
jax.vmap(lambda r: jax.jit(lambda a: a.sum() + r)(r), in_axes=1)(x)
jax.vmap(lambda r: jax.reshard(r, P("x")))(x)
lax.split(x, (4, 4), 0)
lax.split(x, (8, 8), 1)
lax.clamp(-0.5, x, 0.5)
lax.select(x > 0, x, x)
lax.reduce_precision(x, 8, 3)
lax.bitcast_convert_type(x, "int32")
lax.convert_element_type(x, "bfloat16")
lax.integer_pow(x, 3)
lax.broadcast(x, (3,))
lax.broadcast_in_dim(x, (8, 3, 16), (0, 2))
lax.squeeze(x[None], (0,))
lax.expand_dims(x, (1,))
lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), "VALID")
lax.concatenate([x, x], 0)
lax.concatenate([x, x], 1)
jnp.stack([x, x])
jnp.where(x > 0, x, 0.0)
jax.nn.softmax(x)
jax.nn.relu(x)
jnp.linalg.norm(x, axis=1)
jnp.tanh(x) * 2 + x
lax.stop_gradient(x)
lax.full_like(x, 2.0)
jnp.zeros_like(x)
lax.reshape(x, (16, 8), out_sharding=P("x", None))
lax.reshape(x, (128,), out_sharding=P("x"))
lax.broadcast_in_dim(x, (8, 8, 16), (1, 2), out_sharding=P("x"))
lax.dot_general(x, x, (((1,), (1,)), ((), ())), out_sharding=P("x", None))
lax.dot_general(x, x, (((0,), (0,)), ((), ())), out_sharding=P(None, "x"))
lax.broadcasted_iota("int32", (8, 2), 0, out_sharding=P("x")) + x[:, :2].astype("int32")
jnp.linalg.tensordot(x, x, axes=((1,), (1,)), out_sharding=P("x", None))
jnp.percentile(x, 30.0, axis=1, out_sharding=P("x"))
jax.ops.segment_sum(x, np.arange(8) % 4, 8, out_sharding=P("x"))
jax.ops.segment_max(x, np.arange(8), 8, out_sharding=P(None, "x"))
jax.reshard(x, P(None, None))
jax.reshard(x, P("x"))
jax.reshard(x, P(None, "x"))
jax.reshard(x, P("y", "x"))
lax.dot_general(x, x, (((1,), (1,)), ((), ())))
x @ x.T
x.T @ x
jnp.einsum("ij,ij->i", x, x)
jnp.einsum("ij->ji", x)
jnp.fft.fft(x)
jnp.linalg.cholesky(x[:8, :8] @ x[:8, :8].T + 20 * jnp.eye(8))
jax.jit(lambda x: x * 2)(x)
jax.vmap(lambda r: r * 2)(x)
jax.vmap(lambda r: r.sum(), in_axes=1)(x)
jax.vmap(lambda r: jnp.sin(r)[None] @ jnp.ones((16, 3)))(x)
jax.grad(lambda x: (x * x).sum())(x)
jax.grad(lambda x: jnp.sin(x).sum(0).prod())(x)
jax.grad(lambda x: jnp.tanh(x.T).sum())(x)
jax.grad(lambda x: (x[2:4] ** 2).sum())(x)
jax.grad(lambda x: (x.reshape(8, 4, 4) ** 2).sum())(x)
jax.jvp(lambda x: x * jnp.cos(x), (x,), (x,))
jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x)
jax.grad(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x).sum())(x)
lax.scan(lambda c, r: (c + r, c * r), x[0], x)
lax.scan(lambda c, _: (c * 2, None), x, None, length=3)
lax.fori_loop(0, 3, lambda i, c: c + 1, x)
lax.while_loop(lambda c: c.sum() < 10, lambda c: c + 1, x)
lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)
lax.map(lambda r: r * 2, x)
lax.with_sharding_constraint(x, P("x"))
jax.sharding.auto_axes(lambda x: x @ x.T, out_sharding=P("x", None))(x)
jax.lax.optimization_barrier(x)
"""

TWO = """
x + y
x * y
x - y.sum(0)
x + y[:, :1]
x / v[:, None]
jnp.maximum(x, y)
lax.select(x > 0, x, y)
jnp.where(x > 0, x, y)
lax.concatenate([x, y], 0)
lax.dynamic_update_slice(x, y, (0, 0))
lax.atan2(x, y)
x @ y.T
x.T @ y
v @ x
x.T @ v
lax.dot_general(x, y, (((1,), (1,)), ((0,), (0,))))
jnp.einsum("ij,ij->ij", x, y)
lax.clamp(x, y, 2.0)
lax.add(x, x)
lax.sort((x, y), dimension=1)
jax.grad(lambda x, y: (x * y).sum(), (0, 1))(x, y)
jax.grad(lambda x: (x @ y.T).sum())(x)
jax.grad(lambda y: (jnp.sin(x) * y.sum(0)).sum())(y)
jax.grad(lambda v: (x * v[:, None]).sum())(v)
lax.scan(lambda c, a: (c + a[0], a[0] * a[1]), v[0] * y[0], (x, y))[1]
"""


def cells() -> Iterator[tuple[str, str, str, str]]:
    """(program, mesh, spec of `x`, spec of `y`)."""
    for name, (_, _, specs) in MESHES.items():
        for row in ONE.strip().splitlines():
            yield from ((row, name, spec, spec) for spec in specs)
        for row in TWO.strip().splitlines():
            yield from ((row, name, a, b) for a in specs[:2] for b in specs)


def program(jax: Any, cell: tuple, run: bool = False) -> dict[str, Any]:
    """What a library says of a cell: the jaxpr and the types, or the error; the value, to `run`."""
    row, name, of_x, of_y = cell
    sizes, explicit, _ = MESHES[name]
    types = jax.sharding.AxisType
    names = ("x", "y")[:len(sizes)]
    mesh = jax.make_mesh(sizes, names, tuple(types.Explicit if e else types.Auto for e in explicit))
    place = lambda value, spec: jax.device_put(
        value, jax.NamedSharding(mesh, eval(f"jax.P({spec})", {"jax": jax})))
    first = of_x.split(", ")[0] if not of_x.startswith("(") else "('x', 'y')"
    args = [place(X, of_x), place(2 * X, of_y), place(V, first)]
    scope = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "P": jax.P, "np": np}
    f = eval(f"lambda x, y, v: {row}", scope)
    with jax.set_mesh(mesh):
        try:
            if not run:
                jaxpr = jax.make_jaxpr(f)(*args)
                return {"types": [str(aval) for aval in jaxpr.out_avals], "text": jaxpr_text(jaxpr)}
            outs = jax.tree.leaves(jax.jit(f)(*args))
            return {"types": [str(jax.typeof(out)) for out in outs],
                    "shardings": [str(getattr(out.sharding, "spec", None)) for out in outs
                                  if hasattr(out, "sharding")],
                    "value": [np.asarray(out) if hasattr(out, "dtype") else str(out)
                              for out in outs]}
        except Exception as error:
            return {"error": type(error).__name__, "message": str(error)}
