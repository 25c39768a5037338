"""Programs over several devices: what jit is told of devices, arrays made under jit with `device=`,
what compiled programs say of their results, and ordered callbacks."""

from __future__ import annotations

import copy
import warnings
from importlib import import_module

import numpy as np
import pytest

from tests.oracle import both, in_both

X = np.arange(16).reshape(8, 2)


def words(library):
    """The names that rows of the tables use."""
    devices, jnp = library.devices(), library.numpy
    mesh = library.sharding.Mesh(np.array(devices[:4]).reshape(2, 2), ("x", "y"))
    line = library.sharding.Mesh(np.array(devices), ("x",))
    log: list = []

    def put(where, *entries):
        return library.device_put(X, library.NamedSharding(where, library.P(*entries)))

    def lies(*xs):
        return [(str(library.typeof(x)), str(x.sharding), x.committed, np.asarray(x).tolist())
                for x in xs]

    callback = import_module(f"{library.__name__}.experimental").io_callback

    def tell(x, value=None):
        callback(lambda v: log.append(value or np.asarray(v).tolist()), None, x, ordered=True)

    def told(f, *args):
        outs = f(*args)
        library.effects_barrier()
        return lies(*outs) if isinstance(outs, tuple) else lies(outs), log

    def in_parts(f):
        return library.jit(library.shard_map(f, mesh=line, in_specs=library.P("x"),
                                             out_specs=library.P("x")))

    def branch(x):
        library.lax.cond(x.sum() > 0, lambda: tell(x, "yes"), lambda: tell(x, "no"))
        return x

    def twice(x):
        kind = library.ShapeDtypeStruct(x.shape, x.dtype)
        return callback(lambda v: np.asarray(v) * 2, kind, x, ordered=True)

    return {
        "branch": branch, "twice": twice,
        "jax": library, "jnp": jnp, "lax": library.lax, "P": library.P, "np": np, "X": X,
        "N": library.NamedSharding, "One": library.sharding.SingleDeviceSharding, "d": devices,
        "mesh": mesh, "line": line, "put": put, "lies": lies, "tell": tell, "told": told,
        "in_parts": in_parts, "log": log, "s": library.NamedSharding(mesh, library.P("x", "y")),
        "pjit": import_module(f"{library.__name__}.experimental.pjit").pjit,
    }


ROWS = """
lies(jax.jit(lambda x: jnp.array(x, device=s))(X))
lies(jax.jit(lambda: jnp.array(X, dtype="float32", device=s))())
lies(jax.jit(lambda x: jnp.asarray(x, device=s))(X))
lies(jax.jit(lambda x: x.astype("float32", device=s))(X))
lies(jax.jit(lambda x: jnp.astype(x, "float32", device=s))(X))
lies(jax.jit(lambda: jnp.linspace(0, 1, 16, device=N(mesh, P("x"))))())
lies(jax.jit(lambda x: x.to_device(s))(X))
lies(jax.jit(lambda x: x * 2, device=d[1])(put(mesh, "x")))
lies(jax.jit(lambda x: x * 2, device=d[1]).lower(X).compile()(put(mesh, "x")))
lies(jax.jit(lambda x: x * 2, device=d[1]).lower(X).compile()(jax.device_put(X, d[2])))
jax.tree.map(lambda y: str(y.sharding), jax.jit(lambda x: (x, {"a": x.sum()})).lower(put(mesh, "x")).compile().out_info)
str(jax.jit(lambda x: x * 2).lower(X).compile().out_info.sharding)
str(jax.jit(lambda x: x * 2).lower(put(mesh, "x")).out_info)
str(jax.jit(lambda x: x * 2, out_shardings=s).lower(X).compile().out_info.sharding)
told(jax.jit(lambda x: (tell(x), x * 2)[1]), put(line, "x"))
told(jax.jit(lambda x: ([tell(x, i) for i in range(1, 5)], x + 1)[1]), put(line, "x"))
told(jax.jit(lambda x: lax.scan(lambda c, r: (tell(r), (c + r, r * 2))[1], x[0], x)), put(line))
told(jax.jit(branch), put(line, "x")) + told(jax.jit(branch), -put(line, "x"))
[told(in_parts(lambda x: (tell(x), x * 2)[1]), X)[0], sorted(log)]
np.asarray(jax.jit(lambda x: twice(x) + x)(put(line, "x")))
""".strip().splitlines()


