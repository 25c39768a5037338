"""Data parallelism: every device has the whole network, and learns from its part of each batch.

    python chapters/toy_models/data_parallel.py
    python -m minijax launch -n 2 --devices-per-process 2 chapters/toy_models/data_parallel.py

prints the loss after every tenth step: the same numbers, on however many devices and processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax.sharding import NamedSharding, PartitionSpec as P

SIZES = (16, 64, 64, 4)
BATCH = 64
STEPS = 30
RATE = 0.1


def init(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """The layers' weights f32[m,n] and biases f32[n]."""
    return [((rng.normal(size=(m, n)) * np.sqrt(2 / m)).astype(np.float32), np.zeros(n, np.float32))
            for m, n in zip(SIZES, SIZES[1:])]


def batches(rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Points f32[BATCH,16], and the one of four directions that each is nearest to, i32[BATCH]."""
    directions = rng.normal(size=(SIZES[0], SIZES[-1]))
    while True:
        points = rng.normal(size=(BATCH, SIZES[0])).astype(np.float32)
        yield points, np.argmax(points @ directions, axis=1).astype(np.int32)


def loss(params, points, labels):
    """The mean cross-entropy."""
    *hidden, (weights, bias) = params
    for w, b in hidden:
        points = jnp.maximum(points @ w + b, 0)
    log_probs = jax.nn.log_softmax(points @ weights + bias)
    return -jnp.mean(jnp.take_along_axis(log_probs, labels[:, None], axis=1))


@jax.jit
def step(params, points, labels):
    """The loss on a batch, and the parameters after a step against its gradient.

    Nothing here speaks of devices. The batch is split over them, so XLA computes each row where it
    lies; the mean over all rows is where it lets them exchange what they have.
    """
    value, grads = jax.value_and_grad(loss)(params, points, labels)
    return value, jax.tree.map(lambda p, g: p - RATE * g, params, grads)


def train() -> Iterator[float]:
    """Yield the loss of each step. Each process gives its own devices their parts of a batch."""
    mesh = jax.make_mesh((jax.device_count(),), ("batch",))
    split, everywhere = NamedSharding(mesh, P("batch")), NamedSharding(mesh, P())
    share = BATCH // jax.process_count()
    mine = slice(jax.process_index() * share, (jax.process_index() + 1) * share)
    rng = np.random.default_rng(0)
    params = jax.device_put(init(rng), everywhere)
    for _, batch in zip(range(STEPS), batches(rng)):
        points, labels = [jax.make_array_from_process_local_data(split, x[mine]) for x in batch]
        value, params = step(params, points, labels)
        yield float(value)


def main() -> None:
    """Train; the first process tells how it goes."""
    if "JAX_NUM_PROCESSES" in os.environ:
        jax.distributed.initialize()
    for i, value in enumerate(train()):
        if i % 10 == 9 and jax.process_index() == 0:
            print(f"step {i + 1}: loss {value:.5f}")


if __name__ == "__main__":
    main()
