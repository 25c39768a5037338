"""A pytest plugin that leaves tests out.

`-p tools.sampling --sample 20` runs every 20th case of each test; `--chapter 6` leaves out those
that are marked as using a later chapter.
"""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--sample` and `--chapter`."""
    parser.addoption("--sample", type=int, default=1, help="run every n-th case of each test")
    parser.addoption("--chapter", type=int, default=99, help="the last chapter that there is")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the cases number 0, n, 2n, ... of each function, so that none is left out altogether."""
    step, seen = config.getoption("--sample"), Counter[str]()
    kept = []
    for item in filter(lambda item: _chapter(item) <= config.getoption("--chapter"), items):
        function = item.nodeid.partition("[")[0]
        if seen[function] % step == 0:
            kept.append(item)
        seen[function] += 1
    items[:] = kept


def _chapter(item: pytest.Item) -> int:
    """The last chapter that a test uses."""
    return max((mark.args[0] for mark in item.iter_markers("chapter")), default=0)
