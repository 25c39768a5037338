"""A convolutional network: it looks for small shapes, wherever they are in the image.

A kernel f32[3,3,m,n] slides over an image with m numbers for each pixel, and makes an image with n
numbers for each pixel. Each number says how well one shape fits at this pixel. There are two such
layers. Each keeps the largest numbers of 2 × 2 pixels. A last layer weighs all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from toy_models import adam, digits
from toy_models.mlp import log_softmax

EPOCHS = 12
BATCH = 64
RATE = 4e-3
NOISE = 0.1


def init(key):
    """He's initialisation, by `jax.nn.initializers`."""
    first, second, last = jax.random.split(key, 3)
    he = jax.nn.initializers.he_normal()
    return {
        "shapes": he(first, (3, 3, 1, 16)),
        "shapes of shapes": he(second, (3, 3, 16, 32)),
        "weights": he(last, (4 * 4 * 32, 10)),
        "bias": jnp.zeros(10),
    }


def find(images, kernel):
    """From images [n,8,8,m] to how well each of the k shapes fits at each pixel, [n,8,8,k]."""
    numbers = ("NHWC", "HWIO", "NHWC")  # which dimension is which: N images of H × W pixels
    found = jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=numbers)
    return jax.nn.relu(found)


def predict(params, images):
    """Log-probabilities, [n,10], of each digit for images [n,64]."""
    pixels = images.reshape(-1, 8, 8, 1)
    found = find(find(pixels, params["shapes"]), params["shapes of shapes"])
    windows = (1, 2, 2, 1)  # one number of four, where the most was found
    largest = jax.lax.reduce_window(found, -jnp.inf, jax.lax.max, windows, windows, "VALID")
    return log_softmax(largest.reshape(len(images), -1) @ params["weights"] + params["bias"])


def loss(params, images, labels):
    """Mean cross-entropy."""
    right = jax.nn.one_hot(labels, 10)
    return -jnp.mean(jnp.sum(predict(params, images) * right, axis=-1))


@jax.jit
def step(state: adam.State, rate, images, labels):
    """The loss on one batch, and the state after a move against its gradient."""
    value, grads = jax.value_and_grad(loss)(state.params, images, labels)
    return value, adam.update(state, grads, rate)


def train(images, labels, epochs: int = EPOCHS, seed: int = 0) -> Iterator[tuple[dict, list]]:
    """After each epoch, yield the parameters and the epoch's losses. Same seed, same numbers."""
    rng, state = np.random.default_rng(seed), adam.init(init(jax.random.key(seed)))
    for epoch in range(epochs):
        rate, losses = np.float32(RATE * (1 - epoch / EPOCHS)), []
        for batch_images, batch_labels in digits.batches(rng, images, labels, BATCH):
            smudged = digits.smudge(rng, batch_images, NOISE)
            value, state = step(state, rate, smudged, batch_labels)
            losses.append(value)
        yield state.params, [float(value) for value in losses]


def first_losses(images, labels, epochs: int) -> list[float]:
    """The losses of the first few epochs, batch by batch."""
    return [value for _, losses in train(images, labels, epochs) for value in losses]


def accuracy(params, images, labels) -> float:
    """The share of images that are read rightly."""
    guesses = jnp.argmax(jax.jit(predict)(params, images), axis=-1)
    return float(np.mean(np.asarray(guesses) == labels))
