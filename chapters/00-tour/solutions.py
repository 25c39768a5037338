"""Solutions of chapter 0."""

from __future__ import annotations

import minijax as jax
import minijax.numpy as jnp


def slopes(f, xs):
    """The derivative, mapped."""
    return jax.vmap(jax.grad(f))(xs)


def gradient_norms(loss, w, xs, ys):
    """One gradient for each example, then a norm for each."""
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(w, xs, ys)
    return jnp.sqrt(jnp.sum(gradients ** 2, axis=1))


def descend(loss, w, steps, rate):
    """The carry is `w`; nothing is stacked up."""
    step = lambda w, _: (w - rate * jax.grad(loss)(w), None)
    return jax.lax.scan(step, w, None, length=steps)[0]
