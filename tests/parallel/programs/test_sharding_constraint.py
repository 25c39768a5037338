"""`with_sharding_constraint`: values, places, derivatives, batches, jaxprs and errors, as in JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import in_both, oracle
from tests.parallel.placement_programs import same

SPECS = ["'x'", "'y', 'x'", "None, 'y'", "('x', 'y'), None", "", "P.UNCONSTRAINED, 'y'"]
TRANSFORMATIONS = """
f
jax.jit(f)
jax.jit(lambda a: f(jnp.sin(a)) + 1)
jax.grad(lambda a: (f(a) ** 2).sum())
jax.jit(jax.grad(lambda a: (f(a) ** 2).sum()))
jax.jit(jax.grad(lambda a: jax.checkpoint(lambda a: jnp.sin(f(jnp.sin(a))))(a).sum()))
lambda a: jax.jvp(f, (a,), (a,))
lambda a: jax.linearize(f, a)[1](a)
lambda a: jax.jit(jax.vmap(f))(jnp.stack([a, a]))
lambda a: jax.jit(jax.vmap(f, in_axes=1, out_axes=2))(jnp.stack([a, a], 1))
lambda a: jax.vmap(f)(jnp.stack([a, a]))
jax.jit(lambda a: lax.scan(lambda c, _: (f(c) * 2, c.sum()), a, None, 3))
jax.jit(lambda a: lax.cond(a.sum() > 0, f, lambda a: a, a))
jax.jit(jax.jit(f))
""".strip().splitlines()


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("transformed", TRANSFORMATIONS)
def test_transformations(transformed, spec):
    f = f"(lambda f: {transformed})(lambda a: lax.with_sharding_constraint(a * 2, named({spec})))"
    same(f"{f}(put(x2, s))")


PROGRAMS = """
lax.with_sharding_constraint(x, s)
lax.with_sharding_constraint(np.arange(8), s)
lax.with_sharding_constraint(1.0, r)
lax.with_sharding_constraint(key, r)
lax.with_sharding_constraint(jax.random.split(key, 8), s)
jax.jit(lambda k: lax.with_sharding_constraint(jax.random.split(k, 8), s))(key)
lax.with_sharding_constraint({"a": x, "b": [x, x2]}, s)
lax.with_sharding_constraint({"a": x, "b": [x, x2]}, {"a": s, "b": r})
lax.with_sharding_constraint({"a": x, "b": [x, x2]}, {"a": s, "b": [r, named("y", "x")]})
lax.with_sharding_constraint((), s)
lax.with_sharding_constraint(x, SDS(d[0]))
lax.with_sharding_constraint(x, NS(m1, P("x")))
jax.jit(lambda a: lax.with_sharding_constraint(a, SDS(d[2])))(x)
jax.jit(lambda a: lax.with_sharding_constraint(a, NS(m1, P("x"))))(x)
jax.jit(lambda a: lax.with_sharding_constraint(a, s).sum())(jnp.ones(6))
lax.with_sharding_constraint(put(x, s), NS(m.abstract_mesh, P("y")))
jax.jit(lambda a: lax.with_sharding_constraint(a, NS(m.abstract_mesh, P("y"))))(put(x, s))
jax.jit(lambda a: lax.with_sharding_constraint(a, NS(m.abstract_mesh, P("y"))))(x)
jax.vmap(lambda a: lax.with_sharding_constraint(a, s), spmd_axis_name="y")(jnp.ones((2, 8)))
jax.jit(jax.vmap(lambda a: lax.with_sharding_constraint(a, s), spmd_axis_name="y", in_axes=1))(jnp.ones((8, 2)))
""".strip().splitlines()

ERRORS = """
lax.with_sharding_constraint(x, None)
lax.with_sharding_constraint(x, 3)
lax.with_sharding_constraint(x, P("x"))
jax.jit(lambda a: lax.with_sharding_constraint(a, P("x")))(x)
lax.with_sharding_constraint(x, named("x", "y"))
jax.jit(lambda a: lax.with_sharding_constraint(a, named("x", "y")))(x)
lax.with_sharding_constraint(1.0, s)
lax.with_sharding_constraint(jnp.ones(6), s)
lax.with_sharding_constraint((x, x), (s,))
lax.with_sharding_constraint((x, x), {"a": s})
lax.with_sharding_constraint(put(x, d[3]), s)
jax.jit(lambda a: lax.with_sharding_constraint(a, s))(put(x, d[3]))
jax.jit(lambda a: lax.with_sharding_constraint(a, SDS(d[2])))(put(x, s))
jax.jit(lambda a: lax.with_sharding_constraint(a, NS(Mesh(np.array(d[::-1]), ("i",)), P("i"))))(put(x, s))
lax.with_sharding_constraint(x, NS(m.abstract_mesh, P("x")))
lax.with_sharding_constraint(put(x, d[3]), NS(m.abstract_mesh, P("x")))
lax.with_sharding_constraint(np.ones(8), NS(m.abstract_mesh, P("x")))
lax.with_sharding_constraint("text", s)
jax.vmap(lambda a: lax.with_sharding_constraint(a, s), spmd_axis_name="x")(jnp.ones((2, 8)))
""".strip().splitlines()


# jax.make_mesh makes axes of type Explicit, which only `reshard` may name.
EXPLICIT = """
lax.with_sharding_constraint(x, NS(jax.make_mesh((8,), ("x",)), P("x")))
lax.with_sharding_constraint(x, NS(jax.make_mesh((8,), ("x",)), P()))
jax.jit(lambda a: lax.with_sharding_constraint(a * 2, NS(jax.make_mesh((8,), ("x",)), P("x"))))(x)
jax.jit(lambda a: lax.with_sharding_constraint(a * 2, NS(jax.make_mesh((8,), ("x",)), P())))(x)
lax.with_sharding_constraint(x, NS(Mesh(m.devices, ("x", "y"), axis_types=(AxisType.Auto, AxisType.Explicit)), P("x")))
lax.with_sharding_constraint(x, NS(Mesh(m.devices, ("x", "y"), axis_types=(AxisType.Auto, AxisType.Explicit)), P(("x", "y"))))
within(jax.set_mesh(m), lambda: lax.with_sharding_constraint(x, NS(jax.make_mesh((8,), ("x",)), P("x"))))
""".strip().splitlines()


@pytest.mark.parametrize("program", PROGRAMS + ERRORS + EXPLICIT)
def test_programs(program):
    same(program)


@pytest.mark.parametrize("program", [
    "lax.with_sharding_constraint(np.arange(8), P('x'))",
    "lax.with_sharding_constraint(np.ones((8, 4)), P('y', 'x'))",
    "lax.with_sharding_constraint(put(x, s), P('y'))",
    "lax.with_sharding_constraint(np.arange(8), None)",
    "jax.jit(lambda a: lax.with_sharding_constraint(a, P('x')) * 2)(x)",
    "jax.jit(lambda a: lax.with_sharding_constraint(a, P(None, 'y')).sum(0))(put(x2, s))",
    "jax.jit(lambda a: a * 2)(x)",
    "jax.jit(lambda a: a * 2)(put(x, s))",
    "jax.vmap(lambda a: lax.with_sharding_constraint(a, P('y')))(put(x2, s))",
])  # fmt: skip
def test_a_mesh_around(program):
    same(f"within(jax.set_mesh(m), lambda: {program})")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("program", [
    "lax.with_sharding_constraint(x, P('x'))",
    "jax.jit(lambda a: lax.with_sharding_constraint(a, P('x')) * 2)(x)",
])  # fmt: skip
def test_a_mesh_entered(program):
    same(f"within(m, lambda: {program})")


WITHIN_SHARD_MAP = """
lax.with_sharding_constraint(a, P(None, "y"))
lax.with_sharding_constraint(a, P("y"))
lax.with_sharding_constraint(a, P())
jax.jit(lambda b: lax.with_sharding_constraint(b, P(None, "y")))(a)
lax.with_sharding_constraint(a, P("x"))
lax.with_sharding_constraint(a, named(None, "y"))
lax.with_sharding_constraint(a, named())
""".strip().splitlines()


@pytest.mark.parametrize("names", ['axis_names={"x"}', ""])
@pytest.mark.parametrize("body", WITHIN_SHARD_MAP)
def test_within_shard_map(body, names):
    """Over the axes that it leaves to the compiler, arrays can be constrained."""
    f = f"jax.shard_map(lambda a: {body}, mesh=m, in_specs=P('x'), out_specs=P('x'), {names})"
    same(f"jax.jit({f})(put(x2, s))")


# Both libraries write the same equations.
JAXPRS = {
    "plain": lambda jx, c: jx.make_jaxpr(c)(np.ones((8, 4))),
    "batched": lambda jx, c: jx.make_jaxpr(jx.vmap(c))(np.ones((3, 8, 4))),
    "batched at the end": lambda jx, c: jx.make_jaxpr(jx.vmap(c, in_axes=2))(np.ones((8, 4, 3))),
    "tangents": lambda jx, c: jx.make_jaxpr(lambda a: jx.jvp(c, (a,), (a,)))(np.ones((8, 4))),
}


@pytest.mark.parametrize("spec", [("x",), ("x", "y"), (("x", "y"),), (None, "y")])
@pytest.mark.parametrize("name", JAXPRS)
@in_both
def test_jaxprs(jx, name, spec):
    mesh = jx.sharding.Mesh(np.array(jx.devices()).reshape(4, 2), ("x", "y"))
    sharding = jx.NamedSharding(mesh, jx.P(*spec))
    return str(JAXPRS[name](jx, lambda a: jx.lax.with_sharding_constraint(a, sharding)))


@in_both
def test_jaxpr_of_a_spec(jx):
    mesh = jx.make_mesh((4, 2), ("x", "y"), (jx.sharding.AxisType.Auto,) * 2)
    with jx.set_mesh(mesh):
        return str(jx.make_jaxpr(lambda a: jx.lax.with_sharding_constraint(a, jx.P("y")))(
            np.ones(8)))


def test_text():
    """The constraint as Shardy reads it is the same line in both libraries."""
    def lines(jx):
        mesh = jx.sharding.Mesh(np.array(jx.devices()).reshape(4, 2), ("x", "y"))
        sharding = jx.NamedSharding(mesh, jx.P("y", jx.P.UNCONSTRAINED))
        text = jx.jit(lambda a: jx.lax.with_sharding_constraint(a, sharding)).lower(
            np.ones((8, 3), np.float32)).as_text()
        return [line.split(" = ", 1)[1] for line in text.splitlines() if "sdy.sharding_con" in line]

    assert lines(minijax) == lines(oracle) == [
        'sdy.sharding_constraint %arg0 <@mesh, [{"y"}, {?}]> : tensor<8x3xf32>']


def test_parameters_are_named_like_those_of_jax():
    def names(jx):
        mesh = jx.sharding.Mesh(np.array(jx.devices()), ("x",))
        jaxpr = jx.make_jaxpr(lambda a: jx.lax.with_sharding_constraint(
            a, jx.NamedSharding(mesh, jx.P("x"))))(np.ones(8))
        (eqn,) = jaxpr.jaxpr.eqns
        assert eqn.primitive is jx.lax.sharding_constraint_p
        return sorted(eqn.params)

    assert names(minijax) == names(oracle)


@pytest.mark.parametrize("program", [
    "jax.jit(lambda a: lax.with_sharding_constraint(a, NS(named, P('u', 'v'))))(x2)",
    "jax.jit(lambda a: lax.with_sharding_constraint(a * 2, NS(named, P(('u', 'v')))))(x2)",
    "jax.jit(lambda a: lax.with_sharding_constraint(a, NS(named, P('u', 'v'))) + a)(x2)",
    "within(jax.set_mesh(jax.make_mesh((8,), ('x',))), lambda: "
    "jax.jit(lambda a: lax.with_sharding_constraint(a, NS(named, P('u'))))(np.ones(8, 'f')))",
])
def test_constraints_to_another_mesh(program):
    """The result lies in the words of the mesh that the constraint names."""
    same(f"(lambda named, x2: {program})(jax.make_mesh((2, 4), ('u', 'v'), (AxisType.Auto,) * 2), "
         "put(np.ones((8, 8), 'f'), NS(Mesh(np.array(d), 'x'), P('x'))))")


@pytest.mark.parametrize("spec", ["P()", "P('x')", "P(P.UNCONSTRAINED)"])
@pytest.mark.parametrize("argument", ["np.ones(8, 'f')", "jnp.ones(8)", "put(x, d[1])", "put(x, s)"])
@pytest.mark.parametrize("around", ["m", "jax.set_mesh(m)"])
def test_outside_of_jit_a_sharding_says_its_devices(around, argument, spec):
    """The mesh around has other devices. It is for bare specs."""
    same(f"within({around}, lambda: lax.with_sharding_constraint({argument}, NS(m1, {spec})))")
