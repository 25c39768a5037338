"""`custom_vjp`, `custom_gradient`, `closure_convert`: arguments, errors, closures."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.oracle import both, in_both


def make(jx, fun, fwd, bwd, nondiff=(), **kwargs):
    f = jx.custom_vjp(fun, nondiff_argnums=nondiff)
    f.defvjp(fwd, bwd, **kwargs)
    return f


def plain(jx, bwd, fun=lambda x: x, fwd=lambda x: (x, None)):
    return make(jx, fun, fwd, bwd)


def of_two(jx, bwd):
    return make(jx, lambda x, y: x["a"] * y, lambda x, y: (x["a"] * y, (x["a"], y)), bwd)


def through_jit(jx, fwd):
    return jx.grad(lambda x: jx.jit(plain(jx, lambda r, t: (t,), fwd=fwd))(x))(1.0)


TREE = {"a": 1.0, "b": 4.0}
CALLS = {
    "no rule": lambda jx: jx.custom_vjp(lambda x: x)(1.0),
    "fwd returns no pair": lambda jx: jx.grad(
        plain(jx, lambda r, t: (t,), fwd=lambda x: x))(1.0),
    "fwd's tree": lambda jx: through_jit(jx, lambda x: ([x], None)),
    "fwd's shape": lambda jx: through_jit(jx, lambda x: (jx.numpy.ones(3), None)),
    "bwd returns no tuple": lambda jx: jx.grad(plain(jx, lambda r, t: t))(1.0),
    "bwd returns a list": lambda jx: jx.grad(plain(jx, lambda r, t: [t]))(1.0),
    "bwd returns too many": lambda jx: jx.grad(plain(jx, lambda r, t: (t, t)))(1.0),
    "bwd's shape": lambda jx: jx.grad(plain(jx, lambda r, t: (jx.numpy.ones(3),)))(1.0),
    "bwd's string": lambda jx: jx.grad(plain(jx, lambda r, t: ("a",)))(1.0),
    "bwd's dtype": lambda jx: jx.grad(plain(jx, lambda r, t: (jx.numpy.float16(3),)))(1.0),
    "bwd returns None": lambda jx: jx.grad(plain(jx, lambda r, t: (None,)))(1.0),
    "bwd's tree": lambda jx: jx.grad(of_two(jx, lambda r, t: ({"c": t}, t)))(TREE, 2.0),
    "None for a tree": lambda jx: jx.grad(of_two(jx, lambda r, t: (None, t)), (0, 1))(TREE, 2.0),
    "None in a tree": lambda jx: jx.grad(
        of_two(jx, lambda r, t: ({"a": t, "b": None}, t)), (0, 1))(TREE, 2.0),
    "one for a tree": lambda jx: jx.grad(of_two(jx, lambda r, t: (t, t)), (0, 1))(TREE, 2.0),
    "jvp": lambda jx: jx.jvp(plain(jx, lambda r, t: (t,)), (1.0,), (1.0,)),
    "jvp under jit": lambda jx: jx.jit(lambda x: jx.jvp(
        plain(jx, lambda r, t: (t,)), (x,), (x,)))(1.0),
    "jvp's jaxpr": lambda jx: jx.make_jaxpr(lambda x: jx.jvp(
        plain(jx, lambda r, t: (t,)), (x,), (x,)))(1.0).eqns[0].primitive.name,
    "jacfwd": lambda jx: jx.jacfwd(plain(jx, lambda r, t: (t,)))(1.0),
    "linearize": lambda jx: jx.linearize(plain(jx, lambda r, t: (t,)), 1.0)[1](1.0),
    "linear_transpose": lambda jx: jx.linear_transpose(plain(jx, lambda r, t: (t,)), 1.0)(1.0),
    "nondiff tracer": lambda jx: jx.jit(lambda n: make(
        jx, lambda n, x: x, lambda n, x: (x, None), lambda n, r, t: (t,), (0,))(n, 1.0))(1.0),
    "nondiff function": lambda jx: jx.grad(lambda x: make(
        jx, lambda f, x: f(x), lambda f, x: (f(x), x), lambda f, r, t: (5 * f(r) * t,), (0,)
    )(jx.numpy.sin, x))(1.0),
    "nondiff in the middle": lambda jx: jx.grad(make(
        jx, lambda x, f, y: f(x) * y, lambda x, f, y: (f(x) * y, y), lambda f, r, t: (r * t, f(t)),
        (1,)), (0, 2))(1.0, abs, 3.0),
    "integer argument": lambda jx: jx.grad(make(
        jx, lambda x, n: x * n, lambda x, n: (x * n, n), lambda r, t: (r * t, None)))(1.0, 2),
    "one of two results": lambda jx: jx.grad(lambda x: jx.jit(make(
        jx, lambda x: (x, 2 * x), lambda x: ((x, 2 * x), x),
        lambda r, t: (r * (t[0] + 10 * t[1]),)))(x)[1])(3.0),
    "symbolic zeros with optimize_remat": lambda jx: make(
        jx, abs, abs, abs, symbolic_zeros=True, optimize_remat=True),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_as_in_jax(call):
    both(lambda jx: lambda: CALLS[call](jx))


@pytest.mark.parametrize("transform", ["jit", "vmap", "grad", "jit of grad", "grad of jit"])
@pytest.mark.parametrize("argument", ["constant", "same"])
def test_closures_over_tracers(transform, argument):
    def program(jx):
        def closing(x):
            g = plain(jx, lambda r, t: (t * 3.0,), lambda y: x * y, lambda y: (x * y, None))
            return g(2.0 if argument == "constant" else x)

        return {
            "jit": lambda: jx.jit(closing)(3.0),
            "vmap": lambda: jx.vmap(closing)(jx.numpy.arange(3.0)),
            "grad": lambda: jx.grad(closing)(3.0),
            "jit of grad": lambda: jx.jit(jx.grad(closing))(3.0),
            "grad of jit": lambda: jx.grad(jx.jit(closing))(3.0),
        }[transform]

    both(program)


@in_both
def test_symbolic_zeros(jx):
    seen = []

    def fwd(x, y):
        seen.append((bool(x.perturbed), bool(y.perturbed)))
        x, y = jx.custom_derivatives.custom_vjp_primal_tree_values((x, y))
        return (x * y, x), y

    def bwd(y, cts):
        seen.append([type(ct).__name__ == "SymbolicZero" for ct in cts])
        return cts[0] * y, None

    f = make(jx, lambda x, y: (x * y, x), fwd, bwd, symbolic_zeros=True)
    return (jx.grad(lambda x: f(x, 2.0)[0])(3.0),
            jx.jit(jx.grad(lambda x: jx.jit(f)(x, 2.0)[0]))(3.0), seen)


@in_both
def test_custom_gradient(jx):
    @jx.custom_gradient
    def f(x):
        y = jx.numpy.sin(x)
        return y * y, lambda ct: 7 * ct * y

    return (f(2.0), jx.grad(f)(2.0), jx.jit(jx.vmap(jx.grad(f)))(np.ones(3, "f4")),
            jx.grad(jx.grad(f))(2.0))


@in_both
def test_closure_convert(jx):
    """The example of its documentation: a solver whose function closes over what is learnt."""
    def solve(f, x0):
        converted, hoisted = jx.closure_convert(f, x0)
        return _solve(converted, x0, *hoisted)

    @functools.partial(jx.custom_vjp, nondiff_argnums=(0,))
    def _solve(f, x0, *args):
        return f(x0, *args) * 2

    def fwd(f, x0, *args):
        return _solve(f, x0, *args), args

    def bwd(f, args, ct):
        return (ct, *[3 * ct * a for a in args])

    _solve.defvjp(fwd, bwd)

    def loss(w):
        return solve(lambda x: w * x + np.float32(1), 2.0)

    def wrong_tree(w):
        return jx.closure_convert(lambda x: w * x, 1.0)[0]((1.0, 2.0), w)

    return (loss(3.0), jx.grad(loss)(3.0), jx.jit(jx.grad(loss))(3.0),
            len(jx.closure_convert(lambda x: np.ones(3) * x, 1.0)[1]))


@pytest.mark.parametrize("wrap", ["lambda f: f", "jax.checkpoint"])
def test_a_tangent_that_nothing_reads_need_not_exist(wrap):
    """Forward mode of a custom_vjp function is refused only where its tangent is wanted."""
    def program(jx, part):
        f = jx.custom_vjp(lambda x: x * 2)
        f.defvjp(lambda x: (x * 2, None), lambda res, ct: (ct * 2,))
        g = eval(wrap, {"jax": jx})(f)
        return jx.jit(lambda x: jx.jvp(g, (x,), (x,))[part])

    both(lambda jx: program(jx, 0), np.float32(2))
    both(lambda jx: program(jx, 1), np.float32(2), raises=TypeError)
