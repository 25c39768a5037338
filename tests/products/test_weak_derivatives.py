"""Weak types of derivatives as JAX traces them: of products, convolutions, windows and scatters."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.oracle import both, in_both

# Functions of `w`, a weakly typed scalar, `W`, three of them, and `A`, an array of no weak type.
FUNCTIONS = """
lax.dot(W, W)
lax.dot(W, W, preferred_element_type='float32')
lax.dot(W, A, preferred_element_type='float32')
lax.dot(W.astype(int), W.astype(int), preferred_element_type='float32')
jnp.dot(W, W)
jnp.vdot(W, W)
jnp.matmul(W, W)
jnp.tensordot(W, W, 1)
jnp.einsum('i,i->', W, W)
jnp.outer(W, W)
W @ A
jnp.convolve(W, W)
lax.conv(W[None, None], W[None, None], (1,), 'SAME')
lax.conv(W[None, None], A[None, None], (1,), 'SAME')
lax.reduce_window(W, 0.0, lax.add, (2,), (1,), 'VALID')
lax.reduce_window(W, -np.inf, lax.max, (2,), (1,), 'VALID')
lax.reduce_window(A * W, -np.inf, lax.max, (2,), (1,), 'SAME')
lax.reduce_and(W.astype(int), (0,))
jnp.put_along_axis(W, jnp.array([0]), 1.0, axis=0, inplace=False)
jnp.put(W, jnp.array([0]), 1.0, inplace=False)
jnp.place(W, np.array([True, False, True]), 1.0, inplace=False)
W.at[0].mul(w)
A.at[0].mul(w)
W.at[0].divide(w)
W.at[jnp.array([0, 1])].set(w)
W.at[jnp.array([0, 1])].add(w)
W.at[jnp.array([0, 1])].min(w)
lax.scatter(W, jnp.array([[0]]), W[:1], numbers)
lax.scatter(W, jnp.array([[0]]), A[:1], numbers)
lax.scatter(A, jnp.array([[0]]), W[:1], numbers)
lax.scatter_add(W, jnp.array([[0]]), W[:1], numbers)
lax.scatter_max(W, jnp.array([[0]]), W[:1], numbers)
jax.scipy.special.betaln(W, 2.0)
jax.scipy.special.betaln(w, W)
jax.scipy.special.xlogy(W, W)
jax.scipy.stats.beta.logpdf(w, W, W)
jax.scipy.stats.laplace.logpdf(W, 1.5)
jax.scipy.stats.betabinom.logpmf(W, 1.0, 1.0, 1.0)
jax.scipy.stats.betabinom.logpmf(0.5, W, W, W)
jax.scipy.stats.gumbel_r.sf(W)
jax.scipy.stats.pareto.ppf(W, w)
jax.scipy.stats.pareto.ppf(w, W)
"""


@pytest.mark.parametrize("function", FUNCTIONS.strip().splitlines())
@in_both
def test_weak_types_of_traced_derivatives(jx, function):
    jnp = jx.numpy
    values = {"w": jnp.asarray(0.5), "W": jnp.broadcast_to(jnp.asarray(0.5), (3,)), "A": jnp.ones(3)}
    names = {"jax": jx, "jnp": jnp, "lax": jx.lax, "np": np,
             "numbers": jx.lax.ScatterDimensionNumbers((), (0,), (0,)), **values}

    def derivatives(name):
        f = eval(f"lambda {name}: {function}", names)

        def of(x):
            tangents = jx.jvp(f, (x,), (x,))
            out, back = jx.vjp(f, x)
            return tangents, back(jnp.ones_like(out)), jx.linearize(f, x)[1](x)

        traced = jx.make_jaxpr(lambda x: (f(x), of(x)) if "int" not in function else f(x))
        return [(a.shape, str(a.dtype), a.weak_type) for a in traced(values[name]).out_avals]

    return [derivatives(name) for name in values if re.search(rf"\b{name}\b", function)]


CHECKPOINTED = """
jax.checkpoint(lambda a: a * 2)(jnp.stack([x, x]))[0]
jax.checkpoint(lambda a: jnp.sin(a) * 2)(jnp.stack([x, x]))[0]
jax.checkpoint(lambda a: a * 2)(x.astype('float32'))
jax.vmap(jax.checkpoint(lambda a: a * 2))(jnp.stack([x, x]))[0]
lax.map(jax.checkpoint(lambda a: a * 2), jnp.stack([x, x]))[0]
"""


@pytest.mark.parametrize("derivative", ["jax.grad(f)", "jax.jit(jax.grad(f))", "jax.grad(jax.jit(f))",
                                        "jax.jacfwd(jax.grad(f))"])
@pytest.mark.parametrize("function", CHECKPOINTED.strip().splitlines())
@in_both
def test_weak_types_of_cotangents_of_checkpoint(jx, function, derivative):
    """A cotangent becomes as weakly typed as the checkpointed result that it belongs to."""
    names = {"jax": jx, "jnp": jx.numpy, "lax": jx.lax}
    transformed = eval(derivative, {"jax": jx, "f": eval(f"lambda x: {function}", names)})
    return transformed(jx.numpy.asarray(0.5))


@pytest.mark.parametrize("derivative", ["jax.vmap(jax.grad(f))", "jax.jit(jax.vmap(jax.grad(f)))", "jax.vmap(jax.jacfwd(f))",
                                        "jax.vmap(lambda x: jax.linearize(f, x)[1](x))"])
@pytest.mark.parametrize("function", ["jnp.sin(a)", "a * 2", "a * jnp.floor(a)", "jax.lax.stop_gradient(a) * a"])
@pytest.mark.parametrize("call", ["lax.cond(x > 0, g, lambda a: a, x)", "lax.cond(x > 0, g, g, x)",
                                  "lax.cond(x > 0, lambda a: lax.cond(a > 1, g, lambda b: b, a), g, x)"])
@in_both
def test_weak_types_of_branches_with_different_residuals(jx, call, function, derivative):
    """A branch without a residual returns zeros in its place, which are not weakly typed."""
    names = {"jax": jx, "jnp": jx.numpy, "lax": jx.lax}
    names["g"] = eval(f"lambda a: {function}", names)
    transformed = eval(derivative, {"jax": jx, "f": eval(f"lambda x: {call}", names)})
    return transformed(jx.numpy.stack([jx.numpy.asarray(0.5)] * 2))


@pytest.mark.parametrize("transformed", ["jax.jacfwd(f)(x)", "jax.jit(jax.jacfwd(f))(x)", "jax.jacrev(f)(x)",
                                         "jax.hessian(lambda x: f(x).sum())(x)",
                                         "jax.jacfwd(lambda x: (f(x), {'a': x * A}))(x)",
                                         "jax.make_jaxpr(jax.jacfwd(f))(x)"])
@pytest.mark.parametrize("function", ["lax.integer_pow(x, 2)", "lax.integer_pow(x, 3)", "jnp.tanh(x)", "jnp.abs(x)",
                                      "x * A", "jnp.square(x)", "x.astype('bfloat16')", "x[:1]"])
def test_jacobians_are_as_weakly_typed_as_results(function, transformed):
    def program(jx):
        jnp = jx.numpy
        names = {"jax": jx, "jnp": jnp, "lax": jx.lax, "x": jnp.stack([jnp.asarray(2.0)] * 2), "A": jnp.ones(2)}
        return lambda: eval(transformed, names | {"f": eval(f"lambda x: {function}", names)})

    both(program, text="astype" not in function)


# Second derivatives that are evaluated have other weak types than those of compiled programs.
EVALUATED = """
jax.grad(jax.grad(lambda x: jnp.exp(-x ** 2.0)))(x)
jax.grad(jax.jacfwd(lambda x: jnp.exp(-x ** 2.0)))(x)
jax.grad(jax.grad(lambda x: jnp.sin(x ** 2.0)))(x)
jax.grad(lambda x: x ** 2.0 * x)(x)
jax.grad(jax.grad(lambda x: x ** 2.0))(x)
jax.jvp(lambda x: jax.scipy.special.rel_entr(x, 2.0), (x,), (x,))
jax.jvp(lambda x: jax.scipy.special.kl_div(x, 2.0), (x,), (x,))
jax.nn.gelu(x)
"""


@pytest.mark.parametrize("call", EVALUATED.strip().splitlines())
def test_weak_types_of_evaluated_derivatives(call):
    both(lambda jx: lambda x: eval(call, {"jax": jx, "jnp": jx.numpy, "x": x}), 0.7, tol=1e-4)
