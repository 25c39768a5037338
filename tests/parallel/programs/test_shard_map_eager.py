"""Eager `shard_map`: Python may branch on values that are the same on all devices, as in JAX."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import minijax
from tests.oracle import both, subject
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


ROWS = """
[f(V), f(-V), f(V), f(-V)]
over(doubled_to(200.0))(V)
over(lambda x: x * int(total(x)))(V)
over(lambda x: [1.0, 2.0, 3.0][lax.psum(lax.axis_index('i'), 'i') - 5] * x)(V)
over(lambda x: jx.grad(lambda y: jx.numpy.sin(y) if total(x) > 0 else -y)(2.0) * x)(V)
over(lambda x: x if jx.jit(total)(x) > 0 else -x)(-V)
over(lambda x, n: x * n if total(x) > 0 else -x, (P('i'), None))(V, 3)
over(lambda x, w: x * w if w.sum() > 0 else x, (P('i'), P()))(V, np.ones(2, 'f'))
jx.grad(lambda x: (f(x) ** 2).sum())(V)
jx.grad(lambda x: (f(x) ** 2).sum())(-V)
jx.jvp(f, (-V,), (V,))
jx.linearize(f, V)[1](V)
jx.grad(lambda s: over(lambda x: s * x if s * total(x) > 0 else -x)(V).sum())(-2.0)
""".strip().splitlines()

REFUSED = {
    "over(lambda x: x if x.sum() > 0 else -x)(V)": "TracerBoolConversionError",
    "over(body, check_vma=False)(V)": "TracerBoolConversionError",
    "jx.jit(f)(V)": "TracerBoolConversionError",
    "jx.vmap(f)(np.stack([V, V]))": "TracerBoolConversionError",
    "over(lambda x: x * float(total(x)))(V)": "ConcretizationTypeError",
}


@pytest.mark.parametrize("row", ROWS)
def test_branches(row):
    both(lambda jx: lambda: eval(row, words(jx)))


@pytest.mark.parametrize("row", list(REFUSED)[:-1])
def test_values_that_differ_or_are_not_known(row):
    both(lambda jx: lambda: eval(row, words(jx)), raises=REFUSED[row])


def test_nothing_is_kept_for_other_values():
    """Threads that call one function at once each take their own branch."""
    f, wrong = words(subject)["f"], []

    def call(sign):
        for _ in range(5):
            got = np.asarray(f(sign * V))
            if not np.array_equal(got, 2 * V if sign > 0 else V):
                wrong.append(got)

    threads = [threading.Thread(target=call, args=(sign,)) for sign in (1, -1, 1)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


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
def test_split_batches(row):
    """Under `vmap` of a batch that is split, values and shardings of results; `jit` between."""
    def program(jx):
        grid, typed = mesh(jx, 4, 2), jx.make_mesh((4, 2), ("i", "j"))
        scope = words(jx) | {
            "M": M, "put": lambda x: jx.device_put(x, jx.NamedSharding(grid, jx.P("i", "j"))),
            "typed": lambda x, *axes: jx.device_put(
                x, jx.NamedSharding(typed, jx.P(*axes or ("i", "j")))),
            "apart": jx.shard_map(lambda x: jx.numpy.sin(x.sum()), mesh=grid, in_specs=jx.P("j"),
                                  out_specs=jx.P(), check_vma=False),
            "double": jx.shard_map(lambda x: 2 * x, mesh=typed, in_specs=jx.P("j"),
                                   out_specs=jx.P("j"))}

        def run():
            out = eval(row, scope)
            return out, str(out.sharding.spec)

        return run

    both(program)


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


def test_what_a_body_prints_before_a_branch_appears_once_on_each_device():
    log: list = []

    def body(x):
        total = minijax.lax.psum(x.sum(), "i")
        minijax.debug.callback(lambda v: log.append(("first", float(v))), x.sum())
        if total > 0:
            x = minijax.jit(_double_and_tell(log))(x)
        return x + 1 if minijax.lax.psum(x.sum(), "i") > 100 else x

    f = minijax.shard_map(body, mesh=mesh(minijax, 2), in_specs=minijax.P("i"),
                          out_specs=minijax.P("i"))
    for _ in range(2):
        log.clear()
        f(np.arange(4, dtype=np.float32)).block_until_ready()
        minijax.effects_barrier()
        assert sorted(log) == [("first", 1.0), ("first", 5.0), ("inner", 2.0), ("inner", 10.0)]


def _double_and_tell(log):
    def double(x):
        minijax.debug.callback(lambda v: log.append(("inner", float(v))), 2 * x.sum())
        return 2 * x

    return double
