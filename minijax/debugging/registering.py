"""Chapter 15: an extension in force for a while, to look at what a program does."""

import contextlib
from collections.abc import Iterator

from ..core.extension import Extension, register, remove


@contextlib.contextmanager
def registered(extension: Extension) -> Iterator[None]:
    """Put an extension in force within a `with` block."""
    register(extension)
    try:
        yield
    finally:
        remove(extension)
