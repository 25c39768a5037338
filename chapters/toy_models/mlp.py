"""A multilayer perceptron: plain functions of parameters, as JAX likes its models.

The parameters are a pytree, a list of layers. A layer is {"weights": f32[m,n], "bias": f32[n]}.
"""

from __future__ import annotations

import numpy as np

import minijax as jax
import minijax.numpy as jnp


def init(rng: np.random.Generator, sizes: tuple[int, ...]) -> list[dict[str, np.ndarray]]:
    """He's initialisation: weights so scaled that a signal keeps its size through `relu` layers."""
    return [
        {
            "weights": (rng.normal(size=(m, n)) * np.sqrt(2 / m)).astype(np.float32),
            "bias": np.zeros(n, np.float32),
        }
        for m, n in zip(sizes[:-1], sizes[1:])
    ]


def predict(params, images):
    """Log-probabilities, [..., 10], of each digit for images [..., 64]."""
    *hidden, last = params
    for layer in hidden:
        images = jnp.maximum(images @ layer["weights"] + layer["bias"], 0)
    return log_softmax(images @ last["weights"] + last["bias"])


def log_softmax(logits):
    """log(exp(logits) / sum(exp(logits))), shifted by the largest so that no `exp` overflows."""
    shifted = logits - jax.lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True))
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True))


def loss(params, images, labels):
    """Mean cross-entropy: minus the log-probability that the right digit was given."""
    log_probs = predict(params, images)
    right = labels[..., None] == jnp.arange(log_probs.shape[-1])  # one-hot, by comparison
    return -jnp.mean(jnp.sum(jnp.where(right, log_probs, 0), axis=-1))


def classify(params, images):
    """The most probable digit for each image."""
    return jnp.argmax(predict(params, images), axis=-1)
