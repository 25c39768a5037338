"""Processes are killed while they write compiled programs to disk; the folder stays readable.

`python -m tests.endurance.kills 100` kills so many processes.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from minijax.runtime import compilation_cache
from tests import processes

PROGRAM = """
folder, programs, count = sys.argv[1], *map(int, sys.argv[2:])
warnings.simplefilter("error")
jax.config.update("jax_compilation_cache_dir", folder)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_raise_persistent_cache_errors", True)
jax.config.update("jax_compilation_cache_max_size", 150_000)  # files are deleted, too
hits = []
jax.monitoring.register_event_listener(lambda event, **_: hits.append(event) if "hits" in event else None)
X = np.linspace(-1, 1, 9, dtype=np.float32)
print("ready", flush=True)
for i in range(count):
    f = jax.jit(lambda x: jnp.sin(x) * (i % programs) + jnp.cumsum(x))
    np.testing.assert_allclose(f(X), np.sin(X) * (i % programs) + np.cumsum(X), rtol=1e-5, atol=1e-5)
print(len(hits))
"""


def kill_two(folder: str, programs: int, seconds: float) -> None:
    """Start two processes that write into the folder, and kill both."""
    pair = [processes.start(PROGRAM, args=(folder, programs, 10**6)) for _ in range(2)]
    for process in pair:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == "ready\n", process.communicate()
    for process in pair:
        try:
            complaint = process.communicate(timeout=seconds)
            raise AssertionError(f"a process ended by itself: {complaint}")
        except processes.subprocess.TimeoutExpired:
            process.kill()
            _, complaint = process.communicate()
            assert complaint == "", complaint


def check(folder: str, programs: int) -> int:
    """Read every file, and let a process use what is there; returns how often it did."""
    for path in Path(folder).glob("*-cache"):
        compilation_cache.unpack(path.name, path.read_bytes())
    out, complaint = processes.run(PROGRAM, args=(folder, programs, programs))
    assert complaint == "", complaint
    return int(out.split()[1])


def main(count: int, programs: int = 60) -> int:
    """Kill so many processes; returns how many unfinished files they have left."""
    chooser = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(0, count, 2):
            kill_two(folder, programs, chooser.uniform(0, 0.7))
            if i % 20 == 10:
                check(folder, programs)
        hits = check(folder, programs)
        left = len([path for path in Path(folder).iterdir() if not path.name.endswith("-cache")])
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        print(f"{count} processes killed, {left} unfinished files, {size} bytes, {hits} programs of {programs} "
              "found afterwards", flush=True)
    return left


if __name__ == "__main__":
    main(int(sys.argv[1]))
