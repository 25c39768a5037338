"""Tables of calls: source text that runs on both libraries, with arrays given by name.

Text keeps a row as short as the call itself, and it is the test's name.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import numpy as np

from tests.oracle.compare import Program


def rows_of(table: str) -> list[str]:
    """The calls of a table, in which ` | ` and line breaks are between them."""
    calls = [call.strip() for line in table.strip().splitlines() for call in line.split(" | ")]
    return [call for call in dict.fromkeys(calls) if call]


def arrays_in(row: str, arrays: Mapping[str, np.ndarray]) -> list[str]:
    """The names of arrays that a row mentions."""
    return [name for name in arrays if re.search(rf"(?<![\w.\"']){name}(?![\w\"'=(])", row)]


def function_of(row: str, names: list[str], **namespace) -> Callable:
    """The row as a function of the arrays with these names."""
    return eval(f"lambda {', '.join(names)}: {row}", {"np": np, **namespace})


def program(row: str, arrays: Mapping[str, np.ndarray], modules: Callable[[Any], dict],
            transform: Callable | None = None, x64: bool = False) -> Program:
    """What `both` runs: the row's function, perhaps transformed, on the library's own arrays.

    `modules` gives the names that the row uses for the library's modules; `transform` takes the
    library and the function. Warnings are ignored: of truncated dtypes, of lost imaginary parts.
    """
    names = arrays_in(row, arrays)

    def of(library):
        def run():
            function = function_of(row, names, **modules(library))
            function = transform(library, function) if transform else function
            with warnings.catch_warnings(), library.enable_x64(True) if x64 else nullcontext():
                warnings.simplefilter("ignore")
                return function(*[library.numpy.asarray(arrays[name]) for name in names])

        return run

    return of

