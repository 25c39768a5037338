"""A pytest plugin that leaves tests out.

`-p tools.sampling --sample 20` runs every 20th case of each test, of which `--part 7f3a` says the
first. Of the functions that are marked as `long`, a larger sample has only some, other ones each
day. `--chapter 6` leaves out the tests that are marked as using a later chapter.
"""

from __future__ import annotations

import datetime
from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--sample`, `--part` and `--chapter`."""
    parser.addoption("--sample", type=int, default=1, help="run every n-th case of each test")
    parser.addoption("--part", default="", help="which n-th, as a hexadecimal number: a commit's")
    parser.addoption("--chapter", type=int, default=99, help="the last chapter that there is")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep every n-th case of each function, and at least one of each that is not long."""
    step, part = config.getoption("--sample"), int(config.getoption("--part") or "0", 16)
    items[:] = _without_long(items, step, datetime.date.today().toordinal())
    items[:] = [item for item in items if _chapter(item) <= config.getoption("--chapter")]
    cases, seen = Counter(map(_function, items)), Counter[str]()
    kept = []
    for item in items:
        function = _function(item)
        if seen[function] % step == part % min(step, cases[function]):
            kept.append(item)
        seen[function] += 1
    items[:] = kept


def _without_long(items: list[pytest.Item], step: int, day: int) -> list[pytest.Item]:
    """The tests that are not `long`, and of the functions that are, every n-th, n = step / 20."""
    names = [_function(item) for item in items if item.get_closest_marker("long")]
    functions = [*dict.fromkeys(names)]
    step = max(1, min(step // 20, len(functions)))
    left_out = {name for i, name in enumerate(functions) if (i + day) % step}
    return [item for item in items if _function(item) not in left_out]


def _function(item: pytest.Item) -> str:
    """The name of a test without its case."""
    return item.nodeid.partition("[")[0]


def _chapter(item: pytest.Item) -> int:
    """The last chapter that a test uses."""
    return max((mark.args[0] for mark in item.iter_markers("chapter")), default=0)
