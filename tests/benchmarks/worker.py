"""One library in a process of its own, doing rounds of work on command.

`python -m tests.benchmarks.worker jax|minijax wall|cpu` reads a JSON request a line and answers
each with a line: `{"row": …, "seconds": …}` runs a workload for about that long and answers with
the time of one piece; `{"compiled": …}` answers with what XLA says of a compiled program.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.benchmarks.composite import COMPOSITE
from tests.benchmarks.measure import time_of
from tests.benchmarks.workloads import COMPILED, WORKLOADS

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


class Worker:
    """Keeps each workload ready after its first use, and how many pieces fill a round."""

    def __init__(self, library: str, clock: str):
        self.jx = importlib.import_module(library)
        for submodule in ("numpy", "lax", "tree_util"):
            importlib.import_module(f"{library}.{submodule}")
        self.clock: Callable[[], float] = CLOCKS[clock]
        self.pieces: dict[str, Callable[[], Any]] = {}
        self.repeats: dict[str, int] = {}

    def answer(self, request: dict[str, Any]) -> Any:
        if "compiled" in request:
            return self.compiled(request["compiled"])
        return self.round(request["row"], request["seconds"])

    def round(self, row: str, seconds: float) -> float:
        """The time of one piece, from as many as fill `seconds`."""
        if row not in self.pieces:
            self.pieces[row] = (WORKLOADS.get(row) or COMPOSITE[row]).build(self.jx)
            self._run(row, 1)
            self._run(row, 1)
        n = self.repeats.get(row)
        if n is None:
            once = self._run(row, 1)
            if once < seconds:  # again: the first is often slow
                once = self._run(row, min(20, max(1, int(seconds / once))))
            n = self.repeats[row] = max(1, int(seconds / once))
        return self._run(row, n)

    def _run(self, row: str, n: int) -> float:
        return time_of(self.pieces[row], n, self.clock)

    def compiled(self, name: str) -> dict[str, float]:
        """Figures of XLA's for a compiled program."""
        step, args = COMPILED[name](self.jx)
        compiled = self.jx.jit(step).lower(*args).compile()
        cost, memory = compiled.cost_analysis(), compiled.memory_analysis()
        return {
            "flops": cost["flops"],
            "bytes accessed": cost["bytes accessed"],
            "temporary bytes": memory.temp_size_in_bytes,
        }


def main() -> None:
    answers = sys.stdout
    # Whatever the libraries print must not be taken for an answer.
    with contextlib.redirect_stdout(sys.stderr):
        worker = Worker(*sys.argv[1:])
        for line in sys.stdin:
            try:
                answer = {"value": worker.answer(json.loads(line))}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
