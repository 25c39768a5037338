"""Thousands of distinct programs are traced, differentiated, compiled and forgotten, and the memory stays flat.

`python -m tests.endurance.memory 10000`; with 10 after it, only each tenth is compiled.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import minijax as jax

jnp = jax.numpy
MEASUREMENTS = 20
ALLOWED = 1024  # bytes for each program, on average over the second half

STEPS: list[Callable[[Any, float], Any]] = [
    lambda x, c: jnp.sin(x) * c,
    lambda x, c: x @ x + c,
    lambda x, c: jnp.where(x > c, x, -x),
    lambda x, c: jax.lax.fori_loop(0, 3, lambda i, y: y * c + i, x),
    lambda x, c: jax.lax.cond(jnp.sum(x) > c, jnp.cos, jnp.tanh, x),
    lambda x, c: jax.vmap(lambda row: jax.nn.softmax(row) * c)(x),
    lambda x, c: jax.checkpoint(lambda y: jnp.exp(-y * y) + c)(x),
    lambda x, c: jnp.cumsum(x, axis=0) / (c + 3),
    lambda x, c: jax.lax.scan(lambda s, row: (s + row, s * c), jnp.zeros(x.shape[1]), x)[1],
]


def program(i: int) -> Callable[[Any], Any]:
    """The program with this number: other steps, other constants, another function each time."""
    chooser = random.Random(i)
    steps = [(chooser.choice(STEPS), chooser.uniform(-1, 1)) for _ in range(2)]

    def f(x: Any) -> Any:
        for step, c in steps:
            x = step(x, c)
        return jnp.sum(x)

    return f


def visit(i: int, compile: bool = True) -> None:
    """Trace a program, compile it or its gradient, and sometimes compare with what is eager."""
    n = 2 + i % 3
    x = np.linspace(-1, 1, n * n, dtype=np.float32).reshape(n, n)
    f = program(i)
    transformed = f if i % 2 else jax.grad(f)
    jax.make_jaxpr(jax.vmap(transformed))(x[None])
    if not compile:
        return
    result = jax.jit(transformed)(x)
    if i % 11 == 0:
        with jax.disable_jit():
            np.testing.assert_allclose(result, transformed(x), rtol=1e-3, atol=1e-3)


def resident_bytes() -> int:
    """The memory of this process, after what can be freed has been."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def main(count: int, every: int = 1) -> float:
    """Visit so many programs, and compile each `every`-th; returns by how many bytes each has made
    the process grow."""
    sizes = []
    for part in range(MEASUREMENTS):
        for i in range(part * count // MEASUREMENTS, (part + 1) * count // MEASUREMENTS):
            visit(i, compile=i % every == 0)
        sizes.append(resident_bytes())
        print(f"{(part + 1) * count // MEASUREMENTS} programs: {sizes[-1] / 2**20:.1f} MB", flush=True)
    half = MEASUREMENTS // 2
    slope = np.polyfit(range(half), sizes[half:], 1)[0] * MEASUREMENTS / count
    print(f"{slope:.0f} bytes for each program of the second half", flush=True)
    return float(slope)


if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"  # half the time
    sys.exit(main(*map(int, sys.argv[1:])) > ALLOWED)
