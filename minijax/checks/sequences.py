"""Arguments that are sequences of integers, and dimensions that must exist."""

from __future__ import annotations

import operator
from collections.abc import Sequence
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


def integers(name: str, values: Any) -> tuple[int, ...]:
    """A sequence of integers, such as axes, as a tuple.

    Raises:
      TypeError: it is not a sequence, or it holds something else.
    """
    if getattr(values, "shape", None) == ():
        operator.index(values)  # a traced value says why it is not an integer
    try:
        return tuple(map(operator.index, values))
    except JAXTypeError:  # of a traced value
        raise
    except TypeError as error:
        raise TypeError(f"{name} must be a sequence of integers, got {values!r}: "
                        f"{error}.") from None


def size_along(name: str, shape: Sequence[int], axis: int) -> int:
    """The size of one dimension of a shape.

    Raises:
      IndexError: there is no such dimension.
      TypeError: `axis` is not an integer.
    """
    try:
        axis = operator.index(axis)
    except JAXTypeError:
        raise
    except TypeError:
        raise TypeError(f"{name}: an axis must be an integer, got {axis!r}.") from None
    if not -len(shape) <= axis < len(shape):
        raise IndexError(f"{name}: axis {axis} is out of bounds for an array of shape "
                         f"{tuple(shape)}.")
    return shape[axis]
