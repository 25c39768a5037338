"""Counting what a program does, where a test must not depend on the clock."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls_in(program: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called while the program runs."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    previous = sys.getprofile()
    sys.setprofile(count)
    try:
        program()
    finally:
        sys.setprofile(previous)
    return calls
