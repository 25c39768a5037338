"""Chapter 9: shapes, sizes and axes as users pass them, as integers."""

import operator
from collections.abc import Sequence
from typing import Any

from ..errors import JAXTypeError


def known_sizes(shape) -> tuple[int, ...]:
    """The entries of a shape as ints, whatever their sign; an int alone is a shape of one entry.

    Raises:
      TypeError: an entry is traced, or not an integer.
    """
    try:
        return tuple(map(operator.index, (shape,) if isinstance(shape, int) else shape))
    except TypeError:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape}.\nIf "
            "using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions."
            + "".join(f"\n{x._origin_msg()}" for x in _traced(shape))
        ) from None


def _traced(shape) -> list:
    entries = shape if isinstance(shape, tuple | list) else [shape]
    return [x for x in entries if hasattr(x, "_origin_msg")]


def canonical_shape(shape, name: str = "shape") -> tuple[int, ...]:
    """`shape` as a tuple of non-negative ints.

    Raises:
      TypeError: it holds something else, such as a traced value.
    """
    sizes = known_sizes(shape)
    if any(size < 0 for size in sizes):
        raise TypeError(f"{name} must have nonnegative sizes, got {sizes}.")
    return sizes


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
