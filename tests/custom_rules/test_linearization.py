"""Linearization of calls, loops and branches in one step, against JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax import lax
from minijax.core.partial_eval import linearize_flat
from minijax.custom_rules.linearization import use_direct_linearize
from tests.counting import calls_in
from tests.oracle import in_both

# A rule whose tangent is not linear: with a constant part, or of nothing else.
RULES = {"constant": "lambda p, t: (p[0], p[0] * 2.0)",
         "affine": "lambda p, t: (p[0], p[0] * 2.0 + t[0])",
         "of one of two": "lambda p, t: (p[0], p[0] * t[0] + 0.0 * p[0] * 2.0)"}

ONE = np.float32(1.0)

CALLS = {
    "plain": "g(x)",
    "jit": "jax.jit(g)(x)",
    "nested jit": "jax.jit(jax.jit(lambda x: g(x) * 3.0))(x)",
    "a sum in jit": "jax.jit(lambda x: g(x) + x * x)(x)",
    "checkpoint": "jax.checkpoint(g)(x)",
    "a sum in checkpoint": "jax.checkpoint(lambda x: g(x) + x * x)(x)",
    "scan": "lax.scan(lambda c, _: (g(c), c), x, None, length=3)[0]",
    "a sum in scan": "lax.scan(lambda c, _: (g(c) + c, c), x, None, length=3)[0]",
    "a jit in scan": "lax.scan(lambda c, _: (jax.jit(lambda c: g(c) * 2.0)(c) + c, c), x, None, 3)[0]",
    "rows of scan": "lax.scan(lambda c, a: (c, g(a) + x), 0.0, jnp.arange(3.0) * x)[1].sum()",
    "cond": "lax.cond(x > 0, g, lambda x: x, x)",
    "both branches": "lax.cond(x > 0, g, g, x)",
    "fori_loop": "lax.fori_loop(0, 3, lambda i, c: g(c) + c, x)",
    "while_loop": "lax.while_loop(lambda c: c < 10, lambda c: g(c) + c, x)",
    "vmap": "jax.vmap(g)(jnp.ones(3) * x).sum()",
    "vmap in jit": "jax.jit(jax.vmap(lambda y: g(y) + y))(jnp.ones(3) * x).sum()",
    "shard_map": "jax.shard_map(lambda x: g(x) + x, mesh=jax.make_mesh((1,), 'i'), in_specs=P(), out_specs=P())(x)",
}  # fmt: skip


def function(jx, call, rule):
    g = jx.custom_jvp(lambda x: x)
    g.defjvp(eval(rule))
    names = {"jax": jx, "jnp": jx.numpy, "lax": jx.lax, "g": g, "P": jx.P}
    return eval(f"lambda x: {call}", names)


@pytest.mark.daily(3)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("call", CALLS)
@in_both
def test_tangents_that_depend_on_no_tangent(jx, call, rule):
    """Linearization takes them as zero, and forward mode trusts the rule."""
    f = function(jx, CALLS[call], RULES[rule])
    x = np.float32(3.0)
    outs = [jx.linearize(f, x)[1](ONE), jx.linearize(jx.jit(f), x)[1](ONE),
            jx.jit(lambda x: jx.linearize(f, x)[1](ONE))(x),
            jx.jvp(f, (x,), (ONE,))[1], jx.jvp(jx.jit(f), (x,), (ONE,))[1],
            jx.linearize(lambda x: jx.jvp(f, (x,), (ONE,))[1], x)[0]]
    return outs if call == "while_loop" else [*outs, jx.grad(f)(x), jx.jit(jx.grad(f))(x)]


X = np.array([0.3, 0.7, 1.1], np.float32)


@pytest.mark.daily(3)
@pytest.mark.parametrize("body", [
    "jnp.sin(x) * x", "jnp.tanh(x) * 2.0", "(x, x * 2.0, jnp.cos(x))", "jnp.where(x > 0, x, -x) ** 3",
    "lax.stop_gradient(x) * x", "(x.astype(int), x)", "jax.jit(lambda y: jnp.exp(y) * x)(x)",
    "jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))(x)", "jnp.zeros(3)", "jnp.arange(3.0) * x",
    "lax.scan(lambda c, a: (c * a, jnp.sin(c)), x, jnp.arange(2.0))", "jnp.pad(x, 1) * 0.5",
    "lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)", "jnp.prod(x)", "jnp.sort(x) * x[::-1]",
])
@pytest.mark.parametrize("derivative", [
    "jax.vjp(f, x)[1]", "jax.linearize(f, x)[1](x)", "jax.grad(total)(x)", "jax.jit(jax.grad(total))(x)",
    "jax.hessian(total)(x)", "jax.jvp(jax.grad(total), (x,), (x,))",
    "jax.vmap(jax.grad(total))(jnp.stack([x, x]))", "jax.grad(jax.checkpoint(total))(x)",
])
def test_the_switch_changes_no_jaxpr(body, derivative):
    """The two steps of chapter 7 give the same programs."""
    names = {"jax": minijax, "jnp": minijax.numpy, "lax": lax}

    def text():
        names["f"] = minijax.jit(eval(f"lambda x: {body}", names))
        names["total"] = lambda x: sum(
            y.sum() for y in minijax.tree.leaves(names["f"](x)) if y.dtype == "float32")
        program = eval(f"lambda x: {derivative}", names)
        return str(minijax.make_jaxpr(program)(X))

    with use_direct_linearize(False):
        expected = text()
    assert text() == expected


def test_a_call_is_traced_without_its_jvp():
    """It takes fewer calls to linearize a jitted function in one step."""
    def program():
        f = minijax.jit(lambda x: [x := lax.sin(x) * x for _ in range(20)][-1].sum())
        return minijax.make_jaxpr(minijax.grad(f))(X)

    program()
    direct = calls_in(program)
    with use_direct_linearize(False):
        program()
        assert direct < 0.9 * calls_in(program)


def test_literals_are_not_residuals():
    jaxpr = linearize_flat(lambda x: [minijax.jit(lambda x: x * 2.0)(x)], [X])[1]
    assert not jaxpr.consts


def test_the_switch_is_a_setting():
    g = function(minijax, "jax.jit(g)(x)", RULES["constant"])
    assert minijax.config.jax_use_direct_linearize
    try:
        minijax.config.update("jax_use_direct_linearize", False)
        assert float(minijax.linearize(g, 3.0)[1](1.0)) == 6.0
    finally:
        minijax.config.update("jax_use_direct_linearize", True)
    assert float(minijax.linearize(g, 3.0)[1](1.0)) == 0.0


@pytest.mark.parametrize("inside", ["jit", "checkpoint", "scan", "cond", "fori_loop"])
def test_what_has_no_reverse_mode_says_so_inside_of_calls(inside):
    def window(a):
        return lax.reduce_window(a, 0.0, lambda p, q: p + q * q, (2,), (1,), "VALID").sum()

    f = {"jit": minijax.jit(window), "checkpoint": minijax.checkpoint(window),
         "scan": lambda a: lax.scan(lambda c, _: (c + window(c), None), a, None, length=2)[0].sum(),
         "cond": lambda a: lax.cond(a.sum() > 0, window, minijax.numpy.sum, a),
         "fori_loop": lambda a: lax.fori_loop(0, 2, lambda i, c: c + window(c), a).sum()}[inside]
    with pytest.raises(ValueError, match="Linearization failed to produce known values for all output primals"):
        minijax.grad(f)(minijax.numpy.arange(4.0))
