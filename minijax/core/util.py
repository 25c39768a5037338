"""Chapter 1: how is a list split into parts, and put together again?

Counterpart in JAX: `jax/_src/util.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence


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
