"""Adam (Kingma and Ba, 2014): gradient descent with momentum, and a scale for each weight.

An optimiser's state is a pytree like any other, so one `jit` compiles the model, its gradient and
the update together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import minijax as jax
import minijax.numpy as jnp


class State(NamedTuple):
    params: Any
    mean: Any  # running mean of the gradients: the momentum
    square: Any  # running mean of their squares: how large gradients usually are
    steps: Any  # f32[]: how many steps were taken


def init(params) -> State:
    """Start from `params`, having seen no gradient."""
    zeros = jax.tree.map(np.zeros_like, params)
    return State(params, zeros, zeros, np.float32(0))


def update(state: State, grads, rate: float, b1: float = 0.9, b2: float = 0.999) -> State:
    """One step against the gradients `grads`, a pytree like `state.params`."""
    steps = state.steps + 1
    mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state.mean, grads)
    square = jax.tree.map(lambda s, g: b2 * s + (1 - b2) * g**2, state.square, grads)
    # Both means began at zero; dividing by these makes up for it.
    unbias_mean, unbias_square = 1 - b1**steps, 1 - b2**steps

    def move(param, m, s):
        return param - rate * (m / unbias_mean) / (jnp.sqrt(s / unbias_square) + 1e-8)

    return State(jax.tree.map(move, state.params, mean, square), mean, square, steps)
