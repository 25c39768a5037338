"""`python -m tests.fuzz --minutes 5 --seed 1 --processes 2`: random programs against JAX."""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.session import Session

MEMORY = 3000  # megabytes, after which a new process goes on
STUCK = 180  # seconds that one seed may take: what XLA does cannot be interrupted by a signal
ROOT = Path(__file__).resolve().parents[2]


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--laws", action="store_true", help="check laws, without JAX")
    parser.add_argument("--large", action="store_true", help="single calls on large arrays")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--focus", help="a table of operations, or a block: sparse, reference, scan …")
    parser.add_argument("--allow", type=float, default=0,
                        help="the share of programs that may show a fault")
    parser.add_argument("--start", type=int, default=0, help="the number of the first program")
    parser.add_argument("--counts", default="{}", help="what a process before this one counted")
    return parser.parse_args()


def modes(given: argparse.Namespace) -> list[str]:
    """The options that say which kind of programs is run, for another process."""
    return [f"--{mode}" for mode in ("laws", "large") if getattr(given, mode)]


def main() -> int:
    """Run for some minutes. The exit status is 1 if a larger share of the programs than is allowed
    shows a fault of ours."""
    given = options()
    if given.focus:
        os.environ["FUZZ_FOCUS"] = given.focus  # this process's modules read it, and other processes
    if given.processes > 1:
        command = [sys.executable, "-m", "tests.fuzz", "--minutes", str(given.minutes),
                   "--out", str(given.out), "--allow", str(given.allow),
                   *modes(given)]
        children = [subprocess.Popen([*command, "--seed", f"{given.seed}.{i}"])
                    for i in range(given.processes)]
        return max(child.wait() for child in children)
    prepare()
    from tests.fuzz.large import check_large
    from tests.fuzz.session import Session

    session = Session(given.out, given.laws)
    session.counts.update(json.loads(given.counts))
    check = partial(check_large, session) if given.large else session.programs
    begun = told = time.monotonic()
    end = begun + 60 * given.minutes
    number = given.start
    while time.monotonic() < end:
        watchdog = threading.Timer(STUCK, leave_out, (given, number, end, session))
        watchdog.daemon = True
        watchdog.start()
        check(f"{given.seed}:{number}")
        watchdog.cancel()
        number += 1
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"[{told - begun:.0f} s, {memory()} MB] {dict(session.counts)}", flush=True)
        if memory() > MEMORY:
            start_again(given, number, end, session.counts)
    print(f"{dict(session.counts)}", flush=True)
    return int(session.counts["faults"] > given.allow * session.counts["programs"])


def memory() -> int:
    """The megabytes that this process occupies."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() >> 20


def leave_out(given: argparse.Namespace, number: int, end: float, session: Session) -> None:
    """Go on behind a program that does not end, which is a fault."""
    signal.setitimer(signal.ITIMER_REAL, 0)  # it would go off in the new process
    print(f"--- stuck for {STUCK} s, seed {given.seed}:{number}\n{session.running}\n")
    session.counts.update(stuck=1, faults=1)
    start_again(given, number + 1, end, session.counts)


def start_again(given: argparse.Namespace, number: int, end: float, counts: dict[str, int]) -> None:
    """Go on in a new process: JAX keeps every program that it has compiled."""
    minutes = max(0.0, (end - time.monotonic()) / 60)
    sys.stdout.flush()
    os.execv(sys.executable, [
        sys.executable, "-m", "tests.fuzz", "--minutes", str(minutes), "--seed", given.seed,
        "--out", str(given.out), "--allow", str(given.allow), "--start", str(number), "--counts", json.dumps(counts),
        *modes(given),
    ])  # fmt: skip


def prepare() -> None:
    """JAX first, and XLA quick to compile."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=1 "
                          "--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_multi_thread_eigen=false "
                          "--xla_cpu_use_fusion_emitters=false")
    os.environ.setdefault("MINIJAX_ORACLE", "live")
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    jax.config.update("jax_traceback_filtering", "off")
    jax.config.update("jax_compilation_cache_dir", str(ROOT / "build" / "fuzz-xla"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


if __name__ == "__main__":
    sys.exit(main())
