"""Whether what minijax did with a wrong call is what JAX does, and says something to the user."""

from __future__ import annotations

import os
import re
import traceback
from typing import Any

from tests.errors.bad_input.table import RETURNS
from tests.oracle import subject

# What a message must not show: text of NumPy, of XLA's compiler, or of Python about our insides.
INTERNAL = re.compile(
    r"index out of range$|pop from|not enough values to unpack|too many values to unpack"
    r"|stablehlo\.|loc\(|minijax\._|has no attribute '_[a-z]|_src|<function ufunc"
    r"|np\.core|__class__|zip\(\) argument"
    r"|argument to _\w|Value after \*|in <string>' requires|^slice indices must be integers or None"
    r"|setting an array element|inhomogeneous|MLIR|nanobind|incompatible function arguments"
    r"|keyword argument '_|could not broadcast input array|StableHLO|^'(int|float|str|function|NoneType)' object is not (iterable|subscriptable)$"
)
PACKAGE = os.path.dirname(subject.__file__) + os.sep
MOST_INTERNAL_FRAMES = 3  # in a traceback; mostly there are none
SHORTEST = 14  # characters of a message that says what was wrong and what was expected


def complaint(answer: Any, wanted: str) -> str:
    """What is wrong with minijax's answer, if JAX's outcome is `wanted`; empty if nothing is."""
    if not isinstance(answer, Exception):
        return "" if wanted == RETURNS else f"minijax returns; JAX: {wanted}"
    if wanted not in {c.__name__ for c in type(answer).__mro__}:
        return f"minijax raises {type(answer).__name__}; JAX: {wanted}"
    message = str(answer).strip("'\"")
    shown = INTERNAL.search(message)
    if shown:
        return f"the message shows an internal: {shown[0]}"
    frames = traceback.extract_tb(answer.__traceback__)
    internal = [f"{f.filename}:{f.lineno}" for f in frames if f.filename.startswith(PACKAGE)]
    if len(internal) > MOST_INTERNAL_FRAMES:
        return f"the traceback shows internal frames: {internal}"
    return f"the message is too short: {message}" if len(message) < SHORTEST else ""
