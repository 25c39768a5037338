"""`python -m tests.benchmarks.scale [sizes …]`: what a program costs as it grows.

A chain of sines and products is traced, differentiated and traced, lowered, compiled and run, with
more and more equations. The table has CPU microseconds for each equation and phase, least of a few
rounds in which both libraries take turns, and is saved in build/bench/scale.md. A phase that is
linear in the size has the same figure in each row.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.benchmarks.measure import write_table
from tests.benchmarks.workloads import X8, chain

SIZES = (10, 100, 1_000, 10_000)
PHASES = ("trace", "trace the gradient", "lower", "compile", "run")


def phases(jx: Any, size: int) -> Iterator[Callable[[], Any]]:
    """For each phase what does it once, from scratch."""
    x = jx.numpy.asarray(X8)

    def program() -> Callable:
        return lambda x: chain(jx, x, size)  # a new function, of which nothing is remembered

    def gradient() -> Callable:
        f = program()
        return jx.grad(lambda x: jx.numpy.sum(f(x)))

    traced = jx.jit(program()).trace(x)
    lowered = traced.lower()
    compiled = lowered.compile()
    yield lambda: jx.make_jaxpr(program())(x)
    yield lambda: jx.make_jaxpr(gradient())(x)
    yield lambda: jx.jit(program()).trace(x).lower()
    yield lambda: jx.jit(program()).lower(x).compile()
    yield lambda: jx.block_until_ready(compiled(x))


def row(libraries: tuple, size: int, budget: float) -> list[list[float]]:
    """For each library the seconds of each phase."""
    works = [[*phases(jx, size)] for jx in libraries]
    least = [[float("inf")] * len(PHASES) for _ in libraries]
    for phase in range(len(PHASES)):
        start = time.perf_counter()
        while time.perf_counter() - start < budget or least[-1][phase] == float("inf"):
            for library, work in enumerate(works):
                begin = time.process_time()
                work[phase]()
                least[library][phase] = min(least[library][phase], time.process_time() - begin)
    for seconds in least:  # lowering was measured with tracing, and compiling with both
        seconds[3] = max(seconds[3] - seconds[2], 0.0)
        seconds[2] = max(seconds[2] - seconds[0], 0.0)
    return least


def cell(ours: float, theirs: float, size: int) -> str:
    ratio = ours / theirs if theirs else np.nan
    return f"{ours / size * 1e6:.3g} ({ratio:.2f})"


def cells(libraries: tuple[Any, Any], size: int, budget: float) -> list[str]:
    """A row of the table."""
    theirs, ours = row(libraries, size, budget)
    return [f"{size:,}", *(cell(o, t, size) for o, t in zip(ours, theirs, strict=True))]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.scale", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for a cell")
    options = parser.parse_args()
    libraries = tuple(importlib.import_module(name) for name in ("jax", "minijax"))
    write_table("scale", "CPU µs for each equation, and the ratio to JAX's\n", ("equations", *PHASES),
                (cells(libraries, size, options.budget) for size in options.sizes))


if __name__ == "__main__":
    main()
