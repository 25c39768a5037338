"""On meshes of axes of several types, results lie as in JAX; and `device_put` in traced functions."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import jax as oracle
from tests.parallel.placement_programs import same

X = np.arange(128.0, dtype=np.float32).reshape(8, 16)

PROGRAMS = {
    "sin": lambda jx: jx.lax.sin,
    "sum": lambda jx: lambda x: x.sum(1),
    "transpose": lambda jx: lambda x: x.T,
    "several": lambda jx: lambda x: jx.numpy.exp(x * 0) + x,
}


def placed(jx, names, types, program, spec):
    """The type, the spec and the contents of a result on a mesh of 4 by 2 devices."""
    mesh = jx.make_mesh((4, 2), names, tuple(getattr(jx.sharding.AxisType, t) for t in types))
    with jx.set_mesh(mesh):
        out = jx.jit(program(jx))(jx.device_put(X, jx.P(*spec)))
        return str(jx.typeof(out)), str(out.sharding.spec), np.asarray(out).tolist()


@pytest.mark.live_jax
@pytest.mark.parametrize("spec", [("x", None), (("y", "x"), None), ("y", "x"), (None, "y")])
@pytest.mark.parametrize("program", PROGRAMS)
def test_axes_of_the_compiler_split_results_too(program, spec):
    got, want = (placed(jx, ("x", "y"), ("Auto", "Explicit"), PROGRAMS[program], spec)
                 for jx in (minijax, oracle))
    np.testing.assert_allclose(got[2], want[2], rtol=1e-6)
    assert got[:2] == want[:2]


@pytest.mark.live_jax
@pytest.mark.parametrize("spec", [(), ("x",), ("y", "x")])
@pytest.mark.parametrize("to", [(), ("x",), (None, "y")])
def test_device_put_states_the_type_in_traced_functions(spec, to):
    got, want = (placed(jx, ("x", "y"), ("Explicit", "Explicit"),
                        lambda jx: lambda x: 2 * jx.device_put(x, jx.P(*to)), spec)
                 for jx in (minijax, oracle))
    assert got == want


def test_device_put_in_a_mapped_function_keeps_the_batch_dimension():
    """JAX takes the spec of a row for that of the matrix."""
    kind, spec, value = placed(minijax, ("x", "y"), ("Explicit", "Explicit"), lambda jx: jx.vmap(
        lambda row: jx.device_put(row, jx.P("y"))), ("x", None))
    assert (kind, spec, value) == ("float32[8@x,16@y]", "P('x', 'y')", X.tolist())


@pytest.mark.live_jax
@pytest.mark.parametrize("types, names, spec, in_spec", [
    (("Explicit", "Auto"), (), ("x",), (None, "y")),
    (("Auto", "Explicit"), (), ("y",), ("x",)),
    (("Explicit", "Explicit"), ("x",), ("x",), ()),
    (("Explicit", "Explicit"), ("x",), ("y",), ("x",)),
])
def test_in_specs_move_data_unless_all_axes_are_in_the_users_hand(types, names, spec, in_spec):
    def program(jx):
        return jx.shard_map(lambda x: 2 * x, in_specs=jx.P(*in_spec), out_specs=jx.P(*in_spec),
                            axis_names=set(names))

    got, want = (placed(jx, ("x", "y"), types, program, spec) for jx in (minijax, oracle))
    assert (got[0], got[2]) == (want[0], want[2])


@pytest.mark.live_jax
@pytest.mark.parametrize("first", [0, 1])
def test_an_update_on_all_devices_does_not_fit_an_operand_that_is_split(first):
    for jx in (minijax, oracle):
        mesh = jx.make_mesh((8,), ("x",))
        split = jx.device_put(X, jx.NamedSharding(mesh, jx.P("x")))
        pair = (split, X) if first else (jx.device_put(X, jx.NamedSharding(mesh, jx.P())), split)
        with pytest.raises(Exception, match="must") as info:
            jx.lax.dynamic_update_slice(*pair, (0, 0))
        assert type(info.value).__name__ == "ShardingTypeError"


SPECS = ("P(('x', 'y'))", "P('y', 'x')", "P('y')", "P(None, 'y')", "P('x')", "P(('y', 'x'))", "P()",
         "P(None, 'x')", "P('x', 'y')")


@pytest.mark.parametrize("before", SPECS)
@pytest.mark.parametrize("types", ["(AxisType.Auto, AxisType.Explicit)",
                                   "(AxisType.Explicit, AxisType.Auto)"])
def test_eager_moves(before, types):
    """What an array says of its sharding is how it lies, also beside axes of the other type."""
    auto, explicit = ("'x'", "'y'") if types.startswith("(AxisType.Auto") else ("'y'", "'x'")
    moves = [f"jax.reshard(a, NS(m, {spec}))" for spec in SPECS if auto not in spec]
    moves += [f"lax.with_sharding_constraint(a, NS(m, {spec}))" for spec in SPECS
              if explicit not in spec]
    told = ", ".join(f"(lambda o: (o, o + 1, o.addressable_shards[0].data.shape))({move})"
                     for move in moves)
    same(f"(lambda m: (lambda a: [{told}])(put(np.arange(64.0).reshape(8, 8), NS(m, {before}))))"
         f"(jax.make_mesh((4, 2), ('x', 'y'), {types}))")


@pytest.mark.parametrize("types", ["(AxisType.Auto, AxisType.Explicit)", "(AxisType.Explicit,) * 2"])
def test_new_arrays_of_fewer_dimensions(types):
    """`P(None)` says of a vector that all devices hold it. A number beside it has no dimension."""
    same(f"(lambda m: jnp.diag(put(np.ones((8, 8)), NS(m, P()))[:, 0]))("
         f"jax.make_mesh((4, 2), ('x', 'y'), {types}))")


@pytest.mark.live_jax
@pytest.mark.parametrize("types", [("Explicit", "Explicit", "Auto"), ("Auto", "Explicit", "Explicit")])
@pytest.mark.parametrize("spec", [("x", "y"), (("y", "x"),), (("z", "y"), "x"), (None, "y")])
def test_results_name_the_axes_of_their_type_that_have_one_device(types, spec):
    def found(jx):
        mesh = jx.make_mesh((2, 1, 2), ("x", "y", "z"),
                            tuple(getattr(jx.sharding.AxisType, t) for t in types))
        with jx.set_mesh(mesh):
            out = jx.jit(lambda x: x * 2)(jx.device_put(X, jx.P(*spec)))
            return str(jx.typeof(out)), str(out.sharding.spec)

    assert found(minijax) == found(oracle)


@pytest.mark.parametrize("draw", ["uniform(key, (8,))", "randint(key, (8,), 0, 5)",
                                  "uniform(key, (8,), out_sharding=jax.P('x'))",
                                  "truncated_normal(key, -1.0, 1.0, (8,))"])
def test_random_numbers_on_several_meshes_in_turn(draw):
    """An array that is kept from one call to the next does not belong to a mesh."""
    key, types = minijax.random.key(0), (minijax.sharding.AxisType.Explicit,)
    names, found = {"jax": minijax, "key": key}, []
    for count in (8, 4):
        mesh = minijax.make_mesh((count,), ("x",), types, devices=minijax.devices()[:count])
        with minijax.set_mesh(mesh):
            found.append(np.asarray(eval(f"jax.random.{draw}", names)))
            eval("jax.random.uniform(key, (8,)), jax.random.randint(key, (8,), 0, 5)", names)
    np.testing.assert_array_equal(*found)
