"""What to do about errors that Python and NumPy raise, and in which they do not say it."""

from __future__ import annotations

import re

from ..errors import JAXTypeError

# Beginnings of messages, by class, and what to do.
_ADVICE = (
    (TypeError, r"unhashable type: '(\w+Tracer|ArrayImpl)'",
     "An array cannot be a key of a dictionary, a member of a set, or an argument of a function "
     "that remembers its results: its elements decide what it equals, and while a function is "
     "traced they are not known. Use what Python knows, such as a name, an index or `x.shape`."),
    (ValueError, "setting an array element with a sequence",
     "A traced value cannot be put into a NumPy array, which holds numbers. Make the array by "
     "`jax.numpy`; instead of `a[i] = x` write `a = a.at[i].set(x)`."),
    (RecursionError, "maximum recursion depth exceeded",
     "Either functions are nested deeper than Python's recursion limit, or a container that was "
     "passed or returned is, or it contains itself. Keep long lists flat, and use a loop for many "
     "calls (`jax.lax.scan` is traced once). `sys.setrecursionlimit` raises the limit."),
)


def advise(error: Exception) -> None:
    """Add a note to an exception that says what to do."""
    for kind, beginning, advice in _ADVICE:
        traced = kind is not ValueError or isinstance(error.__cause__, JAXTypeError)
        if isinstance(error, kind) and traced and re.match(beginning, str(error)):
            error.add_note(advice)
