"""The pytest plugin behind `python -m tools.mutation`.

MUTATION_STEP says what it does: `reach` records which test reaches which block, `fork` tries
mutants in forked processes, and `one` imports the library with one mutant and runs the tests named
in MUTATION_JOB.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tools import check
from tools.mutation import reach
from tools.mutation.mutants import ROOT, Mutant

FOLDER = ROOT / "build" / "mutation"
REACH = FOLDER / "reach.pickle"
STEP = os.environ.get("MUTATION_STEP", "")
JOB = os.environ.get("MUTATION_JOB", "")
MEMORY = 12 << 30


def _mutated(mutant: Mutant) -> Any:
    return lambda path, text: mutant.apply(text) if path == mutant.path else None


if STEP == "reach":
    reach.install(reach.with_probes)
elif STEP == "one":
    _job = json.loads(Path(JOB).read_text())
    if _job["mutant"]:
        reach.install(_mutated(Mutant(**_job["mutant"])))


# --- step 1: which test reaches which block ---

DTYPES = ("float32", "int32", "complex64", "bool-", "bool]")
RULES = ("text", "text of jvp", "text of vjp", "text of each dimension", "text of each tangent",
         "evaluation", "lowering", "each dimension", "each cotangent")


def thin(items: list) -> list:
    """A part of all cases: of each product one dtype of each kind, and of other tables a sample."""
    functions: dict[str, list] = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    kept = []
    for name, cases in functions.items():
        if name.endswith("test_primitive"):
            kept += [item for item in cases if any(d in item.nodeid for d in DTYPES)]
        elif "test_lax_products" in name:
            kept += [item for item in cases if item.nodeid.endswith(tuple(f"-{r}]" for r in RULES))]
        else:
            step = 1 + len(cases) // 400 if len(cases) < 1600 else 5
            kept += cases[::step]
    return kept


class Reach:
    """Runs the tests, and notes the blocks that each reaches and how long it takes."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[float, frozenset]] = {}
        self.at_import: frozenset = frozenset()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.at_import = frozenset(reach.reached)
        items = thin(session.items)
        for number, item in enumerate(items):
            reach.reached.clear()
            begin = time.perf_counter()
            following = items[number + 1] if number + 1 < len(items) else None
            reports = runtestprotocol(item, log=False, nextitem=following)
            if all(r.passed for r in reports):
                seconds = time.perf_counter() - begin
                self.found[item.nodeid] = seconds, frozenset(reach.reached)
            if number % 500 == 499:
                print(f"{number + 1} of {len(items)} tests", file=sys.__stderr__, flush=True)
        self.store()
        return True

    def store(self) -> None:
        """Leave what has been found."""
        add = JOB and json.loads(Path(JOB).read_text())["add"]
        if add and REACH.exists():
            known, _ = pickle.loads(REACH.read_bytes())
            self.found = known | self.found
        fresh = REACH.with_suffix(".new")
        fresh.write_bytes(pickle.dumps((self.found, self.at_import)))
        fresh.replace(REACH)
        if not add:
            check.store(self.found)


