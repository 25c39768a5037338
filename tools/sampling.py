"""A pytest plugin: `-p tools.sampling --sample 20` runs every 20th case of each test."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--sample`."""
    parser.addoption("--sample", type=int, default=1, help="run every n-th case of each test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the cases number 0, n, 2n, ... of each function, so that none is left out altogether."""
    step, seen = config.getoption("--sample"), Counter[str]()
    kept = []
    for item in items:
        function = item.nodeid.partition("[")[0]
        if seen[function] % step == 0:
            kept.append(item)
        seen[function] += 1
    items[:] = kept
