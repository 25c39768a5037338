"""The text of a jaxpr is JAX's, character by character: arguments, results, constants, calls.

The texts of primitives are compared in `test_primitives.py` and `test_lax_products.py`, those of
`jax.numpy` in `numpy/test_calls.py`, and those of whole functions in `test_products.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both
from tests.oracle.calls import program

ARRAYS = {
    "x": np.array([0.5, 1.5, 2.5], np.float32),
    "m": np.arange(6, dtype=np.float32).reshape(2, 3) + 0.5,
    "e": np.zeros((0, 3), np.float32),
}
ROWS = """
x
(x, x * 2, x)
(1.0, 2, True, x)
(x + 1, x * 2)[1]
((), x)[0]
jnp.float32(1) + 1
(jnp.zeros(3), jnp.ones((2, 1)), jnp.full(2, 7))
{"sum": x + m[0], "none": None}
[x + n for n in range(30)]
[x := x * n for n in range(40)][-1]
e.sum() + e.size
x + np.arange(3, dtype="f")
x * held
x * jnp.float32(3)
jx.jit(jnp.tanh)(x)
(lambda f: f(x) + f(x * 2))(jx.jit(lambda x: x * x + 1))
(lambda f: f(x).sum() + f(x[:2]).sum())(jx.jit(lambda x: x * x))
jx.jit(lambda x: jx.jit(lambda y: y * 2)(x) + x)(x)
jx.jit(lambda x: x * held)(x)
jx.jit(lambda y: y * x)(2.0)
jx.jit(lambda x: x + 1, donate_argnums=0)(x)
jx.jit(lambda x, y: x, keep_unused=True)(x, x)
jx.jit(lambda x: x + 1, inline=True)(x) * 2
jx.jit(lambda x, n: x**n, static_argnums=1)(x, 3)
jx.grad(jx.grad(jx.grad(jnp.tanh)))(x[0])
jx.jvp(jx.grad(lambda x: jnp.sum(jnp.sin(x) * x)), (x,), (x,))[1]
jx.jit(jx.vmap(jx.grad(lambda w, x: jnp.tanh(jnp.tanh(x @ w) @ w.T).sum()), (None, 0)))(m.T, m)
jx.lax.concatenate([x] * 25, 0)
""".strip().splitlines()


def modules(jx):
    return {"jx": jx, "jnp": jx.numpy, "held": jx.numpy.arange(3.0)}


@pytest.mark.parametrize("row", ROWS)
def test_text(row):
    both(program(row, ARRAYS, modules, lambda jx, f: jx.make_jaxpr(f)))


@in_both
def test_static_arguments_and_result_shapes(jx):
    x, n = ARRAYS["x"], 3
    f = jx.make_jaxpr(lambda x, n: {"out": x**n}, static_argnums=1, return_shape=True)
    jaxpr, shape = f(x, n)
    return jaxpr, str(shape)
