"""`python -m tests.history --all`: each program 20 times among the others, and once in a fresh process.

A fresh process is a fork of this one, which has imported minijax and has not used it. Another fork
runs all programs again and again in a random order, in which half of the runs keep the program's
functions and arrays from the run before, and some happen in another thread. A third of the runs
happens under a setting that is switched on for the run: 64 bits, NaN checks, a mesh and so on; each
program has one of them, by the seed. Whatever a run shows must equal what a fresh process showed
under the same setting: values to the bit, types, text, warnings, errors.

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

from tests.history.outcome import Program, difference, setting_of, sources
from tests.processes import QUICK_COMPILATION

Case = tuple[str, str]  # a program, and the setting under which it runs
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


def fresh(source: str, setting: str) -> dict[str, Any]:
    """What the program shows in a process that has run nothing else."""
    return Program(source).run(setting=setting)


def among_others(programs: list[str], rounds: int, seed: str) -> Iterator[tuple[int, Case, dict[str, Any]]]:
    """Run each program so many times, in random order: number of the run, its case, what it shows."""
    choose = random.Random(seed)
    kept = {source: Program(source) for source in programs}
    counts = dict.fromkeys(programs, 0)
    order = programs * rounds
    choose.shuffle(order)
    for source in order:
        anew, in_thread = choose.random() < 0.5, choose.random() < 0.1
        counts[source] += 1
        setting = setting_of(source, seed) if choose.random() < 1 / 3 else ""
        run = in_new_thread if in_thread else Program.run
        yield counts[source], (source, setting), run(kept[source], anew, setting)


def in_new_thread(program: Program, anew: bool, setting: str) -> dict[str, Any]:
    """Run a program in a thread of its own."""
    found: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: found.append(program.run(anew, setting)))
    thread.start()
    thread.join()
    return found[0]


def distinct(programs: list[str], rounds: int, seed: str) -> dict[Case, list[tuple[int, dict[str, Any]]]]:
    """For each case the different things that it showed, with the number of the first such run."""
    shown: dict[Case, list[tuple[int, dict[str, Any]]]] = {}
    for number, case, facts in among_others(programs, rounds, seed):
        known = shown.setdefault(case, [])
        if facts not in [facts for _, facts in known]:
            known.append((number, facts))
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
        cases = [(source, setting) for source in programs for setting in ("", setting_of(source, given.seed))]
        alone = {case: pool.apply_async(fresh, case) for case in cases}
        once = {case: result.get(STUCK) for case, result in alone.items()}
        for case, shown in later.get().items():
            found = [f"  run {number}:\n{text}" for number, facts in shown
                     if (text := difference(once[case], facts))]
            faults += bool(found)
            if found:
                print(f"--- {case[0]}", f"  setting: {case[1] or 'none'}", *found[:2], sep="\n", flush=True)
    print(f"{len(programs)} programs, {given.rounds} runs each, seed {given.seed}: {faults} differ "
          f"({time.monotonic() - start:.0f} s)")
    return faults


if __name__ == "__main__":
    sys.exit(min(main(), 1))
