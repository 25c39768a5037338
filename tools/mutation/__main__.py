"""`python -m tools.mutation -n 300 --seed 1`: how many changed rules do the tests notice?

Options:
  -n, --seed   how many mutants, and which.
  --only TEXT  only files whose path contains the text.
  --again      only those that survived the last run.
  --reach [TESTS]  find anew which tests reach which code (otherwise, only if it is not known): all,
               with JAX's stored answers; or these, and JAX answers what is not stored.
  --seconds S  how long the tests of one mutant may take in a forked process.

A mutant is first tried in a forked process, with the stored answers of JAX, and with the tests that
reach its block of code. If it survives, the same tests run in a process of their own, in which JAX
answers what is not stored, and then all other tests in their files. The results are left in
build/mutation/results.jsonl.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tools.mutation.equivalent import EQUIVALENT
from tools.mutation.mutants import ROOT, Mutant, mutants_of, sample
from tools.mutation.plugin import FOLDER, REACH, Reached

# Tests of the text of the project, of speed, and of other processes: no rule is tested there.
LEFT_OUT = """tests/book tests/benchmarks tests/browser tests/cli tests/fuzz tests/harness
    tests/house tests/core/test_engine.py tests/public/test_docstrings.py
    tests/public/test_typing.py tests/public/test_differences.py tests/public/test_signatures.py
    tests/runtime/test_compilation_cache.py tests/runtime/test_distributed.py
    tests/runtime/test_platforms.py tests/runtime/test_processes.py
    tests/users/test_one_file_primitive.py tests/users/test_one_file_transformation.py""".split()
# Several devices: no mutant is tried on them. The tests of `runtime/` and of the lowering start XLA
# when they are imported, after which no process can be forked.
NO_MUTANTS = ["tests/parallel"]
STARTS_XLA = ["tests/runtime", "tests/core/test_lowering.py"]
RESULTS = FOLDER / "results.jsonl"
FILES = 4  # of the tests that are tried on a survivor


def run_tests(step: str, mode: str, targets: list[str], job: dict | None = None, **env: str) -> int:
    """One run of pytest with the plugin."""
    path = FOLDER / f"job-{os.getpid()}.json"
    path.write_text(json.dumps(job))
    left_out = [*LEFT_OUT, *(NO_MUTANTS if step != "reach" else ()),
                *(STARTS_XLA if step == "fork" else ())]
    ignored = [f"--ignore={name}" for name in left_out]
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "tools.mutation.plugin"]
    environment = {
        **os.environ, "MUTATION_STEP": step, "MUTATION_JOB": str(path), "MINIJAX_ORACLE": mode,
        "MINIJAX_ALL_CASES": "1", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1", **env,
    }
    if step == "fork":  # the forked processes start XLA themselves, so this one must not
        environment["XLA_FLAGS"] = QUICK
    with open(FOLDER / f"{step}.log", "w") as log:
        error = None if step in ("fork", "reach") else log
        process = subprocess.run([*command, *targets, *ignored], cwd=ROOT, env=environment,
                                 stdout=log, stderr=error, check=False)
    path.unlink()
    return process.returncode


QUICK = ("--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
         "--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_multi_thread_eigen=false")


def try_alone(mutant: Mutant | None, tests: list[str], unsound: list[str], seconds: int,
              mode: str = "auto", **env: str) -> dict:
    """One mutant in a process of its own."""
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:FILES]
    result = FOLDER / f"one-{os.getpid()}.json"
    result.unlink(missing_ok=True)
    job = {"mutant": mutant and dataclasses.asdict(mutant), "tests": tests, "unsound": unsound,
           "seconds": seconds, "result": str(result)}
    run_tests("one", mode, files, job, **env)
    if not result.exists():  # it cannot even be imported
        return {"fate": "killed", "test": "import", "tried": 0}
    return json.loads(result.read_text())


def second_try(record: dict, reached: Reached, unsound: list[str], seconds: int) -> dict:
    """What happens in a process of its own."""
    mutant = Mutant(**record["mutant"])
    tests = reached.tests_of(reached.block(mutant), mutant.path)
    for _ in range(5):
        found = try_alone(mutant, tests, unsound, seconds)
        if found["fate"] != "killed" or found["test"] == "import":
            break
        control = try_alone(None, [found["test"]], unsound, 1)
        if control["fate"] == "survived":
            break
        unsound.append(found["test"])
    return {**record, **found, **({"how": "alone"} if found["fate"] == "killed" else {})}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation")
    parser.add_argument("-n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--reach", nargs="*")
    parser.add_argument("--seconds", type=int, default=40)
    args = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if args.reach is not None or not REACH.exists():  # which also writes what `make check` reads
        mode = "auto" if args.reach else "stored"
        run_tests("reach", mode, args.reach or ["tests"], {"add": bool(args.reach)})
    known = []
    if args.again:
        known = [r for r in map(json.loads, RESULTS.read_text().splitlines())
                 if r["fate"] == "killed" and r["test"]]
        mutants = survivors()
    else:
        mutants = [m for m in sample(args.n + len(EQUIVALENT), args.seed, args.only)
                   if m.key not in EQUIVALENT][:args.n]
    RESULTS.unlink(missing_ok=True)
    forked = FOLDER / "forked.jsonl"
    forked.unlink(missing_ok=True)
    job = {"mutants": [dataclasses.asdict(m) for m in mutants], "results": str(forked),
           "seconds": args.seconds}
    run_tests("fork", "stored", ["tests"], job)
    tried = [json.loads(line) for line in forked.read_text().splitlines()]
    finish(known + tried, args.seconds)


def survivors() -> list[Mutant]:
    """The mutants that survived the last run, where their text can be found again."""
    keys = {Mutant(**r["mutant"]).key for r in map(json.loads, RESULTS.read_text().splitlines())
            if r["fate"] != "killed" or not r["test"]}
    paths = {key.partition(" ")[0] for key in keys}
    found = {m.key: m for path in sorted(paths) for m in mutants_of(ROOT / path)}
    return [found[key] for key in sorted(keys) if key in found and key not in EQUIVALENT]


def finish(records: list[dict], seconds: int) -> None:
    """Try again what was not killed in a forked process, and report."""
    reached, unsound = Reached(), []
    with open(RESULTS, "a") as results:
        for record in records:
            begin = time.perf_counter()
            if record["fate"] != "killed":
                record = second_try(record, reached, unsound, seconds)
                mutant = Mutant(**record["mutant"])
                print(f"{record['fate']:9} {time.perf_counter() - begin:5.0f}s {mutant.path}:"
                      f"{mutant.line} {record['test'][-60:]}", flush=True)
            print(json.dumps(record), file=results, flush=True)
    report([json.loads(line) for line in Path(RESULTS).read_text().splitlines()])


def report(records: list[dict]) -> None:
    """The figures, and the survivors."""
    fates = Counter(r["fate"] for r in records)
    total = sum(fates.values())
    print(f"\n{total} mutants: {fates['killed']} killed, {fates['survived']} survived: "
          f"{100 * fates['killed'] / max(total, 1):.1f} % caught")
    for record in records:
        if record["fate"] != "killed":
            mutant = Mutant(**record["mutant"])
            print(f"  {mutant.kind}, line {mutant.line} ({record['tried']} tests): {mutant.key}")


if __name__ == "__main__":
    main()
