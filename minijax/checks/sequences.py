"""Arguments that are sequences."""

from __future__ import annotations

from typing import Any

from ..errors import JAXTypeError


def iterable(name: str, values: Any, expected: str = "a sequence") -> None:
    """Raise TypeError unless the values can be taken one by one."""
    try:
        iter(values)
    except JAXTypeError:
        raise
    except TypeError:
        raise TypeError(f"{name} must be {expected}, got {values!r}.") from None
