"""Chapter 1: helpers for lists. `safe_map` and `safe_zip` notice if arguments differ in length."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
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

    >>> safe_zip([1, 2], "ab")
    [(1, 'a'), (2, 'b')]
    """
    lists = [list(arg) for arg in args]
    _check_equal_lengths("safe_zip", lists)
    return list(zip(*lists, strict=True))


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple, tuple]:
    """A sequence of pairs as the pair of its sequences; right for an empty one, too.

    >>> unzip2([(1, "a"), (2, "b")])
    ((1, 2), ('a', 'b'))
    """
    pairs = list(pairs)
    return tuple(first for first, _ in pairs), tuple(second for _, second in pairs)


def _check_equal_lengths(name: str, lists: list[list]) -> None:
    """Raise `ValueError` unless all lists are of one length."""
    lengths = [len(items) for items in lists]
    if len(set(lengths)) > 1:
        raise ValueError(f"{name}() arguments have different lengths: {lengths}")


def split_list(args: Iterable, ns: Sequence[int]) -> list[list]:
    """Sublists of the sizes `ns`, and the rest.

    >>> split_list("abcde", [1, 2])
    [['a'], ['b', 'c'], ['d', 'e']]
    """
    rest = iter(args)
    return [*(list(itertools.islice(rest, n)) for n in ns), list(rest)]


def partition_list(bs: Sequence[bool], l: Iterable) -> tuple[list, list]:
    """The items whose flag is false, and those whose flag is true.

    >>> partition_list([False, True, False], "abc")
    (['a', 'c'], ['b'])
    """
    lists: tuple[list, list] = ([], [])
    for b, x in zip(bs, l, strict=True):
        lists[b].append(x)
    return lists


def merge_lists(bs: Sequence[bool], l0: Iterable, l1: Iterable) -> list:
    """The inverse of `partition_list`.

    >>> merge_lists([False, True, False], "ac", "b")
    ['a', 'b', 'c']
    """
    rest0, rest1 = iter(l0), iter(l1)
    return [next(rest1) if b else next(rest0) for b in bs]
