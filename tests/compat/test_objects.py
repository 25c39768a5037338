"""Attributes of JAX's objects that libraries read: structs, types, tracers, stages, equations."""

import copy
import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from tests.oracle import both, in_both


def refused(change):
    """The class of the error that a change raises, and the first words of its message."""
    try:
        change()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:40]}"
    return "done"


def struct(jx, **options):
    return jx.ShapeDtypeStruct((2, 3), "float32", **options)


STRUCTS = {
    "shape": lambda s: refused(lambda: setattr(s, "shape", (3,))),
    "dtype": lambda s: refused(lambda: setattr(s, "dtype", np.dtype("int32"))),
    "sharding": lambda s: refused(lambda: setattr(s, "sharding", 1)),
    "weak_type": lambda s: refused(lambda: setattr(s, "weak_type", True)),
    "the same": lambda s: refused(lambda: setattr(s, "weak_type", False)),
    "no attribute": lambda s: refused(lambda: setattr(s, "foo", 1)),
    "copies": lambda s: [copy.copy(s) == s, copy.deepcopy(s) == s,
                         hash(pickle.loads(pickle.dumps(s))) == hash(s)],
    "update": lambda s: [str(s.update(shape=(4,))), str(s)],
    "comparison": lambda s: [s == s.update(), s == s.update(shape=(4,)), s != (2, 3),
                             len({s, s.update(), s.update(dtype="int8")})],
    # Libraries print, copy and walk through the fields of dataclasses. A struct is one value.
    "fields": lambda s: [dataclasses.is_dataclass(s),
                         str(dataclasses.asdict(HoldsStruct(s)))],
}


@dataclasses.dataclass
class HoldsStruct:
    """A setting of a library that says what an array looks like."""

    like: Any


@pytest.mark.parametrize("name", STRUCTS)
def test_structs_are_immutable(name):
    both(lambda jx: lambda: STRUCTS[name](struct(jx)))


TYPES = {
    "kinds of devices": lambda jx, x: [
        kind := jx.sharding.AbstractDevice("cpu", None, "cpu"), isinstance(kind, tuple),
        len(jx.tree.leaves(kind)), kind == jx.sharding.AbstractDevice("cpu", None, "cpu")][1:],
    "truth": lambda jx, x: [bool(jx.typeof(v)) for v in (1.0, x, x[:0])],
    "ranks": lambda jx, x: str([
        t := jx.typeof(x), t.inc_rank(3, 0), t.inc_rank(3, None), t.dec_rank(2, 0), t.dec_rank(2, None)]),
    "weak types": lambda jx, x: str([t := jx.typeof(1.0), t.normalize()]),
    "primitives": lambda jx, x: [
        p := jx.lax.sin_p, p.is_effectful, p.ref_primitive, p.ref_allocating,
        p.skip_canonicalization][1:],
    "variables": lambda jx, x: repr(
        jx.make_jaxpr(lambda x: x)(x).jaxpr.invars[0]).partition(":")[2],
    "the class of arrays": lambda jx, x: [
        issubclass(type(x), jx.Array), issubclass(array_impl(jx), jx.Array),
        isinstance(x, array_impl(jx)), issubclass(array_impl(jx), np.ndarray)],
    "the context of equations": lambda jx, x: [
        ctx := jx.make_jaxpr(lambda x: 2 * x)(x).eqns[0].ctx, ctx.compute_type, ctx.xla_metadata,
        ctx.threefry_partitionable, ctx.remove_size_one_mesh_axis][1:],
    "names of arguments": lambda jx, x: names_of_arguments(
        jx.make_jaxpr(lambda a, b: {"sum": a + b})(x, x).jaxpr.debug_info),
    "custom_vjp": lambda jx, x: remat_is_optimized(jx.custom_vjp(lambda x: x)),
}


def array_impl(jx):
    module = __import__(f"{jx.__name__}._src.array", fromlist=["ArrayImpl"])
    return module.ArrayImpl


