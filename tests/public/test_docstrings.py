"""Every example in a docstring of the library prints what it says."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import minijax
import minijax.numpy

PACKAGE = Path(minijax.__file__).parent
# What a reader of the documentation has imported.
NAMES = {"jax": minijax, "jnp": minijax.numpy, "lax": minijax.lax, "np": np}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def examples() -> list[doctest.DocTest]:
    """All docstrings with examples, from all modules."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if name != "minijax.__main__":
            module = importlib.import_module(name)
            finder = doctest.DocTestFinder(exclude_empty=True)
            found += [test for test in finder.find(module, name, module) if test.examples]
    return found


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_docstring(example):
    example.globs = example.globs | NAMES | {"__name__": "__main__"}
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=report.append)
    assert result.failed == 0, "".join(report)
