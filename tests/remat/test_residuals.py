"""What a policy saves while the primal computation uses it, too: rounded once, returned once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.oracle import both, in_both

X = np.array([0.3, 0.8], np.float32)


def functions(jx):
    jnp = jx.numpy
    twice = lambda f: lambda x: f(f(x))
    return {
        "sin": twice(jnp.sin), "exp": twice(jnp.exp), "tanh": twice(jnp.tanh),
        "products": lambda x: (x * x) * (x * x),
        "result": lambda x: (lambda y: (y, jnp.sin(y)))(jnp.exp(x)),
        "jit": lambda x: jnp.sin(jx.jit(lambda x: jnp.exp(jnp.sin(x)))(x) * x),
        "two of a jit": lambda x: (lambda y, z: y * jnp.sin(z))(
            *jx.jit(lambda x: (jnp.exp(x), jnp.exp(jnp.exp(x))))(x)),
        "nested": lambda x: jnp.sin(jx.jit(lambda x: jx.jit(jnp.exp)(x) * 2)(x)),
        "integers": lambda x: x * jnp.sin((x * 5).astype(int) * 3.0),
        "branches": lambda x: jx.lax.cond(
            x.sum() > 0, lambda x: jnp.exp(jnp.exp(x)), lambda x: x, x) * x,
        "loop": lambda x: jx.lax.scan(lambda c, _: (jnp.exp(jnp.sin(c)), jnp.exp(c)), x, None, 2),
    }


POLICIES = {
    "some": lambda p, *_, **__: str(p) in ("sin", "mul", "exp", "tanh"),
    "exp": lambda p, *_, **__: str(p) == "exp",
    "all": lambda *_, **__: True, "none": lambda *_, **__: False,
}
NAMES = ["sin", "exp", "tanh", "products", "result", "jit", "two of a jit", "nested", "integers",
         "branches", "loop"]


@pytest.mark.daily(3)
@pytest.mark.parametrize("name, policy, dtype, inside", [*itertools.product(
    NAMES, POLICIES, ["float32", "bfloat16"], [False, True])])
@in_both
def test_gradients(jx, name, policy, dtype, inside):
    f = jx.checkpoint(functions(jx)[name], policy=POLICIES[policy])
    f = jx.jit(f) if inside else f
    x = X
    out, pull = jx.vjp(f, x.astype(dtype))
    return out, pull(out)


@pytest.mark.parametrize("name, policy", [*itertools.product(
    ["sin", "exp", "tanh", "products", "result", "jit", "nested"], ["some", "all", "none"])])
@in_both
def test_the_texts_are_those_of_jax(jx, name, policy):
    f = jx.checkpoint(functions(jx)[name], policy=POLICIES[policy])
    x = X
    return jx.make_jaxpr(lambda x: jx.vjp(f, x)[0])(x)


def test_both_passes_use_one_number():
    """XLA keeps more than a bfloat16's bits of the product, if nothing rounds it."""
    def run(jx):
        jnp = jx.numpy

        @jx.custom_vjp
        def product(x):
            return x @ x

        @jx.custom_vjp
        def widened(x):
            return jnp.float32(1) * x.astype("float32")

        product.defvjp(lambda x: (product(x), None), lambda _, g: (g,))
        widened.defvjp(lambda x: (widened(x), x),
                       lambda x, _: (jnp.float32(1) * x.astype("float32"),))
        f = jx.jit(jx.checkpoint(lambda x: widened(product(x)), policy=POLICIES["all"]))

        def forward_and_back(x):
            out, pull = jx.vjp(f, x)
            return out, pull(out)
        return lambda: forward_and_back((1 + jnp.finfo("bfloat16").eps)
                                        * jnp.eye(2, dtype="bfloat16"))

    both(run, tol=0)
