"""What the tour computes, as functions that run on minijax or on real JAX without a change."""

from __future__ import annotations

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from toy_models import mlp


def sine_and_derivatives(x: float, order: int = 5) -> list[float]:
    """sin(x), then its first `order` derivatives, each the `grad` of the one before."""
    f, values = jnp.sin, [float(jnp.sin(x))]
    for _ in range(order):
        f = jax.grad(f)
        values.append(float(f(x)))
    return values


def wave(x):
    """A damped wave, whose slope is exp(-x) (cos(x) - sin(x))."""
    return jnp.exp(-x) * jnp.sin(x)


def slopes_of_wave(points):
    """The slope at every point: `grad` for one, `vmap` for all, `jit` to compile it."""
    return jax.jit(jax.vmap(jax.grad(wave)))(points)


def jaxpr_of_slope() -> str:
    """What `grad` made of `wave`, in the text of JAX's own intermediate language."""
    return str(jax.make_jaxpr(jax.grad(wave))(1.0))


def batch_gradient(params, images, labels):
    """The gradient of the mean loss: one pytree like `params`."""
    return jax.jit(jax.grad(mlp.loss))(params, images, labels)


def per_example_gradients(params, images, labels):
    """The gradient of each image's own loss: like `params`, with a leading axis in every leaf."""
    return jax.jit(jax.vmap(jax.grad(mlp.loss), in_axes=(None, 0, 0)))(params, images, labels)


def hessian_vector_product(params, direction, images, labels):
    """How the gradient changes along `direction`: forward over reverse mode, no Hessian needed."""

    def gradient(params):
        return jax.grad(mlp.loss)(params, images, labels)

    return jax.jit(lambda p, v: jax.jvp(gradient, (p,), (v,))[1])(params, direction)


def hessian_vector_product_by_differences(params, direction, images, labels, h=1e-8):
    """The same as (gradient at p + hv, minus gradient at p - hv) / 2h, in 64-bit floats."""
    with jax.enable_x64(True):
        params, direction = (jax.tree.map(np.float64, tree) for tree in (params, direction))

        def gradient_at(distance):
            moved = jax.tree.map(lambda p, v: p + distance * v, params, direction)
            return batch_gradient(moved, images, labels)

        difference = jax.tree.map(jnp.subtract, gradient_at(h), gradient_at(-h))
        return jax.tree.map(lambda d: np.asarray(d) / (2 * h), difference)
