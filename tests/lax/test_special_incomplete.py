"""Chapter 11: incomplete gamma and beta functions, Bessel functions and zeta, against real JAX."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.oracle import both, in_both

EDGES = [0.0, 0.5, 1.0, 2.0, 3.0, 50.0, 200.0, np.inf, np.nan, -1.0]
TWO = np.array([*itertools.product(EDGES, EDGES)]).T
THREE = np.array([*itertools.product([0, 0.3, 1, 30, np.inf, np.nan, -1], [0, 0.5, 1, 40, -1],
                                     [0, 0.1, 0.5, 0.9, 1, 1.5, np.nan])]).T
ONE = np.array([[0, -0.0, 0.1, -0.5, 1, 2, 5, 7.9, 8, 8.1, -20, 100, 1e4, np.inf, np.nan]])
ARGUMENTS = {"igamma": TWO, "igammac": TWO, "igamma_grad_a": TWO, "betainc": THREE,
             "bessel_i0e": ONE, "bessel_i1e": ONE, "zeta": TWO, "polygamma": TWO}
INSIDE = {1: [[0.4, -1.5, 9.0]], 2: [[0.5, 3.0, 6.0], [1.5, 2.0, 7.0]],
          3: [[0.5, 3.0, 2.0], [1.5, 2.0, 2.5], [0.4, 0.3, 0.9]]}
DIFFERENTIABLE = {"igamma": (0, 1), "igammac": (0, 1), "betainc": (2,), "bessel_i0e": (0,),
                  "bessel_i1e": (0,), "polygamma": (1,)}


def inside(name: str) -> list[np.ndarray]:
    return [np.array(x, np.float32) for x in INSIDE[len(ARGUMENTS[name])]]


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_values(name, dtype):
    def program(jx):
        args = [jx.numpy.asarray(x, dtype=dtype) for x in ARGUMENTS[name]]
        return lambda: getattr(jx.lax, name)(*args)

    both(program, tol=1e-4 if dtype == "float32" else None)


@pytest.mark.parametrize("name", ARGUMENTS)
@in_both
def test_double_precision(jx, name):
    with jx.enable_x64(True):
        return getattr(jx.lax, name)(*ARGUMENTS[name])


@pytest.mark.parametrize("name", ARGUMENTS)
def test_transformed(name):
    first, *others = inside(name)

    def program(jx):
        f = getattr(jx.lax, name)
        table = jx.vmap(lambda *xs: jx.vmap(lambda x: f(x, *xs))(first))
        return lambda: (jx.jit(f)(first, *others), jx.vmap(f)(first, *others),
                        table(*others) if others else jx.vmap(jx.vmap(f))(first[None]))

    both(program, tol=1e-4)


@pytest.mark.parametrize("name, argnum", [(n, i) for n, nums in DIFFERENTIABLE.items() for i in nums])
def test_derivatives(name, argnum):
    """The second derivative by `a` of the incomplete gamma function is none of JAX's."""
    args = inside(name)
    order = 1 if (name, argnum) in (("igamma", 0), ("igammac", 0)) else 2

    def program(jx):
        def f(x):
            return getattr(jx.lax, name)(*args[:argnum], x, *args[argnum + 1:])

        def grad(f):
            return jx.grad(lambda x: jx.numpy.sum(f(x)))

        x = jx.numpy.asarray(args[argnum])
        return lambda: (grad(f)(x), jx.jvp(f, (x,), (x,)), grad(grad(f))(x) if order == 2 else None)

    both(program, tol=2e-4)


@pytest.mark.parametrize("name, argnum", [("betainc", 0), ("betainc", 1), ("polygamma", 0),
                                          ("zeta", 0), ("igamma_grad_a", 0)])
def test_not_differentiable(name, argnum):
    both(lambda jx: jx.grad(lambda *args: jx.numpy.sum(getattr(jx.lax, name)(*args)), argnum),
         *inside(name))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_text(name):
    args = inside(name)
    argnums = DIFFERENTIABLE.get(name, ())

    def program(jx):
        f = getattr(jx.lax, name)

        def along(*xs):
            primals = [*args]
            for i, x in zip(argnums, xs):
                primals[i] = x
            return f(*primals)

        points = [args[i] for i in argnums]
        jvp = lambda *xs: jx.jvp(along, xs, xs)
        return lambda: (jx.make_jaxpr(f)(*args), argnums and jx.make_jaxpr(jvp)(*points))

    both(program, text=name != "bessel_i1e")  # which has a literal that JAX does not round


@pytest.mark.parametrize("name", ARGUMENTS)
def test_errors(name):
    arity = len(ARGUMENTS[name])
    both(lambda jx: getattr(jx.lax, name), *[np.arange(3)] * arity)
    if arity > 1:
        both(lambda jx: getattr(jx.lax, name), np.ones(2, "f"), *[np.ones(3, "f")] * (arity - 1))
