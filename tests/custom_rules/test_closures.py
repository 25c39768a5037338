"""Rules that run when a jaxpr is transformed, and what they close over.

A value that only dead code reads does no harm, although its transformation has finished, or waits
for the rule. JAX drops such code in most places; here it is dropped in all of them.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minijax.custom_rules.vjp import CustomVJPException
from minijax.errors import UnexpectedTracerError
from tests.oracle import both, in_both

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


@pytest.mark.daily(3)
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


@in_both
def test_a_rule_still_sees_what_is_not_traced(jx):
    """Residuals that are Python numbers stay concrete, and so do zeros that are symbols."""
    @jx.custom_vjp
    def f(x, y):
        return x * y

    def fwd(x, y):
        return x.value * y.value, (True, x.value, y.value)

    def bwd(res, ct):
        flag, x, y = res
        return (ct * y if flag else None), ct * x

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return jx.jit(jx.grad(lambda x: jx.lax.scan(lambda c, _: (f(c, x), None), x, None, 2)[0]))(np.float32(1.5))


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
@in_both
def test_rules_that_close_over_tracers_of_outer_transformations(jx, call, rules, outer):
    """They are not differentiated, so the rule may read them."""
    names = {"jax": jx, "jnp": jx.numpy}

    def slope(w):
        g = function_with_rules(jx, rules, w)
        return jx.grad(lambda x: eval(CALLS[call], names)(x, g))(X)

    return eval(OUTER[outer], {**names, "slope": slope, "X": X,
                               "W": np.array([1.5, -2.0], np.float32)})


DEAD_RESULTS = {
    "scan": "jax.lax.scan(lambda c, y: (g(c), y * 2), x[0], x)[1]",
    "two carries": "jax.lax.scan(lambda c, y: ((g(c[0]), y * c[1]), c[1]), (x[0], x[1]), x)[1]",
    "rounded": "jax.lax.scan(lambda c, y: (jnp.round(g(c)), y * 2), x[0], x)[1]",
    "fori": "jax.lax.fori_loop(0, 2, lambda i, c: (g(c[0]), c[1] * 2), (x, x))[1]",
    "cond": "jax.lax.cond(x[1] > 0, lambda a: (g(a), a), lambda a: (a, a), x)[1]",
    "jit": "jax.jit(lambda a: (g(a), a * 2))(x)[1]",
    "nested": "jax.lax.scan(lambda c, y: (jax.jit(g)(c), jax.lax.map(lambda z: (g(z), z), x)[1]), x[0], x)[1]",
}  # fmt: skip


@pytest.mark.parametrize("call", DEAD_RESULTS)
@in_both
def test_dead_results_of_custom_vjp_functions_in_jitted_forward_mode(jx, call):
    """Forward mode cannot compute their tangents, and need not."""
    g = function_with_rules(jx, BWD, 0.0)
    f = eval(f"lambda x: {DEAD_RESULTS[call]}", {"jax": jx, "jnp": jx.numpy, "g": g})
    x = X
    return jx.jit(lambda x: jx.jvp(f, (x,), (x,)))(x)


@pytest.mark.parametrize(("call", "transformed"), [
    ("jax.lax.scan(lambda c, y: (jnp.round(g(c)), y * 2), x[0], x)[1]", "jax.jit(jax.jacfwd(f))(x) @ x"),
    ("jax.lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, g(c[1]), c[2] * 2), (0, x, x))[2]",
     "jax.jit(lambda x: jax.jvp(f, (x,), (x,)))(x)[1]"),
])  # fmt: skip
def test_dead_results_of_custom_vjp_functions_that_jax_keeps(call, transformed):
    """JAX refuses these."""
    import minijax as mj

    g = function_with_rules(mj, BWD, 0.0)
    names = {"jax": mj, "jnp": mj.numpy, "g": g, "x": X}
    names["f"] = eval(f"lambda x: {call}", names)
    np.testing.assert_array_equal(eval(transformed, names), 2 * X)


@pytest.mark.parametrize("live", ["jax.lax.scan(lambda c, y: (g(c), c), x[0], x)[1]",
                                  "jax.jit(lambda a: (g(a), a * 2))(x)[0]"])
def test_live_results_of_custom_vjp_functions_in_jitted_forward_mode(live):
    def program(jx):
        g = function_with_rules(jx, BWD, 0.0)
        f = eval(f"lambda x: {live}", {"jax": jx, "g": g})
        return lambda x: jx.jit(lambda x: jx.jvp(f, (x,), (x,)))(x)

    both(program, X, raises=TypeError)


@pytest.mark.parametrize("result", [0, 1])
def test_a_dead_rule_that_closes_over_a_value_of_the_loop(result):
    """The tangent of `c` reads a value of a trace that is over. Under `jit` nothing reads `c`."""
    def program(jx):
        def body(c, y):
            g = jx.custom_jvp(lambda a: a * 1.0)
            y_sum = y.sum()
            g.defjvp(lambda p, t: (p[0] * 1.0, y_sum * t[0]))
            out = g(c)
            return jx.numpy.where(out > 1, c, -c) + out * 0.1, y

        f = lambda x: jx.lax.scan(body, x, jx.numpy.stack([x, x]), reverse=True)[result]
        return lambda x: jx.jit(lambda x: jx.jvp(f, (x,), (x,)))(x)

    if result:
        both(program, X)
    else:
        import minijax as mj

        with pytest.raises(UnexpectedTracerError):
            program(mj)(X)


@pytest.mark.parametrize("derivative", [
    "jax.jit(jax.jacfwd(jax.jacfwd(f)))", "jax.jit(jax.hessian(lambda x: f(x).sum()))",
    "jax.jit(jax.grad(lambda x: jax.jvp(f, (x,), (X,))[1].sum()))"])
@pytest.mark.parametrize("call", [
    "jax.lax.scan(lambda c, y: (make(y)(c), y), x[0], x)[0]", "jax.lax.map(lambda y: make(y)(y), x)",
    "jax.jit(lambda a: make(a)(x * 2))(x)", "jax.lax.cond(x[1] > 0, lambda a: make(a)(x), lambda a: a, x)",
    "jax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, make(c[1])(c[1])), (0, x))[1]",
])  # fmt: skip
def test_second_derivatives_do_not_lose_what_a_rule_closed_over(call, derivative):
    """Its first derivative may be dead code, its second would come out as zero."""
    import minijax as mj

    def make(w):
        return function_with_rules(mj, ("lambda a: a * 2", "lambda p, t: (p[0] * 2, w * t[0])"), w)

    names = {"jax": mj, "jnp": mj.numpy, "make": make, "X": X}
    f = names["f"] = eval(f"lambda x: {call}", names)
    assert f(X).size
    with pytest.raises((UnexpectedTracerError, ValueError)):
        eval(derivative, names)(X)


def test_linear_transpose_of_a_call_that_computes_known_values_too():
    def program(jx):
        def f(a):
            return jx.jit(lambda b: jx.numpy.sin(b) * b)(a) * a

        def transposed(x, ct):
            g = jx.jit(lambda t: jx.jvp(jx.jit(f), (x,), (t,))[1])
            return jx.linear_transpose(g, x)(ct), jx.vmap(jx.linear_transpose(g, x))(jx.numpy.stack([ct, ct]))

        return lambda x: (transposed(x, x), jx.jit(transposed)(x, x))

    both(program, X)


@pytest.mark.parametrize("bwd", ["lambda res, ct: (res * 2,)", "lambda res, ct: (res * 2 + ct,)"])
@pytest.mark.parametrize("call", DEAD_RESULTS)
def test_affine_rules_of_dead_results(call, bwd):
    """A rule that does not map zero to zero: where it runs, it shows in the gradient."""
    def program(jx):
        g = function_with_rules(jx, ("lambda a: a * 1.0", "lambda a: (a * 1.0, a)", bwd), 0.0)
        f = eval(f"lambda x: {DEAD_RESULTS[call]}", {"jax": jx, "jnp": jx.numpy, "g": g})
        pull = lambda x: jx.vjp(f, x)[1](f(x))
        return lambda x: (pull(x), jx.jit(pull)(x), jx.linear_transpose(
            lambda t: jx.jvp(f, (x,), (t,))[1], x)(f(x)))

    raises = ValueError if call == "while" else None
    both(program, X, raises=raises)


# Functions of `x` and `g`, in whose transformations the rules run after another trace has ended.
LATER = {
    "jit": ("{}", "jax.grad(jax.jit(f))"),
    "jit of vmap": ("jax.vmap({})(jnp.stack([x, x]))[1]", "jax.grad(jax.jit(f))"),
    "checkpoint of vmap": ("jax.vmap(jax.checkpoint({}))(jnp.stack([x, x]))[1]", "jax.grad(jax.checkpoint(f))"),
    "jit of checkpoint": ("jax.lax.fori_loop(0, 2, lambda i, c: jax.checkpoint({})(c), x)", "jax.grad(jax.jit(f))"),
    "jit of map": ("jax.lax.map(jax.checkpoint({}), jnp.stack([x, x]))[0]", "jax.grad(jax.jit(f))"),
    "cond": ("jax.lax.cond(x > 0, {0}, {0}, x)", "jax.jacfwd(jax.grad(f))"),
    "Hessian of a loop": ("jax.lax.fori_loop(0, 2, lambda i, c: {}(c), x)", "jax.hessian(f)"),
    "known scan": ("jax.grad(lambda b: jax.lax.scan(lambda c, _: ({}(c), None), b, None, length=2)[0])(x)",
                   "jax.grad(jax.jit(f))"),
}  # fmt: skip
USES = {"dead": "(h(a), a * 2)[1]", "stopped": "jax.lax.stop_gradient(h(a)) + a * 2"}
RULES_WITH_X = {
    "jvp": "lambda p, t: (jnp.sin(*p), x * t[0])", "jvps": "lambda t, out, a: x * t",
    "fwd": ("lambda a: (jnp.sin(a) + x, a)", "lambda res, ct: (ct,)"),
    "bwd": ("lambda a: (jnp.sin(a), a)", "lambda res, ct: (ct * x,)"),
    "residual": ("lambda a: (jnp.sin(a), x)", "lambda res, ct: (ct * res,)"),
}  # fmt: skip


@pytest.mark.daily(3)
@pytest.mark.parametrize(("later", "rules", "use"), [
    case for case in itertools.product(LATER, RULES_WITH_X, USES)
    if case[1:] != ("fwd", "stopped") and case != ("cond", "jvps", "stopped")])  # JAX refuses these
def test_dead_rules_that_close_over_the_argument(later, rules, use):
    call, transformed = LATER[later]

    def program(jx):
        def f(x):
            scope = {"jax": jx, "jnp": jx.numpy, "x": x}
            given = RULES_WITH_X[rules]
            h = scope["h"] = (jx.custom_jvp if type(given) is str else jx.custom_vjp)(jx.numpy.sin)
            define = h.defjvps if rules == "jvps" else h.defjvp if type(given) is str else h.defvjp
            define(*[eval(rule, scope) for rule in ([given] if type(given) is str else given)])
            g = scope["g"] = eval(f"lambda a: {USES[use]}", scope)
            return eval(call.format("g"), scope) if later != "jit" else g(x)

        return lambda x: eval(transformed, {"jax": jx, "f": f})(x)

    both(program, 0.5)


@pytest.mark.parametrize("use", ["(h(a), a * 2)[1]", "h(a)"])
def test_a_dead_derivative_of_custom_vjp_in_the_branch_of_a_call(use):
    def program(jx):
        h = jx.custom_vjp(jx.numpy.sin)
        h.defvjp(lambda a: (jx.numpy.sin(a), a), lambda res, ct: (ct,))
        branch = eval(f"lambda a: {use}", {"h": h})
        f = jx.checkpoint(lambda x: jx.lax.cond(x > 0, branch, lambda a: a, x))
        return lambda x: jx.jvp(f, (x,), (x,))

    both(program, 0.5, raises=TypeError if use == "h(a)" else None)


def _returns_captured(jx, decorator):
    """A function of `x` in which one with a rule returns `x` itself, and not its argument."""
    def f(x):
        inner = decorator(lambda y: x)
        if decorator is jx.custom_jvp:
            inner.defjvp(lambda primals, tangents: (x, tangents[0]))
        else:
            inner.defvjp(lambda y: (x, None), lambda _, ct: (ct,))
        return inner(x) * 2
    return f


@pytest.mark.parametrize("name", ["custom_jvp", "custom_vjp"])
def test_the_shapes_of_what_cannot_run(name):
    """A value of a derivative that reaches the program below it: harmless, if only types count."""
    def program(jx):
        f = _returns_captured(jx, getattr(jx, name))
        return lambda: [jx.eval_shape(jx.grad(f), 1.0), jx.eval_shape(jx.grad(jx.grad(f)), 1.0)]

    both(program)
    both(lambda jx: jx.jit(jx.grad(_returns_captured(jx, getattr(jx, name)))), 1.0,
         raises="UnexpectedTracerError")
