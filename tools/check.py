"""The tests of a part of the library, as many as a minute holds.

    python -m tools.check minijax/lax/trigonometric.py
    python -m tools.check 9

Of a file, these are the tests that are named after it (`tools/tests_of.py`), and those that reach
its functions. Which ones do is written in `reach.json.xz` beside this file, by
`python -m tools.mutation --reach`. It need not be up to date: a test that is gone is not run. A
file that it does not know, or that no test is named after, is tested by those of its room. Of a
chapter, the tests of its rooms run.

A case of each test function runs first, then a second case of each, until the time is up. Other
options go to pytest.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from tools import cut, tests_of

MAP = Path(__file__).with_name("reach.json.xz")
SECONDS = 45
MOST = 3000  # tests; no machine runs more of them in that time
LATE = "the time is up"


def reaching(path: str) -> list[str]:
    """The tests that the map has for a file of the library."""
    known = json.loads(lzma.decompress(MAP.read_bytes())) if MAP.exists() else {}
    return [test for function, cases in known.get(path, {}).items() for test in
            (f"{function}[{case}]" if case else function for case in cases)]


def named_after(path: str) -> list[str]:
    """The files of tests that are named after a file of the library."""
    place = Path(path).relative_to("minijax")
    if len(place.parts) == 1:  # it is in no room
        return _names(sorted(tests_of.TESTS.rglob(f"test_{place.stem}*.py")))
    return [test.as_posix() for test in tests_of.test_files() if tests_of.tested(test) == place]


def in_room(path: str) -> list[str]:
    """The files of tests of the room that a file is in."""
    room = tests_of.TESTS.joinpath(*Path(path).parts[1:2])
    return _names(sorted(room.rglob("test_*.py"))) if room.is_dir() else ["tests/products"]


def _names(paths: list[Path]) -> list[str]:
    return [path.relative_to(cut.ROOT).as_posix() for path in paths]


def whole_files(what: str) -> list[str]:
    """The files of which all tests are about a file of the library, or about a chapter."""
    if what.isdigit():
        return [test.as_posix() for test in tests_of.of_chapter(int(what))]
    named = named_after(what)
    return named if named and reaching(what) else named + in_room(what)


# --- the plugin ---


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--check-of`, the file or the chapter."""
    parser.addoption("--check-of", help="a file of the library, or the number of a chapter")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the part, a case of each function before a second case of any."""
    what = config.getoption("--check-of")
    files, tests = set(whole_files(what)), set() if what.isdigit() else set(reaching(what))
    wanted = in_turns([item for item in items
                       if item.nodeid in tests or item.nodeid.partition("::")[0] in files])
    config.hook.pytest_deselected(items=wanted[MOST:])
    items[:] = wanted[:MOST]


def in_turns(items: list) -> list:
    """The first case of each function, then another one of each, from far apart."""
    functions: dict[str, list] = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    turns = []
    for place, cases in enumerate(functions.values()):
        order = sorted(range(len(cases)), key=lambda i: (i * 0.6180339887) % 1)
        turns += [(turn, place, cases[i]) for turn, i in enumerate(order)]
    return [item for *_, item in sorted(turns, key=lambda entry: entry[:2])]


def pytest_runtest_setup() -> None:
    """When the time is up, skip."""
    if time.time() > float(os.environ["CHECK_UNTIL"]):
        pytest.skip(LATE)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """What was left out for want of time is counted apart, and prints nothing."""
    return ("late", "", "") if report.skipped and LATE in str(report.longrepr) else None


def pytest_terminal_summary(terminalreporter) -> None:
    """Say how many tests there was no time for."""
    if late := terminalreporter.stats.get("late"):
        terminalreporter.write_line(f"There was no time for {len(late)} other tests.")


# --- the map ---

EACH = 4  # so many tests of each block of code, if there are


def store(found: dict[str, tuple[float, frozenset]]) -> None:
    """Write the map: of each file some tests that together reach all its blocks.

    Args:
      found: for each test its seconds, and the blocks that it reaches.
    """
    costs = {test: (seconds + 0.01) * len(blocks) for test, (seconds, blocks) in found.items()}
    by_block: dict[str, list[str]] = defaultdict(list)
    for test in sorted(found, key=lambda test: costs[test]):  # the most telling ones first
        for block in found[test][1]:
            by_block[block].append(test)
    chosen: dict[str, dict[str, None]] = defaultdict(dict)
    for block in sorted(by_block, key=lambda block: (len(by_block[block]), block)):
        tests = chosen[block.partition(".py")[0] + ".py"]
        known = sum(block in found[test][1] for test in tests)
        for test in by_block[block][:max(EACH - known, 0)]:
            tests[test] = None
    written: dict[str, dict[str, list[str]]] = {}
    for path in sorted(chosen):
        functions = written.setdefault(path, {})
        for test in sorted(chosen[path]):
            function, _, case = test.partition("[")
            functions.setdefault(function, []).append(case.removesuffix("]"))
    MAP.write_bytes(lzma.compress(json.dumps(written).encode(), preset=9))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", help="a file of the library, or the number of a chapter")
    options, for_pytest = parser.parse_known_args()
    what = options.what
    if not what.isdigit():
        what = Path(what).resolve().relative_to(cut.ROOT).as_posix()
    files = dict.fromkeys(whole_files(what))
    if not what.isdigit():
        files |= dict.fromkeys(test.partition("::")[0] for test in reaching(what))
    there = [name for name in files if (cut.ROOT / name).exists()]
    environment = {"MINIJAX_ORACLE": "stored", "MINIJAX_ALL_CASES": "1", **os.environ,
                   "CHECK_UNTIL": str(time.time() + SECONDS)}
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "tools.check",
               "--check-of", what, *for_pytest, *there]
    return subprocess.run(command, cwd=cut.ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
