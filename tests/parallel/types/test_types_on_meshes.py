"""Types of arrays on a mesh that no axis of type Explicit splits: copies on all devices, and arrays
that the compiler splits. What they say of the mesh, where they are refused, and the text of jaxprs.
"""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest

import minijax
from tests.oracle import both
from tests.oracle.text import jaxpr_text
from tests.parallel.placement_programs import surroundings

X = np.arange(16, dtype=np.float32).reshape(8, 2)


def words(library):
    """The names that rows of the tables use."""
    types, jnp, lax = library.sharding.AxisType, library.numpy, library.lax
    # No other test calls `auto_axes` over axes of these names.
    meshes = {
        "mesh": library.make_mesh((8,), ("p",)),
        "auto": library.make_mesh((8,), ("p",), (types.Auto,)),
        "mixed": library.make_mesh((4, 2), ("p", "q"), (types.Explicit, types.Auto)),
        "grid": library.make_mesh((4, 2), ("p", "q")),
        "other": library.make_mesh((2, 4), ("r", "s")),
        "other_auto": library.make_mesh((2, 4), ("r", "s"), (types.Auto,) * 2),
    }

    def put(mesh, *entries):
        return library.device_put(X, library.NamedSharding(meshes[mesh], library.P(*entries)))

    def kind(x):
        aval = library.typeof(x)
        return str(aval), re.sub(r", device_kind.*?(?=\))", "", str(aval.sharding))

    def lies(f, *args):
        return kind(f(*args))

    def seen(f, *args):
        """What a traced result's type says."""
        found = []
        library.make_jaxpr(lambda *args: (found.append(kind(f(*args))), 0)[1])(*args)
        return found

    def text(f, *args):
        flat = " ".join(jaxpr_text(library.make_jaxpr(f)(*args)).split())
        return re.sub(r"(?<=[\[(]) | (?=[\])])", "", flat)

    def loss(x):
        return (jnp.sin(x) ** 2).sum()

    def in_parts(x):
        spec = library.P("p")
        return library.shard_map(jnp.sin, in_specs=spec, out_specs=spec)(x).sum()

    triple = library.custom_vjp(lambda x: x * 3)
    triple.defvjp(lambda x: (x * 3, None), lambda _, g: (g * 3,))
    return meshes | {
        "jax": library, "jnp": jnp, "lax": lax, "P": library.P, "N": library.NamedSharding,
        "np": np, "X": X, "put": put, "lies": lies, "seen": seen, "text": text, "loss": loss,
        "kind": kind, "triple": triple, "add": lambda a, b: a + b,
        "running": lambda x: lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(2), x),
        "copied": put("mesh"), "split": put("mesh", "p"), "by_xla": put("auto", "p"),
        "copied_auto": put("auto"), "copied_mixed": put("mixed"),
        "columns": put("mixed", None, "q"), "in_parts": in_parts,
        "far": put("other"), "far_split": put("other", "r"), "far_auto": put("other_auto", "r"),
    }


