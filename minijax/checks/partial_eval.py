"""Chapter 7: what partial evaluation refuses."""

from __future__ import annotations

from collections.abc import Iterable


def known_primals(unknown: Iterable[bool]) -> None:
    """Raise ValueError if, in a linearization, a result of the function itself is unknown."""
    if any(unknown):
        raise ValueError(
            "Linearization failed to produce known values for all output primals: the function "
            "uses an operation whose derivative is computed together with its value, and which "
            "therefore has no reverse-mode derivative. Use `jvp` or `jacfwd`.")
