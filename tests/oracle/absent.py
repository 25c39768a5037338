"""A stand-in for JAX in a process that does not import it.

Test modules can be imported with it: it has every attribute, and what they call or compute with it
gives another stand-in. In a test, to use it is to need JAX itself, and the test is left out.
"""

from __future__ import annotations

from typing import Any, NoReturn

import pytest


class NeedsJax(pytest.skip.Exception):
    """The test needs JAX itself, and not only JAX's stored answers."""


running = False  # whether a test runs now


class Absent:
    """JAX, or something of JAX's."""

    def __init__(self, text: str, **attributes: str) -> None:
        self.__dict__.update(attributes, _text=text)

    def __getattr__(self, name: str) -> Absent:
        if name == "__path__":  # a list of JAX's modules
            self._need()
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # a protocol that this value does not follow
        return Absent(f"{self._text}.{name}")

    def __dir__(self) -> list[str]:
        return self._need() if running else []

    def _use(self, *args: Any, **kwargs: Any) -> Absent:
        return self._need() if running else Absent(f"{self._text}(...)")

    def _need(self, *args: Any) -> NoReturn:
        raise NeedsJax(f"needs JAX itself: {self._text}", allow_module_level=True)

    __call__ = __getitem__ = __or__ = __ror__ = __mul__ = __add__ = __sub__ = __neg__ = _use
    __bool__ = __len__ = __iter__ = __contains__ = __int__ = __float__ = __index__ = _need
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __enter__ = __exit__ = _need
    __array__ = __str__ = __format__ = __setattr__ = __instancecheck__ = __subclasscheck__ = _need
    __hash__ = object.__hash__
    __signature__ = property(lambda self: self._need() if running else None)

    def __repr__(self) -> str:
        return self._need() if running else f"<absent {self._text}>"