class Reached:
    """What step 1 has found."""

    def __init__(self) -> None:
        self.tests, self.at_import = pickle.loads(REACH.read_bytes())
        self.by_block: dict[str, list[str]] = defaultdict(list)
        for test, (_, found) in self.tests.items():
            for block in found:
                self.by_block[block].append(test)

    def block(self, mutant: Mutant) -> str | None:
        """The block that a mutant is in; None at the top level of a module."""
        text = (ROOT / mutant.path).read_text()
        line_start = text.rfind("\n", 0, mutant.start) + 1
        column = len(text[line_start:mutant.start].encode())
        name = reach.block_of(ast.parse(text), text.count("\n", 0, mutant.start) + 1, column)
        return name and f"{mutant.path}{name}"

    def tests_of(self, block: str | None, path: str) -> list[str]:
        """The tests that reach a block, most telling first: a case of each function in turn."""
        tests = self.by_block.get(block or "")
        while not tests and block and ("#" in block or ":" in block):  # ask about the outer block
            block = block[:max(block.rfind("."), block.rfind(":"))]
            tests = self.by_block.get(block)
        if not tests:
            name = (block or "").partition(".py.")[2]  # the block may have been in another file
            tests = sorted({test for other, some in self.by_block.items()
                            if other.startswith(path) or other.endswith(f".py.{name}")
                            for test in some})
        functions: dict[str, list[str]] = defaultdict(list)
        for test in tests:
            functions[test.partition("[")[0]].append(test)
        turns = []
        for cases in functions.values():
            cases.sort(key=self._cost)
            turns += [(turn, self._cost(test), test) for turn, test in enumerate(_spread(cases))]
        return [test for _, _, test in sorted(turns)]

    def _cost(self, test: str) -> float:
        seconds, found = self.tests[test]
        return (seconds + 0.01) * len(found)


def _spread(cases: list) -> list:
    """The first, then the others from far apart."""
    order = sorted(range(len(cases)), key=lambda i: (i * 0.6180339887) % 1)
    return [cases[i] for i in order]


# --- step 2: mutants in forked processes ---


def _key(code: CodeType) -> tuple:
    return code.co_filename, code.co_qualname, code.co_firstlineno, code.co_linetable


class Functions:
    """The library's functions that are alive, by their code."""

    def __init__(self) -> None:
        self.by_code: dict[tuple, list[FunctionType]] = defaultdict(list)
        gc.unfreeze()  # the collector lists no frozen objects
        for function in gc.get_objects():
            if type(function) is FunctionType and "/minijax/" in function.__code__.co_filename:
                self.by_code[_key(function.__code__)].append(function)

    def mutate(self, mutant: Mutant) -> bool:
        """Give the functions of a file their mutated code. False: it is not in a function."""
        path = ROOT / mutant.path
        text = path.read_text()
        old, new = (compile(t, str(path), "exec") for t in (text, mutant.apply(text)))
        return self._replace(old, new) > 0

    def _replace(self, old: CodeType, new: CodeType) -> int:
        inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (old, new)]
        if len(inner[0]) != len(inner[1]):
            return 0
        done = 0
        for before, after in zip(*inner):
            done += self._replace(before, after)
            if before != after:
                for function in self.by_code.get(_key(before), ()):
                    try:
                        function.__code__ = after
                    except ValueError:  # other free variables
                        return 0
                    done += 1
        return done


