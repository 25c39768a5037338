"""What is a place in a tree called?

A *key path* leads from a tree to one of its leaves. Each key is one step: `['w'][0]` is a `DictKey`
and a `SequenceKey`.

In JAX: `jax/_src/tree_util.py`.
"""

from collections.abc import Iterable
from itertools import count
from operator import attrgetter
from typing import Any


class _Key:
    """A step of a path. The subclasses name what it holds."""

    __slots__ = ("_value",)
    __match_args__: tuple[str, ...] = ()

    _value: Any
    _text = "[{!r}]"

    def __str__(self) -> str:
        return self._text.format(self._value)

    def __eq__(self, other):
        return type(self) is type(other) and self._value == other._value

    def __repr__(self):
        return f"{type(self).__name__}({self.__match_args__[0]}={self._value!r})"

    def __hash__(self):  # those of the four classes differ, and are JAX's
        return hash(self._value)


class SequenceKey(_Key):
    """The step to element `idx` of a list or tuple."""

    __slots__ = ()
    __match_args__ = ("idx",)

    idx = property(attrgetter("_value"))

    def __init__(self, idx: int):
        self._value = idx

    def __hash__(self) -> int:
        return hash(self._value + 1)


class DictKey(_Key):
    """The step to the value under `key` of a mapping."""

    __slots__ = ()
    __match_args__ = ("key",)

    key = property(attrgetter("_value"))

    def __init__(self, key: Any):
        self._value = key


class GetAttrKey(_Key):
    """The step to attribute `name`."""

    __slots__ = ()
    __match_args__ = ("name",)
    _text = ".{}"

    name = property(attrgetter("_value"))

    def __init__(self, name: str):
        self._value = name


class FlattenedIndexKey(_Key):
    """The step to child number `key` of a node whose registration names no keys."""

    __slots__ = ()
    __match_args__ = ("key",)
    _text = "[<flat index {}>]"

    key = property(attrgetter("_value"))

    def __init__(self, key: int):
        self._value = key

    def __hash__(self) -> int:
        return hash(self._value + 42)


KeyEntry = Any  # one of the four above, or any object that a registered type uses as its key
KeyPath = tuple[KeyEntry, ...]


def flatten_with_keys(tree: Any, node_type: Any) -> tuple[Iterable[tuple[KeyEntry, Any]], Any]:
    """The (key, child) pairs and the aux data of a node."""
    if node_type.flatten_with_keys is not None:
        return node_type.flatten_with_keys(tree)
    children, aux = node_type.flatten(tree)
    return list(zip(_keys(tree, node_type, aux), children)), aux


def _keys(tree, node_type, aux):
    """The keys of a node without its own; there are enough, or infinitely many."""
    if node_type.python_type is dict:
        return map(DictKey, aux)
    if node_type.python_type is tuple and type(tree) is not tuple:
        return map(GetAttrKey, aux._fields)
    return map(SequenceKey if type(tree) in (tuple, list) else FlattenedIndexKey, count())
