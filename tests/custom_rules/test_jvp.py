"""`custom_jvp`: its arguments, its errors, closures, symbolic zeros, eager values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both, subject


def make(jx, fun, jvp, nondiff=(), **kwargs):
    f = jx.custom_jvp(fun, nondiff_argnums=nondiff)
    f.defjvp(jvp, **kwargs)
    return f


def identity_rule(p, t):
    return p[0], t[0]


CALLS = {
    "no rule": lambda jx: jx.custom_jvp(lambda x: x)(1.0),
    "no pair": lambda jx: jx.jvp(make(jx, lambda x: x, lambda p, t: p[0]), (1.0,), (1.0,)),
    "trees of the two differ": lambda jx: jx.jvp(
        make(jx, lambda x: (x, x), lambda p, t: ((p[0], p[0]), t[0])), (1.0,), (1.0,)),
    "tree differs from the function's": lambda jx: jx.jvp(jx.jit(
        make(jx, lambda x: (x, x), lambda p, t: ([*p, *p], [*t, *t]))), (1.0,), (1.0,)),
    "shape differs from the function's": lambda jx: jx.jvp(jx.jit(
        make(jx, lambda x: x, lambda p, t: (jx.numpy.ones(3), jx.numpy.ones(3)))), (1.0,), (1.0,)),
    "tangent shape": lambda jx: jx.jvp(
        make(jx, lambda x: x, lambda p, t: (p[0], jx.numpy.ones(3))), (1.0,), (1.0,)),
    "tangent dtype": lambda jx: jx.jvp(
        make(jx, lambda x: x, lambda p, t: (p[0], jx.numpy.int32(3))), (1.0,), (1.0,)),
    "tangent shape of two": lambda jx: jx.jvp(
        make(jx, lambda x: (x, x), lambda p, t: ((*p, *p), (*t, jx.numpy.ones(3)))), (1.0,), (1.0,)),
    "keyword only": lambda jx: make(jx, lambda x, *, y: x, identity_rule)(1.0, y=2.0),
    "too many": lambda jx: make(jx, lambda x: x, identity_rule)(1.0, 2.0),
    "by keyword": lambda jx: make(jx, lambda x, y: x * y, identity_rule)(y=1.0, x=2.0),
    "default": lambda jx: jx.grad(make(jx, lambda x, y=3.0: x * y, lambda p, t: (
        p[0] * p[1], t[0] * p[1])))(2.0),
    "string argument": lambda jx: make(jx, lambda x: 1.0, identity_rule)("a"),
    "function argument": lambda jx: make(jx, lambda x: 1.0, identity_rule)(abs),
    "string result": lambda jx: make(jx, lambda x: "a", identity_rule)(1.0),
    "nondiff function": lambda jx: jx.grad(lambda x: make(
        jx, lambda f, x: f(x), lambda f, p, t: (f(p[0]), 5 * t[0]), (0,))(jx.numpy.sin, x))(1.0),
    "nondiff by name": lambda jx: jx.custom_jvp(
        lambda f, x: f(x), nondiff_argnames="f").nondiff_argnums,
    "nondiff by name, without a signature": lambda jx: jx.custom_jvp(max, nondiff_argnames="key"),
    "nondiff tracer": lambda jx: jx.jit(lambda n, x: make(
        jx, lambda n, x: n * x, lambda n, p, t: (n * p[0], n * t[0]), (0,))(n, x))(2.0, 3.0),
    "nondiff tracer, differentiated": lambda jx: jx.grad(lambda n: make(
        jx, lambda n, x: n * x, lambda n, p, t: (n * p[0], n * t[0]), (0,))(n, 2.0))(3.0),
    "defjvps with nondiff": lambda jx: jx.custom_jvp(
        lambda f, x: f(x), nondiff_argnums=(0,)).defjvps(None),
    "linear_transpose": lambda jx: jx.linear_transpose(
        make(jx, lambda x: 2 * x, identity_rule), 1.0)(3.0),
    "integer argument": lambda jx: jx.grad(make(
        jx, lambda x, n: x * n, lambda p, t: (p[0] * p[1], t[0] * 7)))(1.0, 2),
    "integer result": lambda jx: jx.jvp(make(
        jx, lambda x: (x, 3), lambda p, t: ((p[0], 3), (t[0], np.zeros((), jx.dtypes.float0)))),
        (np.float32(1),), (np.float32(2),))[0],
    "part of a rule": lambda jx: jx.grad(lambda x: jx.jit(make(
        jx, lambda x: (x, 2 * x), lambda p, t: ((p[0], 2 * p[0]), (t[0], 5 * t[0]))))(x)[1])(2.0),
    "closed-over array": lambda jx: jx.make_jaxpr(make(
        jx, lambda x: x + np.arange(3.0), lambda p, t: (p[0] + np.arange(3.0), t[0] + np.zeros(3))
    ))(1.0),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_as_in_jax(call):
    both(lambda jx: lambda: CALLS[call](jx))


def test_python_sees_eager_values():
    f = make(subject, lambda x: x * 2 if x > 0 else x, lambda p, t: (f(*p), 9 * t[0] if p[0] > 0
                                                                      else t[0]))
    assert f(3.0) == 6.0
    assert subject.grad(f)(3.0) == 9.0
    assert subject.grad(f)(-3.0) == 1.0


def test_an_error_points_at_the_users_rule():
    def rule(p, t):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError) as caught:
        subject.grad(make(subject, lambda x: x, rule))(1.0)
    assert caught.traceback[-1].name == "rule"


@pytest.mark.parametrize("transform", ["jit", "vmap", "jvp", "grad", "jit of grad", "grad of vmap",
                                       "vmap of grad"])
@pytest.mark.parametrize("argument", ["constant", "same"])
def test_closures_over_tracers(transform, argument):
    """Refused if they are differentiated, else handled."""
    def program(jx):
        def closing(x):
            g = jx.custom_jvp(lambda y: x * y)
            g.defjvps(lambda t, out, y: t * 3.0)
            return g(2.0 if argument == "constant" else x)

        xs = jx.numpy.arange(3.0)
        return {
            "jit": lambda: jx.jit(closing)(3.0),
            "vmap": lambda: jx.vmap(closing)(xs),
            "jvp": lambda: jx.jvp(closing, (3.0,), (1.0,)),
            "grad": lambda: jx.grad(closing)(3.0),
            "jit of grad": lambda: jx.jit(jx.grad(closing))(3.0),
            "grad of vmap": lambda: jx.grad(lambda x: jx.vmap(closing)(x).sum())(xs),
            "vmap of grad": lambda: jx.vmap(jx.grad(closing))(xs),
        }[transform]

    both(program)


@in_both
def test_symbolic_zeros(jx):
    seen = []

    def rule(p, t):
        seen.append([type(x).__name__ == "SymbolicZero" for x in t])
        return p[0] * p[1], t[0] * p[1]

    f = make(jx, lambda x, y: x * y, rule, symbolic_zeros=True)
    grads = jx.grad(f)(1.0, 2.0), jx.vmap(jx.grad(f))(jx.numpy.ones(3), jx.numpy.ones(3))
    return grads, jx.jit(jx.grad(jx.jit(f)))(1.0, 2.0), seen[0], seen[-1]


@in_both
def test_a_symbolic_zero_may_be_returned(jx):
    zero = jx.custom_derivatives.zero_from_primal
    f = make(jx, lambda x: (x, 2 * x), lambda p, t: ((p[0], 2 * p[0]), (t[0], zero(p[0]))))
    symbolic = jx.custom_derivatives.SymbolicZero.from_primal_value(np.ones(2, "int32"))
    assert (symbolic.shape, symbolic.dtype) == ((2,), jx.dtypes.float0)
    return jx.grad(lambda x: sum(f(x)))(3.0)


@in_both
def test_functions_of_trees(jx):
    f = make(jx, lambda d: {"s": d["a"] * d["b"][0]},
             lambda p, t: ({"s": p[0]["a"] * p[0]["b"][0]},
                           {"s": 2 * t[0]["a"] + 3 * t[0]["b"][0]}))
    tree = {"a": 2.0, "b": (3.0, np.float32(1.0))}
    return (f(tree), jx.grad(lambda d: f(d)["s"])(tree),
            jx.jit(jx.grad(lambda d: f(d)["s"]))(tree))


@pytest.mark.parametrize("tangent", ["0.0", "jax.jvp(lambda a: 1.0, (p[0],), (t[0],))[1]", "0.5"])
def test_a_tangent_that_depends_on_no_tangent(tangent):
    """Linearized, it is zero, and not zero times infinity; forward mode trusts the rule."""
    def program(jx):
        rule = eval(f"lambda p, t: (1.0, {tangent})", {"jax": jx})

        def f(x):
            exponent = jx.custom_jvp(lambda a: 1.0)
            exponent.defjvp(rule)
            return jx.numpy.pow(x, exponent(x))

        return lambda x: [jx.linearize(f, x)[1](1.0), jx.jit(jx.linearize(f, x)[1])(1.0),
                          jx.grad(f)(x), jx.jvp(f, (x,), (1.0,))[1]]

    both(program, np.float32(-0.43))
    both(program, np.float32(0.43))
