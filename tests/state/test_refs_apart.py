"""References that are passed twice, and references in `shard_map`."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both


def write(a, b):
    a[...] = b[...] + 1.0


def ref(jx, x=1.0):
    return jx.new_ref(jx.numpy.asarray(x, "float32"))


def with_rule(jx):
    f = jx.custom_vjp(lambda a, b, x: a[...] * b[...] * x)
    f.defvjp(lambda a, b, x: (x, None), lambda res, ct: (None, None, ct))
    return f


TWICE = {
    "jit": lambda jx, r: jx.jit(write)(r, r),
    "make_jaxpr": lambda jx, r: jx.make_jaxpr(write)(r, r),
    "eval_shape": lambda jx, r: jx.eval_shape(write, r, r),
    "lower": lambda jx, r: jx.jit(write).lower(r, r),
    "trace": lambda jx, r: jx.jit(write).trace(r, r),
    "tree": lambda jx, r: jx.make_jaxpr(lambda d: write(d["a"], d["b"]))({"a": r, "b": r}),
    "read": lambda jx, r: jx.jit(lambda a, b: a[...] + b[...])(r, r),
    "keyword": lambda jx, r: jx.jit(write)(r, b=r),
    "cond": lambda jx, r: jx.lax.cond(True, write, write, r, r),
    "switch": lambda jx, r: jx.lax.switch(0, [write, write], r, r),
    "vmap": lambda jx, r: (lambda r: jx.vmap(write)(r, r))(ref(jx, np.ones(3))),
    "inner jit": lambda jx, r: jx.jit(lambda r: jx.jit(write)(r, r))(r),
    "closed over": lambda jx, r: jx.jit(lambda a: write(a, r))(r),
    "closed over, make_jaxpr": lambda jx, r: jx.make_jaxpr(lambda a: write(a, r))(r),
    "closed over, eval_shape": lambda jx, r: jx.eval_shape(lambda a: write(a, r), r),
    "closed over, cond": lambda jx, r: jx.lax.cond(True, lambda a: write(a, r), lambda a: None, r),
    "closed over, switch": lambda jx, r: jx.lax.switch(1, [lambda a: write(a, r)] * 2, r),
    "custom_vjp": lambda jx, r: with_rule(jx)(r, r, 1.0),
    "grad of custom_vjp": lambda jx, r: jx.grad(lambda x: with_rule(jx)(r, r, x))(1.0),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_reference_is_passed_once(name):
    both(lambda jx: lambda: TWICE[name](jx, ref(jx)), raises=ValueError)


@pytest.mark.parametrize("run", [lambda jx, a, b: jx.jit(write)(a, b),
                                 lambda jx, a, b: jx.make_jaxpr(write)(a, b),
                                 lambda jx, a, b: jx.lax.cond(True, write, write, a, b)],
                         ids=["jit", "make_jaxpr", "cond"])
@in_both
def test_two_references_are_two(jx, run):
    a, b = ref(jx), ref(jx, 2.0)
    return run(jx, a, b), a[...], b[...]


def twice(a):
    a[...] = a[...] * 2
    return a[...].sum()


def add_at(a, x):
    a[0] += x
    a[1:] = a[1:] * 2


def inside(jx, a):
    r = jx.new_ref(a[...] * 0)
    r[...] += jx.lax.axis_index("i") * 1.0
    return r[...]


MAPPED = {
    "cut": (lambda jx, P: lambda a: twice(a)[None], "P('i')", "P('i')", 8),
    "first": (lambda jx, P: lambda a: add_at(a, jx.lax.axis_index("i") * 1.0), "P('i')", "None", 16),
    "collective": (lambda jx, P: lambda a: jx.lax.psum(twice(a), "i"), "P('i')", "P()", 8),
    "same": (lambda jx, P: lambda a: twice(a), "P()", "P()", 4),
    "read": (lambda jx, P: lambda a: a[...] + jx.lax.axis_index("i"), "P('i')", "P('i')", 8),
    "inside": (lambda jx, P: lambda a: inside(jx, a), "P('i')", "P('i')", 8),
    "loop": (lambda jx, P: lambda a: jx.lax.fori_loop(
        0, 3, lambda i, c: (twice(a), c)[1], None), "P('i')", "None", 8),
}


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.parametrize("check_vma", [True, False])
def test_references_in_shard_map(name, check_vma):
    """(JAX runs it under `jit` only.)"""
    make, in_spec, out_spec, size = MAPPED[name]

    def program(jx):
        mesh = jx.sharding.Mesh(np.array(jx.devices()), "i")
        specs = {"P('i')": jx.P("i"), "P()": jx.P(), "None": None}

        def run():
            x = jx.numpy.arange(float(size))
            r = jx.new_ref(jx.device_put(x, jx.NamedSharding(mesh, specs[in_spec])))
            f = jx.shard_map(make(jx, jx.P), mesh=mesh, in_specs=(specs[in_spec],),
                             out_specs=specs[out_spec], check_vma=check_vma)
            out = jx.jit(f)(r)
            return np.asarray(r[...]), None if out is None else np.asarray(out)
        return run

    both(program)


def test_references_in_shard_map_without_jit():
    mesh = minijax.sharding.Mesh(minijax.devices(), "i")
    r = ref(minijax, np.arange(8.0))
    minijax.shard_map(twice, mesh=mesh, in_specs=minijax.P("i"), out_specs=minijax.P(),
                      check_vma=False)(r)
    assert np.array_equal(r[...], 2 * np.arange(8.0))


def test_contents_that_differ_need_a_spec():
    def number(a):
        a[...] = minijax.lax.axis_index("i") * 1.0

    mesh = minijax.make_mesh((8,), ("i",))
    f = minijax.shard_map(number, mesh=mesh, in_specs=minijax.P(), out_specs=None)
    with pytest.raises(ValueError, match="may differ along"):
        minijax.jit(f)(ref(minijax))


def test_results_that_differ_need_a_spec():
    def number(x):
        r = minijax.new_ref(0.0)
        r[...] = minijax.lax.axis_index("i") * 1.0
        return r[...]

    mesh = minijax.make_mesh((8,), ("i",))
    f = minijax.shard_map(number, mesh=mesh, in_specs=minijax.P(), out_specs=minijax.P())
    with pytest.raises(ValueError, match="may differ along"):
        minijax.jit(f)(1.0)


@in_both
def test_a_reference_beside_an_array_that_was_put_somewhere(jx):
    r, x = ref(jx), jx.device_put(jx.numpy.float32(3.0), jx.devices()[0])
    jx.jit(lambda r, x: r.__setitem__(Ellipsis, r[...] + x))(r, x)
    return r[...]


def test_primitives_of_references_are_public():
    both(lambda jx: lambda: sorted(name for name in dir(__import__(
        f"{jx.__name__}.extend.core.primitives", fromlist="x")) if name in ("get_p", "swap_p")))
