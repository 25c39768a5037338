"""A stand-in for JAX in a process that does not import it.

Attributes, calls, indices and arithmetic of an `Absent` give another `Absent`. Comparing one with
minijax's value (`agree`) asks for the stored answer. Every other use, such as its truth, its
length or its text, needs JAX itself, and the test is left out.
"""

from __future__ import annotations

from typing import Any, NoReturn

import pytest


class NeedsJax(pytest.skip.Exception):
    """The test needs JAX itself, and not only JAX's stored answers."""


class Absent:
    """A value that JAX would compute."""

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # a protocol that this value does not follow
        return Absent(f"{self._text}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Absent:
        return Absent(f"{self._text}(...)")

    def __getitem__(self, index: Any) -> Absent:
        if self._text.count("[") > 20:  # Python's own iteration, by the numbers from 0 on
            self._needed()
        return Absent(f"{self._text}[...]")

    def _operate(self, *operands: Any) -> Absent:
        return Absent(f"({self._text} ...)")

    def _needed(self, *args: Any) -> NoReturn:
        raise NeedsJax(f"needs JAX itself: {self._text}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _operate
    __rtruediv__ = __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = _operate
    __and__ = __or__ = __invert__ = __mod__ = __floordiv__ = __enter__ = __exit__ = _operate
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _needed
    __hash__ = object.__hash__
    __bool__ = __len__ = __iter__ = __contains__ = __int__ = __float__ = __index__ = _needed
    __array__ = __str__ = __format__ = __setattr__ = __instancecheck__ = __mro_entries__ = _needed

    def __repr__(self) -> str:
        return f"<absent {self._text}>"