def names_of_arguments(info):
    return [
        info.safe_arg_names(2), info.safe_result_paths(1),
        info.with_unknown_names().safe_arg_names(2), info.with_unknown_names().arg_names,
        info._replace(traced_for="me").traced_for, list(info)[2:],
        refused(lambda: info.safe_arg_names(3))[:14]]


def remat_is_optimized(f):
    before = f.optimize_remat
    f.defvjp(lambda x: (x, x), lambda r, g: (g,), optimize_remat=True)
    return [before, f.optimize_remat]


@pytest.mark.parametrize("name", TYPES)
def test_attributes(name):
    both(lambda jx: lambda x: TYPES[name](jx, jx.numpy.asarray(x)), np.ones((2, 3), "float32"))


TRACERS = {
    "jit": lambda jx, f: jx.jit(f)(1.0),
    "vmap": lambda jx, f: jx.vmap(f)(np.ones(2, "float32")),
    "vmap of a constant": lambda jx, f: jx.vmap(lambda x, y: f(y), (0, None))(np.ones(2), 1.0),
    "jvp": lambda jx, f: jx.jvp(f, (1.0,), (1.0,)),
    "grad": lambda jx, f: jx.grad(f)(1.0),
}


@pytest.mark.parametrize("transformation", TRACERS)
@in_both
def test_tracers(jx, transformation):
    seen = []

    def f(x):
        seen.extend([x.full_lower() is x, x.to_concrete_value() is None,
                     hasattr(x, "block_until_ready"), jx.block_until_ready(x) is x])
        return x

    TRACERS[transformation](jx, f)
    return seen


@in_both
def test_a_traced_function_can_be_called(jx):
    x = np.arange(3.0, dtype="float32")
    traced = jx.jit(lambda x, y: {"product": x * y, "sum": x.sum()}).trace(x, 2.0)
    return [traced(x, 3.0), jx.grad(lambda x: traced(x, 3.0)["sum"])(x),
            jx.vmap(lambda x: traced(x, 1.0))(jx.numpy.stack([x, x])),
            str(traced.out_avals), str(traced.lojax.jaxpr), refused(lambda: traced(x))[:0]]


@in_both
def test_references_of_traced_functions_are_constants(jx):
    ref, other = jx.new_ref(jx.numpy.zeros(3)), jx.new_ref(1.0)

    def f(x):
        ref[0] = x
        return ref[1] + other[...] + x

    traced = jx.jit(f).trace(2.0)
    jaxpr = traced.jaxpr
    return [str(jaxpr), len(jaxpr.consts), str(jaxpr.in_avals), traced(3.0), ref[...],
            traced.lower().compile()(5.0), ref[...]]


def test_a_sparse_array_is_a_sequence():
    def program(jx):
        sparse = __import__(f"{jx.__name__}.experimental.sparse", fromlist=["BCOO"])
        return lambda x: jx.numpy.array(sparse.BCOO.fromdense(x))

    both(program, np.eye(2), raises=ValueError)


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
@pytest.mark.parametrize("names", ["i", "ij"])
@in_both
def test_structs_in_shard_map_have_its_mesh(jx, kind, names):
    types = (getattr(jx.sharding.AxisType, kind),) * 2
    mesh, seen = jx.make_mesh((2, 2), ("i", "j"), axis_types=types), []

    def f(x):
        seen.extend([jx.eval_shape(lambda y: y * 2, x).sharding,
                     jx.eval_shape(lambda y: y, jx.numpy.ones(2)).sharding,
                     jx.jit(lambda y: y).trace(x).out_info.sharding])
        return x

    with jx.set_mesh(mesh):
        x = jx.device_put(np.arange(4.0, dtype="f"), jx.NamedSharding(mesh, jx.P("i")))
        jx.jit(jx.shard_map(f, in_specs=jx.P("i"), out_specs=jx.P("i"),
                            axis_names=set(names)))(x)
        outside = jx.eval_shape(lambda x: x, x).sharding
    return [str(outside), *(s and (str(s.spec), str(s.mesh.axis_types)) for s in seen)]
