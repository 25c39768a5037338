"""`jax.util`: `map` and `zip` that raise an error if their arguments differ in length."""

from collections.abc import Callable, Iterable
from typing import Any


def safe_map(f: Callable, *args: Iterable) -> list:
    """`list(map(f, *args))` for arguments of one length.

    Raises:
      ValueError: the arguments differ in length.

    >>> safe_map(lambda x, y: x + y, [1, 2], [10, 20])
    [11, 22]
    """
    if not args:
        raise TypeError("safe_map requires at least 2 arguments: a function and what to map it on")
    lists = [list(arg) for arg in args]
    _check_equal_lengths("safe_map", lists)
    return list(map(f, *lists))


def safe_zip(*args: Iterable) -> list[tuple]:
    """`list(zip(*args))` for arguments of one length.

    Raises:
      ValueError: the arguments differ in length.
      TypeError: there is no argument.

    >>> safe_zip([1, 2], "ab")
    [(1, 'a'), (2, 'b')]
    """
    if not args:
        raise TypeError("safe_zip requires at least 1 argument")
    lists = [list(arg) for arg in args]
    _check_equal_lengths("safe_zip", lists)
    return list(zip(*lists, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple, tuple]:
    """A sequence of pairs as the pair of its sequences; works for an empty sequence.

    >>> unzip2([(1, "a"), (2, "b")])
    ((1, 2), ('a', 'b'))
    """
    pairs = list(pairs)
    return tuple(first for first, _ in pairs), tuple(second for _, second in pairs)


def _check_equal_lengths(name: str, lists: list[list]) -> None:
    """Raise `ValueError` unless all lists are of one length."""
    lengths = [len(items) for items in lists]
    if len(set(lengths)) > 1:
        i, n = next((i, n) for i, n in enumerate(lengths) if n != lengths[0])
        relation = "longer" if n > lengths[0] else "shorter"
        raise ValueError(f"{name}() argument {i + 1} is {relation} than argument 1. They must have "
                         f"one length, and have lengths {lengths}.")
