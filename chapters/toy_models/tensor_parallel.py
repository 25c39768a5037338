"""Tensor parallelism: every device has some heads of a transformer block, and a part of its MLP.

    python chapters/toy_models/tensor_parallel.py
    python -m minijax launch -n 2 --devices-per-process 2 chapters/toy_models/tensor_parallel.py

prints the loss after every tenth step: the same numbers, on any number of devices and processes.
The block learns to repeat, at each place of a sequence, the item at the place before. (Shoeybi et
al., "Megatron-LM", 2019, split transformers in this way.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax.sharding import NamedSharding, PartitionSpec as P

WIDTH, HEADS, HEAD, HIDDEN = 32, 8, 4, 128
BATCH, LENGTH = 8, 12
STEPS = 30
RATE = 0.3

# The shardings of the parameters: each device has some of the heads, or of the hidden units.
SPECS = {"ask": P(None, "part"), "hear": P("part"), "think": P(None, "part"),
         "conclude": P("part")}


def init(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The weights of a block."""
    shapes = {"ask": (3, HEADS, WIDTH, HEAD), "hear": (HEADS, HEAD, WIDTH),
              "think": (WIDTH, HIDDEN), "conclude": (HIDDEN, WIDTH)}
    return {name: (rng.normal(size=shape) / np.sqrt(WIDTH)).astype(np.float32)
            for name, shape in shapes.items()}


def block(params, x):
    """A transformer block on [b,t,WIDTH], computed by a device with its part of the parameters.

    Its heads and hidden units give it a summand of what is added to `x`. The sum over all devices
    is the one thing that they have to tell each other, twice a block.
    """
    x = x + jax.lax.psum(look_back(params, jax.nn.standardize(x)), "part")
    hidden = jax.nn.gelu(jax.nn.standardize(x) @ params["think"])
    return x + jax.lax.psum(hidden @ params["conclude"], "part")


def look_back(params, x):
    """Attention with the heads that this device has."""
    query, key, value = jnp.einsum("btw,nhwd->nbhtd", x, params["ask"])
    scores = jnp.einsum("bhtd,bhsd->bhts", query, key) / np.sqrt(HEAD)
    seen = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e9))
    return jnp.einsum("bhts,bhsd,hdw->btw", weights, value, params["hear"])


def loss(params, x):
    """The mean squared distance to the sequence one place before."""
    return jnp.mean((block(params, x)[:, 1:] - x[:, :-1]) ** 2)


def train() -> Iterator[float]:
    """Yield the loss of each step."""
    mesh = jax.make_mesh((jax.device_count(),), ("part",))
    loss_on_devices = jax.shard_map(loss, mesh=mesh, in_specs=(SPECS, P()), out_specs=P())

    @jax.jit
    def step(params, x):
        value, grads = jax.value_and_grad(loss_on_devices)(params, x)
        return value, jax.tree.map(lambda p, g: p - RATE * g, params, grads)

    rng = np.random.default_rng(0)
    params = {name: jax.device_put(value, NamedSharding(mesh, SPECS[name]))
              for name, value in init(rng).items()}
    places = rng.normal(size=(1, LENGTH, WIDTH))  # what tells one place from another
    for _ in range(STEPS):
        x = (rng.normal(size=(BATCH, LENGTH, WIDTH)) + places).astype(np.float32)
        value, params = step(params, jax.device_put(x, NamedSharding(mesh, P())))
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
