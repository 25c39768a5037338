"""Learning to read digits: one compiled step, and a loop in plain Python around it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import minijax as jax
from toy_models import adam, digits, mlp

SIZES = (64, 256, 128, 10)
EPOCHS = 40
BATCH = 64
RATE = 2e-3
NOISE = 0.2


@jax.jit
def step(state: adam.State, rate, images, labels):
    """The loss on one batch, and the state after a move against its gradient."""
    loss, grads = jax.value_and_grad(mlp.loss)(state.params, images, labels)
    return loss, adam.update(state, grads, rate)


def train(images, labels, epochs: int = EPOCHS, seed: int = 0) -> Iterator[tuple[list, list]]:
    """After each epoch, yield the parameters and the epoch's losses. Same seed, same numbers."""
    rng = np.random.default_rng(seed)
    state = adam.init(mlp.init(rng, SIZES))
    for epoch in range(epochs):
        # The rate falls to nearly nothing over the whole training, which settles the weights.
        rate = np.float32(RATE * (1 - epoch / EPOCHS))
        losses = []
        for batch_images, batch_labels in digits.batches(rng, images, labels, BATCH):
            smudged = digits.smudge(rng, batch_images, NOISE)
            loss, state = step(state, rate, smudged, batch_labels)
            losses.append(loss)
        yield state.params, [float(loss) for loss in losses]


def first_losses(images, labels, epochs: int) -> list[float]:
    """The losses of the first few epochs, batch by batch."""
    return [loss for _, losses in train(images, labels, epochs) for loss in losses]


def accuracy(params, images, labels) -> float:
    """The share of images that are read rightly."""
    return float(np.mean(np.asarray(jax.jit(mlp.classify)(params, images)) == labels))
