"""`python -m tests.benchmarks.eager [--of KIND] [name …]`: public functions with small arguments.

Each function of `numpy`, `numpy.linalg`, `numpy.fft`, `lax`, `nn`, `random` and `scipy` is called
eagerly, with the first list of arguments that both libraries take; then methods, operators, indices
and functions of trees. The table has the slowest first, in CPU time relative to JAX's, and is saved
in build/bench/eager.md. A call counts after its programs have been compiled and kept.

`--of bfloat16` (or another dtype) makes all floats such, `--of numpy` all arrays NumPy's, and
`--of number` all arrays Python numbers. On a busy machine each call takes turns with JAX's: `--turns
20`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.benchmarks.eager_rows import more_rows
from tests.benchmarks.measure import ROOT, least, times_in
from tests.numpy.calls import ARRAYS, rows

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "lax", "nn", "random", "scipy.special",
           "scipy.linalg", *(f"scipy.stats.{name}" for name in ("norm", "beta", "gamma", "t")))
NUMBERS = {"f": 0.5, "i": 3, "u": 3, "b": True, "c": 1 + 2j}
LIMIT = 1.2  # slower than this is a fault
TURN = 0.004  # seconds
# What is tried, as source text: `x` floats, `i` integers, `b` booleans, `m`, `sq` matrices.
GUESSES = (
    "x", "x, x", "i, i", "i", "m", "m, m", "sq", "sq, sq", "x, 0", "m, 0", "m, (1,)", "x, 2",
    "x, x, x", "i, i, i", "b", "b, b", "b, x, x", "m, (0, 1)", "m, (2, 3)", "x, (4,)", "x, i, x",
    "m, 0, 1", "m, (0,), (1,)", "(x, x)", "(x, x), 0", "(4,)", "(2, 3), x[0]", "x, 1.0, 2.0", "c",
    "sq, x[:3]", "x, lambda a: a", "x[0], x, x", "jnp.uint32(3)", "x, 'int32'", "x, 1, 3",
    "'float32', (4,), 0", "'float32', 4", "x, (1,), (3,)", "x, (1,), (3,), (1,)", "x, (0,), (2,)",
    "x, x[:2], (0,)", "x, x, 0", "x, 1, 0, False", "m[None, None], m[None, None], (1, 1), 'SAME'",
    "x, 0.0, jax.lax.add, (0,)", "x, 0.0, jax.lax.add, (2,), (1,), 'VALID'", "x, 0.0, ((1, 1, 0),)",
    "x[:2], x, x[0]", "x, x[0], x[0]", "3", "3, 4", "4", "0.0, 1.0", "x, x, x, x",
)
OF_KEYS = (
    "key", "key, (3,)", "key, 2.0", "key, 2.0, 3.0", "key, x", "key, x, x", "key, 0, 7",
    "key, (3,), 0, 7", "key, x + 5, x + 5", "key, 5, x + 3", "key, 4, 0.5", "key, x[:3], sq",
    "key, x, (4,)", "key, 3", "7", "key, -1.0, 1.0", "key, 2, 3.0, (3,)", "key, 0.1, 0.5, 0.9",
)  # fmt: skip


def arguments(jx: Any, kind: str = "float32") -> dict[str, Any]:
    """The names in a row: arrays of this kind of floats, or else `numpy` or `number`."""
    def operand(a: np.ndarray) -> Any:
        if kind in ("numpy", "number"):
            return np.asarray(a) if kind == "numpy" else NUMBERS[a.dtype.kind]
        array = jx.numpy.asarray(a)
        return array.astype(kind) if a.dtype == np.float32 else array

    arrays = {name: operand(a) for name, a in ARRAYS.items()}
    return {"jax": jx, "jnp": jx.numpy, "np": np, "key": jx.random.key(0), **arrays}


def calls(libraries: tuple[Any, Any], scopes: list[dict], wanted: list[str]) -> Iterator[str]:
    """For each function a call, as source text, that both libraries compute."""
    scopes = scopes[::-1]  # ours is faster to refuse
    known = [row.replace("jnp.", "jax.numpy.", 1) for row in rows() if row.startswith("jnp.")]
    for module in MODULES:
        room = importlib.import_module(f"{libraries[0].__name__}.{module}")
        for name in sorted(dir(room)):
            function = getattr(room, name)
            if name[0] == "_" or not callable(function) or inspect.isclass(function):
                continue
            path = f"jax.{module}.{name}"
            if wanted and not any(part in path for part in wanted):
                continue
            table = [row for row in known if row.startswith(f"{path}(")]
            guesses = [f"{path}({args})" for args in (OF_KEYS if module == "random" else GUESSES)]
            yield from first_that_works([*table, *guesses], scopes)
    for row in more_rows():
        if not wanted or any(part in row for part in wanted):
            with contextlib.suppress(Exception):
                for scope in scopes:
                    eval(row, scope)
                yield row


def first_that_works(candidates: list[str], scopes: list[dict]) -> Iterator[str]:
    for row in candidates:
        with contextlib.suppress(Exception):
            if all(is_array(scope["jax"], eval(row, scope)) for scope in scopes):
                yield row
                return


def is_array(jx: Any, out: Any) -> bool:
    """Whether something was computed: an array, or a tree of arrays."""
    leaves = jx.tree_util.tree_leaves(out)
    return bool(leaves) and all(isinstance(leaf, jx.Array) for leaf in leaves)


def times_of(calls: list[Callable[[], Any]], turns: int) -> list[float]:
    """CPU seconds of a call in each library: the least of so many rounds, by turns."""
    times = [times_in(TURN, call, time.process_time) for call in calls]
    return least(calls, times, turns, time.process_time)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.eager", description=__doc__)
    parser.add_argument("names", nargs="*", help="only functions whose path contains one of these")
    parser.add_argument("--of", default="float32", help="a dtype of floats, numpy or number")
    parser.add_argument("--turns", type=int, default=4, help="how often each call is measured")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    libraries = tuple(importlib.import_module(name) for name in ("jax", "minijax"))
    scopes = [arguments(jx, options.of) for jx in libraries]
    table = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # `save` writes files
        for row in calls(libraries, scopes, options.names):  # type: ignore[arg-type]
            both = [eval(f"lambda: {row}", scope) for scope in scopes]
            theirs, ours = times_of(both, options.turns)
            table.append((ours / theirs, f"| `{row}` | {theirs * 1e6:.1f} | {ours * 1e6:.1f} | "
                                         f"{ours / theirs:.2f} |"))
            print(table[-1][1], file=sys.stderr, flush=True)
    table.sort(reverse=True)
    slow = sum(ratio > LIMIT for ratio, _ in table)
    lines = [f"{len(table)} functions, {slow} of them slower than {LIMIT} x JAX\n",
             "| call | JAX, µs | minijax, µs | ratio |", "|---|---|---|---|"]
    lines += [line for _, line in table]
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "eager.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[:slow + 20]))


if __name__ == "__main__":
    main()