REFUSED = """
jax.jit(jnp.sin, device=d[0], backend="cpu")
jax.jit(jnp.sin, device=d[0], in_shardings=s)
jax.jit(jnp.sin, device=d[0], out_shardings=s)
jax.jit(jax.vmap(lambda x: lax.with_sharding_constraint(x, One(d[0])), spmd_axis_name="x"))(X)
jax.jit(lambda x: (jax.debug.print("{}", x, ordered=True), x)[1])(put(line, "x"))
""".strip().splitlines()


@pytest.mark.parametrize("row", ROWS)
@in_both
def test_rows(library, row):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(row, words(library))


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row):
    both(lambda library: lambda: eval(row, words(library)), raises=ValueError)


def test_a_device_does_not_go_with_the_mesh_of_a_with_statement():
    def program(library):
        def run():
            names = words(library)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with names["mesh"]:
                    names["pjit"](library.numpy.sin, device=names["d"][0])(1.0)
        return run

    both(program, raises=ValueError)


def other_axes(library, mesh, **types):
    """A context in which axes of the mesh in force have other types."""
    types = {name: getattr(library.sharding.AxisType, kind) for name, kind in types.items()}
    return library.sharding.use_abstract_mesh(mesh.abstract_mesh.update_axis_types(types))


@pytest.mark.parametrize("spec", ["P(None, None)", "P('y', None)", "P(None, 'y')"])
@in_both
def test_a_result_lies_over_axes_of_the_types_that_a_part_of_the_program_gave_them(library, spec):
    mesh = library.make_mesh((4, 2), ("x", "y"))

    def f(x):
        with other_axes(library, mesh, x="Auto"):
            return library.reshard(x, eval(spec, {"P": library.P})) * 2, x

    with library.set_mesh(mesh):
        outs = library.jit(f)(library.device_put(X, library.P("x", "y")))
    return [(str(library.typeof(out)), str(out.sharding), np.asarray(out)) for out in outs]


@in_both
def test_results_lie_on_a_mesh_of_one_device(library):
    jnp = library.numpy
    with library.set_mesh(library.make_mesh((1,), ("x",))):
        outs = [jnp.ones(2), jnp.ones(2) + 1, jnp.sin(jnp.ones(2)), jnp.array(2),
                jnp.arange(3), library.grad(lambda x: x.sum())(jnp.ones(2)),
                library.random.normal(library.random.key(0), (3,)),
                jnp.zeros((2, 2)).at[0].set(1), jnp.asarray(np.ones(2)),
                library.jit(lambda x: x * 2)(jnp.ones(2)),
                library.device_put(np.ones(2), library.P("x")) + 1]
    outs.append(outs[0] + 1)
    return [(out.committed, str(out.sharding), np.asarray(out)) for out in outs]


@in_both
def test_new_arrays_lie_on_the_mesh_in_force(library):
    jnp, types = library.numpy, library.sharding.AxisType
    mesh = library.make_mesh((8,), ("x",))
    with library.set_mesh(mesh):
        with library.sharding.use_abstract_mesh(library.sharding.AbstractMesh((8,), "y")):
            other = jnp.arange(8)
        with other_axes(library, mesh, x="Auto"):
            auto = jnp.arange(8) + 1
        with library.set_mesh(library.make_mesh((8,), ("x",), (types.Auto,))):
            inner = jnp.ones(8)
        split = library.NamedSharding(mesh.abstract_mesh, library.P("x"))
        struct = library.ShapeDtypeStruct((8,), np.float32, sharding=split)
        outs = other, auto, jnp.zeros_like(struct), *library.jit(lambda x, y: (x, y))(
            library.device_put(np.ones(8), library.P("x")), inner)
    return [(str(out.sharding), np.asarray(out)) for out in outs]


@in_both
def test_a_copy_of_a_placed_array_outlives_it(library):
    x = library.device_put(X, library.devices()[1])
    other = copy.deepcopy(x)
    x.delete()
    return np.asarray(other), str(other.sharding)
