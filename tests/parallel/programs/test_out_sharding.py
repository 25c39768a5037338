"""Results whose sharding the caller states: `out_sharding=`, `sharding=`, types and structs."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from tests.oracle import in_both
from tests.oracle.text import jaxpr_text

X = np.arange(32, dtype=np.float32).reshape(8, 4)


def words(library):
    """The names that rows of the tables use."""
    types, sharding = library.sharding.AxisType, library.NamedSharding
    mesh = library.make_mesh((2, 4), ("x", "y"))
    auto = library.make_mesh((2, 4), ("x", "y"), (types.Auto,) * 2)
    mixed = library.make_mesh((2, 4), ("x", "y"), (types.Explicit, types.Auto))
    spec = library.P

    def lies(x):
        """The type, and the sharding with an entry for each dimension."""
        entries = getattr(x.sharding, "spec", ())
        return str(library.typeof(x)), [*entries, *[None] * (x.ndim - len(entries))]

    return {
        "jax": library, "jnp": library.numpy, "lax": library.lax, "P": spec, "N": sharding,
        "np": np, "mesh": mesh, "auto": auto, "mixed": mixed, "X": X, "lies": lies,
        "rows": library.device_put(X, sharding(mesh, spec("x", None))),
        "blocks": library.device_put(X, sharding(mesh, spec("x", "y"))),
        "split": library.device_put(X, sharding(auto, spec("x", None))),
        "Type": library.core.ShapedArray, "Struct": library.ShapeDtypeStruct,
        "text": lambda f, *args: _unsharded(jaxpr_text(library.make_jaxpr(f)(*args))),
    }


def _unsharded(text):
    """The text of a jaxpr without the shardings in parameters, which the types say again."""
    lines = [line for line in text.splitlines() if "sharding=" not in line or ":" in
             line.split("=")[0]]
    return " ".join(" ".join(lines).split()).replace("[ ", "[").replace(" ]", "]")


# Each row runs under a mesh with axes of type Explicit.
ROWS = """
lies(rows.reshape(16, 2, out_sharding=P("x", None)))
lies(rows.reshape((16, 2), out_sharding=P("x", None)))
lies(rows.reshape(-1, 2, out_sharding=N(mesh, P("x"))))
lies(rows.reshape(4, 8, order="F", out_sharding=P("x", None)))
lies(rows.ravel(out_sharding=P("x")))
lies(rows.flatten(out_sharding=P("x")))
lies(jnp.ravel(blocks, "F", out_sharding=P("y")))
lies(rows.reshape(8, 4, out_sharding=P(None, "x")))
rows.reshape(5, out_sharding=P("x"))
rows.reshape(-1, 2, out_sharding=P("z"))
rows.reshape(-1, 2, out_sharding=P(None, "y"))
rows.reshape(-1, 2, out_sharding=3)
lies(jax.grad(lambda x: (x.reshape(4, 8, out_sharding=P("x", "y")) ** 2).sum())(rows))
lies(jax.vmap(lambda r: r.reshape(2, 2, out_sharding=P(None, None)))(rows))
jax.vmap(lambda r: r.reshape(2, 2, out_sharding=P("y")))(rows)
text(lambda x: jnp.reshape(x, (16, 2), out_sharding=P("x")), rows)
text(lambda x: jnp.ravel(x, out_sharding=P("x")), rows)
text(lambda x: jnp.ravel(x, "F", out_sharding=P("x")), rows)
lies(lax.full((8, 4), 1.0, sharding=N(mesh, P("x"))))
lies(lax.full((8, 4), 1.0, sharding=N(mesh.abstract_mesh, P("x", "y"))))
text(lambda x: lax.full((8, 4), 2.0, sharding=N(mesh.abstract_mesh, P(None, "y"))), X)
lies(lax.full_like(rows, 1.0))
lies(lax.full_like(rows, 1.0, shape=(4, 4)))
lies(lax.full_like(rows, 1.0, sharding=N(mesh, P("x", "y"))))
lies(lax.full_like(rows, 2.0, sharding=N(mesh.abstract_mesh, P(None, "y"))))
text(lambda x: (lambda r: (r.__setitem__(..., x * 2), r[...])[1])(jax.new_ref(x)), rows)
lies(jax.jit(lambda x: (lambda r: (r.__setitem__(..., x * 2), r[...])[1])(jax.new_ref(x)))(rows))
lies(jax.jit(lambda x: (lambda r: (r.addupdate(x), r[...])[1])(jax.new_ref(x)))(rows))
str(jax.make_jaxpr(lambda a, b: lax.dot(a, b, out_sharding=P("y", None)))(rows, rows.T))
text(lambda x: lax.full_like(x, 1.0), rows)
text(lambda x: jnp.zeros_like(x), rows)
text(lambda x: jnp.zeros_like(x, out_sharding=P(None, "y")), rows)
text(lambda x: jnp.full_like(x, 3, out_sharding=P(None, "y")), rows)
text(lambda x: jnp.full((8, 4), 2.0, out_sharding=P(None, "y")), rows)
text(lambda x: jnp.zeros((8, 4), out_sharding=P("x")), X)
text(lambda x: jnp.empty((8, 4), out_sharding=P("x")), X)
text(lambda x: jnp.broadcast_to(x[0], (8, 4), out_sharding=P("x")), X)
text(lambda x: jnp.arange(8, out_sharding=P("x")), X)
text(lambda x: jnp.arange(2.0, 8.0, out_sharding=P("x")), X)
text(lambda x: jnp.arange(0, 16, 2, out_sharding=P("y")), X)
lies(jnp.zeros((8, 4), out_sharding=P("x")))
lies(jnp.ones((8, 4), "int32", out_sharding=P("x", "y")))
lies(jnp.full((8, 4), 2, out_sharding=P("x")))
lies(jnp.full((8, 4), np.ones(4), out_sharding=P("x", "y")))
lies(jnp.arange(0, 8, 2, out_sharding=P("y")))
lies(jnp.zeros_like(rows, out_sharding=P(None, "y")))
lies(jnp.full_like(rows, 3, out_sharding=P("x", "y")))
lies(jnp.full_like(rows, np.ones(4), out_sharding=P("x", "y")))
lies(jnp.empty_like(rows))
lies(lax.empty((8, 4), "float32", out_sharding=P("x")))
jnp.arange(7, out_sharding=P("x"))
jnp.zeros((7, 4), out_sharding=P("x"))
jnp.zeros((8, 4), device=P("x"), out_sharding=P("x"))
Type((8, 4), np.dtype("float32"), sharding=N(mesh.abstract_mesh, P("x", None)))
Type((8, 4), np.dtype("float32"), sharding=N(mesh.abstract_mesh, P("x")))
Type((8, 4), np.dtype("float32"), weak_type=True, sharding=jax.typeof(rows).sharding)
Type((8, 4), np.dtype("float32"), sharding=N(mesh.abstract_mesh, P("x", "y", None)))
Type((8, 4), np.dtype("float32"), sharding=N(mixed.abstract_mesh, P("x", "y")))
Type((8, 4), np.dtype("float32"), sharding=jax.typeof(np.ones(3)).sharding)
Type((8, 4), np.dtype("float32"), sharding=N(mesh.abstract_mesh, P("x"))) == jax.typeof(rows)
Type((8, 4), np.dtype("float32"), sharding=N(mesh.abstract_mesh, P("y", "x"))).sharding
Type((7, 4), np.dtype("float32"), sharding=N(mesh.abstract_mesh, P("x", "y")))
Type((8, 4), np.dtype("float32"), sharding=N(mesh, P("x")))
jax.typeof(rows).update(sharding=N(mesh.abstract_mesh, P(None, "y")))
jax.eval_shape(jnp.sin, rows)
jax.eval_shape(lambda x: x.sum(0), Struct((8, 4), "float32", sharding=N(mesh, P(None, "y"))))
jax.eval_shape(lambda x: x @ x.T, Struct((8, 4), "float32", sharding=N(mesh, P("x", None))))
jax.eval_shape(jax.jit(jnp.sin), rows)
jax.jit(jnp.sin).eval_shape(Struct((8, 4), "float32", sharding=N(mesh, P("x"))))
jax.eval_shape(lambda x: jax.jit(jnp.sin, out_shardings=P("x", "y"))(x) + 1, rows)
lies(jax.jit(lambda x: jax.jit(jnp.sin, out_shardings=P("x", "y"))(x) + 1)(rows))
jax.jit(jnp.sin).trace(Struct((8, 4), "float32", sharding=P("x"))).jaxpr.out_avals
jax.jit(jnp.sin).lower(Struct((8, 4), "float32", sharding=P("x"))).compile().output_shardings
""".strip().splitlines()

WITHOUT_A_MESH = """
rows.reshape(-1, 2, out_sharding=P("x"))
lies(rows.reshape(-1, 2, out_sharding=N(mesh, P("x"))))
lies(lax.full((8, 4), 1.0, sharding=N(auto, P("x"))))
lies(lax.full((8, 4), 1.0, sharding=jax.sharding.SingleDeviceSharding(jax.devices()[1])))
lies(lax.full_like(split, 1.0))
lies(lax.full_like(rows, 1.0, sharding=N(auto, P("x", "y"))))
lies(jnp.zeros((8, 4), device=N(mesh, P("x"))))
Type((8, 4), np.dtype("float32"), sharding=N(mesh.abstract_mesh, P("x", None)))
Type((8, 4), np.dtype("float32"), sharding=N(auto.abstract_mesh, P("x", None)))
jax.eval_shape(jnp.sin, Struct((8, 4), "float32", sharding=N(mesh, P("x"))))
jax.eval_shape(jnp.sin, Struct((8, 4), "float32", sharding=N(auto, P("x"))))
""".strip().splitlines()

OVER_AUTO = """
split.reshape(-1, 2, out_sharding=P("x"))
jnp.zeros((8, 4), out_sharding=P("x"))
jnp.arange(8, out_sharding=P("x"))
lies(jnp.zeros((8, 4), device=N(auto, P("x"))))
""".strip().splitlines()

CASES = [*[(row, "mesh") for row in ROWS], *[(row, None) for row in WITHOUT_A_MESH],
         *[(row, "auto") for row in OVER_AUTO]]


@pytest.mark.parametrize("row, mesh", CASES)
@in_both
def test_rows(library, row, mesh):
    names = words(library)
    with library.set_mesh(names[mesh]) if mesh else contextlib.nullcontext():
        out = eval(row, names)
        return out if hasattr(out, "devices") else str(out)
