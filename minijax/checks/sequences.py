"""Arguments that are sequences."""

from __future__ import annotations

import operator
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


def argnums(argnums: Any) -> None:
    """Raise TypeError unless they are integers."""
    iterable("argnums, if it is not an integer,", argnums)
    numbers: Any = [argnums] if isinstance(argnums, str) else argnums
    for i in numbers:
        try:
            operator.index(i)
        except JAXTypeError:
            raise
        except TypeError as error:
            raise TypeError(f"{error}: argnums are the positions of arguments, counted from 0, "
                            f"got {argnums!r}.") from None
