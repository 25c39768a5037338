"""Measuring two libraries against each other on a machine that is never quite still.

Each library works in a process of its own; they take turns of about 30 ms in the order A B B A,
so that whatever slows the machine for a while slows both. The figure is the median over rounds of
the ratio within a round. JAX against itself stays within some 3 %: believe nothing below 5 %.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TURN = 0.03  # seconds


@dataclass(frozen=True)
class Result:
    """Times in seconds (of one piece, divided by its units), and the median ratio."""

    oracle: float
    subject: float
    ratio: float


class Process:
    """A worker, asked one question at a time."""

    def __init__(self, library: str, clock: str, devices: int = 1):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.worker", library, clock],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env=environment() | {"JAX_NUM_CPU_DEVICES": str(devices)},
        )  # fmt: skip
        self.library = library

    def ask(self, **request: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {self.library} worker ended while asked for {request}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.library}, {request}: {answer['error']}")
        return answer["value"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def wait(out: Any) -> None:
    """Wait until the arrays in nested containers are computed."""
    if isinstance(out, (tuple, list, dict)):
        for x in out.values() if isinstance(out, dict) else out:
            wait(x)
    else:
        getattr(out, "block_until_ready", lambda: None)()


def time_of(call: Callable[[], Any], times: int, clock: Callable[[], float]) -> float:
    """Seconds of a call, where it is made so many times before its result is awaited."""
    start = clock()
    for _ in range(times):
        out = call()
    wait(out)
    return max(clock() - start, 1e-9) / times


def times_in(seconds: float, call: Callable[[], Any], clock: Callable[[], float]) -> int:
    """How many calls take so many seconds, at least one."""
    return max(1, int(seconds / time_of(call, 8, clock)))


def least(calls: Sequence[Callable[[], Any]], times: Sequence[int], rounds: int,
          clock: Callable[[], float]) -> list[float]:
    """The least seconds of each call, of rounds in which the calls take turns."""
    found = [[time_of(call, n, clock) for call, n in zip(calls, times, strict=True)]
             for _ in range(rounds)]
    return [*map(min, zip(*found, strict=True))]


def write_table(name: str, about: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table row by row as it is measured, and save it as build/bench/`name`.md."""
    lines = [about] * bool(about)
    lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    print("\n".join(lines))
    for row in rows:
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n")


def table(about: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, below a sentence about it."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join([about, "", *[f"| {' | '.join(cells)} |" for cells in lines]])


def replaced(page: str, begin: str, end: str, text: str) -> str:
    """A page with another text between two marks."""
    before, _, rest = page.partition(begin)
    return before + begin + "\n" + text + "\n\n" + end + rest.partition(end)[2]


def environment() -> dict[str, str]:
    """Ours, without flags that would change how XLA compiles."""
    # Compiled files are written, else every start would compile all sources again.
    dropped = ("XLA_FLAGS", "PYTHONDONTWRITEBYTECODE")
    kept = {k: v for k, v in os.environ.items() if k not in dropped}
    return {"TF_CPP_MIN_LOG_LEVEL": "2", "JAX_PLATFORMS": "cpu", **kept}


def ratio_of(oracle: Process, subject: Process, row: str, units: int, budget: float,
             turn: float = TURN) -> Result:
    """Rounds of A B B A until `budget` seconds are spent, three rounds at least."""
    for process in (oracle, subject):  # build, compile, warm up
        process.ask(row=row, seconds=turn)
    ours, theirs, ratios = [], [], []
    end = time.monotonic() + budget
    while len(ratios) < 3 or (time.monotonic() < end and len(ratios) < 25):
        turns = [p.ask(row=row, seconds=turn) for p in (oracle, subject, subject, oracle)]
        theirs += [turns[0], turns[3]]
        ours += turns[1:3]
        ratios.append((turns[1] + turns[2]) / (turns[0] + turns[3]))
    return Result(
        statistics.median(theirs) / units,
        statistics.median(ours) / units,
        statistics.median(ratios),
    )


def ratio_of_start(statement: str, libraries: tuple[str, str], clock: str, rounds: int) -> Result:
    """The same for a statement that a fresh interpreter runs, with `LIBRARY` for the name."""
    for library in libraries:  # bytecode and file caches
        _fresh(statement, library, clock)
    ours, theirs, ratios = [], [], []
    for _ in range(rounds):
        a, b = libraries
        turns = [_fresh(statement, library, clock) for library in (a, b, b, a)]
        theirs += [turns[0], turns[3]]
        ours += turns[1:3]
        ratios.append((turns[1] + turns[2]) / (turns[0] + turns[3]))
    return Result(*map(statistics.median, (theirs, ours, ratios)))


def _fresh(statement: str, library: str, clock: str) -> float:
    read = {"wall": "perf_counter", "cpu": "process_time"}[clock]
    script = (
        f"from time import {read} as clock; start = clock()\n"
        f"{statement.replace('LIBRARY', library)}\n"
        "print(clock() - start)"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT,
        env=environment(),
    )  # fmt: skip
    return float(out.stdout.split()[-1])
