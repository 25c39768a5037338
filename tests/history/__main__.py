"""`python -m tests.history --all`: each program 20 times among the others, and once in a fresh process.

A fresh process is a fork of this one, which has imported minijax and has not used it. Another fork
runs all programs again and again in a random order, in which half of the runs keep the program's
functions and arrays from the run before, and some happen in another thread. Whatever a run shows
must equal what the fresh process showed: values to the bit, types, text, warnings, errors.

    python -m tests.history --sample 60 --rounds 8 --seed 7
    python -m tests.history --only nan_to_num
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from tests.history.outcome import Program, difference, sources
from tests.processes import QUICK_COMPILATION

STUCK = 120  # seconds that a fresh process may take


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.history", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="all programs")
    parser.add_argument("--sample", type=int, default=60, help="so many programs, chosen by the seed")
    parser.add_argument("--only", help="programs that contain this text")
    parser.add_argument("--rounds", type=int, default=20, help="how often each program runs")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--processes", type=int, default=2, help="how many run at a time")
    return parser.parse_args(arguments)


def chosen(given: argparse.Namespace) -> list[str]:
    """The programs of a run."""
    programs = [source for source in sources() if not given.only or given.only in source]
    if given.all or given.only or given.sample >= len(programs):
        return programs
    return random.Random(given.seed).sample(programs, given.sample)


def fresh(source: str) -> dict[str, Any]:
    """What the program shows in a process that has run nothing else."""
    return Program(source).run()


def among_others(programs: list[str], rounds: int, seed: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Run each program so many times, in random order: number of the run, program, what it shows."""
    choose = random.Random(seed)
    kept = {source: Program(source) for source in programs}
    counts = dict.fromkeys(programs, 0)
    order = programs * rounds
    choose.shuffle(order)
    for source in order:
        anew, in_thread = choose.random() < 0.5, choose.random() < 0.1
        counts[source] += 1
        run = in_new_thread if in_thread else Program.run
        yield counts[source], source, run(kept[source], anew)


def in_new_thread(program: Program, anew: bool) -> dict[str, Any]:
    """Run a program in a thread of its own."""
    found: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: found.append(program.run(anew)))
    thread.start()
    thread.join()
    return found[0]


def distinct(programs: list[str], rounds: int, seed: str) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """For each program the different things that it showed, with the number of the first such run."""
    shown: dict[str, list[tuple[int, dict[str, Any]]]] = {source: [] for source in programs}
    for number, source, facts in among_others(programs, rounds, seed):
        if facts not in [known for _, known in shown[source]]:
            shown[source].append((number, facts))
    return shown


def main(arguments: list[str] | None = None) -> int:
    """Compare, print what differs, and return how many programs do."""
    given, start = options(arguments), time.monotonic()
    os.environ.setdefault("JAX_NUM_CPU_DEVICES", "4")
    os.environ.setdefault("XLA_FLAGS", QUICK_COMPILATION)
    programs = chosen(given)
    import tests.history.prelude  # noqa: F401  (imported, not used: XLA has not been started)

    faults = 0
    fork = multiprocessing.get_context("fork")
    with fork.Pool(given.processes, maxtasksperchild=1) as pool:
        later = pool.apply_async(distinct, (programs, given.rounds, given.seed))
        alone = {source: pool.apply_async(fresh, (source,)) for source in programs}
        once = {source: result.get(STUCK) for source, result in alone.items()}
        for source, shown in later.get().items():
            found = [f"  run {number}:\n{text}" for number, facts in shown
                     if (text := difference(once[source], facts))]
            faults += bool(found)
            if found:
                print(f"--- {source}", *found[:2], sep="\n", flush=True)
    print(f"{len(programs)} programs, {given.rounds} runs each, seed {given.seed}: {faults} differ "
          f"({time.monotonic() - start:.0f} s)")
    return faults


if __name__ == "__main__":
    sys.exit(min(main(), 1))