# Each row is a mesh in force, or `-`, and an expression.
ROWS = """
- kind(copied)
- kind(by_xla)
- kind(copied_auto)
- kind(copied_mixed)
- kind(columns)
- kind(X)
- kind(jnp.ones(3))
mesh kind(jnp.ones(3))
auto kind(jnp.ones(3))
mixed kind(jnp.ones(3))
- [len({*map(jax.typeof, [copied, copied_auto, copied_mixed, X, far])})]
- [jax.typeof(by_xla) == jax.typeof(copied_auto)]
- [str(jax.typeof(copied)), repr(jax.typeof(by_xla))]
- lies(jnp.sin, copied)
- lies(jnp.sin, columns)
- lies(add, copied, X)
- lies(add, copied, split)
- lies(add, by_xla, copied_auto)
- lies(add, by_xla, far_auto)
- lies(lambda x: lax.full_like(x, 1.0), copied)
- lies(jnp.zeros_like, by_xla)
- lies(jnp.copy, by_xla)
- lies(lambda x: jax.reshard(x, N(mesh, P("p"))), by_xla)
- lies(jax.vmap(lambda a: a.sum()), by_xla)
- lies(lambda a: lax.fori_loop(0, 3, lambda i, c: c + a, jnp.zeros((8, 2))), copied)
- lies(lambda a: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + a, jnp.zeros((8, 2))), by_xla)
- lies(lambda a, b: lax.cond(True, lambda: a, lambda: b), copied, X)
- seen(jnp.sin, by_xla)
- seen(add, X, by_xla)
- seen(lambda x: running(x)[1], by_xla)
- seen(jax.jit(jnp.sin), by_xla)
- seen(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), copied)
- seen(jax.checkpoint(jnp.sin), by_xla)
- seen(jax.grad(loss), by_xla)
- seen(jnp.sort, by_xla)
- seen(lambda x: jnp.linalg.eigh(x @ x.T)[0], by_xla)
- seen(lambda x: jax.new_ref(x)[0], by_xla)
- seen(lambda x: x.reshape(2, 4, 2) @ x.T, copied)
- seen(lambda x: jax.device_put(x, N(auto, P("p"))), copied)
- seen(lambda x: lax.with_sharding_constraint(x, N(auto, P("p"))), X)
- seen(lambda x: lax.with_sharding_constraint(x, N(other_auto, P("r"))), by_xla)
- seen(jax.shard_map(lambda x: x * 2, mesh=auto, in_specs=P("p"), out_specs=P("p")), by_xla)
- seen(jnp.sin, jax.ShapeDtypeStruct((8,), "float32", sharding=N(auto, P())))
auto seen(lambda x: x + jnp.ones(2), X)
- [str(jax.eval_shape(jnp.sin, x).sharding) for x in (by_xla, X, copied_mixed)]
- kind(jax.core.ShapedArray((8,), np.dtype("float32"), sharding=N(mesh.abstract_mesh, P())))
- [str(jax.typeof(copied).update(shape=(2,)).sharding.spec)]
- text(jax.grad(loss), copied)
- text(jax.grad(loss), by_xla)
- text(jax.grad(loss), copied_mixed)
- text(jax.grad(loss), split)
mesh text(jax.grad(loss), split)
mesh text(jax.grad(loss), X)
auto text(jax.grad(loss), X)
auto text(jax.grad(loss), by_xla)
mixed text(jax.value_and_grad(loss), copied_mixed)
mesh text(jax.grad(jax.jit(loss)), split)
mesh text(jax.grad(jax.checkpoint(loss)), split)
mesh text(jax.grad(lambda w, x: ((x @ w) ** 2).sum(), (0, 1)), X[:2], split)
mesh text(jax.vmap(jax.grad(lambda r: (r ** 2).sum())), split)
mesh lies(lambda x: jnp.where(x > 0, x, 0.0), split)
mesh lies(lambda x: jnp.where(x > 0, 0.0, x), split)
mesh lies(jnp.clip, split, 0.0)
mesh lies(lambda x: jnp.where(x > 0, x, jnp.ones(2)), split)
mesh lies(jax.vmap(lambda a, b: jnp.concatenate([a, b]), (0, None)), split, copied[0])
- text(jax.jit(jax.grad(loss)), copied)
- text(jax.grad(lambda x: x * 2.0), jax.device_put(np.float32(2.0), N(mesh, P())))
- text(jax.grad(lambda x: triple(x).sum()), copied)
auto text(jax.grad(lambda x: triple(x).sum()), by_xla)
- text(jax.grad(lambda x: (x[1:3] ** 2).sum()), copied)
- text(jax.grad(lambda x: x.max()), copied)
- text(jax.grad(lambda x: jax.nn.relu(x).sum()), by_xla)
- text(lambda x: jax.jvp(jnp.sin, (x,), (x,)), copied)
- text(running, copied)
- text(lambda x: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + x, jnp.zeros_like(x)), copied)
auto text(jax.grad(in_parts), by_xla)
mesh text(jax.grad(in_parts), split)
""".strip().splitlines()

