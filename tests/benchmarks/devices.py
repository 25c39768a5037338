"""`python -m tests.benchmarks.devices [counts …]`: a sharded step on more and more CPU devices.

A layer's step of gradient descent has its batch split over all devices. Each library and count gets
a process of its own, twice, in turns. The table has the least CPU time of lowering, compiling and a
step, and the least memory that a process needed, each with the ratio to JAX's; it is saved in
build/bench/devices.md. From 1,024 devices on, programs are lowered and compiled, and not run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from tests.benchmarks.measure import ROOT, environment, write_table

COUNTS = (8, 64, 256, 1024)
MOST_TO_RUN = 256
WIDTH, STEPS = 64, 12
COLUMNS = {"lower": ("ms", 1e3), "compile": ("ms", 1e3), "step": ("ms", 1e3), "memory": ("MB", 1)}


def measured(jx: Any) -> dict[str, float]:
    """Seconds and megabytes, in this process, whose devices are all used."""
    devices = jx.devices()
    mesh = jx.sharding.Mesh(np.array(devices), ("data",))
    spec = jx.sharding.PartitionSpec
    split, copied = (jx.sharding.NamedSharding(mesh, s) for s in (spec("data"), spec()))
    x = jx.device_put(np.ones((2 * len(devices), WIDTH), np.float32), split)
    w = jx.device_put(np.ones((WIDTH, WIDTH), np.float32) / WIDTH, copied)

    def loss(w, x):
        return jx.numpy.mean(jx.numpy.tanh(x @ w) ** 2)

    def step(w, x):
        value, grad = jx.value_and_grad(loss)(w, x)
        return value, w - 0.1 * grad

    start = time.process_time()
    lowered = jx.jit(step).lower(w, x)
    middle = time.process_time()
    compiled = lowered.compile()
    times = {"lower": middle - start, "compile": time.process_time() - middle}
    if len(devices) <= MOST_TO_RUN:
        spent = []
        for _ in range(STEPS):
            start = time.process_time()
            value, w = compiled(w, x)
            jx.block_until_ready((value, w))
            spent.append(time.process_time() - start)
        times["step"] = min(spent)
    return times | {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def in_a_process(library: str, count: int) -> dict[str, float]:
    out = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.devices", "--library", library],
        capture_output=True, text=True, check=True, cwd=ROOT,
        env=environment() | {"JAX_NUM_CPU_DEVICES": str(count)},
    )  # fmt: skip
    return json.loads(out.stdout.splitlines()[-1])


def row(count: int, rounds: int) -> list[str]:
    """The cells of a count: ours, and the ratio."""
    runs: dict[str, list[dict]] = {"jax": [], "minijax": []}
    for _ in range(rounds):
        for library, results in runs.items():
            results.append(in_a_process(library, count))
    theirs, ours = ({name: min(run[name] for run in results) for name in results[0]}
                    for results in runs.values())
    return [f"{ours[name] * scale:.3g} {unit} ({ours[name] / theirs[name]:.2f})"
            if name in ours else "" for name, (unit, scale) in COLUMNS.items()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.devices",
                                     description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--library", help="measure this one here, and print the figures")
    options = parser.parse_args()
    if options.library:
        jx = importlib.import_module(options.library)
        importlib.import_module(f"{options.library}.numpy")
        print(json.dumps(measured(jx)))
        return
    write_table("devices", "", ("devices", *COLUMNS),
                ([f"{count:,}", *row(count, options.rounds)] for count in options.counts))


if __name__ == "__main__":
    main()
