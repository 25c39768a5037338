"""Eager `shard_map`: bodies are traced, and compiled once; batches that are split."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both, subject
from tests.parallel.collectives.test_collectives_on_devices import mesh

V = np.arange(8, dtype=np.float32)


def words(jx):
    """The names of the rows. `f` doubles, or negates if the sum of all shards is not positive."""
    def over(f, spec=None, **options):
        spec = jx.P("i") if spec is None else spec
        return jx.shard_map(f, mesh=mesh(jx, 4), in_specs=spec, out_specs=jx.P("i"), **options)

    def total(x):
        return jx.lax.psum(x.sum(), "i")

    def body(x):
        return 2 * x if total(x) > 0 else -x

    def doubled_to(limit):
        def f(x):
            while total(x) < limit:
                x = 2 * x
            return x
        return f

    return {"jx": jx, "lax": jx.lax, "np": np, "P": jx.P, "V": V, "over": over, "total": total,
            "body": body, "f": over(body), "doubled_to": doubled_to}


ROWS = [
    "f(V)", "over(doubled_to(200.0))(V)", "over(lambda x: x * int(total(x)))(V)",
    "over(lambda x: x if x.sum() > 0 else -x)(V)", "over(body, check_vma=False)(V)",
    "jx.jit(f)(V)", "jx.vmap(f)(np.stack([V, V]))", "jx.grad(lambda x: (f(x) ** 2).sum())(V)",
]


@pytest.mark.parametrize("row", ROWS)
def test_python_takes_no_branch_by_a_value(row):
    with pytest.raises(minijax.errors.ConcretizationTypeError):
        eval(row, words(minijax))


def test_a_body_without_branches_is_compiled_once():
    traced = []
    f = words(subject)["over"](lambda x: traced.append(0) or 2 * x)
    f(V), f(-V)
    assert len(traced) == 1


BATCHES = """
jx.vmap(jx.jit(jx.grad(apart)), spmd_axis_name='i')(put(M))
jx.jit(jx.vmap(jx.grad(jx.jit(apart)), spmd_axis_name='i'))(put(M))
jx.vmap(lambda x: lax.scan(lambda c, _: (c + jx.grad(apart)(c), None), x, None, 2)[0], spmd_axis_name='i')(put(M))
jx.grad(lambda x: jx.vmap(jx.jit(apart), spmd_axis_name='i')(x).sum())(put(M))
jx.vmap(jx.jit(jx.jacfwd(jx.grad(apart))), spmd_axis_name='i')(put(M))
jx.vmap(double)(typed(M))
jx.jit(jx.vmap(double))(typed(M))
jx.vmap(double, 1, 1)(typed(M, 'j', 'i'))
jx.jit(jx.vmap(jx.jit(jx.grad(lambda x: double(x).sum()))))(typed(M))
"""
M = np.arange(32, dtype=np.float32).reshape(4, 8)


@pytest.mark.parametrize("row", BATCHES.strip().splitlines())
@in_both
def test_split_batches(jx, row):
    """Under `vmap` of a batch that is split, values and shardings of results; `jit` between."""
    grid, typed = mesh(jx, 4, 2), jx.make_mesh((4, 2), ("i", "j"))
    scope = words(jx) | {
        "M": M, "put": lambda x: jx.device_put(x, jx.NamedSharding(grid, jx.P("i", "j"))),
        "typed": lambda x, *axes: jx.device_put(
            x, jx.NamedSharding(typed, jx.P(*axes or ("i", "j")))),
        "apart": jx.shard_map(lambda x: jx.numpy.sin(x.sum()), mesh=grid, in_specs=jx.P("j"),
                              out_specs=jx.P(), check_vma=False),
        "double": jx.shard_map(lambda x: 2 * x, mesh=typed, in_specs=jx.P("j"),
                               out_specs=jx.P("j"))}
    out = eval(row, scope)
    return out, str(out.sharding.spec)


@pytest.mark.parametrize("returned", ["np.ones(1, 'f')", "lax.psum(g, 'i')", "2 * g",
                                      "g * lax.axis_index('i')"])
@pytest.mark.parametrize("spec", ["P('i')", "P()"])
def test_cotangents_of_custom_rules_vary_as_their_arguments(returned, spec):
    def program(jx):
        scope = words(jx) | {"V": V[:4] if spec == "P('i')" else V[:1]}
        f = jx.custom_vjp(lambda x: 3 * x)
        f.defvjp(lambda x: (f(x), None), lambda _, g: (eval(returned, scope | {"g": g}),))
        mapped = jx.shard_map(f, mesh=mesh(jx, 4), in_specs=eval(spec, scope),
                              out_specs=eval(spec, scope))
        return lambda: jx.grad(lambda x: mapped(x).sum())(scope["V"])

    fits = (returned == "2 * g") or (spec == "P()") == ("axis_index" not in returned)
    both(program, raises=None if fits else ValueError)