REFUSED = """
- add(copied, copied_auto)
- add(copied, far)
- add(copied, far_split)
- add(copied_mixed, put("grid"))
- add(by_xla, far)
- jax.jit(add)(copied, far)
- text(add, copied, far)
other jnp.sin(copied)
other jnp.sin(by_xla)
auto jnp.sin(copied)
mesh jnp.sin(copied_auto)
mixed jnp.sin(put("grid"))
other jax.jit(jnp.sin)(copied)
other text(jnp.sin, copied)
other text(running, copied)
other jax.grad(loss)(copied)
other jax.vmap(jnp.sin)(copied)
- lax.cond(True, lambda: copied, lambda: copied_auto)
- jax.vmap(add)(copied, split)
- jax.vmap(add)(X, split)
""".strip().splitlines()

ALLOWED_IN_OTHER_CONTEXTS = """
other_auto lies(jnp.sin, by_xla)
other lies(jax.jit(lambda x: x), copied)
""".strip().splitlines()


def under_its_mesh(row):
    mesh, expression = row.split(" ", 1)

    def program(library):
        def run():
            names = words(library)
            in_force = contextlib.nullcontext() if mesh == "-" else library.set_mesh(names[mesh])
            with in_force:
                return eval(expression, names)

        return run

    return program


@pytest.mark.parametrize("row", ROWS + ALLOWED_IN_OTHER_CONTEXTS)
def test_rows(row):
    both(under_its_mesh(row))


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row):
    both(under_its_mesh(row), raises=(ValueError, TypeError))


def test_a_refusal_does_not_depend_on_what_was_traced_before():
    """The types of results are remembered by those of operands, and the context is not part of
    the key."""
    program = under_its_mesh("other jnp.tanh(copied)")
    both(under_its_mesh("- lies(jnp.tanh, copied)"))
    both(program, raises=ValueError)
    both(program, raises=ValueError)


LOOPS = {
    "fori": "lambda a, b: lax.fori_loop(0, 3, lambda i, c: c * 0.5 + b, a)",
    "scan": "lambda a, b: lax.scan(lambda c, _: (c + b, c * b), a, None, length=2)",
    "while": "lambda a, b: lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] + b, c[1] + 1), (a, 0))[0]",
    "two": "lambda a, b: lax.scan(lambda c, _: ((c[1] * 1, c[0] + b), None), (a, a), None, length=3)[0][1]",
}


@pytest.mark.parametrize("carry", ["X", "jnp.asarray(X)", "put(X, NS(m, P()))"])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("transformed", ["f", "jax.jit(f)"])
def test_what_loops_carry_may_come_onto_a_mesh(loop, carry, transformed):
    """A value on no mesh may become one that is split. A copy on all devices may not."""
    program = (f"(lambda m, X, f: {transformed}({carry}, put(X, NS(m, P('x')))))("
               f"jax.make_mesh((8,), ('x',)), np.arange(16, dtype='f').reshape(8, 2), {LOOPS[loop]})")

    def told_of(jx):
        def leaf(x):
            return str(jx.typeof(x)), str(x.sharding.mesh), np.asarray(x)

        return lambda: jx.tree.map(leaf, eval(program, surroundings(jx)))

    both(told_of, raises=TypeError if "put" in carry else None)


@pytest.mark.parametrize("wrt", [0, 1])
@pytest.mark.parametrize("loop", ["scan", "two"])
def test_gradients_of_such_loops(loop, wrt):
    """As those of the same loop on one device."""
    x = np.linspace(0.1, 1, 16, dtype=np.float32).reshape(8, 2)
    known = surroundings(minijax)
    f = eval(LOOPS[loop], known)
    g = minijax.jit(minijax.grad(lambda a, b: sum(
        (y**2).sum() for y in minijax.tree.leaves(f(a, b))), wrt))
    mesh = minijax.make_mesh((8,), ("x",))
    split = minijax.device_put(x, minijax.NamedSharding(mesh, minijax.P("x")))
    np.testing.assert_allclose(np.asarray(g(x, split)), np.asarray(g(x, x)), rtol=1e-5)
