"""Rules that run when a jaxpr is transformed, and what they close over.

A value that only dead code reads does no harm, although its transformation has finished, or waits
for the rule. JAX drops such code in most places; here it is dropped in all of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from minijax.custom_rules.vjp import CustomVJPException
from minijax.errors import UnexpectedTracerError
from tests.oracle import both

# Functions of `a`, with the value 2 a and the derivative 2, that close over `w`.
DEAD = {
    "jvp: function": ("lambda a: (jnp.dot(a, w), a * 2)[1]", "lambda p, t: (g(*p), t[0] * 2)"),
    "jvp: rule": ("lambda a: a * 2", "lambda p, t: (g(*p), (jnp.dot(p[0], w), t[0] * 2)[1])"),
    "jvp: jit": ("lambda a: jax.jit(lambda b: (jnp.dot(b, w), b * 2)[1])(a)",
                 "lambda p, t: (g(*p), t[0] * 2)"),
    "vjp: fwd": ("lambda a: a * 2", "lambda a: ((jnp.dot(a, w), a * 2)[1], a)",
                 "lambda res, ct: (ct * 2,)"),
}
BWD = ("lambda a: a * 2", "lambda a: (a * 2, a)", "lambda res, ct: ((jnp.dot(ct, w), ct * 2)[1],)")

# Functions of `x` that call such a function `make(w)`.
CALLS = {
    "scan": "lambda x, g: jax.lax.scan(lambda c, _: (g(c), None), x, None, length=2)[0].sum()",
    "fori": "lambda x, g: jax.lax.fori_loop(0, 2, lambda i, c: g(c), x).sum()",
    "map": "lambda x, g: jax.lax.map(g, jnp.stack([x, x])).sum()",
    "cond": "lambda x, g: jax.lax.cond(x.sum() > 1, g, lambda a: a, x).sum()",
    "jit": "lambda x, g: jax.jit(lambda a: g(a) * a)(x).sum()",
    "checkpoint": "lambda x, g: jax.checkpoint(lambda a: g(a) * a)(x).sum()",
    "nested": "lambda x, g: jax.lax.scan(lambda c, _: (jax.lax.cond("
              "c.sum() > 0, jax.jit(g), lambda b: b, c), None), x, None, length=2)[0].sum()",
    "of the body": "lambda x, g: jax.lax.scan(lambda c, y: (c + make(y)(y).sum(), None),"
                   " x.sum(), jnp.stack([x, x]))[0]",
}  # fmt: skip
SLOPES = {"scan": 4, "fori": 4, "map": 4, "cond": 2, "nested": 4, "of the body": 5}
X = np.array([0.0, 1.0, 2.0], np.float32)


def function_with_rules(jx, rules, w):
    """The function `rules[0]` with the other ones as its rules. They close over `w`."""
    scope = {"jax": jx, "jnp": jx.numpy, "w": w}
    make = jx.custom_jvp if len(rules) == 2 else jx.custom_vjp
    g = scope["g"] = make(eval(rules[0], scope))
    (g.defjvp if len(rules) == 2 else g.defvjp)(*[eval(rule, scope) for rule in rules[1:]])
    return g


def program_of(rules, call):
    """`jx -> f`, where `f` calls the function with these rules."""
    def program(jx):
        names = {"jax": jx, "jnp": jx.numpy}

        def make(w):
            return function_with_rules(jx, rules, w)

        f = eval(CALLS[call], {**names, "make": make})
        return lambda x: f(x, make(x))

    return program


@pytest.mark.parametrize("rules", DEAD)
@pytest.mark.parametrize("call", ["scan", "of the body"])
def test_dead_code_in_a_loop(rules, call):
    program = program_of(DEAD[rules], call)
    both(lambda jx: jx.grad(program(jx)), X)
    both(lambda jx: jx.jit(jx.grad(program(jx))), X)
    both(lambda jx: jx.jacfwd(jx.grad(program(jx))), X)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("rules", [*DEAD, "vjp: bwd"])
def test_dead_code_anywhere(rules, call):
    """JAX refuses some of these."""
    import minijax as mj

    f = program_of(DEAD.get(rules, BWD), call)(mj)
    slope = np.full(3, SLOPES[call]) if call in SLOPES else 4 * X
    np.testing.assert_allclose(mj.grad(f)(X), slope, rtol=1e-6)
    np.testing.assert_allclose(mj.jit(mj.grad(f))(X), slope, rtol=1e-6)
    np.testing.assert_allclose(mj.vmap(mj.grad(f))(np.stack([X, X]))[1], slope, rtol=1e-6)
    if rules.startswith("jvp"):
        np.testing.assert_allclose(mj.jvp(f, (X,), (X,))[1], (slope * X).sum(), rtol=1e-6)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("rules", [
    ("lambda a: a * w", "lambda p, t: (g(*p), t[0] * 2)"),
    ("lambda a: a * 2", "lambda p, t: (g(*p), t[0] * w)"),
    ("lambda a: a * w", "lambda a: (g(a), a)", "lambda res, ct: (ct * 2,)"),
    ("lambda a: a * 2", "lambda a: (a * w, a)", "lambda res, ct: (ct * 2,)"),
    ("lambda a: a * 2", "lambda a: (a * 2, a)", "lambda res, ct: (ct * w,)"),
])  # fmt: skip
def test_live_code_is_refused(rules, call):
    """Its derivative with respect to `w` would be lost."""
    import minijax as mj

    with pytest.raises((UnexpectedTracerError, CustomVJPException)):
        mj.value_and_grad(program_of(rules, call)(mj))(X)


@pytest.mark.parametrize("call", CALLS)
def test_dead_code_in_a_rule_of_custom_vmap(call):
    import minijax as mj

    def make(w):
        g = mj.custom_batching.custom_vmap(lambda a: a * 2)
        g.def_vmap(lambda n, batched, a: ((mj.numpy.dot(a, w), a * 2)[1], True))
        return g

    names = {"jax": mj, "jnp": mj.numpy, "make": make}
    f = eval(CALLS[call], names)
    plain = eval(CALLS[call], {**names, "make": lambda w: lambda a: a * 2})
    xs = np.stack([X, 2 * X])
    np.testing.assert_allclose(mj.vmap(lambda x: f(x, make(x)))(xs),
                               mj.vmap(lambda x: plain(x, lambda a: a * 2))(xs))


def test_a_rule_still_sees_what_is_not_traced():
    """Residuals that are Python numbers stay concrete, and so do zeros that are symbols."""
    def program(jx):
        @jx.custom_vjp
        def f(x, y):
            return x * y

        def fwd(x, y):
            return x.value * y.value, (True, x.value, y.value)

        def bwd(res, ct):
            flag, x, y = res
            return (ct * y if flag else None), ct * x

        f.defvjp(fwd, bwd, symbolic_zeros=True)
        return jx.jit(jx.grad(lambda x: jx.lax.scan(lambda c, _: (f(c, x), None), x, None, 2)[0]))

    both(program, np.float32(1.5))


OUTER = {
    "jit": "jax.jit(slope)(W[0])", "vmap": "jax.vmap(slope)(W)", "jit of vmap": "jax.jit(jax.vmap(slope))(W)",
    "scan": "jax.lax.scan(lambda s, w: (s + slope(w), None), 0 * X, W)[0]",
}  # fmt: skip


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("call, rules", [
    *((call, ("lambda a: jnp.sin(a) * w", "lambda p, t: (g(*p), t[0] * w * 3)"))
      for call in ("scan", "checkpoint", "map")),
    ("checkpoint", ("lambda a: jnp.sin(a) * w", "lambda a: (g(a), a)",
                    "lambda res, ct: (ct * w * jnp.cos(res),)")),
])  # fmt: skip
def test_rules_that_close_over_tracers_of_outer_transformations(call, rules, outer):
    """They are not differentiated, so the rule may read them."""
    def program(jx):
        names = {"jax": jx, "jnp": jx.numpy}

        def slope(w):
            g = function_with_rules(jx, rules, w)
            return jx.grad(lambda x: eval(CALLS[call], names)(x, g))(X)

        return lambda: eval(OUTER[outer], {**names, "slope": slope, "X": X,
                                           "W": np.array([1.5, -2.0], np.float32)})

    both(program)
