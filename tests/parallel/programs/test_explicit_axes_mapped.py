"""`vmap`, `shard_map` and constraints where types state shardings."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

X = np.arange(32, dtype=np.float32).reshape(8, 4)

# Under the mesh of the first column. `types(f)` are the types that `make_jaxpr` finds.
ROWS = """
grid | types(jax.vmap(jax.jit(lambda r: r * 2)), rows)
grid | inside(jax.vmap(jax.jit(lambda r: r * 2)), rows)
grid | inside(jax.vmap(jax.checkpoint(jnp.sin)), rows)
grid | inside(jax.vmap(jax.jit(lambda r: jnp.ones(4, out_sharding=P("y")) + r)), rows)
grid | inside(jax.vmap(lambda r: lax.scan(lambda c, a: (c + a, c), r[0], r)), rows)
grid | inside(jax.vmap(lambda r: lax.fori_loop(0, 3, lambda i, c: c * r, jnp.ones(4))), rows)
grid | types(jax.vmap(lambda r: lax.while_loop(lambda c: c.sum() < 9, lambda c: c + r, r)), rows)
grid | types(jax.vmap(lambda r: jax.grad(lambda s: jax.jit(jnp.sin)(s).sum())(r)), rows)
grid | jax.vmap(jax.jit(lambda r: r * 2))(rows)
grid | types(jax.vmap(lambda r: jax.reshard(r, P("y"))), rows)
grid | types(jax.vmap(lambda r: jax.reshard(r, P("x"))), rows)
grid | types(jax.vmap(lambda r: r * 2, spmd_axis_name="x"), rows)
grid | types(jax.vmap(lambda r: r * 2, spmd_axis_name="y"), rows)
grid | types(jax.vmap(lambda a, b: a + b), rows, blocks)
grid | types(jax.vmap(lambda a, b: a + b), rows, jax.reshard(rows, P("y")))
grid | types(jax.shard_map(lambda a: a, out_specs=P("x")), rows)
grid | types(jax.shard_map(lambda a: a, in_specs=P("x"), out_specs=P("x")), rows)
grid | types(jax.shard_map(lambda a: a, in_specs=P("y"), out_specs=P("y")), rows)
grid | types(jax.shard_map(lambda a: a, in_specs=P("x"), out_specs=P("x")), blocks)
grid | types(jax.shard_map(lambda a: a, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}), blocks)
grid | types(lambda a: lax.with_sharding_constraint(a * 2, P("x")), rows)
grid | types(lambda a: lax.with_sharding_constraint(a * 2, P("y")), rows)
mixed | types(lambda a: lax.with_sharding_constraint(a * 2, P(None, "y")), half)
mixed | types(lambda a: lax.with_sharding_constraint(a * 2, P()), half)
mixed | types(lambda a: lax.with_sharding_constraint(a * 2, P("x", "y")), half)
mixed | types(lambda a: jax.reshard(a * 2, P(None, "x")), half)
mixed | str(jax.typeof(jax.reshard(half, P(None, "x"))))
mixed | types(lambda a: jax.reshard(a * 2, P("x", "y")), half)
mixed | jax.reshard(half, P(None, "x"))
""".strip().splitlines()


@pytest.mark.parametrize("row", ROWS)
def test_rows(row):
    mesh_name, row = row.split(" | ")

    def program(library):
        types, spec = library.sharding.AxisType, library.P
        kinds = {"grid": (types.Explicit,) * 2, "auto": (types.Auto,) * 2,
                 "mixed": (types.Explicit, types.Auto)}
        mesh = library.make_mesh((2, 4), ("x", "y"), kinds[mesh_name])
        put = lambda *entries: library.device_put(X, library.NamedSharding(mesh, spec(*entries)))

        def inside(f, *args):
            """The types of the arguments and results of the jaxprs within."""
            (eqn,) = [eqn for eqn in library.make_jaxpr(f)(*args).eqns if "jaxpr" in eqn.params]
            body = eqn.params["jaxpr"]
            body = getattr(body, "jaxpr", body)
            return [str(v.aval) for v in (*body.invars, *body.outvars)]

        names = {"jax": library, "jnp": library.numpy, "lax": library.lax, "P": spec, "X": X,
                 "inside": inside,
                 "rows": put("x", None), "blocks": put("x", "y"), "half": put("x", "y"),
                 "types": lambda f, *args: [*map(str, library.make_jaxpr(f)(*args).out_avals)]}

        def run():
            with library.set_mesh(mesh):
                return eval(row, names)
        return run

    both(program)


@pytest.mark.parametrize("axis, values", [("x", [120.0, 376.0]), ("y", [28.0, 92.0, 156.0, 220.0])])
@pytest.mark.parametrize("ordered", [False, True])
def test_prints_within_some_axes(axis, values, ordered, capfd):
    """Once for each place along the axes of the `shard_map`, as in JAX."""
    kinds = (minijax.sharding.AxisType.Auto,) * 2
    mesh = minijax.make_mesh((2, 4), ("x", "y"), kinds)

    def show(x):
        minijax.debug.print("{s} {x}", s=x.sum(), x=x[0], ordered=ordered)
        return 2 * x

    spec = minijax.P(axis)
    f = minijax.jit(minijax.shard_map(show, mesh=mesh, in_specs=spec, out_specs=spec,
                                      axis_names={axis}))
    if ordered:
        with pytest.raises(ValueError, match="ordered effects are not supported"):
            f(X)
        return
    np.testing.assert_array_equal(f(X), 2 * X)
    minijax.effects_barrier()
    lines = capfd.readouterr().out.split("\n")
    assert sorted(float(line.split()[0]) for line in lines if line) == values


BATCHES = """
jax.grad(lambda x: mapped(lambda s: 2 * s)(x).sum())
jax.grad(lambda x: (mapped(lambda s: 2 * s)(x) ** 2).sum())
jax.grad(lambda x: (mapped(jnp.sin)(x) ** 2).sum())
jax.grad(lambda x: (mapped(lambda s: s * jax.lax.psum(s, "y"))(x) ** 2).sum())
jax.jit(jax.grad(lambda x: (mapped(lambda s: 2 * s)(x) ** 2).sum()))
lambda x: jax.jvp(mapped(jnp.sin), (x,), (x,))[1]
""".strip().splitlines()


@pytest.mark.parametrize("check_vma", [False, True])
@pytest.mark.parametrize("row", BATCHES)
@in_both
def test_derivatives_of_a_shard_map_whose_batch_is_split(library, row, check_vma):
    """No sum over devices mixes the examples."""
    kinds = (library.sharding.AxisType.Auto,) * 2
    mesh, spec = library.make_mesh((2, 4), ("x", "y"), kinds), library.P("y")
    mapped = lambda f: library.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec,
                                         check_vma=check_vma)
    f = eval(row, {"jax": library, "jnp": library.numpy, "mapped": mapped})
    return library.vmap(f, spmd_axis_name="x")(np.arange(16, dtype=np.float32).reshape(2, 8))


def test_a_body_that_differs_along_the_axis_of_the_batch_is_refused():
    kinds = (minijax.sharding.AxisType.Auto,) * 2
    mesh, spec = minijax.make_mesh((2, 4), ("x", "y"), kinds), minijax.P("y")
    f = minijax.shard_map(lambda s: s + minijax.lax.axis_index("x"), mesh=mesh, in_specs=spec,
                          out_specs=spec, check_vma=False)
    with pytest.raises(ValueError, match="differs by device along this axis"):
        minijax.vmap(f, spmd_axis_name="x")(X.reshape(2, 16))


@pytest.mark.parametrize("check_vma", [False, True])
def test_a_sum_over_the_axis_of_the_batch_is_that_of_one_example(check_vma):
    """As in a loop over the examples, and without `spmd_axis_name`."""
    kinds = (minijax.sharding.AxisType.Auto,) * 2
    mesh, spec = minijax.make_mesh((2, 4), ("x", "y"), kinds), minijax.P("y")
    total = lambda s: minijax.lax.psum(minijax.lax.pcast(s, "x", to="varying"), "x")
    f = minijax.shard_map(total, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=check_vma)
    np.testing.assert_array_equal(minijax.vmap(f, spmd_axis_name="x")(X.reshape(2, 16)),
                                  2 * X.reshape(2, 16))


def test_a_batch_is_split_as_before_where_containers_are_registered():
    """Sparse matrices register themselves, and `vmap` then takes arguments apart by itself."""
    import minijax.experimental.sparse

    mesh = minijax.make_mesh((2, 4), ("x", "y"))
    rows = minijax.device_put(X, minijax.NamedSharding(mesh, minijax.P("x", None)))
    with minijax.set_mesh(mesh):
        out = minijax.vmap(minijax.jit(lambda r: r * 2))(rows)
    assert str(minijax.typeof(out)) == "float32[8@x,4]"
