"""`python -m tests.benchmarks [--clock cpu] [--quick] [row …]`: measure, print and save the table.

`--only eager derivatives` measures parts of the table: starts, eager, composite, derivatives, tracing,
dispatch, steps, tuned, compiled. The table goes to build/bench/latest.md and, with every figure, to
build/bench/latest.json. `--before FILE.json` shows the ratios of an earlier run beside it.
`--book` writes it also into the page of chapter 6. `--subject jax` compares JAX with itself: what
differs from 1 then is noise.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.composite import COMPOSITE
from tests.benchmarks.measure import (
    ROOT,
    Process,
    Result,
    environment,
    ratio_of,
    ratio_of_start,
    replaced,
    table,
)
from tests.benchmarks.workloads import COMPILED, WORKLOADS

START = {
    "import": ("import LIBRARY", 0.40, 0.40),
    "import + first jitted result": (
        "import LIBRARY; float(LIBRARY.jit(lambda x: x * 2 + 1)(3.0))",
        0.50,
        0.50,
    ),
    "cached start: a transformer step": (
        "from tests.benchmarks.starts import lowered; program = lowered('LIBRARY'); "
        "start = clock(); program.compile()",
        1.0,
        1.3,
    ),
}
# Here the two that are compared are ours: without the file (the column of JAX), and with it.
CACHED = (
    "from tests.benchmarks.starts import lowered; program = lowered('SUBJECT', cached=LIBRARY); "
    "start = clock(); program.compile()"
)
# What the rows of a part begin with.
PARTS = {
    "starts": ("import", "cached start"), "eager": ("eager", "tree.map"), "composite": ("composite",),
    "derivatives": ("jvp", "grad", "vmap", "value_and_grad", "Hessian", "third derivative"),
    "tracing": ("make_jaxpr", "lower", "first result"), "dispatch": ("jit dispatch", "shard_map"),
    "steps": ("jitted", "8-device"), "tuned": ("autotuned",),
    "compiled": tuple(f"{name}: " for name in COMPILED),
}  # fmt: skip
FIGURES = ("flops", "bytes accessed", "temporary bytes")
FOLDER = ROOT / "build" / "bench"
PAGE = ROOT / "chapters" / "06-jit" / "speed.md"
BEGIN, END = "<!-- The table: written by `make bench` -->\n", "<!-- The table ends -->\n"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("rows", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=[], help="parts of the table")
    parser.add_argument("--before", type=Path, help="latest.json of an earlier run, to compare with")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="CPU time, where other programs disturb the machine")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="a third of the rounds")
    parser.add_argument("--subject", default="minijax", help="what is compared with jax")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the table is saved")
    parser.add_argument("--book", action="store_true", help="write the table into the book")
    return parser.parse_args()


def measured(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows of the table, one by one."""
    libraries = ("jax", options.subject)
    rounds = 3 if options.quick else 8
    for name, (statement, goal, mark) in START.items():
        if chosen(name, options):
            result = ratio_of_start(statement, libraries, options.clock, rounds)
            yield row(name, result, goal, mark)
    name = "cached start: reading against compiling"
    if chosen(name, options):
        statement = CACHED.replace("SUBJECT", options.subject)
        yield row(name, ratio_of_start(statement, ("False", "True"), options.clock, rounds),
                  0.05, 0.10)  # fmt: skip
    budget = 1.0 if options.quick else 3.0
    works = [work for name, work in WORKLOADS.items() if chosen(name, options)]
    for devices in sorted({work.devices for work in works}, reverse=True):
        with processes(options, devices) as (oracle, subject):
            for work in works:
                if work.devices == devices:
                    result = ratio_of(oracle, subject, work.name, work.units, budget)
                    yield row(work.name, result, work.goal, work.mark)
    if chosen("composite", options):
        with processes(options) as (oracle, subject):
            yield from composite_rows(oracle, subject, options.folder)
    labels = {f"{name}: {f}": (name, f) for name in COMPILED for f in FIGURES}
    if any(chosen(label, options) for label in labels):
        with processes(options) as pair:
            for label, (name, figure) in labels.items():
                if chosen(label, options):
                    theirs, ours = (process.ask(compiled=name)[figure] for process in pair)
                    yield compiled_row(label, theirs, ours)


@contextlib.contextmanager
def processes(options: argparse.Namespace, devices: int = 1) -> Iterator[list[Process]]:
    """A process of JAX and one of ours."""
    pair = [Process(library, options.clock, devices) for library in ("jax", options.subject)]
    try:
        yield pair
    finally:
        for process in pair:
            process.close()


def chosen(name: str, options: argparse.Namespace) -> bool:
    """Whether a row is to be measured."""
    beginnings = tuple(start for part in options.only for start in PARTS[part])
    return ((not options.only or name.startswith(beginnings))
            and (not options.rows or any(part in name for part in options.rows)))