class Fork:
    """Tries each mutant of the job in a process of its own, forked from this one."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        job = json.loads(Path(JOB).read_text())
        items = {item.nodeid: item for item in session.items}
        threads = len(os.listdir("/proc/self/task"))
        assert threads == 1, f"{threads} threads have started, and would be missing in a fork"
        reached, functions = Reached(), Functions()
        gc.collect()
        gc.freeze()
        sound: dict[str, bool] = {}
        with open(job["results"], "a") as results:
            for number, fields in enumerate(job["mutants"]):
                mutant = Mutant(**fields)
                begin = time.perf_counter()
                result = self.result(mutant, reached, functions, items, sound, job["seconds"])
                result |= {"mutant": fields, "took": round(time.perf_counter() - begin, 1)}
                print(json.dumps(result), file=results, flush=True)
                print(f"{number + 1}/{len(job['mutants'])} {result['fate']:9} {result['took']:5}s "
                      f"{mutant.kind}: {mutant.path}:{mutant.line} {result['test'][-60:]}",
                      file=sys.__stderr__, flush=True)
        return True

    def result(self, mutant, reached, functions, items, sound, limit) -> dict:
        """What happened to a mutant, and the test that noticed it."""
        block = reached.block(mutant)
        if block is None:
            return {"fate": "module", "test": "", "tried": 0}
        tests = [test for test in reached.tests_of(block, mutant.path) if test in items]
        known = {"imported": block in reached.at_import, "reached": block in reached.by_block}
        begin = time.perf_counter()
        for _ in range(8):
            tests = [test for test in tests if sound.get(test, True)]
            left = limit - (time.perf_counter() - begin)
            fate, test, tried = in_child(lambda chosen=tests: _run(
                chosen, items, functions, mutant), max(left, 10))
            if fate != "killed" or test in sound and sound[test]:
                break
            # A test counts only if it passes in such a process without the mutant.
            control = in_child(lambda test=test: _run([test], items, functions, None), 60)
            sound[test] = control[0] == "survived"
            if sound[test]:
                break
        else:
            fate = "survived"
        return {"fate": fate, "test": test, "tried": tried, **known}


def _run(tests: list[str], items: dict, functions: Functions, mutant: Mutant | None) -> Any:
    """Generates the names of the tests that it runs, and at last one that fails."""
    if mutant is not None and not functions.mutate(mutant):
        yield "module"
        return
    for number, test in enumerate(tests):
        yield f"try {test}"
        following = items[tests[number + 1]] if number + 1 < len(tests) else None
        reports = runtestprotocol(items[test], log=False, nextitem=following)
        if any(r.failed for r in reports):
            yield f"killed {test}"
            return
    yield "survived"


def in_child(work: Any, limit: float) -> tuple[str, str, int]:
    """Do the work in a forked process: its fate, the last test, and how many were tried."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            for line in work():
                os.write(write, (line + "\n").encode())
        finally:
            os._exit(0)
    os.close(write)
    lines, deadline = _read_lines(read, time.monotonic() + limit)
    os.close(read)
    if not deadline:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if not lines:
        return "error", "", 0
    tried = [line[4:] for line in lines if line.startswith("try ")]
    test = tried[-1] if tried else ""
    last = lines[-1].partition(" ")[0]
    if last == "try":  # it crashed, or was stopped: at a test that takes for ever, if the first
        slow = not deadline and len(tried) > 3
        return ("survived" if slow else "killed"), test, len(tried)
    return last, test, len(tried)


def _read_lines(read: int, until: float) -> tuple[list[str], bool]:
    """What a process writes; and whether it ended in time."""
    text = b""
    while (left := until - time.monotonic()) > 0:
        if select.select([read], [], [], left)[0]:
            part = os.read(read, 1 << 16)
            if not part:
                return text.decode().splitlines(), True
            text += part
    return text.decode().splitlines(), False


# --- step 3: a process of its own, in which JAX answers too ---


class One:
    """Runs the tests of the job that were collected, until one fails or the time is up."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        job = json.loads(Path(JOB).read_text())
        rank = {test: number for number, test in enumerate(job["tests"])}
        functions = Counter[str]()
        begin, fate = time.perf_counter(), {"fate": "survived", "test": "", "tried": 0}

        def order(item: pytest.Item) -> tuple:
            name = item.nodeid.partition("[")[0]
            functions[name] += 1
            return rank.get(item.nodeid, len(rank) + functions[name]), item.nodeid

        bad = set(job["unsound"])
        items = sorted((item for item in session.items if item.nodeid not in bad), key=order)
        for number, item in enumerate(items):
            if time.perf_counter() - begin > job["seconds"]:
                break
            following = items[number + 1] if number + 1 < len(items) else None
            fate["tried"] += 1
            if any(r.failed for r in runtestprotocol(item, log=False, nextitem=following)):
                fate |= {"fate": "killed", "test": item.nodeid}
                break
        Path(job["result"]).write_text(json.dumps(fate))
        return True


def pytest_configure(config: pytest.Config) -> None:
    """Take the place of pytest's own loop."""
    steps: dict[str, Any] = {"reach": Reach, "fork": Fork, "one": One}
    if STEP in steps:
        config.pluginmanager.register(steps[STEP](), "mutation")
