"""`python -m tests.benchmarks.memory [--elements 2**27] [--only beyond] [row …]`: the memory that a call takes.

Each row is a call in a fresh process of each library. The table has the size of the result, and how far
the memory rose above what it was before the call, with the ratio to JAX's; it is saved in
build/bench/memory.md. Rows of the part `beyond` have more than 2**31 elements of one byte, and say whether
both libraries compute the same: indices and counts do not fit in 32 bits there. They take up to 7 GB.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.measure import ROOT, environment, write_table

ELEMENTS = 2**27
GB = 2**30

# What rows speak of is made before the measurement, if they speak of it: n elements, or k × k.
OPERANDS = {
    "x": "jnp.arange(n, dtype='float32')", "i": "jnp.arange(n, dtype='int32')", "a": "np.arange(n, dtype='float64')",
    "f": "np.arange(n, dtype='float32')", "s": "[0.5] * (n // 64)", "key": "jax.random.key(0)",
    "b": "one_other(n, 0, -3, 7, 'int8')", "m": "one_other(n, True, -2, False, 'bool')",
}
PARTS = {
    "creation": """
        jnp.zeros(n) | jnp.ones(n) | jnp.full(n, 2.0) | jnp.full((k, k), x1) | jnp.empty(n) | jnp.zeros_like(x)
        jnp.full_like(x, 3) | jnp.arange(n) | jnp.arange(0.0, n) | jnp.arange(1, n, 2) | jnp.arange(n, dtype='float32')
        lax.iota('int32', n) | lax.broadcasted_iota('float32', (k, k), 1) | jnp.linspace(0, 1, n) | jnp.eye(k)
        jnp.identity(k, 'int32') | jnp.tri(k) | jnp.diag(x[:k]) | jnp.indices((k // 2, k)) | jnp.logspace(0, 1, n)
        jnp.broadcast_to(x[:k], (k, k)) | jnp.tile(x[:k], k) | jnp.repeat(x[:k], k)""",
    "conversion": """
        x.astype('float16') | i.astype('float32') | jnp.asarray(a) | jnp.array(f) | jnp.asarray(f) | jnp.asarray(s)
        x.astype('bool') | x.astype('int8') | jnp.float32(a) | jax.device_put(f) | np.asarray(x) | x.copy() | jnp.array(x)
        lax.bitcast_convert_type(x, 'int32')""",
    "elementwise": """
        x > 1 | x == x | jnp.where(x > 1, x, 0) | x + 1 | -x | jnp.sin(x) | x * x + x | jnp.clip(x, 0, 1) | jnp.isnan(x)
        jax.jit(lambda x: jnp.where(x > 1, x * 2, x))(x) | x[1:] | x[::2] | x[::-1] | x.reshape(2, -1).T
        jnp.concatenate([x, x]) | jnp.stack([x, x]) | x.at[3].set(1) | jnp.roll(x, 1) | jnp.pad(x, 1)""",
    "reductions": """
        x.sum() | x.max() | x.mean() | x.var() | x.std() | x.argmax() | x.prod() | x.any() | (x > 1).all() | i.sum()
        x.reshape(2, -1).sum(0) | x.reshape(-1, 2).sum(1) | x.reshape(-1, 2).argmax(1) | jnp.linalg.norm(x) | x @ x
        jnp.count_nonzero(x) | jnp.cumsum(x) | jnp.sort(x[:n // 8]) | jnp.median(x[:n // 8]) | jax.nn.softmax(x)
        jax.nn.logsumexp(x)""",
    "random": """
        jax.random.bits(key, (n,)) | jax.random.uniform(key, (n,)) | jax.random.normal(key, (n,))
        jax.random.randint(key, (n,), 0, 9) | jax.random.bernoulli(key, 0.5, (n,)) | jax.random.permutation(key, n // 8)
        jax.random.bits(key, (n,), 'uint8') | jax.random.exponential(key, (n,))""",
    "beyond": """
        jnp.zeros(n, 'int8') | jnp.ones(n, 'bool') | jnp.full(n, 3, 'uint8') | lax.iota('uint8', n) | jnp.arange(n, dtype='uint8')
        lax.broadcasted_iota('uint8', (k, k), 0) | jnp.zeros(n, 'uint8') == 0 | b + b | b > 0 | jnp.where(b > 0, b, 1) | b.astype('uint8') | b.astype('bool')
        b.max() | b.min() | b.any() | m.all() | b.sum(dtype='int8') | b.sum() | m.sum() | b.argmax() | m.argmin()
        jnp.count_nonzero(m) | b.mean() | b[-3] | b[-4:] | b[2**31 - 2:] | lax.dynamic_slice(b, (n - 4,), (4,))
        lax.dynamic_index_in_dim(b, n - 3) | b.at[n - 2].set(1)[-4:] | b[jnp.array([-3, 0])] | b[::-1][:4] | jnp.roll(b, 1)[-4:]
        jnp.flip(b)[:4] | lax.cumsum(b)[-4:] | lax.cummax(b)[-4:] | jnp.searchsorted(b[-3:], 7) | b.reshape(2, -1).sum(1)
        b.reshape(-1, 8).argmax(1).max() | jnp.concatenate([b[-4:], b])[-4:] | jnp.pad(b, 1)[-4:] | jnp.repeat(b[-4:], n // 4)[-1]
        jnp.broadcast_to(b[-3], n)[-1] | jax.random.bits(key, (n,), 'uint8')[-3:] | jax.random.bernoulli(key, 0.5, (n,)).mean()
        jax.jit(lambda b: (b.sum(dtype='int8'), b.argmax()))(b) | jnp.nonzero(b, size=1) | jnp.sort(b)[-2:]""",
}
ROWS = {row.strip(): part for part, text in PARTS.items() for row in text.replace("\n", "|").split("|") if row.strip()}


def status(name: str) -> int:
    """A figure of this process, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def one_other(jx: Any, n: int, value: Any, place: int, other: Any, dtype: str) -> Any:
    """A vector of one value, with another one at a place that may be beyond 2**31."""
    contents = np.full(n, value, dtype)
    contents[place] = other
    return jx.numpy.asarray(contents)


def measured(library: str, row: str, elements: int) -> dict[str, Any]:
    """The bytes of the result, those that the call added at its peak, and what the result is."""
    jax = importlib.import_module(library)
    names = {"jax": jax, "jnp": importlib.import_module(f"{library}.numpy"), "lax": jax.lax, "np": np,
             "n": elements, "k": int(elements ** 0.5), "x1": 1.5,
             "one_other": functools.partial(one_other, jax)}
    run = lambda n, k, **more: jax.block_until_ready(eval(row, names | {"n": n, "k": k, **more}))

    def operands(n):
        return {name: jax.block_until_ready(eval(text, names | {"n": n})) for name, text in OPERANDS.items()
                if name in compile(row, "", "eval").co_names}

    jax.jit(lambda x: x + 1)(1.0)  # loads XLA
    if ROWS.get(row) != "beyond":
        run(256, 16, **operands(256))  # what is loaded or compiled at first is not counted
    given = operands(elements)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is in use now
    before = status("VmRSS")
    out = run(names["n"], names["k"], **given)
    peak = status("VmHWM") - before
    leaves = [np.asarray(x) for x in jax.tree.leaves(out)]
    return {"bytes": sum(x.nbytes for x in leaves), "peak": peak,
            "result": [f"{x.dtype}{x.shape} {x.ravel()[:4]} {x.ravel()[-4:]}" for x in leaves]}


def in_a_process(library: str, row: str, elements: int) -> dict[str, Any]:
    out = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.memory", "--library", library, "--elements", str(elements), row],
        capture_output=True, text=True, cwd=ROOT, env=environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")})
    if out.returncode:
        return {"error": (out.stderr.strip().splitlines() or [f"signal {-out.returncode}"])[-1][:80]}
    return json.loads(out.stdout.splitlines()[-1])


def cells(row: str, elements: int) -> list[str]:
    ours, theirs = (in_a_process(library, row, elements) for library in ("minijax", "jax"))
    texts = [f"{run['peak'] / GB:.2f}" if "peak" in run else run["error"] for run in (ours, theirs)]
    size, ratio, same = "", "", ""
    if "peak" in ours and "peak" in theirs:
        # A few megabytes are code that is loaded, and threads.
        ratio = f"{(ours['peak'] + GB / 32) / (theirs['peak'] + GB / 32):.2f}"
        same = "yes" if ours["result"] == theirs["result"] else f"no: {ours['result']}, {theirs['result']}"
        size = f"{ours['bytes'] / GB:.2f}"
    return [f"`{row}`", size, *texts, ratio, same]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.memory", description=__doc__)
    parser.add_argument("rows", nargs="*", help="calls; by default those of the parts")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--elements", type=eval, help="by default 2**27; beyond, 2**31 + 8")
    parser.add_argument("--library", help="measure this one here, and print the figures")
    options = parser.parse_args()
    if options.library:
        print(json.dumps(measured(options.library, options.rows[0], options.elements)))
        return
    chosen = options.rows or [row for row, part in ROWS.items() if part in options.only]
    write_table("memory", "Gigabytes.", ("call", "result", "minijax", "JAX", "ratio", "equal"), (
        cells(row, options.elements or (2**31 + 8 if ROWS.get(row) == "beyond" else ELEMENTS)) for row in chosen))


if __name__ == "__main__":
    main()
