"""The names that the programs of the history test use.

Functions, and what transformations made of them, stay for the whole process: their caches fill. The
arrays of `arrays()` may be made anew for each run.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax import lax  # noqa: F401  (the programs use it)

Pair = collections.namedtuple("Pair", "a b")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    """A pytree with a static field."""

    w: Any
    b: Any
    name: str = dataclasses.field(default="", metadata={"static": True})


class Box:
    """A pytree whose second part is static."""

    def __init__(self, x, data):
        self.x, self.data = x, data


jax.tree_util.register_pytree_node(Box, lambda b: ((b.x,), b.data), lambda data, x: Box(*x, data))


def sin_x(x):
    return jnp.sin(x) * x


def loss(x):
    return jnp.sum(sin_x(x) ** 2)


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def mlp_loss(params, x):
    for weights, bias in params:
        x = jnp.tanh(x @ weights + bias)
    return jnp.mean(x ** 2)


@jax.custom_jvp
def relu(x):
    return jnp.maximum(x, 0)


@relu.defjvp
def _(primals, tangents):
    return relu(*primals), jnp.where(primals[0] > 0, tangents[0], 0)


@jax.custom_vjp
def clipped(x):
    return jnp.clip(x, -1, 1)


clipped.defvjp(lambda x: (clipped(x), x), lambda x, ct: (jnp.where(x > 2, 0.5, 1.0) * ct,))
jitted = jax.jit(sin_x)
static_jit = jax.jit(lambda x, n: x * n, static_argnums=1)
jit_grad = jax.jit(jax.grad(loss))
donated = jax.jit(lambda x: x + 1, donate_argnums=0)
bump = jax.jit(lambda *trees: jax.tree.map(lambda x: x + 1, trees))
named = jax.jit(lambda a, b=2.0, c=3: (a - b) * c)
hashed = jax.jit(lambda x, n, m=0: (x, jnp.float32(hash((n, m)) % 1000)), static_argnums=1,
                 static_argnames="m")
LASTING = {name: value for name, value in globals().items() if name[0] != "_"}


def arrays() -> dict[str, Any]:
    """Fresh operands of each kind."""
    weights = np.linspace(-1, 1, 20, dtype=np.float32)
    return {
        "x": jnp.array([0.5, -1.25, 2.0, 3.0]),
        "y": jnp.array([0.25, 1.0, 1.5, 4.0]),
        "i": jnp.array([0, 3, 1, 2]),
        "u": jnp.array([0, 1, 200, 255], "uint8"),
        "b": jnp.array([True, False, True, True]),
        "c": jnp.array([1 + 2j, -0.5j, 3.0]),
        "h": jnp.array([0.5, 1.5, 2.5, 100.0], "bfloat16"),
        "e": jnp.zeros(0),
        "m": jnp.asarray(np.sin(np.arange(12, dtype=np.float32)).reshape(3, 4)),
        "sq": jnp.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]),
        "n": np.array([0.5, 1.5, 2.5, 3.0], np.float32),
        "s": jnp.float32(1.5),
        "w": jnp.asarray(2.0),
        "k": jax.random.key(42),
        "params": [(jnp.asarray(weights.reshape(4, 5)), jnp.ones(5)),
                   (jnp.asarray(weights[:10].reshape(5, 2)), jnp.zeros(2))],
    }
