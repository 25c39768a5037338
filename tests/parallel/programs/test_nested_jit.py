"""Jitted functions with shardings under other transformations: parameters of the equation `jit`."""

from __future__ import annotations

import pytest

from tests.oracle import in_both
from tests.parallel.placement_programs import same, surroundings, told

FUNCTIONS = {
    "f": "jax.jit(lambda a: a * 2, in_shardings=named('x'), out_shardings=r)",
    "i": "jax.jit(lambda a: jnp.sin(a), in_shardings=named('x'))",
    "o": "jax.jit(lambda a: jnp.sin(a), out_shardings=named('x'))",
    "two": "jax.jit(lambda a, b: {'s': a + b, 'd': a - b}, in_shardings=(s, r), "
           "out_shardings={'s': s, 'd': None})",
    "kept": "jax.jit(lambda a: (a, jnp.sin(a)), out_shardings=(s, None))",
    "inlined": "jax.jit(lambda a: a * 2, in_shardings=s, inline=True)",
    "on": "jax.jit(lambda a: a * 2, device=d[1])",
    "one": "jax.jit(lambda a: a * 2, in_shardings=SDS(d[1]))",
    "explicit": "jax.jit(lambda a: a * 2, in_shardings=NS(e, P('x')), out_shardings=NS(e, P()))",
}


def names(jx):
    found = surroundings(jx)
    found |= {"e": jx.make_mesh((8,), ("x",))}
    functions = {name: eval(text, found) for name, text in FUNCTIONS.items()}
    return found | functions


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("program", """
f(x2)
i(x2)
o(x2)
two(x2, x2)
inlined(x2)
on(x2)
explicit(x2)
explicit(put(x2, NS(e, P('x'))))
f(f(x2))
jax.jit(lambda a: f(a) + f(a))(x2)
jax.grad(lambda a: f(a).sum())(x2)
jax.grad(lambda a: i(a).sum())(x2)
jax.grad(lambda a, b: (two(a, jnp.sin(b))['d'] ** 2).sum(), (0, 1))(x2, x2)
jax.grad(lambda a: two(a, a)['s'].sum())(x2)
jax.jvp(f, (x2,), (x2,))
jax.vjp(o, x2)[1](x2)
jax.linearize(f, x2)[1](x2)
jax.linearize(o, x2)[1](x2)
jax.linearize(kept, x2)[1](x2)
jax.checkpoint(f)(x2)
jax.vmap(f, in_axes=1)(jnp.ones((8, 3, 2)))
jax.vmap(f, in_axes=0)(jnp.ones((3, 8, 2)))
jax.vmap(f, in_axes=0, out_axes=2)(jnp.ones((3, 8, 2)))
jax.vmap(f, in_axes=2, spmd_axis_name='y')(jnp.ones((8, 2, 4)))
jax.vmap(on)(x2)
jax.vmap(one)(x2)
lax.scan(lambda c, _: (f(c), None), x2, None, length=2)[0]
lax.cond(True, o, i, x2)
lax.while_loop(lambda c: (c < 9).all(), o, x2)
""".strip().splitlines())  # fmt: skip
@in_both
def test_the_jaxpr(jx, program):
    env = names(jx)
    return jx.make_jaxpr(eval(f"lambda x2: {program}", env))(env["x2"])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("program", """
jax.vmap(on)(x2)
jax.vmap(on)(put(x2, d[2]))
jax.vmap(one)(x2)
jax.grad(lambda a: on(a).sum())(put(x2, d[2]))
jax.jit(lambda a: on(a) + 1)(x2)
jax.jit(lambda a: on(a) + 1)(put(x2, d[1]))
jax.jit(lambda a: on(a) + 1)(put(x2, d[2]))
jax.jvp(on, (x2,), (x2,))[1]
i(put(x2, r))
jax.vmap(i, in_axes=1)(put(x2, r))
jax.jvp(i, (put(x2, r),), (x2,))[1]
jax.jvp(i, (put(x2, s),), (put(x2, r),))[1]
jax.grad(lambda a: i(a).sum())(put(x2, r))
jax.jit(lambda a: i(a))(put(x2, r))
jax.jit(lambda: i(put(x2, r)))()
jax.jit(lambda a: (i(a), a))(x2)[1]
jax.jit(o)(put(x2, d[1]))
jax.jit(o)(put(x2, r))
jax.jit(f)(x2)
jax.grad(jax.checkpoint(lambda a: o(jnp.sin(a)).sum(), policy=jax.checkpoint_policies.everything_saveable))(x2)
jax.jit(lambda a: two(a, a))(x2)
jax.jit(explicit)(x2)
jax.jit(lambda a: jax.jit(lambda k: k, out_shardings=s)(a))(jax.random.split(key, 8))
jax.jit(i)(jnp.ones((7, 2)))
jax.jit(jax.vmap(f, in_axes=2, spmd_axis_name='x'))(jnp.ones((8, 2, 4)))
jax.jit(jax.vmap(f, in_axes=2, spmd_axis_name='y'))(jnp.ones((8, 2, 4)))
jax.jit(jax.vmap(one, spmd_axis_name='y'))(x2)
""".strip().splitlines())  # fmt: skip
@in_both
def test_what_it_computes_and_where(jx, program):
    return told(jx, eval(program, names(jx)))


MIXED = ("(lambda m: jax.jit(lambda a: jax.jit(lambda a: a * 2, out_shardings=NS(m, P({spec})))(a)"
         "{after})(put(x2, NS(m, P('e')))))(jax.make_mesh((2, 4), ('a', 'e'), "
         "(AxisType.Auto, AxisType.Explicit)))")


@pytest.mark.parametrize("spec", ["'a'", "('a', 'e')", ""])
def test_beside_explicit_axes(spec):
    same(MIXED.format(spec=spec, after=" + 1"))


def test_disabled():
    same("within(jax.disable_jit(), lambda: jax.jit(lambda a: a * 2, out_shardings=s)(x))")


@pytest.mark.parametrize("program", """
lambda a, b: (a, b * 2, b)
lambda a, b: (a.sum(), b * 2, a + b)
lambda a, b: (a, jnp.ones(8))
lambda a, b: (a, jnp.ones(()))
""".strip().splitlines())
@pytest.mark.parametrize("mesh", [
    "jax.make_mesh((8,), ('x',))",
    "jax.make_mesh((2, 4), ('a', 'x'), (AxisType.Auto, AxisType.Explicit))",
])
def test_where_results_lie_whose_types_name_no_mesh(program, mesh):
    same(f"(lambda m: jax.jit({program})(put(x2, NS(m, P('x'))), x2 + 1))({mesh})")


@pytest.mark.parametrize("program", ["a * 2", "a.sum()", "a @ a.T", "jnp.ones(8)"])
def test_where_results_lie_of_arguments_on_explicit_axes(program):
    same(f"jax.jit(lambda a: {program}, in_shardings=NS(jax.make_mesh((8,), ('x',)), P('x')))(x2)")
