"""Counting what a program does, where a test must not depend on the clock."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from minijax.core.extension import register, remove
from minijax.parallel.programs.eager_operations import placed_evaluation, placed_operands


def calls_in(program: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called while the program runs.

    Placed arrays and meshes that other tests left behind do not count: as long as there are any,
    each operation is first offered to their extension.
    """
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    with _without_places():
        previous = sys.getprofile()
        sys.setprofile(count)
        try:
            program()
        finally:
            sys.setprofile(previous)
    return calls


@contextlib.contextmanager
def _without_places() -> Iterator[None]:
    removed = []
    for extension in (placed_operands, placed_evaluation):
        with contextlib.suppress(ValueError):  # it is not registered any more
            while True:
                remove(extension)
                removed.append(extension)
    try:
        yield
    finally:
        for extension in removed:
            register(extension)