def composite_rows(oracle: Process, subject: Process, folder: Path) -> Iterator[dict[str, Any]]:
    """The geometric mean of many calls, and the three that are slowest beside JAX's. All of them go
    to composite.md, the slowest first."""
    results = {name: ratio_of(oracle, subject, name, 1, 0.0, 0.004) for name in COMPOSITE}
    mean = Result(*[statistics.geometric_mean(column) for column in zip(
        *[(r.oracle, r.subject, r.ratio) for r in results.values()], strict=True)])
    yield row(f"composite: {len(results)} functions, geometric mean", mean, 0.60, 0.80)
    slowest = sorted(results, key=lambda name: results[name].ratio, reverse=True)
    rows = [row(name, results[name], 3.0, None) for name in slowest]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "composite.md").write_text("\n".join(line(r, {}) for r in rows) + "\n")
    for slow in rows[:3]:
        yield slow | {"row": f"composite, among the slowest: {slow['row']}"}


def row(name: str, result: Result, goal: float | None, mark: float | None) -> dict[str, Any]:
    return {"row": name, "jax": seconds(result.oracle), "subject": seconds(result.subject),
            "ratio": result.ratio, "goal": goal, "mark": mark}  # fmt: skip


def compiled_row(name: str, theirs: float, ours: float) -> dict[str, Any]:
    """Work that compiled code does: no more than JAX's, equal for flops."""
    return {"row": name, "jax": f"{theirs:,.0f}", "subject": f"{ours:,.0f}",
            "ratio": ours / theirs if theirs else 1.0 if not ours else float("inf"),
            "goal": 1.0, "mark": 1.0 if name.endswith("flops") else None}  # fmt: skip


def seconds(t: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if t >= size:
            return f"{t / size:.3g} {unit}"
    return f"{t / 1e-9:.3g} ns"


def verdict(row: dict[str, Any]) -> str:
    """Whether the row is at its goal, or at least at its mark (with 1 % for the last digit)."""
    for name in ("goal", "mark"):
        if row[name] is not None and row["ratio"] <= row[name] * 1.01:
            return name
    return "" if row["goal"] is None and row["mark"] is None else "missed" if row["mark"] else "—"


def line(row: dict[str, Any], before: dict[str, float]) -> str:
    """A row in Markdown, with the ratio of an earlier run."""
    limits = ["" if row[k] is None else f"{row[k]:g}" for k in ("mark", "goal")]
    earlier = [f"{before[row['row']]:.3f}" if row["row"] in before else ""] if before else []
    cells = (row["row"], row["jax"], row["subject"], *earlier, f"{row['ratio']:.3f}", *limits, verdict(row))
    return "| " + " | ".join(cells) + " |"


def heading(options: argparse.Namespace) -> str:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=ROOT
    ).stdout.strip()
    return (
        f"{options.subject} at {commit or 'unknown'} against JAX {version('jax')}, "
        f"jaxlib {version('jaxlib')}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, {options.clock} time; load {os.getloadavg()[0]:.1f}.\n\n"
        f"| work | JAX | {options.subject} | {'before | ' if options.before else ''}ratio | mark | goal "
        f"| reached |\n" + "|---" * (8 if options.before else 7) + "|"
    )


def earlier(options: argparse.Namespace) -> dict[str, float]:
    """The ratios of an earlier run, by row."""
    if not options.before:
        return {}
    return {row["row"]: row["ratio"] for row in json.loads(options.before.read_text())["rows"]}


def with_table(page: str, about: str, rows: list[dict[str, Any]]) -> str:
    """The text of the page with this table in it, in place of an older one."""
    cells = [[r["row"], r["jax"], r["subject"], f"{r['ratio']:.2f}"] for r in rows]
    return replaced(page, BEGIN, END, table(about, ("work", "JAX", "minijax", "ratio"), cells))


def main() -> None:
    options = parse()
    start, rows, text, before = time.monotonic(), [], [heading(options)], earlier(options)
    print(text[0])
    for measurement in measured(options):
        rows.append(measurement)
        text.append(line(measurement, before))
        print(text[-1], flush=True)
    print(f"\n{len(rows)} rows in {time.monotonic() - start:.0f} s; saved in {options.folder}")
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "latest.md").write_text("\n".join(text) + "\n")
    (options.folder / "latest.json").write_text(json.dumps({"about": text[0], "rows": rows}, indent=2))
    if options.book:
        about = text[0].partition("\n")[0]
        PAGE.write_text(with_table(PAGE.read_text(), about[0].upper() + about[1:], rows))
        subprocess.run([sys.executable, "-m", "tests.benchmarks.beside", "--book"], check=True,
                       cwd=ROOT, env=environment())


if __name__ == "__main__":
    main()
